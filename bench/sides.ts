// Services that do the same work in turn: nodes beside one service (section/cluster.ts), a version beside the one before it (section/before.ts).
//
// What was delivered is indexed before the next one begins. What is summed up is rates, processor time and p99.

import { monotonic } from '#lib/clock.ts'
import { cpuSeconds, runLoad } from './child.ts'
import type { Job, LoadResult } from './load/job.ts'
import type { MixJob, MixName } from './load/mix.ts'
import { restful } from './section/delivery.ts'
import { makeUsers, type Service, type User } from './service.ts'

const users = 64
const messages = 100
/** Of each piece before it is measured. */
const warmMs = 12_000
/** What was delivered before is indexed by then: some hundred a second on PostgreSQL. */
const indexedMsMax = 300_000

/** What is measured: its services run while it is, and nothing else does. */
export interface Side {
  readonly name: string
  readonly start: () => Promise<Service[]>
  services: readonly Service[]
  users: readonly User[]
  page: string
}

export interface Piece {
  readonly what: string
  readonly job: (side: Side, service: Service, share: number, ms: number, seed: number) => Job | MixJob
}

export const login: Piece = {
  what: 'warm login and logout',
  job: ({ users: all }, service, share, ms) => ({
    ...{ kind: 'login', protocol: 'imap', connections: 16 / share, users: all, ms },
    ...service.listener('imap'),
  }),
}

export const reading: Piece = mixPiece('command of the reading mix of IMAP', 'mostly reading', 12, 8)

export const page: Piece = {
  what: 'page of 50 over HTTP',
  job: ({ page: path }, service, share, ms) => ({
    ...{ kind: 'request', method: 'GET', path, headers: { 'X-Access-Token': service.token }, bodies: [] },
    ...{ status: 200, connections: 8 / share, ms, ...service.listener('api') },
  }),
}

/** Last of all that is measured: what it brings is indexed for a minute afterwards. */
export const delivery: Piece = {
  what: 'delivery of 2 KB, 64 senders',
  job: ({ users: all }, service, share, ms, seed) => ({
    ...{ kind: 'deliver', protocol: 'lmtp', connections: 64 / share, size: 2048, seed, ms },
    ...{ recipients: all.map(({ address }) => address), ...service.listener('lmtp') },
  }),
}

export function mixPiece(what: string, mix: MixName, connections: number, accounts: number): Piece {
  return {
    what,
    job: ({ users: all }, service, share, ms, seed) => ({
      ...{ kind: 'mix', mix, connections: connections / share, messages, ms, seed, accounts: all.slice(0, accounts) },
      ...service.listener('imap'),
    }),
  }
}

export function side(name: string, start: () => Promise<Service[]>): Side {
  return { name, start, services: [], users: [], page: '' }
}

/** Starts what is measured; the first time with users and mail. */
export async function open(side: Side): Promise<void> {
  side.services = await side.start()
  if (side.users.length > 0) return
  const [service] = side.services as [Service]
  const all = await makeUsers(service, users)
  const fill = { kind: 'deliver', protocol: 'lmtp', connections: 8, size: 4096, seed: 1 } as const
  const filled = all.slice(0, 8)
  const recipients = filled.map(({ address }) => address)
  await runLoad({ ...fill, recipients, count: messages * 8, ...service.listener('lmtp') })
  for (const { id } of filled)
    for (const path of ['Archive', 'Appended']) await service.call('POST', `/users/${id}/mailboxes`, { path })
  const { results } = (await service.call('GET', `/users/${all[0]?.id}/mailboxes`)) as {
    results: { id: string; path: string }[]
  }
  const inbox = results.find(({ path }) => path === 'INBOX')?.id
  side.users = all
  side.page = `/users/${all[0]?.id}/mailboxes/${inbox}/messages?limit=50`
}

export async function close({ services }: Side): Promise<void> {
  for (const service of services.toReversed()) await service.stop()
}

/** Of some rounds. */
export interface Measured {
  done: number
  seconds: number
  /** Processor seconds of the services. */
  own: number
  /** Of another process that works for them. */
  engine: number
  /** Of each round, milliseconds. */
  readonly p99: number[]
  /** Of each round, pieces a second. */
  readonly rates: number[]
}

export function nothing(): Measured {
  return { done: 0, seconds: 0, own: 0, engine: 0, p99: [], rates: [] }
}

/** Warms a piece up and measures one round of it. @param engine as of `measure` */
export async function measurePiece(
  piece: Piece,
  side: Side,
  ms: number,
  sum: Measured,
  engine?: () => number,
): Promise<void> {
  await warmUp(piece, side)
  await measure(piece, side, ms, sum, engine)
}

/** A service that was just started costs two to three times as much until its code is optimized. */
export async function warmUp(piece: Piece, side: Side): Promise<void> {
  await load(piece, side, warmMs, 1)
}

/** One round of a piece; adds to `sum`. @param engine processor seconds of another process that works for the services */
export async function measure(piece: Piece, side: Side, ms: number, sum: Measured, engine = () => 0): Promise<void> {
  const own = () => side.services.reduce((all, { pid }) => all + cpuSeconds(pid), 0)
  // What was delivered is indexed in the background, by the services and the database.
  await restful(() => own() + engine(), indexedMsMax)
  const before = { own: own(), engine: engine() }
  const started = monotonic()
  const results = await load(piece, side, ms, 11 + sum.p99.length * 10)
  const seconds = (monotonic() - started) / 1000
  const done = results.reduce((all, result) => all + result.done, 0)
  sum.done += done
  sum.seconds += seconds
  sum.own += own() - before.own
  sum.engine += engine() - before.engine
  sum.p99.push(Math.max(...results.map(({ p99 }) => p99)))
  sum.rates.push(done / seconds)
}

function load(piece: Piece, side: Side, ms: number, seed: number): Promise<LoadResult[]> {
  const { services } = side
  return Promise.all(services.map((service, at) => runLoad(piece.job(side, service, services.length, ms, seed + at))))
}

/** Microseconds of one piece. */
export function micro(seconds: number, done: number): number {
  return Math.round((seconds / done) * 1e6)
}

export function middle(values: readonly number[]): number {
  return values.toSorted((x, y) => x - y)[Math.floor(values.length / 2)] ?? 0
}
