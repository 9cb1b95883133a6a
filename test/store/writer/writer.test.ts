import { execFileSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { existsSync, mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { breathe } from '#lib/clock.ts'
import { Fault } from '#lib/fault.ts'
import { limits } from '#lib/limits.ts'
import { makeLog } from '#lib/log.ts'
import { makeMetrics } from '#lib/metrics.ts'
import { type Address, addressInsert } from '#store/accounts/address.ts'
import { unpack } from '#store/bodies/format/codec.ts'
import { bodyAdd } from '#store/bodies/writes.ts'
import { metaPut } from '#store/engine/meta.ts'
import type { Reader } from '#store/engine/reader.ts'
import { migrations } from '#store/engine/schema.ts'
import { openForWriting } from '#store/engine/sqlite/handle.ts'
import { openReader } from '#store/engine/sqlite/reader.ts'
import { changedBy } from '#store/engine/watched.ts'
import { defineWrite, type Operation, operation } from '#store/engine/write.ts'
import { StaleUnit, Writer } from '#store/writer/writer.ts'

let dir: string
let writer: Writer
let read: Reader

const open = () => Writer.open({ file: join(dir, 'teal.db'), log: makeLog('silent'), metrics: makeMetrics('test') })

beforeEach(async () => {
  dir = mkdtempSync(join(tmpdir(), 'teal-writer-'))
  writer = await open()
  read = openReader(join(dir, 'teal.db'))
})

afterEach(async () => {
  read.close()
  await writer.close()
  rmSync(dir, { recursive: true, force: true })
})

const address = (id: string, key: string): Address => ({
  id,
  key,
  address: key,
  domain: 'example.com',
  user: null,
  name: '',
  tags: [],
  metaData: undefined,
  internalData: undefined,
  forward: null,
  created: 1,
  signature: undefined,
})
const insert = (id: string, key: string): Operation => operation(addressInsert, address(id, key))
const unit = (operations: Operation[], partition = 0, epoch = 0) => ({ partition, epoch, operations, bytes: 100 })
const keys = async () => (await read.all<{ key: string }>('SELECT key FROM address ORDER BY key')).map(row => row.key)

test('what is resolved can be read', async () => {
  await writer.submit(unit([insert('a', 'a@example.com')]))
  expect(await keys()).toEqual(['a@example.com'])
})

test('a unit is all or nothing, and a broken rule fails that unit alone', async () => {
  const results = await Promise.allSettled([
    writer.submit(unit([insert('a', 'one')])),
    writer.submit(unit([insert('b', 'two'), insert('c', 'one')])),
    writer.submit(unit([insert('d', 'three')])),
  ])
  expect(results.map(result => result.status)).toEqual(['fulfilled', 'rejected', 'fulfilled'])
  expect((results[1] as PromiseRejectedResult).reason).toMatchObject({ code: 'AddressExistsError' })
  expect(await keys()).toEqual(['one', 'three'])
})

test('a large value is whole where its batch was written twice, because another unit in it broke a rule', async () => {
  const text = Buffer.from('words and numbers 123 '.repeat(1000))
  const body = (num: number): Operation =>
    operation(bodyAdd, { num, size: text.length, added: 0, recipe: null, skeleton: new Uint8Array(text), parts: [] })
  await writer.submit(unit([insert('a', 'one')]))
  const results = await Promise.allSettled([
    writer.submit(unit([insert('b', 'two')])),
    writer.submit(unit([body(1)])),
    writer.submit(unit([insert('c', 'one')])),
    writer.submit(unit([body(2)])),
  ])
  expect(results.map(result => result.status)).toEqual(['fulfilled', 'fulfilled', 'rejected', 'fulfilled'])
  const bodies = await read.all<{ codec: number; skeleton: Buffer }>('SELECT codec, skeleton FROM body')
  expect(bodies.map(({ codec, skeleton }) => unpack(codec, skeleton, text.length).equals(text))).toEqual([true, true])
})

test('the log is copied back and begins anew while units come', async () => {
  const value = randomBytes(200_000)
  const wal = () => statSync(join(dir, 'teal.db-wal')).size
  let [count, longest] = [0, 0]
  // A machine with other work lets the log grow for a while.
  while (count < 800 || (longest > (count * value.length) / 1.5 && count < 3000)) {
    const rows = Array.from({ length: 20 }, (_, at) => count + 1 + at)
    count += rows.length
    await Promise.all(
      rows.map(own => {
        const row = { num: own, size: value.length, added: 0, recipe: null, skeleton: new Uint8Array(value), parts: [] }
        return writer.submit({ partition: 0, epoch: 0, operations: [operation(bodyAdd, row)], bytes: value.length })
      }),
    )
    longest = Math.max(longest, wal())
  }
  expect(longest).toBeLessThan((count * value.length) / 1.5)
  const stored = await read.one<{ n: number; same: number }>(
    'SELECT count(*) AS n, sum(skeleton = ?) AS same FROM body',
    value,
  )
  expect(stored).toEqual({ n: count, same: count })
  await writer.close()
  expect(existsSync(join(dir, 'teal.db-wal')) ? wal() : 0).toBe(0)
  writer = await open()
})

test('a log that the disk does not let be copied back only grows, and is copied back when it can be', async () => {
  const value = randomBytes(200_000)
  let num = 0
  const store = async (count: number) => {
    for (let left = count; left > 0; left -= 8) {
      const units = Array.from({ length: 8 }, () => {
        num += 1
        const row = { num, size: value.length, added: 0, recipe: null, skeleton: new Uint8Array(value), parts: [] }
        return writer.submit({ partition: 0, epoch: 0, operations: [operation(bodyAdd, row)], bytes: value.length })
      })
      await Promise.all(units)
    }
  }
  const file = join(dir, 'log')
  const reopen = async () => {
    await writer.close()
    const log = makeLog('info', 1, { format: 'json', file })
    writer = await Writer.open({ file: join(dir, 'teal.db'), log, metrics: makeMetrics('test') })
  }
  const lines = () => readFileSync(file, 'utf8')
  await reopen()
  const size = (name: string) => statSync(join(dir, name)).size
  // A file of this process may be so long: the database reaches that, its log does not.
  const limit = (bytes: string) => execFileSync('prlimit', ['--pid', String(process.pid), `--fsize=${bytes}:`])
  await store(400)
  await reopen()
  const before = size('teal.db')
  limit(String(before + 4096))
  try {
    await store(200)
    const told = async () => {
      await store(8)
      return lines()
    }
    await expect.poll(told, { interval: 100, timeout: 10_000 }).toContain('cannot be copied back')
    expect(size('teal.db')).toBeLessThanOrEqual(before + 4096)
    limit('unlimited')
    await expect.poll(told, { interval: 100, timeout: 10_000 }).toContain('copied back into the database again')
  } finally {
    limit('unlimited')
  }
  expect(size('teal.db')).toBeGreaterThan(before + 4096)
  expect(await read.one('SELECT count(*) AS n FROM body')).toEqual({ n: num })
})

test('units of a partition made from a state that failed are stale, also in later batches; a new epoch goes through', async () => {
  await writer.submit(unit([insert('a', 'one')]))
  const failed = writer.submit(unit([insert('b', 'one')], 7, 3))
  const stale = writer.submit(unit([insert('c', 'two')], 7, 3))
  const other = writer.submit(unit([insert('d', 'three')], 8, 0))
  await expect(failed).rejects.toBeInstanceOf(Fault)
  await expect(stale).rejects.toBeInstanceOf(StaleUnit)
  await other
  await expect(writer.submit(unit([insert('e', 'four')], 7, 2))).rejects.toBeInstanceOf(StaleUnit)
  await writer.submit(unit([insert('f', 'five')], 7, 4))
  expect(await keys()).toEqual(['five', 'one', 'three'])
})

test('a unit with a write that the thread does not know fails alone, and those beside it and after it are on disk', async () => {
  const unknown = operation(
    defineWrite<{ key: string }>('nobody.knows', () => {}),
    { key: 'one' },
  )
  const results = await Promise.allSettled([
    writer.submit(unit([insert('a', 'one')])),
    writer.submit(unit([insert('b', 'two'), unknown], 7, 3)),
    writer.submit(unit([insert('c', 'three')], 7, 3)),
    writer.submit(unit([insert('d', 'four')])),
  ])
  expect(results.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'rejected', 'fulfilled'])
  expect((results[1] as PromiseRejectedResult).reason).toMatchObject({ message: 'no write is called nobody.knows' })
  expect((results[2] as PromiseRejectedResult).reason).toBeInstanceOf(StaleUnit)
  expect(writer.healthy).toBe(true)
  await writer.submit(unit([insert('e', 'five')], 7, 4))
  expect(await keys()).toEqual(['five', 'four', 'one'])
})

test('a full disk is a temporary error for all, loses nothing, and heals by itself', async () => {
  await writer.submit(unit([insert('a', 'one')]))
  const pages = Number((await read.one<{ page_count: number }>('PRAGMA page_count'))?.page_count)
  writer.limitPages(pages)
  const big = 'x'.repeat(200_000)
  await expect(writer.write(metaPut, { key: 'big', value: big })).rejects.toMatchObject({ code: 'StorageUnavailable' })
  expect(writer.healthy).toBe(false)
  await expect(writer.submit(unit([insert('b', 'two')]))).rejects.toMatchObject({ code: 'StorageUnavailable' })
  expect(await keys()).toEqual(['one'])
  writer.limitPages(0)
  await expect.poll(() => writer.healthy, { timeout: 10_000 }).toBe(true)
  await expect
    .poll(async () =>
      writer.submit(unit([insert('b', 'two')])).then(
        () => 'stored',
        () => 'refused',
      ),
    )
    .toBe('stored')
  expect(await keys()).toEqual(['one', 'two'])
})

test('thousands of units at once are gathered into few commits', async () => {
  const count = 3000
  await Promise.all(Array.from({ length: count }, (_, n) => writer.submit(unit([insert(String(n), `k${n}`)]))))
  expect(await keys()).toHaveLength(count)
  expect(writer.commits).toBeLessThan(count / 10)
})

test('what is on its way behind a commit that failed is not written from the state that failed with it', async () => {
  await writer.submit(unit([insert('a', 'one')]))
  writer.limitPages(Number((await read.one<{ page_count: number }>('PRAGMA page_count'))?.page_count))
  const big = writer.submit(unit([operation(metaPut, { key: 'big', value: 'x'.repeat(2_000_000) })], 7, 3))
  big.catch(() => {})
  const behind: Promise<void>[] = []
  // Some leave together, some while the first is being written.
  for (let round = 0; round < 5; round++) {
    const unitBehind = writer.submit(unit([insert(`b${round}`, `two${round}`)], 7, 3))
    // Refused perhaps before anybody asks.
    unitBehind.catch(() => {})
    behind.push(unitBehind)
    await breathe()
  }
  await expect(big).rejects.toMatchObject({ code: 'StorageUnavailable' })
  const results = await Promise.allSettled(behind)
  expect(results.map(({ status }) => status)).toEqual(Array(5).fill('rejected'))
  writer.limitPages(0)
  await expect.poll(() => writer.healthy, { timeout: 10_000 }).toBe(true)
  await expect(writer.submit(unit([insert('c', 'three')], 7, 3))).rejects.toBeInstanceOf(StaleUnit)
  await writer.submit(unit([insert('d', 'four')], 7, 4))
  expect(await keys()).toEqual(['four', 'one'])
})

test('what somebody waits for goes before what nobody waits for, as far as that has not left', async () => {
  const done: string[] = []
  const work = (name: string, bytes: number, background: boolean) =>
    writer
      .submit({ ...unit([operation(metaPut, { key: name, value: 1 })]), bytes, background })
      .then(() => void done.push(name))
  const bytes = limits.writer.batchBytesMax
  const idle = Array.from({ length: 20 }, (_, n) => work(`idle ${n}`, bytes, true))
  await breathe()
  const urgent = work('urgent', 1, false)
  await Promise.all([...idle, urgent])
  // Behind the one that had left, and no other.
  expect(done.indexOf('urgent')).toBeLessThan(2)
  expect(done).toHaveLength(21)
  expect(writer.pending).toBe(0)
})

test('it is known which tables a commit may have changed', async () => {
  const before = writer.changes.of('address', 'domainalias')
  await writer.write(metaPut, { key: 'other', value: 1 })
  expect(writer.changes.of('address', 'domainalias')).toBe(before)
  let seen = 0
  await writer.submit(unit([insert('a', 'one')])).then(() => {
    seen = writer.changes.of('address')
  })
  expect(seen).toBeGreaterThan(before)
  expect(writer.changes.of('user', 'token')).toBe(0)
})

test.each([
  ['INSERT INTO address (id) VALUES (?)', 'address'],
  ['INSERT OR IGNORE INTO token (id) VALUES (?)', 'token'],
  ['UPDATE user SET name = ?', 'user'],
  ['UPDATE OR IGNORE user SET name = ?', 'user'],
  ['INSERT INTO usage (user) VALUES (?) ON CONFLICT DO UPDATE SET user = ?', undefined],
  ['DELETE FROM domainalias WHERE id = ?', 'domainalias'],
  ['DELETE FROM token WHERE user = @whose AND hash IN (SELECT hash FROM token LIMIT 5)', 'token'],
  ['UPDATE usage SET storage = 0 WHERE user = ?', undefined],
  ['INSERT INTO login (user, at) SELECT num, ? FROM user WHERE num = ?', undefined],
  ['SELECT 1 FROM user', undefined],
])('%s', (text, table) => {
  expect(changedBy(text)).toBe(table)
})

test('a database of a later program is refused', async () => {
  await writer.close()
  const handle = openForWriting(join(dir, 'teal.db'))
  handle.pragma(`user_version = ${migrations.length + 1}`)
  handle.close()
  await expect(open()).rejects.toMatchObject({ code: 'DatabaseTooNew' })
  const back = openForWriting(join(dir, 'teal.db'))
  back.pragma(`user_version = ${migrations.length}`)
  back.close()
  writer = await open()
})
