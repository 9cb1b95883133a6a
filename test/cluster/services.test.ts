// Two whole services on one PostgreSQL and one NATS: any of them serves any account, and one that is killed, stopped or asleep
// takes nothing along.

import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, expect, inject, test } from 'vitest'
import { createMailbox } from '#actors/mailbox/mailbox.ts'
import { sleep } from '#lib/clock.ts'
import { newId } from '#lib/id.ts'
import { startTeal, type Teal } from '#service'
import { withdraw } from '#store/cluster/answered.ts'
import type { Leases } from '#store/cluster/leases.ts'
import { leaseCount, shardOf } from '#store/cluster/shards.ts'
import { childEnvironment, runTeal } from '../child.ts'
import { Dialogue } from '../dialogue.ts'
import { freePort } from '../free-port.ts'
import { makeDatabase } from '../postgres/cluster.ts'
import { accessTo, type Body } from '../running.ts'
import { Wire } from './chaos/proxy.ts'
import { type Nats, startNats } from './nats.ts'
import type { Up } from './service.ts'

const folder = mkdtempSync(join(tmpdir(), 'teal-nodes-'))
let nats: Nats
/** Between the second node and NATS. */
let wire: Wire
let url: string
let a: Teal
let b: Up
let child: ChildProcess
const access = accessTo(() => a)

beforeAll(async () => {
  nats = await startNats()
  wire = await Wire.open(() => ({ host: '127.0.0.1', port: Number(new URL(nats.url).port) }))
  url = await makeDatabase(inject('postgres'), 'template0')
  mkdirSync(join(folder, 'a'))
  a = await startTeal({ dataDir: join(folder, 'a'), store: { url }, cluster: { nats: nats.url, node: 'a' } })
  // All nodes have the same keys.
  mkdirSync(join(folder, 'b'))
  cpSync(join(folder, 'a', 'keys'), join(folder, 'b', 'keys'), { recursive: true })
})

async function start(): Promise<void> {
  const given = [join(folder, 'b'), url, `nats://127.0.0.1:${wire.port}`, 'b']
  child = fork(resolve('test/cluster/service.ts'), given, { execArgv: [] })
  ;[b] = (await once(child, 'message')) as [Up]
}

beforeEach(async () => {
  await start()
  await expect.poll(() => a.core.cluster?.leases.count).toBe(leaseCount / 2)
})

afterEach(async () => {
  if (child.exitCode === null && child.signalCode === null) {
    child.kill('SIGCONT')
    child.send('close')
    await once(child, 'exit')
  }
  expect(await a.check()).toEqual([])
})

afterAll(async () => {
  await a?.close()
  await wire?.close()
  await nats.stop()
  rmSync(folder, { recursive: true, force: true })
})

interface User {
  readonly name: string
  readonly id: string
}

let made = 0

/** An account that is at node b. */
const userThere = () => userAt('b')

async function userAt(node: 'a' | 'b'): Promise<User> {
  for (;;) {
    made += 1
    const name = `u${made}`
    const id = await access.user(name)
    const owner = a.core.cluster?.leases.ownerOf(shardOf(id))
    if ((owner === a.core.cluster?.leases.num) === (node === 'a')) return { name, id }
  }
}

async function login(at: Pick<Up, 'listeners'>, { name }: User): Promise<Dialogue> {
  const imap = await Dialogue.open(at.listeners.imap as never)
  await imap.line()
  await told(imap, `login ${name} "secret of ${name}"`)
  await told(imap, 'select inbox')
  return imap
}

/** Lines up to the answer of a command. */
async function told(imap: Dialogue, command: string): Promise<string[]> {
  imap.send(`x ${command}\r\n`)
  const lines: string[] = []
  while (!lines.at(-1)?.startsWith('x ')) lines.push(await imap.line())
  expect(lines.at(-1)).toMatch(/^x OK/)
  return lines
}

/** Delivers at a node; gives what it says. */
async function deliver(at: Pick<Up, 'listeners'>, { name }: User, subject: string, size = 10): Promise<string> {
  const lmtp = await Dialogue.open(at.listeners.lmtp as never)
  const text = `Subject: ${subject}\r\nMessage-ID: <${subject}@example.org>\r\n\r\n${'abcdefg \r\n'.repeat(size)}.\r\n`
  const commands = [
    'LHLO here\r\n',
    'MAIL FROM:<x@example.org>\r\n',
    `RCPT TO:<${name}@example.com>\r\n`,
    'DATA\r\n',
    text,
  ]
  try {
    await lmtp.line()
    for (const command of commands) {
      lmtp.send(command)
      let line = await lmtp.line()
      while (line[3] === '-') line = await lmtp.line()
      if (!/^[23]/.test(line)) return line
      if (command === text) return line
    }
    return ''
  } finally {
    lmtp.send('QUIT\r\n')
  }
}

async function subjects(user: User): Promise<string[]> {
  const imap = await login(a, user)
  const lines = await told(imap, 'fetch 1:* (envelope)')
  return lines.flatMap(line => /ENVELOPE \((?:NIL|"[^"]*") "([^"]+)"/.exec(line)?.[1] ?? [])
}

test('who reads at one node sees what is delivered at the other, large mail too', async () => {
  const user = await userThere()
  const [here, there] = [await login(a, user), await login(b, user)]
  for (const imap of [here, there]) {
    imap.send('i idle\r\n')
    expect(await imap.line()).toBe('+ idling')
  }
  const seen = async (imap: Dialogue, text: string) => {
    for (let line = ''; line !== text; ) line = await imap.line()
  }
  expect(await deliver(b, user, 'one')).toMatch(/^250/)
  await Promise.all([here, there].map(imap => seen(imap, '* 1 EXISTS')))
  expect(await deliver(a, user, 'two', 300_000)).toMatch(/^250/)
  await Promise.all([here, there].map(imap => seen(imap, '* 2 EXISTS')))
  expect(await subjects(user)).toEqual(['one', 'two'])
})

test('what is said of an address is kept as it was said, whichever node is asked', async () => {
  const user = await userThere()
  const form = { address: `half${made}@example.com`, metaData: { half: 'a \ud800 b' } }
  expect((await access.call('POST', `/users/${user.id}/addresses`, form)).status).toBe(200)
  const { body } = await access.call('GET', `/users/${user.id}/addresses?metaData=true`)
  const kept = body.results.find(({ address }: Body) => address === form.address)
  expect(kept.metaData).toEqual(form.metaData)
})

test('a password that is changed at one node ends sessions at the other before that is said', async () => {
  const user = await userThere()
  const [here, there] = [await login(a, user), await login(b, user)]
  const { status } = await access.call('PUT', `/users/${user.id}`, { password: 'another one now' })
  expect(status).toBe(200)
  for (const imap of [here, there]) {
    imap.send('x noop\r\n')
    expect(await imap.line()).toMatch(/^\* BYE/)
  }
})

test('a node that stops hands over: who is at the other notices nothing', async () => {
  const user = await userThere()
  const imap = await login(a, user)
  const done: string[] = []
  let stop = false
  const sender = (async () => {
    for (let at = 0; !stop; at++) done.push(await deliver(a, user, `s${at}`))
  })()
  await expect.poll(() => done.length).toBeGreaterThan(3)
  child.send('close')
  await once(child, 'exit')
  const before = done.length
  await expect.poll(() => done.length).toBeGreaterThan(before + 3)
  stop = true
  await sender
  expect(done.filter(line => !line.startsWith('250'))).toEqual([])
  expect(await subjects(user)).toEqual(done.map((_, at) => `s${at}`))
  expect(await told(imap, 'noop')).toContain(`* ${done.length} EXISTS`)
})

for (const signal of ['SIGKILL', 'SIGSTOP'] as const) {
  test(`nothing that was acknowledged is lost when the owner gets ${signal}, and the other serves on`, async () => {
    const user = await userThere()
    const imap = await login(a, user)
    const kept: string[] = []
    const refused: string[] = []
    let stop = false
    const sender = (async () => {
      for (let at = 0; !stop; at++) {
        const answer = await deliver(a, user, `k${at}`)
        if (answer.startsWith('250')) kept.push(`k${at}`)
        else refused.push(answer)
      }
    })()
    await expect.poll(() => kept.length).toBeGreaterThan(3)
    child.kill(signal)
    await sleep(10)
    const before = kept.length
    await expect.poll(() => kept.length).toBeGreaterThan(before + 5)
    expect(a.core.cluster?.leases.count).toBe(leaseCount)
    if (signal === 'SIGSTOP') {
      child.kill('SIGCONT')
      await expect.poll(() => a.core.cluster?.leases.count).toBe(leaseCount / 2)
      expect(await deliver(b, user, 'woken')).toMatch(/^250/)
    }
    stop = true
    await sender
    const found = await subjects(user)
    const wanted = signal === 'SIGSTOP' ? [...kept, 'woken'] : kept
    expect(refused).toEqual([])
    expect(found.toSorted()).toEqual(wanted.toSorted())
    expect((await told(imap, 'noop')).some(line => line === `* ${found.length} EXISTS`)).toBe(true)
    const uids = (await told(imap, 'uid search all')).find(line => line.startsWith('* SEARCH'))
    expect(new Set(uids?.split(' ').slice(2)).size).toBe(found.length)
  })
}

test('a node that is killed and started again at once refuses nothing that is for it, and no number is given twice', async () => {
  const user = await userThere()
  const done: string[] = []
  let stop = false
  const sender = async (name: string) => {
    for (let at = 0; !stop; at++) done.push(await deliver(a, user, `${name}${at}`))
  }
  const senders = ['x', 'y', 'z'].map(sender)
  await expect.poll(() => done.length).toBeGreaterThan(5)
  child.kill('SIGKILL')
  await once(child, 'exit')
  await start()
  const before = done.length
  await expect.poll(() => done.length).toBeGreaterThan(before + 5)
  stop = true
  await Promise.all(senders)
  expect(done.filter(line => !line.startsWith('250'))).toEqual([])
  expect(await subjects(user)).toHaveLength(done.length)
})

test.each([
  ['has done what it was asked for, and its answer is lost', 'from'],
  ['was not reached', 'to'],
] as const)('a command is carried out once where the owner %s, and it is killed', async (_, way) => {
  const user = await userThere()
  expect(await deliver(a, user, 'first')).toMatch(/^250/)
  wire.stall(way)
  const answer = deliver(a, user, 'second')
  const call = async () => (await access.call('GET', '/health')).body.cluster?.waiting
  await expect.poll(call).toBeGreaterThan(0)
  // Time for the owner to write, where it heard.
  await sleep(1000)
  child.kill('SIGKILL')
  expect(await answer).toMatch(/^250/)
  wire.cut()
  expect(await subjects(user)).toEqual(['first', 'second'])
})

test('who carries out a call too late is told so, and nothing of it is done', async () => {
  const { id } = await userAt('a')
  const { cluster, system } = a.core
  const make = (call: string, path: string) => {
    const folder = { path, hidden: false, retention: 0, encrypt: false, subscribed: true }
    return system.runHere(id, createMailbox as never, folder, new AbortController().signal, call)
  }
  const call = newId()
  // Whoever asked has put down that nobody will do it any more.
  expect(await withdraw(cluster?.leases as Leases, call)).toBeUndefined()
  await expect(make(call, 'Late')).rejects.toMatchObject({ code: 'TimedOut' })
  await make(newId(), 'Soon')
  const { body } = await access.call('GET', `/users/${id}/mailboxes`)
  const paths = body.results.map(({ path }: { path: string }) => path)
  expect(paths).toContain('Soon')
  expect(paths).not.toContain('Late')
})

test('a node that cannot speak with the others takes nothing from them', async () => {
  const dataDir = join(folder, 'far')
  mkdirSync(dataDir)
  cpSync(join(folder, 'a', 'keys'), join(dataDir, 'keys'), { recursive: true })
  const nowhere = `nats://127.0.0.1:${await freePort()}`
  const far = startTeal({ dataDir, store: { url }, cluster: { nats: nowhere, node: 'far' } })
  await expect(far).rejects.toThrow('NATS')
  await a.core.cluster?.leases.beat()
  expect(a.core.cluster?.leases.nodes.map(({ name }) => name)).not.toContain('far')
})

test('a node with other keys is refused, makes none, and starts with those of the others', async () => {
  const dataDir = join(folder, 'c')
  mkdirSync(dataDir)
  const options = { dataDir, store: { url }, cluster: { nats: nats.url, node: 'c' } }
  await expect(startTeal(options)).rejects.toThrow(/^The key .*seal\b.* is missing\b/)
  expect(existsSync(join(dataDir, 'keys'))).toBe(false)
  cpSync(join(folder, 'a', 'keys'), join(dataDir, 'keys'), { recursive: true })
  writeFileSync(join(dataDir, 'keys', 'loop'), `${'0a'.repeat(32)}\n`, { mode: 0o600 })
  await expect(startTeal(options)).rejects.toThrow(/^The key loop of the other nodes is another one here/)
  cpSync(join(folder, 'a', 'keys'), join(dataDir, 'keys'), { recursive: true })
  const c = await startTeal(options)
  await c.close()
})

/** A session of IMAP; undefined where its account has too many. */
async function session(at: Pick<Up, 'listeners'>, { name }: User): Promise<Dialogue | undefined> {
  const imap = await Dialogue.open(at.listeners.imap as never)
  await imap.line()
  imap.send(`x login ${name} "secret of ${name}"\r\n`)
  const line = await imap.line()
  if (line.startsWith('x OK')) return imap
  expect([line, await imap.line()]).toEqual([
    '* BYE Too many sessions of this account',
    expect.stringMatching(/^x NO \[LIMIT\]/),
  ])
  return undefined
}

async function limited(most: number): Promise<User> {
  const user = await userThere()
  const { status } = await access.call('PUT', `/users/${user.id}`, { imapMaxConnections: most })
  expect(status).toBe(200)
  return user
}

/** Sessions of an account as each node says. */
async function taken({ id }: User): Promise<number[]> {
  const used = async (url: string, token: string) => {
    const answer = await fetch(`${url}/users/${id}`, { headers: { 'X-Access-Token': token } })
    return ((await answer.json()) as Body).limits.imapMaxConnections.used
  }
  return [await used(a.url, a.rootToken), await used(b.url, b.rootToken)]
}

test('an account has no more sessions than it may at all nodes together, wherever they begin at once', async () => {
  const user = await limited(3)
  const tried = await Promise.all([a, b, a, b, a, b, a, b].map(at => session(at, user)))
  const had = tried.filter(imap => imap !== undefined)
  expect(had).toHaveLength(3)
  await expect.poll(() => taken(user)).toEqual([3, 3])
  await told(had[0] as Dialogue, 'logout')
  await expect.poll(() => taken(user)).toEqual([2, 2])
  expect(await session(a, user)).toBeDefined()
  expect(await session(b, user)).toBeUndefined()
  expect(await session(a, user)).toBeUndefined()
})

test('sessions of a node that is killed count no more, and those that stay count where the account goes', async () => {
  const user = await limited(3)
  await session(a, user)
  await session(b, user)
  await session(b, user)
  expect(await session(a, user)).toBeUndefined()
  child.kill('SIGKILL')
  await once(child, 'exit')
  await expect.poll(async () => (await session(a, user)) !== undefined).toBe(true)
  await start()
  const owner = () => a.core.cluster?.leases.ownerOf(shardOf(user.id))
  await expect.poll(owner).not.toBe(a.core.cluster?.leases.num)
  await expect.poll(() => taken(user)).toEqual([2, 2])
  expect(await session(b, user)).toBeDefined()
  expect(await session(b, user)).toBeUndefined()
  expect(await session(a, user)).toBeUndefined()
})

test('a node that slept counts its sessions again where they are counted, and lets none go on that ended meanwhile', async () => {
  const user = await limited(2)
  const moved = await userThere()
  const imap = await session(a, user)
  const ended = await Promise.all([userAt('a'), userThere()])
  const sessions = await Promise.all(ended.map(one => login(b, one)))
  child.kill('SIGSTOP')
  await expect.poll(() => a.core.cluster?.leases.count).toBe(leaseCount)
  for (const [at, { id }] of ended.entries()) {
    expect((await access.call('PUT', `/users/${id}`, { password: 'another one now' })).status).toBe(200)
    sessions[at]?.send('x noop\r\n')
  }
  expect(await session(a, user)).toBeDefined()
  expect(await session(a, user)).toBeUndefined()
  child.kill('SIGCONT')
  for (const one of sessions) expect(await one.line()).toMatch(/^\* BYE/)
  await expect.poll(() => a.core.cluster?.leases.count).toBe(leaseCount / 2)
  expect(await deliver(b, moved, 'after')).toMatch(/^250/)
  await expect.poll(() => taken(user)).toEqual([2, 2])
  expect(await session(b, user)).toBeUndefined()
  await told(imap as Dialogue, 'logout')
  await expect.poll(async () => (await session(b, user)) !== undefined).toBe(true)
})

test('how far a node is behind is shown, and nobody but who changed what it has to hear waits for it', async () => {
  const shown = async () => {
    const { body } = await access.call('GET', '/health')
    return body.cluster?.nodes.find(({ name }: { name: string }) => name === 'b')
  }
  const here = await userAt('a')
  await expect.poll(shown).toMatchObject({ alive: true, behind: 0 })
  child.kill('SIGSTOP')
  let answered = false
  const made = access.call('POST', '/users', { username: 'behind', password: 'secret of behind' }).then(() => {
    answered = true
  })
  const metrics = async () => (await access.raw('GET', '/metrics')).text()
  await expect.poll(metrics).toMatch(/cluster_behind\{node="b"\} [1-9]/)
  await expect.poll(metrics).toMatch(/cluster_renewed_seconds\{node="b"\} [2-9]/)
  expect(await deliver(a, here, 'meanwhile')).toMatch(/^250/)
  expect((await shown())?.renewedMs).toBeGreaterThan(2000)
  expect(answered).toBe(false)
  child.kill('SIGCONT')
  await made
  await expect.poll(shown).toMatchObject({ alive: true, behind: 0 })
  const environment = childEnvironment(join(folder, 'a'), {
    TEAL_STORE_URL: url,
    TEAL_CLUSTER_NATS: nats.url,
    TEAL_CLUSTER_NODE: 'a',
  })
  const { out } = await runTeal(['cluster', 'status'], environment)
  expect(out).toMatch(/^b: is there, \d+ shards, renewed \d+\.\d s ago, \d+ notices behind$/m)
})
