// Messages of a folder in slices, for what goes through all of them.

import type { Reader } from '../engine/reader.ts'

/** Uids of a folder from `from` on, at most `count`: the last of them, and how many there are. */
export async function uidSlice(
  read: Reader,
  mailbox: number,
  from: number,
  count: number,
): Promise<{ to: number; n: number }> {
  const row = read.one<{ last: number | null; n: number }>(
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
  return read.one<{ size: number | null }>(text, mailbox, from, to)?.size ?? 0
}
