// Retention, when messages of a folder are to go: its write, and the messages of a folder in slices, for what goes through
// all of them.

import { whole } from '../engine/dialect.ts'
import type { Reader } from '../engine/reader.ts'
import { defineWrite } from '../engine/write.ts'

/** Uids of a folder from `from` on, at most `count`: the last of them, and how many there are. */
export async function uidSlice(
  read: Reader,
  mailbox: number,
  from: number,
  count: number,
): Promise<{ to: number; n: number }> {
  const row = await read.one<{ last: number | null; n: number }>(
    `SELECT max(uid) AS last, count(*) AS n FROM
     (SELECT uid FROM message WHERE mailbox = ? AND uid >= ? ORDER BY uid LIMIT ?)`,
    mailbox,
    from,
    count,
  )
  return { to: row?.last ?? from, n: row?.n ?? 0 }
}

/** Bytes of the messages of a folder in a slice of uids. */
export async function sliceBytes(read: Reader, mailbox: number, from: number, to: number): Promise<number> {
  const text = 'SELECT sum(size) AS size FROM message WHERE mailbox = ? AND uid BETWEEN ? AND ?'
  return (await read.one<{ size: number | null }>(text, mailbox, from, to))?.size ?? 0
}

/** Dates messages with uids in [from, to] anew, by the time each came into the folder; 0 milliseconds: never. */
export const messageRestamp = defineWrite<{ mailbox: number; from: number; to: number; retention: number }>(
  'message.restamp',
  (sql, row) => {
    sql(`UPDATE message SET expires = CASE WHEN @retention > 0 THEN ${whole('saved + @retention')} END
      WHERE mailbox = @mailbox AND uid BETWEEN @from AND @to`).run(row)
  },
)
