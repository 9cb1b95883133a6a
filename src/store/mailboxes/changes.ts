// Which messages of a folder changed after a change number.
//
// Two kinds make that up. A message that never changed since it came has the number it came with, and those rise with the
// uids, so they are found by uid. Only what changed later stands in an index of its own, which an arriving message
// therefore does not touch: one page less to write for each delivery.

import { by } from '../engine/dialect.ts'
import type { Reader } from '../engine/reader.ts'

/** After which change, and where within it; up to and including which. */
export interface ChangeRange {
  readonly modseq: number
  /** Uids of `modseq` itself from the next one on; none where absent. */
  readonly uid?: number
  readonly upTo?: number
  readonly count: number
}

const most = Number.MAX_SAFE_INTEGER

/**
 * Rows in order of their change number and uid, at most `count`.
 *
 * @param columns of `message`; the first two are `uid, modseq`
 */
export async function changedRows<Row extends [uid: number, modseq: number, ...unknown[]]>(
  read: Reader,
  mailbox: number,
  columns: string,
  { modseq, uid = most, upTo = most, count }: ChangeRange,
): Promise<Row[]> {
  const came = await read.arrays<Row>(
    `SELECT ${columns} FROM message WHERE mailbox = ? AND uid >= ? AND modseq = created_modseq
     AND (modseq, uid) > (?, ?) AND modseq <= ? ORDER BY uid LIMIT ?`,
    mailbox,
    await firstAfter(read, mailbox, modseq - 1),
    modseq,
    uid,
    upTo,
    count,
  )
  const changed = await read.arrays<Row>(
    `SELECT ${columns} FROM message ${by('message_changed')} WHERE mailbox = ? AND modseq > created_modseq
     AND (modseq, uid) > (?, ?) AND modseq <= ? ORDER BY modseq, uid LIMIT ?`,
    mailbox,
    modseq,
    uid,
    upTo,
    count,
  )
  if (came.length === 0) return changed
  if (changed.length === 0) return came
  return [...came, ...changed].sort((a, b) => a[1] - b[1] || a[0] - b[0]).slice(0, count)
}

/** The uids of what changed after a number, as the text of a query with two places for the folder and one for each number. */
export const changedUids = `SELECT uid FROM message WHERE mailbox = ? AND uid >= ?
  UNION ALL SELECT uid FROM message ${by('message_changed')} WHERE mailbox = ? AND modseq > ? AND modseq > created_modseq`

/** What those places take. */
export async function changedUidsOf(
  read: Reader,
  mailbox: number,
  modseq: number,
): Promise<[number, number, number, number]> {
  return [mailbox, await firstAfter(read, mailbox, modseq), mailbox, modseq]
}

/**
 * The lowest number with which a message came that came after `came` and changed after `modseq`; Infinity for none. One look at each
 * message that came after `came`, at most.
 */
export async function firstCame(read: Reader, mailbox: number, came: number, modseq: number): Promise<number> {
  const row = await read.one<{ came: number }>(
    'SELECT created_modseq AS came FROM message WHERE mailbox = ? AND uid >= ? AND modseq > ? ORDER BY uid LIMIT 1',
    mailbox,
    await firstAfter(read, mailbox, came),
    modseq,
  )
  return row?.came ?? Number.POSITIVE_INFINITY
}

/** The lowest uid of a folder from which on every message came after a change number; past the last where none did. */
async function firstAfter(read: Reader, mailbox: number, modseq: number): Promise<number> {
  type Row = { uid: number; came: number }
  const last = await read.one<Row>(
    'SELECT uid, created_modseq AS came FROM message WHERE mailbox = ? ORDER BY uid DESC LIMIT 1',
    mailbox,
  )
  if (last === undefined || last.came <= modseq) return (last?.uid ?? 0) + 1
  let low = 1
  let high = last.uid
  while (low < high) {
    const middle = Math.floor((low + high) / 2)
    const row = await read.one<Row>(
      'SELECT uid, created_modseq AS came FROM message WHERE mailbox = ? AND uid >= ? ORDER BY uid LIMIT 1',
      mailbox,
      middle,
    )
    if (row === undefined || row.came > modseq) high = middle
    else low = row.uid + 1
  }
  return low
}
