// What goes wrong, one thing a round: done, waited for, and mended. Where an owner is gone others have its shards within ten
// seconds.

import { expect } from 'vitest'
import { monotonic, sleep } from '#lib/clock.ts'
import type { ChaosNode, World } from './world.ts'

interface Ground {
  readonly world: World
  readonly random: () => number
  readonly victim: ChaosNode
}

export interface Fault {
  readonly name: string
  /** Nobody is refused or put off meanwhile. */
  readonly unnoticed?: boolean
  /** What was sent stays sent: nothing ends between an attempt and its record. */
  readonly calm?: boolean
  /** Errors that nodes may log for it. */
  readonly logs?: RegExp
  harm(ground: Ground): Promise<void>
}

const takeOverMsMax = 10_000
/** Longer than a lease with what a node may be late. */
const asleepMs = 8500

/** Resolves when the node has nothing any more, and others have it. */
async function takenOver(world: World, { name }: ChaosNode): Promise<void> {
  const began = monotonic()
  const left = async () => {
    const [row] = await world.asked<{ n: number }>(
      `SELECT count(*)::int AS n FROM lease WHERE node = 0 OR node = (SELECT num FROM node WHERE name = '${name}')`,
    )
    return row?.n
  }
  await expect.poll(left, { timeout: 30_000, interval: 100 }).toBe(0)
  expect(monotonic() - began).toBeLessThan(takeOverMsMax)
}

/** Resolves when the node adds so many seconds to the clock of its machine. */
async function goesBy({ up }: ChaosNode, seconds: number): Promise<void> {
  const added = async () => {
    const answer = await fetch(`${up?.url}/metrics`, { headers: { 'x-access-token': up?.rootToken ?? '' } })
    return Number(/^\w*cluster_clock_correction_seconds (\S+)$/m.exec(await answer.text())?.[1])
  }
  await expect.poll(added, { timeout: 10_000, interval: 100 }).toBeCloseTo(seconds, -1)
}

const away = /storage|StorageUnavailable|TimedOut|terminat|ECONN|not to be had/i

export const faults: readonly Fault[] = [
  {
    name: 'a node is killed',
    async harm({ world, victim, random }) {
      await victim.kill()
      if (random() < 0.5) await takenOver(world, victim)
      await victim.start()
    },
  },
  {
    name: 'NATS is killed',
    async harm({ world, random }) {
      await world.nats.kill()
      await sleep(500 + random() * 4000)
      await world.nats.start()
    },
  },
  {
    name: 'PostgreSQL is killed',
    logs: away,
    async harm({ world, random }) {
      await world.postgres.restart(() => sleep(random() * 4000))
    },
  },
  {
    name: 'an owner sleeps for longer than its lease',
    logs: away,
    async harm({ world, victim }) {
      victim.signal('SIGSTOP')
      const late = sleep(2000).then(() => {
        victim.reachable = false
      })
      await Promise.all([takenOver(world, victim), late, sleep(asleepMs)])
      victim.signal('SIGCONT')
      victim.reachable = true
    },
  },
  {
    name: 'a node has no way to the database',
    logs: away,
    async harm({ world, victim, random }) {
      const long = random() < 0.5
      victim.postgres.stall()
      if (long) await takenOver(world, victim)
      else await sleep(1000 + random() * 4000)
      if (random() < 0.5) victim.postgres.goOn()
      else victim.postgres.cut()
    },
  },
  {
    name: 'a node has no way to NATS',
    async harm({ victim, random }) {
      victim.nats.stall()
      await sleep(1000 + random() * 7000)
      if (random() < 0.5) victim.nats.goOn()
      else victim.nats.cut()
    },
  },
  {
    name: 'the network is slow',
    calm: true,
    async harm({ world: { nodes } }) {
      const wires = nodes.flatMap(({ postgres, nats }) => [postgres, nats])
      for (const wire of wires) wire.delay = 2.5
      await sleep(5000)
      for (const wire of wires) wire.delay = 0
    },
  },
  {
    name: 'the clock of a node is an hour off',
    unnoticed: true,
    calm: true,
    async harm({ victim, random }) {
      const off = random() < 0.5 ? 3600 : -3600
      victim.shift(off * 1000)
      await goesBy(victim, -off)
      await sleep(5000)
      victim.shift(0)
      await goesBy(victim, 0)
    },
  },
  {
    name: 'nodes are restarted one after the other',
    unnoticed: true,
    calm: true,
    async harm({ world: { nodes } }) {
      for (const node of nodes) {
        await node.stop()
        await node.start()
      }
    },
  },
  {
    name: 'the disk of the database is full',
    logs: /53100|No space|StorageFull|storage/i,
    async harm({ world: { room }, random }) {
      room?.fill()
      await sleep(2000 + random() * 4000)
      room?.free()
    },
  },
]
