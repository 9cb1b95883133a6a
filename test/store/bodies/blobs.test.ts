// Bodies over the real writer thread: bytes come back, counts are right, files come and go with their rows.

import { hash, randomBytes, randomInt } from 'node:crypto'
import {
  appendFileSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { limits } from '#lib/limits.ts'
import { makeLog } from '#lib/log.ts'
import { makeMetrics } from '#lib/metrics.ts'
import type { MimePart } from '#mail/mime/mime.ts'
import { Bodies, type Received } from '#store/bodies/bodies.ts'
import { checkBodies } from '#store/bodies/check.ts'
import { BodyFiles } from '#store/bodies/files.ts'
import type { Body } from '#store/bodies/read.ts'
import { bodyAdd, bodyRelease, bodyRetain, partSuspect, reapFiles } from '#store/bodies/writes.ts'
import { metaPut } from '#store/engine/meta.ts'
import type { Reader } from '#store/engine/reader.ts'
import { openForWriting, statements } from '#store/engine/sqlite/handle.ts'
import { openReader } from '#store/engine/sqlite/reader.ts'
import { type Operation, operation, type Write } from '#store/engine/write.ts'
import { localPlace } from '#store/folder/place.ts'
import { outlineInsert } from '#store/mailboxes/outlines.ts'
import { checkParts } from '#store/upkeep/check.ts'
import { Writer } from '#store/writer/writer.ts'

/** Repeat a failed run with SEED=... in the environment; its number stands in the failure. */
const seed = Number(process.env.SEED ?? randomInt(2 ** 31))
let state = seed
const random = (below: number) => {
  state = (state * 1103515245 + 12345) % 2147483648
  return Math.floor((state / 2147483648) * below)
}

let dir: string
let writer: Writer
let read: Reader
let bodies: Bodies

async function open(): Promise<void> {
  const file = join(dir, 'teal.db')
  writer = await Writer.open({ file, log: makeLog('silent'), metrics: makeMetrics('test') })
  read = openReader(file)
  bodies = new Bodies(localPlace(dir), read)
}

async function close(): Promise<void> {
  read.close()
  await writer.close()
}

beforeEach(async () => {
  dir = mkdtempSync(join(tmpdir(), 'teal-blobs-'))
  await open()
})

afterEach(async () => {
  const faults = await faultsOf()
  await close()
  rmSync(dir, { recursive: true, force: true })
  expect(faults).toEqual([])
})

async function faultsOf(strays = false): Promise<string[]> {
  const faults: string[] = []
  for await (const fault of checkBodies(read, new BodyFiles(dir), { hashes: true, strays })) faults.push(fault)
  for (const { says, query } of checkParts.flatMap(part => part.rules ?? [])) {
    for (const row of await read.all<object>(query)) faults.push(`${says}: ${JSON.stringify(row)}`)
  }
  return faults
}

/** Removes, with the service down, what no row names. */
async function clean(): Promise<void> {
  await writer.close()
  const handle = openForWriting(join(dir, 'teal.db'))
  const sql = statements(handle)
  await bodies.sweep(async row => {
    const tasks: (() => void)[] = []
    const effects = {
      beforeCommit: () => {},
      afterCommit: (task: () => void) => tasks.push(task),
      onRollback: () => {},
    }
    partSuspect.run(sql, row, effects)
    for (const task of tasks) task()
  })
  reapFiles(sql, 0)
  handle.close()
  read.close()
  await open()
}

const submit = (operations: Operation[]) => writer.submit({ partition: 0, epoch: 0, operations, bytes: 100 })
const add = (received: Received, num: number): Operation => operation(bodyAdd, received.bodyRow(num).row)
const retain = (num: number): Operation => operation(bodyRetain, { num })
const release = (num: number): Operation => operation(bodyRelease, { num })
const refused: Operation = operation(metaPut as Write<unknown>, { key: null, value: null })

/** Stores a message and returns its number. */
async function exact(message: Buffer): Promise<Received> {
  const intake = bodies.intakeExact(message.length)
  await intake.write(message)
  return intake.finish()
}

/** Stores bytes as they are: line ends are of test/service/line-end.test.ts. */
async function store(message: Buffer, num: number): Promise<void> {
  const received = await exact(message)
  await submit([add(received, num)])
  await received.discard()
}

async function bytesOf(body: Body, start?: number, end?: number): Promise<Buffer> {
  const pieces: Buffer[] = []
  for await (const piece of body.stream(start, end)) {
    expect(piece.length).toBeLessThanOrEqual(limits.body.chunkBytes)
    pieces.push(Buffer.from(piece))
  }
  return Buffer.concat(pieces)
}

async function count(table: 'body' | 'part' | 'body_part'): Promise<number> {
  return (await read.one<{ n: number }>(`SELECT count(*) AS n FROM ${table}`))?.n ?? -1
}

/** Every file under the data directory except the database's own. */
function filesOf(folder: 'blobs' | 'tmp'): string[] {
  const entries = readdirSync(join(dir, folder), { recursive: true, withFileTypes: true })
  return entries.filter(entry => entry.isFile()).map(entry => join(entry.parentPath, entry.name))
}

const base64 = (value: Buffer, width = 76, ending = '\r\n') =>
  (value.toString('base64').match(new RegExp(`.{1,${width}}`, 'g')) ?? []).join(ending)

/** A message with these attachments, encoded as given. */
function message(text: string, attachments: readonly string[] = [], encoding = 'base64', ending = '\r\n'): Buffer {
  const lines = [
    `Subject: ${randomBytes(8).toString('hex')}`,
    'MIME-Version: 1.0',
    'Content-Type: multipart/mixed; boundary="edge"',
    '',
    '--edge',
    'Content-Type: text/plain',
    '',
    text,
  ]
  for (const attachment of attachments) {
    lines.push('--edge', 'Content-Type: application/pdf', `Content-Transfer-Encoding: ${encoding}`, '', attachment)
  }
  return Buffer.from([...lines, '--edge--', ''].join(ending), 'latin1')
}

function leaves(part: MimePart): MimePart[] {
  return part.children.length === 0 ? [part] : part.children.flatMap(leaves)
}

const large = limits.body.inlineBytesMax * 5

test('what is received is what is read: whole, in ranges, as a stream', async () => {
  const value = randomBytes(9000)
  const big = randomBytes(large)
  const text = 'words and words\r\n'.repeat(40)
  const messages = [
    Buffer.from('x'),
    Buffer.from('Subject: small\r\n\r\nHello\r\n'),
    Buffer.from(`Subject: text\r\n\r\n${'a line of a long text\r\n'.repeat(20_000)}`),
    Buffer.from(`Subject: head ${'x'.repeat(600_000)}\r\n\r\nbody`),
    message(text, [base64(value)]),
    message(text, [base64(value, 72, '\n')], 'base64', '\n'),
    message(text, [`${base64(value)}\r\n\r\n`, base64(value, 60), base64(value.subarray(0, 8999))]),
    message(text, [`${base64(value)}\r\nnot base64 at all`, base64(value, 75), base64(value, 100_000)]),
    message(text, [base64(big), value.toString('latin1').repeat(60)], 'base64'),
    message(text, [big.toString('latin1')], '8bit'),
    message(text, [`${base64(big)}=`, `${base64(big)}\r\n \r\n`, `=${base64(big)}`]),
    message(text, [base64(Buffer.alloc(large))]),
  ]
  for (const [index, bytes] of messages.entries()) {
    const num = index + 1
    await store(bytes, num)
    const body = await bodies.open(num)
    expect(body.size).toBe(bytes.length)
    expect((await body.read()).equals(bytes)).toBe(true)
    expect((await bytesOf(body)).equals(bytes)).toBe(true)
    for (let round = 0; round < 20; round++) {
      const start = random(bytes.length)
      const end = start + random(Math.min(bytes.length - start + 10, 100_000))
      expect((await body.read(start, end)).equals(bytes.subarray(start, end)), `seed ${seed}`).toBe(true)
      expect((await bytesOf(body, start, end)).equals(bytes.subarray(start, end)), `seed ${seed}`).toBe(true)
    }
    expect((await body.read(bytes.length, bytes.length + 5)).length).toBe(0)
    expect((await body.read(-5, 3)).equals(bytes.subarray(0, 3))).toBe(true)
  }
  expect(filesOf('tmp')).toEqual([])
})

test('real mail of every shape comes back byte for byte', async () => {
  const corpus = join(import.meta.dirname, '../../corpus')
  const entries = readdirSync(corpus, { recursive: true, withFileTypes: true }).filter(entry => entry.isFile())
  const messages = entries.map(entry => readFileSync(join(entry.parentPath, entry.name)))
  expect(messages.length).toBeGreaterThan(50)
  await Promise.all(messages.map((bytes, index) => store(bytes, index + 1)))
  for (const [index, bytes] of messages.entries()) {
    expect((await (await bodies.open(index + 1)).read()).equals(bytes), entries[index]?.name).toBe(true)
  }
})

test('an attachment is stored once, whoever sends it and however its base64 is broken into lines', async () => {
  const small = randomBytes(limits.body.sharedPartBytesMin * 2)
  const big = randomBytes(large)
  await store(message('one', [base64(small), base64(big)]), 1)
  await store(message('two', [base64(small, 72), base64(big, 60)]), 2)
  await store(message('three', [base64(small), base64(small, 64, '\n')], 'base64', '\n'), 3)
  const raw = Buffer.concat([Buffer.from(`Content-Type: application/pdf\r\n\r\n`), small])
  await store(raw, 4)
  expect(await count('part')).toBe(2)
  expect(await count('body_part')).toBe(7)
  expect(filesOf('blobs')).toHaveLength(1)
  expect(statSync(filesOf('blobs')[0] ?? '').size).toBeLessThan(big.length * 1.01)
})

test('small text packs together with its message, large text is shared', async () => {
  const text = 'a line\r\n'.repeat(limits.body.sharedTextBytesMin / 16)
  await store(message(text), 1)
  expect(await count('part')).toBe(0)
  await store(message(text.repeat(3)), 2)
  await store(message(text.repeat(3)), 3)
  expect(await count('part')).toBe(1)
})

test('an attachment stored decoded is served without its base64, in ranges too', async () => {
  const values = [randomBytes(10_000), randomBytes(large), Buffer.alloc(large, 'text ')]
  for (const [n, value] of values.entries()) {
    const bytes = message('see attached', [`${base64(value)}\r\n\r\n`, 'not base64 '.repeat(1000)])
    const received = await bodies.receive(bytes)
    const num = n + 1
    await submit([add(received, num)])
    const [text, first, second] = leaves(received.takeTree())
    expect(received.contentHash(first?.headerEnd ?? 0)).toEqual(hash('sha256', value, 'buffer'))
    expect(received.contentHash(second?.headerEnd ?? 0)).toBeNull()
    await received.discard()
    const body = await bodies.open(num)
    const attachment = body.attachment(first?.headerEnd ?? 0, first?.bodyEnd ?? 0)
    expect(attachment?.size).toBe(value.length)
    const pieces: Buffer[] = []
    for await (const piece of attachment?.stream() ?? []) pieces.push(piece)
    expect(Buffer.concat(pieces).equals(value)).toBe(true)
    const range: Buffer[] = []
    for await (const piece of attachment?.stream(5000, 9000) ?? []) range.push(piece)
    expect(Buffer.concat(range).equals(value.subarray(5000, 9000))).toBe(true)
    expect(body.attachment(text?.headerEnd ?? 0, text?.bodyEnd ?? 0)).toBeNull()
    expect(body.attachment(second?.headerEnd ?? 0, second?.bodyEnd ?? 0)).toBeNull()
  }
})

test('the first unit to be stored stores the body, whichever it is', async () => {
  const bytes = message('to many', [base64(randomBytes(large))])
  const received = await bodies.receive(bytes)
  const units = await Promise.allSettled([
    submit([add(received, 1), refused]),
    submit([add(received, 1)]),
    submit([add(received, 1)]),
    submit([refused, add(received, 1)]),
  ])
  await received.discard()
  expect(units.map(unit => unit.status)).toEqual(['rejected', 'fulfilled', 'fulfilled', 'rejected'])
  expect(await read.all('SELECT num, refs FROM body')).toEqual([{ num: 1, refs: 2 }])
  expect(await read.all('SELECT refs FROM part')).toEqual([{ refs: 1 }])
  expect((await (await bodies.open(1)).read()).equals(bytes)).toBe(true)
})

test('a part dropped and stored again in one batch stays, one only dropped goes', async () => {
  const value = randomBytes(large)
  await store(message('first', [base64(value)]), 1)
  const again = await bodies.receive(message('again', [base64(value)]))
  const third = await bodies.receive(message('third', [base64(value, 72)]))
  await Promise.all([submit([release(1)]), submit([add(again, 2)]), submit([release(2)]), submit([add(third, 3)])])
  await again.discard()
  await third.discard()
  expect(filesOf('blobs')).toHaveLength(1)
  expect(await faultsOf()).toEqual([])
  await submit([release(3)])
  expect(await count('part')).toBe(0)
  await clean()
  expect(filesOf('blobs')).toEqual([])
})

test('whoever reads while the last message goes reads on', async () => {
  const bytes = message('gone soon', [base64(randomBytes(large))])
  await store(bytes, 1)
  const body = await bodies.open(1)
  const stream = body.stream()
  const first = await stream.next()
  const pieces = [first.value as Buffer]
  const other = await stream.next()
  pieces.push(other.value as Buffer)
  await submit([release(1)])
  for await (const piece of stream) pieces.push(piece)
  expect(Buffer.concat(pieces).equals(bytes)).toBe(true)
  await expect(bodies.open(1)).rejects.toMatchObject({ code: 'MessageNotFound' })
})

test('what goes while it is checked is no fault, what stays is', async () => {
  for (const num of [1, 2]) await store(message('checked', [base64(randomBytes(large))]), num)
  const other = openForWriting(join(dir, 'teal.db'))
  const { recipe } = (await read.one<{ recipe: Buffer }>('SELECT recipe FROM body WHERE num = 1')) ?? {}
  const setRecipe = (value: Buffer | undefined) =>
    other.prepare('UPDATE body SET recipe = ? WHERE num = 1').run(value ?? null)
  setRecipe(undefined)
  const found: string[] = []
  for await (const fault of checkBodies(read, new BodyFiles(dir), { hashes: true })) {
    if (found.push(fault) === 1) await submit([release(2)])
  }
  expect(found).toEqual(['body 1: its recipe has 0 places, its rows are 1'])
  setRecipe(recipe)
  other.close()
})

test('releasing takes the outline along; releasing or retaining what is not there fails its unit', async () => {
  await store(message('outlined'), 1)
  await submit([operation(outlineInsert, { body: 1, envelope: '', bodystructure: '', summary: '', detail: '' })])
  await submit([retain(1)])
  await submit([release(1)])
  expect(await read.all('SELECT refs FROM body')).toEqual([{ refs: 1 }])
  await submit([release(1)])
  expect(await read.all('SELECT * FROM outline')).toEqual([])
  await expect(submit([release(1)])).rejects.toThrow('not there')
  await expect(submit([retain(1)])).rejects.toThrow('not there')
})

test('a received part that was thrown away too early fails its unit alone', async () => {
  const received = await bodies.receive(message('late', [base64(randomBytes(large))]))
  const other = await bodies.receive(message('other'))
  await received.discard()
  const units = await Promise.allSettled([submit([add(received, 1)]), submit([add(other, 2)])])
  expect(units.map(unit => unit.status)).toEqual(['rejected', 'fulfilled'])
  expect(await count('body')).toBe(1)
})

test('a commit that fails leaves a file at most, and the next try or the sweep takes care of it', async () => {
  const value = randomBytes(large)
  await writer.limitPages.call(writer, 1)
  const received = await bodies.receive(message('full disk', [base64(value), base64(randomBytes(200_000))]))
  await expect(submit([add(received, 1)])).rejects.toMatchObject({ code: 'StorageUnavailable' })
  writer.limitPages(0)
  await expect.poll(() => writer.healthy).toBe(true)
  expect(await count('part')).toBe(0)
  await expect
    .poll(() =>
      submit([add(received, 1)]).then(
        () => 'stored',
        () => 'refused',
      ),
    )
    .toBe('stored')
  await received.discard()
  expect(await faultsOf(true)).toEqual([])
})

test('an intake over its cap is refused, one that is aborted leaves nothing', async () => {
  const intake = bodies.intake(limits.body.spillBytes * 2)
  await intake.write(randomBytes(limits.body.spillBytes))
  await intake.write(randomBytes(limits.body.spillBytes / 2))
  expect(filesOf('tmp')).toHaveLength(1)
  expect(() => intake.write(randomBytes(limits.body.spillBytes))).toThrow(
    expect.objectContaining({ code: 'MessageTooLarge' }),
  )
  await intake.abort()
  expect(filesOf('tmp')).toEqual([])
})

test('a message that comes a byte at a time is held in few pieces', async () => {
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc') as () => void
  const used = () => {
    collect()
    collect()
    const { heapUsed, arrayBuffers } = process.memoryUsage()
    return heapUsed + arrayBuffers
  }
  const intake = bodies.intake()
  const before = used()
  const size = limits.body.spillBytes / 4
  // As they come from a socket: each with memory of its own.
  for (let at = 0; at < size; at++) await intake.write(Buffer.allocUnsafeSlow(1).fill(65 + (at % 26)))
  expect(used() - before).toBeLessThan(20 * size)
  const received = await intake.finish()
  expect(received.size).toBe(size)
  expect(received.read(24, 28).toString()).toBe('YZAB')
  await received.discard()
})

test('where many messages are on their way in at once, each goes to a file sooner', async () => {
  const files = () => readdirSync(join(dir, 'tmp')).length
  const chunk = Buffer.alloc(limits.body.spillBytes - 10, 65)
  const most = Math.floor(limits.body.comingBytesMax / chunk.length)
  const intakes = Array.from({ length: most }, () => bodies.intake())
  for (const intake of intakes) await intake.write(chunk)
  expect(files()).toBe(0)
  const late = bodies.intake()
  await late.write(chunk)
  expect(files()).toBe(1)
  await late.write(chunk)
  await late.abort()
  for (const [at, intake] of intakes.entries()) {
    if (at > 0) await intake.abort()
    else await (await intake.finish()).discard()
  }
  const small = bodies.intake()
  await small.write(chunk)
  expect(files()).toBe(0)
  await small.abort()
})

test('a large message is received, stored and read within some chunks of memory', async () => {
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc') as () => void
  const size = 50 * 1024 * 1024
  const lines = Buffer.from(`${base64(randomBytes(57 * 40_000))}\r\n`)
  const chunkBytes = 78 * 800
  const chunkAt = (index: number) => {
    const from = (index * 7 * chunkBytes) % (lines.length - chunkBytes)
    return Buffer.from(lines.subarray(from, from + chunkBytes))
  }
  collect()
  const before = process.memoryUsage().arrayBuffers
  let most = 0
  const look = () => {
    // What one collection finds is freed beside it, and is certainly gone with the next.
    collect()
    collect()
    most = Math.max(most, process.memoryUsage().arrayBuffers - before)
  }
  const intake = bodies.intake()
  await intake.write(Buffer.from('Content-Type: application/zip\r\nContent-Transfer-Encoding: base64\r\n\r\n'))
  for (let index = 0; intake.size < size; index++) {
    await intake.write(chunkAt(index))
    if (index % 200 === 0) look()
  }
  look()
  const watch = setInterval(look, 200)
  const received = await intake.finish()
  clearInterval(watch)
  look()
  await submit([add(received, 1)])
  await received.discard()
  look()
  const body = await bodies.open(1)
  let length = 0
  let pieces = 0
  for await (const piece of body.stream()) {
    length += piece.length
    if (pieces++ % 100 === 0) look()
  }
  expect(length).toBe(body.size)
  const range = await body.read(size - 5000, size)
  expect(range.subarray(0, 78).includes('\r\n')).toBe(true)
  look()
  expect(most).toBeLessThan(limits.body.spillBytes + 8 * limits.body.chunkBytes)
})

test('what a crash leaves in scratch is gone at the next start, and a damaged file is found', async () => {
  const bytes = message('kept', [base64(randomBytes(large))])
  await store(bytes, 1)
  writeFileSync(join(dir, 'tmp', 'torn'), randomBytes(1000))
  await close()
  await open()
  expect(filesOf('tmp')).toEqual([])
  expect((await (await bodies.open(1)).read()).equals(bytes)).toBe(true)
  const [file = ''] = filesOf('blobs')
  const intact = Buffer.from(await (await bodies.open(1)).read())
  appendFileSync(file, 'x')
  expect(await faultsOf()).toEqual([expect.stringContaining('part 1')])
  truncateSync(file, statSync(file).size - 1)
  expect(await faultsOf()).toEqual([])
  truncateSync(file, 1000)
  await expect((await bodies.open(1)).read()).rejects.toThrow('cut short')
  expect(await faultsOf()).toEqual([expect.stringContaining('part 1')])
  expect(intact.equals(bytes)).toBe(true)
  await submit([release(1)])
})

test('random messages with shared attachments, copied and dropped in random order', async () => {
  const values = Array.from({ length: 12 }, () => randomBytes(4000 + random(random(4) === 0 ? 900_000 : 60_000)))
  const stored = new Map<number, { bytes: Buffer; refs: number }>()
  let next = 1
  for (let round = 0; round < 60; round++) {
    const units: Promise<void>[] = []
    const discards: Received[] = []
    for (let index = 0; index < 1 + random(6); index++) {
      const nums = [...stored].filter(([, { refs }]) => refs > 0).map(([num]) => num)
      const num = nums[random(nums.length)]
      const entry = num === undefined ? undefined : stored.get(num)
      const what = random(10)
      if (what < 4 || num === undefined || entry === undefined) {
        const attachments = Array.from({ length: random(4) }, () => {
          const value = values[random(values.length)] as Buffer
          return random(5) === 0 ? value.toString('latin1') : base64(value, [76, 72, 60][random(3)])
        })
        const bytes = message('text '.repeat(random(3000)), attachments)
        const received = await exact(bytes)
        discards.push(received)
        const fails = random(6) === 0
        const operations = fails ? [add(received, next), refused] : [add(received, next)]
        units.push(submit(operations).catch(() => {}))
        if (!fails) stored.set(next, { bytes, refs: 1 })
        next++
      } else if (what < 6) {
        units.push(submit([retain(num)]))
        entry.refs++
      } else {
        units.push(submit([release(num)]))
        entry.refs--
      }
    }
    await Promise.all(units)
    for (const received of discards) await received.discard()
  }
  const alive = [...stored].filter(([, { refs }]) => refs > 0)
  expect(await read.all('SELECT num, refs FROM body ORDER BY num'), `seed ${seed}`).toEqual(
    alive.map(([num, { refs }]) => ({ num, refs })),
  )
  for (const [num, { bytes }] of alive)
    expect((await (await bodies.open(num)).read()).equals(bytes), `seed ${seed}`).toBe(true)
  const again = new Bodies(localPlace(dir), read)
  await again.ahead([...alive.map(([num]) => num), next])
  for (const [num, { bytes }] of alive)
    expect((await (await again.open(num)).read()).equals(bytes), `seed ${seed}`).toBe(true)
  expect(await faultsOf(), `seed ${seed}`).toEqual([])
  await clean()
  expect(await faultsOf(true), `seed ${seed}`).toEqual([])
  for (const [num, { refs }] of alive) for (let left = refs; left > 0; left--) await submit([release(num)])
  await clean()
  expect([
    await count('body'),
    await count('part'),
    await count('body_part'),
    filesOf('blobs').length,
    filesOf('tmp').length,
  ]).toEqual([0, 0, 0, 0, 0])
})
