// Bodies and their parts: the tables, and their writes, which run in the writer thread, inside a unit.
//
// A body counts the messages that carry it, a part the places in bodies that it fills; at nothing left the row goes.
// Small values are packed here, and a part that is there already is not packed again. Files get their names within the
// unit, on disk before the commit, and lose them some time after it when still no row names them: a reader that found
// the row a moment ago has its file, a part that is dropped and comes again in one batch is safe, and a name whose unit
// or commit failed is cleaned up in the same way. None of this needs to hear of a rollback.

import { existsSync } from 'node:fs'
import { dirname } from 'node:path'
import { after, monotonic, type Timer } from '#lib/clock.ts'
import { limits } from '#lib/limits.ts'
import { bytes, integer, nullable } from '../engine/column.ts'
import type { Sql } from '../engine/sqlite.ts'
import { type RowOf, table } from '../engine/table.ts'
import { defineWrite, type Effects } from '../engine/write.ts'
import { searchForget } from '../search/docs.ts'
import { BodyFiles, fileName, hashInName } from './files.ts'
import { pack } from './format/codec.ts'

/** Received content, shared by the messages that carry it. */
export const bodies = table(
  'body',
  {
    num: integer,
    /** Messages that carry it. */
    refs: integer,
    size: integer,
    /** Of the skeleton, see format/codec.ts. */
    codec: integer,
    /** See `encodeRecipe`; null where the skeleton is the whole message. */
    recipe: nullable(bytes),
    /** Bytes outside of the parts. */
    skeleton: bytes,
  },
  { key: ['num'] },
)

/** A leaf part stored once for everybody: in the row, or in a file named by its hash. */
export const parts = table(
  'part',
  {
    num: integer,
    /** SHA-256 of the value. */
    hash: bytes,
    /** Places in bodies that it fills. */
    refs: integer,
    size: integer,
    codec: integer,
    /** 1: `data` is the chunk table of a file. */
    file: integer,
    /** Bytes of `data`, or of the file. */
    stored: integer,
    data: nullable(bytes),
  },
  {
    key: ['num'],
    indexes: { part_hash: { on: ['hash'], unique: true }, part_file: { on: ['num'], where: 'file = 1' } },
  },
)

/** Which parts a body is made of, in order. */
const places = table(
  'body_part',
  { body: integer, seq: integer, part: integer },
  { key: ['body', 'seq'], clustered: true },
)

export type StoredBody = Readonly<RowOf<typeof bodies>>
export type StoredPart = Readonly<RowOf<typeof parts>>

const bodyInsertion = bodies.insertion
const placeInsertion = places.insertion
/** The engine numbers parts. */
const partInsertion = parts.inserting(['hash', 'refs', 'size', 'codec', 'file', 'stored', 'data'])

export interface BodyRow {
  readonly num: number
  readonly size: number
  /** See `encodeRecipe`; null where the skeleton is the whole message. */
  readonly recipe: Uint8Array | null
  /** Bytes outside of the parts, not packed yet. */
  readonly skeleton: Uint8Array
  /** In order of the recipe. */
  readonly parts: readonly PartRow[]
}

export interface PartRow {
  /** SHA-256 of the value. */
  readonly hash: Uint8Array
  /** Bytes of the value. */
  readonly size: number
  /** Null where `data` is the value itself and is packed by the write. */
  readonly codec: number | null
  /** The value, or its chunk table with the pieces behind it, or the table alone when they are in a file. */
  readonly data: Uint8Array
  /** Scratch file with the pieces, synced. */
  readonly file: string | null
  /** Bytes of that file. */
  readonly stored: number
}

function addBody(sql: Sql, row: BodyRow, effects: Effects): void {
  if (sql('UPDATE body SET refs = refs + 1 WHERE num = ?').run(row.num).changes === 1) return
  for (const [seq, part] of row.parts.entries()) {
    const num = addPart(sql, part, effects)
    sql(placeInsertion).run(row.num, seq, num)
  }
  const { codec, data } = pack(row.skeleton)
  sql(bodyInsertion).run(row.num, 1, row.size, codec, row.recipe, data)
}

/** Stores a body, or counts one more reference to it where an earlier unit has stored it. */
export const bodyAdd = defineWrite<BodyRow>('body.add', addBody, {
  once: row => row.parts.some(part => part.file !== null),
  values: row => [row.skeleton, ...row.parts.map(part => part.data)],
})

/** One more message carries the body. */
export const bodyRetain = defineWrite<{ num: number }>('body.retain', (sql, row) => {
  const { changes } = sql('UPDATE body SET refs = refs + 1 WHERE num = ?').run(row.num)
  if (changes !== 1) throw new Error(`body ${row.num} is not there to be retained`)
})

/** One message less carries the body; the last one takes its outline and its parts along. */
export const bodyRelease = defineWrite<{ num: number }>('body.release', (sql, row, effects) => {
  const left = sql('UPDATE body SET refs = refs - 1 WHERE num = ? RETURNING refs').get(row.num) as Refs | undefined
  if (left === undefined) throw new Error(`body ${row.num} is not there to be released`)
  if (left.refs > 0) return
  sql('DELETE FROM body WHERE num = ?').run(row.num)
  sql('DELETE FROM outline WHERE body = ?').run(row.num)
  sql('DELETE FROM header WHERE body = ?').run(row.num)
  searchForget(sql, row.num)
  const parts = sql('SELECT part FROM body_part WHERE body = ? ORDER BY seq').all(row.num) as { part: number }[]
  if (parts.length === 0) return
  sql('DELETE FROM body_part WHERE body = ?').run(row.num)
  for (const { part } of parts) {
    const rest = sql(`UPDATE part SET refs = refs - 1 WHERE num = ?
      RETURNING refs, hash, CASE WHEN file = 1 THEN data END AS "table"`).get(part) as
      | (Pick<StoredPart, 'refs' | 'hash'> & { table: Buffer | null })
      | undefined
    if (rest === undefined) throw new Error(`part ${part} of body ${row.num} is not there to be released`)
    if (rest.refs > 0) continue
    sql('DELETE FROM part WHERE num = ?').run(part)
    const { hash, table } = rest
    if (table !== null) effects.afterCommit(() => suspect(sql, fileName(hash, table)))
  }
})

/** Files that may have no row, found by `sweep`; each is looked up again before it goes. */
export const partSuspect = defineWrite<{ names: readonly string[] }>('part.suspect', (sql, row, effects) => {
  effects.afterCommit(() => {
    for (const name of row.names) suspect(sql, name)
  })
})

type Refs = Pick<StoredBody, 'refs'>

/** Counts one more use of a part and returns its number; stores it where it is new. */
function addPart(sql: Sql, part: PartRow, effects: Effects): number {
  const there = sql('UPDATE part SET refs = refs + 1 WHERE hash = ? RETURNING num').get(part.hash)
  if (there !== undefined) return (there as { num: number }).num
  if (part.file !== null) publish(sql, part, part.file, effects)
  const { codec, data } = part.codec === null ? pack(part.data) : { codec: part.codec, data: part.data }
  const [file, stored] = part.file === null ? [0, data.length] : [1, part.stored]
  const { lastInsertRowid } = sql(partInsertion).run(part.hash, 1, part.size, codec, file, stored, data)
  return Number(lastInsertRowid)
}

function publish(sql: Sql, part: PartRow, scratch: string, effects: Effects): void {
  // Its owner gave up waiting and threw it away: that fails this unit, not the batch.
  if (!existsSync(scratch)) throw new Error('a received part is gone')
  const { files } = suspectsOf(sql)
  const name = fileName(part.hash, part.data)
  suspect(sql, name)
  try {
    files.publish(scratch, name)
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    // No room for a file is this unit's own failure: what needs none goes on. Another fault of the disk is everybody's.
    if (code === 'ENOSPC' || code === 'EDQUOT') throw error
    effects.beforeCommit(() => {
      throw error
    })
  }
  effects.beforeCommit(() => files.sync())
}

/** Files of one database that may have no row: name -> when that was noticed. */
interface Suspects {
  readonly files: BodyFiles
  readonly since: Map<string, number>
  timer: Timer | null
}

const suspects = new Map<string, Suspects>()

function suspect(sql: Sql, name: string): void {
  const own = suspectsOf(sql)
  // Noticed again: the wait starts anew, behind the others.
  own.since.delete(name)
  own.since.set(name, monotonic())
  own.timer ??= after(limits.body.fileGraceMs, () => {
    own.timer = null
    reapFiles(sql, limits.body.fileGraceMs)
  })
}

/**
 * Removes suspected files without a row that were noticed at least `graceMs` ago. Runs by itself between batches; with
 * 0 it leaves none behind.
 */
export function reapFiles(sql: Sql, graceMs: number): void {
  const find = sql(findTable)
  if (!find.database.open) return
  const own = suspectsOf(sql)
  const due = monotonic() - graceMs
  for (const [name, since] of own.since) {
    if (since > due) break
    own.since.delete(name)
    const hash = hashInName(name)
    const row = find.get(hash) as { data: Buffer } | undefined
    if (row === undefined || fileName(hash, row.data) !== name) own.files.remove(name)
  }
  if (own.since.size === 0 || own.timer !== null) return
  own.timer = after(graceMs, () => {
    own.timer = null
    reapFiles(sql, graceMs)
  })
}

const findTable = 'SELECT data FROM part WHERE hash = ? AND file = 1'

/** The files lie beside the database that names them. */
function suspectsOf(sql: Sql): Suspects {
  const { name } = sql(findTable).database
  let own = suspects.get(name)
  if (own === undefined) {
    own = { files: new BodyFiles(dirname(name)), since: new Map(), timer: null }
    suspects.set(name, own)
  }
  return own
}
