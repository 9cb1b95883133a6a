// What one client has been told of its selected folder: which uids exist, in which order, up to which change.
//
// A sequence number is a place in this list and nothing else, so it stays true whatever others do meanwhile. Nothing is
// kept of a message but its uid, and not even that before somebody asks: the list of a moment can be worked out later
// (uidsAsOf). Changes are not queued: a notice only says that there is something, and `tell` compares with the database
// by change number, so a storm of changes costs no memory. Expunges wait where RFC 9051 7.5.1 says so.

import assert from 'node:assert'
import { limits } from '#lib/limits.ts'
import { gapsIn, inBoth, inRanges, joinRanges, type Ranges, toRanges } from '#mail/numbers.ts'
import type { Change, FolderReads, Mailbox } from '../mail-store.ts'
import type { NumberSet } from '../wire/decoder.ts'
import type { Listener } from './listener.ts'

/** Places in the view, inclusive ranges counted from 0, rising. */
export type Places = Ranges

/** Told that this session knows all messages below `uidNext` now: the uid from which they are recent to it. */
export type Claim = (uidNext: number) => number | Promise<number>

const none: readonly never[] = []

export class View {
  readonly num: number
  readonly id: string
  readonly uidValidity: number
  readonly readOnly: boolean
  /** Rows of the folder. */
  readonly rows: FolderReads
  #uids: Uint32Array<ArrayBuffer> | undefined
  #count: number
  /** The uid after the last one the client knows of. */
  #uidNext: number
  /** Flags and new messages are told up to this change; expunges up to the second. */
  #modseq: number
  #goneModseq: number
  /** The place after the one that was asked for last. */
  #next = 0
  /** Something happened that was not told; at first it may have, between reading the folder and listening. */
  #news = true
  #expunges = true
  /** The one change of flags that is all there is to tell; undefined where there is another or something else. */
  #only: number | undefined
  #removed = false
  /** The last change that was heard of. */
  #heard = 0
  /** Changes this client made itself and has been told of in the answer. */
  #own: Set<number> | undefined
  /** The saved search result `$` (RFC 5182), as uids. */
  saved: readonly number[] = none
  /** Uids this session was the first to be told of, as rising ranges, and how many of those are there. */
  #recent: [from: number, to: number][] | undefined
  #recentCount = 0
  #recentTold = 0
  #claim: Claim | undefined

  private constructor(rows: FolderReads, mailbox: Mailbox, readOnly: boolean, claim: Claim | undefined) {
    this.rows = rows
    this.num = mailbox.num
    this.id = mailbox.id
    this.uidValidity = mailbox.uidValidity
    this.readOnly = readOnly
    this.#count = mailbox.total
    this.#uidNext = mailbox.uidNext
    this.#modseq = mailbox.modseq
    this.#goneModseq = mailbox.modseq
    this.#claim = claim
  }

  /** @param claim where messages may be recent (RFC 3501 2.3.2) */
  static async open(rows: FolderReads, mailbox: Mailbox, readOnly: boolean, claim?: Claim): Promise<View> {
    const view = new View(rows, mailbox, readOnly, claim)
    const from = await view.#claimed(1)
    view.#recentCount = Math.min(view.#count, await rows.countBetween(from, mailbox.uidNext))
    view.#recentTold = view.#recentCount
    return view
  }

  /** How many messages are recent to this session. */
  get recentCount(): number {
    return this.#recentCount
  }

  /** Whether this session was the first to be told of that message. */
  isRecent(uid: number): boolean {
    return inRanges(this.#recent ?? none, uid)
  }

  /** No message is recent from now on: IMAP4rev2 knows no such thing. */
  forgetRecent(): void {
    this.#claim = undefined
    this.#recent = undefined
    this.#recentCount = 0
  }

  /** Takes what is recent of the messages from `first` on that are known now; the uid from which they are. */
  async #claimed(first: number): Promise<number> {
    const next = this.#uidNext
    const from = Math.max(first, (await this.#claim?.(next)) ?? next)
    if (from >= next) return next
    this.#recent ??= []
    const last = this.#recent.at(-1)
    if (last !== undefined && last[1] + 1 >= from) last[1] = next - 1
    else this.#recent.push([from, next - 1])
    return from
  }

  /** How many messages the client knows of. */
  get total(): number {
    return this.#count
  }

  /** The uid after the last one the client knows of. */
  get uidNext(): number {
    return this.#uidNext
  }

  /** Whether there is something to tell; without `expunge` those are left out. */
  news(expunge: boolean): boolean {
    return this.#news || (expunge && this.#expunges)
  }

  /** Up to which change the client knows everything. */
  get modseq(): number {
    return Math.min(this.#modseq, this.#goneModseq)
  }

  /** Whether uids are named that this client was not told of here, also where no notice came yet; `*` and the greatest number mean the end. */
  suspects(uids: NumberSet): boolean {
    const named = uids.some(item => item !== 'saved' && item.some(uid => uid >= this.#uidNext && uid < 0xffffffff))
    if (named) [this.#news, this.#only] = [true, undefined]
    return named
  }

  /** Whether messages went that the client still counts, of those at some places or of all. */
  async isHolding(places: Places = [[0, Infinity]]): Promise<boolean> {
    if (!this.#expunges) return false
    await this.load()
    return this.rows.wentAfter(this.#goneModseq, uid => inRanges(places, this.seqOf(uid) - 1))
  }

  /** Takes note of a change of the account; whether it concerns this folder. */
  notice(change: Change): boolean {
    if (change.kind === 'mailbox') {
      if (change.mailbox !== this.num || change.what === 'renamed') return false
      this.#only = undefined
      if (change.what === 'deleted') {
        this.#removed = true
        this.#expunges = true
      }
      this.#news = true
      return true
    }
    if (change.kind === 'counters' || change.mailbox !== this.num) return false
    this.#heard = Math.max(this.#heard, change.modseq)
    if (change.kind === 'expunge' || change.kind === 'missed') this.#expunges = true
    if (change.kind !== 'expunge') {
      const same = !this.#news || this.#only === change.modseq
      this.#only = change.kind === 'flags' && same ? change.modseq : undefined
      this.#news = true
    }
    return true
  }

  /** The answer to a command has told this change already. */
  toldOwn(modseq: number): void {
    if (modseq <= this.#modseq) return
    this.#own ??= new Set()
    this.#own.add(modseq)
  }

  /**
   * What was told of own changes was all there was to tell.
   *
   * @param expunge whether messages might be told gone now
   */
  settle(expunge: boolean): void {
    const only = this.#only
    if (this.#news && only !== undefined && this.#own?.has(only) === true) {
      // Changes are heard of in their order: there is none before it that was not.
      this.#news = false
      this.#modseq = Math.max(this.#modseq, only)
      this.#own = undefined
    }
    // Rows may have been seen before their notice comes: only up to what was heard of is it known that nothing went.
    const known = Math.min(this.#modseq, this.#heard)
    if (expunge && !this.#news && !this.#expunges) this.#goneModseq = Math.max(this.#goneModseq, known)
  }

  /** The list of uids is there from then on: whoever goes by numbers waits for it first. */
  async load(): Promise<void> {
    while (this.#uids === undefined) {
      const [modseq, uidNext] = [this.#goneModseq, this.#uidNext]
      const uids = await this.rows.uidsAsOf(modseq, uidNext)
      // What was told meanwhile makes another list.
      if (modseq !== this.#goneModseq || uidNext !== this.#uidNext) continue
      this.#uids = uids
      this.#count = uids.length
    }
  }

  /** Sequence number of a uid; 0 where the client does not know it. */
  seqOf(uid: number): number {
    const { uids } = this
    // Who goes through a folder asks for one after the other.
    const at = this.#next < this.#count && uids[this.#next] === uid ? this.#next : this.#place(uid)
    if (at >= this.#count || uids[at] !== uid) return 0
    this.#next = at + 1
    return at + 1
  }

  /** Uids in `set` that went after `modseq`; where that is not known any more all that are not there (RFC 7162 3.2.6). */
  async goneSince(modseq: number, set: NumberSet | undefined): Promise<Ranges> {
    await this.load()
    const known = await this.rows.goneAfter(modseq)
    const gone =
      known === undefined
        ? gapsIn(this.uids.subarray(0, this.#count), this.#uidNext)
        : toRanges(known.filter(uid => this.seqOf(uid) === 0))
    if (set === undefined) return gone
    const numbers = set.filter(item => item !== 'saved')
    return inBoth(gone, joinRanges(numbers.map(([from, to]) => [from === Infinity ? this.uidNext : from, to] as const)))
  }

  /** Uid at a place. */
  uidAt(place: number): number {
    return this.uids[place] ?? 0
  }

  /** Uids the client knows, rising; `total` of them are valid. They must have been loaded. */
  get uids(): Uint32Array<ArrayBuffer> {
    assert(this.#uids !== undefined, 'the list of uids was not loaded')
    return this.#uids
  }

  /**
   * The places a set of a command means. Numbers beyond the last message mean nothing in a uid set and are refused in a
   * set of sequence numbers (RFC 9051 6.4.9, 9 seq-number).
   *
   * @returns undefined when a sequence number does not exist
   */
  async resolve(set: NumberSet, byUid: boolean): Promise<Places | undefined> {
    await this.load()
    const ranges: [number, number][] = []
    for (const item of set) {
      if (item === 'saved') {
        for (const seq of this.saved.map(uid => this.seqOf(uid))) if (seq > 0) ranges.push([seq - 1, seq - 1])
        continue
      }
      const range = byUid ? this.#uidRange(...item) : this.#seqRange(...item)
      if (range === undefined) return undefined
      if (range[0] <= range[1]) ranges.push(range)
    }
    return joinRanges(ranges)
  }

  #seqRange(from: number, to: number): [number, number] | undefined {
    // `5:*` of three messages is the last one; of none it is nothing: clients ask so, and the answer cannot hurt.
    if (to === Infinity && this.#count === 0) return [0, -1]
    if (to === Infinity) return [Math.min(from, this.#count) - 1, this.#count - 1]
    return to > this.#count ? undefined : [from - 1, to - 1]
  }

  #uidRange(from: number, to: number): [number, number] {
    if (this.#count === 0) return [0, -1]
    const last = this.uids[this.#count - 1] as number
    if (to === Infinity) return [this.#place(Math.min(from, last)), this.#count - 1]
    return [this.#place(from), this.#place(to + 1) - 1]
  }

  /** First place whose uid is not below `uid`. */
  #place(uid: number): number {
    const { uids } = this
    let low = 0
    let high = this.#count
    while (low < high) {
      const middle = (low + high) >>> 1
      if ((uids[middle] as number) < uid) low = middle + 1
      else high = middle
    }
    return low
  }

  /**
   * Tells everything that happened since the last time.
   *
   * @param expunge whether messages may be told gone now
   */
  async tell(listener: Listener, expunge: boolean): Promise<void> {
    if (!this.news(expunge)) return
    const known = this.#uidNext
    const flags = this.#news
    const expunges = this.#expunges
    // Before rows are read: what is heard of meanwhile is told the next time.
    if (expunge) this.#expunges = false
    this.#news = false
    const { modseqMax, gone, fresh } = await this.#compare(expunge, flags).catch(error => {
      this.#news ||= flags
      this.#expunges ||= expunges
      throw error
    })
    if (gone.length > 0) this.#tellGone(listener, gone)
    if (expunge) this.#goneModseq = Math.max(this.#goneModseq, modseqMax)
    if (!flags) this.#tellRecent(listener)
    else {
      await listener.keywords()
      if (fresh.length > 0) {
        await this.#add(fresh)
        listener.exists(this.#count)
      }
      this.#tellRecent(listener)
      if (fresh.length > 0) await listener.arrived(fresh)
      await this.#tellFlags(listener, known, modseqMax)
    }
    await listener.room()
  }

  /** What happened, in one picture of the database. */
  async #compare(expunge: boolean, news: boolean): Promise<{ modseqMax: number; gone: number[]; fresh: number[] }> {
    const lazy = this.#uids === undefined
    const { modseq = this.#modseq, ...found } = await this.rows.compare({
      // Asked for even without a notice: a commit may be seen here before its notice comes, and the mark moves past it.
      gone: lazy || expunge ? this.#goneModseq : undefined,
      arrived: news ? this.#uidNext : undefined,
    })
    const compared = { modseqMax: modseq, ...found }
    // Without expunges the list as of the new marks is as good as the one of the old.
    if (lazy && (compared.gone.length > 0 || this.#removed)) await this.load()
    if (!expunge) return { ...compared, gone: [] }
    return this.#removed ? { ...compared, gone: [...this.uids.subarray(0, this.#count)] } : compared
  }

  #tellGone(listener: Listener, gone: readonly number[]): void {
    const known = this.uids
    const seqs: number[] = []
    const told: number[] = []
    for (const uid of gone) {
      const seq = this.seqOf(uid)
      if (seq === 0) continue
      seqs.push(seq - told.length)
      told.push(uid)
    }
    if (told.length === 0) return
    if (this.#recentCount > 0) this.#recentCount -= told.filter(uid => this.isRecent(uid)).length
    let kept = 0
    let next = 0
    for (let at = 0; at < this.#count; at++) {
      if (known[at] === told[next]) next += 1
      else known[kept++] = known[at] as number
    }
    this.#count = kept
    listener.gone(seqs, told)
  }

  async #add(fresh: readonly number[]): Promise<void> {
    const count = this.#count + fresh.length
    if (this.#uids !== undefined) {
      if (count > this.#uids.length) {
        const larger = new Uint32Array(Math.ceil(count * 1.25))
        larger.set(this.#uids.subarray(0, this.#count))
        this.#uids = larger
      }
      this.#uids.set(fresh, this.#count)
    }
    this.#count = count
    const known = this.#uidNext
    this.#uidNext = (fresh.at(-1) as number) + 1
    const from = await this.#claimed(known)
    this.#recentCount += fresh.filter(uid => uid >= from).length
  }

  /** RFC 3501 7.3.2, where the number is another one than the client knows. */
  #tellRecent(listener: Listener): void {
    if (this.#claim === undefined || this.#recentCount === this.#recentTold) return
    this.#recentTold = this.#recentCount
    listener.recent(this.#recentCount)
  }

  async #tellFlags(listener: Listener, known: number, modseqMax: number): Promise<void> {
    let modseq = this.#modseq
    let uid = Infinity
    for (;;) {
      const rows = await this.rows.changesAfter(modseq, uid, modseqMax, limits.imap.sliceRows)
      // Whoever only hears of mail that arrives needs no list, which has a number for each message of the folder.
      const told = rows.filter(([uid, modseq]) => uid < known && this.#own?.has(modseq) !== true)
      if (told.length > 0) await this.load()
      for (const [uid, modseq, flags, keywords] of told) {
        const seq = this.seqOf(uid)
        if (seq > 0) listener.flags(seq, uid, flags, keywords, modseq)
      }
      const last = rows.at(-1)
      if (last === undefined || rows.length < limits.imap.sliceRows) break
      ;[uid, modseq] = last
      await listener.room()
    }
    this.#modseq = Math.max(this.#modseq, modseqMax)
    for (const own of this.#own ?? none) if (own <= this.#modseq) this.#own?.delete(own)
  }
}
