// One service on SQLite, one on PostgreSQL, and two nodes on one PostgreSQL: the same work, in turn, on one machine.
//
// Wanted: on PostgreSQL at least 0.35 of the deliveries and half of the reads. Where two nodes share two cores they cannot be faster
// than one; what counts there is the processor time of a piece, the database's apart. Last, one node is killed under deliveries:
// how long until the other serves everything, and whether what was answered is there.

import { spawnSync } from 'node:child_process'
import { cpSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { monotonic, sleep } from '#lib/clock.ts'
import { type Nats, startNats } from '../../test/cluster/nats.ts'
import { type Cluster, startCluster } from '../../test/postgres/cluster.ts'
import { cpuSeconds, runLoad, treeCpuSeconds } from '../child.ts'
import type { Job } from '../load/job.ts'
import type { MixJob } from '../load/mix.ts'
import { installed } from '../peer/install.ts'
import type { Plan } from '../plan.ts'
import type { Row } from '../row.ts'
import { makeFolder, makeUsers, removeFolder, type Service, startService, type User } from '../service.ts'
import { restful } from './delivery.ts'

const users = 64
const rounds = 2
const messages = 100
/** Of each piece before it is measured: a service that was just started costs two to three times as much until its code is optimized. */
const warmMs = 12_000
/** What was delivered before is indexed by then: some hundred a second on PostgreSQL. */
const indexedMsMax = 300_000

/** What is measured: its services run while it is, and nothing else does. */
interface Side {
  readonly name: string
  readonly start: () => Promise<Service[]>
  services: readonly Service[]
  users: readonly User[]
  page: string
}

interface Piece {
  readonly what: string
  /** The least ratio of one node on PostgreSQL to SQLite that is wanted. */
  readonly least: number
  readonly job: (side: Side, service: Service, share: number, ms: number, seed: number) => Job | MixJob
}

const pieces: readonly Piece[] = [
  {
    what: 'warm login and logout',
    least: 0.5,
    job: ({ users: all }, service, share, ms) => ({
      ...{ kind: 'login', protocol: 'imap', connections: 16 / share, users: all, ms },
      ...service.listener('imap'),
    }),
  },
  {
    what: 'command of the reading mix of IMAP',
    least: 0.5,
    job: ({ users: all }, service, share, ms, seed) => ({
      ...{ kind: 'mix', mix: 'mostly reading', connections: 12 / share, messages, ms, seed, accounts: all.slice(0, 8) },
      ...service.listener('imap'),
    }),
  },
  {
    what: 'page of 50 over HTTP',
    least: 0.5,
    job: ({ page }, service, share, ms) => ({
      ...{ kind: 'request', method: 'GET', path: page, headers: { 'X-Access-Token': service.token }, bodies: [] },
      ...{ status: 200, connections: 8 / share, ms, ...service.listener('api') },
    }),
  },
  // Last: what it brings is indexed for a minute afterwards.
  {
    what: 'delivery of 2 KB, 64 senders',
    least: 0.35,
    job: ({ users: all }, service, share, ms, seed) => ({
      ...{ kind: 'deliver', protocol: 'lmtp', connections: 64 / share, size: 2048, seed, ms },
      ...{ recipients: all.map(({ address }) => address), ...service.listener('lmtp') },
    }),
  },
]

export async function clusterSection(plan: Plan): Promise<Row[]> {
  installed('pg_createcluster', ['postgresql'])
  installed('nats-server', ['nats-server'])
  const folders = Array.from({ length: 4 }, () => makeFolder())
  const [file = '', alone = '', a = '', b = ''] = folders
  const database = await startCluster({ durable: true })
  const nats = await startNats()
  try {
    for (const name of ['alone', 'nodes']) create(database, name)
    const node = (name: string) => startNode(database, nats, name === 'a' ? a : b, name)
    const nodes = side('two nodes', async () => {
      const first = await node('a')
      cpSync(join(a, 'keys'), join(b, 'keys'), { recursive: true })
      return [first, await node('b')]
    })
    const sides = [
      side('SQLite', async () => [await startService(file, {})]),
      side('PostgreSQL', async () => [await startService(alone, { TEAL_STORE_URL: database.url('alone') })]),
      nodes,
    ]
    const rows = await measureAll(sides, database, plan.ms / 2)
    nodes.services = await nodes.start()
    rows.push(...(await takeOver(nodes, plan.ms)))
    await nodes.services[0]?.stop()
    return rows
  } finally {
    await database.stop()
    await nats.stop()
    for (const folder of folders) removeFolder(folder)
  }
}

function create(database: Cluster, name: string): void {
  const made = spawnSync('psql', ['-q', '-c', `CREATE DATABASE ${name} TEMPLATE template0`, database.url('postgres')])
  if (made.status !== 0) throw new Error(`a database could not be made: ${made.stderr}`)
}

function startNode(database: Cluster, nats: Nats, folder: string, name: string): Promise<Service> {
  return startService(folder, {
    ...{ TEAL_STORE_URL: database.url('nodes'), TEAL_CLUSTER_NATS: nats.url, TEAL_CLUSTER_NODE: name },
  })
}

function side(name: string, start: () => Promise<Service[]>): Side {
  return { name, start, services: [], users: [], page: '' }
}

/** Starts what is measured; the first time with users and mail. */
async function open(side: Side): Promise<void> {
  side.services = await side.start()
  if (side.users.length > 0) return
  const [service] = side.services as [Service]
  const all = await makeUsers(service, users)
  const fill = { kind: 'deliver', protocol: 'lmtp', connections: 8, size: 4096, seed: 1 } as const
  const recipients = all.slice(0, 8).map(({ address }) => address)
  await runLoad({ ...fill, recipients, count: messages * 8, ...service.listener('lmtp') })
  const { results } = (await service.call('GET', `/users/${all[0]?.id}/mailboxes`)) as {
    results: { id: string; path: string }[]
  }
  const inbox = results.find(({ path }) => path === 'INBOX')?.id
  side.users = all
  side.page = `/users/${all[0]?.id}/mailboxes/${inbox}/messages?limit=50`
}

interface Sum {
  done: number
  seconds: number
  own: number
  engine: number
  readonly p99: number[]
}

/** Services that wait beside the measured one cost it half of its rate: each side runs alone, in turn. */
async function measureAll(sides: readonly Side[], database: Cluster, ms: number): Promise<Row[]> {
  const sums = pieces.map(() => sides.map((): Sum => ({ done: 0, seconds: 0, own: 0, engine: 0, p99: [] })))
  for (let round = 0; round < rounds; round++) {
    for (const [index, side] of sides.entries()) {
      await open(side)
      for (const [at, piece] of pieces.entries()) await measure(piece, side, database, ms, sums[at]?.[index] as Sum)
      for (const service of side.services.toReversed()) await service.stop()
    }
  }
  return pieces.flatMap((piece, at) => rowsOf(piece, sides, sums[at] as Sum[]))
}

async function measure(piece: Piece, side: Side, database: Cluster, ms: number, sum: Sum): Promise<void> {
  const load = (time: number, seed: number) =>
    Promise.all(
      side.services.map((service, at) => runLoad(piece.job(side, service, side.services.length, time, seed + at))),
    )
  await load(warmMs, 1)
  // What was delivered is indexed in the background, by the services and the database.
  await restful(() => used(side, database).own + used(side, database).engine, indexedMsMax)
  const before = used(side, database)
  const started = monotonic()
  const results = await load(ms, 11 + sum.p99.length * 10)
  const after = used(side, database)
  sum.done += results.reduce((all, { done }) => all + done, 0)
  sum.seconds += (monotonic() - started) / 1000
  sum.own += after.own - before.own
  sum.engine += after.engine - before.engine
  sum.p99.push(Math.max(...results.map(({ p99 }) => p99)))
}

function rowsOf(piece: Piece, sides: readonly Side[], sums: readonly Sum[]): Row[] {
  const [bound] = sums.map(({ done, seconds }) => done / seconds)
  return sums.map(({ done, seconds, own, engine, p99 }, index) => ({
    ...{ what: `${piece.what}: ${sides[index]?.name}`, figure: done / seconds, unit: '/s' },
    ...(index > 0 && { bound: { name: 'SQLite', value: bound ?? 0 } }),
    ...(index === 1 && { wanted: { least: piece.least } }),
    note: `${micro(own, done)} us of the service${index > 0 ? `, ${micro(engine, done)} of PostgreSQL` : ''}; p99 ${middle(p99).toFixed(1)} ms`,
  }))
}

function micro(seconds: number, done: number): number {
  return Math.round((seconds / done) * 1e6)
}

function middle(values: readonly number[]): number {
  return values.toSorted((x, y) => x - y)[Math.floor(values.length / 2)] ?? 0
}

/** Processor seconds of the services and of the database. */
function used({ services }: Side, { folder }: Cluster): { own: number; engine: number } {
  const [postmaster = ''] = readFileSync(join(folder, 'data', 'postmaster.pid'), 'utf8').split('\n')
  const own = services.reduce((sum, { pid }) => sum + cpuSeconds(pid), 0)
  return { own, engine: treeCpuSeconds(Number(postmaster)) }
}

/** Kills the second node while mail comes to the first one. */
async function takeOver(side: Side, ms: number): Promise<Row[]> {
  const [first, second] = side.services as [Service, Service]
  const counted = async () => {
    const all = await Promise.all(side.users.map(({ id }) => first.call('GET', `/users/${id}/mailboxes?counters=true`)))
    const boxes = all.flatMap(({ results }) => results as { path: string; total: number }[])
    return boxes.reduce((sum, { path, total }) => sum + (path === 'INBOX' ? total : 0), 0)
  }
  const before = await counted()
  const recipients = side.users.map(({ address }) => address)
  const load = runLoad({
    ...{ kind: 'deliver', protocol: 'lmtp', connections: 16, size: 2048, recipients, seed: 99, ms: ms + 15_000 },
    ...first.listener('lmtp'),
  })
  await sleep(ms / 3)
  const killed = monotonic()
  process.kill(second.pid, 'SIGKILL')
  for (;;) {
    const { cluster } = (await first.call('GET', '/health')) as {
      cluster: { nodes: { name: string; shards: number }[] }
    }
    if (cluster.nodes.find(({ name }) => name === 'b')?.shards === 0) break
    await sleep(20)
  }
  const tookMs = monotonic() - killed
  const { done } = await load
  const lost = done - ((await counted()) - before)
  return [
    { what: 'take-over from a node that was killed', figure: tookMs / 1000, unit: 's', wanted: { most: 10 } },
    {
      what: 'deliveries that were answered and are not there',
      figure: Math.max(lost, 0),
      unit: '',
      wanted: { most: 0 },
    },
  ]
}
