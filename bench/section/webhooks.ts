// Events and their delivery: how many a second, what a hanging endpoint costs the others, what emitting costs.
//
// Events are written first and delivered after, so that only delivery is measured; each attempt is on disk before its
// call and each result after it. Delays are measured from the event to the subscriber, with and without one endpoint of
// a hundred that never answers. The cost of emitting is that of the same small units with and without an event row.

import { createMailbox, updateMailbox } from '#actors/mailbox/mailbox.ts'
import { loadConfig } from '#config'
import { type Core, openCore } from '#core'
import { monotonic, sleep } from '#lib/clock.ts'
import { makeLog } from '#lib/log.ts'
import { type Child, startChild } from '../child.ts'
import { fixedMessages, stamp } from '../load/messages.ts'
import type { Taken } from '../load/subscriber.ts'
import type { Plan } from '../plan.ts'
import type { Row } from '../row.ts'
import { makeFolder, makeUsers, removeFolder, startService } from '../service.ts'

const events = 10_000
const leastPerSecond = 2000
const endpoints = 100
const mostTimesQuiet = 2
const mostOfPlain = 1.1
/** Turns of a comparison: many, since a busy moment of the machine should meet both. */
const turns = 36
/** Turns of each where one hangs or none does. */
const hangingTurns = 5
/** Tenths of a second until a run is over, whatever came. */
const waitsMax = 300
const local = { TEAL_NETWORK_ALLOW_PRIVATE: '127.0.0.0/8' }

export async function webhooksSection(plan: Plan): Promise<Row[]> {
  const subscriber = startChild('bench/load/subscriber.ts', [], {})
  try {
    return [
      await backlog(subscriber, 1),
      await backlog(subscriber, 100),
      await hanging(subscriber, plan),
      await emitting(plan, { what: 'delivery', unit: deliver, atOnce: 64, wanted: true }),
      await emitting(plan, { what: 'smallest unit', unit: renameOne, atOnce: 1, wanted: true }),
      await emitting(plan, { what: 'smallest unit', unit: renameOne, atOnce: 64, wanted: false }),
    ]
  } finally {
    await subscriber.stop(1000)
  }
}

/** The rate at which `events` events of so many users reach one subscriber. */
async function backlog(subscriber: Child, users: number): Promise<Row> {
  const folder = makeFolder()
  try {
    const { port } = await ask(subscriber)
    const people = await prepare(folder, users, [`http://127.0.0.1:${port}/`], ['mailbox.renamed'])
    const core = await open(folder, false)
    await repeat(renameOne, core, people, 64, { count: events })
    await core.close()
    await ask(subscriber, { forget: true })
    const service = await startService(folder, local)
    let taken = await ask(subscriber)
    for (let waited = 0; taken.different < events && waited < waitsMax; waited++) {
      await sleep(100)
      taken = await ask(subscriber)
    }
    await service.stop()
    return {
      what: `webhooks, ${events} events of ${users} users to one subscriber`,
      figure: (taken.different * 1000) / taken.ms,
      unit: '/s',
      wanted: { least: leastPerSecond },
      note: `${taken.calls} calls, ${taken.different} different`,
    }
  } finally {
    removeFolder(folder)
  }
}

/**
 * p99 of the delay at the endpoints that answer while one of a hundred hangs, against the quiet value; the medians of some
 * turns. A hundred calls start at once, so the worst percent is the end of the worst moment of a turn: one pause of the
 * machine would be the figure.
 */
async function hanging(subscriber: Child, plan: Plan): Promise<Row> {
  const { port } = await ask(subscriber)
  const measure = async (hangs: boolean): Promise<Taken> => {
    const folder = makeFolder()
    try {
      const urls = Array.from(
        { length: endpoints },
        (_, n) => `http://127.0.0.1:${port}/${hangs && n === 0 ? 'hang' : n}`,
      )
      await prepare(folder, 1, urls, ['mailbox.created'])
      const service = await startService(folder, local)
      const { id } = await service.call('GET', '/users/resolve/u0000')
      const create = (n: number) => service.call('POST', `/users/${id}/mailboxes`, { path: `m${n}` })
      let n = 0
      const createFor = async (ms: number) => {
        for (const until = monotonic() + ms; monotonic() < until; ) {
          await create(n++)
          await sleep(50)
        }
        await sleep(500)
      }
      await createFor(plan.ms / 4)
      await ask(subscriber, { forget: true })
      await createFor(plan.ms / 2)
      const taken = await ask(subscriber, { forget: true, delays: true })
      await service.stop()
      return taken
    } finally {
      removeFolder(folder)
    }
  }
  const p99 = ({ delaysMs }: Taken) => delaysMs[Math.floor(delaysMs.length * 0.99)] ?? 0
  const [quiet, loud]: [Taken[], Taken[]] = [[], []]
  for (let turn = 0; turn < hangingTurns; turn++) {
    for (const hangs of turn % 2 === 0 ? [false, true] : [true, false]) {
      ;(hangs ? loud : quiet).push(await measure(hangs))
    }
  }
  const calls = (runs: readonly Taken[]) => runs.reduce((sum, run) => sum + run.calls, 0)
  return {
    what: `webhooks, p99 delay at ${endpoints} endpoints, one hangs`,
    figure: median(loud.map(p99)),
    unit: 'ms',
    bound: { name: 'none hangs', value: Math.max(1, median(quiet.map(p99))) },
    wanted: { most: mostTimesQuiet },
    note: `${calls(quiet)} and ${calls(loud)} calls`,
  }
}

interface Emitting {
  readonly what: string
  readonly unit: Task
  readonly atOnce: number
  /** Whether there is a wish. */
  readonly wanted: boolean
}

/**
 * Time of a unit with an event row in it, against the same unit in the same store while nobody subscribes, and the processor
 * time of both; the medians of short turns. A folder that is renamed is the smallest unit an event rides in. One at a time
 * is what a caller waits for; 64 at once share their commits, which leaves nothing of that unit but the change of one row,
 * so an event, which is one row too, cannot be a tenth of it: that line is there to be read.
 */
async function emitting(plan: Plan, { what, unit, atOnce, wanted }: Emitting): Promise<Row> {
  const folder = makeFolder()
  const people = await prepare(folder, atOnce, [], [])
  // Without the loops of a service events gather: only their rows are written.
  const core = await open(folder, true)
  try {
    const turn = async (subscribed: boolean, ms: number): Promise<Cost> => {
      if (!subscribed) return measure(unit, core, people, atOnce, ms)
      const id = await core.webhooks.create({ type: ['*'], url: 'http://127.0.0.1:9/', user: null, secret: null })
      const before = await eventsOf(core)
      const cost = await measure(unit, core, people, atOnce, ms)
      if ((await eventsOf(core)) - before < cost.done) throw new Error(`${what}: units went without their events`)
      await core.webhooks.delete(id)
      return cost
    }
    for (const subscribed of [true, false]) await turn(subscribed, plan.ms / 3)
    const [without, full]: [Cost[], Cost[]] = [[], []]
    for (let count = 0; count < turns; count++) {
      for (const subscribed of count % 2 === 0 ? [false, true] : [true, false]) {
        ;(subscribed ? full : without).push(await turn(subscribed, (plan.ms * 2) / turns))
      }
    }
    const [cpu, cpuBefore] = [median(full.map(cost => cost.cpu)), median(without.map(cost => cost.cpu))]
    return {
      what: `${what} with an event, ${atOnce} at once`,
      figure: median(full.map(cost => cost.time)),
      unit: 'µs',
      bound: { name: 'without', value: median(without.map(cost => cost.time)) },
      ...(wanted && { wanted: { most: mostOfPlain } }),
      note: `CPU ${cpu.toFixed(1)} of ${cpuBefore.toFixed(1)} µs, ${(cpu / cpuBefore).toFixed(2)}x`,
    }
  } finally {
    await core.close()
    removeFolder(folder)
  }
}

/** What a unit took, microseconds. */
interface Cost {
  readonly done: number
  readonly time: number
  readonly cpu: number
}

async function measure(unit: Task, core: Core, people: readonly Person[], atOnce: number, ms: number): Promise<Cost> {
  const [started, before] = [monotonic(), process.cpuUsage()]
  const { done } = await repeat(unit, core, people, atOnce, { ms })
  const { user, system } = process.cpuUsage(before)
  return { done, time: ((monotonic() - started) * 1000) / done, cpu: (user + system) / done }
}

async function eventsOf({ read }: Core): Promise<number> {
  return (await read.one<{ count: number }>('SELECT max(num) AS count FROM event'))?.count ?? 0
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0
}

async function ask(subscriber: Child, question: { forget?: boolean; delays?: boolean } = {}): Promise<Taken> {
  return (await subscriber.ask(question)) as Taken
}

interface Person {
  readonly user: string
  readonly address: string
  readonly mailbox: string
}

/** Makes users with a folder each, and subscriptions, in `folder`. */
async function prepare(
  folder: string,
  users: number,
  urls: readonly string[],
  type: readonly string[],
): Promise<Person[]> {
  const service = await startService(folder, { ...local, TEAL_WEBHOOKS_ENABLED: 'false' })
  const made = await makeUsers(service, users)
  for (const url of urls) await service.call('POST', '/webhooks', { type, url })
  await service.stop()
  const core = await open(folder, false)
  const form = { path: 'folder', hidden: false, retention: 0, encrypt: false, subscribed: true }
  const people: Person[] = []
  for (const { id, address } of made) {
    const { id: mailbox } = await core.system.handle(id).run(createMailbox, form)
    people.push({ user: id, address, mailbox })
  }
  await core.close()
  return people
}

function open(dataDir: string, delivering: boolean): Promise<Core> {
  const flags = { dataDir, hostname: 'bench.test', webhooks: { enabled: delivering } }
  return openCore(loadConfig({ flags }), makeLog('error'))
}

/** One unit for a person; `n` is different each time. */
type Task = (core: Core, person: Person, n: number) => Promise<unknown>

const renameOne: Task = (core, { user, mailbox }, n) =>
  core.system.handle(user).run(updateMailbox, { id: mailbox, path: `folder ${n}` })

const messages = fixedMessages(2048, 64, 1)

async function deliver(core: Core, { address }: Person, n: number): Promise<void> {
  const message = messages[n % messages.length]
  if (message === undefined) return
  const intake = core.bodies.intake(1e6)
  await intake.write(Buffer.from(stamp(message, 'event')))
  const received = await intake.finish()
  const recipients = [await core.delivery.recipient(address)]
  await core.delivery.deliver(received, { from: 'sender@bench.test', recipients, source: 'lmtp' })
  await received.discard()
}

/** Does a task so many times or for so long, `atOnce` at a time, and says how many it did. */
async function repeat(
  task: Task,
  core: Core,
  people: readonly Person[],
  atOnce: number,
  end: { count?: number; ms?: number },
): Promise<{ done: number }> {
  const started = monotonic()
  let done = 0
  const more = () => done < (end.count ?? Infinity) && monotonic() - started < (end.ms ?? Infinity)
  await Promise.all(
    Array.from({ length: atOnce }, async (_, index) => {
      const person = people[index % people.length]
      while (person !== undefined && more()) {
        done += 1
        await task(core, person, done)
      }
    }),
  )
  return { done }
}
