// The endpoints of a front thread: those that run anywhere run here, the others at home.
//
// Promises: an exchange cannot tell which did; a call that is over here ends there; a body is read only as fast as home takes it,
// and an answer made only as fast as its client reads.

import { Fault } from '#lib/fault.ts'
import { Binary, EventStream, Json, type StreamEvent } from '../answer.ts'
import type { Context, Endpoint, Request } from '../endpoint.ts'
import { type AnsweredCall, type AskedCall, alone, type Bodies, type Home, nameOf } from './crossing.ts'

type Called = Context<Record<string, unknown>>

/** The body of a call that home is answering. */
interface Sending {
  readonly request: Request
  chunks?: AsyncIterator<Buffer>
}

export class Away implements Bodies {
  readonly #home: Home
  /** What home is answering. */
  readonly #asked = new Map<number, Sending>()
  #number = 0

  constructor(home: Home) {
    this.#home = home
  }

  /** The same endpoints, as this thread has them. */
  endpoints(all: readonly Endpoint[]): Endpoint[] {
    return all.map(endpoint =>
      endpoint.anywhere === true ? endpoint : { ...endpoint, run: call => this.#run(endpoint, call) },
    )
  }

  async piece(number: number): Promise<Uint8Array | null> {
    const sending = this.#sending(number)
    sending.chunks ??= sending.request.stream()[Symbol.asyncIterator]()
    const { done, value } = await sending.chunks.next()
    return done === true ? null : alone(value)
  }

  async whole(number: number): Promise<Uint8Array> {
    return alone(await this.#sending(number).request.body())
  }

  drop(number: number): void {
    this.#asked
      .get(number)
      ?.chunks?.return?.()
      .catch(() => {})
  }

  /** @throws Fault TimedOut for a call that is over */
  #sending(number: number): Sending {
    const sending = this.#asked.get(number)
    if (sending === undefined) throw new Fault('TimedOut')
    return sending
  }

  async #run(endpoint: Endpoint, call: Called): Promise<unknown> {
    this.#number += 1
    const number = this.#number
    this.#asked.set(number, { request: call.request })
    // The call counts as long as home works on it, also where its client has left.
    call.signal.addEventListener('abort', () => this.#home.leave(number), { once: true })
    try {
      return this.#answer(number, await this.#home.ask(askedCall(number, endpoint, call)))
    } finally {
      this.#asked.delete(number)
    }
  }

  #answer(number: number, answered: AnsweredCall): unknown {
    switch (answered.kind) {
      case 'plain':
        return answered.reply
      case 'json':
        return new Json(answered.status, answered.body, answered.headers)
      case 'bytes':
        return new Binary(answered)
      case 'chunks': {
        const { status, headers, length } = answered
        const body = this.#pieces<Uint8Array>(number)
        return new Binary({ status, headers, body, ...(length !== undefined && { length }) })
      }
      case 'events':
        return new EventStream(this.#pieces<StreamEvent>(number), answered.greets, answered.retryMs)
    }
  }

  async *#pieces<Piece>(number: number): AsyncGenerator<Piece> {
    let over = false
    try {
      for (;;) {
        const pulled = await this.#home.pull(number)
        if (pulled === null) {
          over = true
          return
        }
        yield pulled.value as Piece
      }
    } finally {
      if (!over) this.#home.leave(number)
    }
  }
}

function askedCall(
  number: number,
  endpoint: Endpoint,
  { request, input, caller, onlyUser, onlyDomains }: Called,
): AskedCall {
  const { id, method, path, route, query, address, secure, isOutside, token, contentType, raw } = request
  return {
    ...{ number, endpoint: nameOf(endpoint), input, caller, onlyUser, onlyDomains },
    request: { id, method, path, route, query, address, secure, isOutside, token, contentType, raw },
    headers: Object.fromEntries(endpoint.headers.map(name => [name, request.header(name)])),
  }
}
