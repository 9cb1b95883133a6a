// The index of one account's texts, which leaves out bodies that cannot have what is looked for.
//
// It never says that a body lacks what it has: one that waits to be indexed may contain anything. Needles are squeezed like
// the texts were (mail/text/fold.ts). What it said once it says again as long as nothing changed. Nothing here knows what a
// query means: that is plan.ts's.

import { limits } from '#lib/limits.ts'
import { grams } from '#mail/text/fold.ts'
import { bodiesWith, bodiesWithWord } from '../engine/full-text.ts'
import type { Reader } from '../engine/reader.ts'
import { cutDocs, waitingBodies } from './docs.ts'

/** The index of one account. */
export class Index {
  readonly #read: Reader
  readonly #user: number
  readonly #most: number
  readonly #sets = new Map<string, { bodies: Set<number>; exact: boolean } | null>()
  readonly #sure = new Map<string, ReadonlySet<number>>()
  #waiting: ReadonlySet<number> | undefined
  #cut: ReadonlySet<number> | undefined
  /** Bodies in everything that it remembers; some for each needle. */
  weight = 0

  /** @param most needles that more bodies may have are taken for too short to tell */
  constructor(read: Reader, user: number, most = Number.POSITIVE_INFINITY) {
    this.#read = read
    this.#user = user
    this.#most = most
  }

  /** Bodies that may contain a squeezed text; null where it is too short to tell. */
  bodies(needle: string): ReadonlySet<number> | null {
    return this.#find(needle)?.bodies ?? null
  }

  /** Whether a body may contain a squeezed text anywhere, be it further on than the index holds of it. */
  mayHave(needle: string, body: number): boolean {
    const found = this.bodies(needle)
    return found === null || found.has(body) || this.cut.has(body)
  }

  /** Whether a body has the text somewhere; undefined where it must be looked into. */
  verdict(needle: string, body: number): boolean | undefined {
    const found = this.#find(needle)
    if (found === null) return undefined
    if (!found.bodies.has(body)) return false
    if (found.exact) return this.waiting.has(body) ? undefined : true
    return this.#surely(needle, found.bodies.size)?.has(body) === true ? true : undefined
  }

  /** Bodies that are not indexed yet. */
  get waiting(): ReadonlySet<number> {
    this.#waiting ??= new Set(waitingBodies(this.#read, this.#user))
    return this.#waiting
  }

  /** Bodies that say more than the index holds of them. */
  get cut(): ReadonlySet<number> {
    this.#cut ??= new Set(cutDocs(this.#read, this.#user))
    return this.#cut
  }

  #find(needle: string): { bodies: Set<number>; exact: boolean } | null {
    let found = this.#sets.get(needle)
    if (found === undefined) {
      found = this.#query(needle)
      this.#sets.set(needle, found)
      this.weight += (found?.bodies.size ?? 0) + needleWeight
    }
    return found
  }

  /** Bodies in which a word begins with the needle. Worth asking for only where many would have to be looked into. */
  #surely(needle: string, many: number): ReadonlySet<number> | null {
    if (many < limits.search.sureMin || !/^[\p{L}\p{N}]+$/u.test(needle)) return null
    let found = this.#sure.get(needle)
    if (found === undefined) {
      found = bodiesWithWord(this.#read, this.#user, needle)
      this.#sure.set(needle, found)
      this.weight += found.size + needleWeight
    }
    return found
  }

  #query(needle: string): { bodies: Set<number>; exact: boolean } | null {
    const terms = grams(needle, limits.search.gramsMax)
    if (terms.length === 0) return null
    // What waits is read first: a body that is indexed meanwhile is then in both.
    const { waiting } = this
    const count = Number.isFinite(this.#most) ? this.#most + 1 : -1
    if (waiting.size > this.#most) return null
    const bodies = bodiesWith(this.#read, 'search', this.#user, terms, count)
    for (const body of waiting) bodies.add(body)
    if (bodies.size > this.#most) return null
    return { bodies, exact: terms.length === 1 }
  }
}

/** A needle and its place, in bodies. */
const needleWeight = 100
