// What has arrived, for those who look at all of it: newest first, read or not, with tags, forgotten when there are too many.
//
// Each mail is read once, when it arrived (card.ts), and told of when that is done; lists and searches look at what was found then.
// Forgetting takes a mail from here and from those who wait; the account it was delivered to keeps it.

import { limits } from '#lib/limits.ts'
import type { Entry } from '#testing/arrived/journal.ts'
import { SourceMailbox } from '#testing/arrived/mailbox.ts'
import type { Host } from '#testing/host.ts'
import { type Card, cardOf, cleanTags, emptyCard } from './card.ts'

/** A mail as it stands in lists. */
export interface Shelved {
  readonly entry: Entry
  readonly card: Card
  readonly read: boolean
  readonly tags: readonly string[]
}

interface Kept {
  readonly entry: Entry
  card: Card | undefined
  read: boolean
  /** Undefined: those that the mail brought. */
  tags: readonly string[] | undefined
}

/** What happened: a mail came, some are gone, some were read, some have other tags. */
export type News = 'arrived' | 'gone' | 'read' | 'tagged'

export class Shelf {
  readonly knowsRecords: boolean
  readonly #host: Host
  readonly #mailsMax: number
  /** By id, in the order of arrival. */
  readonly #kept = new Map<string, Kept>()
  readonly #listeners = new Set<(news: News, id?: string) => void>()
  /** By address in lower case; '' is everybody's. */
  readonly #mailboxes = new Map<string, SourceMailbox>()
  readonly #unwatch: () => void
  /** Ends when each mail that is here has been read. */
  #reading: Promise<void> = Promise.resolve()
  /** How many were forgotten, and taken in all. */
  deleted = 0
  accepted = 0
  acceptedBytes = 0

  /** @param knowsRecords whether the records of senders are given, so that what is not proven of a mail says something */
  constructor(host: Host, mailsMax: number, knowsRecords: boolean) {
    this.#host = host
    this.knowsRecords = knowsRecords
    this.#mailsMax = mailsMax
    this.#unwatch = host.journal.watch(() => this.#arrived())
  }

  close(): void {
    this.#unwatch()
    this.#listeners.clear()
  }

  watch(listener: (news: News, id?: string) => void): () => void {
    this.#listeners.add(listener)
    return () => void this.#listeners.delete(listener)
  }

  count(): number {
    return this.#kept.size
  }

  /** Newest first, each of them read. */
  async all(): Promise<Shelved[]> {
    await this.#reading
    return [...this.#kept.values()].reverse().map(shelved)
  }

  /** One by its id; `latest` is the newest. */
  find(id: string): Entry | undefined {
    const wanted = id === 'latest' ? this.#host.journal.since(0).at(-1)?.facts.id : id
    return wanted === undefined ? undefined : this.#kept.get(wanted)?.entry
  }

  /** What is known of one besides itself. */
  async shelved(id: string): Promise<Shelved | undefined> {
    await this.#reading
    const kept = this.#kept.get(id)
    return kept === undefined ? undefined : shelved(kept)
  }

  mark(ids: readonly string[], read: boolean): void {
    const changed = this.#those(ids).filter(kept => kept.read !== read)
    for (const kept of changed) kept.read = read
    if (changed.length > 0) this.#tell('read')
  }

  /** Gives mails these tags instead of those they have. */
  tag(ids: readonly string[], tags: readonly string[]): void {
    const clean = cleanTags(tags)
    const changed = this.#those(ids)
    for (const kept of changed) kept.tags = clean
    if (changed.length > 0) this.#tell('tagged')
  }

  /** Has a tag be called otherwise wherever it is; null takes it away. */
  rename(tag: string, name: string | null): void {
    const wanted = tag.toLowerCase()
    for (const kept of this.#kept.values()) {
      const tags = tagsOf(kept)
      if (tags.some(one => one.toLowerCase() === wanted))
        kept.tags = cleanTags(tags.flatMap(one => (one.toLowerCase() !== wanted ? one : (name ?? []))))
    }
    this.#tell('tagged')
  }

  forget(ids: ReadonlySet<string>): void {
    const gone = [...ids].filter(id => this.#kept.delete(id))
    if (gone.length === 0) return
    this.#host.journal.forget(({ facts }) => ids.has(facts.id))
    this.deleted += gone.length
    this.#tell('gone')
  }

  /** Forgets all, and what was given out. */
  clear(): void {
    this.forget(new Set(this.#kept.keys()))
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

  #those(ids: readonly string[]): Kept[] {
    return ids.flatMap(id => this.#kept.get(id) ?? [])
  }

  #arrived(): void {
    const entry = this.#host.journal.since(0).at(-1)
    if (entry === undefined) return
    const { id, size } = entry.facts
    const kept: Kept = { entry, card: undefined, read: false, tags: undefined }
    this.#kept.set(id, kept)
    this.accepted += 1
    this.acceptedBytes += size
    const over = [...this.#kept.keys()].slice(0, Math.max(0, this.#kept.size - this.#mailsMax))
    if (over.length > 0) this.forget(new Set(over))
    this.#reading = this.#reading.then(async () => {
      if (!this.#kept.has(id)) return
      kept.card = await cardOf(entry, this.knowsRecords).catch(() => emptyCard(entry))
      this.#tell('arrived', id)
    })
  }

  #tell(news: News, id?: string): void {
    for (const listener of [...this.#listeners]) listener(news, id)
  }
}

function tagsOf({ tags, card }: Kept): readonly string[] {
  return tags ?? card?.tags ?? []
}

function shelved(kept: Kept): Shelved {
  const { entry, card = emptyCard(entry), read } = kept
  return { entry, card, read, tags: tagsOf(kept) }
}

/** How often each tag is there, by name. */
export function countTags(all: readonly Shelved[]): { readonly name: string; readonly count: number }[] {
  const counts = new Map<string, { name: string; count: number }>()
  for (const { tags } of all) {
    for (const name of tags) {
      const found = counts.get(name.toLowerCase())
      if (found === undefined) counts.set(name.toLowerCase(), { name, count: 1 })
      else found.count += 1
    }
  }
  return [...counts.values()].toSorted((a, b) => a.name.localeCompare(b.name))
}
