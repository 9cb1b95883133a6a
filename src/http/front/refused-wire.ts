// A request that the parser of Node does not take although its first line is one: an invented method, CONNECT. It is answered
// as every other that nobody routes, and its connection ends, since nobody knows what follows.
//
// It has no headers and no body.

import { Buffer } from 'node:buffer'
import type { Duplex } from 'node:stream'
import type { Wire } from '../wire.ts'

export class RefusedWire implements Wire {
  readonly method: string
  readonly path: string
  readonly query: string
  readonly crowded = false
  readonly secure = false
  readonly #socket: Duplex

  constructor(method: string, target: string, socket: Duplex) {
    const [path = '', ...query] = target.split('?')
    this.method = method
    this.path = path
    this.query = query.join('?')
    this.#socket = socket
  }

  get gone(): boolean {
    return this.#socket.destroyed
  }

  recognised(): void {}

  header(): string {
    return ''
  }

  headers(): readonly string[] {
    return []
  }

  address(): string {
    return ''
  }

  receive(): void {}

  pause(): void {}

  resume(): void {}

  send(head: string, body: string | Uint8Array): void {
    const length = `\r\nContent-Length: ${Buffer.byteLength(body)}\r\nConnection: close\r\n\r\n`
    this.#socket.write(`HTTP/1.1 ${head}${length}`)
    this.#socket.end(typeof body === 'string' ? body : Buffer.from(body), () => this.#socket.destroy())
  }

  async pipe(): Promise<void> {
    this.cut()
  }

  cut(): void {
    this.#socket.destroy()
  }
}
