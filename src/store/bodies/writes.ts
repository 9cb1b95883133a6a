// Bodies and their parts: the tables, and their writes, which run in the writer thread, inside a unit.
//
// A body counts the messages that carry it, a part the places in bodies that it fills; at nothing left the row goes.
// Small values are packed here, and a part that is there already is not packed again. Files get their names within the
// unit, on disk before the commit, and lose them some time after it when still no row names them: a reader that found
// the row a moment ago has its file, a part that is dropped and comes again in one batch is safe, and a name whose unit
// or commit failed is cleaned up in the same way. None of this needs to hear of a rollback.

import { existsSync, readFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { after, monotonic, type Timer } from '#lib/clock.ts'
import { limits } from '#lib/limits.ts'
import { bytes, integer, nullable } from '../engine/column.ts'
import { defineProcedure } from '../engine/procedure.ts'
import { type Sql, sqliteFailure } from '../engine/sqlite/handle.ts'
import { type RowOf, table } from '../engine/table.ts'
import { defineWrite, type Effects, refusedState } from '../engine/write.ts'
import { forgetText, searchForget } from '../search/docs.ts'
import { BodyFiles, fileName, hashInName } from './files.ts'
import { codecChunks, pack } from './format/codec.ts'

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
    /** 1: `data` is the chunk table of a file; in a database behind an address with the rest of an object's name (objects/parts.ts). */
    file: integer,
    /** Bytes of `data`, of the file, or of the object. */
    stored: integer,
    data: nullable(bytes),
  },
  {
    key: ['num'],
    indexes: { part_hash: { on: ['hash'], unique: true }, part_file: { on: ['num'], where: 'file = 1' } },
  },
)

/**
 * Bytes that are added to a body where it goes out line by line (RFC 1939 3): a CR before each line feed that has none, and
 * what ends its last line. Most need none and have no row.
 */
export const asLines = table('as_lines', { body: integer, added: integer }, { key: ['body'] })

/** Which parts a body is made of, in order. */
const places = table(
  'body_part',
  { body: integer, seq: integer, part: integer },
  { key: ['body', 'seq'], clustered: true },
)

export type StoredBody = Readonly<RowOf<typeof bodies>>
export type StoredPart = Readonly<RowOf<typeof parts>>

const bodyInsertion = bodies.insertion
const asLinesInsertion = asLines.insertion
const placeInsertion = places.insertion
/** The engine numbers parts. */
const partInsertion = parts.inserting(['hash', 'refs', 'size', 'codec', 'file', 'stored', 'data'])

export interface BodyRow {
  readonly num: number
  readonly size: number
  /** See `asLines`. */
  readonly added: number
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
  /** SHA-256 of that file, hexadecimal, where it goes to a store. */
  readonly packed?: string
  /** The pieces are in the store that is beside the database: under the name in `data`, or under that of a row which must be there. */
  readonly object?: 'new' | 'known'
}

function addBody(sql: Sql, row: BodyRow, effects: Effects): void {
  if (sql('UPDATE body SET refs = refs + 1 WHERE num = ?').run(row.num).changes === 1) return
  for (const [seq, part] of row.parts.entries()) {
    const num = addPart(sql, part, effects)
    sql(placeInsertion).run(row.num, seq, num)
  }
  const { codec, data } = pack(row.skeleton)
  sql(bodyInsertion).run(row.num, 1, row.size, codec, row.recipe, data)
  if (row.added > 0) sql(asLinesInsertion).run(row.num, row.added)
}

const addPlace = defineProcedure(
  'body_place',
  '_body bigint, _seq bigint, _hash bytea, _size bigint, _codec bigint, _data bytea, _file bigint, _stored bigint',
  `DECLARE _part bigint;
BEGIN
  IF EXISTS (SELECT 1 FROM body WHERE num = _body) THEN RETURN; END IF;
  UPDATE part SET refs = refs + 1 WHERE hash = _hash RETURNING num INTO _part;
  IF NOT FOUND THEN
    IF _data IS NULL THEN
      RAISE EXCEPTION USING ERRCODE = '${refusedState}', DETAIL = 'StorageUnavailable',
        MESSAGE = 'An attachment was removed a moment ago, try again';
    END IF;
    INSERT INTO part (num, hash, refs, size, codec, file, stored, data)
      VALUES ((SELECT coalesce(max(num), 0) + 1 FROM part), _hash, 1, _size, _codec, _file, _stored, _data)
      RETURNING num INTO _part;
  END IF;
  INSERT INTO body_part (body, seq, part) VALUES (_body, _seq, _part);
END`,
)

const addRow = defineProcedure(
  'body_add',
  '_num bigint, _size bigint, _added bigint, _codec bigint, _recipe bytea, _skeleton bytea',
  `BEGIN
  UPDATE body SET refs = refs + 1 WHERE num = _num;
  IF FOUND THEN RETURN; END IF;
  INSERT INTO body (num, refs, size, codec, recipe, skeleton) VALUES (_num, 1, _size, _codec, _recipe, _skeleton);
  IF _added > 0 THEN INSERT INTO as_lines (body, added) VALUES (_num, _added); END IF;
END`,
)

/** Parts come before the row, which says that all of them are there. What lies in a scratch file becomes a row, too. */
function tellBody(sql: Sql, row: BodyRow): void {
  for (const [seq, part] of row.parts.entries()) {
    const { codec, data, file, stored } = toldPart(part)
    sql(addPlace.call).run(row.num, seq, part.hash, part.size, codec, data, file, stored)
  }
  const { codec, data } = pack(row.skeleton)
  sql(addRow.call).run(row.num, row.size, row.added, codec, row.recipe, Buffer.from(data))
}

function toldPart(part: PartRow): Pick<StoredPart, 'codec' | 'data' | 'file' | 'stored'> {
  const { object, codec, stored } = part
  if (object !== undefined) {
    return { codec: codec ?? codecChunks, data: object === 'known' ? null : Buffer.from(part.data), file: 1, stored }
  }
  const packed = packedPart(part)
  return { ...packed, file: 0, stored: packed.data.length }
}

function packedPart({ codec, data, file }: PartRow): { codec: number; data: Buffer } {
  if (codec === null) {
    const packed = pack(data)
    // What was packed is good until the next is.
    return { codec: packed.codec, data: Buffer.from(packed.data) }
  }
  return { codec, data: file === null ? Buffer.from(data) : Buffer.concat([data, readFileSync(file)]) }
}

/** Stores a body, or counts one more reference to it where an earlier unit has stored it. */
export const bodyAdd = defineWrite<BodyRow>('body.add', addBody, {
  once: row => row.parts.some(part => part.file !== null),
  values: row => [row.skeleton, ...row.parts.map(part => part.data)],
  told: tellBody,
})

const retain = defineProcedure(
  'body_retain',
  '_num bigint',
  `BEGIN
  UPDATE body SET refs = refs + 1 WHERE num = _num;
  IF NOT FOUND THEN RAISE EXCEPTION 'body % is not there to be retained', _num; END IF;
END`,
)

/** One more message carries the body. */
export const bodyRetain = defineWrite<{ num: number }>(
  'body.retain',
  (sql, row) => {
    const { changes } = sql('UPDATE body SET refs = refs + 1 WHERE num = ?').run(row.num)
    if (changes !== 1) throw new Error(`body ${row.num} is not there to be retained`)
  },
  { told: (sql, row) => void sql(retain.call).run(row.num) },
)

/** `body.release` for other procedures. */
export const releaseBody = defineProcedure(
  'body_release',
  '_num bigint',
  `DECLARE _left bigint; _part bigint;
BEGIN
  UPDATE body SET refs = refs - 1 WHERE num = _num RETURNING refs INTO _left;
  IF NOT FOUND THEN RAISE EXCEPTION 'body % is not there to be released', _num; END IF;
  IF _left > 0 THEN RETURN; END IF;
  DELETE FROM body WHERE num = _num;
  DELETE FROM outline WHERE body = _num;
  DELETE FROM header WHERE body = _num;
  DELETE FROM as_lines WHERE body = _num;
  PERFORM ${forgetText}(_num);
  FOR _part IN DELETE FROM body_part WHERE body = _num RETURNING part LOOP
    UPDATE part SET refs = refs - 1 WHERE num = _part RETURNING refs INTO _left;
    IF NOT FOUND THEN RAISE EXCEPTION 'part % of body % is not there to be released', _part, _num; END IF;
    IF _left <= 0 THEN DELETE FROM part WHERE num = _part; END IF;
  END LOOP;
END`,
)

/** One message less carries the body; the last one takes its outline and its parts along. */
export const bodyRelease = defineWrite<{ num: number }>(
  'body.release',
  (sql, row, effects) => {
    const left = sql('UPDATE body SET refs = refs - 1 WHERE num = ? RETURNING refs').get(row.num) as Refs | undefined
    if (left === undefined) throw new Error(`body ${row.num} is not there to be released`)
    if (left.refs > 0) return
    sql('DELETE FROM body WHERE num = ?').run(row.num)
    sql('DELETE FROM outline WHERE body = ?').run(row.num)
    sql('DELETE FROM header WHERE body = ?').run(row.num)
    sql('DELETE FROM as_lines WHERE body = ?').run(row.num)
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
  },
  { told: (sql, row) => void sql(releaseBody.call).run(row.num) },
)

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
  // A disk that takes no file fails this unit alone: what needs none goes on. Names that are not on disk are everybody's failure.
  files.publish(scratch, name)
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
  const left: string[] = []
  for (const [name, since] of own.since) {
    if (since > due) break
    own.since.delete(name)
    try {
      const hash = hashInName(name)
      const row = find.get(hash) as { data: Buffer } | undefined
      if (row === undefined || fileName(hash, row.data) !== name) own.files.remove(name)
    } catch (error) {
      // A disk that is read-only or broken takes nothing away; that ends nobody's writes, and the next round tries again.
      if (!ofDisk(error)) throw error
      left.push(name)
    }
  }
  for (const name of left) own.since.set(name, monotonic())
  if (own.since.size === 0 || own.timer !== null) return
  own.timer = after(graceMs, () => {
    own.timer = null
    reapFiles(sql, graceMs)
  })
}

function ofDisk(error: unknown): boolean {
  return sqliteFailure(error) !== undefined || (error as NodeJS.ErrnoException).syscall !== undefined
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
