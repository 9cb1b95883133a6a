// What a look at a set-up says of others: whoever answers on port 25, and what stands in DNS and is printed beside our own records.

import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import { afterEach, expect, test } from 'vitest'
import { zoneLine } from '#cli/inspect/domain.ts'
import { lookAtKind, lookAtWayIn, lookAtWayOut } from '#cli/inspect/machine.ts'
import { stateOf } from '#cli/inspect/records.ts'

const closing: (() => void)[] = []
afterEach(() => {
  for (const close of closing.splice(0)) close()
})

/** A port of loopback on which that is said to everybody. */
async function saying(line: string): Promise<number> {
  const server = createServer(socket => socket.on('error', () => {}).end(`${line}\r\n`)).listen(0, '127.0.0.1')
  await once(server, 'listening')
  closing.push(() => server.close())
  return (server.address() as AddressInfo).port
}

test.each([
  ['220 mail.example.org ESMTP', 'good', /answers/],
  ['220 Mail.Example.ORG ESMTP', 'good', /answers/],
  ['220 other.example.net ESMTP', 'warning', /Another mail server answers/],
  ['554 no', 'wrong', /No mail server answers .*where mail\.example\.org leads/],
])('of an address whose port says %s', async (said, state, text) => {
  const port = await saying(said)
  const [found] = await lookAtWayIn('mail.example.org', ['127.0.0.1'], port)
  expect(found).toMatchObject({ check: 'port-25-in', subject: '127.0.0.1', state, text: expect.stringMatching(text) })
})

test('an address of this machine on which nothing listens is wrong, and the other one stays well', async () => {
  const port = await saying('220 mail.example.org ESMTP')
  const found = await lookAtWayIn('mail.example.org', ['127.0.0.1', '::1'], port)
  expect(found.map(({ state }) => state)).toEqual(['good', 'wrong'])
})

test('what others say makes no line of its own and moves nothing on a terminal', async () => {
  const evil = 'x\nexample.org. 3600 IN MX 10 evil.example.\u001b[2J\u009b2J\u202e'
  const wanted = { name: 'example.org', kind: 'TXT', value: 'v=spf1 mx -all' } as const
  const state = stateOf(wanted, [evil])
  const line = zoneLine({ ...wanted, found: [evil], state })
  expect(line).toContain('\\u000aexample.org.')
  expect(line).not.toMatch(/[\p{Cc}\u202e]/u)
  const { text } = await lookAtWayOut(`127.0.0.1:${await saying('500 \u001b[2J')}`)
  expect(text).not.toMatch(/\p{Cc}/u)
})

test('a folder on another machine is noted, one of this machine is not', () => {
  expect(lookAtKind('/srv/mail', 0x6969)).toMatchObject({ state: 'warning', text: '/srv/mail lies on NFS.' })
  expect(lookAtKind('/srv/mail', 0xff534d42)).toMatchObject({ state: 'warning', text: '/srv/mail lies on SMB.' })
  // ext4
  expect(lookAtKind('/srv/mail', 0xef53)).toBeUndefined()
})
