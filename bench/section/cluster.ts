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
import { runLoad, treeCpuSeconds } from '../child.ts'
import { installed } from '../peer/install.ts'
import type { Plan } from '../plan.ts'
import type { Row } from '../row.ts'
import { makeFolder, removeFolder, type Service, startService } from '../service.ts'
import {
  close,
  delivery,
  login,
  type Measured,
  measurePiece,
  micro,
  middle,
  nothing,
  open,
  type Piece,
  page,
  reading,
  type Side,
  side,
} from '../sides.ts'

const rounds = 2
/** The least ratio of one node on PostgreSQL to SQLite that is wanted. */
const wanted: readonly (readonly [Piece, number])[] = [
  [login, 0.5],
  [reading, 0.5],
  [page, 0.5],
  [delivery, 0.35],
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

/** Services that wait beside the measured one cost it half of its rate: each side runs alone, in turn. */
async function measureAll(sides: readonly Side[], database: Cluster, ms: number): Promise<Row[]> {
  const engine = () => {
    const [postmaster = ''] = readFileSync(join(database.folder, 'data', 'postmaster.pid'), 'utf8').split('\n')
    return treeCpuSeconds(Number(postmaster))
  }
  const sums = wanted.map(() => sides.map(nothing))
  for (let round = 0; round < rounds; round++) {
    for (const [index, side] of sides.entries()) {
      await open(side)
      for (const [at, [piece]] of wanted.entries())
        await measurePiece(piece, side, ms, sums[at]?.[index] as Measured, engine)
      await close(side)
    }
  }
  return wanted.flatMap(([piece, least], at) => rowsOf(piece, least, sides, sums[at] as Measured[]))
}

function rowsOf(piece: Piece, least: number, sides: readonly Side[], sums: readonly Measured[]): Row[] {
  const [bound] = sums.map(({ done, seconds }) => done / seconds)
  return sums.map(({ done, seconds, own, engine, p99 }, index) => ({
    ...{ what: `${piece.what}: ${sides[index]?.name}`, figure: done / seconds, unit: '/s' },
    ...(index > 0 && { bound: { name: 'SQLite', value: bound ?? 0 } }),
    ...(index === 1 && { wanted: { least } }),
    note: `${micro(own, done)} us of the service${index > 0 ? `, ${micro(engine, done)} of PostgreSQL` : ''}; p99 ${middle(p99).toFixed(1)} ms`,
  }))
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
