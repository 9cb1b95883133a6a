// What has come to the writer thread, and what of it goes into one transaction.
//
// The thread looks into its port itself: what came while it was syncing is there, though its loop has not been round.

import { type MessagePort, receiveMessageOnPort } from 'node:worker_threads'
import { limits } from '#lib/limits.ts'
import type { WriterRequest } from './writer.ts'

export type Message = WriterRequest | { close: true } | { limitPages: number }

/** Messages that are taken before the loop of the thread goes round: its timers want a turn, too. */
const messagesInARow = 32

/** The messages of a port, in order. */
export class Inbox {
  readonly #port: MessagePort
  readonly #held: Message[] = []
  #taken = 0

  constructor(port: MessagePort) {
    this.#port = port
  }

  /** Takes in what the port's event gave. */
  put(message: Message): void {
    this.#held.push(message)
  }

  /** The next message, left where it is. */
  peek(): Message | undefined {
    if (this.#held.length === 0) {
      const come = receiveMessageOnPort(this.#port)
      if (come !== undefined) this.#held.push(come.message as Message)
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
    for (let come = receiveMessageOnPort(this.#port); come !== undefined; come = receiveMessageOnPort(this.#port)) {
      this.#held.push(come.message as Message)
    }
    let units = 0
    let bytes = 0
    let other = false
    for (const message of this.#held) {
      if ('units' in message) {
        units += message.units.length
        bytes += message.bytes
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
export function gather(first: WriterRequest, inbox: Inbox): Batch {
  const { batchUnitsMax, batchBytesMax } = limits.writer
  const units = [...first.units]
  let { number: upTo, bytes } = first
  for (let next = inbox.peek(); next !== undefined && 'units' in next; next = inbox.peek()) {
    if (units.length + next.units.length > batchUnitsMax || bytes + next.bytes > batchBytesMax) break
    bytes += next.bytes
    units.push(...next.units)
    upTo = next.number
    inbox.take()
  }
  return { upTo, units, bytes }
}
