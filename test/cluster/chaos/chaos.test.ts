// Three nodes under load, and one thing that goes wrong in each round: nothing that was acknowledged is lost or doubled, and
// whoever stays sees the truth.
//
// CHAOS_ROUNDS=200 for a long run, CHAOS_SEED for the order of faults of another one, CHAOS_ONLY for one of them alone.

import { cpSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import process from 'node:process'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { monotonic, sleep } from '#lib/clock.ts'
import { type Sink, startSink } from '../../jobs/mail-sink.ts'
import { openSubscriber, type Subscriber } from '../../jobs/outbox.ts'
import { loadStore } from '../../postgres/both.ts'
import { type Fault, faults } from './faults.ts'
import { Journal } from './journal.ts'
import { chance, Load } from './load.ts'
import { lookAtAll } from './truth.ts'
import { World } from './world.ts'

await loadStore()

const rounds = Number(process.env.CHAOS_ROUNDS ?? 10)
const seed = Number(process.env.CHAOS_SEED ?? Math.floor(performance.timeOrigin) % 1_000_000)
const only = process.env.CHAOS_ONLY
const random = chance(seed)
const journal = new Journal()
let world: World
let load: Load
let sink: Sink
let hook: Subscriber

beforeAll(async () => {
  sink = await startSink()
  hook = await openSubscriber()
  world = await World.open(sink.url)
  load = new Load(world, journal, seed)
  await prepare()
  await world.others()
})

afterAll(async () => {
  process.stdout.write(`seed ${seed}: ${JSON.stringify(Object.fromEntries(journal.done))}\n`)
  await world?.close()
  await hook?.close()
  await sink?.close()
})

async function prepare(): Promise<void> {
  const waits = { value: Array(20).fill('2s').join(', ') }
  expect(await load.api('setting', 'POST', '/settings/const:sender:defer_times', waits)).toBeDefined()
  const form = { type: ['mailbox.*', 'message.received'], url: hook.url }
  expect(await load.api('webhook', 'POST', '/webhooks', form)).toBeDefined()
  for (const name of ['hot', 'anna', 'berta', 'carl']) {
    const most = {
      recipients: 1e6,
      receivedMax: 1e6,
      imapMaxUpload: 1e12,
      imapMaxDownload: 1e12,
      imapMaxConnections: 100,
    }
    const user = { username: name, password: `secret of ${name}`, address: `${name}@example.com`, ...most }
    const made = await load.api('user', 'POST', '/users', user)
    journal.add(name, String(made?.id))
  }
  load = new Load(world, journal, seed)
  await load.know()
}

/** Faults in an order of this seed: each comes before any comes again. */
function* order(): Generator<Fault> {
  const chosen = faults.filter(({ name }) => only === undefined || name.includes(only))
  for (;;) {
    const left = [...chosen]
    while (left.length > 0) yield* left.splice(Math.floor(random() * left.length), 1)
  }
}

/** Resolves when deliveries to everybody are taken that began from now on. */
async function served(): Promise<void> {
  const from = monotonic()
  const waiting = () => journal.accounts.filter(({ last }) => last[0] < from).map(({ name }) => name)
  await expect.poll(waiting, { timeout: 30_000 }).toEqual([])
}

function logged({ logs }: Fault): void {
  for (const node of world.nodes) {
    for (const line of node.news()) {
      if (!/"level":"(?:error|fatal)"/.test(line) || logs?.test(line)) continue
      // On a machine where it gets no processor for seconds that is the truth; nothing may come of it.
      if (/until the leases of this node had run out/.test(line)) {
        journal.count('leases ran out')
        continue
      }
      journal.found.push(`node ${node.name}: ${line}`)
    }
  }
}

/** Leaves what is needed to look after a failure. */
function keep(round: number): void {
  const place = join(tmpdir(), `teal-chaos-failed-${seed}-${round}`)
  rmSync(place, { recursive: true, force: true })
  for (const { name } of world.nodes) cpSync(join(world.folder, `${name}.log`), join(place, `${name}.log`))
  writeFileSync(join(place, 'journal.json'), journal.text())
  process.stdout.write(`seed ${seed}, round ${round}: the journal and the logs are in ${place}\n`)
}

/** What is wrong that no round before this one has said. */
function news(): string[] {
  const fresh = journal.found.filter(one => !said.has(one))
  for (const one of fresh) said.add(one)
  return fresh
}

async function go(number: number, fault: Fault): Promise<void> {
  const victim = world.nodes[Math.floor(random() * world.nodes.length)]
  if (victim === undefined) return
  load.calm = fault.calm === true
  await world.balanced()
  load.start(number)
  await sleep(1000)
  const before = journal.failures.length
  try {
    await fault.harm({ world, random, victim })
    await served()
  } finally {
    await world.heal()
    await load.stop()
  }
  // Sessions that stay end with their node, and go on at another one.
  const noticed = journal.failures.slice(before).filter(({ what }) => what !== 'stay' && what !== 'session')
  // A node that stops says so to who is connected, and takes nothing of what comes then.
  const refused = noticed.filter(({ said }) => !said.includes('421 4.3.2'))
  if (fault.unnoticed) journal.found.push(...refused.map(one => JSON.stringify(one)))
  await world.balanced()
  await lookAtAll({ world, journal, load, hook, sink })
}

const said = new Set<string>()
const sequence = order()
for (const [at, fault] of Array.from({ length: rounds }, () => sequence.next().value as Fault).entries()) {
  const number = at + 1
  test(`${number} (seed ${seed}): ${fault.name}`, async () => {
    try {
      await go(number, fault)
      logged(fault)
      expect(news()).toEqual([])
    } catch (error) {
      keep(number)
      throw error
    }
  })
}
