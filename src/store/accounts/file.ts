// Files that accounts store for composing: the table, its reads and writes.
//
// Every read names the account, so a file of another one is not there. Content is opened through its body (bodies/bodies.ts); the
// rules at the end prove that both agree.

import { bodyRelease, releaseBody } from '../bodies/writes.ts'
import { integer, moment, nullable, text } from '../engine/column.ts'
import { includes, sumOf } from '../engine/dialect.ts'
import { defineProcedure } from '../engine/procedure.ts'
import type { Reader } from '../engine/reader.ts'
import { type RowOf, table } from '../engine/table.ts'
import { defineWrite } from '../engine/write.ts'
import { checkParts } from '../upkeep/check.ts'

const files = table(
  'file',
  {
    id: text,
    /** Number of the account. */
    user: integer,
    filename: text,
    /** Media type. */
    type: text,
    /** Content-ID without brackets. */
    cid: nullable(text),
    size: integer,
    body: integer,
    created: moment,
  },
  { key: ['id'], clustered: true, indexes: { file_user: { on: ['user', 'filename', 'id'] } } },
)

export type FileRow = RowOf<typeof files>

/** The content is a body, added in the same unit. */
export const fileInsert = files.defineInsert()

const deleteOne = defineProcedure(
  'file_delete',
  '_id text',
  `DECLARE _body bigint;
BEGIN
  DELETE FROM file WHERE id = _id RETURNING body INTO _body;
  IF FOUND THEN PERFORM ${releaseBody}(_body); END IF;
END`,
)

/** Takes files away with their content; those that are gone already are passed over. */
export const fileDelete = defineWrite<{ ids: readonly string[] }>(
  'file.delete',
  (sql, { ids }, effects) => {
    for (const id of ids) {
      const row = sql('DELETE FROM file WHERE id = ? RETURNING body').get(id) as { body: number } | undefined
      if (row !== undefined) bodyRelease.run(sql, { num: row.body }, effects)
    }
  },
  {
    told: (sql, { ids }) => {
      for (const id of ids) sql(deleteOne.call).run(id)
    },
  },
)

/** One file of an account. */
export async function findFile(read: Reader, user: number, id: string): Promise<FileRow | undefined> {
  return await files.one(read, 'WHERE id = ? AND "user" = ?', id, user)
}

export interface FilePage {
  readonly user: number
  /** Part of the name, case counts; empty for all. */
  readonly query: string
}

/** Files of an account by name, then id. */
export async function listFiles(
  read: Reader,
  { user, query }: FilePage,
  boundary: readonly [filename: string, id: string] | null,
  direction: 'forward' | 'back',
  count: number,
): Promise<FileRow[]> {
  const [sign, order] = direction === 'forward' ? ['>', 'ASC'] : ['<', 'DESC']
  const edge = boundary === null ? '' : `AND (filename, id) ${sign} (?, ?)`
  return await files.all(
    read,
    `WHERE "user" = ? AND ${includes('filename')} ${edge}
     ORDER BY filename ${order}, id ${order} LIMIT ?`,
    user,
    query,
    ...(boundary ?? []),
    count,
  )
}

/** How many files of an account match, and in all. */
export async function countFiles(read: Reader, { user, query }: FilePage): Promise<{ found: number; total: number }> {
  const row = await read.one<{ found: number; total: number }>(
    `SELECT coalesce(${sumOf(includes('filename'))}, 0) AS found, count(*) AS total FROM file WHERE "user" = ?`,
    query,
    user,
  )
  return row ?? { found: 0, total: 0 }
}

/** Ids and sizes of an account's files, the oldest first, at most `count`. */
export async function oldestFiles(read: Reader, user: number, count: number): Promise<{ id: string; size: number }[]> {
  return await read.all('SELECT id, size FROM file WHERE "user" = ? ORDER BY id LIMIT ?', user, count)
}

/** Bytes of an account's files. */
export async function fileBytes(read: Reader, user: number): Promise<number> {
  return (
    (await read.one<{ size: number | null }>('SELECT sum(size) AS size FROM file WHERE "user" = ?', user))?.size ?? 0
  )
}

checkParts.push({
  usage: 'SELECT "user", size FROM file',
  bodies: 'SELECT body FROM file',
  rules: [
    {
      says: 'every stored file has its account and its content, of the size it says',
      query: `SELECT f.id FROM file f LEFT JOIN body b ON b.num = f.body LEFT JOIN "user" u ON u.num = f."user"
        WHERE b.size IS DISTINCT FROM f.size OR u.num IS NULL`,
    },
  ],
})
