// What was learned of spam, and what it says of a message: two simple learners that err in different places.
//
// One is a logistic regression over four-letter pieces, which finds what the words hide; a mistake about ham teaches it more
// than one about spam, and it is heard up to a bound, so that it is never sure enough to send a letter to Junk alone. The
// other adds up words and pairs (naive Bayes, divided by a power of their number, since neighbours say the same twice); in it
// the order in which something was learned does not matter. Pure: no clock, no chance but the caller's, bounded memory
// (6 MiB). Forgets slowly: when enough was counted everything is halved, weights are trained on what is still kept.

import { ok as assert } from 'node:assert'
import { limits } from '#lib/limits.ts'
import { type Features, gramSlots, placeOf, places, wordSlots } from './features.ts'

/** What a weight of 1 is stored as. */
const weightUnit = 1024
const weightMax = 32_767
const step = 32
/** How many mistakes about spam one about ham weighs. */
const hamCost = 5
/** How loud the pieces may be at most, how loud they are, and all together. */
const piecesMost = 10
const piecesShare = 0.7
const scale = 0.27
/** How loud words are by the place where they stand (text, header, build), which a long text would drown, and all of them. */
const placeShares = [1.3, 1.3, 0.25] as const
const wordsShare = 0.5
/** A word that was never seen on one side, in messages; and the power of the number of words that divides. */
const unseen = 0.01
const lengthPower = 0.65
/** Two numbers in front of the tables. */
const headBytes = 8

/** Where the words begin. */
const wordsAt = headBytes + 2 * gramSlots

/** Bytes of a model that was written out, and of the memory of one. */
export const modelBytes = wordsAt + 2 * wordSlots

export class SpamModel {
  /** Messages that the counts stand for, of spam and of ham: fewer than were learned when some were forgotten. */
  readonly #counted: Uint32Array
  readonly #weights: Int16Array
  /** How many spam messages had the word, and above it how many of ham: they are looked at together, and lie nowhere near what was looked at before. */
  readonly #seen: Uint16Array
  /** Messages learned. */
  spam = 0
  ham = 0
  /** Logarithms of shares by count, for spam and ham; made anew when something was counted. */
  #logs: readonly [Float64Array, Float64Array] | undefined

  /**
   * @param bytes of one that was written out
   * @param buffer memory that it lies in, which others may read as another one; what is there counts where there are no `bytes`
   */
  constructor(bytes?: Uint8Array, buffer: ArrayBufferLike = new ArrayBuffer(modelBytes)) {
    assert((bytes?.length ?? buffer.byteLength) === modelBytes, 'a model has its size')
    this.#counted = new Uint32Array(buffer, 0, 2)
    this.#weights = new Int16Array(buffer, headBytes, gramSlots)
    this.#seen = new Uint16Array(buffer, wordsAt, wordSlots)
    if (bytes === undefined) return
    new Uint8Array(buffer, 0, wordsAt).set(bytes.subarray(0, wordsAt))
    for (let slot = 0; slot < wordSlots; slot++) {
      this.#seen[slot] = (bytes[wordsAt + slot] as number) | ((bytes[wordsAt + wordSlots + slot] as number) << 8)
    }
  }

  /** Everything but the two numbers, what spam had before what ham had. */
  bytes(): Uint8Array {
    const bytes = new Uint8Array(modelBytes)
    bytes.set(new Uint8Array(this.#counted.buffer, 0, wordsAt))
    for (let slot = 0; slot < wordSlots; slot++) {
      const seen = this.#seen[slot] as number
      bytes[wordsAt + slot] = seen & 0xff
      bytes[wordsAt + wordSlots + slot] = seen >> 8
    }
    return bytes
  }

  /** How much speaks for spam, as a logarithm of odds: 0 is even, above 5 hardly ever wrong. */
  score({ grams, words }: Features): number {
    const pieces = piecesMost * Math.tanh(this.#pieces(grams) / piecesMost)
    return scale * (piecesShare * pieces + this.#bayes(words))
  }

  /** Counts a message that was learned, or takes one back (`times` -1). */
  count({ words }: Features, isSpam: boolean, times: 1 | -1): void {
    this.#logs = undefined
    if (isSpam) this.spam = Math.max(0, this.spam + times)
    else this.ham = Math.max(0, this.ham + times)
    const side = isSpam ? 0 : 1
    this.#counted[side] = Math.max(0, (this.#counted[side] as number) + times)
    const all = this.#seen
    const [shift, others] = isSpam ? [0, 0xff00] : [8, 0xff]
    for (const slot of words) {
      const seen = all[slot] as number
      const known = (seen >> shift) & 0xff
      all[slot] = (seen & others) | ((times < 0 ? Math.max(0, known - 1) : Math.min(255, known + 1)) << shift)
    }
    if ((this.#counted[0] as number) + (this.#counted[1] as number) > limits.spam.halvedAfter) this.#halve()
  }

  #halve(): void {
    const [spam = 0, ham = 0] = this.#counted
    this.#counted.set([spam >> 1, ham >> 1])
    const all = this.#seen
    for (let slot = 0; slot < all.length; slot++) all[slot] = ((all[slot] as number) >> 1) & 0x7f7f
  }

  /** One step of the regression towards what a message is. */
  train({ grams }: Features, isSpam: boolean): void {
    if (grams.length === 0) return
    const wrong = (isSpam ? 1 : 0) - 1 / (1 + Math.exp(-this.#pieces(grams)))
    const cost = isSpam ? 1 : hamCost
    const change = Math.round((step * cost * weightUnit * wrong) / Math.sqrt(grams.length))
    if (change === 0) return
    const weights = this.#weights
    for (const slot of grams) {
      const weight = (weights[slot] as number) + change
      weights[slot] = weight > weightMax ? weightMax : weight < -weightMax ? -weightMax : weight
    }
  }

  #pieces(grams: Uint32Array): number {
    if (grams.length === 0) return 0
    const weights = this.#weights
    let sum = 0
    for (let next = 0; next < grams.length; next++) sum += weights[grams[next] as number] as number
    return sum / weightUnit / Math.sqrt(grams.length)
  }

  #bayes(words: Uint32Array): number {
    const [spam = 0, ham = 0] = this.#counted
    if (spam === 0 || ham === 0) return 0
    this.#logs ??= [logsOf(spam), logsOf(ham)]
    const [ofSpam, ofHam] = this.#logs
    const all = this.#seen
    const sums = new Float64Array(places)
    const counts = new Float64Array(places)
    // By numbers: an iterator takes as long as all else that is done for a word.
    for (let next = 0; next < words.length; next++) {
      const slot = words[next] as number
      const seen = all[slot] as number
      if (seen === 0) continue
      const at = placeOf(slot)
      sums[at] = (sums[at] as number) + (ofSpam[seen & 0xff] as number) - (ofHam[seen >> 8] as number)
      counts[at] = (counts[at] as number) + 1
    }
    const whole = wordsShare * averaged(sums.reduce(plus), counts.reduce(plus))
    return placeShares.reduce((odds, share, at) => odds + share * averaged(sums[at] ?? 0, counts[at] ?? 0), whole)
  }
}

const plus = (one: number, other: number) => one + other

function averaged(sum: number, count: number): number {
  return count === 0 ? 0 : sum / count ** lengthPower
}

/** Of counts up to 255 among so many messages. */
function logsOf(messages: number): Float64Array {
  return Float64Array.from({ length: 256 }, (_, count) => Math.log((count + unseen) / (messages + 2 * unseen)))
}
