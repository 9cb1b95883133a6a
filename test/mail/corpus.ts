// Messages for tests: the collected ones under test/corpus, and a seeded source of chance.

import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

const root = join(import.meta.dirname, '../corpus')

export interface Sample {
  readonly name: string
  readonly bytes: Buffer
}

/** Every collected message, by name. */
export function corpus(): Sample[] {
  return ['mime4j', 'mail-gem'].flatMap(folder =>
    readdirSync(join(root, folder))
      .filter(name => name.endsWith('.eml'))
      .sort()
      .map(name => ({ name: `${folder}/${name}`, bytes: readFileSync(join(root, folder, name)) })),
  )
}

export function sample(name: string): Buffer {
  return readFileSync(join(root, name))
}

/** Numbers that look random and are the same for the same seed (mulberry32). */
export class Chance {
  readonly seed: number
  #state: number

  constructor(seed: number = Number(process.env.TEAL_TEST_SEED ?? process.hrtime.bigint() % 0xffffffffn)) {
    this.seed = seed
    this.#state = seed
  }

  /** 0 up to and without `limit`. */
  below(limit: number): number {
    this.#state = (this.#state + 0x6d2b79f5) | 0
    let mixed = Math.imul(this.#state ^ (this.#state >>> 15), 1 | this.#state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return Math.floor((((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296) * limit)
  }

  pick<T>(list: readonly T[]): T {
    return list[this.below(list.length)] as T
  }

  bytes(length: number): Buffer {
    const out = Buffer.alloc(length)
    for (let at = 0; at < length; at++) out[at] = this.below(256)
    return out
  }

  /** `bytes` cut at random places, often into very small pieces. */
  chunks(bytes: Buffer): Buffer[] {
    const sizeMax = this.pick([1, 3, 17, 80, 400, 5000])
    const out: Buffer[] = []
    for (let at = 0; at < bytes.length; ) {
      const size = 1 + this.below(sizeMax)
      out.push(bytes.subarray(at, at + size))
      at += size
    }
    return out
  }
}
