// What has arrived, for those who look at all of it: newest first, read or not, forgotten when there are too many.
//
// Forgetting takes a mail from here and from those who wait; the account it was delivered to keeps it.

import { limits } from '#lib/limits.ts'
import type { Entry } from '#testing/arrived/journal.ts'
import { SourceMailbox } from '#testing/arrived/mailbox.ts'
import type { Host } from '#testing/host.ts'
import type { Mail } from '#testing.d'

export interface Shelved {
  readonly entry: Entry
  readonly mail: Mail
  readonly read: boolean
}

/** What happened: a mail came, some are gone, some were read. */
export type News = 'arrived' | 'gone' | 'read'

export class Shelf {
  readonly #host: Host
  readonly #mailsMax: number
  readonly #read = new Set<string>()
  readonly #lines = new Map<string, object>()
  readonly #listeners = new Set<(news: News) => void>()
  /** By address in lower case; '' is everybody's. */
  readonly #mailboxes = new Map<string, SourceMailbox>()
  readonly #unwatch: () => void
  /** How many were forgotten, and taken in all. */
  deleted = 0
  accepted = 0
  acceptedBytes = 0

  constructor(host: Host, mailsMax: number) {
    this.#host = host
    this.#mailsMax = mailsMax
    this.#unwatch = host.journal.watch(() => this.#arrived())
  }

  close(): void {
    this.#unwatch()
  }

  watch(listener: (news: News) => void): () => void {
    this.#listeners.add(listener)
    return () => void this.#listeners.delete(listener)
  }

  /** Newest first. */
  entries(): Entry[] {
    return this.#host.journal.since(0).toReversed()
  }

  async all(): Promise<Shelved[]> {
    return Promise.all(this.entries().map(entry => this.#shelved(entry)))
  }

  /** One by its id; `latest` is the newest. */
  find(id: string): Entry | undefined {
    return id === 'latest' ? this.entries()[0] : this.#host.journal.find(id)
  }

  /** What is worked out of each once, newest first: with hundreds of mails, none is read again because one more came. */
  async lines(make: (entry: Entry, mail: Mail) => object): Promise<object[]> {
    const lines = this.entries().map(async entry => {
      const { id } = entry.facts
      const line = this.#lines.get(id) ?? make(entry, await entry.mail())
      if (this.find(id) !== undefined) this.#lines.set(id, line)
      return { ...line, read: this.isRead(id) }
    })
    return Promise.all(lines)
  }

  isRead(id: string): boolean {
    return this.#read.has(id)
  }

  mark(ids: readonly string[], read: boolean): void {
    const changed = ids.filter(id => this.#read.has(id) !== read)
    for (const id of changed) {
      if (read) this.#read.add(id)
      else this.#read.delete(id)
    }
    if (changed.length > 0) this.#tell('read')
  }

  forget(ids: ReadonlySet<string>): void {
    if (ids.size === 0) return
    const before = this.#host.journal.since(0).length
    this.#host.journal.forget(({ facts }) => ids.has(facts.id))
    for (const id of ids) {
      this.#read.delete(id)
      this.#lines.delete(id)
    }
    this.deleted += before - this.#host.journal.since(0).length
    this.#tell('gone')
  }

  /** Forgets all, and what was given out. */
  clear(): void {
    this.forget(new Set(this.entries().map(({ facts }) => facts.id)))
    this.#mailboxes.clear()
  }

  /** Of one recipient, or of all; the same one each time, so that each mail is given out once. */
  mailbox(address = ''): SourceMailbox {
    const key = address.toLowerCase()
    const found = this.#mailboxes.get(key)
    if (found !== undefined) return found
    const { journal } = this.#host
    const made = key === '' ? new SourceMailbox(journal) : new SourceMailbox(journal, key)
    this.#mailboxes.set(key, made)
    const [oldest] = this.#mailboxes.keys()
    if (this.#mailboxes.size > limits.dev.mailboxesMax && oldest !== undefined) this.#mailboxes.delete(oldest)
    return made
  }

  #arrived(): void {
    const { journal } = this.#host
    const all = journal.since(0)
    const newest = all.at(-1)
    if (newest === undefined) return
    this.accepted += 1
    this.acceptedBytes += newest.facts.size
    const over = all.slice(0, Math.max(0, all.length - this.#mailsMax))
    this.#tell('arrived')
    this.forget(new Set(over.map(({ facts }) => facts.id)))
  }

  #tell(news: News): void {
    for (const listener of [...this.#listeners]) listener(news)
  }

  async #shelved(entry: Entry): Promise<Shelved> {
    return { entry, mail: await entry.mail(), read: this.#read.has(entry.facts.id) }
  }
}
