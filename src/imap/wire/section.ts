// Sections of a message: `BODY[1.2.HEADER.FIELDS (To)]<0.100>` as written, and the bytes it means (RFC 9051 6.4.5.1).
//
// A section is bytes of the stored message as it arrived, given as a stretch to be read wherever that is possible; only
// picked header lines are copied. Depth is bounded by limits.mime.depthMax.

import { limits } from '#lib/limits.ts'
import { FieldPicker } from '#mail/header/pick.ts'
import type { Range } from '#mail/mime/section.ts'
import { cut } from '../selected/content.ts'
import type { MessageSource } from '../selected/source.ts'
import { type Decoder, malformed } from './decoder.ts'
import { astring } from './encoder.ts'

export interface Section {
  readonly part: readonly number[]
  readonly what: '' | 'HEADER' | 'TEXT' | 'MIME' | 'HEADER.FIELDS' | 'HEADER.FIELDS.NOT'
  /** Names as written. */
  readonly fields: readonly string[]
  /** `<start.count>`. */
  readonly partial: readonly [start: number, count: number] | undefined
  /** As the answer repeats it, `[1.HEADER]<0>`. */
  readonly label: string
}

/** Bytes of a message: held here, or a stretch of it that is still to be read, or what is picked out of it as it is sent. */
export type Extent =
  | { readonly bytes: Buffer }
  | { readonly start: number; readonly end: number }
  | { readonly size: number; readonly pieces: () => AsyncIterable<Buffer> }

/** Reads `[section]<partial>`; the cursor stands at the bracket. */
export function parseSection(decoder: Decoder, binary: boolean): Section {
  decoder.expect('[')
  const part: number[] = []
  let what: Section['what'] = ''
  let fields: string[] = []
  if (!decoder.accept(']')) {
    const spec = decoder.name()
    const match = /^(?:(\d+(?:\.\d+)*)(?:\.(.+))?|([A-Z].*))$/.exec(spec)
    if (match === null) throw malformed('The section is not valid')
    for (const number of (match[1] ?? '').split('.')) if (number !== '') part.push(partNumber(number))
    if (part.length > limits.mime.depthMax) throw malformed('The section is nested too deeply')
    what = specifier(match[2] ?? match[3] ?? '', part.length > 0, binary)
    if (what === 'HEADER.FIELDS' || what === 'HEADER.FIELDS.NOT') {
      decoder.space()
      fields = decoder.list(() => decoder.astring())
      if (fields.length === 0) throw malformed('The list of header fields is empty')
    }
    decoder.expect(']')
  }
  const partial = parsePartial(decoder)
  const names = fields.length === 0 ? '' : ` (${fields.map(field => astring(field)).join(' ')})`
  const spec = [part.join('.'), what].filter(text => text !== '').join('.')
  return { part, what, fields, partial, label: `[${spec}${names}]${partial === undefined ? '' : `<${partial[0]}>`}` }
}

function specifier(text: string, inPart: boolean, binary: boolean): Section['what'] {
  if (text === '') return ''
  const known = ['HEADER', 'TEXT', 'HEADER.FIELDS', 'HEADER.FIELDS.NOT', ...(inPart ? ['MIME'] : [])]
  if (binary || !known.includes(text)) throw malformed('The section is not valid')
  return text as Section['what']
}

function parsePartial(decoder: Decoder): Section['partial'] {
  if (!decoder.accept('<')) return undefined
  const start = decoder.number(Number.MAX_SAFE_INTEGER)
  decoder.expect('.')
  const count = decoder.number64()
  decoder.expect('>')
  if (count === 0) throw malformed('An empty part of a section')
  return [start, count]
}

function partNumber(text: string): number {
  const number = Number(text)
  if (number < 1 || number > 0xffffffff) throw malformed('The section is not valid')
  return number
}

/** The bytes a section means; undefined where the message has no such part. */
export async function extentOf(source: MessageSource, section: Section): Promise<Extent | undefined> {
  const extent = await wholeExtent(source, section)
  if (extent === undefined || section.partial === undefined) return extent
  const [from, count] = section.partial
  if ('bytes' in extent) return { bytes: extent.bytes.subarray(from, from + count) }
  if ('pieces' in extent) {
    const [start, end] = [Math.min(from, extent.size), Math.min(from + count, extent.size)]
    return { size: end - start, pieces: () => cut(extent.pieces(), start, end) }
  }
  const start = Math.min(extent.end, extent.start + from)
  return { start, end: Math.min(extent.end, start + count) }
}

async function wholeExtent(source: MessageSource, section: Section): Promise<Extent | undefined> {
  const { part, what } = section
  if (part.length === 0 && what === '') return { start: 0, end: source.size }
  const kind = what === '' ? 'BODY' : what === 'TEXT' || what === 'MIME' ? what : 'HEADER'
  const range = source.section(part, kind)
  if (range === null) return undefined
  if (what !== 'HEADER.FIELDS' && what !== 'HEADER.FIELDS.NOT') return range
  return pickFields(source, range, section)
}

/** Picks are kept up to this size; what a larger header has is picked twice: for its length, and to be sent. */
const keptBytesMax = 64 * 1024

async function pickFields(source: MessageSource, range: Range, { fields, what }: Section): Promise<Extent> {
  const wanted = what === 'HEADER.FIELDS'
  const names = new Set(fields.map(name => name.toLowerCase()))
  const { start, end } = range
  if (end - start <= keptBytesMax) {
    const picker = new FieldPicker(names, wanted)
    return { bytes: Buffer.concat([picker.write(await source.read(start, end)), picker.end()]) }
  }
  const pieces = () => picked(source, range, new FieldPicker(names, wanted))
  let size = 0
  for await (const piece of pieces()) size += piece.length
  return { size, pieces }
}

async function* picked(source: MessageSource, { start, end }: Range, picker: FieldPicker): AsyncGenerator<Buffer> {
  for await (const piece of source.stream(start, end)) yield picker.write(piece)
  yield picker.end()
}
