// Tables whose changes matter to those who keep what they read: the writer thread notes which of them a batch changed, so
// that nothing read from one is forgotten because of mail that came in meanwhile.
//
// Where others write to the same tables somebody says until when he is sure to hear of it. Past that moment, which each thread sees by
// the clock, nothing that was read is believed, also where whoever says it has not come to his senses yet.

import { commonMonotonic } from '#lib/clock.ts'
import type { Sql, Statement } from './sqlite/handle.ts'

const watched = ['address', 'domain', 'domain_admin', 'domainalias', 'mailbox', 'spam_model', 'token', 'user'] as const

export type Watched = (typeof watched)[number]

/** Behind the counts: how often it was doubted that all is known, and until when it is not, which lies at a multiple of eight. */
const doubted = watched.length
const sureAt = Math.ceil((doubted + 1) / 2) * 8

/** How often each of them was changed, in memory that all threads see: it grows before anybody hears of a commit. */
export class Changes {
  /** To be handed to other threads. */
  readonly shared: SharedArrayBuffer
  readonly #counts: Int32Array
  /** Of `commonMonotonic`; 0 where nobody else writes. */
  readonly #sure: Float64Array

  constructor(shared = new SharedArrayBuffer(sureAt + 8)) {
    this.shared = shared
    this.#counts = new Int32Array(shared)
    this.#sure = new Float64Array(shared, sureAt, 1)
  }

  /** Others write as well; whatever they change is noted here before they tell anybody, for so many milliseconds from now on. */
  sureFor(ms: number): void {
    const now = commonMonotonic()
    // What was read meanwhile may be of before a change that nobody told of.
    if (ms <= 0 || (this.#sure[0] as number) <= now) Atomics.add(this.#counts, doubted, 1)
    this.#sure[0] = Math.max(1, now + ms)
  }

  /** The same number for as long as every change is sure to be heard of; while it is not, another one for each who asks. */
  get doubts(): number {
    const sure = this.#sure[0] as number
    if (sure > 0 && commonMonotonic() >= sure) return Atomics.add(this.#counts, doubted, 1) + 1
    return Atomics.load(this.#counts, doubted)
  }

  /** A batch was committed that may have changed a table. */
  note(table: Watched): void {
    Atomics.add(this.#counts, watched.indexOf(table), 1)
  }

  /** Nobody knows what was changed. */
  noteAll(): void {
    for (const table of watched) this.note(table)
  }

  /** Batches that may have changed one of these. */
  of(...tables: readonly Watched[]): number {
    let count = this.doubts
    for (const table of tables) count += Atomics.load(this.#counts, watched.indexOf(table))
    return count
  }
}

/** The watched table that a statement changes. */
export function changedBy(text: string): Watched | undefined {
  const [, table] = /\b(?:INTO|UPDATE(?:\s+OR\s+\w+)?|DELETE\s+FROM)\s+"?(\w+)/i.exec(text) ?? []
  return watched.find(name => name === table)
}

/** `sql`, noting in `touched` what the statements asked for are about to change. */
export function watching(sql: Sql, touched: Set<Watched>): Sql {
  const known = new Map<string, { statement: Statement; table: Watched | undefined }>()
  return text => {
    let found = known.get(text)
    if (found === undefined) {
      found = { statement: sql(text), table: changedBy(text) }
      known.set(text, found)
    }
    if (found.table !== undefined) touched.add(found.table)
    return found.statement
  }
}
