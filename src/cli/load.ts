// Sending messages to whoever holds the data directory, for every kind of import: many in a call, some calls at once for
// each folder. Messages are copied into a few buffers that are used again and again, so memory is those buffers, however
// many messages there are. A busy answer is tried again; what one message meets is reported and passed over.
//
// Nothing here reads a source or knows its format.

import { sleep } from '#lib/clock.ts'
import { Fault } from '#lib/fault.ts'
import { limits } from '#lib/limits.ts'
import type { Progress } from './print.ts'
import type { Reach } from './reach.ts'

const { transfer } = limits

/** Of one buffer: a batch and the lines before its messages. */
const bufferBytes = transfer.batchBytes + transfer.headBytesMax

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
  /** May change as soon as `Load.add` has resolved. */
  readonly content: Buffer | (() => AsyncIterable<Buffer>)
}

export interface ImportCounters {
  imported: number
  /** Was there from an earlier run. */
  known: number
  /** Holds no mail: passed over. */
  skipped: number
  /** Holds mail that could not be moved. */
  failed: number
  bytes: number
}

export function newCounters(): ImportCounters {
  return { imported: 0, known: 0, skipped: 0, failed: 0, bytes: 0 }
}

type Result = 'imported' | 'known' | { readonly error: string }

/** One call: messages that go together, and how to send them, as often as need be. */
interface Batch {
  readonly items: { name: string; size: number }[]
  /** Bytes held in memory until it is answered. */
  readonly held: number
  body(): Uint8Array | AsyncIterable<Buffer>
}

/** Sends messages into one folder of one account. */
export class Load {
  readonly #to: Reach
  readonly #path: string
  readonly #counters: ImportCounters
  readonly #progress: Progress
  readonly #calls = new Set<Promise<void>>()
  /** Buffers that no call uses. */
  readonly #free: Buffer[] = []
  #buffer: Buffer | undefined
  #filled = 0
  #items: Batch['items'] = []
  #held = 0
  #failure: unknown

  constructor(
    to: Reach,
    place: { user: string; mailbox: string; source: string },
    counters: ImportCounters,
    progress: Progress,
  ) {
    this.#to = to
    const query = new URLSearchParams({ mailbox: place.mailbox, source: place.source })
    this.#path = `/control/users/${place.user}/messages?${query}`
    this.#counters = counters
    this.#progress = progress
  }

  /** Takes a message; resolves when there is room for the next. @throws what ended a call */
  async add(item: LoadItem): Promise<void> {
    const { name, size, content } = item
    const head = headOf(item)
    if (!Buffer.isBuffer(content) || head.length + size > bufferBytes) return this.#alone(item, head)
    if (this.#filled + head.length + size > bufferBytes) await this.#flush()
    this.#buffer ??= this.#free.pop() ?? Buffer.allocUnsafeSlow(bufferBytes)
    this.#filled += head.copy(this.#buffer, this.#filled)
    this.#filled += content.copy(this.#buffer, this.#filled)
    this.#items.push({ name, size })
    if (this.#items.length >= transfer.batchMessages || this.#filled >= transfer.batchBytes) await this.#flush()
  }

  /** Runs what adds messages. Those it added are stored also where it breaks off. @throws what broke it off, or ended a call */
  async during(adding: () => Promise<void>): Promise<void> {
    try {
      await adding()
    } catch (error) {
      await this.end().catch(() => {})
      throw error
    }
    await this.end()
  }

  /** Resolves when everything is stored. @throws what ended a call */
  async end(): Promise<void> {
    await this.#flush()
    await this.settle()
  }

  /** Resolves when all that is on its way has arrived. @throws what ended a call */
  async settle(): Promise<void> {
    await Promise.all(this.#calls)
    if (this.#failure !== undefined) throw this.#failure
  }

  /** A message that is too large to wait for others. */
  async #alone({ name, size, content }: LoadItem, head: Buffer): Promise<void> {
    await this.#flush()
    // It is sent, perhaps more than once, when whoever gave it has the next one in its place.
    const kept = Buffer.isBuffer(content) ? Buffer.from(content) : content
    const held = Buffer.isBuffer(kept) ? size : 0
    await this.#start({ items: [{ name, size }], held, body: () => pieces(head, kept) })
  }

  async #flush(): Promise<void> {
    const buffer = this.#buffer
    if (buffer === undefined) return
    const bytes = buffer.subarray(0, this.#filled)
    const batch = { items: this.#items, held: bytes.length, body: () => bytes }
    this.#buffer = undefined
    this.#filled = 0
    this.#items = []
    await this.#start(batch, buffer)
  }

  async #start(batch: Batch, buffer?: Buffer): Promise<void> {
    const full = () => this.#calls.size >= transfer.callsMax || this.#held + batch.held > transfer.heldBytesMax
    while (this.#calls.size > 0 && full()) await Promise.race(this.#calls)
    if (this.#failure !== undefined) throw this.#failure
    this.#held += batch.held
    const call: Promise<void> = this.#send(batch)
      .then(() => {
        if (buffer !== undefined) this.#free.push(buffer)
      })
      .catch(error => {
        this.#failure ??= error
      })
      .finally(() => {
        this.#held -= batch.held
        this.#calls.delete(call)
      })
    this.#calls.add(call)
  }

  async #send({ items, body }: Batch): Promise<void> {
    for (let wait = transfer.retryMsMin; ; wait *= 2) {
      try {
        const { results } = await this.#to.send<{ results: Result[] }>(this.#path, body())
        this.#count(items, results)
        return
      } catch (error) {
        const busy = error instanceof Fault && (error.code === 'Overloaded' || error.code === 'TimedOut')
        if (!busy || wait > transfer.retryMsMax) throw error
        await sleep(wait)
      }
    }
  }

  #count(items: Batch['items'], results: readonly Result[]): void {
    for (const [index, item] of items.entries()) {
      const result = results[index]
      if (result === 'imported') {
        this.#counters.imported += 1
        this.#counters.bytes += item.size
      } else if (result === 'known') this.#counters.known += 1
      else {
        this.#counters.failed += 1
        this.#progress.note(`${item.name}: ${result?.error ?? 'no answer'}`)
      }
    }
    this.#progress.add(items.length)
  }
}

function headOf({ key, size, flags, keywords, idate }: LoadItem): Buffer {
  return Buffer.from(`${JSON.stringify({ key, size, flags, keywords, idate })}\n`)
}

async function* pieces(head: Buffer, content: LoadItem['content']): AsyncGenerator<Buffer> {
  yield head
  if (Buffer.isBuffer(content)) yield content
  else yield* content()
}
