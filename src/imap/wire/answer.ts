// One FETCH response that carries bytes of a message.
//
// Everything that can be refused or turn out to be gone is found out before the first byte of the response is written: a
// response once begun is finished, or the connection ends (`unbroken`).

import { Disconnected } from '#net/connection.ts'
import type { ListedRow } from '#store/mailboxes/listing.ts'
import { contentOf } from '../selected/content.ts'
import type { MessageSource } from '../selected/source.ts'
import type { Session } from '../session.ts'
import type { FetchItem } from './item.ts'
import { extentOf, type Section } from './section.ts'

/** Text, or bytes behind the text that announces them. */
type Ready =
  | string
  | { readonly head: string; readonly bytes: Buffer }
  | { readonly head: string; readonly pieces: Pieces; readonly binary?: true }
type Pieces = () => AsyncIterable<Buffer> | Iterable<Buffer>

/**
 * Answers for one message.
 *
 * @param text items that are text of the row; undefined for what is left out
 * @param sent hears of bytes of the message as they go out, so that they count for a reader that leaves midway, too
 * @throws Fault MessageNotFound, BodyUnreadable, UnknownEncoding before anything was written
 */
export async function answerMessage(
  session: Session,
  items: readonly FetchItem[],
  seq: number,
  row: ListedRow,
  source: MessageSource,
  text: (item: FetchItem, row: ListedRow) => string | undefined,
  sent: (bytes: number) => void,
): Promise<void> {
  const ready: Ready[] = []
  for (const item of items) {
    if (session.pace.spent) await session.rest()
    if (item.kind === 'section') ready.push(await readSection(source, item.label, item.section))
    else if (item.kind === 'binary' || item.kind === 'binary.size') ready.push(await readBinary(source, item))
    else {
      const value = text(item, row)
      if (value !== undefined) ready.push(value)
    }
  }
  const { out } = session
  session.midway = true
  out.text(`* ${seq} FETCH (`)
  for (const [index, one] of ready.entries()) {
    if (index > 0) out.text(' ')
    if (typeof one === 'string') out.text(one)
    else if ('bytes' in one) {
      out.text(one.head).bytes(one.bytes)
      sent(one.bytes.length)
    } else await writePieces(session, one, source.inMemory, sent)
  }
  out.text(')\r\n')
  session.midway = false
}

/**
 * The same at once, without waiting, where only text and whole messages are asked for and the message is in memory: what
 * most programs fetch. Writes nothing and gives false where that is not so.
 */
export function answerWhole(
  { out }: Session,
  items: readonly FetchItem[],
  seq: number,
  row: ListedRow,
  source: MessageSource,
  text: (item: FetchItem, row: ListedRow) => string | undefined,
): boolean {
  if (!source.inMemory) return false
  for (const item of items) {
    if (item.kind === 'binary' || item.kind === 'binary.size') return false
    if (item.kind === 'section' && !(isWhole(item.section) && item.section.partial === undefined)) return false
  }
  let before = `* ${seq} FETCH (`
  for (const item of items) {
    if (item.kind === 'section') {
      out.text(`${before}${item.label}${item.section.label} {${source.size}}\r\n`)
      for (const piece of source.pieces(0, source.size)) out.bytes(piece)
    } else {
      const value = text(item, row)
      if (value === undefined) continue
      out.text(before + value)
    }
    before = ' '
  }
  out.text(')\r\n')
  return true
}

/** Whether a section is the whole message, which needs no looking into. */
export function isWhole(section: Section): boolean {
  return section.part.length === 0 && section.what === ''
}

async function readSection(source: MessageSource, label: string, section: Section): Promise<Ready> {
  const head = `${label}${section.label} `
  const plain = isWhole(section) && section.partial === undefined
  const extent = plain ? { start: 0, end: source.size } : await extentOf(source, section)
  if (extent === undefined) return `${head}NIL`
  if ('bytes' in extent) return { head: `${head}{${extent.bytes.length}}\r\n`, bytes: extent.bytes }
  if ('pieces' in extent) return { head: `${head}{${extent.size}}\r\n`, pieces: extent.pieces }
  const { start, end } = extent
  // Nothing may be missing once the length is said.
  await source.prove(start, end)
  const pieces: Pieces = () => (source.inMemory ? source.pieces(start, end) : source.stream(start, end))
  return { head: `${head}{${end - start}}\r\n`, pieces }
}

/** RFC 3516: the content of a leaf without its transfer encoding. */
async function readBinary(
  source: MessageSource,
  { kind, section }: FetchItem & { kind: 'binary' | 'binary.size' },
): Promise<Ready> {
  const content = await contentOf(source, section.part)
  if (kind === 'binary.size') return `BINARY.SIZE${section.label} ${content?.size ?? 0}`
  if (content === undefined) return `BINARY${section.label} NIL`
  const [from, count] = section.partial ?? [0, content.size]
  const start = Math.min(from, content.size)
  const end = Math.min(content.size, start + count)
  const head = `BINARY${section.label} ~{${end - start}}\r\n`
  return { head, pieces: () => content.stream(start, end), binary: true }
}

/** Pieces of something whose length was already announced: when they fail, only closing is left. */
async function* unbroken(session: Session, pieces: ReturnType<Pieces>): AsyncGenerator<Buffer> {
  try {
    yield* pieces
  } catch (error) {
    session.services.log.error({ error, session: session.id }, 'a message could not be read to its end')
    session.connection.destroy()
    throw new Disconnected()
  }
}

async function writePieces(
  session: Session,
  { head, pieces, binary }: { readonly head: string; readonly pieces: Pieces; readonly binary?: true },
  inMemory: boolean,
  sent: (bytes: number) => void,
): Promise<void> {
  const { out } = session
  out.text(head)
  const all = pieces()
  if (inMemory && Symbol.iterator in all) {
    for (const piece of all) {
      out.bytes(piece, binary)
      sent(piece.length)
    }
    return
  }
  for await (const piece of unbroken(session, all)) {
    out.bytes(piece, binary)
    sent(piece.length)
    await out.room()
  }
}
