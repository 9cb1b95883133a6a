// Checking bodies: every reference resolves, every count is true, every byte is the one that was stored.
//
// The counting rules join the store's own check (check.ts); what needs unpacking and the file system is `checkBodies`,
// which `teal verify` runs in full. It repairs nothing. While the service runs, a row may go between two looks, with what
// belongs to it: a fault counts only when its row is still there after it was found, since rows of bodies never change (but for
// where a large part lies, whose object stays for days).

import { createHash } from 'node:crypto'
import { access, constants, stat } from 'node:fs/promises'
import { limits } from '#lib/limits.ts'
import { fileProblem } from '#lib/process/file-error.ts'
import type { Reader } from '../engine/reader.ts'
import { checkParts } from '../upkeep/check.ts'
import { BodyFiles, fileName } from './files.ts'
import { encodedLength } from './format/base64.ts'
import { ChunkTable, codecChunks, decodeRecipe, unpack } from './format/codec.ts'
import { objectName } from './objects/parts.ts'
import type { PartColumns } from './part.ts'
import { isNamed, streamPart } from './read.ts'
import type { StoredBody } from './writes.ts'

checkParts.push({
  rules: [
    {
      says: 'a part is kept by as many places in bodies as it counts',
      query: `SELECT p.num || ' has ' || p.refs || ', found ' || coalesce(r.n, 0) FROM part p
        LEFT JOIN (SELECT part, count(*) AS n FROM body_part GROUP BY part) r ON r.part = p.num
        WHERE p.refs <> coalesce(r.n, 0)`,
    },
    {
      says: 'every place in a body has its part',
      query: `SELECT body || ':' || seq FROM body_part AS o WHERE NOT EXISTS (SELECT 1 FROM part AS i WHERE i.num = o.part)`,
    },
    {
      says: 'every place belongs to a body',
      query: `SELECT body || ':' || seq FROM body_part AS o WHERE NOT EXISTS (SELECT 1 FROM body AS i WHERE i.num = o.body)`,
    },
    {
      says: 'what is longer as lines is a body',
      query: `SELECT body FROM as_lines AS o WHERE NOT EXISTS (SELECT 1 FROM body AS i WHERE i.num = o.body)`,
    },
  ],
})

export interface BodyCheck {
  /** Also unpack everything and compare hashes: reads every byte there is. */
  readonly hashes?: boolean
  /** Also name files without a row: only where nothing was deleted lately and nothing is being written. */
  readonly strays?: boolean
}

/** Rows looked at in one go. */
const pageRows = 200

type CheckedBody = Omit<StoredBody, 'refs'>

interface CheckedPart extends PartColumns {
  /** The chunk table, for parts in files. */
  readonly table: Buffer | null
}

/** Everything that is wrong with the bodies of a store, as sentences. */
export async function* checkBodies(read: Reader, files: BodyFiles, how: BodyCheck): AsyncGenerator<string> {
  for (let num = 0; ; ) {
    const bodies = await read.all<CheckedBody>(
      `SELECT num, size, codec, recipe, ${how.hashes === true ? 'skeleton' : "x'' AS skeleton"} FROM body
       WHERE num > ? ORDER BY num LIMIT ${pageRows}`,
      num,
    )
    const last = bodies.at(-1)?.num ?? 0
    const together = await sizesBetween(read, num, last)
    for (const body of bodies) yield* faults(read, 'body', body.num, () => bodyFault(read, body, together, how))
    num = last
    if (bodies.length < pageRows) break
  }
  for (let num = 0; ; ) {
    const parts = await read.all<CheckedPart>(
      `SELECT num, hash, size, codec, file, stored, CASE WHEN file = 1 THEN data END AS "table" FROM part
       WHERE num > ? ORDER BY num LIMIT ${pageRows}`,
      num,
    )
    yield* partsFaults(read, files, parts, how)
    num = parts.at(-1)?.num ?? 0
    if (parts.length < pageRows) break
  }
  if (how.strays === true) yield* strays(read, files)
}

/** What is wrong with the files that the database names, every byte of them, as sentences. */
export async function* checkFiles(read: Reader, dataDir: string): AsyncGenerator<string> {
  const files = new BodyFiles(dataDir)
  for (let num = 0; ; ) {
    const parts = await read.all<CheckedPart>(
      `SELECT num, hash, size, codec, file, stored, data AS "table" FROM part WHERE file = 1 AND num > ?
       ORDER BY num LIMIT ${pageRows}`,
      num,
    )
    for (const part of parts)
      yield* faults(read, 'part', part.num, () => partFault(read, files, part, { hashes: true }))
    num = parts.at(-1)?.num ?? 0
    if (parts.length < pageRows) return
  }
}

/** Objects are looked at some at a time: each is a call over a network. */
async function* partsFaults(
  read: Reader,
  files: BodyFiles,
  parts: readonly CheckedPart[],
  how: BodyCheck,
): AsyncGenerator<string> {
  const step = files.objects === undefined || how.hashes === true ? 1 : limits.objects.checkedMax
  for (let at = 0; at < parts.length; at += step) {
    const found = parts.slice(at, at + step).map(async part => {
      const all: string[] = []
      for await (const one of faults(read, 'part', part.num, () => partFault(read, files, part, how))) all.push(one)
      return all
    })
    for (const all of await Promise.all(found)) yield* all
  }
}

/** A fault with the name of its row before it; what is thrown is a fault too, and what befalls a row that goes is none. */
async function* faults(
  read: Reader,
  table: 'body' | 'part',
  num: number,
  find: () => Promise<string | null>,
): AsyncGenerator<string> {
  const fault = await find().catch(error => (error instanceof Error ? error.message : String(error)))
  if (fault === null || (await read.one(`SELECT 1 FROM ${table} WHERE num = ?`, num)) === undefined) return
  yield `${table} ${num}: ${fault}`
}

/** Sizes of parts in the order of their places, by body. */
type Sizes = ReadonlyMap<number, readonly number[]>

const sizesText = 'SELECT b.body, p.size FROM body_part b JOIN part p ON p.num = b.part'

/** Those of the bodies after `from` up to `to`, in one go; undefined where they cannot be read together. */
async function sizesBetween(read: Reader, from: number, to: number): Promise<Sizes | undefined> {
  try {
    return sizesBy(await read.all(`${sizesText} WHERE b.body > ? AND b.body <= ? ORDER BY b.body, b.seq`, from, to))
  } catch {
    return undefined
  }
}

async function sizesOf(read: Reader, body: number): Promise<Sizes> {
  return sizesBy(await read.all(`${sizesText} WHERE b.body = ? ORDER BY b.seq`, body))
}

function sizesBy(rows: readonly { body: number; size: number }[]): Sizes {
  const all = new Map<number, number[]>()
  for (const { body, size } of rows) {
    const sizes = all.get(body)
    if (sizes === undefined) all.set(body, [size])
    else sizes.push(size)
  }
  return all
}

async function bodyFault(
  read: Reader,
  body: CheckedBody,
  together: Sizes | undefined,
  how: BodyCheck,
): Promise<string | null> {
  const spans = body.recipe === null ? [] : decodeRecipe(body.recipe)
  const sizes = (together ?? (await sizesOf(read, body.num))).get(body.num) ?? []
  if (sizes.length !== spans.length) return `its recipe has ${spans.length} places, its rows are ${sizes.length}`
  let literal = body.size
  for (const [index, { length, lines }] of spans.entries()) {
    const size = sizes[index] ?? 0
    if (length !== (lines === null ? size : encodedLength(size, lines))) return `part ${index} does not fill its place`
    literal -= length
  }
  if (literal < 0) return 'its parts are longer than it is'
  if (how.hashes === true) unpack(body.codec, body.skeleton, literal)
  return null
}

async function partFault(read: Reader, files: BodyFiles, part: CheckedPart, how: BodyCheck): Promise<string | null> {
  if (part.table !== null) {
    if (part.codec !== codecChunks) return `codec ${part.codec} is not one of a file`
    const { what, name, size, unread } = await largeValue(files, part.hash, part.table)
    if (unread !== undefined) return `its ${what} cannot be read: ${unread}`
    if (size === undefined) return `its ${what} ${name} is missing`
    if (size !== part.stored) return `its ${what} has ${size} bytes where ${part.stored} were stored`
    if (new ChunkTable(part.table, part.size).stored !== size) return `its chunk table is not that of its ${what}`
  }
  if (how.hashes !== true) return null
  const hash = createHash('sha256')
  for await (const bytes of streamPart(read, files, part)) hash.update(bytes)
  return hash.digest().equals(part.hash) ? null : 'its bytes have another hash'
}

interface LargeValue {
  readonly what: 'object' | 'file'
  readonly name: string
  /** Undefined where it is not there, or cannot be read. */
  readonly size: number | undefined
  /** Why it cannot be read, which says nothing of what is in it. */
  readonly unread?: string
}

async function largeValue(files: BodyFiles, hash: Uint8Array, table: Uint8Array): Promise<LargeValue> {
  const { objects } = files
  if (objects !== undefined) {
    const name = objectName(hash, table)
    return { what: 'object', name, size: await objects.sizeOf(name) }
  }
  const name = files.pathOf(fileName(hash, table))
  try {
    await access(name, constants.R_OK)
    return { what: 'file', name, size: (await stat(name)).size }
  } catch (error) {
    const isGone = (error as NodeJS.ErrnoException).code === 'ENOENT'
    return { what: 'file', name, size: undefined, ...(!isGone && { unread: fileProblem(error as Error, name) }) }
  }
}

async function* strays(read: Reader, files: BodyFiles): AsyncGenerator<string> {
  for await (const names of files.names()) {
    for (const name of names) if (!(await isNamed(read, name))) yield `file ${name}: no row names it`
  }
}
