// One command off the wire: its line, and the literals in it (RFC 9051 4.3, RFC 7888).
//
// Promises: what is held is bounded before it is read, by the bounds of the session's state; a literal that is refused is
// never invited, and one that comes uninvited is thrown away or the session ends; a literal that is a message is not read here
// but left on the wire for whoever stores it. Parsing is the decoder's.

import { Pieces } from '#lib/bytes/pieces.ts'
import { Fault } from '#lib/fault.ts'
import { limits } from '#lib/limits.ts'
import { type Connection, LongLine } from '#net/connection.ts'
import { type Literal, malformed } from './decoder.ts'

/** A literal that is announced and not read. */
export interface Announced {
  readonly size: number
  /** The client waits to be invited. */
  readonly waits: boolean
  readonly binary: boolean
}

export interface Gathered {
  /** Empty where the line has none; no literal is invited then. */
  readonly tag: string
  /** Upper case; empty where the line has none. */
  readonly name: string
  readonly byUid: boolean
  /** What follows the name. */
  readonly parts: (string | Literal)[]
  /** The message literal at which gathering stopped. */
  readonly message: Announced | undefined
  /** Why the command cannot be carried out although its end was found. */
  readonly refused: Fault | undefined
}

export interface GatherBounds {
  /** Text and literals together. */
  readonly commandBytesMax: number
  readonly literalBytesMax: number
}

export const beforeLogin: GatherBounds = {
  commandBytesMax: limits.imap.commandBytesBeforeLoginMax,
  literalBytesMax: limits.imap.literalBytesBeforeLoginMax,
}
export const afterLogin: GatherBounds = {
  commandBytesMax: limits.imap.commandBytesMax,
  literalBytesMax: limits.imap.commandBytesMax,
}

/** The client sent more than can be thrown away. */
export class Flooded extends Error {}

/** A second space is forgiven. */
const head = /^([^\x00-\x20\x7f-\xff(){%*"\\+]{1,100})(?= |$)(?: {1,2}(?:(UID) {1,2})?([A-Za-z0-9]{1,30})(?=[ ]|$))?/i
/** However large: a number that is none for its length would leave what follows to be taken for commands. */
const announcement = /(~?)\{(\d+)(\+?)\}$/

/**
 * The next command.
 *
 * @param invite sends a continuation request
 * @param look why a command cannot be given now, so that its literals are not invited, and whether they are messages
 * @throws Fault IdleTimeout, Stopping; Disconnected; Flooded
 */
export async function gather(
  connection: Connection,
  bounds: GatherBounds,
  invite: () => void | Promise<void>,
  look: (name: string, byUid: boolean) => { refused: Fault | undefined; messages: boolean },
): Promise<Gathered> {
  let { text, refused } = await nextLine(connection)
  const match = head.exec(text)
  const tag = match?.[1] ?? ''
  const name = match?.[3]?.toUpperCase() ?? ''
  const byUid = match?.[2] !== undefined
  text = text.slice(match?.[0].length ?? 0)
  const parts: (string | Literal)[] = []
  let bytes = text.length
  for (;;) {
    const announced = announcedBy(text)
    if (announced === undefined) {
      parts.push(text)
      break
    }
    const asked = tag === '' ? { refused: malformed('A tag is missing'), messages: false } : look(name, byUid)
    refused ??= asked.refused
    const before = text.slice(0, text.lastIndexOf(announced.binary ? '~{' : '{'))
    if (asked.messages && (parts.length > 0 || before.trim() !== '')) {
      parts.push(before)
      return { tag, name, byUid, parts, message: announced, refused }
    }
    bytes += announced.size
    const fits = announced.size <= bounds.literalBytesMax && bytes <= bounds.commandBytesMax && refused === undefined
    if (!fits) {
      refused ??= new Fault('LiteralTooLarge')
      // Nobody reads them; that there is one tells that a further literal is not the first argument.
      if (parts.length === 0) parts.push(before)
      if (announced.waits) break
      await discard(connection, announced.size)
    } else {
      if (announced.waits) await invite()
      parts.push(before, { bytes: await readLiteral(connection, announced.size), binary: announced.binary })
    }
    const next = await nextLine(connection)
    text = next.text
    refused ??= next.refused
    bytes += text.length
    if (bytes > bounds.commandBytesMax) refused ??= new Fault('LiteralTooLarge', { text: 'The command is too long' })
  }
  return { tag, name, byUid, parts, message: undefined, refused }
}

/** A literal announced at the end of a line. */
export function announcedBy(text: string): Announced | undefined {
  if (!text.endsWith('}')) return undefined
  const match = announcement.exec(text)
  if (match === null) return undefined
  return { size: Number(match[2]), waits: match[3] === '', binary: match[1] === '~' }
}

/** Reads bytes that nobody wants. @throws Flooded when they are too many */
export async function discard(
  connection: Connection,
  size: number,
  bytesMax: number = limits.imap.discardBytesMax,
): Promise<void> {
  if (size > bytesMax) throw new Flooded()
  await take(connection, size, () => undefined)
}

/** The next line; of one that is too long the start and the end, where its tag and an announced literal are. */
export async function nextLine(connection: Connection): Promise<{ text: string; refused: Fault | undefined }> {
  try {
    const line = connection.takeLine() ?? (await connection.line())
    return { text: line.toString('latin1'), refused: undefined }
  } catch (error) {
    if (!(error instanceof LongLine)) throw error
    return { text: `${error.start} ${error.end}`, refused: error }
  }
}

/** Takes a literal; in the middle of one a client may be silent only for limits.imap.commandMs. */
export async function take(
  connection: Connection,
  size: number,
  sink: (chunk: Buffer) => void | Promise<void>,
): Promise<void> {
  const { idleMs } = connection
  connection.idleMs = Math.min(idleMs, limits.imap.commandMs)
  try {
    await connection.literal(size, sink)
  } finally {
    connection.idleMs = idleMs
  }
}

async function readLiteral(connection: Connection, size: number): Promise<Buffer> {
  const pieces = new Pieces()
  await take(connection, size, chunk => pieces.push(chunk))
  return pieces.whole()
}
