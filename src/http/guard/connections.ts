// The connections of the HTTP listener, as far as its library lets one see them, within the bounds of net/admission.ts.
//
// The library says when a connection opens and from where, that some connection closed, and which one closed as long as no
// request came over it. So a connection holds a ticket, and may be sent away, while it is silent: from its opening until a
// request comes from its address, or until the library has surely ended it. After that it counts in the whole alone, and
// with it whoever keeps connections open with requests; answers to strangers close theirs as soon as half the room is taken.

import { after, monotonic, type Timer } from '#lib/clock.ts'
import { limits } from '#lib/limits.ts'
import { networkOf } from '#lib/network.ts'
import type { Admission, Gate, Ticket } from '#net/admission.ts'

export interface HttpBounds {
  readonly admission: Admission
  readonly connectionsMax: number
  readonly perNetworkMax: number
  /** Called for a connection that was refused, or sent away for another. */
  onRefused?(): void
}

interface Silent {
  readonly ticket: Ticket
  readonly address: string
  /** Monotonic time at which it is over whatever was heard. */
  readonly until: number
}

export class HttpConnections {
  readonly #admission: Admission
  readonly #gate: Gate
  readonly #onRefused: () => void
  /** Those that are open. */
  #open = 0
  /** In the order of their opening. */
  readonly #tickets = new Set<Silent>()
  /** Address -> those over which no request can have come. */
  readonly #silent = new Map<string, Set<Silent>>()
  #timer: Timer | undefined

  constructor({ admission, connectionsMax, perNetworkMax, onRefused }: HttpBounds) {
    this.#admission = admission
    const others = () => Math.max(0, this.#open - this.#tickets.size)
    this.#gate = admission.gate({ connectionsMax, perNetworkMax, others })
    this.#onRefused = () => onRefused?.()
  }

  get open(): number {
    return this.#open
  }

  /** Whether so many are open that a stranger's is closed after its answer. */
  get crowded(): boolean {
    return this.#gate.pressed
  }

  /** Whether it matters where a request comes from. */
  get watching(): boolean {
    return this.#silent.size > 0
  }

  /**
   * One has opened. Undefined where it is to be closed; else what is to be called when it closes before any request.
   *
   * @param close ends it at once
   */
  opened(address: string, close: () => void): (() => void) | undefined {
    const ticket = this.#gate.admit(address)
    this.#open += 1
    if (ticket === undefined) {
      this.#onRefused()
      return undefined
    }
    const silent: Silent = { ticket, address, until: monotonic() + limits.http.silentMs }
    this.#tickets.add(silent)
    const group = this.#silent.get(address) ?? new Set()
    this.#silent.set(address, group.add(silent))
    const displace = () => {
      this.#forget(silent)
      this.#onRefused()
      close()
    }
    ticket.hold({ waiting: 'idle', displace })
    this.#timer ??= after(limits.http.silentMs, () => this.#sweep())
    return () => this.#forget(silent)
  }

  closed(): void {
    this.#open -= 1
  }

  /** A request came from this address, over whichever of its connections: none of them may be touched any more. */
  heard(address: string): void {
    const group = this.#silent.get(address)
    if (group === undefined) return
    this.#silent.delete(address)
    for (const { ticket } of group) ticket.hold(undefined)
  }

  /** A good token came from this address. */
  remember(address: string): void {
    this.#admission.remember(networkOf(address))
  }

  close(): void {
    this.#timer?.cancel()
    this.#admission.drop(this.#gate)
  }

  #forget(silent: Silent): void {
    silent.ticket.hold(undefined)
    silent.ticket.release()
    this.#tickets.delete(silent)
    const group = this.#silent.get(silent.address)
    if (group?.delete(silent) === true && group.size === 0) this.#silent.delete(silent.address)
  }

  #sweep(): void {
    this.#timer = undefined
    const time = monotonic()
    for (const silent of this.#tickets) {
      if (silent.until > time) {
        this.#timer = after(silent.until - time, () => this.#sweep())
        return
      }
      this.#forget(silent)
    }
  }
}
