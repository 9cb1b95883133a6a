// Writes of the files that accounts store for composing: they run in the writer thread, inside a unit. The content is a
// body, added by `body.add` in the same unit; a file that goes gives it back.

import { bodyRelease } from './body-writes.ts'
import { defineWrite } from './write.ts'

export interface FileRow {
  readonly id: string
  /** Number of the account. */
  readonly user: number
  readonly filename: string
  /** Media type. */
  readonly type: string
  /** Content-ID without brackets. */
  readonly cid: string | null
  readonly size: number
  readonly body: number
  readonly created: number
}

export const fileInsert = defineWrite<FileRow>('file.insert', (sql, row) => {
  sql(`INSERT INTO file (id, user, filename, type, cid, size, body, created)
    VALUES (@id, @user, @filename, @type, @cid, @size, @body, @created)`).run(row)
})

/** Takes files away with their content; those that are gone already are passed over. */
export const fileDelete = defineWrite<{ ids: readonly string[] }>('file.delete', (sql, { ids }, effects) => {
  for (const id of ids) {
    const row = sql('DELETE FROM file WHERE id = ? RETURNING body').get(id) as { body: number } | undefined
    if (row !== undefined) bodyRelease.run(sql, { num: row.body }, effects)
  }
})
