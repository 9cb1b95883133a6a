// Folders read in bulk: narrow columns as arrays, a slice at a time, for listings of thousands of messages.
//
// Everything here is short: a slice is some hundred rows, and whoever wants more lets the loop go in between. Nothing parses mail; envelopes and structures are the text that was stored when the message arrived.

import { crc32 } from 'node:zlib'
import { numberId } from '#lib/id.ts'
import { asLines } from '../bodies/writes.ts'
import { among, mayFoldToAscii } from '../engine/dialect.ts'
import type { Reader } from '../engine/reader.ts'
import type { PickedRow } from '../engine/table.ts'
import { changedRows, changedUids, changedUidsOf } from './changes.ts'
import { messages } from './messages.ts'
import { headers, outlines } from './outlines.ts'

export interface FolderCounters {
  readonly uidNext: number
  readonly modseq: number
  readonly total: number
  readonly unseen: number
  readonly size: number
  /** Change number up to which it is not known any more what went. */
  readonly forgotten: number
}

/** Counters of a folder, or undefined when it is gone. */
export async function folderCounters(read: Reader, mailbox: number): Promise<FolderCounters | undefined> {
  const text = 'SELECT uid_next AS uidNext, modseq, total, unseen, size, forgotten FROM tally WHERE mailbox = ?'
  return await read.one<FolderCounters & Record<string, unknown>>(text, mailbox)
}

const changed = messages.pick(['uid', 'modseq', 'flags', 'keywords'])

/** uid, modseq, flags, keywords of what changed after (`modseq`, `uid`) and up to `modseqMax`, in that order. */
export async function changesAfter(
  read: Reader,
  mailbox: number,
  modseq: number,
  uid: number,
  modseqMax: number,
  count: number,
): Promise<PickedRow<typeof changed>[]> {
  return await changedRows(read, mailbox, changed.list, { modseq, uid, upTo: modseqMax, count })
}

/** Uids from `from` on, rising. */
export async function arrivals(read: Reader, mailbox: number, from: number): Promise<number[]> {
  return (
    await read.arrays<[number]>('SELECT uid FROM message WHERE mailbox = ? AND uid >= ? ORDER BY uid', mailbox, from)
  ).map(row => row[0])
}

/** Uids that went after `modseq`, rising; of what was forgotten nothing (`isForgotten`). */
export async function goneAfter(read: Reader, mailbox: number, modseq: number): Promise<number[]> {
  return (
    await read.arrays<[number]>(
      'SELECT uid FROM expunged WHERE mailbox = ? AND modseq > ? ORDER BY uid',
      mailbox,
      modseq,
    )
  ).map(row => row[0])
}

/** Whether one of the uids that went after `modseq` is such a one; stops at the first. */
export async function wentAfter(
  read: Reader,
  mailbox: number,
  modseq: number,
  isIt: (uid: number) => boolean,
): Promise<boolean> {
  let found = false
  const look = ([uid]: [number]) => {
    found = isIt(uid)
    return found
  }
  await read.eachArray(look, 'SELECT uid FROM expunged WHERE mailbox = ? AND modseq > ?', mailbox, modseq)
  return found
}

/** The uid of the first message without `\Seen`. */
export async function firstUnseen(read: Reader, mailbox: number): Promise<number | undefined> {
  return (
    await read.one<{ uid: number }>(
      'SELECT uid FROM message WHERE mailbox = ? AND flags & 1 = 0 ORDER BY uid LIMIT 1',
      mailbox,
    )
  )?.uid
}

/** The uid from which no session was told of messages (RFC 3501 2.3.2). */
export async function toldBefore(read: Reader, mailbox: number): Promise<number> {
  return (await read.one<{ told: number }>('SELECT told FROM tally WHERE mailbox = ?', mailbox))?.told ?? 1
}

/** How many messages have a uid from `from` on and below `to`. */
export async function countBetween(read: Reader, mailbox: number, from: number, to: number): Promise<number> {
  if (from >= to) return 0
  const counters = await folderCounters(read, mailbox)
  if (counters === undefined) return 0
  // All of them, or no uid ever went: no need to look.
  if (from <= 1 && to >= counters.uidNext) return counters.total
  if (counters.total === counters.uidNext - 1) return Math.min(to, counters.uidNext) - from
  const text = 'SELECT count(*) AS count FROM message WHERE mailbox = ? AND uid >= ? AND uid < ?'
  return (await read.one<{ count: number }>(text, mailbox, from, to))?.count ?? 0
}

const flagColumns = messages.pick(['uid', 'num', 'modseq', 'flags', 'keywords', 'thread'])

/** What a change of flags needs to know, in uid order. */
export async function flagRows(
  read: Reader,
  mailbox: number,
  from: number,
  to: number,
): Promise<PickedRow<typeof flagColumns>[]> {
  // A range is planned anew by its values, which takes as long as finding one message.
  if (from === to) return await flagColumns.all(read, 'FROM message WHERE mailbox = ? AND uid = ?', mailbox, from)
  return await flagColumns.all(
    read,
    'FROM message WHERE mailbox = ? AND uid BETWEEN ? AND ? ORDER BY uid',
    mailbox,
    from,
    to,
  )
}

/** uid, modseq, flags, keywords of messages from `from` on, rising, at most `count`. */
export async function flagsFrom(
  read: Reader,
  mailbox: number,
  from: number,
  count: number,
): Promise<PickedRow<typeof changed>[]> {
  return await changed.all(
    read,
    'FROM message WHERE mailbox = ? AND uid >= ? ORDER BY uid LIMIT ?',
    mailbox,
    from,
    count,
  )
}

/** Uids of messages that are marked `\Deleted`, rising. */
export async function deletedUids(read: Reader, mailbox: number, from: number, to: number): Promise<number[]> {
  return (
    await read.arrays<[number]>(
      'SELECT uid FROM message WHERE mailbox = ? AND uid BETWEEN ? AND ? AND flags & 8 <> 0 ORDER BY uid',
      mailbox,
      from,
      to,
    )
  ).map(row => row[0])
}

/** Bytes of the messages from one uid to another. */
export async function sizeBetween(read: Reader, mailbox: number, from: number, to: number): Promise<number> {
  const sum = 'SELECT coalesce(sum(size), 0) AS size FROM message'
  const row = await read.one<{ size: number }>(`${sum} WHERE mailbox = ? AND uid BETWEEN ? AND ?`, mailbox, from, to)
  return row?.size ?? 0
}

/** How many messages are marked `\Deleted`, and their bytes. */
export async function deletedIn(read: Reader, mailbox: number): Promise<{ count: number; size: number }> {
  const sum = 'SELECT count(*) AS count, coalesce(sum(size), 0) AS size FROM message'
  return (await read.one(`${sum} WHERE mailbox = ? AND flags & 8 <> 0`, mailbox)) ?? { count: 0, size: 0 }
}

/** An id of the bytes of a message: body and the lines on top. Copies share it; it survives moves and restarts. */
export function contentId(body: number, prefix: string): string {
  return prefix === '' ? numberId(body) : `${numberId(body)}-${crc32(prefix).toString(16).padStart(8, '0')}`
}

const narrow = messages.pick(['uid', 'modseq', 'flags', 'keywords'], 'm')
const facts = messages.pick(['num', 'idate', 'size', 'thread', 'saved', 'body', 'prefix'], 'm')
const texts = outlines.pick(['envelope', 'bodystructure', 'summary', 'detail'], 'o')
const ready = headers.pick(['lines'], 'h')
/** What a query asks of a row. */
export const factColumns = narrow.with(facts)
const listedColumns = factColumns.with(texts).with(ready)

/** A row that begins with those, whatever follows. */
export type FactRow = readonly [...PickedRow<typeof factColumns>, ...unknown[]]

/** A row of a listing; what was not asked for is absent or null. */
export type ListedRow = PickedRow<typeof listedColumns>

/** Where its columns are: `row[column.uid]`. */
export const column = listedColumns.at

/** What a listing asks for besides uid, modseq, flags and keywords. Few combinations, so that statements are few. */
export interface Listed {
  /** The other columns of the message. */
  readonly facts: boolean
  readonly envelope: boolean
  readonly bodystructure: boolean
  /** JSON, see outlines.ts. */
  readonly summary: boolean
  readonly detail: boolean
  /** Header lines that lists are made of; null where they are not known. */
  readonly header?: boolean
}

/** Which rows of a folder: a range of uids, or some of them. */
export type UidSlice = { readonly from: number; readonly to: number } | { readonly uids: readonly number[] }

/**
 * Rows of a folder in uid order.
 *
 * @param after only what changed after this change number; 0 for all
 * @param words text that must stand in the summary (which must be listed), plain lower-case ASCII, whatever case or form it has there
 */
export async function listRows(
  read: Reader,
  mailbox: number,
  listed: Listed,
  slice: UidSlice,
  after = 0,
  words: readonly string[] = [],
): Promise<ListedRow[]> {
  const { text, values } = await listing(read, mailbox, listed, slice, after, words)
  return await read.arrays(text, ...values)
}

/**
 * The first of these rows, and what is left of the slice: no more rows than hold about so many characters of stored text.
 * One message may have megabytes of it.
 */
export async function listSome(
  read: Reader,
  mailbox: number,
  listed: Listed,
  slice: UidSlice,
  after: number,
  words: readonly string[],
  lengthMax: number,
): Promise<{ rows: ListedRow[]; rest: UidSlice | undefined }> {
  const { text, values } = await listing(read, mailbox, listed, slice, after, words)
  // Header lines are short (limits.mime.listedLinesMax), and rows one by one cost twice as much.
  const single = 'from' in slice ? slice.from === slice.to : slice.uids.length === 1
  if (single || !isLong(listed)) return { rows: await read.arrays(text, ...values), rest: undefined }
  const rows: ListedRow[] = []
  let length = 0
  const take = (row: ListedRow) => {
    rows.push(row)
    for (const key of texts.keys) length += ((row[column[key]] as string | null) ?? '').length
    return length >= lengthMax
  }
  await read.eachArray(take, text, ...values)
  const last = rows.at(-1)
  return { rows, rest: length >= lengthMax && last !== undefined ? behind(slice, last[column.uid]) : undefined }
}

function behind(slice: UidSlice, uid: number): UidSlice | undefined {
  if ('from' in slice) return uid < slice.to ? { from: uid + 1, to: slice.to } : undefined
  const uids = slice.uids.filter(one => one > uid)
  return uids.length === 0 ? undefined : { uids }
}

/** Whether a row may hold megabytes. */
function isLong({ envelope, bodystructure, summary, detail }: Listed): boolean {
  return envelope || bodystructure || summary || detail
}

async function listing(
  read: Reader,
  mailbox: number,
  listed: Listed,
  slice: UidSlice,
  after: number,
  words: readonly string[],
): Promise<{ text: string; values: unknown[] }> {
  const changed = after > 0 ? ` AND m.uid IN (${changedUids})` : ''
  const values: unknown[] = after > 0 ? await changedUidsOf(read, mailbox, after) : []
  // At most two words, so that statements stay few; the others are judged by the caller.
  const patterns = words.slice(0, 2).map(word => `%${word}%`)
  const filter = changed + ` AND (o.summary LIKE ? OR ${mayFoldToAscii('o.summary')})`.repeat(patterns.length)
  values.push(...patterns)
  const select = `SELECT ${columnsOf(listed)} WHERE m.mailbox = ?`
  if ('from' in slice) {
    const text = `${select} AND m.uid BETWEEN ? AND ?${filter} ORDER BY m.uid`
    return { text, values: [mailbox, slice.from, slice.to, ...values] }
  }
  const text = `${select} AND m.uid IN ${among()}${filter} ORDER BY m.uid`
  return { text, values: [mailbox, JSON.stringify(slice.uids), ...values] }
}

function columnsOf(listed: Listed): string {
  const [long, { header = false }] = [isLong(listed), listed]
  if (!listed.facts && !long && !header) return `${narrow.list} FROM message m`
  const wide = `${narrow.list}, ${facts.list}`
  if (!long && !header) return `${wide} FROM message m`
  const columns = texts.keys.map(key => (listed[key] ? outlines.listOf('o', [key]) : 'NULL'))
  columns.push(header ? ready.list : 'NULL')
  const outline = long ? ' JOIN outline o ON o.body = m.body' : ''
  return `${wide}, ${columns.join(', ')} FROM message m${outline}${header ? ' LEFT JOIN header h ON h.body = m.body' : ''}`
}

const newest = messages.pick(['uid', 'size', 'body', 'prefix'], 'm').with(asLines.pick(['added'], 'a'))

/** The newest messages of a folder, oldest first: uid, size, body, prefix, and what is added to them as lines (`asLines`), null for nothing. */
export async function newestRows(read: Reader, mailbox: number, count: number): Promise<PickedRow<typeof newest>[]> {
  const from = 'FROM message m LEFT JOIN as_lines a ON a.body = m.body WHERE m.mailbox = ? ORDER BY m.uid DESC LIMIT ?'
  return (await newest.all(read, from, mailbox, count)).reverse()
}
