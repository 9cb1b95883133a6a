// What a message says, for whoever looks for words in it: searches of IMAP (BODY, TEXT) and HTTP, filters, the index. One
// definition for all of them: whatever a reader can see, in every form it comes in. That is plain text and HTML, both
// halves of an alternative, with the texts of pictures and the targets of links; files of text (notes, tables, appointments);
// reports; and all of that of messages within the message (message/rfc822, forwarded as attachments), however deep.
//
// Promises: works from the stored index of parts; reads header blocks and texts only, within limits.mime and what the caller
// allows, so that a forwarded file of many megabytes costs no more than its headers; finds every part that the scanner
// looked into; never throws on what a stranger sent.

import { limits } from '#lib/limits.ts'
import { Header } from '../header/header.ts'
import type { ReadRange } from '../mime/decode.ts'
import { addChild, describe, emptyPart, type MimePart, messageDefault, readRaw, textPlain } from '../mime/mime-part.ts'
import { type Attachment, contentOf, type Outline, type Summary, summarize } from '../mime/outline.ts'
import { base64, embedded, multipart, type PartIndex, quotedPrintable, uuencode } from '../mime/section.ts'
import { wordsFromHtml } from './html.ts'
import { decodedTexts, type EncodedText } from './text.ts'

/** The parts of a message as their headers describe them. */
export interface Parts {
  /** The headers of all parts and of messages within the message, not the message's own. */
  readonly headers: readonly Header[]
  /** The messages within the message: what their headers say, and how their attachments are called. */
  readonly messages: readonly (Summary & { readonly attachments: readonly Attachment[] })[]
  /** Names of all attachments, those of messages within included. */
  readonly names: readonly string[]
  /** What can be read, the message's own shown text first. */
  readonly texts: readonly SaidText[]
}

interface SaidText extends EncodedText {
  readonly form: 'plain' | 'html' | 'folded'
}

export interface Said {
  /** Everything that was read, a line end between two texts. */
  readonly text: string
  /** Nothing was left out. */
  readonly whole: boolean
}

type Outlined = Pick<Outline, 'index' | 'texts'>

/** Whether a message is more than one body: its parts have headers of their own. */
export function hasParts([, , , kind]: PartIndex): boolean {
  return kind === multipart || kind === embedded
}

/** The parts of a message by what is stored about it. */
export async function readParts({ index, texts: known }: Outlined, read: ReadRange): Promise<Parts> {
  const [only] = known
  // Most messages are one text, and all of it is known.
  if (only !== undefined && !hasParts(index)) {
    return { headers: [], messages: [], names: [], texts: [{ ...only, form: only.kind }] }
  }
  const root = await rebuild(new Blocks(read), index, textPlain)
  readRaw(root)
  const all = [...partsOf(root)]
  const { texts, attachments } = contentOf(root)
  const shown = new Set(texts.map(({ start }) => start))
  const leaves = all.filter(part => part.children.length === 0 && isReadable(part))
  const own = leaves.filter(part => shown.has(part.headerEnd))
  const others = leaves.filter(part => !shown.has(part.headerEnd))
  return {
    headers: all.slice(1).map(({ header }) => header),
    messages: [...messagesIn(root)].map(message => ({
      ...summarize(message),
      attachments: contentOf(message, false).attachments,
    })),
    names: attachments.map(({ info }) => info.filename),
    texts: [...own, ...others].map(saidText),
  }
}

/** What they say. @param bytesMax decoded bytes of text that are read */
export async function readSaid({ texts }: Parts, read: ReadRange, bytesMax: number): Promise<Said> {
  const pieces: string[] = []
  let whole = true
  let count = 0
  for await (const { form, content, cut } of decodedTexts(texts, read, bytesMax)) {
    count++
    if (cut) whole = false
    pieces.push(form === 'html' ? wordsFromHtml(content) : form === 'folded' ? unfolded(content) : content)
  }
  return { text: pieces.join('\n'), whole: whole && count === texts.length }
}

/** Text that somebody reads: of any kind, and what reports and odd messages consist of. */
function isReadable({ type: { value } }: MimePart): boolean {
  return value.startsWith('text/') || value.startsWith('message/')
}

function saidText(part: MimePart): SaidText {
  const { value, params } = part.type
  const html = value === 'text/html' || /^text\/.*html$/.test(value)
  return {
    form: html ? 'html' : /^text\/(?:calendar|(?:x-)?vcard|directory)$/.test(value) ? 'folded' : 'plain',
    kind: html ? 'html' : 'plain',
    start: part.headerEnd,
    end: part.bodyEnd,
    encoding: part.encoding,
    charset: params.charset ?? '',
    flowed: params.format?.toLowerCase() === 'flowed',
    delsp: params.delsp?.toLowerCase() === 'yes',
  }
}

/** Appointments and cards: long lines are cut anywhere, and some characters are written with a backslash (RFC 5545 3.1, 3.3.11). */
function unfolded(text: string): string {
  return text.replace(/\n[ \t]/g, '').replace(/\\([\\;,nN])/g, (_, one) => (one === 'n' || one === 'N' ? '\n' : one))
}

/** A part and all within it, in order. */
function* partsOf(part: MimePart): Generator<MimePart> {
  yield part
  for (const child of part.children) yield* partsOf(child)
}

/** The messages within a part, however deep. */
function* messagesIn(part: MimePart): Generator<MimePart> {
  const within = !part.type.value.startsWith('multipart/')
  for (const child of part.children) {
    if (within) yield child
    yield* messagesIn(child)
  }
}

const encodings = new Map([
  [base64, 'base64'],
  [quotedPrintable, 'quoted-printable'],
  [uuencode, 'x-uuencode'],
])

/** The part as the scanner saw it, by its place and its header. */
async function rebuild(blocks: Blocks, index: PartIndex, type: MimePart['type']): Promise<MimePart> {
  const [headerStart, headerEnd, bodyEnd, kind, children = []] = index
  const part = emptyPart(headerStart, type)
  part.headerEnd = headerEnd
  part.bodyEnd = bodyEnd
  const block = await blocks.read(headerStart, headerEnd)
  if (block.length > 0) {
    part.header = new Header(block)
    describe(part)
  } else part.encoding = encodings.get(kind) ?? part.encoding
  const digest = part.type.value === 'multipart/digest'
  for (const child of children) {
    // What a multipart without parts shows as its only text has no header at all.
    const isMessage = digest && (child[1] > child[0] || child[3] === embedded)
    addChild(part, await rebuild(blocks, child, isMessage ? messageDefault : textPlain))
  }
  return part
}

/** Header blocks, no more of them than a scanner keeps. */
class Blocks {
  readonly #read: ReadRange
  #left: number = limits.mime.headersBytesMax

  constructor(read: ReadRange) {
    this.#read = read
  }

  async read(start: number, end: number): Promise<Buffer> {
    const length = Math.min(end - start, limits.mime.headerBytesMax, this.#left)
    this.#left -= length
    return this.#read(start, start + length)
  }
}
