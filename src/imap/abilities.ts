// The extensions of IMAP that a client switched on for its session (ENABLE, RFC 5161), and what follows from them.
//
// What is on stays on until the session ends. QRESYNC brings CONDSTORE along (RFC 7162 3.2.3).

export type Enableable = 'CONDSTORE' | 'QRESYNC' | 'UTF8=ACCEPT' | 'IMAP4REV2'

export class Abilities {
  #enabled = 0

  get condstore(): boolean {
    return (this.#enabled & 1) !== 0
  }

  get qresync(): boolean {
    return (this.#enabled & 2) !== 0
  }

  /** Text goes out as UTF-8: names of mailboxes, quoted strings. */
  get utf8(): boolean {
    return (this.#enabled & 12) !== 0
  }

  /** UTF-8 is all there is: a search that names a charset is wrong then (RFC 6855 3). */
  get utf8Only(): boolean {
    return (this.#enabled & 4) !== 0
  }

  get rev2(): boolean {
    return (this.#enabled & 8) !== 0
  }

  /** Turns an extension on for the rest of the session; whether it was off. */
  enable(name: Enableable): boolean {
    const bits = { CONDSTORE: 1, QRESYNC: 3, 'UTF8=ACCEPT': 4, IMAP4REV2: 8 }[name]
    const fresh = (this.#enabled & bits) !== bits
    this.#enabled |= bits
    return fresh
  }
}
