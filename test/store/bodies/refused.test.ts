// A disk of large parts that takes no file, or lets none go: that is one message's failure, or nobody's.

import { randomBytes } from 'node:crypto'
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { makeLog } from '#lib/log.ts'
import { makeMetrics } from '#lib/metrics.ts'
import { Bodies, type Received } from '#store/bodies/bodies.ts'
import { checkBodies } from '#store/bodies/check.ts'
import { BodyFiles, fileName } from '#store/bodies/files.ts'
import { bodyAdd, bodyRelease, partSuspect, reapFiles } from '#store/bodies/writes.ts'
import type { Reader } from '#store/engine/reader.ts'
import { openForWriting, statements } from '#store/engine/sqlite/handle.ts'
import { openReader } from '#store/engine/sqlite/reader.ts'
import { type Operation, operation } from '#store/engine/write.ts'
import { localPlace } from '#store/folder/place.ts'
import { Writer } from '#store/writer/writer.ts'

let dir: string
let writer: Writer
let read: Reader
let bodies: Bodies

beforeEach(async () => {
  dir = mkdtempSync(join(tmpdir(), 'teal-refused-'))
  const file = join(dir, 'teal.db')
  writer = await Writer.open({ file, log: makeLog('silent'), metrics: makeMetrics('test') })
  read = openReader(file)
  bodies = new Bodies(localPlace(dir), read)
})

afterEach(async () => {
  const faults: string[] = []
  for await (const one of checkBodies(read, new BodyFiles(dir), { hashes: true, strays: true })) faults.push(one)
  await writer.close()
  await bodies.close()
  read.close()
  rmSync(dir, { recursive: true, force: true })
  expect(faults).toEqual([])
})

const submit = (one: Operation) => writer.submit({ partition: 0, epoch: 0, operations: [one], bytes: 100 })

/** A message whose attachment is `bytes` long. */
function received(bytes: number): Promise<Received> {
  const noise = randomBytes(bytes).toString('base64').replace(/.{76}/g, '$&\r\n')
  const head = 'Content-Type: application/octet-stream\r\nContent-Transfer-Encoding: base64\r\n\r\n'
  return bodies.receive(Buffer.from(`${head}${noise}\r\n`))
}

/** The name that the file of its attachment gets. */
function nameOf(message: Received): string {
  const [part] = message.bodyRow(0).row.parts
  if (part === undefined) throw new Error('it has no attachment')
  return fileName(part.hash, part.data)
}

const fileOf = (message: Received) => new BodyFiles(dir).pathOf(nameOf(message))

test('a file that cannot be made fails its unit alone', async () => {
  const large = await received(600_000)
  const small = await received(100)
  const folder = join(fileOf(large), '..')
  writeFileSync(folder, 'in its way')
  const store = (message: Received, num: number) => submit(operation(bodyAdd, message.bodyRow(num).row))
  expect(await Promise.allSettled([store(large, 1), store(small, 2)])).toMatchObject([
    { status: 'rejected', reason: { code: 'StorageUnavailable' } },
    { status: 'fulfilled' },
  ])
  expect(writer.healthy).toBe(true)
  rmSync(folder)
  await store(large, 1)
  expect(existsSync(fileOf(large))).toBe(true)
  await large.discard()
  await small.discard()
  expect(readdirSync(join(dir, 'tmp'))).toEqual([])
})

test('a file that cannot be taken away ends nothing, and goes when it can', async () => {
  const large = await received(600_000)
  const file = fileOf(large)
  await submit(operation(bodyAdd, large.bodyRow(1).row))
  await large.discard()
  await submit(operation(bodyRelease, { num: 1 }))
  await writer.close()
  const handle = openForWriting(join(dir, 'teal.db'))
  const sql = statements(handle)
  const afterCommit = (task: () => void) => task()
  partSuspect.run(sql, { names: [nameOf(large)] }, { beforeCommit: () => {}, afterCommit, onRollback: () => {} })
  // Nobody takes a folder away as if it were a file.
  rmSync(file)
  mkdirSync(file)
  reapFiles(sql, 0)
  expect(existsSync(file)).toBe(true)
  rmdirSync(file)
  writeFileSync(file, 'x')
  reapFiles(sql, 0)
  expect(existsSync(file)).toBe(false)
  handle.close()
})
