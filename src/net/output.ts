// What a connection has to say in a tick, and handing it to the kernel in one go.

import type { Writable } from 'node:stream'

export class Pending {
  /** Undefined while there are none: most connections have nothing to say. */
  #parts: (string | Uint8Array)[] | undefined
  #takers: (() => void)[] | undefined
  #bytes = 0

  get bytes(): number {
    return this.#bytes
  }

  /** @param taken called when nobody will read `data` any more; never where that did not go well */
  add(data: string | Uint8Array, taken: (() => void) | undefined): void {
    this.#parts ??= []
    this.#parts.push(data)
    this.#bytes += data.length
    if (taken === undefined) return
    this.#takers ??= []
    this.#takers.push(taken)
  }

  clear(): void {
    this.#parts = undefined
    this.#takers = undefined
    this.#bytes = 0
  }

  /** Writes all of it in its order, in one system call where the kernel takes it. */
  flush(socket: Writable): void {
    const parts = this.#parts
    const takers = this.#takers
    if (parts === undefined) return
    this.clear()
    const done = takers === undefined ? undefined : (error?: Error | null) => error ?? tell(takers)
    if (parts.every(part => typeof part === 'string')) {
      socket.write(parts.length === 1 ? (parts[0] ?? '') : parts.join(''), done)
      return
    }
    socket.cork()
    const last = parts.pop() ?? ''
    for (const part of parts) socket.write(part)
    socket.write(last, done)
    socket.uncork()
  }
}

function tell(takers: readonly (() => void)[]): void {
  for (const taken of takers) taken()
}
