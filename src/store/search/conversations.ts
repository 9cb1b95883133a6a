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
import { type MessageBoundary, type MessagePage, messagesOf, type Outlined } from '../mailboxes/messages.ts'
import type { SomeRows } from './pages.ts'

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

  page(reader: Reader, task: ConversationTask): Promise<ConversationPage> {
    return reader.snapshot(async read => {
      const held = task.unseen ? await gathered(read, task.mailbox, true, 0) : await this.#folder(read, task.mailbox)
      const heads = headsOf(held, task.falling)
      const uids = some(held, heads, task)
      const page = await messagesOf(read, task.mailbox, uids)
      const threads = page.rows.map(row => row.thread)
      const conversations =
        task.counted === null ? [] : await conversationsOf(read, task.counted, task.mailbox, threads)
      return { total: heads.length, ...page, conversations }
    })
  }

  async #folder(read: Reader, mailbox: number): Promise<Held> {
    const { modseq = 0, uidNext = 1, total = 0 } = (await folderCounters(read, mailbox)) ?? {}
    const known = this.#known.get(mailbox)
    let held = known?.held
    if (known !== undefined && known.modseq !== modseq) held = await follow(read, mailbox, known)
    // What went may have been forgotten since: then the sum is wrong.
    if (held === undefined || held.uids.length !== total) held = await gathered(read, mailbox, false, total)
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

async function conversationsOf(
  read: Reader,
  user: number,
  mailbox: number,
  threads: readonly number[],
): Promise<Conversation[]> {
  const found = new Map<number, Conversation>()
  const text = `SELECT m.thread, m.mailbox, m.uid, m.flags FROM message m JOIN mailbox f ON f.num = m.mailbox
    WHERE m.thread IN ${among()} AND m."user" = ?
    AND (m.mailbox = ? OR f.special_use IS NULL OR f.special_use NOT IN ('\\Junk', '\\Trash'))`
  const asked = JSON.stringify([...new Set(threads)])
  const add = ([thread, folder, uid, flags]: [number, number, number, number]) => {
    const one = found.get(thread) ?? { thread, total: 0, unseen: 0, flagged: 0, uids: [], here: 0 }
    found.set(thread, one)
    one.total += 1
    if ((flags & flag.seen) === 0) one.unseen += 1
    if ((flags & flag.flagged) !== 0) one.flagged += 1
    if (folder === mailbox) one.uids.push(uid)
  }
  await read.eachArray(add, text, asked, user, mailbox)
  for (const one of found.values()) {
    one.here = one.uids.length
    one.uids = one.uids.sort((a, b) => b - a).slice(0, limits.search.conversationUidsMax)
  }
  return [...found.values()]
}

type Row = [idate: number, uid: number, thread: number]

/** Hands each message from a uid on to `visit`. */
function eachRow(
  read: Reader,
  mailbox: number,
  { from, unseen }: { from: number; unseen: boolean },
  visit: (row: Row) => void,
): Promise<void> {
  const only = unseen ? 'AND flags & 1 = 0' : ''
  const text = `SELECT idate, uid, thread FROM message WHERE mailbox = ? AND uid >= ? ${only}`
  return read.eachArray<Row>(visit, text, mailbox, from)
}

/** Messages as they are met, in columns that grow: as rows of their own 300,000 would take three times as long and 30 MB. */
class Gathered {
  #idates: Float64Array
  #uids: Uint32Array
  #threads: Float64Array
  #length = 0
  #isSorted = true

  constructor(room: number) {
    this.#idates = new Float64Array(room)
    this.#uids = new Uint32Array(room)
    this.#threads = new Float64Array(room)
  }

  add(idate: number, uid: number, thread: number): void {
    const at = this.#length
    if (at === this.#uids.length) this.#grow()
    this.#idates[at] = idate
    this.#uids[at] = uid
    this.#threads[at] = thread
    this.#length = at + 1
    if (at === 0 || !this.#isSorted) return
    const before = this.#idates[at - 1] as number
    this.#isSorted = before < idate || (before === idate && (this.#uids[at - 1] as number) < uid)
  }

  held(): Held {
    const length = this.#length
    const idates = this.#idates.slice(0, length)
    const uids = this.#uids.slice(0, length)
    const threads = this.#threads.slice(0, length)
    if (this.#isSorted) return { idates, uids, threads, heads: new Map() }
    const places = Uint32Array.from(idates, (_, at) => at)
    places.sort((a, b) => (idates[a] as number) - (idates[b] as number) || (uids[a] as number) - (uids[b] as number))
    return {
      idates: Float64Array.from(places, at => idates[at] as number),
      uids: Uint32Array.from(places, at => uids[at] as number),
      threads: Float64Array.from(places, at => threads[at] as number),
      heads: new Map(),
    }
  }

  #grow(): void {
    const room = Math.max(roomMin, 2 * this.#uids.length)
    const [idates, uids, threads] = [this.#idates, this.#uids, this.#threads]
    this.#idates = new Float64Array(room)
    this.#uids = new Uint32Array(room)
    this.#threads = new Float64Array(room)
    this.#idates.set(idates)
    this.#uids.set(uids)
    this.#threads.set(threads)
  }
}

const roomMin = 256

async function gathered(read: Reader, mailbox: number, unseen: boolean, room: number): Promise<Held> {
  const all = new Gathered(room)
  await eachRow(read, mailbox, { from: 0, unseen }, ([idate, uid, thread]) => all.add(idate, uid, thread))
  return all.held()
}

function compare(one: readonly number[], other: readonly number[]): number {
  return (one[0] as number) - (other[0] as number) || (one[1] as number) - (other[1] as number)
}

/** What is held after what came and went; the same where nothing did. */
async function follow(read: Reader, mailbox: number, { held, modseq, uidNext }: Known): Promise<Held> {
  const text = 'SELECT uid FROM expunged WHERE mailbox = ? AND modseq > ?'
  const gone = new Set((await read.arrays<[number]>(text, mailbox, modseq)).map(row => row[0]))
  const fresh: Row[] = []
  await eachRow(read, mailbox, { from: uidNext, unseen: false }, row => void fresh.push(row))
  if (gone.size === 0 && fresh.length === 0) return held
  const { idates, uids, threads } = held
  const all = new Gathered(uids.length + fresh.length)
  for (let at = 0; at < uids.length; at++) {
    const uid = uids[at] as number
    if (gone.size === 0 || !gone.has(uid)) all.add(idates[at] as number, uid, threads[at] as number)
  }
  for (const [idate, uid, thread] of fresh) all.add(idate, uid, thread)
  return all.held()
}

/** Of Fibonacci hashing: neighbours lie far from each other. */
const hashFactor = 0x9e3779b1

function headsOf(held: Held, falling: boolean): Uint32Array {
  const known = held.heads.get(falling)
  if (known !== undefined) return known
  const { threads } = held
  const { length } = threads
  // Threads that were met, by open addressing: a set takes five times as long. No thread has the number 0.
  const bits = Math.max(4, Math.ceil(Math.log2(2 * length)))
  const last = 2 ** bits - 1
  const met = new Float64Array(last + 1)
  const heads = new Uint32Array(length)
  let count = 0
  for (let step = 0; step < length; step++) {
    const at = falling ? length - 1 - step : step
    const thread = threads[at] as number
    let slot = Math.imul(thread | 0, hashFactor) >>> (32 - bits)
    while (met[slot] !== 0 && met[slot] !== thread) slot = (slot + 1) & last
    if (met[slot] === thread) continue
    met[slot] = thread
    heads[count] = at
    count += 1
  }
  const found = heads.slice(0, count)
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
