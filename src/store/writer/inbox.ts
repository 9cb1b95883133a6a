// What has come to the writer thread, and what of it goes into one transaction.
//
// The thread looks into its port itself: what came while it was syncing is there, though its loop has not been round.

import { limits } from '#lib/limits.ts'
import type { Close, Request } from '#lib/process/task.ts'
import type { WriterRequest } from './writer.ts'

export type Message = Request<'write', WriterRequest> | Request<'limitPages', number> | Close

/** Messages that are taken before the loop of the thread goes round: its timers want a turn, too. */
const messagesInARow = 32

/** The messages of a port, in order. */
export class Inbox {
  readonly #receive: () => unknown
  readonly #held: Message[] = []
  #taken = 0

  /** @param receive what has come though the loop has not been round */
  constructor(receive: () => unknown) {
    this.#receive = receive
  }

  /** Takes in what the port's event gave. */
  put(message: Message): void {
    this.#held.push(message)
  }

  /** The next message, left where it is. */
  peek(): Message | undefined {
    if (this.#held.length === 0) {
      const come = this.#receive()
      if (come !== undefined) this.#held.push(come as Message)
    }
    return this.#held[0]
  }

  take(): Message | undefined {
    const message = this.peek()
    if (message === undefined) return undefined
    this.#taken += 1
    return this.#held.shift()
  }

  /** What is here, with all that has come taken in. */
  arrivals(): Arrivals {
    for (let come = this.#receive(); come !== undefined; come = this.#receive()) {
      this.#held.push(come as Message)
    }
    let units = 0
    let bytes = 0
    let other = false
    for (const message of this.#held) {
      if (isWrite(message)) {
        units += message.input.units.length
        bytes += message.input.bytes
      } else other = true
    }
    return { units, bytes, other }
  }

  /** Whether the loop should go round before the next is taken. */
  get tired(): boolean {
    if (this.#taken < messagesInARow) return false
    this.#taken = 0
    return true
  }
}

/** What has come and is in no transaction yet. */
export interface Arrivals {
  readonly units: number
  /** Bytes they carry, about. */
  readonly bytes: number
  /** Something else than units has come, too. */
  readonly other: boolean
}

/** What goes into one transaction. */
export interface Batch {
  /** Number of its last request. */
  readonly upTo: number
  readonly units: WriterRequest['units']
  /** Bytes they carry, about. */
  readonly bytes: number
}

/** A request, and those that came behind it as far as they fit into one transaction. */
export function gather(first: Request<'write', WriterRequest>, inbox: Inbox): Batch {
  const { batchUnitsMax, batchBytesMax } = limits.writer
  const units = [...first.input.units]
  let { bytes } = first.input
  let upTo = first.id
  for (let next = inbox.peek(); next !== undefined && isWrite(next); next = inbox.peek()) {
    if (units.length + next.input.units.length > batchUnitsMax || bytes + next.input.bytes > batchBytesMax) break
    bytes += next.input.bytes
    units.push(...next.input.units)
    upTo = next.id
    inbox.take()
  }
  return { upTo, units, bytes }
}

function isWrite(message: Message): message is Request<'write', WriterRequest> {
  return !('close' in message) && message.task === 'write'
}
