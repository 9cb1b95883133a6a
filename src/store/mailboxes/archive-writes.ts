// Writes of the archive of deleted messages: they run in the writer thread, inside a unit.
//
// A message that goes into the archive keeps its reference to its body, and hands it on when it comes back.

import { bodyRelease } from '../bodies/writes.ts'
import { defineWrite } from '../engine/write.ts'

export interface ArchiveRow {
  /** The number the message had. */
  readonly num: number
  readonly user: number
  /** Number, id and path of the folder it lay in. */
  readonly mailbox: number
  readonly mailboxId: string
  readonly path: string
  readonly uid: number
  readonly flags: number
  readonly idate: number
  readonly size: number
  readonly thread: number
  readonly body: number
  readonly saved: number
  readonly attachments: number
  readonly keywords: string | null
  readonly prefix: string
  readonly meta: string
  readonly archived: number
  readonly expires: number
}

export const archiveInsert = defineWrite<ArchiveRow>('archive.insert', (sql, row) => {
  sql(`INSERT INTO archive (num, user, mailbox, mailbox_id, path, uid, flags, idate, size, thread, body, saved,
    attachments, keywords, prefix, meta, archived, expires) VALUES (@num, @user, @mailbox, @mailboxId, @path, @uid,
    @flags, @idate, @size, @thread, @body, @saved, @attachments, @keywords, @prefix, @meta, @archived, @expires)`).run(
    row,
  )
  sql(`INSERT INTO archive_tally (user, total) VALUES (?, 1) ON CONFLICT DO UPDATE SET total = total + 1`).run(row.user)
})

/** Takes a message out of the archive; whoever does so has its body now. Fails where it is not there any more. */
export const archiveTake = defineWrite<{ num: number }>('archive.take', (sql, { num }) => {
  const row = sql('DELETE FROM archive WHERE num = ? RETURNING user').get(num) as { user: number } | undefined
  if (row === undefined) throw new Error(`message ${num} is not in the archive`)
  sql('UPDATE archive_tally SET total = total - 1 WHERE user = ?').run(row.user)
})

/** Ends archived messages for good, with their bodies; those that are gone already are passed over. */
export const archiveDrop = defineWrite<{ nums: readonly number[] }>('archive.drop', (sql, { nums }, effects) => {
  for (const num of nums) {
    const row = sql('DELETE FROM archive WHERE num = ? RETURNING user, body').get(num) as
      | { user: number; body: number }
      | undefined
    if (row === undefined) continue
    sql('UPDATE archive_tally SET total = total - 1 WHERE user = ?').run(row.user)
    bodyRelease.run(sql, { num: row.body }, effects)
  }
})

/** The account is gone. Its archived messages must be dropped before. */
export const archiveForget = defineWrite<{ user: number }>('archive.forget', (sql, { user }) => {
  sql('DELETE FROM archive_tally WHERE user = ?').run(user)
})
