// PostgreSQL is killed while batches are on their way, again and again: what was answered is there, what failed is not, and
// nothing is there by half.

import pg from 'pg'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { Writing } from '#store/engine/postgres/writer/writing.ts'
import { loadStore } from './both.ts'
import { type Cluster, makeDatabase, startCluster } from './cluster.ts'
import { unit } from './rows.ts'

await loadStore()

let cluster: Cluster
let url: string

beforeAll(async () => {
  cluster = await startCluster({ durable: true })
  url = await makeDatabase(cluster.folder, 'template0')
})

afterAll(() => cluster.stop().catch(() => {}))

const rounds = 5

/** Each unit is two rows in two tables. */
function units(from: number, count: number) {
  return Array.from({ length: count }, (_, at) => {
    const num = from + at
    return unit(
      [
        ['event.insert', [num, 'n', null, '{}', 1]],
        ['meta.put', [`k${num}`, num]],
      ],
      num & 7,
      0,
    )
  })
}

test('what was answered is kept when the engine is killed', async () => {
  const { writing } = await Writing.open({ url }, true)
  const kept: number[] = []
  const lost: number[] = []
  let last = 0
  let epoch = 0
  let stop = false
  let answered = 0
  const write = async () => {
    while (!stop) {
      const batch = units(last + 1, 20).map(one => ({ ...one, epoch }))
      const first = last + 1
      last += batch.length
      const { broken, failures } = await writing.commit(batch)
      const failed = new Set(failures.map(({ unit }) => unit))
      for (const at of batch.keys()) (broken === null && !failed.has(at) ? kept : lost).push(first + at)
      if (broken !== null || failures.length > 0) epoch += 1
      answered += 1
    }
  }
  const writer = write()
  for (let round = 0; round < rounds; round++) {
    const since = answered
    await expect.poll(() => answered).toBeGreaterThan(since + 3)
    await cluster.restart()
  }
  const since = answered
  await expect.poll(() => answered).toBeGreaterThan(since + 3)
  stop = true
  await writer
  await writing.close()

  const client = new pg.Client(url)
  await client.connect()
  const numbers = async (text: string) => (await client.query<{ num: string }>(text)).rows.map(row => Number(row.num))
  const events = await numbers('SELECT num FROM event ORDER BY num')
  const facts = await numbers('SELECT value AS num FROM meta ORDER BY value')
  await client.end()
  expect(facts).toEqual(events)
  expect(events).toEqual(kept)
  expect(lost.length + kept.length).toBe(last)
})
