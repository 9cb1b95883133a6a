// What may be lost: failure counters, challenges, nonces, throttles. LMDB in a folder of its own, which may be deleted
// between two runs; a folder that is broken is moved aside (`<folder>.broken`) and made anew.
//
// Reading is synchronous and sees every write at once. Writes are gathered and put together; they are on the disk within
// moments and survive an orderly restart for certain, a crash but for the last ones; a disk that fails costs that, and
// nothing else. Every entry ends at a time of its
// own, and there are never more than a set number: when there are, those that strangers fill at the door go first, so that nobody can have
// counts of failed logins forgotten, and then those that would end first.

import { createHash } from 'node:crypto'
import { after, every, now, type Timer, within } from '#lib/clock.ts'
import { Fault } from '#lib/fault.ts'
import { newId } from '#lib/id.ts'
import { isPassing } from '#lib/lasting.ts'
import { limits } from '#lib/limits.ts'
import type { Log } from '#lib/log.ts'
import { sealFolder, setAside } from './cache-folder.ts'
import { type Entry, memoryTables, type Tables } from './cache-memory.ts'
import { openTables, requireRoom, settled } from './cache-tables.ts'
import type { Count, Counters } from './counters.ts'

export interface Kept<Value> {
  readonly value: Value
  readonly ttlMs: number
}

export interface CacheOptions {
  readonly dir: string
  readonly log: Log
  readonly entriesMax?: number
}

/** Key, what was counted (0: no number), and for how long it holds. */
export type CountedEntry = readonly [key: string, number: number, ttlMs: number]

/** One thing that was done to the cache, for who has another one that is to be like it. */
export type CacheChange =
  | readonly [what: 'add', kind: string, id: string, amount: number, windowMs: number]
  | readonly [what: 'keep', kind: string, id: string, value: unknown, ttlMs: number]
  | readonly [what: 'remove', kind: string, id: string]

export class Cache implements Counters {
  /** Hears of what is done here, and not of what another cache told. */
  echo: ((change: CacheChange) => void) | undefined
  /** How many caches, this one included, are told of what is counted in each. */
  sharers: () => number = () => 1
  readonly #tables: Tables
  readonly #dir: string
  readonly #log: Log
  readonly #entriesMax: number
  readonly #sweeper: Timer
  /** Newer than what is stored; null for what was removed. `#writing` is on its way. */
  #dirty = new Map<string, Entry | null>()
  #writing: ReadonlyMap<string, Entry | null> = new Map()
  #flushing: Promise<void> | undefined
  #retry: Timer | undefined
  #pace: Timer | undefined
  #stored: number
  #broken: unknown
  #closed = false
  /** Numbers that were read from the disk, and what is not there: a login asks for the same few again and again. */
  readonly #known = new Map<string, Entry | undefined>()

  private constructor(tables: Tables, options: CacheOptions) {
    this.#tables = tables
    this.#dir = options.dir
    this.#log = options.log
    this.#entriesMax = options.entriesMax ?? limits.cache.entriesMax
    this.#stored = tables.count()
    this.#sweeper = every(limits.cache.sweepMs, () => this.sweep())
  }

  /**
   * Opens the folder, making it where there is none and putting a broken one aside. Where the disk does not let it, what is
   * kept is kept in memory: nobody is kept from their mail by what may be lost.
   */
  static open(options: CacheOptions): Cache {
    const { dir, log } = options
    // What is thrown away with its folder needs none.
    if (isPassing(dir)) return new Cache(memoryTables(), options)
    try {
      requireRoom(dir)
      try {
        return new Cache(openTables(dir), options)
      } catch (error) {
        log.warn({ error, dir }, 'the cache cannot be read: it is put aside and made anew')
        setAside(dir)
        return new Cache(openTables(dir), options)
      }
    } catch (error) {
      log.error({ error, dir }, 'the cache cannot be written: what it holds is kept in memory until the next start')
      return new Cache(memoryTables(), options)
    }
  }

  /** Entries on the disk, ended ones included until they are swept. */
  get size(): number {
    return this.#stored
  }

  /** What a counter has reached. */
  counted(kind: string, id: string): Count {
    const kept = this.look<number>(kind, id)
    return kept === undefined ? { used: 0, ttlMs: 0 } : { used: kept.value, ttlMs: kept.ttlMs }
  }

  /** Adds to a counter. Its window begins with the first addition and is not extended by later ones. */
  count(kind: string, id: string, windowMs: number, amount = 1): Count {
    this.echo?.(['add', kind, id, amount, windowMs])
    return this.#add(kind, id, windowMs, amount)
  }

  /** Adds as much of `wanted` as stays within `max`, and says how much that was. */
  draw(kind: string, id: string, windowMs: number, max: number, wanted: number): number {
    const { used } = this.counted(kind, id)
    const drawn = Math.min(wanted, Math.max(0, max - used))
    if (drawn > 0) this.count(kind, id, windowMs, drawn)
    return drawn
  }

  /** Adds to a counter only if it stays within `max`: all or nothing. */
  spend(kind: string, id: string, windowMs: number, max: number, amount = 1): Count & { readonly allowed: boolean } {
    const before = this.counted(kind, id)
    if (before.used + amount > max) return { ...before, allowed: false }
    return { ...this.count(kind, id, windowMs, amount), allowed: true }
  }

  /** Keeps a value until it is taken or its time is over. @throws Fault Overloaded */
  keep(kind: string, id: string, value: unknown, ttlMs: number): void {
    this.echo?.(['keep', kind, id, value, ttlMs])
    this.#keep(kind, id, value, ttlMs)
  }

  /** The same for one of several that an owner fills: with more than `max` of a kind the oldest of his goes. @throws Fault Overloaded */
  keepAmong(owner: string, max: number, [kind, id, value, ttlMs]: readonly [string, string, unknown, number]): void {
    const all = this.look<readonly string[]>(`${kind} all`, owner)
    const ids = [...(all?.value ?? []).filter(one => one !== id), id]
    for (const old of ids.splice(0, Math.max(0, ids.length - max))) this.remove(kind, old)
    this.keep(kind, id, value, ttlMs)
    this.keep(`${kind} all`, owner, ids, Math.max(ttlMs, all?.ttlMs ?? 0))
  }

  /** A kept value, left where it is. Whoever keeps and looks agree on its shape. */
  look<Value>(kind: string, id: string): Kept<Value> | undefined {
    const key = keyOf(kind, id)
    const entry = this.#read(key)
    const leftMs = entry === undefined ? 0 : entry[0] - now()
    if (entry === undefined || leftMs <= 0) return
    const [, value, wholeMs = leftMs] = entry
    // The clock was ahead when it was written: its time begins anew, and is not what the clock was wrong by.
    if (leftMs > wholeMs && this.#hasRoom(key)) this.#write(key, [now() + wholeMs, value, wholeMs])
    return { value: value as Value, ttlMs: Math.min(leftMs, wholeMs) }
  }

  /** A kept value, removed: only one caller ever gets it. */
  take<Value>(kind: string, id: string): Kept<Value> | undefined {
    const kept = this.look<Value>(kind, id)
    if (kept !== undefined) this.remove(kind, id)
    return kept
  }

  /** Marks something for a time; false where it is marked already, whose time stays as it is. */
  mark(kind: string, id: string, ttlMs: number): boolean {
    if (this.look(kind, id) !== undefined) return false
    this.keep(kind, id, 1, ttlMs)
    return true
  }

  /** Forgets a counter, a kept value or a mark. */
  remove(kind: string, id: string): void {
    this.echo?.(['remove', kind, id])
    this.#remove(kind, id)
  }

  /** Does what was done to another cache. */
  apply(change: CacheChange): void {
    const [what, kind, id] = change
    if (what === 'add') this.#add(kind, id, change[4], change[3])
    else if (what === 'keep') this.#keep(kind, id, change[3], change[4])
    else this.#remove(kind, id)
  }

  /**
   * Numbers that were counted and marks, from behind `after` on: for a cache that begins.
   *
   * @param after the last key of the page before
   */
  counts(after: string, max: number): readonly CountedEntry[] {
    const page: CountedEntry[] = []
    const at = now()
    for (const { key, value } of this.#tables.entries.getRange({ start: after, limit: max + 1 })) {
      if (key === after) continue
      const [until, number, wholeMs = Number.POSITIVE_INFINITY] = value
      page.push([key, typeof number === 'number' ? number : 0, Math.min(until - at, wholeMs)])
    }
    return page.slice(0, max)
  }

  /** Takes over what another one has counted, where that is more. */
  join(entries: readonly CountedEntry[]): void {
    for (const [key, number, ttlMs] of entries) {
      const [until = 0, known = 0] = this.#read(key) ?? []
      const mine = until > now() && typeof known === 'number' ? known : 0
      if (ttlMs > 0 && number > mine) this.#write(key, [now() + ttlMs, number, ttlMs])
    }
  }

  /** Reads from the disk. @throws whatever is wrong with it */
  ping(): void {
    if (this.#closed) throw new Fault('Stopping')
    this.#tables.entries.get('health:ping')
  }

  /** Writes, reads and removes an entry, each really made. @throws whatever is wrong */
  async check(): Promise<void> {
    if (this.#closed) throw new Fault('Stopping')
    if (this.#broken !== undefined) throw this.#broken
    const { entries } = this.#tables
    const id = newId()
    const key = keyOf('health', id)
    await settled([entries.put(key, [now() + limits.health.checkMs, id])])
    const found = entries.get(key)?.[1]
    await settled([entries.remove(key)])
    if (found !== id) throw new Error('the cache does not keep what is written')
  }

  /** Resolves when everything written so far is on the disk. */
  async flush(): Promise<void> {
    while (this.#flushing !== undefined || this.#pace !== undefined) {
      this.#start()
      await this.#flushing
    }
    if (this.#broken !== undefined) throw this.#broken
    await this.#tables.root.flushed
  }

  /** Removes a bounded number of entries whose time is over. Runs by itself; public for tests. */
  sweep(): void {
    if (this.#closed) return
    const { ends } = this.#tables
    const over = ends.getKeys({ end: [now(), ''], limit: limits.cache.sweepEntriesMax })
    for (const [until, key] of over) if (this.#read(key)?.[0] === until) this.#dirty.set(key, null)
    if (this.#dirty.size > 0) this.#begin()
  }

  async close(): Promise<void> {
    if (this.#closed) return
    this.#sweeper.cancel()
    this.#retry?.cancel()
    const late = () => new Error('the disk did not take it in time')
    await within(limits.cache.closeMs, this.flush(), late).catch(error =>
      this.#log.warn({ error }, 'the last changes of the cache are lost'),
    )
    this.#closed = true
    try {
      // It waits for what is being written, which on a full disk may never be.
      await within(limits.cache.closeMs, this.#tables.root.close(), late)
      if (this.#tables.lasting) sealFolder(this.#dir)
    } catch (error) {
      this.#log.warn({ error }, 'the cache is not used again: it could not be closed properly')
    }
  }

  #add(kind: string, id: string, windowMs: number, amount: number): Count {
    const before = this.counted(kind, id)
    // What is given back may be of a window that is over.
    const [used, ttlMs] = [Math.max(0, before.used + amount), before.used === 0 ? windowMs : before.ttlMs]
    this.#keep(kind, id, used, ttlMs)
    return { used, ttlMs }
  }

  #keep(kind: string, id: string, value: unknown, ttlMs: number): void {
    this.#write(keyOf(kind, id), ttlMs > 0 ? [now() + ttlMs, value, ttlMs] : null)
  }

  #remove(kind: string, id: string): void {
    const key = keyOf(kind, id)
    if (this.#read(key) !== undefined) this.#write(key, null)
  }

  #read(key: string): Entry | undefined {
    const fresh = this.#dirty.get(key) ?? (this.#dirty.has(key) ? null : this.#writing.get(key))
    if (fresh !== undefined) return fresh ?? undefined
    const known = this.#known.get(key)
    if (known !== undefined || this.#known.has(key)) return known
    const entry = this.#tables.entries.get(key)
    if (entry !== undefined && typeof entry[1] !== 'number') return entry
    if (this.#known.size >= limits.cache.knownMax) this.#known.clear()
    this.#known.set(key, entry)
    return entry
  }

  #write(key: string, entry: Entry | null): void {
    if (this.#closed) throw new Fault('Stopping')
    if (!this.#hasRoom(key)) {
      if (this.#broken === undefined) throw new Fault('Overloaded')
      // The disk takes nothing: what was changed first is forgotten, so that logins go on.
      const [oldest] = this.#dirty.keys()
      if (oldest !== undefined) this.#dirty.delete(oldest)
    }
    this.#dirty.set(key, entry)
    this.#begin()
  }

  #hasRoom(key: string): boolean {
    return !this.#closed && (this.#dirty.size < limits.cache.pendingMax || this.#dirty.has(key))
  }

  /**
   * Writes a little later: a sync of this file would otherwise run all the time beside those of the database and double
   * the time of a delivery. What changes meanwhile goes along; a crash forgets that little while.
   */
  #begin(): void {
    if (this.#flushing !== undefined || this.#retry !== undefined || this.#pace !== undefined) return
    this.#pace = after(limits.cache.paceMs, () => this.#start())
  }

  #start(): void {
    this.#pace?.cancel()
    this.#pace = undefined
    if (this.#flushing !== undefined || this.#retry !== undefined) return
    this.#flushing = this.#flushAll().finally(() => {
      this.#flushing = undefined
      if (this.#dirty.size > 0) this.#begin()
    })
  }

  /** Puts what is dirty; changes of one entry have become one. */
  async #flushAll(): Promise<void> {
    if (this.#dirty.size > 0) {
      const writing = this.#dirty
      this.#writing = writing
      this.#dirty = new Map()
      try {
        await this.#put(writing)
        this.#broken = undefined
      } catch (error) {
        this.#keepForLater(error, writing)
        return
      }
      this.#tables.root.resetReadTxn()
      for (const key of writing.keys()) this.#known.delete(key)
      this.#writing = new Map()
      if (this.#stored > this.#entriesMax) this.#evict(this.#stored - this.#entriesMax)
    }
  }

  async #put(batch: ReadonlyMap<string, Entry | null>): Promise<void> {
    const { root, entries, ends } = this.#tables
    const done: Promise<boolean>[] = []
    let grown = 0
    const all = root.batch(() => {
      for (const [key, entry] of batch) {
        const before = entries.get(key)
        if (before !== undefined && before[0] !== entry?.[0]) done.push(ends.remove([before[0], key]))
        if (entry !== null) done.push(entries.put(key, entry), ends.put([entry[0], key], 0))
        else if (before !== undefined) done.push(entries.remove(key))
        grown += (entry === null ? 0 : 1) - (before === undefined ? 0 : 1)
      }
    })
    await settled([...done, all])
    this.#stored += grown
  }

  /** Nothing is forgotten because the disk is full: it is tried again, and /health tells meanwhile. */
  #keepForLater(error: unknown, writing: ReadonlyMap<string, Entry | null>): void {
    if (this.#broken === undefined) this.#log.error({ error }, 'the cache cannot be written')
    this.#broken = error
    this.#dirty = new Map([...writing, ...this.#dirty])
    this.#writing = new Map()
    this.#retry = after(limits.cache.sweepMs, () => {
      this.#retry = undefined
      this.#begin()
    })
  }

  #evict(count: number): void {
    let left = count
    for (const kind of strangers) {
      if (left === 0) return
      for (const { key } of this.#tables.entries.getRange({ start: `${kind}:`, end: `${kind};`, limit: left })) {
        if (!this.#dirty.has(key)) this.#dirty.set(key, null)
        left -= 1
      }
    }
    for (const [, key] of this.#tables.ends.getKeys({ limit: left })) {
      if (!this.#dirty.has(key)) this.#dirty.set(key, null)
    }
  }
}

/** Kinds that whoever connects can fill (actors/screening/door.ts), those that are missed least first. */
const strangers = ['greylist', 'unknown recipients', 'organization messages', 'network messages', 'greylist passed']

/** Long names are hashed: LMDB takes keys of some 2,000 bytes, and what a stranger sends has no length. */
function keyOf(kind: string, id: string): string {
  return id.length <= 200 ? `${kind}:${id}` : `${kind}#${createHash('sha256').update(id).digest('base64url')}`
}
