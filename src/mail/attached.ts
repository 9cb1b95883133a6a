// Messages within a message (message/rfc822, forwarded as an attachment, and those within them), for searching: who wrote
// them, about what, and where their texts lie.
//
// Promises: works from the stored index of parts and reads header blocks only, within limits.mime, so that a forwarded
// file of many megabytes costs no more than its headers; finds every message that the scanner looked into, however deep.

import { limits } from '#lib/limits.ts'
import type { ReadRange } from './decode.ts'
import { Header } from './header.ts'
import { describe, emptyPart, type MimePart, messageDefault, textPlain } from './mime-part.ts'
import { contentOf, type Outline, type Summary, summarize, type TextPart } from './outline.ts'
import { embedded, type PartIndex } from './section.ts'

export interface Attached {
  /** What their headers say, and how their attachments are called. */
  readonly messages: readonly (Summary & Pick<Outline, 'attachments'>)[]
  /** Their texts, in order; groups are those of one message. */
  readonly texts: readonly TextPart[]
}

/** Whether a message holds others. */
export function holdsMessages([, , , kind, children]: PartIndex): boolean {
  return kind === embedded || children?.some(holdsMessages) === true
}

/** The messages within the one whose parts these are. */
export async function readAttached(index: PartIndex, read: ReadRange): Promise<Attached> {
  const blocks = new Blocks(read)
  const roots: MimePart[] = []
  for (const message of messagesIn(index)) roots.push(await rebuild(blocks, message, textPlain))
  const all = roots.flatMap(root => [...withInner(root)])
  const contents = all.map(contentOf)
  return {
    messages: all.map((message, at) => ({
      ...summarize(message),
      attachments: contents[at]?.attachments ?? [],
    })),
    // The message itself has the first groups.
    texts: contents.flatMap(({ texts }, at) =>
      texts.map(part => ({ ...part, group: part.group + (at + 1) * limits.mime.partsMax })),
    ),
  }
}

/** The outermost messages within a part. */
function messagesIn([, , , kind, children = []]: PartIndex): readonly PartIndex[] {
  return kind === embedded ? children : children.flatMap(messagesIn)
}

/** A message and those within it. */
function* withInner(message: MimePart): Generator<MimePart> {
  yield message
  yield* innerOf(message)
}

function* innerOf(part: MimePart): Generator<MimePart> {
  if (part.type.value.startsWith('multipart/')) for (const child of part.children) yield* innerOf(child)
  else for (const message of part.children) yield* withInner(message)
}

/** The part as the scanner saw it, by its place and its header. */
async function rebuild(blocks: Blocks, index: PartIndex, type: MimePart['type']): Promise<MimePart> {
  const [headerStart, headerEnd, bodyEnd, , children = []] = index
  const part = emptyPart(headerStart, type)
  part.headerEnd = headerEnd
  part.bodyEnd = bodyEnd
  const block = await blocks.read(headerStart, headerEnd)
  if (block.length > 0) {
    part.header = new Header(block)
    describe(part)
  }
  const digest = part.type.value === 'multipart/digest'
  for (const child of children) {
    // What a multipart without parts shows as its only text has no header at all.
    const isMessage = digest && (child[1] > child[0] || child[3] === embedded)
    part.children.push(await rebuild(blocks, child, isMessage ? messageDefault : textPlain))
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
