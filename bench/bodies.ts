// Where message bodies live and how they are packed: the measurements behind store/bodies/bodies.ts.
//
// `node bench/bodies.ts [folder of .eml files]` prints tables: places (rows of the one database at several page sizes,
// rows of a second database, plain files) by size of value; the same for a whole delivery by page size; what receiving,
// packing and opening cost a message; and, for a folder, packing by level and the disk its messages take.

import { randomBytes } from 'node:crypto'
import {
  closeSync,
  fsyncSync,
  linkSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  unlinkSync,
  writeSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { constants, zstdCompressSync, zstdDecompressSync } from 'node:zlib'
import { monotonic } from '#lib/clock.ts'
import { makeLog } from '#lib/log.ts'
import { makeMetrics } from '#lib/metrics.ts'
import { Bodies } from '#store/bodies/bodies.ts'
import { BodyFiles } from '#store/bodies/files.ts'
import { readBody } from '#store/bodies/read.ts'
import { bodyAdd } from '#store/bodies/writes.ts'
import type { Reader } from '#store/engine/reader.ts'
import { type Handle, openForWriting } from '#store/engine/sqlite/handle.ts'
import { openReader } from '#store/engine/sqlite/reader.ts'
import { operation } from '#store/engine/write.ts'
import { localPlace } from '#store/folder/place.ts'
import { Writer } from '#store/writer/writer.ts'

const kib = 1024
const words =
  'the of and to in is you that it for was on are as with his they at be this have from or one had by'.split(' ')
const batchUnits = 64
const batchBytes = 8 * kib * kib

interface Place {
  readonly name: string
  /** Stores one batch of values durably. */
  store(values: readonly Buffer[]): void
  read(num: number): Buffer
  /** Copies logs back, so that everything is where it stays. */
  settle(): void
  close(): void
}

const root = mkdtempSync(join(process.env.TEAL_BENCH_DIR ?? tmpdir(), 'bodies-'))
try {
  const folder = process.argv[2]
  if (process.env.TEAL_BENCH_ONLY !== 'messages') {
    places()
    deliveries()
  }
  await messages()
  if (folder !== undefined) {
    packing(folder)
    await mailbox(folder)
  }
} finally {
  rmSync(root, { recursive: true, force: true })
}

function places(): void {
  print(['size', 'place', 'writes/s', 'MB/s', 'cpu us', 'disk x', 'reads/s'])
  for (const size of [1, 4, 16, 64, 256, 1024].map(n => n * kib)) {
    for (const make of [rows(4096), rows(8192), rows(16384), rowsApart, files]) {
      const dir = mkdtempSync(join(root, 'place-'))
      const place = make(dir)
      measure(place, size, dir)
      place.close()
      rmSync(dir, { recursive: true, force: true })
    }
  }
}

function measure(place: Place, size: number, dir: string): void {
  const total = Math.min(8192, Math.max(192, Math.floor((96 * kib * kib) / size)))
  const perBatch = Math.max(1, Math.min(batchUnits, Math.floor(batchBytes / size)))
  const value = randomBytes(size)
  const cpu = process.cpuUsage()
  const started = monotonic()
  for (let done = 0; done < total; done += perBatch) {
    const values = Array.from({ length: Math.min(perBatch, total - done) }, (_, index) => {
      value.writeUInt32LE(done + index, 0)
      return Buffer.from(value)
    })
    place.store(values)
  }
  place.settle()
  const seconds = (monotonic() - started) / 1000
  const used = process.cpuUsage(cpu)
  const readStarted = monotonic()
  let reads = 0
  while (monotonic() - readStarted < 150) {
    const num = 1 + ((reads * 7919) % total)
    if (place.read(num).length !== size) throw new Error('a value came back with another size')
    reads++
  }
  const readSeconds = (monotonic() - readStarted) / 1000
  print([
    `${size / kib}K`,
    place.name,
    (total / seconds).toFixed(0),
    ((total * size) / seconds / 1e6).toFixed(0),
    ((used.user + used.system) / total).toFixed(0),
    (diskBytes(dir) / (total * size)).toFixed(2),
    (reads / readSeconds).toFixed(0),
  ])
}

/** A body beside the small rows of a delivery, spread over many folders: what the page size costs as a whole. */
function deliveries(): void {
  print(['body', 'page', 'units/s', 'MB/s', 'cpu us', 'log KB'])
  for (const size of [1, 8, 20, 100].map(n => n * kib)) {
    for (const pageBytes of [4096, 8192, 16384]) {
      const dir = mkdtempSync(join(root, 'delivery-'))
      deliver(open(join(dir, 'one.db'), pageBytes), size, pageBytes)
      rmSync(dir, { recursive: true, force: true })
    }
  }
}

function deliver(handle: Handle, size: number, pageBytes: number): void {
  const folders = 10_000
  handle.exec(`CREATE TABLE body (num INTEGER PRIMARY KEY, data BLOB);
    CREATE TABLE counters (num INTEGER PRIMARY KEY, n INTEGER); CREATE TABLE usage (num INTEGER PRIMARY KEY, n INTEGER);
    CREATE TABLE message (folder INTEGER, uid INTEGER, num INTEGER, at INTEGER, meta TEXT, PRIMARY KEY (folder, uid)) WITHOUT ROWID;
    CREATE UNIQUE INDEX message_num ON message (num); CREATE INDEX message_at ON message (folder, at, uid);
    CREATE TABLE reference (user INTEGER, hash INTEGER, PRIMARY KEY (user, hash)) WITHOUT ROWID`)
  const body = handle.prepare('INSERT INTO body (data) VALUES (?)')
  const message = handle.prepare('INSERT INTO message VALUES (?, ?, ?, ?, ?)')
  const reference = handle.prepare('INSERT INTO reference VALUES (?, ?)')
  const counters = handle.prepare('UPDATE counters SET n = n + 1 WHERE num = ?')
  const usage = handle.prepare('UPDATE usage SET n = n + 1 WHERE num = ?')
  const meta = 'x'.repeat(300)
  let num = 0
  const unit = (value: Buffer) => {
    const folder = (num * 7919) % folders
    body.run(value)
    message.run(folder, num, num, num, meta)
    reference.run(folder, num * 40503)
    counters.run(folder)
    usage.run(folder)
    num++
  }
  handle.transaction(() => {
    for (let index = 0; index < folders; index++) {
      handle.prepare('INSERT INTO counters VALUES (?, 0)').run(index)
      handle.prepare('INSERT INTO usage VALUES (?, 0)').run(index)
    }
    const small = randomBytes(64)
    for (let index = 0; index < folders * 5; index++) unit(small)
  })()
  handle.pragma('wal_checkpoint(TRUNCATE)')
  const total = Math.min(20_000, Math.floor((128 * kib * kib) / size))
  const value = randomBytes(size)
  let logPages = 0
  const cpu = process.cpuUsage()
  const started = monotonic()
  for (let done = 0; done < total; done += batchUnits) {
    handle.transaction(() => {
      for (let index = 0; index < batchUnits; index++) {
        unit(value)
      }
    })()
    const pages = (handle.pragma('wal_checkpoint(NOOP)') as { log: number }[])[0]?.log ?? 0
    if (pages < 4000) continue
    logPages += pages
    handle.pragma('wal_checkpoint(TRUNCATE)')
  }
  logPages += (handle.pragma('wal_checkpoint(NOOP)') as { log: number }[])[0]?.log ?? 0
  handle.pragma('wal_checkpoint(TRUNCATE)')
  const seconds = (monotonic() - started) / 1000
  const used = process.cpuUsage(cpu)
  print([
    `${size / kib}K`,
    `${pageBytes}`,
    (total / seconds).toFixed(0),
    ((total * size) / seconds / 1e6).toFixed(0),
    ((used.user + used.system) / total).toFixed(0),
    ((logPages * pageBytes) / total / kib).toFixed(0),
  ])
  handle.close()
}

function rows(pageBytes: number): (dir: string) => Place {
  return dir => {
    const handle = open(join(dir, 'one.db'), pageBytes)
    const place = table(handle)
    return { ...place, name: `rows, page ${pageBytes}` }
  }
}

/** A second database is committed before the first one, which names its rows: two syncs a batch. */
function rowsApart(dir: string): Place {
  const names = open(join(dir, 'one.db'), 4096)
  const place = table(open(join(dir, 'two.db'), 8192))
  names.exec('CREATE TABLE name (num INTEGER PRIMARY KEY, size INTEGER)')
  const insert = names.prepare('INSERT INTO name (size) VALUES (?)')
  return {
    ...place,
    name: 'rows of a second file',
    store(values) {
      place.store(values)
      names.transaction(() => values.map(value => insert.run(value.length)))()
    },
    close() {
      place.close()
      names.close()
    },
  }
}

function table(handle: Handle): Place {
  handle.exec('CREATE TABLE part (num INTEGER PRIMARY KEY, hash BLOB UNIQUE, data BLOB)')
  const insert = handle.prepare('INSERT INTO part (hash, data) VALUES (?, ?)')
  const select = handle.prepare('SELECT data FROM part WHERE num = ?').pluck()
  let batches = 0
  return {
    name: 'rows',
    store(values) {
      handle.transaction(() => values.map(value => insert.run(randomBytes(32), value)))()
      if (++batches % 16 === 0) handle.pragma('wal_checkpoint(PASSIVE)')
    },
    read: num => select.get(num) as Buffer,
    settle: () => void handle.pragma('wal_checkpoint(TRUNCATE)'),
    close: () => handle.close(),
  }
}

function files(dir: string): Place {
  const handle = open(join(dir, 'one.db'), 4096)
  handle.exec('CREATE TABLE part (num INTEGER PRIMARY KEY, hash BLOB UNIQUE)')
  const insert = handle.prepare('INSERT INTO part (hash) VALUES (?)')
  const select = handle.prepare('SELECT hash FROM part WHERE num = ?').pluck()
  const path = (hash: Buffer) => join(dir, hash.toString('hex', 0, 1), hash.toString('hex', 1))
  for (let index = 0; index < 256; index++) mkdirSync(join(dir, index.toString(16).padStart(2, '0')))
  let serial = 0
  return {
    name: 'files',
    store(values) {
      const folders = new Set<string>()
      const hashes = values.map(value => {
        const temporary = join(dir, `tmp-${serial++}`)
        const fd = openSync(temporary, 'wx', 0o600)
        writeSync(fd, value)
        fsyncSync(fd)
        closeSync(fd)
        const hash = randomBytes(32)
        linkSync(temporary, path(hash))
        unlinkSync(temporary)
        folders.add(join(path(hash), '..'))
        return hash
      })
      for (const folder of folders) {
        const fd = openSync(folder, 'r')
        fsyncSync(fd)
        closeSync(fd)
      }
      handle.transaction(() => hashes.map(hash => insert.run(hash)))()
    },
    read: num => readFileSync(path(select.get(num) as Buffer)),
    settle: () => void handle.pragma('wal_checkpoint(TRUNCATE)'),
    close: () => handle.close(),
  }
}

function open(file: string, pageBytes: number): Handle {
  const handle = openForWriting(file)
  if (pageBytes !== 4096) {
    handle.pragma('journal_mode = DELETE')
    handle.pragma(`page_size = ${pageBytes}`)
    handle.exec('VACUUM')
    handle.pragma('journal_mode = WAL')
    handle.prepare('SELECT count(*) FROM sqlite_schema').get()
    handle.pragma('synchronous = FULL')
  }
  return handle
}

interface Store {
  readonly bodies: Bodies
  readonly read: Reader
  readonly writer: Writer
  readonly dir: string
}

async function withStore(task: (store: Store) => Promise<() => void>): Promise<void> {
  const dir = mkdtempSync(join(root, 'store-'))
  const file = join(dir, 'teal.db')
  const writer = await Writer.open({ file, log: makeLog('silent'), metrics: makeMetrics('bench') })
  const read = openReader(file)
  const report = await task({ bodies: new Bodies(localPlace(dir), read), read, writer, dir })
  read.close()
  await writer.close()
  report()
  rmSync(dir, { recursive: true, force: true })
}

/** What one message costs: this thread's time for receiving and opening, and durable messages a second, 64 at once. */
async function messages(): Promise<void> {
  print(['message', 'shape', 'receive us', 'stored/s', 'cpu us', 'open us', 'range us'])
  for (const [size, attached] of [
    [2, false],
    [50, false],
    [50, true],
    [900, true],
  ] as const) {
    await withStore(async store => {
      const made = Array.from({ length: 2000 }, (_, index) => sample(size * kib, attached, index % 40))
      const receiveUs = await timed(made.slice(0, 40), 300, async bytes => void (await store.bodies.receive(bytes)))
      const count = size > 100 ? 400 : 6000
      const cpu = process.cpuUsage()
      const started = monotonic()
      let next = 0
      const worker = async () => {
        for (let num = ++next; num <= count; num = ++next) {
          const received = await store.bodies.receive(made[num % made.length] as Buffer)
          const { row, weight } = received.bodyRow(num)
          await store.writer.submit({ partition: 0, epoch: 0, operations: [operation(bodyAdd, row)], bytes: weight })
          await received.discard()
        }
      }
      await Promise.all(Array.from({ length: batchUnits }, worker))
      const seconds = (monotonic() - started) / 1000
      const used = process.cpuUsage(cpu)
      const files = new BodyFiles(store.dir)
      const nums = Array.from({ length: count }, (_, index) => index + 1)
      const openUs = await timed(nums, 300, async num => void (await (await readBody(store.read, files, num)).read()))
      const rangeUs = await timed(
        nums,
        300,
        async num => void (await (await readBody(store.read, files, num)).read(0, 1000)),
      )
      return () =>
        print([
          `${size}K`,
          attached ? 'attachment' : 'text',
          receiveUs.toFixed(0),
          (count / seconds).toFixed(0),
          ((used.user + used.system) / count).toFixed(0),
          openUs.toFixed(0),
          rangeUs.toFixed(0),
        ])
    })
  }
}

function sample(size: number, attached: boolean, serial: number): Buffer {
  let seed = serial + 1
  const word = () => {
    seed = (seed * 1103515245 + 12345) % 2147483648
    return words[seed % words.length] + (seed % 11 === 0 ? (seed % 9973).toString(36) : '')
  }
  const text = (bytes: number) => {
    let made = ''
    while (made.length < bytes) made += `${Array.from({ length: 12 }, word).join(' ')}\r\n`
    return made.slice(0, bytes)
  }
  const head = [
    `Received: from mx1.example.com (mx1.example.com [192.0.2.1])\r\n\tby mail.example.net with ESMTPS id ${word()};`,
    `From: <sender@example.com>\r\nTo: <user@example.net>\r\nSubject: ${word()} ${word()}`,
    `Message-ID: <${randomBytes(12).toString('hex')}@example.com>\r\nMIME-Version: 1.0`,
  ].join('\r\n')
  if (!attached) return Buffer.from(`${head}\r\n\r\n${text(size - head.length)}`)
  const lines =
    randomBytes(Math.floor(size * 0.7))
      .toString('base64')
      .match(/.{1,76}/g) ?? []
  return Buffer.from(
    `${head}\r\nContent-Type: multipart/mixed; boundary="b"\r\n\r\n--b\r\n\r\n${text(1500)}\r\n--b\r\nContent-Type: ` +
      `image/jpeg\r\nContent-Transfer-Encoding: base64\r\n\r\n${lines.join('\r\n')}\r\n--b--\r\n`,
  )
}

/** Microseconds that `task` takes for one of `items`. */
async function timed<T>(items: readonly T[], ms: number, task: (item: T) => Promise<void>): Promise<number> {
  for (const item of items.slice(0, 200)) await task(item)
  const started = monotonic()
  let done = 0
  for (; monotonic() - started < ms; done++) await task(items[done % items.length] as T)
  return ((monotonic() - started) * 1000) / done
}

/** Packing of whole messages by size, at two levels and with a dictionary of other messages' heads. */
function packing(folder: string): void {
  const names = readdirSync(folder).slice(0, 2000)
  const all = names.map(name => readFileSync(join(folder, name)))
  const dictionary = Buffer.concat(all.slice(-40).map(bytes => bytes.subarray(0, 1800))).subarray(0, 4 * kib)
  print(['bytes', 'packing', 'pack us', 'open us', 'ratio'])
  for (const [from, to] of [
    [1, 3],
    [3, 8],
    [8, 32],
    [32, 128],
  ] as const) {
    const some = all.filter(({ length }) => length >= from * kib && length < to * kib).slice(0, 200)
    if (some.length === 0) continue
    for (const level of [1, 3]) {
      for (const shared of [undefined, dictionary]) {
        const options = { params: { [constants.ZSTD_c_compressionLevel]: level }, dictionary: shared }
        const packed = some.map(bytes => zstdCompressSync(bytes, options))
        const us = (task: (index: number) => void) => {
          const started = monotonic()
          let done = 0
          for (; monotonic() - started < 200; done++) task(done % some.length)
          return (((monotonic() - started) * 1000) / done).toFixed(0)
        }
        const ratio = sum(packed.map(({ length }) => length)) / sum(some.map(({ length }) => length))
        print([
          `${from}-${to}K`,
          `level ${level}${shared ? ' dictionary' : ''}`,
          us(index => zstdCompressSync(some[index] as Buffer, options)),
          us(index => zstdDecompressSync(packed[index] as Buffer, { dictionary: shared } as object)),
          ratio.toFixed(3),
        ])
      }
    }
  }
}

/** What the messages of a folder take once stored, bodies alone. */
async function mailbox(folder: string): Promise<void> {
  await withStore(async ({ bodies, read, writer, dir }) => {
    const names = readdirSync(folder)
    let bytes = 0
    let next = 0
    const cpu = process.cpuUsage()
    const started = monotonic()
    const worker = async () => {
      for (let num = ++next; num <= names.length; num = ++next) {
        const message = readFileSync(join(folder, names[num - 1] as string))
        bytes += message.length
        const received = await bodies.receive(message)
        const { row, weight } = received.bodyRow(num)
        await writer.submit({ partition: 0, epoch: 0, operations: [operation(bodyAdd, row)], bytes: weight })
        await received.discard()
      }
    }
    await Promise.all(Array.from({ length: batchUnits }, worker))
    const seconds = (monotonic() - started) / 1000
    const used = process.cpuUsage(cpu)
    const parts = await read.one<{ n: number; files: number; refs: number }>(
      'SELECT count(*) AS n, sum(file) AS files, sum(refs) AS refs FROM part',
    )
    const equal = await same(folder, names, bodies)
    return () => {
      const disk = diskBytes(dir)
      print(['messages', 'MB', 'MB stored', 'ratio', 'msgs/s', 'cpu s', 'parts', 'files', 'uses', 'equal'])
      print([
        `${names.length}`,
        (bytes / 1e6).toFixed(0),
        (disk / 1e6).toFixed(0),
        (disk / bytes).toFixed(3),
        (names.length / seconds).toFixed(0),
        ((used.user + used.system) / 1e6).toFixed(1),
        `${parts?.n}`,
        `${parts?.files}`,
        `${parts?.refs}`,
        `${equal}`,
      ])
    }
  })
}

async function same(folder: string, names: readonly string[], bodies: Bodies): Promise<boolean> {
  for (const [index, name] of names.entries()) {
    const stored = await (await bodies.open(index + 1)).read()
    if (!stored.equals(readFileSync(join(folder, name)))) return false
  }
  return true
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0)
}

function diskBytes(dir: string): number {
  let bytes = 0
  for (const entry of readdirSync(dir, { recursive: true, withFileTypes: true })) {
    if (entry.isFile()) bytes += statSync(join(entry.parentPath, entry.name)).blocks * 512
  }
  return bytes
}

function print(cells: readonly string[]): void {
  process.stdout.write(`${cells.map((cell, index) => (index === 1 ? cell.padEnd(24) : cell.padStart(9))).join(' ')}\n`)
}
