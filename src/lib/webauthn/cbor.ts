// CBOR (RFC 8949) as security keys send it: read in any valid form, written in the shortest one (4.2.1, but for the order of
// keys, which stays). Lengths may be longer than needed, strings and maps may be of no stated length.
//
// What is no CBOR, ends too soon or is nested too deep throws; nothing is made larger than what was sent.

export type Cbor = number | bigint | string | Buffer | Other | Tagged | readonly Cbor[] | Map<Cbor, Cbor>

/** A simple value or a floating-point number, as it was sent. */
interface Other {
  readonly raw: Buffer
}

interface Tagged {
  readonly tag: number | bigint
  readonly value: Cbor
}

const depthMax = 16

/** The item that begins at `at`, and where it ends. @throws Error where it is none */
export function readCbor(bytes: Buffer, at = 0): { readonly value: Cbor; readonly end: number } {
  const reader = new Reader(bytes, at)
  const value = reader.item(0)
  return { value, end: reader.at }
}

/** An item in its shortest form. */
export function writeCbor(value: Cbor): Buffer {
  if (typeof value === 'number' || typeof value === 'bigint') {
    return value >= 0 ? head(0, BigInt(value)) : head(1, -1n - BigInt(value))
  }
  if (Buffer.isBuffer(value)) return Buffer.concat([head(2, BigInt(value.length)), value])
  if (typeof value === 'string') return Buffer.concat([head(3, BigInt(Buffer.byteLength(value))), Buffer.from(value)])
  if (value instanceof Map) {
    const entries = [...value].flatMap(([key, inner]) => [writeCbor(key), writeCbor(inner)])
    return Buffer.concat([head(5, BigInt(value.size)), ...entries])
  }
  if ('raw' in value) return value.raw
  if ('tag' in value) return Buffer.concat([head(6, BigInt(value.tag)), writeCbor(value.value)])
  return Buffer.concat([head(4, BigInt(value.length)), ...value.map(writeCbor)])
}

class Reader {
  readonly #bytes: Buffer
  at: number

  constructor(bytes: Buffer, at: number) {
    this.#bytes = bytes
    this.at = at
  }

  item(depth: number): Cbor {
    if (depth > depthMax) throw new Error('nested too deep')
    const start = this.at
    const first = this.#take(1)[0] ?? 0
    const [major, info] = [first >> 5, first & 31]
    if (major === 7) return this.#other(start, info)
    const length = this.#argument(info)
    if (length === undefined) return this.#streamed(major, depth)
    if (major === 0) return plain(length)
    if (major === 1) return plain(-1n - length)
    if (major === 2) return Buffer.from(this.#take(length))
    if (major === 3) return text(this.#take(length))
    if (major === 6) return { tag: plain(length), value: this.item(depth + 1) }
    // Every item takes a byte at least.
    if (length > BigInt(this.#bytes.length)) throw new Error('ends too soon')
    if (major === 4) return Array.from({ length: Number(length) }, () => this.item(depth + 1))
    const map = new Map<Cbor, Cbor>()
    for (let left = Number(length); left > 0; left--) this.#entry(map, depth)
    return map
  }

  /** Pieces up to a stop (3.2). */
  #streamed(major: number, depth: number): Cbor {
    if (major === 4) {
      const items: Cbor[] = []
      while (!this.#stops()) items.push(this.item(depth + 1))
      return items
    }
    if (major === 5) {
      const map = new Map<Cbor, Cbor>()
      while (!this.#stops()) this.#entry(map, depth)
      return map
    }
    if (major !== 2 && major !== 3) throw new Error('no length')
    const pieces: Cbor[] = []
    while (!this.#stops()) {
      const next = this.#bytes[this.at] ?? 0
      if (next >> 5 !== major || (next & 31) === 31) throw new Error('a piece of another kind')
      pieces.push(this.item(depth + 1))
    }
    if (major === 3) return pieces.join('')
    return Buffer.concat(pieces as Buffer[])
  }

  #entry(map: Map<Cbor, Cbor>, depth: number): void {
    const key = this.item(depth + 1)
    if (map.has(key)) throw new Error('a key twice')
    map.set(key, this.item(depth + 1))
  }

  #stops(): boolean {
    if (this.#bytes[this.at] !== 0xff) return false
    this.at += 1
    return true
  }

  #other(start: number, info: number): Other {
    if (info > 27) throw new Error('no simple value')
    const more = { 24: 1, 25: 2, 26: 4, 27: 8 }[info] ?? 0
    this.#take(more)
    if (info === 24 && (this.#bytes[start + 1] ?? 0) < 32) throw new Error('no simple value')
    return { raw: this.#bytes.subarray(start, this.at) }
  }

  /** The number behind the first byte; undefined where no length is stated. */
  #argument(info: number): bigint | undefined {
    if (info < 24) return BigInt(info)
    if (info === 31) return undefined
    if (info > 27) throw new Error('reserved')
    return BigInt(`0x${this.#take(2 ** (info - 24)).toString('hex')}`)
  }

  #take(length: number | bigint): Buffer {
    if (BigInt(length) > BigInt(this.#bytes.length - this.at)) throw new Error('ends too soon')
    const taken = this.#bytes.subarray(this.at, this.at + Number(length))
    this.at += Number(length)
    return taken
  }
}

function text(bytes: Buffer): string {
  return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
}

function plain(value: bigint): number | bigint {
  const number = Number(value)
  return Number.isSafeInteger(number) ? number : value
}

function head(major: number, value: bigint): Buffer {
  const first = major << 5
  if (value < 24n) return Buffer.from([first | Number(value)])
  const size = [1, 2, 4].find(bytes => value < 1n << BigInt(8 * bytes)) ?? 8
  return Buffer.from(
    `${(first | (24 + Math.log2(size))).toString(16)}${value.toString(16).padStart(2 * size, '0')}`,
    'hex',
  )
}
