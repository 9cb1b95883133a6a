// A store that nobody ever had an account in: it may be the empty folder under a disk that is not mounted, and no mail may
// come back for that.

import { expect, test } from 'vitest'
import { Lookup } from '#store/accounts/lookup.ts'
import { Dialogue } from '../dialogue.ts'
import { eventually } from '../http/api/mail.ts'
import { useTeal } from '../running.ts'

const service = useTeal()

async function answers(listener: 'smtp' | 'lmtp', to: string): Promise<string> {
  const wire = await Dialogue.open(service.at(listener))
  expect(await wire.reply()).toMatch(/^220/)
  await wire.ask(listener === 'smtp' ? 'EHLO there' : 'LHLO there')
  expect(await wire.ask('MAIL FROM:<bea@example.net>')).toMatch(/^250/)
  const reply = await wire.ask(`RCPT TO:<${to}>`)
  wire.close()
  return reply
}

const yet = /^451 4\.3\.0 Nobody has an account here yet/
const rewritten = 'SRS0=aaaaaaaa=aa=remote.test=anna@localhost'

test('recipients are put off until there is an account, and refused ever after', async () => {
  for (const listener of ['smtp', 'lmtp'] as const) {
    for (const to of ['anna@example.com', 'anyone@elsewhere.example', rewritten]) {
      expect([listener, to, await answers(listener, to)]).toEqual([listener, to, expect.stringMatching(yet)])
    }
  }
  await expect(service.teal.core.delivery.recipient('anna@example.com')).rejects.toMatchObject({
    code: 'NoAccountsYet',
  })
  const id = await service.user('anna')
  expect(await answers('smtp', 'anna@example.com')).toMatch(/^250 /)
  expect(await answers('lmtp', 'bert@example.com')).toMatch(/^550 5\.1\.1 /)
  expect((await service.call('DELETE', `/users/${id}?deleteAfter=${new Date(0).toISOString()}`)).status).toBe(200)
  await eventually(
    async () => await service.teal.core.read.one('SELECT 1 FROM user'),
    found => found === undefined,
  )
  expect(await answers('lmtp', 'anna@example.com')).toMatch(/^550 5\.1\.1 /)
  // As another process would find it.
  const { read, writer } = service.teal.core
  expect(await new Lookup(read, writer.changes).inUse()).toBe(true)
})
