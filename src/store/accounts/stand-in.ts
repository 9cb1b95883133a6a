// What is checked in the place of a password that is not there: of a name that nobody has, or of an account without one.
//
// Hashes that were brought along from elsewhere cost more than our own. So a name nobody has costs what some account does, and the same
// one each time: neither the time of an answer nor that of many at once tells whether somebody has the name. What is checked is never the
// password that was presented, so that no answer depends on whether it is that account's.

import { createHmac } from 'node:crypto'
import type { Reader } from '../engine/reader.ts'
import { Recent } from '../mailboxes/recent.ts'

export class StandIns {
  readonly #read: Reader
  readonly #key: Buffer
  /** Account -> the stored hash of another; null where there is none. */
  readonly #hashes: Recent<string | null>

  /**
   * @param key the same at all nodes
   * @param commits so far that may have changed an account
   */
  constructor(read: Reader, key: Buffer, commits: () => number) {
    this.#read = read
    this.#key = key
    this.#hashes = new Recent(commits)
  }

  /** The stored hash of some account. @param account that of an attempt, in its compared form */
  hash(account: string): Promise<string | null> {
    return this.#hashes.get(account, () => this.#find(account))
  }

  /** A text as long as the password, of this account and password alone. */
  text(account: string, password: string): string {
    const length = Buffer.byteLength(password)
    const digits = this.#digest(`${account}\0${password}`).toString('hex')
    return digits.repeat(Math.ceil(length / digits.length)).slice(0, length)
  }

  async #find(account: string): Promise<string | null> {
    const last = (await this.#read.one<{ num: number | null }>('SELECT MAX(num) AS num FROM "user"'))?.num ?? 0
    const num = place(this.#digest(account).readUInt32BE(), last + 1)
    const next = 'SELECT password FROM "user" WHERE num >= ? AND deleted IS NULL ORDER BY num LIMIT 1'
    const found = await this.#read.one<{ password: string }>(next, num)
    return (found ?? (await this.#read.one<{ password: string }>(next, 0)))?.password || null
  }

  #digest(text: string): Buffer {
    return createHmac('sha256', this.#key).update(text).digest()
  }
}

/** One of `size` places, by linear hashing: where one is added, only those of one other place move. */
function place(chance: number, size: number): number {
  const upper = 2 ** Math.ceil(Math.log2(size))
  return chance % upper < size ? chance % upper : chance % (upper / 2)
}
