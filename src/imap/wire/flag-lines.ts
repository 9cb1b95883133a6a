// FETCH responses that say uids, flags and change numbers and nothing else, written as bytes: a program that opens a folder asks
// for those of every message, and strings of each would be most of the work.
//
// What is written is what the encoder would have made of the text (RFC 9051 7.5.2); flags and keywords are plain ASCII.

import { flagText, systemFlags } from '#mail/flags.ts'

/** What is said of each message, in this order. */
export type FlagItem = 'uid' | 'flags' | 'modseq'

/** Bytes of one response without its keywords, at most. */
const lineBytes = 192
const chunkBytes = 64 * 1024

const bytesOf = (text: string) => Buffer.from(text, 'latin1')
const star = bytesOf('* ')
const fetch = bytesOf(' FETCH (')
const names = { uid: bytesOf('UID '), modseq: bytesOf('MODSEQ (') } as const
const lineEnd = bytesOf(')\r\n')

/** `FLAGS (...)` for each combination of system flags, with `\Recent` behind them. */
const plain = [false, true].flatMap(recent =>
  Array.from({ length: systemFlags + 1 }, (_, flags) => {
    const text = flagText(flags)
    return bytesOf(`FLAGS (${recent ? `\\Recent${text === '' ? '' : ' '}` : ''}${text})`)
  }),
)

const zero = 0x30
const space = 0x20
const closing = 0x29

export class FlagLines {
  readonly #items: readonly FlagItem[]
  readonly #take: (bytes: Buffer) => void
  #buffer: Buffer
  #at = 0

  /**
   * @param count how many messages there are about
   * @param take gets the bytes in pieces, which are not changed afterwards
   */
  constructor(items: readonly FlagItem[], count: number, take: (bytes: Buffer) => void) {
    this.#items = items
    this.#take = take
    this.#buffer = Buffer.allocUnsafeSlow(Math.min(chunkBytes, (count + 1) * lineBytes))
  }

  /** One response. */
  add(seq: number, uid: number, flags: number, recent: boolean, keywords: string | undefined, modseq: number): void {
    this.#room(lineBytes + (keywords?.length ?? 0))
    this.#bytes(star)
    this.#number(seq)
    this.#bytes(fetch)
    let first = true
    for (const item of this.#items) {
      if (!first) this.#buffer[this.#at++] = space
      first = false
      if (item === 'flags') this.#flags(flags, recent, keywords)
      else {
        this.#bytes(names[item])
        this.#number(item === 'uid' ? uid : modseq)
        if (item === 'modseq') this.#buffer[this.#at++] = closing
      }
    }
    this.#bytes(lineEnd)
  }

  /** Hands on what has gathered. */
  flush(): void {
    if (this.#at === 0) return
    this.#take(this.#buffer.subarray(0, this.#at))
    // The rest of it may still be written to: nobody reads there.
    this.#buffer = this.#buffer.subarray(this.#at)
    this.#at = 0
  }

  #room(bytes: number): void {
    if (this.#at + bytes <= this.#buffer.length) return
    this.flush()
    if (bytes > this.#buffer.length) this.#buffer = Buffer.allocUnsafeSlow(Math.max(chunkBytes, bytes))
  }

  #flags(flags: number, recent: boolean, keywords: string | undefined): void {
    const text = plain[(flags & systemFlags) + (recent ? systemFlags + 1 : 0)] as Buffer
    this.#bytes(text)
    if (keywords === undefined) return
    // Behind the flags, where there are some, and before the parenthesis.
    this.#at -= 1
    if (flags !== 0 || recent) this.#buffer[this.#at++] = space
    this.#at += this.#buffer.write(keywords, this.#at, 'latin1')
    this.#buffer[this.#at++] = closing
  }

  /** Shorter than a call of `set` for what is as short as this. */
  #bytes(bytes: Buffer): void {
    const buffer = this.#buffer
    let at = this.#at
    for (let index = 0; index < bytes.length; index++) buffer[at++] = bytes[index] as number
    this.#at = at
  }

  #number(value: number): void {
    if (value > 0x7fffffff) {
      this.#at += this.#buffer.write(String(value), this.#at, 'latin1')
      return
    }
    let length = 1
    for (let bound = 10; bound <= value; bound *= 10) length += 1
    let left = value | 0
    const buffer = this.#buffer
    for (let at = this.#at + length - 1; at >= this.#at; at--) {
      const tenth = (left / 10) | 0
      buffer[at] = zero + left - tenth * 10
      left = tenth
    }
    this.#at += length
  }
}
