// The thread that reads ahead: what it gives is what is stored, and where it gives nothing nobody waits.

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Writable } from 'node:stream'
import { pino } from 'pino'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { sleep } from '#lib/clock.ts'
import { limits } from '#lib/limits.ts'
import { makeLog } from '#lib/log.ts'
import { makeMetrics } from '#lib/metrics.ts'
import { Bodies } from '#store/bodies/bodies.ts'
import { BodyThread } from '#store/bodies/thread.ts'
import { bodyAdd } from '#store/bodies/writes.ts'
import type { Reader } from '#store/engine/reader.ts'
import { openForWriting } from '#store/engine/sqlite/handle.ts'
import { openReader } from '#store/engine/sqlite/reader.ts'
import { operation } from '#store/engine/write.ts'
import { localPlace } from '#store/folder/place.ts'
import { Writer } from '#store/writer/writer.ts'

const messages = Array.from({ length: 60 }, (_, index) =>
  Buffer.from(`Subject: ${index}\r\n\r\n${`line ${index} `.repeat(index * 9)}\r\n`),
)
const nums = messages.map((_, index) => index + 1)

let dir: string
let read: Reader
let bodies: Bodies

beforeEach(async () => {
  dir = mkdtempSync(join(tmpdir(), 'teal-ahead-'))
  const file = join(dir, 'teal.db')
  const writer = await Writer.open({ file, log: makeLog('silent'), metrics: makeMetrics('test') })
  read = openReader(file)
  bodies = new Bodies(localPlace(dir), read)
  const received = await Promise.all(messages.map(message => bodies.receive(message)))
  const operations = received.map((one, index) => operation(bodyAdd, one.bodyRow(index + 1).row))
  await writer.submit({ partition: 0, epoch: 0, operations, bytes: 100 })
  await writer.close()
})

afterEach(async () => {
  await bodies.close()
  read.close()
  rmSync(dir, { recursive: true, force: true })
})

/** Asks until the thread is up. */
async function answered(thread: BodyThread, wanted: readonly number[]) {
  for (;;) {
    const run = await thread.read(wanted)
    if (run !== undefined) return run
    await sleep(5)
  }
}

test('bodies come back as they are; one that is damaged or not there is left out', async () => {
  const handle = openForWriting(join(dir, 'teal.db'))
  handle.prepare("UPDATE body SET skeleton = x'28b52ffd00' WHERE num = 7").run()
  handle.close()
  const thread = new BodyThread(localPlace(dir))
  const run = await answered(thread, [...nums, 1000])
  const good = nums.filter(num => num !== 7)
  expect([...run.nums]).toEqual(good)
  for (const num of good) expect(await run.get(num)?.read()).toEqual(messages[num - 1])
  expect(run.get(7)).toBe(undefined)
  await thread.close()
})

test('nobody waits for a thread that is not up, that is busy, or that ends', async () => {
  const thread = new BodyThread(localPlace(dir))
  expect(await thread.read(nums)).toBe(undefined)
  await answered(thread, nums)
  const many = await Promise.all(Array.from({ length: limits.body.aheadMax + 5 }, () => thread.read(nums)))
  expect(many.filter(run => run === undefined)).toHaveLength(5)
  const asked = thread.read(nums)
  await thread.close()
  expect(await asked).toBe(undefined)
})

test('one that cannot read says so once and is not started again and again', async () => {
  const said: string[] = []
  const lines = new Writable({
    write(line, _encoding, done) {
      said.push(String(line))
      done()
    },
  })
  const nowhere = new BodyThread(localPlace(join(dir, 'nothing')), pino(lines))
  while (said.length === 0) {
    expect(await nowhere.read(nums)).toBe(undefined)
    await sleep(5)
  }
  for (let count = 0; count < 60; count++) {
    expect(await nowhere.read(nums)).toBe(undefined)
    await sleep(10)
  }
  expect(said).toEqual([expect.stringContaining('reads ahead failed')])
  await nowhere.close()
})

test('what was read elsewhere is opened from memory', async () => {
  bodies.expect()
  for (let waited = 0; waited < 10_000 && bodies.keptBytes === 0; waited += 10) {
    await bodies.aheadElsewhere(nums)
    await sleep(10)
  }
  expect(bodies.keptBytes).toBe(messages.reduce((sum, message) => sum + message.length, 0))
  for (const num of nums) expect(await (await bodies.open(num)).read()).toEqual(messages[num - 1])
})
