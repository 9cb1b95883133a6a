// Direct delivery: hosts of a domain in order, destinations that do not hold up each other, what hangs, and what is refused.

import { mkdtempSync, rmSync } from 'node:fs'
import { createServer, type Server } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { prepare } from '#actors/delivery/prepare.ts'
import { mailTargets, queueMessage } from '#actors/sending/outgoing.ts'
import { createUser } from '#actors/user/account.ts'
import { loadConfig } from '#config'
import { type Core, openCore } from '#core'
import { type Relay, startRelay } from '#jobs/relay/relay.ts'
import { newId } from '#lib/id.ts'
import { makeLog } from '#lib/log.ts'
import { askResolver, MailHosts, NoMailHost } from '#net/outward/mail-hosts.ts'
import { listTargets, stateName } from '#store/sending/outbound.ts'
import { checkStore } from '#store/upkeep/check.ts'
import { type Sink, startSink } from '../mail-sink.ts'

const dir = mkdtempSync(join(tmpdir(), 'teal-relay-'))
const user = newId()
let core: Core
let relay: Relay
let sink: Sink
let hanging: Server
const broken: Server[] = []

const coded = (code: string) => Object.assign(new Error(code), { code })
const resolveMx = async (domain: string) => {
  if (domain === 'missing.test') throw coded('ENOTFOUND')
  if (domain === 'null.test') return [{ exchange: '', priority: 0 }]
  if (domain === 'broken.test') throw coded('ESERVFAIL')
  if (domain === 'inside.test') return [{ exchange: '10.0.0.1', priority: 0 }]
  if (domain === 'own.test') return [{ exchange: 'our.test', priority: 0 }]
  if (domain === 'half.test') {
    const hosts = ['127.0.0.9', '10.0.0.1']
    return hosts.map((exchange, at) => ({ exchange, priority: 10 * at }))
  }
  if (domain === 'second.test') {
    const hosts = ['127.0.0.1', 'Our.test.', '127.0.0.9']
    return hosts.map((exchange, at) => ({ exchange, priority: 10 * at }))
  }
  if (domain.endsWith('tls.test'))
    return [{ exchange: domain === 'odd-tls.test' ? '127.0.0.4' : '127.0.0.5', priority: 0 }]
  if (domain === 'hang.test') return [{ exchange: '127.0.0.3', priority: 0 }]
  return [
    { exchange: '127.0.0.1', priority: 20 },
    { exchange: '127.0.0.9', priority: 10 },
  ]
}

beforeAll(async () => {
  sink = await startSink()
  // Takes connections and says nothing, at the same port of another address.
  hanging = createServer(() => {})
  await new Promise<void>(resolve => hanging.listen(sink.port, '127.0.0.3', () => resolve()))
  broken.push(await brokenTls('127.0.0.4', 'HTTP/1.1 400 Bad Request\r\n'), await brokenTls('127.0.0.5', ''))
  const flags = { dataDir: dir, hostname: 'our.test', network: { allowPrivate: ['127.0.0.0/8'] } }
  core = await openCore(loadConfig({ flags }), makeLog('silent'))
  await core.settings.apply('const:sender:defer_times', '1s, 1s')
  await core.system.handle(user).run(createUser, {
    user: {
      ...{ username: 'me', key: 'me', name: '', address: 'me@our.test', password: '', temporary: null },
      ...{ disabled: false, suspended: false, activated: true, quota: 0, tags: [], options: {} },
    },
    address: { key: 'me@our.test', address: 'me@our.test', domain: 'our.test', tags: [] },
    mailboxes: [{ path: 'INBOX', specialUse: null, retention: 0 }],
  })
  const { read, jobWriter: writer, sequence, settings, bodies, delivery, outward, log } = core
  relay = startRelay({
    away: true,
    ...{ read, writer, sequence, settings, bodies, delivery, outward, log, resolveMx },
    ...{
      hostname: 'our.test',
      version: 'test',
      relay: '',
      port: sink.port,
      srs: { domain: 'our.test', secret: 'of these tests' },
      postmaster: '',
    },
    findKeys: async () => [],
    secrets: core.system.secrets,
  })
  core.onEvents(() => relay.kick())
})
afterEach(async () => expect(await checkStore(core.read)).toEqual([]))
afterAll(async () => {
  hanging.close()
  for (const one of broken) one.close()
  await relay.close()
  await core.close()
  await sink.close()
  rmSync(dir, { recursive: true, force: true })
})

/** A mail server at the same port that offers TLS and then says something else, or goes away. */
async function brokenTls(address: string, instead: string): Promise<Server> {
  const server = createServer(socket => {
    let body = false
    let over = false
    socket.on('error', () => {})
    socket.write('220 broken\r\n')
    socket.on('data', chunk => {
      const line = chunk.toString('latin1')
      if (over) socket.end(instead)
      else if (body && line.endsWith('\r\n.\r\n')) {
        body = false
        taken.push(line)
        socket.write('250 taken\r\n')
      } else if (/^EHLO/i.test(line)) socket.write('250-broken\r\n250 STARTTLS\r\n')
      else if (/^STARTTLS/i.test(line)) {
        over = true
        socket.write('220 go ahead\r\n')
      } else if (/^DATA/i.test(line)) {
        body = true
        socket.write('354 go on\r\n')
      } else if (!body) socket.write('250 ok\r\n')
    })
  })
  await new Promise<void>(resolve => server.listen(sink.port, address, () => resolve()))
  return server
}
const taken: string[] = []

async function send(to: readonly string[], sendTime?: number): Promise<number> {
  const message = `From: me@our.test\r\nMessage-ID: <${newId()}@our.test>\r\n\r\nHello\r\n..dots\r\n`
  const received = await core.bodies.receive(Buffer.from(message))
  const prepared = await prepare(received, core.sequence)
  const outgoing = {
    user,
    from: 'me@our.test',
    targets: mailTargets(to),
    prepared,
    origin: 'submission',
    sendTime,
  } as const
  const { num } = await core.system.handle(user).run(queueMessage, outgoing)
  await received.discard()
  return num
}

async function states(num: number): Promise<string[]> {
  return (await listTargets(core.read, num)).map(stateName)
}

test('the next host is tried where the first does not answer, and one message goes to a domain once', async () => {
  const at = sink.messages.length
  const num = await send(['a@good.test', 'b@good.test', 'c@other.test'])
  await expect.poll(() => states(num), { timeout: 5000 }).toEqual(['delivered', 'delivered', 'delivered'])
  const came = sink.messages.slice(at)
  expect(came.map(({ to }) => [...to].sort()).sort()).toEqual([['a@good.test', 'b@good.test'], ['c@other.test']])
  expect(came[0]?.raw).toMatch(/^Received: by our\.test \(Teal\) id [0-9a-f]{18}\.[a-z2-7]{16};/)
  expect(came[0]?.raw).toContain('\r\n..dots\r\n')
})

test.each([
  ['missing.test', 550, /no such domain/],
  ['null.test', 556, /takes no mail/],
  ['own.test', 550, /back here/],
  ['inside.test', 550, /not public/],
])('%s fails at once', async (domain, status, response) => {
  const num = await send([`a@${domain}`])
  await expect.poll(() => states(num), { timeout: 5000 }).toEqual(['failed'])
  const [target] = await listTargets(core.read, num)
  expect(target).toMatchObject({ status, attempts: 1 })
  expect(target?.response).toMatch(response)
})

test('a domain nobody can look up, and a host that says nothing, hold up nobody else', async () => {
  const stuck = await send(['a@hang.test', 'b@broken.test'])
  const at = sink.messages.length
  const nums: number[] = []
  for (let n = 0; n < 50; n++) nums.push(await send([`n${n}@good.test`]))
  await sink.received(at + 50)
  expect((await states(stuck))[0]).toBe('sending')
  await expect.poll(async () => (await states(stuck))[1], { timeout: 15_000 }).toBe('failed')
  for (const num of nums) await expect.poll(() => states(num)).toEqual(['delivered'])
})

test('a host that leads inside ends nothing while another one is out of reach', async () => {
  const num = await send(['a@half.test'])
  await expect.poll(() => states(num), { timeout: 15_000 }).toEqual(['failed'])
  const [target] = await listTargets(core.read, num)
  expect(target).toMatchObject({ attempts: 3, failure: 'refused' })
  expect(target?.response).not.toMatch(/not public/)
})

test('mail for a domain whose second host we are goes to those that it prefers to us', async () => {
  const num = await send(['a@second.test'])
  await expect.poll(() => states(num), { timeout: 15_000 }).toEqual(['delivered'])
  const hosts = new MailHosts(askResolver(resolveMx), 'our.test')
  expect((await hosts.find('second.test')).hosts).toEqual(['127.0.0.1'])
  await expect(hosts.find('own.test')).rejects.toThrow(NoMailHost)
})

test.each(['odd-tls.test', 'gone-tls.test'])('a host whose TLS is broken gets it in the clear: %s', async domain => {
  const at = taken.length
  const num = await send([`a@${domain}`])
  await expect.poll(() => states(num), { timeout: 15_000 }).toEqual(['delivered'])
  expect(taken[at]).toContain('Hello')
})

test('a recipient of this service never leaves it', async () => {
  const at = sink.messages.length
  const num = await send(['me@our.test'])
  await expect.poll(() => states(num)).toEqual(['delivered'])
  expect(sink.messages.length).toBe(at)
})

test('a message waits for its time', async () => {
  const num = await send(['later@good.test'], Date.UTC(2090, 0, 1))
  const now = await send(['now@good.test'])
  await expect.poll(() => states(now)).toEqual(['delivered'])
  expect(await states(num)).toEqual(['waiting'])
})

test('connections are used again', async () => {
  const before = sink.connections
  const at = sink.messages.length
  for (let n = 0; n < 30; n++) await send([`again${n}@good.test`])
  await sink.received(at + 30)
  expect(sink.connections - before).toBeLessThanOrEqual(10)
})

test('hosts are found in the order of preference, literals are taken as they are', async () => {
  const hosts = new MailHosts(askResolver(resolveMx))
  expect(await hosts.find('good.test')).toEqual({ hosts: ['127.0.0.9', '127.0.0.1'], secure: false })
  expect((await hosts.find('[192.0.2.1]')).hosts).toEqual(['192.0.2.1'])
  await expect(hosts.find('[nonsense]')).rejects.toThrow(NoMailHost)
  await expect(hosts.find('null.test')).rejects.toThrow(NoMailHost)
  const bare = new MailHosts(askResolver(async () => Promise.reject(coded('ENODATA'))))
  expect((await bare.find('bare.test')).hosts).toEqual(['bare.test'])
})
