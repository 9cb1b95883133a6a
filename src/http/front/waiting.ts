// An answer of uWebSockets.js that waits for its socket to take bytes again.
//
// The library calls when it does, with how much of the answer has been taken; whoever waits then tries the rest. One wait
// at a time; nobody waits for a client that has left.

export class Waiting {
  /** Writes what waits for the socket; true where it has been taken. */
  #retry: ((offset: number) => boolean) | null = null
  #wake: (() => void) | null = null

  /** Resolves when `retry` succeeded, or the client has left. */
  until(retry: (offset: number) => boolean): Promise<void> {
    return new Promise(resolve => {
      this.#retry = retry
      this.#wake = resolve
    })
  }

  /** The socket takes bytes again, `offset` of the answer so far. True where what waited has been taken. */
  writable(offset: number): boolean {
    if (this.#retry === null) return true
    if (!this.#retry(offset)) return false
    this.#retry = null
    this.#wake?.()
    return true
  }

  leave(): void {
    this.#wake?.()
  }
}
