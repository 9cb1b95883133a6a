// Tables whose changes matter to those who keep what they read: the writer thread notes which of them a batch changed, so
// that nothing read from one is forgotten because of mail that came in meanwhile.

import type { Sql, Statement } from './sqlite/handle.ts'

const watched = ['address', 'domain', 'domain_admin', 'domainalias', 'mailbox', 'spam_model', 'token', 'user'] as const

export type Watched = (typeof watched)[number]

/** How often each of them was changed, in memory that all threads see: it grows before anybody hears of a commit. */
export class Changes {
  /** To be handed to other threads. */
  readonly shared: SharedArrayBuffer
  readonly #counts: Int32Array

  constructor(shared = new SharedArrayBuffer(watched.length * 4)) {
    this.shared = shared
    this.#counts = new Int32Array(shared)
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
    let count = 0
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
