// Transfer encodings off: base64, quoted-printable, uuencode (RFC 2045 6), whole or as a stream.
//
// Promises: never throws on what a stranger sent; what is no base64 is passed over, a broken escape stands for itself;
// linear, and a stream holds a few bytes between chunks whatever it is fed. Chunk borders never change the result.

import { createHash, hash } from 'node:crypto'
import { pipeline, Readable, Transform, type TransformCallback } from 'node:stream'
import { Fault } from '#lib/fault.ts'
import { limits } from '#lib/limits.ts'
import { hexDigit } from '../header/words.ts'

/** Bytes `start` to `end` (exclusive) of a message. */
export type ReadRange = (start: number, end: number) => Buffer | Promise<Buffer>

/** Takes an encoding off piece by piece. */
export interface Decoder {
  write(chunk: Buffer): Buffer
  end(): Buffer
}

const nothing = Buffer.alloc(0)

/** A decoder for a Content-Transfer-Encoding in lower case; what is not known passes unchanged. */
export function decoder(encoding: string): Decoder {
  if (encoding === 'base64') return new Base64Decoder()
  if (encoding === 'quoted-printable') return new QuotedDecoder()
  if (/^x-uu|^uuencode/.test(encoding)) return new UuDecoder()
  return { write: chunk => chunk, end: () => nothing }
}

/** A whole body with its encoding taken off. */
export function decodeBody(body: Buffer, encoding: string): Buffer {
  if (encoding === 'base64') {
    // The platform's decoder passes over what is no base64 but stops at padding, and takes the letters of another alphabet (RFC 4648 5).
    const text = body.toString('latin1').replace(/[-_]+/g, '')
    const padding = text.indexOf('=')
    if (padding < 0 || text.length - padding < 100) {
      const rest = padding < 0 ? '' : text.slice(padding)
      if (!/[A-Za-z0-9+/]/.test(rest)) return Buffer.from(text, 'base64')
    }
  }
  return decodedWhole(decoder(encoding), body)
}

function decodedWhole(decoding: Decoder, body: Buffer): Buffer {
  const start = decoding.write(body)
  const rest = decoding.end()
  return rest.length === 0 ? start : Buffer.concat([start, rest])
}

/** The same as a stream, for attachments. */
export function decodeStream(encoding: string): Transform {
  const decoding = decoder(encoding)
  return new Transform({
    transform(chunk: Buffer, _encoding: BufferEncoding, done: TransformCallback) {
      done(null, decoding.write(chunk))
    },
    flush(done: TransformCallback) {
      done(null, decoding.end())
    },
  })
}

/** Content without its transfer encoding. What goes wrong on either side ends the iteration with that error. */
export function decodedStream(source: AsyncIterable<Buffer>, encoding: string): AsyncIterable<Buffer> {
  return pipeline(Readable.from(source), decodeStream(encoding), () => {})
}

/** All of a stream. @throws Fault MessageTooLarge for more than `bytesMax` */
export async function collect(source: AsyncIterable<Buffer>, bytesMax: number): Promise<Buffer> {
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of source) {
    size += chunk.length
    if (size > bytesMax) throw new Fault('MessageTooLarge')
    chunks.push(chunk)
  }
  return Buffer.concat(chunks, size)
}

/** Where the two hashes that the HTTP API shows of an attachment are written (wire-details 7), and how it is encoded. */
interface Hashed {
  readonly transferEncoding: string
  hash: string
  fileContentHash: string
}

/** Of a body in memory: most are short, and a message may have a thousand, so without an object of the engine's for each of them. */
export function hashShort(body: Buffer, hashed: Hashed): void {
  hashed.hash = hash('sha256', body, 'hex')
  hashed.fileContentHash = hash('sha256', decodedWhole(decoder(hashed.transferEncoding), body), 'base64')
}

/** Of one that is read in pieces of limits.body.chunkBytes. */
export async function hashBody(read: ReadRange, start: number, end: number, hashed: Hashed): Promise<void> {
  const encoded = createHash('sha256')
  const decoded = createHash('sha256')
  const decoding = decoder(hashed.transferEncoding)
  for (let at = start; at < end; at += limits.body.chunkBytes) {
    const chunk = await read(at, Math.min(end, at + limits.body.chunkBytes))
    encoded.update(chunk)
    decoded.update(decoding.write(chunk))
  }
  decoded.update(decoding.end())
  hashed.hash = encoded.digest('hex')
  hashed.fileContentHash = decoded.digest('base64')
}

class Base64Decoder implements Decoder {
  #carry = ''

  write(chunk: Buffer): Buffer {
    const text = this.#carry + chunk.toString('latin1').replace(/[^A-Za-z0-9+/=]+/g, '')
    if (!text.includes('=')) {
      const whole = text.length - (text.length % 4)
      this.#carry = text.slice(whole)
      return Buffer.from(text.slice(0, whole), 'base64')
    }
    // Padding ends a quantum; some programs put several encodings one after another.
    const out = Buffer.allocUnsafe(Math.ceil((text.length * 3) / 4))
    let length = 0
    let from = 0
    for (let pad = text.indexOf('='); pad >= 0; pad = text.indexOf('=', from)) {
      // A quantum of one character holds no byte.
      if (pad - from > 1) length += out.write(text.slice(from, pad), length, 'base64')
      for (from = pad + 1; text[from] === '='; ) from += 1
    }
    const whole = text.length - ((text.length - from) % 4)
    this.#carry = text.slice(whole)
    length += out.write(text.slice(from, whole), length, 'base64')
    return out.subarray(0, length)
  }

  end(): Buffer {
    const rest = Buffer.from(this.#carry, 'base64')
    this.#carry = ''
    return rest
  }
}

/** Longest white space that is looked over for a line end behind it; a longer run is text. */
const blankLengthMax = 1000

/** RFC 2045 6.7: white space at the end of a line was added on the way (3), a soft line break is none (5). */
class QuotedDecoder implements Decoder {
  #carry: Buffer = nothing
  /** The last bytes were white space that was given out as text already. */
  #blank = false

  write(chunk: Buffer): Buffer {
    return this.#decode(this.#carry.length === 0 ? chunk : Buffer.concat([this.#carry, chunk]), false)
  }

  end(): Buffer {
    return this.#decode(this.#carry, true)
  }

  #decode(source: Buffer, final: boolean): Buffer {
    this.#carry = nothing
    const out = Buffer.allocUnsafe(source.length)
    let length = 0
    for (let at = 0; at < source.length; ) {
      const byte = source[at]
      if (byte !== 0x3d && !isBlank(byte)) {
        const end = plainEnd(source, at)
        length += source.copy(out, length, at, end)
        at = end
        this.#blank = false
        continue
      }
      const step = byte === 0x3d ? escapeAt(source, at, final) : this.#blankAt(source, at, final)
      if (step === undecided) {
        this.#carry = Buffer.from(source.subarray(at))
        break
      }
      if (typeof step === 'number') at = step
      else {
        if (step.byte === undefined) length += source.copy(out, length, at, step.end)
        else out[length++] = step.byte
        at = step.end
      }
      if (byte === 0x3d) this.#blank = false
    }
    return out.subarray(0, length)
  }

  #blankAt(source: Buffer, at: number, final: boolean): Step {
    let end = at + 1
    while (end < source.length && isBlank(source[end])) end++
    if (this.#blank || end - at > blankLengthMax) {
      this.#blank = true
      return { end }
    }
    if (end === source.length) return final ? end : undecided
    if (source[end] === 0x0d && end + 1 === source.length && !final) return undecided
    const lineEnds = source[end] === 0x0a || (source[end] === 0x0d && (source[end + 1] ?? 0x0a) === 0x0a)
    return lineEnds ? end : { end }
  }
}

/** Where to go on: what lies between is nothing (a number), itself, or one byte. */
type Step = number | { readonly end: number; readonly byte?: number }

function isBlank(byte: number | undefined): boolean {
  return byte === 0x20 || byte === 0x09
}

/** Where text ends that stands for itself; white space within a line is part of it. */
function plainEnd(source: Buffer, start: number): number {
  let at = start
  for (; at < source.length; at++) {
    const byte = source[at] as number
    if (byte === 0x3d) break
    if (byte === 0x20 || byte === 0x09) {
      const next = source[at + 1] ?? 0
      if (next <= 0x20 || next === 0x3d) break
    }
  }
  return at
}

/** What begins with the `=` at `at`. */
function escapeAt(source: Buffer, at: number, final: boolean): Step {
  const high = hexDigit(source[at + 1])
  const low = high < 0 ? -1 : hexDigit(source[at + 2])
  if (low >= 0) return { end: at + 3, byte: high * 16 + low }
  const end = softBreakEnd(source, at, final)
  return end === none ? { end: at + 1 } : end
}

const none = -1
const undecided = -2

/** Offset after the soft line break that starts with the `=` at `at`; none, or undecided while more must come. */
function softBreakEnd(source: Buffer, at: number, final: boolean): number {
  let end = at + 1
  while (end < source.length && (source[end] === 0x20 || source[end] === 0x09)) end++
  if (end - at > blankLengthMax) return none
  if (end >= source.length) return final ? end : undecided
  if (source[end] === 0x0a) return end + 1
  if (source[end] === 0x0d) {
    if (end + 1 >= source.length) return final ? end + 1 : undecided
    return source[end + 1] === 0x0a ? end + 2 : none
  }
  // One digit of two.
  return end === at + 1 && end + 1 >= source.length && hexDigit(source[end]) >= 0 && !final ? undecided : none
}

class UuDecoder implements Decoder {
  #carry: Buffer = nothing
  #inside = false

  write(chunk: Buffer): Buffer {
    const source = this.#carry.length === 0 ? chunk : Buffer.concat([this.#carry, chunk])
    const end = source.lastIndexOf(0x0a) + 1
    this.#carry = Buffer.from(source.subarray(end))
    // A line is 61 characters and its end; what is far longer is no uuencoding and is not kept.
    if (this.#carry.length > limits.body.chunkBytes) this.#carry = nothing
    return this.#decode(source.subarray(0, end))
  }

  end(): Buffer {
    const rest = this.#decode(this.#carry)
    this.#carry = nothing
    return rest
  }

  #decode(source: Buffer): Buffer {
    const out = Buffer.allocUnsafe(source.length)
    let length = 0
    for (let at = 0; at < source.length; ) {
      const found = source.indexOf(0x0a, at)
      const end = found < 0 ? source.length : found
      const line = source.subarray(at, end)
      at = end + 1
      if (!this.#inside) this.#inside = /^begin [0-7]{3,4} /.test(line.toString('latin1', 0, 12))
      else if (/^end\s*$/.test(line.toString('latin1', 0, 8))) this.#inside = false
      else length += uuLine(line, out, length)
    }
    return out.subarray(0, length)
  }
}

function uuLine(line: Buffer, out: Buffer, start: number): number {
  const count = (((line[0] ?? 0x20) - 0x20) & 0x3f) as number
  let written = 0
  for (let at = 1; written < count && at < line.length; at += 4) {
    const [a, b, c, d] = [sixBits(line[at]), sixBits(line[at + 1]), sixBits(line[at + 2]), sixBits(line[at + 3])]
    const bytes = [(a << 2) | (b >> 4), ((b & 15) << 4) | (c >> 2), ((c & 3) << 6) | d]
    for (let index = 0; index < 3 && written < count; index++) out[start + written++] = bytes[index] as number
  }
  return written
}

function sixBits(byte: number | undefined): number {
  return byte === undefined || byte === 0x0d ? 0 : (byte - 0x20) & 0x3f
}
