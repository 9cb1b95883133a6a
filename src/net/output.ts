// What a connection has to say in a tick, and handing it to the kernel in one go.

import type { Writable } from 'node:stream'

export class Pending {
  #parts: (string | Uint8Array)[] = []
  #takers: (() => void)[] = []
  #bytes = 0

  get bytes(): number {
    return this.#bytes
  }

  /** @param taken called when nobody will read `data` any more; never where that did not go well */
  add(data: string | Uint8Array, taken: (() => void) | undefined): void {
    this.#parts.push(data)
    this.#bytes += data.length
    if (taken !== undefined) this.#takers.push(taken)
  }

  clear(): void {
    this.#parts = []
    this.#takers = []
    this.#bytes = 0
  }

  /** Writes all of it in its order, in one system call where the kernel takes it. */
  flush(socket: Writable): void {
    const parts = this.#parts
    const takers = this.#takers
    if (parts.length === 0) return
    this.clear()
    const done = takers.length === 0 ? undefined : (error?: Error | null) => error ?? tell(takers)
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
