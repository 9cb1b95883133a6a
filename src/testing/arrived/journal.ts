// What arrived, in order, and who waits for more: the mailboxes of tests look at nothing else.
//
// A mail is added when its outcomes are on disk and before its sender hears of it, so whoever sent it finds it. Bytes of small
// mails stay here; those of large ones stay where the service stored them. Nobody polls: who waits is called.

import type * as Promised from '../../testing.d.ts'
import type { Facts } from './mail.ts'

/** One mail that arrived; the same one whoever asks. */
export interface Entry {
  readonly facts: Facts
  mail(): Promise<Promised.Mail>
}

/** Where mailboxes find mail, in this process or another. */
export interface Source {
  /** Entries whose number is above `seq`, rising, as they stand now. */
  after(seq: number): Promise<readonly Entry[]>
  /** Calls `listener` whenever there may be more, until the returned function is called. */
  watch(listener: () => void): () => void
  /** The number of the last one that there was. */
  last(): Promise<number>
}

export class Journal implements Source {
  #entries: Entry[] = []
  #seq = 0
  readonly #listeners = new Set<() => void>()

  /** The number the next entry has. */
  next(): number {
    this.#seq += 1
    return this.#seq
  }

  add(entry: Entry): void {
    this.#entries.push(entry)
    for (const listener of [...this.#listeners]) listener()
  }

  async after(seq: number): Promise<readonly Entry[]> {
    return this.since(seq)
  }

  since(seq: number): readonly Entry[] {
    if (seq === 0) return this.#entries
    return this.#entries.slice(this.#entries.findLastIndex(({ facts }) => facts.seq <= seq) + 1)
  }

  find(id: string): Entry | undefined {
    return this.#entries.find(({ facts }) => facts.id === id)
  }

  async last(): Promise<number> {
    return this.#seq
  }

  watch(listener: () => void): () => void {
    this.#listeners.add(listener)
    return () => void this.#listeners.delete(listener)
  }

  /** Forgets those that `which` names; all without. */
  forget(which?: (entry: Entry) => boolean): void {
    this.#entries = which === undefined ? [] : this.#entries.filter(entry => !which(entry))
  }
}
