// Large sets of messages in pieces, so that one command holds up nobody for long.
//
// Pieces are read when they are asked for, by index, and bounded by the caller. What changes between two pieces is
// seen; what must not be missed has to be asked for again.

import { joinRanges, type Ranges } from '#mail/numbers.ts'
import { among } from '../engine/dialect.ts'
import type { Reader } from '../engine/reader.ts'

/**
 * The messages of a folder whose uids lie in `ranges`, at most `size` at a time, as ranges of uids. Each piece is read when
 * it is asked for; what arrives behind the last piece in a range without end is not waited for.
 */
export async function* uidBatches(read: Reader, mailbox: number, ranges: Ranges, size: number): AsyncGenerator<Ranges> {
  let batch: [number, number][] = []
  let count = 0
  for (const [from, to] of ranges) {
    for (let next = from; next <= to; ) {
      const room = size - count
      const uids = await read.arrays<[number]>(
        'SELECT uid FROM message WHERE mailbox = ? AND uid BETWEEN ? AND ? ORDER BY uid LIMIT ?',
        mailbox,
        next,
        to,
        room,
      )
      const last = uids.at(-1)?.[0]
      if (last === undefined) break
      batch.push([next, last])
      count += uids.length
      next = last + 1
      if (count === size) {
        yield joinRanges(batch)
        batch = []
        count = 0
      } else break
    }
  }
  if (count > 0) yield joinRanges(batch)
}

/** Where messages of an account lie, by their numbers: folder id and uid; those that are gone are left out. */
export async function placesOf(
  read: Reader,
  user: number,
  nums: readonly number[],
): Promise<{ num: number; mailbox: string; uid: number }[]> {
  return await read.all(
    `SELECT m.num, b.id AS mailbox, m.uid FROM message m JOIN mailbox b ON b.num = m.mailbox
     WHERE m.num IN ${among()} AND m."user" = ? ORDER BY m.mailbox, m.uid`,
    JSON.stringify(nums),
    user,
  )
}

/** Messages whose time is over at `at`, by account and folder. */
export async function expiredMessages(
  read: Reader,
  at: number,
  count: number,
): Promise<{ user: string; mailbox: string; uid: number }[]> {
  return await read.all(
    `SELECT u.id AS user, b.id AS mailbox, m.uid FROM message m JOIN mailbox b ON b.num = m.mailbox
     JOIN "user" u ON u.num = m."user" WHERE m.expires IS NOT NULL AND m.expires <= ?
     AND u.deleted IS NULL ORDER BY m.expires LIMIT ?`,
    at,
    count,
  )
}
