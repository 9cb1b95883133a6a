// Webhooks where nodes share the queues: who has the work again after another node had it goes by what stands in the rows.

import { expect, onTestFinished, test } from 'vitest'
import { JobWriter, type SharedQueues } from '#actors/kernel/job-writer.ts'
import { now } from '#lib/clock.ts'
import { LostLease } from '#store/cluster/tenancy.ts'
import { operation } from '#store/engine/write.ts'
import { deliveryClaim, eventFanout } from '#store/events/deliveries.ts'
import { type EventRow, eventInsert, waitingEvents } from '#store/events/event.ts'
import { openOutbox, openSubscriber, until } from '../outbox.ts'

/** The queues of a node that has them under `term`, or has not. */
function queues(): SharedQueues & { have(term: number | undefined): void } {
  let term: number | undefined = 1
  const gained: (() => void)[] = []
  const lost: (() => void)[] = []
  return {
    tenancy: {
      termOf: () => term,
      heldTermOf: () => term,
      holds: (_shard, asked) => term === asked,
    },
    duty: {
      get term() {
        return term
      },
      onGain: begin => void gained.push(begin),
      onLeave() {},
      onLose: end => void lost.push(end),
    },
    have(next) {
      term = next
      if (next === undefined) for (const end of lost) end()
      if (next !== undefined) for (const begin of gained) begin()
    },
  }
}

async function opened(timeoutMs = 5000) {
  const shared = queues()
  const outbox = await openOutbox({ shared, timeoutMs })
  const subscriber = await openSubscriber()
  onTestFinished(async () => {
    await outbox.close()
    await subscriber.close()
  })
  const webhook = await outbox.subscribe(subscriber.url)
  const left = async () => {
    const rows = await outbox.read.all('SELECT event FROM delivery UNION ALL SELECT num FROM event')
    return rows.length
  }
  return { shared, outbox, subscriber, webhook, left }
}

const made = (user: string) => ['user.created', { user, username: user }] as never

test('what another node had begun and left is told', async () => {
  const { shared, outbox, subscriber, webhook, left } = await opened()
  await outbox.emit(made('first'))
  await until('the first is told', async () => (await left()) === 0)
  shared.have(undefined)
  await outbox.emit(made('claimed'), made('fresh'))
  const events = await waitingEvents(outbox.read, 10)
  expect(events).toHaveLength(2)
  const rows = await outbox.read.all<{ endpoint: number }>('SELECT endpoint FROM webhook')
  const targets: [number, string][] = [[rows[0]?.endpoint ?? 0, webhook]]
  const row = {
    cursor: events[1]?.num ?? 0,
    events: events.map(({ num }) => [num, targets] as [number, typeof targets]),
  }
  const claim = { at: now(), rows: [[events[0]?.num ?? 0, 1, now() + 50] as [number, number, number]] }
  const operations = [operation(eventFanout, row), operation(deliveryClaim, claim)]
  await outbox.writer.submit({ partition: 0, epoch: 0, operations, bytes: 100 })
  shared.have(3)
  await until('all of it is told', async () => (await left()) === 0)
  expect(subscriber.taken.map(({ body }) => body.user).sort()).toEqual(['claimed', 'first', 'fresh'])
  expect(await outbox.check()).toEqual([])
})

test('a call that outlasts the turn of its node spoils nothing in the next', async () => {
  const { shared, outbox, subscriber, left } = await opened()
  const answers: (() => void)[] = []
  subscriber.behave((_call, response) => answers.push(() => response.writeHead(200).end()))
  await outbox.emit(made('slow'))
  await until('it is called', () => answers.length === 1)
  shared.have(undefined)
  expect(await outbox.read.one('SELECT attempts FROM delivery')).toEqual({ attempts: 1 })
  subscriber.heal()
  shared.have(3)
  for (const answer of answers) answer()
  await until('it is told', async () => (await left()) === 0)
  expect(await outbox.check()).toEqual([])
})

test('what is on its way when the turn is over is cut off, since another one makes that call by then', async () => {
  const { shared, outbox, subscriber, left } = await opened(120_000)
  let broken = 0
  subscriber.behave((_call, _response, socket) => socket.once('close', () => broken++))
  await outbox.emit(made('slow'))
  await until('it is called', () => subscriber.calls.length === 1)
  shared.have(undefined)
  await until('it is cut off', () => broken === 1)
  expect(await left()).toBe(1)
  expect(await outbox.check()).toEqual([])
})

test('a stop waits for no result of the turn before that cannot be written', async () => {
  const { shared, outbox, subscriber } = await opened()
  const answers: (() => void)[] = []
  subscriber.behave((_call, response) => answers.push(() => response.writeHead(200).end()))
  await outbox.emit(made('slow'))
  await until('it is called', () => answers.length === 1)
  await outbox.writer.close()
  for (const answer of answers) answer()
  await until('it has answered', () => subscriber.taken.length === 1)
  shared.have(undefined)
  shared.have(3)
  await outbox.webhooks.close()
})

test('what was read under a turn that is over is not written', async () => {
  const { shared, outbox, left } = await opened()
  const jobs = new JobWriter(outbox.writer, shared)
  const row = { num: 7, name: 'user.created', user: null, body: '{}', at: now() }
  const values = Object.values(row) as unknown as EventRow
  shared.have(undefined)
  await expect(jobs.write(eventInsert, values, 1)).rejects.toThrow(LostLease)
  shared.have(3)
  await expect(jobs.write(eventInsert, values, 1)).rejects.toThrow(LostLease)
  expect(await left()).toBe(0)
  await jobs.write(eventInsert, values, 3)
  expect(await left()).toBe(1)
})
