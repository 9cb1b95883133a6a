// The content of one part without its transfer encoding (RFC 3516), whole in memory or streamed.
//
// Attachments that the store keeps decoded are read as they lie there. Other large parts are decoded twice, once to know
// their length, which comes first on the wire: time instead of memory.

import { Fault } from '#lib/fault.ts'
import { decodeBody, decoder } from '#mail/mime/decode.ts'
import { base64, partAt, quotedPrintable, unknownEncoding, uuencode } from '#mail/mime/section.ts'
import type { MessageSource } from './source.ts'

export interface Content {
  readonly size: number
  stream(start: number, end: number): AsyncIterable<Buffer> | Iterable<Buffer>
}

const encodings: Readonly<Record<number, string>> = {
  [base64]: 'base64',
  [quotedPrintable]: 'quoted-printable',
  [uuencode]: 'uuencode',
}

/**
 * The content at `path`, the whole message for an empty one; undefined where there is no such part.
 *
 * @throws Fault UnknownEncoding for an encoding nobody knows (RFC 3516 4.3); MessageNotFound, BodyUnreadable
 */
export async function contentOf(source: MessageSource, path: readonly number[]): Promise<Content | undefined> {
  if (path.length === 0) await source.prove(0, source.size)
  if (path.length === 0) return { size: source.size, stream: (start, end) => source.stream(start, end) }
  const part = partAt(source.index, path)
  const range = source.section(path, 'BODY')
  if (part === null || range === null) return undefined
  if (part[3] === unknownEncoding) throw new Fault('UnknownEncoding')
  const encoding = encodings[part[3]]
  const { start, end } = range
  await source.prove(start, end)
  if (encoding === undefined) {
    return { size: end - start, stream: (from, to) => source.stream(start + from, start + to) }
  }
  const stored = source.decoded(range)
  if (stored !== null) return stored
  if (source.inMemory) {
    const bytes = decodeBody(await source.read(start, end), encoding)
    return { size: bytes.length, stream: (from, to) => [bytes.subarray(from, to)] }
  }
  let size = 0
  for await (const piece of decoded(source, start, end, encoding)) size += piece.length
  return { size, stream: (from, to) => cut(decoded(source, start, end, encoding), from, to) }
}

async function* decoded(source: MessageSource, start: number, end: number, encoding: string): AsyncGenerator<Buffer> {
  const decoding = decoder(encoding)
  for await (const piece of source.stream(start, end)) yield decoding.write(piece)
  yield decoding.end()
}

/** Bytes `from` to `to` of what comes. */
export async function* cut(pieces: AsyncIterable<Buffer>, from: number, to: number): AsyncGenerator<Buffer> {
  let at = 0
  for await (const piece of pieces) {
    const part = piece.subarray(Math.max(0, from - at), Math.max(0, to - at))
    at += piece.length
    if (part.length > 0) yield part
    if (at >= to) return
  }
}
