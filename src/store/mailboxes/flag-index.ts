// The flags of all messages of a folder in memory: what programs ask for whenever they open one, and search by.
//
// Promises: `current` gives what was committed before it was called, or later; nothing is told to it, it compares change numbers
// with the database and reads what has changed since. An index is made and brought up to date in slices, so a folder of any size
// holds nobody up, and it is shared by the sessions of this thread: it may change in any wait of theirs. What was not asked for
// lately is forgotten, however many folders there are.

import { limits } from '#lib/limits.ts'
import type { Slices } from '#lib/pace.ts'
import type { Reader } from '../engine/reader.ts'
import { changedRows } from './changes.ts'
import { flagsFrom, folderCounters, goneAfter } from './listing.ts'
import { messages } from './messages.ts'

const columns = messages.pick(['uid', 'modseq', 'flags', 'keywords'])
type Row = [uid: number, modseq: number, flags: number, keywords: string | null]

/** Bytes of one message in the three lists. */
const messageBytes = 13

export class FlagIndex {
  /** How many messages there are; the lists hold more places. */
  length = 0
  /** Rising. */
  uids = new Uint32Array(0)
  /** System flags, see mail/flags.ts. */
  flags = new Uint8Array(0)
  modseqs = new Float64Array(0)
  /** Uid -> keywords, with spaces between, of those that have some. */
  keywords = new Map<number, string>()
  readonly #read: Reader
  readonly #mailbox: number
  /** What was changed up to here is known. */
  #modseq = 0
  #loaded = false
  #working: Promise<void> | undefined

  constructor(read: Reader, mailbox: number) {
    this.#read = read
    this.#mailbox = mailbox
  }

  /** About what it holds in memory. */
  get bytes(): number {
    return this.uids.length * messageBytes + this.keywords.size * 64
  }

  /** Brings it up to date. */
  async current(slices: Slices): Promise<void> {
    // Somebody else's work may have begun before what this one has to know of was committed.
    // That it failed is theirs: what is left of it is done here.
    while (this.#working !== undefined) await this.#working.catch(() => {})
    this.#working = this.#renew(slices).finally(() => {
      this.#working = undefined
    })
    await this.#working
  }

  /** The first place whose uid is not below `uid`. */
  placeOf(uid: number): number {
    let low = 0
    let high = this.length
    while (low < high) {
      const middle = (low + high) >>> 1
      if ((this.uids[middle] as number) < uid) low = middle + 1
      else high = middle
    }
    return low
  }

  async #renew(slices: Slices): Promise<void> {
    const counters = await folderCounters(this.#read, this.#mailbox)
    if (counters === undefined) {
      this.length = 0
      this.keywords.clear()
      this.#loaded = false
      return
    }
    const { modseq, total } = counters
    if (this.#loaded && modseq === this.#modseq) return
    // What changes while the rows are read has a higher number: it is found the next time.
    if (this.#loaded && modseq > this.#modseq) await this.#follow(modseq, slices)
    // What went so long ago that nobody remembers it is not found by what went since.
    if (!this.#loaded || modseq < this.#modseq || this.length !== total) await this.#load(slices)
    this.#loaded = true
    this.#modseq = modseq
  }

  /** Beside what is there, so that nobody meets half of it. */
  async #load(slices: Slices): Promise<void> {
    const fresh = new FlagIndex(this.#read, this.#mailbox)
    for (let from = 1; ; ) {
      const rows = await flagsFrom(this.#read, this.#mailbox, from, rowsInARow)
      for (const row of rows) fresh.#put(row)
      const last = rows.at(-1)
      if (last === undefined || rows.length < rowsInARow) break
      from = last[0] + 1
      if (slices.spent) await slices.turn()
    }
    const { length, uids, flags, modseqs, keywords } = fresh
    Object.assign(this, { length, uids, flags, modseqs, keywords })
  }

  async #follow(upTo: number, slices: Slices): Promise<void> {
    const since = this.#modseq
    let range = { modseq: since, upTo, count: rowsInARow }
    for (;;) {
      const rows = await changedRows<Row>(this.#read, this.#mailbox, columns.list, range)
      for (const row of rows) this.#put(row)
      const last = rows.at(-1)
      if (last === undefined || rows.length < rowsInARow) break
      range = { ...range, ...{ uid: last[0], modseq: last[1] } }
      if (slices.spent) await slices.turn()
    }
    this.#remove(await goneAfter(this.#read, this.#mailbox, since))
  }

  #put([uid, modseq, flags, keywords]: Row): void {
    const last = this.length === 0 ? 0 : (this.uids[this.length - 1] as number)
    const at = uid > last ? this.length : this.placeOf(uid)
    if (uid > last || this.uids[at] !== uid) this.#insert(at)
    this.uids[at] = uid
    this.flags[at] = flags
    this.modseqs[at] = modseq
    if (keywords !== null) this.keywords.set(uid, keywords)
    else if (this.keywords.size > 0) this.keywords.delete(uid)
  }

  /** One that came and changed is read after those that came behind it and did not. */
  #insert(at: number): void {
    if (this.length === this.uids.length) this.#grow()
    if (at < this.length)
      for (const list of [this.uids, this.flags, this.modseqs]) list.copyWithin(at + 1, at, this.length)
    this.length += 1
  }

  #grow(): void {
    const room = Math.max(64, Math.ceil(this.uids.length * 1.5))
    const { uids, flags, modseqs } = this
    this.uids = new Uint32Array(room)
    this.flags = new Uint8Array(room)
    this.modseqs = new Float64Array(room)
    this.uids.set(uids)
    this.flags.set(flags)
    this.modseqs.set(modseqs)
  }

  #remove(gone: readonly number[]): void {
    const [first] = gone
    if (first === undefined) return
    let next = 0
    let kept = this.placeOf(first)
    for (let at = kept; at < this.length; at++) {
      const uid = this.uids[at] as number
      while (next < gone.length && (gone[next] as number) < uid) next += 1
      if (gone[next] === uid) {
        this.keywords.delete(uid)
        continue
      }
      this.uids[kept] = uid
      this.flags[kept] = this.flags[at] as number
      this.modseqs[kept] = this.modseqs[at] as number
      kept += 1
    }
    this.length = kept
  }
}

/** Rows read in one go: a millisecond. */
const rowsInARow = 1000

/** Reader -> folder -> index, the one that was asked for last at the end. */
const known = new WeakMap<Reader, Map<number, FlagIndex>>()

/** The index of a folder as it is now. */
export async function flagIndex(read: Reader, mailbox: number, slices: Slices): Promise<FlagIndex> {
  const indexes = known.get(read) ?? new Map<number, FlagIndex>()
  known.set(read, indexes)
  const index = indexes.get(mailbox) ?? new FlagIndex(read, mailbox)
  indexes.delete(mailbox)
  indexes.set(mailbox, index)
  await index.current(slices)
  forget(indexes)
  return index
}

/** Those that were not asked for lately; one that is in use is used to its end. */
function forget(indexes: Map<number, FlagIndex>): void {
  let bytes = 0
  for (const index of indexes.values()) bytes += index.bytes + 500
  for (const [mailbox, index] of indexes) {
    if (bytes <= limits.imap.flagIndexBytesMax || indexes.size === 1) return
    indexes.delete(mailbox)
    bytes -= index.bytes + 500
  }
}
