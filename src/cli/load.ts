// Sending messages to whoever holds the data directory, for every kind of import: many in a call, some calls at once for
// each folder, memory bounded by both. A busy answer is tried again; what one message meets is reported and passed over.
//
// Nothing here reads a source or knows its format.

import { sleep } from '#lib/clock.ts'
import { Fault } from '#lib/fault.ts'
import { limits } from '#lib/limits.ts'
import type { Progress } from './print.ts'
import type { Reach } from './reach.ts'

const { transfer } = limits

export interface LoadItem {
  /** The name the message has at its source. */
  readonly key: string
  /** How reports call it. */
  readonly name: string
  readonly flags: number
  readonly keywords: readonly string[]
  readonly idate: number | null
  /** Bytes in all. */
  readonly size: number
  readonly content: Buffer | (() => AsyncIterable<Buffer>)
}

export interface Tally {
  imported: number
  /** Was there from an earlier run. */
  known: number
  /** Holds no mail: passed over. */
  skipped: number
  /** Holds mail that could not be moved. */
  failed: number
  bytes: number
}

export function newTally(): Tally {
  return { imported: 0, known: 0, skipped: 0, failed: 0, bytes: 0 }
}

type Result = 'imported' | 'known' | { readonly error: string }

/** Sends messages into one folder of one account. */
export class Load {
  readonly #to: Reach
  readonly #path: string
  readonly #tally: Tally
  readonly #progress: Progress
  readonly #calls = new Set<Promise<void>>()
  #batch: LoadItem[] = []
  #bytes = 0
  #failure: unknown

  constructor(to: Reach, place: { user: string; mailbox: string; source: string }, tally: Tally, progress: Progress) {
    this.#to = to
    const query = new URLSearchParams({ mailbox: place.mailbox, source: place.source })
    this.#path = `/control/users/${place.user}/messages?${query}`
    this.#tally = tally
    this.#progress = progress
  }

  /** Takes a message; resolves when there is room for the next. */
  async add(item: LoadItem): Promise<void> {
    if (this.#batch.length > 0 && this.#bytes + item.size > transfer.batchBytes) await this.#flush()
    this.#batch.push(item)
    this.#bytes += item.size
    if (this.#batch.length >= transfer.batchMessages || this.#bytes >= transfer.batchBytes) await this.#flush()
  }

  /** Resolves when everything is stored. @throws what ended a call */
  async end(): Promise<void> {
    await this.#flush()
    await Promise.all(this.#calls)
    if (this.#failure !== undefined) throw this.#failure
  }

  async #flush(): Promise<void> {
    while (this.#calls.size >= transfer.callsMax) await Promise.race(this.#calls)
    if (this.#failure !== undefined) throw this.#failure
    const batch = this.#batch
    if (batch.length === 0) return
    this.#batch = []
    this.#bytes = 0
    const call: Promise<void> = this.#send(batch)
      .catch(error => {
        this.#failure ??= error
      })
      .finally(() => this.#calls.delete(call))
    this.#calls.add(call)
  }

  async #send(batch: readonly LoadItem[]): Promise<void> {
    for (let wait = transfer.retryMsMin; ; wait *= 2) {
      try {
        const body = batch.every(({ content }) => Buffer.isBuffer(content)) ? whole(batch) : pieces(batch)
        const { results } = await this.#to.send<{ results: Result[] }>(this.#path, body)
        this.#count(batch, results)
        return
      } catch (error) {
        const busy = error instanceof Fault && (error.code === 'Overloaded' || error.code === 'TimedOut')
        if (!busy || wait > transfer.retryMsMax) throw error
        await sleep(wait)
      }
    }
  }

  #count(batch: readonly LoadItem[], results: readonly Result[]): void {
    for (const [index, item] of batch.entries()) {
      const result = results[index]
      if (result === 'imported') {
        this.#tally.imported += 1
        this.#tally.bytes += item.size
      } else if (result === 'known') this.#tally.known += 1
      else {
        this.#tally.failed += 1
        this.#progress.note(`${item.name}: ${result?.error ?? 'no answer'}`)
      }
    }
    this.#progress.add(batch.length)
  }
}

function headOf({ key, size, flags, keywords, idate }: LoadItem): Buffer {
  return Buffer.from(`${JSON.stringify({ key, size, flags, keywords, idate })}\n`)
}

function whole(batch: readonly LoadItem[]): Buffer {
  return Buffer.concat(batch.flatMap(item => [headOf(item), item.content as Buffer]))
}

async function* pieces(batch: readonly LoadItem[]): AsyncGenerator<Buffer> {
  for (const item of batch) {
    yield headOf(item)
    if (Buffer.isBuffer(item.content)) yield item.content
    else yield* item.content()
  }
}
