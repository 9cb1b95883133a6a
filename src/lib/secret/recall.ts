// Passwords that were verified a moment ago, so that the next request of the same client need not hash again.
//
// Kept is a digest of the stored hash and the password under a key that is made at start and never leaves this object:
// no password is held, nothing of it outlives the process, and a changed password has another stored hash and so no
// entry. Failures are never remembered. Bounded; the entry that was used longest ago goes first.

import { hash } from 'node:crypto'
import { now } from '../clock.ts'
import { randomHex } from '../id.ts'
import { limits } from '../limits.ts'
import type { Password } from './hash.ts'

export interface RecallOptions {
  /** Off: nothing is remembered and nothing recognised. */
  readonly enabled: boolean
  /** How long a verified password is recognised, counted from the verification. */
  readonly ttlMs?: number
  readonly entriesMax?: number
}

/** Stands for a password together with the stored hash it was presented for. Secret, but of no use elsewhere. */
export type Mark = string & { readonly mark: unique symbol }

export class Recall {
  readonly enabled: boolean
  readonly #ttlMs: number
  readonly #entriesMax: number
  readonly #key = randomHex(32)
  /** Mark -> moment from which it is forgotten; the least recently used first. */
  readonly #entries = new Map<Mark, number>()

  constructor(options: RecallOptions) {
    this.enabled = options.enabled
    this.#ttlMs = options.ttlMs ?? limits.recall.ttlMs
    this.#entriesMax = options.entriesMax ?? limits.recall.entriesMax
  }

  get size(): number {
    return this.#entries.size
  }

  /**
   * The mark of a password for a stored hash, which is ended by a byte that it cannot hold. The key in front is enough: a
   * mark never leaves this process, so nobody has one to make a longer one from.
   */
  markOf(password: Password, stored: string): Mark {
    const head = `${this.#key}${stored}\0`
    const text = typeof password === 'string' ? head + password : Buffer.concat([Buffer.from(head), password])
    return hash('sha256', text, 'base64') as Mark
  }

  /** Whether the mark was remembered lately. */
  knows(mark: Mark): boolean {
    if (!this.enabled) return false
    const until = this.#entries.get(mark)
    if (until === undefined) return false
    this.#entries.delete(mark)
    if (until <= now()) return false
    this.#entries.set(mark, until)
    return true
  }

  /** Remembers a mark after a full verification that succeeded. */
  remember(mark: Mark): void {
    if (!this.enabled) return
    this.#entries.delete(mark)
    this.#entries.set(mark, now() + this.#ttlMs)
    if (this.#entries.size <= this.#entriesMax) return
    const [oldest] = this.#entries.keys()
    if (oldest !== undefined) this.#entries.delete(oldest)
  }

  /** Forgets everything. */
  clear(): void {
    this.#entries.clear()
  }
}
