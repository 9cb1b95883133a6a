// One part of a message: what is known of it, and what its header says about it (RFC 2045, 2046, 2183).
//
// Promises: reading a header never fails; what cannot be understood is plain text (RFC 2045 5.2).

import { isAscii } from 'node:buffer'
import { withoutComments } from '../header/comment.ts'
import { Header } from '../header/header.ts'
import { parseValued, type Valued } from './parameter.ts'

export interface MimePart {
  /** Offset of the first header byte in the message. */
  readonly headerStart: number
  /** Offset of the first body byte: the byte after the empty line. */
  headerEnd: number
  /** Offset after the body, without the line end that belongs to the delimiter (RFC 2046 5.1.1). */
  bodyEnd: number
  /** Lines of the body, a last one without line end included; counted for text and embedded messages, else 0. */
  lines: number
  header: Header
  /** What else it says. */
  said: Said
  /** `value` has the form type/subtype; the default where the header has none or no valid one. */
  type: Valued
  /** Lower case, `7bit` where absent. */
  encoding: string
  disposition: Valued | null
  /** Content-ID without its angle brackets. */
  id: string | null
  /** Parts of a multipart (one at least), or the message within message/rfc822. */
  children: readonly MimePart[]
}

const none: readonly MimePart[] = []

export function addChild(part: MimePart, child: MimePart): void {
  // Most have none, and each would keep a list of its own for them.
  if (part.children === none) part.children = [child]
  else (part.children as MimePart[]).push(child)
}

/** Fields of a part that are shown and mean nothing here, as `Header.raw` gives them. */
export interface Said {
  readonly id: string | undefined
  readonly description: string | undefined
  readonly md5: string | undefined
  readonly language: string | undefined
  readonly location: string | undefined
}

/** Of most parts. */
export const nothingSaid: Said = {
  id: undefined,
  description: undefined,
  md5: undefined,
  language: undefined,
  location: undefined,
}

export const textPlain = parseValued('text/plain; charset=us-ascii')
export const messageDefault = parseValued('message/rfc822')
const noHeader = new Header(Buffer.alloc(0))

/** A part that starts at `start` and of which nothing is known yet but its default type. */
export function emptyPart(start: number, type: Valued): MimePart {
  return {
    headerStart: start,
    headerEnd: start,
    bodyEnd: start,
    lines: 0,
    header: noHeader,
    said: nothingSaid,
    type,
    encoding: '7bit',
    disposition: null,
    id: null,
    children: none,
  }
}

/**
 * Gives a part the block that stands where its header belongs. False where that is text: without a field, and without the empty line before
 * it that somebody forgot, a program that hands over a line of text and no more.
 *
 * @param mayBeText the block is there whole
 */
export function takeHeader(part: MimePart, block: Buffer, mayBeText: boolean): boolean {
  const header = new Header(block)
  const isText = mayBeText && part.type === textPlain && header.fields.length === 0
  if (isText && !/^\r{0,2}\n/.test(block.toString('latin1', 0, 3))) return false
  part.header = header
  describe(part)
  return true
}

/** What a header block says about its part. */
export function describe(part: MimePart): void {
  const { header } = part
  const type = header.raw('content-type')
  if (type !== undefined) {
    const valued = parseValued(type)
    // RFC 2045 5.2: what cannot be understood is plain text.
    if (/^[!-.0-~]+\/[!-.0-~]+$/.test(valued.value)) part.type = valued
    else if (valued.value === 'multipart') part.type = { ...valued, value: 'multipart/mixed' }
    else if (valued.value !== '') part.type = { ...valued, value: 'text/plain' }
  }
  const encoding = header.raw('content-transfer-encoding')
  if (encoding !== undefined) part.encoding = encodingName(encoding)
  const disposition = header.raw('content-disposition')
  if (disposition !== undefined) {
    const valued = parseValued(disposition)
    // What cannot be understood is an attachment (RFC 2183 2.8).
    part.disposition = valued.value === '' && valued.written.length > 0 ? { ...valued, value: 'attachment' } : valued
  }
  part.said = saidIn(header)
  const { id } = part.said
  if (id !== undefined) part.id = (/<([^<>]*)>/.exec(id)?.[1] ?? id.replace(/^<|>$/g, '')).trim() || null
  // Asked for again is the message's own header; a thousand parts would keep what was found.
  if (part.headerStart > 0) header.forget()
}

function saidIn(header: Header): Said {
  const id = header.raw('content-id')
  const description = header.raw('content-description')
  const md5 = header.raw('content-md5')
  const language = header.raw('content-language')
  const location = header.raw('content-location')
  const all = [id, description, md5, language, location]
  return all.every(value => value === undefined) ? nothingSaid : { id, description, md5, language, location }
}

/** Raw 8-bit header values of a whole message read in the character set of its first text, where that is known. */
export function readRaw(root: MimePart): void {
  const charset = textCharset(root)
  if (charset !== undefined) readRawAs(root, charset)
}

function readRawAs(part: MimePart, charset: string): void {
  const { block } = part.header
  if (!isAscii(block)) {
    part.header = new Header(block, charset)
    describe(part)
  }
  for (const child of part.children) readRawAs(child, charset)
}

/** Undefined where it is the one that raw values are read in anyway. */
function textCharset(part: MimePart): string | undefined {
  if (part.children.length === 0) {
    const { charset } = part.type.value.startsWith('text/') ? part.type.params : {}
    return charset === undefined || /^(?:us-ascii|utf-?8)$/i.test(charset) ? undefined : charset
  }
  for (const child of part.children) {
    const found = textCharset(child)
    if (found !== undefined) return found
  }
  return undefined
}

/** A multipart may turn out to be text: its lines are counted until a delimiter is seen. */
export function countsLines(part: MimePart): boolean {
  const { value } = part.type
  if (value.startsWith('text/') || value.startsWith('multipart/')) return true
  return value === 'message/rfc822' || value === 'message/global'
}

function encodingName(text: string): string {
  const name = (/^\s*["']?([^\s,;"'()]+)/.exec(withoutComments(text))?.[1] ?? '7bit').toLowerCase()
  if (name === '7-bit' || name === '7bits') return '7bit'
  if (name === '8-bit' || name === '8bits') return '8bit'
  if (name === 'quoted_printable' || name === 'quotedprintable' || name === 'qp') return 'quoted-printable'
  if (name === 'base-64' || name === 'base_64') return 'base64'
  return name
}

/** Whether the body is a message in the clear; an encoded one is not looked into (RFC 2046 5.2.1 forbids it). */
export function isEmbedded(part: MimePart): boolean {
  const { value } = part.type
  if (value !== 'message/rfc822' && value !== 'message/global') return false
  return part.encoding !== 'base64' && part.encoding !== 'quoted-printable'
}

/** A multipart without parts shows its body as one text, so that nothing is hidden and the tree keeps its rules. */
export function onlyText(part: MimePart): MimePart {
  const { headerEnd, bodyEnd, lines, encoding } = part
  return { ...emptyPart(headerEnd, textPlain), bodyEnd, lines, encoding }
}
