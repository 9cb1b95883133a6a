// Events and their delivery: how many a second, what a hanging endpoint costs the others, what emitting costs.
//
// Events are written first and delivered after, so that only delivery is measured; each attempt is on disk before its
// call and each result after it. Delays are measured from the event to the subscriber, with and without one endpoint of
// a hundred that never answers. The cost of emitting is that of the same small units with and without an event row.

import { createMailbox, updateMailbox } from '#actors/user/mailbox.ts'
import { loadConfig } from '#config'
import { type Core, openCore } from '#core'
import { monotonic, sleep } from '#lib/clock.ts'
import { makeLog } from '#lib/log.ts'
import { type Child, startChild } from '../child.ts'
import type { Taken } from '../load/subscriber.ts'
import type { Plan } from '../plan.ts'
import type { Row } from '../row.ts'
import { makeFolder, makeUsers, removeFolder, startService } from '../service.ts'

const events = 10_000
const leastPerSecond = 2000
const endpoints = 100
const mostTimesQuiet = 2
const leastOfPlain = 0.9
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
      await emitting(plan, 1),
      await emitting(plan, 64),
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
    await rename(core, people, 64, { count: events })
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

/** p99 of the delay at the endpoints that answer while one of a hundred hangs, against the quiet value. */
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
      for (let n = 0; n < 10; n++) await create(n)
      await sleep(500)
      await ask(subscriber, { forget: true })
      const until = monotonic() + plan.ms / 2
      for (let n = 10; monotonic() < until; n++) {
        await create(n)
        await sleep(50)
      }
      await sleep(500)
      const taken = await ask(subscriber, { forget: true, delays: true })
      await service.stop()
      return taken
    } finally {
      removeFolder(folder)
    }
  }
  const p99 = ({ delaysMs }: Taken) => delaysMs[Math.floor(delaysMs.length * 0.99)] ?? 0
  const lower = (a: Taken, b: Taken) => (p99(a) < p99(b) ? a : b)
  // In turns, because others use this machine too.
  const [first, second] = [await measure(false), await measure(true)]
  const quiet = lower(first, await measure(false))
  const loud = lower(second, await measure(true))
  return {
    what: `webhooks, p99 delay at ${endpoints} endpoints, one hangs`,
    figure: p99(loud),
    unit: 'ms',
    bound: { name: 'none hangs', value: Math.max(1, p99(quiet)) },
    wanted: { most: mostTimesQuiet },
    note: `${quiet.calls} and ${loud.calls} calls`,
  }
}

/**
 * Units a second with an event row in each, against the same units without; in turns, the best of each. A folder that is
 * renamed is the smallest unit an event rides in. One at a time is what a caller waits for; 64 at once share their
 * commits, which leaves little beside the rows themselves.
 */
async function emitting(plan: Plan, atOnce: number): Promise<Row> {
  const folder = makeFolder()
  try {
    const people = await prepare(folder, atOnce, [], [])
    const best = { true: 0, false: 0 }
    for (let turn = 0; turn < 8; turn++) {
      // Nobody subscribes: where events are delivered none is written, where they gather each is.
      const written = turn % 2 === 0
      const core = await open(folder, !written)
      const rate = await rename(core, people, atOnce, { ms: plan.ms / 4 })
      best[`${written}`] = Math.max(best[`${written}`], rate)
      await core.close()
    }
    return {
      what: `smallest units with an event, ${atOnce} at once`,
      figure: best.true,
      unit: '/s',
      bound: { name: 'without', value: best.false },
      ...(atOnce === 1 && { wanted: { least: leastOfPlain } }),
    }
  } finally {
    removeFolder(folder)
  }
}

async function ask(subscriber: Child, question: { forget?: boolean; delays?: boolean } = {}): Promise<Taken> {
  return (await subscriber.ask(question)) as Taken
}

interface Person {
  readonly user: string
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
  for (const { id } of made) {
    const { id: mailbox } = await core.system.door(id).run(createMailbox, form)
    people.push({ user: id, mailbox })
  }
  await core.close()
  return people
}

function open(dataDir: string, delivering: boolean): Promise<Core> {
  const flags = { dataDir, hostname: 'bench.test', webhooks: { enabled: delivering } }
  return openCore(loadConfig({ flags }), makeLog('error'))
}

/** Renames folders, so many times or for so long; gives units a second. */
async function rename(
  core: Core,
  people: readonly Person[],
  atOnce: number,
  end: { count?: number; ms?: number },
): Promise<number> {
  const started = monotonic()
  let done = 0
  const more = () => done < (end.count ?? Infinity) && monotonic() - started < (end.ms ?? Infinity)
  await Promise.all(
    Array.from({ length: atOnce }, async (_, index) => {
      const person = people[index % people.length]
      while (person !== undefined && more()) {
        done += 1
        await core.system.door(person.user).run(updateMailbox, { id: person.mailbox, path: `folder ${done}` })
      }
    }),
  )
  return (done * 1000) / (monotonic() - started)
}
