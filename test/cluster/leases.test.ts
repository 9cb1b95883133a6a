// Leases of nodes on a real PostgreSQL: fair shares, a node that comes, goes, is killed, sleeps, and what the store refuses.

import { type ChildProcess, fork } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { createServer, connect as dial } from 'node:net'
import { tmpdir } from 'node:os'
import { join as joined, resolve } from 'node:path'
import pg from 'pg'
import { afterEach, beforeEach, describe, expect, inject, test } from 'vitest'
import { shiftClock } from '#lib/clock.ts'
import { makeLog } from '#lib/log.ts'
import { Leases } from '#store/cluster/leases.ts'
import { leaseCount, shardOf } from '#store/cluster/shards.ts'
import { Writing } from '#store/engine/postgres/writer/writing.ts'
import { loadStore } from '../postgres/both.ts'
import { makeDatabase, urlIn } from '../postgres/cluster.ts'
import { unit } from '../postgres/rows.ts'
import type { Said, Told } from './node.ts'

await loadStore()

let url: string
const open: { leave(): Promise<void> }[] = []

beforeEach(async () => {
  url = await makeDatabase(inject('postgres'))
})

afterEach(async () => {
  await Promise.all(open.splice(0).map(one => one.leave()))
  shiftClock(0)
})

async function join(name: string, address = url): Promise<Leases> {
  const leases = await Leases.join({ settings: { url: address }, name, log: makeLog('silent', 1, {} as never) })
  open.push(leases)
  return leases
}

/** A node of a process of its own. */
class Node {
  readonly child: ChildProcess
  num = 0
  held = new Map<number, number>()
  lost = 0
  readonly #answers: ((said: Extract<Said, { failures: unknown }>) => void)[] = []
  readonly #gone: Promise<void>

  private constructor(name: string) {
    const file = resolve('test/cluster/node.ts')
    this.child = fork(file, [url, name], { serialization: 'advanced', execArgv: [] })
    this.#gone = new Promise(done => this.child.once('exit', () => done()))
    this.child.on('message', (said: Said) => {
      if ('held' in said) {
        this.num = said.num
        this.held = new Map(said.held)
      } else if ('lost' in said) this.lost += said.lost.length
      else if ('failures' in said) this.#answers.shift()?.(said)
    })
  }

  static async start(name: string): Promise<Node> {
    const node = new Node(name)
    open.push(node)
    await expect.poll(() => node.num).toBeGreaterThan(0)
    return node
  }

  write(units: Extract<Told, { write: unknown }>['write']) {
    return new Promise<Extract<Said, { failures: unknown }>>(done => {
      this.#answers.push(done)
      this.child.send({ write: units } satisfies Told)
    })
  }

  async kill(): Promise<void> {
    this.child.kill('SIGKILL')
    await this.#gone
  }

  async leave(): Promise<void> {
    this.child.kill('SIGCONT')
    await this.kill()
  }
}

/** A unit that puts down one fact, under a lease. */
function fact(key: string, lease?: readonly [number, number]) {
  return { ...unit([['meta.put', [key, 1]]]), lease }
}

async function facts(): Promise<string[]> {
  return (await asked<{ key: string }>("SELECT key FROM meta WHERE key <> 'cluster' ORDER BY key")).map(
    ({ key }) => key,
  )
}

async function asked<Row extends object>(text: string): Promise<Row[]> {
  const client = new pg.Client(url)
  await client.connect()
  const { rows } = await client.query<Row>(text)
  await client.end()
  return rows
}

const all = (...held: Leases[]) => held.reduce((sum, { count }) => sum + count, 0)

describe('shares', () => {
  test('one node has everything; one that comes gets its part, one that leaves gives it back at once', async () => {
    const a = await join('a')
    expect(a.count).toBe(leaseCount)
    const b = await join('b')
    await expect.poll(() => [a.count, b.count]).toEqual([leaseCount / 2, leaseCount / 2])
    const c = await join('c')
    const fair = Math.ceil(leaseCount / 3)
    await expect.poll(() => [a, b, c].every(({ count }) => count > 0 && count <= fair) && all(a, b, c)).toBe(leaseCount)
    await Promise.all([a, b, c].map(node => node.beat()))
    for (let shard = 0; shard < leaseCount; shard++) {
      expect([a, b, c].filter(node => node.termOf(shard) !== undefined)).toHaveLength(1)
      expect(new Set([a, b, c].map(node => node.ownerOf(shard))).size).toBe(1)
    }
    await b.leave()
    expect(b.count).toBe(0)
    // Those who are left have it already, and learn of it with their next beat.
    await Promise.all([a.beat(), c.beat()])
    expect(all(a, c)).toBe(leaseCount)
  })

  test('what is about to be handed over ends first, and nothing new begins in it', async () => {
    const a = await join('a')
    let released: readonly number[] = []
    let end: () => void = () => {}
    const lost: number[] = []
    a.listen({
      release: shards => {
        released = shards
        return new Promise(done => {
          end = done
        })
      },
      lost: shards => void lost.push(...shards),
    })
    const b = await join('b')
    await expect.poll(() => released.length).toBe(leaseCount / 2)
    const [shard = 0] = released
    expect(a.termOf(shard)).toBeUndefined()
    expect(a.holds(shard, 1) || a.holds(shard, 2)).toBe(true)
    expect(b.count).toBe(0)
    end()
    await expect.poll(() => b.count).toBe(leaseCount / 2)
    expect(lost.toSorted()).toEqual(released.toSorted())
  })

  test('a clock that is an hour off changes nothing', async () => {
    const a = await join('a')
    const b = await join('b')
    await expect.poll(() => b.count).toBe(leaseCount / 2)
    const terms = await asked('SELECT sum(term) FROM lease')
    for (const ms of [3_600_000, -3_600_000]) {
      shiftClock(ms)
      await a.beat()
      await b.beat()
    }
    expect(all(a, b)).toBe(leaseCount)
    expect(await asked('SELECT sum(term) FROM lease')).toEqual(terms)
  })

  test('accounts spread over shards', () => {
    const shards = new Set(Array.from({ length: 20_000 }, (_, at) => shardOf(at.toString(16).padStart(24, '0'))))
    expect(shards.size).toBe(1024)
  })
})

describe('a node that is gone', () => {
  test('when it was killed others take its shards when its leases have run out', async () => {
    const a = await join('a')
    const node = await Node.start('b')
    await expect.poll(() => node.held.size).toBe(leaseCount / 2)
    const [[shard, term] = [0, 0]] = [...node.held]
    await node.kill()
    await expect.poll(() => a.count).toBe(leaseCount)
    expect(a.termOf(shard)).toBe(term + 1)
    expect(a.nodes.find(({ name }) => name === 'b')).toMatchObject({ alive: false })
  })

  test('one that comes back to tables that a newer version has changed takes and writes nothing', async () => {
    const a = await join('a')
    const { writing } = await Writing.open({ url }, false, { passing: true, node: a.num })
    const lease = [0, a.termOf(0) ?? 0] as const
    await asked('UPDATE schema_version SET version = version + 1')
    await asked(`SELECT pg_terminate_backend(pid) FROM pg_locks WHERE locktype = 'advisory'
      AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`)
    for (const key of ['late', 'later']) {
      const { broken } = await writing.commit([fact(key, lease)])
      expect(broken).not.toBeNull()
    }
    await expect.poll(() => a.count).toBe(0)
    await a.beat()
    expect(a.count).toBe(0)
    expect(await facts()).toEqual([])
    await writing.close()
    await asked('UPDATE schema_version SET version = version - 1')
    await expect.poll(() => a.count).toBe(leaseCount)
  })

  test('one whose connection to the database is silent makes another one, and has its name there', async () => {
    const folder = mkdtempSync(joined(tmpdir(), 'teal-silent-'))
    const silences: (() => void)[] = []
    const proxy = createServer(near => {
      const far = dial(joined(inject('postgres'), '.s.PGSQL.5432'))
      for (const side of [near, far]) side.on('error', () => {})
      near.pipe(far).pipe(near)
      // Neither side hears anything more, nor that the other one has gone: as where a server's machine is gone, or what lies between has forgotten.
      silences.push(() => {
        near.unpipe(far)
        far.unpipe(near)
        near.resume()
      })
    })
    await new Promise<void>(done => proxy.listen(joined(folder, '.s.PGSQL.5432'), done))
    const a = await join('a', urlIn(folder, /\/(\w+)\?/.exec(url)?.[1] ?? ''))
    for (const silence of silences.splice(0)) silence()
    await expect.poll(() => a.count).toBe(0)
    await expect.poll(() => a.count).toBe(leaseCount)
    // Several that ask at once for what was lost have one connection between them, and the name belongs to it.
    await asked('SELECT pg_terminate_backend(pid) FROM pg_locks WHERE classid = 7430415 AND pid <> pg_backend_pid()')
    const several = () => Promise.all([a.first('SELECT 1'), a.first('SELECT 2'), a.beat()])
    await expect.poll(() => several().then(Boolean, () => false)).toBe(true)
    expect(
      await asked(`SELECT count(*)::int AS connections, count(l.pid)::int AS names FROM pg_stat_activity s
      LEFT JOIN pg_locks l ON l.pid = s.pid AND l.classid = 7430415 AND l.granted
      WHERE datname = current_database() AND s.pid <> pg_backend_pid()`),
    ).toEqual([{ connections: 1, names: 1 }])
    await a.leave()
    proxy.close()
    rmSync(folder, { recursive: true, force: true })
  })

  test('one that slept is refused, each unit alone, and lets go', async () => {
    const a = await join('a')
    const node = await Node.start('b')
    await expect.poll(() => node.held.size).toBe(leaseCount / 2)
    const [lease = [0, 0]] = [...node.held]
    expect(await node.write([fact('before', lease)])).toMatchObject({ failures: [], broken: null })
    node.child.kill('SIGSTOP')
    await expect.poll(() => a.count).toBe(leaseCount)
    const { writing } = await Writing.open({ url }, false, { passing: true, node: a.num })
    const [shard] = lease
    expect(await writing.commit([fact('new owner', [shard, a.termOf(shard) ?? 0])])).toMatchObject({ failures: [] })
    await writing.close()
    node.child.kill('SIGCONT')
    const answer = await node.write([fact('woken', lease), fact('of no account'), fact('too', lease)])
    expect(answer.failures.map(({ unit, kind }) => [unit, kind])).toEqual([
      [0, 'fenced'],
      [2, 'fenced'],
    ])
    expect(await facts()).toEqual(['before', 'new owner', 'of no account'])
    expect(node.lost).toBeGreaterThanOrEqual(leaseCount / 2)
    // It is a node as any other again.
    await expect.poll(() => node.held.size).toBe(leaseCount / 2)
    const fresh = [...node.held][0]
    expect(await node.write([fact('again', fresh)])).toMatchObject({ failures: [], broken: null })
  })

  test('nothing is taken while a batch of it is under way', async () => {
    const a = await join('a')
    const node = await Node.start('b')
    await expect.poll(() => node.held.size).toBe(leaseCount / 2)
    const batch = new pg.Client(url)
    await batch.connect()
    await batch.query(`BEGIN; UPDATE writer_call SET call = call WHERE writer = ${node.num}`)
    await node.kill()
    await expect.poll(() => a.nodes.find(({ name }) => name === 'b')?.alive).toBe(false)
    await a.beat()
    expect(a.count).toBe(leaseCount / 2)
    await batch.query('COMMIT')
    await batch.end()
    await expect.poll(() => a.count).toBe(leaseCount)
  })

  test('the same name begins anew at once, and what the one before it had is worth nothing', async () => {
    const first = await Node.start('b')
    await expect.poll(() => first.held.size).toBe(leaseCount)
    const [lease = [0, 0]] = [...first.held]
    await first.kill()
    const second = await Node.start('b')
    expect(second.num).toBe(first.num)
    expect(second.held.size).toBe(leaseCount)
    expect(second.held.get(lease[0])).toBe(lease[1] + 1)
    const answer = await second.write([fact('of before', lease), fact('of now', [lease[0], lease[1] + 1])])
    expect(answer.failures.map(({ kind }) => kind)).toEqual(['fenced'])
    expect(await facts()).toEqual(['of now'])
  })
})

describe('who may be there', () => {
  test('no two nodes have one name', async () => {
    await join('a')
    await expect(join('a')).rejects.toMatchObject({
      code: 'DataDirectoryInUse',
      message: expect.stringMatching(/called a/),
    })
  })

  test('a lone service and nodes keep each other out', async () => {
    const a = await join('a')
    await expect(Writing.open({ url }, false, { passing: true })).rejects.toMatchObject({ code: 'DataDirectoryInUse' })
    await a.leave()
    const { writing } = await Writing.open({ url }, false, { passing: true })
    await expect(join('b')).rejects.toMatchObject({ code: 'DataDirectoryInUse' })
    await writing.close()
    expect((await join('b')).count).toBe(leaseCount)
  })
})
