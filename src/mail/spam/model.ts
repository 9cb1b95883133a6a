// What was learned of spam, and what it says of a message: two simple learners that err in different places.
//
// One is a logistic regression over four-letter pieces, which finds what the words hide; the other adds up words by
// Fisher's method (Robinson's combination), which says little where words speak for both sides, and so keeps the first one
// from being sure of a letter that only sells something. Pure: no clock, no chance but the caller's, bounded memory
// (3 MiB). Forgets slowly: counts that are full are halved, weights are trained on what is still kept.

import { ok as assert } from 'node:assert'
import { type Features, gramSlots, wordSlots } from './features.ts'

/** What a weight of 1 is stored as. */
const weightUnit = 2048
const weightMax = 32_767
const step = 16
/** Share of the words' verdict in the whole. */
const wordsShare = 8
/** Words that say nothing: nearer to the middle than this. */
const indifference = 0.43
const prior = { strength: 0.0178, probability: 0.52 }

/** Bytes of a model that was written out. */
export const modelBytes = 2 * gramSlots + 2 * wordSlots

export class SpamModel {
  readonly #weights: Int16Array
  /** How many spam and ham messages had the word. */
  readonly #spam: Uint8Array
  readonly #ham: Uint8Array
  /** Messages learned. */
  spam = 0
  ham = 0

  constructor(bytes?: Uint8Array) {
    if (bytes === undefined) {
      this.#weights = new Int16Array(gramSlots)
      this.#spam = new Uint8Array(wordSlots)
      this.#ham = new Uint8Array(wordSlots)
      return
    }
    assert(bytes.length === modelBytes, 'a model has its size')
    const copy = bytes.slice()
    this.#weights = new Int16Array(copy.buffer, 0, gramSlots)
    this.#spam = new Uint8Array(copy.buffer, 2 * gramSlots, wordSlots)
    this.#ham = new Uint8Array(copy.buffer, 2 * gramSlots + wordSlots, wordSlots)
  }

  /** Everything but the two numbers. */
  bytes(): Uint8Array {
    const bytes = new Uint8Array(modelBytes)
    bytes.set(new Uint8Array(this.#weights.buffer, this.#weights.byteOffset, 2 * gramSlots))
    bytes.set(this.#spam, 2 * gramSlots)
    bytes.set(this.#ham, 2 * gramSlots + wordSlots)
    return bytes
  }

  /** How much speaks for spam, as a logarithm of odds: 0 is even, above 5 hardly ever wrong. */
  score(features: Features): number {
    return this.#pieces(features.grams) + wordsShare * this.#fisher(features.words)
  }

  /** Counts a message that was learned, or takes one back (`times` -1). */
  count({ words }: Features, isSpam: boolean, times: 1 | -1): void {
    if (isSpam) this.spam = Math.max(0, this.spam + times)
    else this.ham = Math.max(0, this.ham + times)
    const [own, other] = isSpam ? [this.#spam, this.#ham] : [this.#ham, this.#spam]
    for (const slot of words) {
      const known = own[slot] as number
      if (times < 0) own[slot] = known - Math.min(known, 1)
      else if (known < 255) own[slot] = known + 1
      else {
        own[slot] = 128
        other[slot] = (other[slot] as number) >> 1
      }
    }
  }

  /** One step of the regression towards what a message is. */
  train({ grams }: Features, isSpam: boolean): void {
    if (grams.length === 0) return
    const wrong = (isSpam ? 1 : 0) - 1 / (1 + Math.exp(-this.#pieces(grams)))
    const change = Math.round((step * weightUnit * wrong) / Math.sqrt(grams.length))
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
    for (const slot of grams) sum += weights[slot] as number
    return sum / weightUnit / Math.sqrt(grams.length)
  }

  /** Robinson's use of Fisher's method, as a logarithm of odds between -37 and 37. */
  #fisher(words: Uint32Array): number {
    const { spam, ham } = this
    if (spam === 0 || ham === 0) return 0
    const { strength, probability } = prior
    let forSpam = 0
    let forHam = 0
    let count = 0
    for (const slot of words) {
      const seen = (this.#spam[slot] as number) + (this.#ham[slot] as number)
      if (seen === 0) continue
      const spamRate = (this.#spam[slot] as number) / spam
      const share = spamRate / (spamRate + (this.#ham[slot] as number) / ham)
      const certain = (strength * probability + seen * share) / (strength + seen)
      if (Math.abs(certain - 0.5) < indifference) continue
      forSpam += Math.log(1 - certain)
      forHam += Math.log(certain)
      count++
    }
    if (count === 0) return 0
    const spamTail = chiTail(-forSpam, count)
    const hamTail = chiTail(-forHam, count)
    return Math.log(1 + hamTail - spamTail + 1e-16) - Math.log(1 - hamTail + spamTail + 1e-16)
  }
}

/** Probability that chi-square with 2n degrees of freedom is above 2x: exp(-x) times the sum of x^i / i! for i < n. */
function chiTail(x: number, n: number): number {
  if (x <= 0) return 1
  const logOfX = Math.log(x)
  let term = -x
  let tail = Math.exp(term)
  for (let i = 1; i < n; i++) {
    term += logOfX - Math.log(i)
    if (term > -745) tail += Math.exp(term)
  }
  return Math.min(1, tail)
}
