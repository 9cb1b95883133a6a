// Sessions that wait: what one costs in memory, and how soon all of them hear of mail while a hundred messages a second come in.
//
// Without TLS. Some sessions are there first, and the figure is the middle one of several steps, so that what a service grows by once
// (the young part of each heap) does not count; memory is what is its own, the garbage of front threads included. Deliveries of two
// seconds come first: pushes of a service that works are measured. The generator takes half of the two cores.

import { sleep } from '#lib/clock.ts'
import { memoryOf, startChild } from '../child.ts'
import { percentile } from '../load/job.ts'
import type { Pushed, WaiterAsked } from '../load/waiter.ts'
import type { Plan } from '../plan.ts'
import type { Row } from '../row.ts'
import { makeFolder, makeUsers, removeFolder, startService } from '../service.ts'

const users = 400
/** Of 20,000 descriptors one listener may have somewhat more on the main thread (net/descriptors.ts), in two fronts some 8,900. */
const openSteps = { home: [1200, 2400, 5000, 7500, 10_000], fronts: [1200, 2400, 4300, 6200, 8_000] } as const
const warmSeconds = 2
const perSecond = 100
const mostKilobytes = 8
const mostMs = 50
/** Threads of sessions find quiet seconds enough to collect what opening them left behind. */
const settleMs = 15_000
const givenBackMs = 3000

export async function idleSection(plan: Plan): Promise<Row[]> {
  const quick = plan.ms < 3000
  const fronts = plan.threads === undefined ? ['0', '2'] : [plan.threads]
  const rows: Row[] = []
  for (const threads of fronts) {
    const steps = threads === '0' ? openSteps.home : openSteps.fronts
    rows.push(...(await measure(threads, quick ? [400, 1200, 2400] : steps, plan.ms / 200)))
  }
  return rows
}

async function measure(threads: string, steps: readonly number[], seconds: number): Promise<Row[]> {
  const folder = makeFolder()
  const env = {
    TEAL_THREADS: threads,
    TEAL_IMAP_MAX_CONNECTIONS: '2000',
    TEAL_IMAP_MAX_OPEN: '12000',
    TEAL_IMAP_MAX_OPEN_PER_NETWORK: '20000',
  }
  const service = await startService(folder, env)
  const child = startChild('bench/load/waiter.ts', [], {})
  try {
    const all = await makeUsers(service, users)
    const accounts = all.map(({ name, password }) => ({ name, password }))
    const ask = (asked: WaiterAsked) => child.ask(asked)
    const held: number[] = []
    for (const open of steps) {
      await ask({ open, imap: service.listener('imap'), accounts })
      await sleep(settleMs)
      // Pages that a collection emptied go back to the system somewhat later, and with the next one.
      await service.collect()
      await sleep(givenBackMs)
      await service.collect()
      held.push(memoryOf(service.pid).own / 1024)
    }
    const most = steps.at(-1) ?? 0
    const each = steps.slice(1).map((count, at) => ((held[at + 1] ?? 0) - (held[at] ?? 0)) / (count - (steps[at] ?? 0)))
    const memory: Row = {
      what: `threads ${threads}: memory of a waiting session, ${steps[0]} to ${most}`,
      figure: percentile(
        each.toSorted((one, other) => one - other),
        50,
      ),
      unit: 'KB',
      wanted: { most: mostKilobytes },
      note: `steps ${each.map(one => one.toFixed(1)).join(', ')}; ${Math.round((held.at(-1) ?? 0) / 1024)} MB in all`,
    }
    const recipients = all.map(({ address }) => address)
    const asked = { perSecond, lmtp: service.listener('lmtp'), recipients }
    await ask({ ...asked, deliver: warmSeconds * perSecond })
    const pushed = (await ask({ ...asked, deliver: Math.round(seconds) * perSecond })) as Pushed
    const pushes: Row = {
      what: `threads ${threads}: pushes to ${most} sessions, p99`,
      figure: pushed.p99,
      unit: 'ms',
      wanted: { most: mostMs },
      note:
        `${perSecond} deliveries a second; p50 ${pushed.p50.toFixed(1)}, worst ${pushed.worst.toFixed(0)} ms; ` +
        `${pushed.pushes} of ${pushed.expected} pushes`,
    }
    return [memory, pushes]
  } finally {
    await child.stop(1000)
    await service.stop()
    removeFolder(folder)
  }
}
