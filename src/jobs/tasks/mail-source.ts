// The owner's end of an account on another IMAP server: it says where the thread that reads it (workers/mail-source.ts) may connect to,
// asks it for one thing after the other, and ends it with the work, or where an answer is too long in coming.
//
// Connections go to checked addresses only (net/outward/outward.ts), and a password in clear only into networks that may be
// reached although they are private.

import { threadFile } from '#lib/build-info.ts'
import { within } from '#lib/clock.ts'
import { Fault } from '#lib/fault.ts'
import { limits } from '#lib/limits.ts'
import { Thread } from '#lib/process/thread.ts'
import type { ImapAccount, SourceFolder, SourceMessage, Withheld } from '#mail/exchange/imap-source.ts'
import { type Outward, type OutwardFailure, outwardFailure } from '#net/outward/outward.ts'

export interface SourceOptions {
  readonly messageBytesMax: number
  /** Ends it, and what is asked with an error. */
  readonly signal: AbortSignal
}

export class MailSource {
  readonly #thread: Thread
  readonly #signal: AbortSignal
  readonly #stop: () => void

  private constructor({ signal }: SourceOptions) {
    this.#thread = new Thread({ file: threadFile('mail-source'), heapMib: limits.transfer.sourceHeapMib })
    this.#signal = signal
    this.#stop = () => void this.#thread.end()
    signal.addEventListener('abort', this.#stop, { once: true })
  }

  /** Connects and logs in. @throws Fault SourceRefused, SourceInsecure, SourceUnreachable */
  static async open(outward: Outward, account: ImapAccount, options: SourceOptions): Promise<MailSource> {
    const { messageBytesMax, signal } = options
    const found = await addresses(outward, account)
    signal.throwIfAborted()
    const source = new MailSource(options)
    try {
      await source.#thread.up
      let failure: OutwardFailure | null = null
      for (const address of found) {
        failure = await source.#ask<OutwardFailure | null>('open', { address, account, messageBytesMax })
        if (failure === null) return source
      }
      throw unreachable(failure ?? 'unresolved')
    } catch (error) {
      await source.#end()
      signal.throwIfAborted()
      throw error
    }
  }

  folders(): Promise<SourceFolder[]> {
    return this.#ask('folders', null)
  }

  /** Opens a folder for reading, as `ImapSource.select`; null where the other server refuses. */
  select(folder: SourceFolder): Promise<{ readonly validity: string; readonly uids: Uint32Array } | null> {
    return this.#ask('select', folder)
  }

  /** A message of the folder that is open, or why there is none, as `ImapSource.message`. */
  async message(uid: number): Promise<SourceMessage | Withheld> {
    const message = await this.#ask<SourceMessage | Withheld>('message', uid)
    if (typeof message === 'string') return message
    const { buffer, byteOffset, byteLength } = message.content
    return { ...message, content: Buffer.from(buffer, byteOffset, byteLength) }
  }

  async close(): Promise<void> {
    // It may be what failed.
    if (!this.#thread.ended) await this.#ask('close', null, limits.transfer.sourceCloseMs).catch(() => {})
    await this.#end()
  }

  /** @throws Fault SourceUnreachable where it takes too long or too much; whatever else the thread failed with */
  async #ask<Value>(task: string, input: unknown, ms: number = limits.transfer.sourceAnswerMs): Promise<Value> {
    const late = () => new Fault('SourceUnreachable', { text: 'The other server took too long to answer' })
    try {
      return await within(ms, this.#thread.ask<Value>(task, input), late)
    } catch (error) {
      if ((error as { code?: unknown }).code !== 'ERR_WORKER_OUT_OF_MEMORY') throw error
      throw new Fault('SourceUnreachable', { text: 'The other server sent too much', status: 400, cause: error })
    }
  }

  async #end(): Promise<void> {
    this.#signal.removeEventListener('abort', this.#stop)
    await this.#thread.end()
  }
}

async function addresses(outward: Outward, { host, security }: ImapAccount): Promise<readonly string[]> {
  const found = await outward.addresses(host).catch((error: unknown) => {
    throw unreachable(outwardFailure(error))
  })
  const clear = security === 'none'
  if (clear && !found.every(address => outward.permitsPrivate(address))) throw new Fault('SourceInsecure')
  return found
}

/** What does not pass by itself is told at once; the rest is tried again. */
function unreachable(word: OutwardFailure): Fault {
  const final = word === 'blocked' || word === 'unresolved' || word === 'tls'
  const text = `The other server could not be reached (${word})`
  return new Fault('SourceUnreachable', final ? { text, status: 400 } : { text })
}
