// Folders as lists of conversations: one message of each thread, the first of the list, with how many there are.
//
// Total and rows are of one picture of the database. What a folder holds is remembered by the thread for long reads, 24 bytes a
// message, and brought up to date by what came and went since: only the first look goes through a folder, and never on the main
// loop.

import { limits } from '#lib/limits.ts'
import { flag } from '#mail/flags.ts'
import { among } from '../engine/dialect.ts'
import type { Reader } from '../engine/reader.ts'
import { folderCounters } from '../mailboxes/listing.ts'
import {
  type MessageBoundary,
  type MessagePage,
  messagesOf,
  type Outlined,
  type SomeRows,
} from '../mailboxes/messages.ts'

export interface ConversationTask extends MessagePage {
  /** Rows after (`forward`) or before the row at this place; null: from the row of the number `skip`. */
  readonly boundary: MessageBoundary | null
  readonly skip: number
  readonly direction: 'forward' | 'back'
  readonly count: number
  /** Number of the account, where each row comes with its conversation. */
  readonly counted: number | null
}

/** The letters of a thread, without those in Junk and Trash unless that is the folder that is listed. */
export interface Conversation {
  readonly thread: number
  total: number
  unseen: number
  flagged: number
  /** Those in the folder that is listed, the newest first, some of them where they are many. */
  uids: number[]
  /** How many these are. */
  here: number
}

export interface ConversationPage extends SomeRows<Outlined> {
  /** Conversations in the folder. */
  readonly total: number
  /** Of the rows, where asked for. */
  readonly conversations: readonly Conversation[]
}

/** Messages of a folder by internal date, rising. */
interface Held {
  readonly idates: Float64Array
  readonly uids: Uint32Array
  readonly threads: Float64Array
  /** Places of those that stand for their threads, in the order of the list; by whether it falls. */
  readonly heads: Map<boolean, Uint32Array>
}

interface Known {
  readonly held: Held
  readonly modseq: number
  readonly uidNext: number
}

export class Conversations {
  readonly #known = new Map<number, Known>()

  page(read: Reader, task: ConversationTask): ConversationPage {
    return read.snapshot(() => {
      const held = task.unseen ? sorted(rowsOf(read, task.mailbox, 0, true)) : this.#folder(read, task.mailbox)
      const heads = headsOf(held, task.falling)
      const uids = some(held, heads, task)
      const page = messagesOf(read, task.mailbox, uids)
      const threads = page.rows.map(row => row.thread)
      const conversations = task.counted === null ? [] : conversationsOf(read, task.counted, task.mailbox, threads)
      return { total: heads.length, ...page, conversations }
    })
  }

  #folder(read: Reader, mailbox: number): Held {
    const { modseq = 0, uidNext = 1, total = 0 } = folderCounters(read, mailbox) ?? {}
    const known = this.#known.get(mailbox)
    let held = known?.held
    if (known !== undefined && known.modseq !== modseq) held = follow(read, mailbox, known)
    // What went may have been forgotten since: then the sum is wrong.
    if (held === undefined || held.uids.length !== total) held = sorted(rowsOf(read, mailbox, 0, false))
    this.#known.delete(mailbox)
    this.#known.set(mailbox, { held, modseq, uidNext })
    let sum = 0
    for (const [oldest, one] of [...this.#known].toReversed()) {
      sum += one.held.uids.length
      if (sum > limits.search.conversationRowsMax && oldest !== mailbox) this.#known.delete(oldest)
    }
    return held
  }
}

function conversationsOf(read: Reader, user: number, mailbox: number, threads: readonly number[]): Conversation[] {
  const found = new Map<number, Conversation>()
  const text = `SELECT m.thread, m.mailbox, m.uid, m.flags FROM message m JOIN mailbox f ON f.num = m.mailbox
    WHERE m.thread IN ${among()} AND m."user" = ?
    AND (m.mailbox = ? OR f.special_use IS NULL OR f.special_use NOT IN ('\\Junk', '\\Trash'))`
  const asked = JSON.stringify([...new Set(threads)])
  for (const row of read.iterateArrays<[number, number, number, number]>(text, asked, user, mailbox)) {
    const [thread, folder, uid, flags] = row
    const one = found.get(thread) ?? { thread, total: 0, unseen: 0, flagged: 0, uids: [], here: 0 }
    found.set(thread, one)
    one.total += 1
    if ((flags & flag.seen) === 0) one.unseen += 1
    if ((flags & flag.flagged) !== 0) one.flagged += 1
    if (folder === mailbox) one.uids.push(uid)
  }
  for (const one of found.values()) {
    one.here = one.uids.length
    one.uids = one.uids.sort((a, b) => b - a).slice(0, limits.search.conversationUidsMax)
  }
  return [...found.values()]
}

type Row = [idate: number, uid: number, thread: number]

function* rowsOf(read: Reader, mailbox: number, from: number, unseen: boolean): Generator<Row> {
  const only = unseen ? 'AND flags & 1 = 0' : ''
  const text = `SELECT idate, uid, thread FROM message WHERE mailbox = ? AND uid >= ? ${only}`
  yield* read.iterateArrays<Row>(text, mailbox, from)
}

function sorted(rows: Iterable<Row>): Held {
  const all = [...rows]
  let isSorted = true
  for (let at = 1; at < all.length && isSorted; at++) isSorted = compare(all[at - 1] as Row, all[at] as Row) < 0
  if (!isSorted) all.sort(compare)
  return {
    idates: Float64Array.from(all, row => row[0]),
    uids: Uint32Array.from(all, row => row[1]),
    threads: Float64Array.from(all, row => row[2]),
    heads: new Map(),
  }
}

function compare(one: readonly number[], other: readonly number[]): number {
  return (one[0] as number) - (other[0] as number) || (one[1] as number) - (other[1] as number)
}

/** What is held after what came and went; the same where nothing did. */
function follow(read: Reader, mailbox: number, { held, modseq, uidNext }: Known): Held {
  const text = 'SELECT uid FROM expunged WHERE mailbox = ? AND modseq > ?'
  const gone = new Set(read.arrays<[number]>(text, mailbox, modseq).map(row => row[0]))
  const fresh = [...rowsOf(read, mailbox, uidNext, false)]
  if (gone.size === 0 && fresh.length === 0) return held
  const { idates, uids, threads } = held
  const kept = function* (): Generator<Row> {
    for (let at = 0; at < uids.length; at++) {
      const uid = uids[at] as number
      if (!gone.has(uid)) yield [idates[at] as number, uid, threads[at] as number]
    }
    yield* fresh
  }
  return sorted(kept())
}

function headsOf(held: Held, falling: boolean): Uint32Array {
  const known = held.heads.get(falling)
  if (known !== undefined) return known
  const { threads } = held
  const seen = new Set<number>()
  const heads = new Uint32Array(threads.length)
  for (let step = 0; step < threads.length; step++) {
    const at = falling ? threads.length - 1 - step : step
    if (seen.size < seen.add(threads[at] as number).size) heads[seen.size - 1] = at
  }
  const found = heads.slice(0, seen.size)
  held.heads.set(falling, found)
  return found
}

/** Uids of the rows of a page, for `back` the nearest first. */
function some(held: Held, heads: Uint32Array, task: ConversationTask): number[] {
  const { boundary, direction, falling, count, skip } = task
  const sign = falling ? -1 : 1
  const { idates, uids } = held
  let from = direction === 'forward' ? Math.min(skip, heads.length) : heads.length
  if (boundary !== null) {
    // The first place after the boundary going forward, the first not before it going back.
    from = 0
    for (let high = heads.length; from < high; ) {
      const middle = (from + high) >>> 1
      const at = heads[middle] as number
      const order = sign * compare([idates[at] as number, uids[at] as number], [boundary.idate, boundary.uid])
      if (direction === 'forward' ? order <= 0 : order < 0) from = middle + 1
      else high = middle
    }
  }
  const places =
    direction === 'forward'
      ? heads.subarray(from, from + count)
      : heads.slice(Math.max(0, from - count), from).reverse()
  return Array.from(places, at => uids[at] as number)
}
