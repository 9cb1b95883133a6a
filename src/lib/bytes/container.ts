// The container of exported accounts: three bytes of magic, then records, each a length (32 bits, little endian) and a
// MessagePack array of a kind and its data (api-semantics 10.3).
//
// Ours begins with a header that names it and its version and ends with a record that counts the others and holds the
// hash of everything before it. Reading is bounded: a record has its limit, and what follows none is never believed.

import { createHash } from 'node:crypto'
import { Packr } from 'msgpackr'
import { Fault } from '../fault.ts'
import { limits } from '../limits.ts'

/** Kinds of records. */
export const kinds = { header: 1, entry: 2, end: 3 } as const

const magic = Buffer.from([0x09, 0x06, 0x82])
const packr = new Packr({ useRecords: false, mapsAsObjects: true })

export interface Frame {
  readonly kind: number
  readonly data: Readonly<Record<string, unknown>>
}

/** Writes a container, piece by piece. */
export class ContainerWriter {
  readonly #hash = createHash('sha256')
  readonly #counts: Record<string, number> = {}
  #begun = false

  /** The bytes of a record; the first has the magic before it. */
  record(kind: number, data: Readonly<Record<string, unknown>>): Buffer {
    const body = packr.pack([kind, data])
    const length = Buffer.alloc(4)
    length.writeUInt32LE(body.length)
    const bytes = Buffer.concat(this.#begun ? [length, body] : [magic, length, body])
    this.#begun = true
    this.#hash.update(bytes)
    if (kind === kinds.entry) {
      const name = String(data.collection)
      this.#counts[name] = (this.#counts[name] ?? 0) + 1
    }
    return bytes
  }

  /** The last record. */
  end(): Buffer {
    return this.record(kinds.end, { counts: this.#counts, sha256: this.#hash.copy().digest() })
  }
}

/**
 * Reads a container. Each record comes with the hash of all bytes before it.
 *
 * @throws Fault INVALID_SEQUENCE for what is none, ExportInvalid for one that ends within a record
 */
export async function* readContainer(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Frame & { before: Buffer }> {
  const hash = createHash('sha256')
  let rest: Buffer = Buffer.alloc(0)
  let begun = false
  for await (const chunk of chunks) {
    rest = rest.length === 0 ? Buffer.from(chunk) : Buffer.concat([rest, chunk])
    if (!begun) {
      if (rest.length < magic.length) continue
      if (!rest.subarray(0, magic.length).equals(magic)) throw new Fault('INVALID_SEQUENCE')
      hash.update(magic)
      rest = rest.subarray(magic.length)
      begun = true
    }
    while (rest.length >= 4) {
      const length = rest.readUInt32LE(0)
      if (length === 0 || length > limits.transfer.recordBytesMax) throw new Fault('ExportInvalid')
      if (rest.length < 4 + length) break
      const before = hash.copy().digest()
      hash.update(rest.subarray(0, 4 + length))
      yield { ...frameOf(rest.subarray(4, 4 + length)), before }
      rest = rest.subarray(4 + length)
    }
  }
  if (!begun || rest.length > 0) throw new Fault('ExportInvalid', { text: 'The export is cut short' })
}

function frameOf(body: Buffer): Frame {
  let value: unknown
  try {
    value = packr.unpack(body)
  } catch (cause) {
    throw new Fault('ExportInvalid', { cause })
  }
  const [kind, data] = Array.isArray(value) ? value : []
  if (typeof kind !== 'number' || typeof data !== 'object' || data === null) throw new Fault('ExportInvalid')
  return { kind, data: data as Readonly<Record<string, unknown>> }
}
