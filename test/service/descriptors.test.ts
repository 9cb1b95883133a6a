// A service that may open few files and sockets, beside peers that take as many as they get: whoever belongs here is
// served all the same, and nothing that has to be opened is missing its descriptor.

import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { openReader } from '#store/engine/sqlite/reader.ts'
import { databaseFile } from '#store/folder/place.ts'
import { verifyStore } from '#store/upkeep/verify.ts'
import { startChild } from '../child.ts'
import { Client } from '../imap/client.ts'
import { type Crowd, crowd } from '../net/crowd.ts'
import { Wire } from '../net/wire.ts'

const descriptors = 300
const dir = mkdtempSync(join(tmpdir(), 'teal-descriptors-'))
const crowds: Crowd[] = []

afterAll(() => {
  for (const held of crowds) held.close()
  rmSync(dir, { recursive: true, force: true })
})

test(`strangers of hundreds of networks leave ${descriptors} descriptors to those who belong here`, async () => {
  const service = await startChild(dir, { TEAL_NETWORK_PROXIES: '192.0.2.1/32' }, descriptors)
  const at = (name: string) => {
    const found = service.listeners[name]
    if (found === undefined) throw new Error(`no listener ${name}`)
    return found
  }
  const call = async (method: string, path: string, form?: object) => {
    const headers = { 'x-access-token': service.token, 'content-type': 'application/json' }
    const body = form === undefined ? {} : { body: JSON.stringify(form) }
    const answer = await fetch(service.url + path, { method, headers, ...body })
    return { status: answer.status, body: (await answer.json()) as Record<string, unknown> }
  }
  const user = { username: 'anna', password: 'secret of anna', address: 'anna@example.com' }
  const id = String((await call('POST', '/users', user)).body.id)
  const loggedIn = await Client.login(at('imap'), 'anna', 'INBOX')
  const used = () => readdirSync(`/proc/${service.process.pid}/fd`).length
  let most = 0
  for (const [name, text] of [
    ['api', 'GET /users HTTP/1.1\r\nHost: x\r\n'],
    ['smtp', 'NOOP\r\n'],
    ['lmtp', 'NOOP\r\n'],
    ['submission', 'NOOP\r\n'],
    ['submissions', 'no handshake'],
    ['imap', 'a NOOP\r\n'],
    ['imaps', ''],
    ['pop3', 'CAPA\r\n'],
    ['pop3s', ''],
    ['api', 'POST /users HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n{'],
  ] as const) {
    crowds.push(await crowd(at(name), 300, text))
    most = Math.max(most, used())
  }
  expect(most).toBeLessThan(descriptors - 30)

  // Larger than what is kept in memory on its way.
  const smtp = await Wire.open(at('smtp'))
  expect(await smtp.line()).toMatch(/^220 /)
  for (const line of ['EHLO c.test', 'MAIL FROM:<a@b.test>', 'RCPT TO:<anna@example.com>', 'DATA']) {
    expect(await smtp.ask(line)).toMatch(/^[23]50 |^354 /)
  }
  smtp.send(`Subject: large\r\n\r\n${`${'x'.repeat(76)}\r\n`.repeat(40_000)}.\r\n`)
  expect(await smtp.line()).toMatch(/^250 /)
  smtp.close()

  expect((await loggedIn.ask('NOOP')).lines).toContain('* 1 EXISTS')
  const second = await Client.login(at('imap'), 'anna', 'INBOX')
  expect((await second.ok('FETCH 1 (RFC822.SIZE)')).join('')).toContain('RFC822.SIZE')
  expect((await second.ok('SEARCH BODY xxx')).length).toBeGreaterThan(0)
  expect((await call('GET', `/users/${id}`)).status).toBe(200)
  const sent = { to: [{ address: 'ben@example.net' }], subject: 'out', text: 'x' }
  expect((await call('POST', `/users/${id}/submit`, sent)).status).toBe(200)
  const pop = await Wire.open(at('pop3'))
  expect(await pop.line()).toMatch(/^\+OK/)
  pop.close()

  for (const held of crowds) held.close()
  expect(service.output()).not.toMatch(/EMFILE|ENFILE|"level":"(error|fatal)"/)
  expect(await service.end('SIGTERM')).toBe(0)
  const read = openReader(databaseFile(dir))
  expect(await verifyStore(read, { dataDir: dir }, true)).toEqual([])
  read.close()
})
