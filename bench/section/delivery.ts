// Deliveries over LMTP, durable: against one commit for each message (the service itself so started, and bare SQLite),
// and against Dovecot where it is asked for. What sharing a commit brings is what a sync costs, and that may be less than
// the work on a message (0.15 ms against 0.3 on the machine this was written on): it is shown where a sync takes longer, too.
//
// Every measure runs on the same users, the same messages and the same generator. A message counts when its answer
// has come, which is after it is on disk. The mailboxes exist before the clock starts.

import { sleep } from '#lib/clock.ts'
import { oneCommitEach, syncedAppends } from '../bound.ts'
import { cpuSeconds, loadNote, runLoad } from '../child.ts'
import type { LoadResult } from '../load/job.ts'
import type { Target } from '../load/line.ts'
import { type Dovecot, withDovecot } from '../peer/dovecot.ts'
import type { Plan } from '../plan.ts'
import type { LoopDelay } from '../probe.ts'
import type { Row } from '../row.ts'
import { makeFolder, makeUsers, removeFolder, type Service, startService } from '../service.ts'
import { slowerBy } from '../slow.ts'

interface Load {
  readonly size: number
  readonly connections: number
  /** Times Dovecot's rate that is wanted. */
  readonly timesPeer: number
}

const smallBytes = 2048
const loads: readonly Load[] = [
  { size: smallBytes, connections: 16, timesPeer: 3 },
  { size: smallBytes, connections: 64, timesPeer: 3 },
  { size: 51_200, connections: 16, timesPeer: 2 },
]
const users = 100
const rounds = 3
const timesOneCommit = 8
const loopDelayMs = 20

export async function deliverySection(plan: Plan): Promise<Row[]> {
  const run = (dovecot?: Dovecot) =>
    withService(['single'], single => withService([], service => compare(plan, { service, single, dovecot })))
  return [...(plan.peers ? await withDovecot(users, run) : await run()), ...(await slowDisk(plan))]
}

/** The same small messages, where a sync takes some milliseconds longer: all who send share it (store/writer/commit-delay.ts). */
function slowDisk(plan: Plan): Promise<Row[]> {
  return withService(['single', 'slow'], single =>
    withService(['slow'], async service => {
      const rows: Row[] = []
      const small = loads.filter(load => load.size === smallBytes)
      const most = Math.max(...small.map(load => load.connections))
      await runLoad(job(service, smallBytes, most, { ms: plan.ms / 2 }))
      for (const { size, connections } of small) {
        const own: LoadResult[] = []
        const singles: LoadResult[] = []
        for (let round = 0; round < rounds; round++) {
          singles.push(await runLoad(job(single, size, connections, { ms: plan.ms / 2 })))
          own.push(await runLoad(job(service, size, connections, { ms: plan.ms / 2 })))
        }
        const middle = median(own)
        rows.push({
          what: `LMTP 2 KB, ${connections} connections, a sync takes ${slowerBy} ms more`,
          figure: middle.rate,
          unit: '/s',
          bound: { name: 'itself, one commit each', value: median(singles).rate },
          wanted: { least: timesOneCommit },
          note: loadNote(middle),
        })
      }
      return rows
    }),
  )
}

/** Somebody who takes deliveries: where, and for whom. */
interface Receiver {
  readonly service: Service
  readonly lmtp: Target
  readonly addresses: readonly string[]
}

interface Contenders {
  readonly service: Receiver
  /** The service with a transaction for each message. */
  readonly single: Receiver
  readonly dovecot: Dovecot | undefined
}

async function compare(plan: Plan, contenders: Contenders): Promise<Row[]> {
  const { service, single, dovecot } = contenders
  for (const receiver of [service, single, dovecot]) {
    if (receiver !== undefined) await runLoad(job(receiver, smallBytes, 1, { count: users }))
  }
  const rows: Row[] = []
  for (const load of loads) rows.push(...(await compareLoad(plan, load, contenders)))
  const appends = syncedAppends(service.service.dataDir, smallBytes, 16, plan.ms / 2)
  return [...rows, { what: 'disk: 2 KB appends, 16 to a sync', figure: appends, unit: '/s' }]
}

/**
 * Everybody in turn, several rounds, so that a busy minute of the machine meets them all; the medians count. The first round
 * is for warming up, which takes code that is compiled while it runs a second or two for each kind of message.
 */
async function compareLoad(plan: Plan, load: Load, { service, single, dovecot }: Contenders): Promise<Row[]> {
  const own: LoadResult[] = []
  const singles: LoadResult[] = []
  const peers: LoadResult[] = []
  const bare: number[] = []
  let cpu = 0
  let late: LoopDelay = { p50: 0, p99: 0, worst: 0, work: [] }
  const run = async (receiver: { lmtp: Target; addresses: readonly string[] }) => {
    await idle([service.service.pid, single.service.pid])
    return runLoad(job(receiver, load.size, load.connections, { ms: plan.ms / 2 }))
  }
  for (const receiver of [dovecot, single, service]) if (receiver !== undefined) await run(receiver)
  for (let round = 0; round < rounds; round++) {
    if (dovecot !== undefined) peers.push(await run(dovecot))
    singles.push(await run(single))
    bare.push(oneCommitEach(service.service.dataDir, load.size, plan.ms / 4))
    await service.service.loopDelay()
    const before = cpuSeconds(service.service.pid)
    own.push(await run(service))
    cpu += cpuSeconds(service.service.pid) - before
    const delay = await service.service.loopDelay()
    if (delay.p99 > late.p99) late = delay
  }
  const done = own.reduce((sum, result) => sum + result.done, 0)
  return [
    ...rateRows(load, median(own), {
      single: median(singles).rate,
      bare: bare.toSorted((a, b) => a - b)[Math.floor(rounds / 2)] ?? 0,
      peer: peers.length === 0 ? undefined : median(peers),
      cpuMs: (cpu * 1000) / Math.max(1, done),
    }),
    {
      what: '  loop delay p99, worst round',
      figure: late.p99,
      unit: 'ms',
      wanted: { most: loopDelayMs },
      note: `p50 ${late.p50.toFixed(1)} ms, worst ${late.worst.toFixed(1)} ms`,
    },
  ]
}

/** Waits until these processes do next to nothing: what one of them still indexes would be taken from the next to run. */
export function idle(pids: readonly number[]): Promise<void> {
  return restful(() => pids.reduce((sum, pid) => sum + cpuSeconds(pid), 0))
}

/** Waits until the processor time that `used` says grows hardly. */
export async function restful(used: () => number, mostMs = idleMsMax): Promise<void> {
  for (let waited = 0; waited < mostMs; waited += lookMs) {
    const before = used()
    await sleep(lookMs)
    if (used() - before <= lookMs / 10_000) return
  }
}

const lookMs = 500
const idleMsMax = 60_000

interface Bounds {
  /** The service itself with a transaction for each message. */
  readonly single: number
  /** Bare SQLite with a transaction for each message. */
  readonly bare: number
  readonly peer: LoadResult | undefined
  /** Milliseconds of processor time for each message. */
  readonly cpuMs: number
}

function rateRows(load: Load, own: LoadResult, { single, bare, peer, cpuMs }: Bounds): Row[] {
  const size = `${Math.round(load.size / 1024)} KB`
  const base = { what: `LMTP ${size}, ${load.connections} connections`, figure: own.rate, unit: '/s' }
  const note = `${loadNote(own)}; ${cpuMs.toFixed(2)} ms CPU each`
  const wanted = load.size === smallBytes ? { wanted: { least: timesOneCommit } } : {}
  const rows: Row[] = [
    { ...base, bound: { name: 'itself, one commit each', value: single }, ...wanted, note },
    { ...base, bound: { name: 'bare SQLite, one commit each', value: bare } },
  ]
  if (peer !== undefined) {
    const bound = { name: 'Dovecot', value: peer.rate }
    rows.push({ ...base, bound, wanted: { least: load.timesPeer }, note: `Dovecot ${loadNote(peer)}` })
  }
  return rows
}

function median(results: readonly LoadResult[]): LoadResult {
  const middle = results.toSorted((a, b) => a.rate - b.rate)[Math.floor(results.length / 2)]
  if (middle === undefined) throw new Error('nothing was measured')
  return middle
}

async function withService<Result>(
  handicaps: Parameters<typeof startService>[2],
  task: (receiver: Receiver) => Promise<Result>,
): Promise<Result> {
  const folder = makeFolder()
  try {
    const service = await startService(folder, {}, handicaps)
    const addresses = (await makeUsers(service, users)).map(user => user.address)
    const result = await task({ service, lmtp: service.listener('lmtp'), addresses })
    await service.stop()
    return result
  } finally {
    removeFolder(folder)
  }
}

function job(
  { lmtp, addresses }: { lmtp: Target; addresses: readonly string[] },
  size: number,
  connections: number,
  bounds: { count?: number; ms?: number },
) {
  return {
    kind: 'deliver',
    protocol: 'lmtp',
    ...lmtp,
    recipients: addresses,
    size,
    seed: 1,
    connections,
    ...bounds,
  } as const
}
