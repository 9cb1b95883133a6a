// What is kept of sessions, at home, where those of a service without other threads are.

import { expect, test } from 'vitest'
import { sleep } from '#lib/clock.ts'
import { Dialogue } from '../dialogue.ts'
import { useTeal } from '../running.ts'

const service = useTeal({ auth: { cleartext: 'always' }, threads: 0 })

test('nothing is kept of sessions that are over', async () => {
  await service.user('one')
  const secret = Buffer.from('\0one\0secret of one').toString('base64')
  const sessions = [
    await loggedIn('imap', `a AUTHENTICATE PLAIN ${secret}`, /^a OK/),
    await loggedIn('pop3', `AUTH PLAIN ${secret}`, /^\+OK/),
    await loggedIn('submission', `EHLO test\r\nAUTH PLAIN ${secret}`, /^235/),
  ]
  const { grants } = service.teal.core.credentials
  expect(grants.size).toBe(3)
  for (const session of sessions) session.close()
  for (let tries = 0; tries < 400 && grants.size > 0; tries++) await sleep(10)
  expect(grants.size).toBe(0)
})

async function loggedIn(door: 'imap' | 'pop3' | 'submission', words: string, granted: RegExp): Promise<Dialogue> {
  const session = await Dialogue.open(service.at(door))
  await session.line()
  session.send(`${words}\r\n`)
  while (!granted.test(await session.line()));
  return session
}
