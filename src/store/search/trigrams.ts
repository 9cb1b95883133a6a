// The index of one account's texts, which leaves out bodies that cannot have what is looked for.
//
// It never says that a body lacks what it has: one that waits to be indexed may contain anything. Needles are squeezed like
// the texts were (mail/text/fold.ts). What it said once it says again as long as nothing changed. Nothing here knows what a
// query means: that is plan.ts's.

import assert from 'node:assert'
import { limits } from '#lib/limits.ts'
import { grams, isOneGram } from '#mail/text/fold.ts'
import { bodiesWith, bodiesWithWord } from '../engine/full-text.ts'
import type { Reader } from '../engine/reader.ts'
import { cutDocs, looseDocs, waitingBodies } from './docs.ts'

/** The index of one account. */
export class Index {
  readonly #read: Reader
  readonly #user: number
  readonly #most: number
  readonly #sets = new Map<string, { bodies: Set<number>; exact: boolean } | null>()
  readonly #sure = new Map<string, ReadonlySet<number>>()
  #waiting: ReadonlySet<number> | undefined
  #cut: ReadonlySet<number> | undefined
  #loose: ReadonlySet<number> | null | undefined
  /** Bodies in everything that it remembers; some for each needle. */
  weight = 0

  /** @param most needles that more bodies may have are taken for too short to tell */
  constructor(read: Reader, user: number, most = Number.POSITIVE_INFINITY) {
    this.#read = read
    this.#user = user
    this.#most = most
  }

  /** Has it look for a squeezed text; whoever asks about that then is answered at once. */
  async ask(needle: string): Promise<void> {
    this.#waiting ??= new Set(await waitingBodies(this.#read, this.#user))
    this.#cut ??= new Set(await cutDocs(this.#read, this.#user))
    if (this.#sets.has(needle)) return
    const found = await this.#query(needle, this.#waiting)
    if (this.#sets.has(needle)) return
    this.#sets.set(needle, found)
    this.weight += (found?.bodies.size ?? 0) + needleWeight
  }

  /** The same, and also where a word begins with it, where many would have to be looked into otherwise. */
  async askForWords(needle: string): Promise<void> {
    await this.ask(needle)
    const found = this.#found(needle)
    if (found === null || found.exact || found.bodies.size < limits.search.sureMin) return
    if (this.#sure.has(needle) || !/^[\p{L}\p{N}]+$/u.test(needle)) return
    const sure = await bodiesWithWord(this.#read, this.#user, needle)
    if (this.#sure.has(needle)) return
    this.#sure.set(needle, sure)
    this.weight += sure.size + needleWeight
  }

  /** Has it look which bodies say more in the fields that searches name than it holds. */
  async askForFields(): Promise<void> {
    if (this.#loose !== undefined) return
    this.#cut ??= new Set(await cutDocs(this.#read, this.#user))
    const most = Math.min(this.#most, limits.search.byBodyMax)
    const bodies = await looseDocs(this.#read, this.#user, most + 1)
    this.#loose = bodies.length > most ? null : new Set([...bodies, ...this.#cut])
  }

  /** Bodies that may contain a text that was asked for; null where it is too short to tell. */
  bodies(needle: string): ReadonlySet<number> | null {
    return this.#found(needle)?.bodies ?? null
  }

  /** Whether a body may contain such a text anywhere, be it further on than the index holds of it. */
  mayHave(needle: string, body: number): boolean {
    const found = this.bodies(needle)
    return found === null || found.has(body) || this.cut.has(body)
  }

  /** Whether a body has such a text somewhere; undefined where it must be looked into. */
  verdict(needle: string, body: number): boolean | undefined {
    const found = this.#found(needle)
    if (found === null) return undefined
    if (!found.bodies.has(body)) return false
    if (found.exact) return this.#waiting?.has(body) === true ? undefined : true
    return this.#sure.get(needle)?.has(body) === true ? true : undefined
  }

  /** Bodies that say more than the index holds of them. */
  get cut(): ReadonlySet<number> {
    assert(this.#cut !== undefined, 'the index was not asked')
    return this.#cut
  }

  /** Bodies whose fields may say more than it holds; null where those are too many. */
  get loose(): ReadonlySet<number> | null {
    assert(this.#loose !== undefined, 'the index was not asked for fields')
    return this.#loose
  }

  #found(needle: string): { bodies: Set<number>; exact: boolean } | null {
    const found = this.#sets.get(needle)
    assert(found !== undefined, 'the index was not asked for this')
    return found
  }

  /** @param waiting was read before: a body that is indexed meanwhile is then in both */
  async #query(needle: string, waiting: ReadonlySet<number>): Promise<{ bodies: Set<number>; exact: boolean } | null> {
    const lists = grams(needle, limits.search.gramsMax)
    if (lists.length === 0) return null
    const count = Number.isFinite(this.#most) ? this.#most + 1 : undefined
    if (waiting.size > this.#most) return null
    const bodies = new Set(waiting)
    for (const terms of lists) {
      for (const body of await bodiesWith(this.#read, 'search', this.#user, terms, count)) bodies.add(body)
      if (bodies.size > this.#most) return null
    }
    return { bodies, exact: isOneGram(needle) && lists.every(({ length }) => length === 1) }
  }
}

/** A needle and its place, in bodies. */
const needleWeight = 100
