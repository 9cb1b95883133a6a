// Other programs that look at mail and never answer, or answer as if they were mad: the message is taken in time, and it is counted.

import { type AddressInfo, createServer, type Server, type Socket } from 'node:net'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startTeal, type Teal } from '#service'
import { deliver, openLmtp } from '../dialogue.ts'
import { accessTo } from '../running.ts'

let rspamd: Server
let clamd: Server
let teal: Teal
const service = accessTo(() => teal)
const open = new Set<Socket>()
/** What rspamd says; nothing at all where it is empty. */
let says = ''
let virus = ''

async function listen(answer: (socket: Socket) => void): Promise<Server> {
  const server = createServer(socket => {
    open.add(socket)
    socket.on('error', () => {})
    socket.on('close', () => open.delete(socket))
    socket.on('data', () => answer(socket))
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  return server
}

beforeAll(async () => {
  rspamd = await listen(socket => void (says !== '' && socket.end(says)))
  clamd = await listen(socket => void (virus !== '' && socket.end(virus)))
  const at = (server: Server) => `127.0.0.1:${(server.address() as AddressInfo).port}`
  teal = await startTeal({ spam: { rspamd: `http://${at(rspamd)}`, clamd: at(clamd) } }, { strict: true })
  await service.user('anna')
})
afterAll(async () => {
  expect(await teal.check()).toEqual([])
  await teal.close()
  for (const socket of open) socket.destroy()
  rspamd.close()
  clamd.close()
})

async function bring(id: string): Promise<string> {
  const lmtp = await openLmtp(service.at('lmtp'))
  const message = Buffer.from(`From: b@far.test\r\nSubject: x\r\nMessage-ID: <${id}@t>\r\n\r\nHello\r\n`)
  const [reply = ''] = await deliver(lmtp, 'b@far.test', ['anna@example.com'], message)
  lmtp.close()
  return reply
}

async function spamOf(id: string) {
  const { body: user } = await service.call('GET', '/users/resolve/anna')
  const { body: box } = await service.call('GET', `/users/${user.id}/mailboxes/resolve?path=INBOX`)
  const list = `/users/${user.id}/mailboxes/${box.id}/messages`
  const [row] = (await service.call('GET', list)).body.results
  expect(row.messageId).toBe(`<${id}@t>`)
  return (await service.call('GET', `${list}/${row.id}`)).body.spam
}

test('both are silent: the message is taken, and nothing of theirs is in its score', async () => {
  expect(await bring('silent')).toMatch(/^250/)
  expect(await spamOf('silent')).toBeUndefined()
  const text = await (await service.raw('GET', '/metrics')).text()
  for (const scanner of ['rspamd', 'clamd'])
    expect(text).toContain(`scanned_total{scanner="${scanner}",result="failed"} 1`)
})

test('both are mad: what they say is bounded, and reaches no protocol', async () => {
  const symbols = Object.fromEntries(Array.from({ length: 5000 }, (_, n) => [`S${n}\r\nX: y`, { score: 1e308 }]))
  const body = JSON.stringify({ action: 'launch', score: -1e308, required_score: 'x', symbols })
  says = `HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`
  virus = 'stream: OK\0'
  expect(await bring('mad')).toMatch(/^250/)
  const { score, parts } = await spamOf('mad')
  expect(score).toBe(0)
  expect(parts[0].info.length).toBeLessThan(2000)
  expect(parts[0].info).not.toMatch(/[\r\n]/)
  virus = `stream: ${'250 OK\r\n'.repeat(2000)} FOUND\0`
  const refused = await bring('virus')
  expect(refused).toMatch(/^550 5\.7\.1 /)
  expect(refused).not.toContain('250')
})
