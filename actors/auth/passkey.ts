// Questions for a passkey that nobody has to be known for: signed and dated instead of kept, so that whoever asks much fills nothing.
//
// One serves for the page it was asked by, for minutes, wherever the same key is: the node that is shown the answer need not be the one
// that asked. That it serves once is the caller's to see to.

import { createHmac } from 'node:crypto'
import { now } from '#lib/clock.ts'
import { randomBuffer, sameSecret } from '#lib/id.ts'
import { limits } from '#lib/limits.ts'

const stampBytes = 8
const chanceBytes = 24
const headBytes = stampBytes + chanceBytes

export class PasskeyQuestions {
  readonly #key: Buffer

  /** @param key the same at all nodes */
  constructor(key: Buffer) {
    this.#key = key
  }

  /** A challenge for a page (an origin), in hexadecimal digits. */
  ask(page: string): string {
    const head = Buffer.alloc(headBytes)
    head.writeBigUInt64BE(BigInt(now()))
    randomBuffer(chanceBytes).copy(head, stampBytes)
    return Buffer.concat([head, this.#seal(head, page)]).toString('hex')
  }

  /** Milliseconds it is still good for; 0: it is over, or was never asked by that page. */
  left(challenge: string, page: string): number {
    const bytes = Buffer.from(challenge, 'hex')
    const head = bytes.subarray(0, headBytes)
    if (!sameSecret(bytes.subarray(headBytes), this.#seal(head, page))) return 0
    const age = now() - Number(head.readBigUInt64BE())
    return Math.max(0, limits.webauthn.passkeyMs - Math.max(0, age))
  }

  #seal(head: Buffer, page: string): Buffer {
    return createHmac('sha256', this.#key).update(head).update(page).digest()
  }
}
