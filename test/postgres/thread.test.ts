// The writer as the service has it, with its thread at PostgreSQL: faults by their codes, large parts as rows, search.

import { randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, inject, onTestFinished, test } from 'vitest'
import { letPass } from '#lib/lasting.ts'
import { makeLog } from '#lib/log.ts'
import { makeMetrics } from '#lib/metrics.ts'
import { addressInsert } from '#store/accounts/address.ts'
import { bodyAdd } from '#store/bodies/writes.ts'
import { bodiesWith, bodiesWithWord } from '#store/engine/full-text.ts'
import { openPostgresReader } from '#store/engine/postgres/reader.ts'
import type { Reader } from '#store/engine/reader.ts'
import { operation } from '#store/engine/write.ts'
import { settingPut } from '#store/folder/settings.ts'
import { messageInsert } from '#store/mailboxes/messages.ts'
import { searchAdd } from '#store/search/docs.ts'
import { startWriterThread, type WriterThread } from '#store/writer/thread.ts'
import { StaleUnit, Writer } from '#store/writer/writer.ts'
import { loadStore } from './both.ts'
import { dropDatabase, makeDatabase, urlIn } from './cluster.ts'
import { rowFor } from './rows.ts'

await loadStore()

const folder = mkdtempSync(join(tmpdir(), 'teal-writer-'))
let writer: Writer
let read: Reader

beforeAll(async () => {
  const url = await makeDatabase(inject('postgres'), 'template0')
  writer = await Writer.open({ file: url, log: makeLog('silent'), metrics: makeMetrics('test') })
  read = openPostgresReader({ url })
})

afterAll(async () => {
  read.close()
  await writer.close()
  rmSync(folder, { recursive: true, force: true })
})

test('services that keep nothing else share it: who cannot begin leaves the others theirs, and all hear of its end', async () => {
  const stay = letPass(folder)
  onTestFinished(stay)
  const start = (url: string) => startWriterThread(url, true, { dataDir: folder })
  const urls = [await makeDatabase(inject('postgres')), await makeDatabase(inject('postgres'))]
  const [first, second] = urls.map(start) as [WriterThread, WriterThread]
  const broken = start(urlIn(inject('postgres'), 'there_is_none'))
  await expect(broken.ready).rejects.toMatchObject({ code: 'StorageUnavailable' })
  await broken.thread.gone
  expect(await Promise.all([first.ready, second.ready])).toMatchObject([{ loss: null }, { loss: null }])
  const answer = new Promise(resolve => second.hear((_, one) => resolve(one)))
  second.thread.send('write', { units: [], bytes: 0 })
  expect(await answer).toMatchObject({ value: { failures: [], broken: null } })
  first.thread.send('write', null)
  await Promise.all([first.thread.gone, second.thread.gone])
  expect(first.thread.failure).toBeInstanceOf(TypeError)
  expect(second.thread.failure).toBe(first.thread.failure)
  await Promise.all(urls.map(dropDatabase))
})

test('what breaks a rule is a fault with its code, and watched tables are told', async () => {
  expect(writer.opened.made).toBe(true)
  const row = { ...rowFor('address', 1), id: 'a', key: 'k' } as never
  await writer.write(addressInsert, row)
  expect(writer.changes.of('address')).toBe(1)
  const again = { ...rowFor('address', 2), id: 'b', key: 'k' } as never
  const units = [again, again].map(one => {
    return writer.submit({ partition: 7, epoch: 1, operations: [operation(addressInsert, one)], bytes: 100 })
  })
  const [first, second] = await Promise.allSettled(units)
  expect(first).toMatchObject({ reason: { code: 'AddressExistsError' } })
  expect(second).toMatchObject({ reason: expect.any(StaleUnit) as StaleUnit })
  await writer.prove()
  expect(writer.healthy).toBe(true)
})

test('what the engine cannot take is refused alone', async () => {
  const setting = (key: string) => operation(settingPut, { key, value: 1 })
  const keys = ['before', randomBytes(9000).toString('base64'), 'after']
  const units = keys.map(key => writer.submit({ partition: 0, epoch: 0, operations: [setting(key)], bytes: 100 }))
  const answers = await Promise.allSettled(units)
  expect(answers.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled'])
  const rows = await read.arrays(`SELECT key FROM setting WHERE key IN ('before', 'after') ORDER BY key`)
  expect(rows).toEqual([['after'], ['before']])
  await writer.prove()
})

test('a large part that came in a scratch file is a row', async () => {
  const file = join(folder, 'scratch')
  writeFileSync(file, Buffer.alloc(400_000, 'x'))
  const part = { hash: Buffer.alloc(32, 1), size: 400_000, codec: 2, data: Buffer.from('table'), file, stored: 400_000 }
  await writer.write(bodyAdd, {
    num: 1,
    size: 400_010,
    added: 0,
    recipe: Buffer.from([1]),
    skeleton: Buffer.from('s'),
    parts: [part],
  })
  const stored = await read.one('SELECT file, stored, length(data) AS length FROM part WHERE num = 1')
  expect(stored).toEqual({ file: 0, stored: 400_005, length: 400_005 })
})

test('what was indexed is found', async () => {
  const operations = [
    ...[1, 2].map(num =>
      operation(messageInsert, { ...rowFor('message', num), num, uid: num, mailbox: 5, user: 5, body: num } as never),
    ),
    operation(searchAdd, {
      docs: [
        { user: 5, body: 1, text: 'straße nach süden', whole: true, fields: true },
        { user: 5, body: 2, text: 'norden 日本\u0001', whole: false, fields: true },
      ],
    }),
  ]
  await writer.submit({ partition: 0, epoch: 0, operations, bytes: 200 })
  expect(await bodiesWith(read, 'search', 5, ['aße', 'üde'])).toEqual(new Set([1]))
  expect(await bodiesWith(read, 'search', 5, ['日本\u0001'])).toEqual(new Set([2]))
  expect(await bodiesWith(read, 'search', 6, ['aße'])).toEqual(new Set())
  expect(await bodiesWithWord(read, 5, 'nor')).toEqual(new Set([2]))
})
