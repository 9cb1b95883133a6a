// A request's body on its way from the socket: held until somebody takes it, whole or as a stream, never beyond a cap.
//
// The socket is paused while more waits than the window allows and nobody takes it. What is held counts against one
// sum for all requests (`Held`), so that many large uploads at once are refused instead of filling the memory, and against that of
// whose they are, so that neither strangers nor one account take the room of all.

import { Pieces } from '#lib/bytes/pieces.ts'
import { Fault } from '#lib/fault.ts'
import { limits } from '#lib/limits.ts'

/** Whose a body is: an account by its id, a stranger's, or of who is bounded by nothing but the whole. */
export const [strangers, unbounded] = ['strangers', '']

/** Bytes of bodies in memory, of all requests of one server. */
export class Held {
  readonly #bytesMax: number
  #bytes = 0
  /** Of whom how much. */
  readonly #owners = new Map<string, number>()

  constructor(bytesMax: number = limits.http.heldBytesMax) {
    this.#bytesMax = bytesMax
  }

  get bytes(): number {
    return this.#bytes
  }

  take(bytes: number, owner: string = unbounded): boolean {
    if (this.#bytes + bytes > this.#bytesMax || (this.#owners.get(owner) ?? 0) + bytes > this.#most(owner)) return false
    this.#add(bytes, owner)
    return true
  }

  give(bytes: number, owner: string = unbounded): void {
    this.#add(-bytes, owner)
  }

  /** It turns out whose they are. */
  hand(bytes: number, from: string, to: string): void {
    this.#add(-bytes, from)
    this.#add(bytes, to)
  }

  #most(owner: string): number {
    const { heldStrangeShare, heldAccountShare, uploadBytesMax } = limits.http
    if (owner === unbounded) return Number.POSITIVE_INFINITY
    if (owner === strangers) return this.#bytesMax * heldStrangeShare
    // The largest body there may be is let in wherever nothing else is held.
    return Math.max(this.#bytesMax * heldAccountShare, uploadBytesMax)
  }

  #add(bytes: number, owner: string): void {
    this.#bytes += bytes
    const left = (this.#owners.get(owner) ?? 0) + bytes
    if (left === 0) this.#owners.delete(owner)
    else this.#owners.set(owner, left)
  }
}

/** What the body asks of its socket. */
export interface Tap {
  pause(): void
  resume(): void
}

type Mode = 'waiting' | 'whole' | 'stream' | 'dropped'

export class Body {
  readonly #tap: Tap
  readonly #held: Held
  readonly #bytesMax: number
  #owner: string
  readonly #chunks = new Pieces()
  #mode: Mode = 'waiting'
  #waiting = 0
  #received = 0
  #paused = false
  #complete = false
  #failure: Error | null = null
  #wake: (() => void) | null = null

  /** @param owner whose it is, as far as that is known */
  constructor(tap: Tap, held: Held, bytesMax: number, owner: string = unbounded) {
    this.#tap = tap
    this.#held = held
    this.#bytesMax = bytesMax
    this.#owner = owner
  }

  /** It turned out whose it is. */
  set owner(owner: string) {
    this.#held.hand(this.#waiting, this.#owner, owner)
    this.#owner = owner
  }

  get complete(): boolean {
    return this.#complete
  }

  /** Bytes seen so far. */
  get received(): number {
    return this.#received
  }

  /** A chunk from the socket; `bytes` is valid during the call only. */
  push(bytes: Uint8Array, last: boolean): void {
    this.#received += bytes.byteLength
    this.#complete ||= last
    if (this.#mode !== 'dropped' && this.#failure === null) this.#keep(bytes)
    if (this.#complete || this.#failure !== null) this.#wakeUp()
  }

  #keep(bytes: Uint8Array): void {
    if (bytes.byteLength === 0) return
    const fits = this.#received <= this.#bytesMax
    if (!fits || !this.#held.take(bytes.byteLength, this.#owner)) {
      this.fail(fits ? new Fault('Overloaded', { retryAfter: 1 }) : new Fault('BodyTooLarge'))
      return
    }
    this.#chunks.push(Buffer.from(bytes))
    this.#waiting += bytes.byteLength
    if (this.#mode === 'stream') this.#wakeUp()
    if (this.#mode !== 'whole' && this.#waiting > limits.http.bodyWindowBytes && !this.#complete) this.#pause()
  }

  /** Ends the body: whoever takes it gets `failure`. */
  fail(failure: Error): void {
    this.#failure ??= failure
    this.#release()
    this.#wakeUp()
    this.#resume()
  }

  /** Nobody wants the rest: it is read and thrown away. */
  drop(): void {
    this.#mode = 'dropped'
    this.#release()
    this.#resume()
  }

  /** All of it. The memory counts as held until `drop`. */
  async whole(): Promise<Buffer> {
    this.#take('whole')
    this.#resume()
    while (!this.#complete && this.#failure === null) await this.#sleep()
    if (this.#failure !== null) throw this.#failure
    return this.#chunks.whole()
  }

  async *stream(): AsyncGenerator<Buffer> {
    this.#take('stream')
    try {
      for (;;) {
        if (this.#failure !== null) throw this.#failure
        const chunk = this.#chunks.shift()
        if (chunk !== undefined) {
          this.#waiting -= chunk.length
          this.#held.give(chunk.length, this.#owner)
          if (this.#waiting <= limits.http.bodyWindowBytes / 2) this.#resume()
          yield chunk
        } else if (this.#complete) return
        else await this.#sleep()
      }
    } finally {
      this.drop()
    }
  }

  #take(mode: Mode): void {
    if (this.#mode !== 'waiting') throw new Error('The body has been taken already')
    this.#mode = mode
  }

  #sleep(): Promise<void> {
    return new Promise(resolve => {
      this.#wake = resolve
    })
  }

  #wakeUp(): void {
    const wake = this.#wake
    this.#wake = null
    wake?.()
  }

  #pause(): void {
    if (this.#paused) return
    this.#paused = true
    this.#tap.pause()
  }

  #resume(): void {
    if (!this.#paused) return
    this.#paused = false
    this.#tap.resume()
  }

  #release(): void {
    this.#held.give(this.#waiting, this.#owner)
    this.#waiting = 0
    this.#chunks.take()
  }
}
