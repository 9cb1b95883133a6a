// A message in a form that every host takes: bodies with lines longer than 998 bytes (RFC 5321 4.5.3.1.6), or with NUL, get an encoding of
// transfer, and for hosts that take ASCII alone so do those with other bytes (RFC 6152 3).
//
// A message is read in pieces, a large one never lies in memory: first it is found out which parts do not fit, then what is to be changed, and
// the changes are made each time its bytes are asked for. What a body means stays, and what is short and ASCII stays byte for byte. Not touched
// is what somebody signed inside of a message (multipart/signed, RFC 1847 2.1; a message with a signature of its own, RFC 6376 5.3), nor the
// message's own header, for which others are (ascii-form.ts, short-lines.ts).

import { isAscii } from 'node:buffer'
import { rewriteHeader } from '../header/rewrite.ts'
import { type MimePart, MimeScanner } from '../mime/mime.ts'
import { asciiHeader } from './ascii-form.ts'
import { LineLengths, shortHeader } from './short-lines.ts'
import { Base64Encoder, Base64Lines, type Encoder, QuotedEncoder, QuotedLines } from './transfer.ts'

const identities: ReadonlySet<string> = new Set(['7bit', '8bit', 'binary'])
/** Fields of those who have signed a message. */
const signing = ['dkim-signature', 'arc-message-signature']

/** What a form is for: hosts that take ASCII alone, or all of them. */
type Wanted = 'ascii' | 'short'

/** Whether somebody has signed a message, whose header this is, so that nothing of it may be written anew. */
export function isSigned(header: MimePart['header']): boolean {
  return signing.some(key => header.has(key))
}

/** A message with CR LF line ends: its header, the empty line included, and what stands below, as often as it is asked for. */
export interface ReadableMessage {
  readonly top: Buffer
  readonly body: () => AsyncIterable<Buffer> | Iterable<Buffer>
}

/** The message with every body in ASCII that can be, and with short lines; the same where all of it is. */
export function sevenBit<Message extends ReadableMessage>(message: Message): Promise<Message> {
  return transferable(message, 'ascii')
}

/** The same with other bytes in it. */
export function shortLined<Message extends ReadableMessage>(message: Message): Promise<Message> {
  return transferable(message, 'short')
}

async function transferable<Message extends ReadableMessage>(given: Message, wanted: Wanted): Promise<Message> {
  const { top } = given
  const whole = new Fitting([], top.length, wanted)
  for await (const piece of given.body()) whole.write(piece)
  if (whole.end().fits(0, Number.POSITIVE_INFINITY)) return given
  const scanner = new MimeScanner()
  scanner.write(top)
  for await (const piece of given.body()) scanner.write(piece)
  const root = scanner.end()
  // Where its header ends in another place to us, nothing is known of it.
  if (root.headerEnd !== top.length) return given
  const fitting = new Fitting(bordersOf(root), top.length, wanted)
  for await (const piece of given.body()) fitting.write(piece)
  const changes = [...changesOf(root, { wanted, fitting: fitting.end(), top })]
  const [first] = changes
  const head = first?.start === 0 && Buffer.isBuffer(first.by) ? first.by : undefined
  const below = head === undefined ? changes : changes.slice(1)
  return { ...given, top: head ?? top, body: () => changed(given.body(), top.length, below) }
}

/** Where bodies begin and end, in order. */
function bordersOf(root: MimePart): number[] {
  const all = new Set<number>()
  const collect = ({ headerEnd, bodyEnd, children }: MimePart) => {
    all.add(headerEnd).add(bodyEnd)
    for (const child of children) collect(child)
  }
  collect(root)
  return [...all].sort((one, other) => one - other)
}

/** Which of the stretches between borders fit, found out as bytes come. */
class Fitting {
  readonly #borders: readonly number[]
  readonly #ascii: boolean
  /** How many stretches before a border do not. */
  readonly #before = new Map<number, number>()
  #closed = 0
  #lines = new LineLengths()
  #at: number
  #misfits = 0
  #misfit = false

  /** @param at where the first byte stands */
  constructor(borders: readonly number[], at: number, wanted: Wanted) {
    this.#borders = borders.filter(border => border > at)
    this.#at = at
    this.#ascii = wanted === 'ascii'
  }

  write(piece: Buffer): void {
    for (let from = 0; from < piece.length; ) {
      const border = this.#borders[this.#closed] ?? Number.POSITIVE_INFINITY
      const until = Math.min(piece.length, border - this.#at + from)
      const stretch = piece.subarray(from, until)
      this.#lines.write(stretch)
      // Only what is binary may have it (RFC 2045 2.7, 2.8), and there are hosts that take none, or end a line there.
      this.#misfit ||= stretch.includes(0) || (this.#ascii && !isAscii(stretch))
      this.#at += stretch.length
      from = until
      if (this.#at === border) this.#close(border)
    }
  }

  end(): this {
    this.#close(Number.POSITIVE_INFINITY)
    return this
  }

  #close(border: number): void {
    if (this.#misfit || this.#lines.end()) this.#misfits += 1
    this.#before.set(border, this.#misfits)
    this.#closed += 1
    this.#lines = new LineLengths()
    this.#misfit = false
  }

  /** @param from and `to`: borders, or ends of all */
  fits(from: number, to: number): boolean {
    return (this.#before.get(to) ?? 0) === (this.#before.get(from) ?? 0)
  }
}

/** Bytes of a message that leave as others. */
interface Change {
  readonly start: number
  readonly end: number
  readonly by: Buffer | (() => Encoder)
}

interface How {
  readonly wanted: Wanted
  readonly fitting: Fitting
  /** The header of the message itself; absent below. */
  readonly top?: Buffer
  /** The part is a message of its own. */
  readonly embedded?: boolean
}

/** In order, none of nothing. */
function* changesOf(part: MimePart, { wanted, fitting, top, embedded = false }: How): Generator<Change> {
  const { headerStart, headerEnd, bodyEnd, type, children, header } = part
  const own = top ?? header.block
  // Of one that is too long the beginning alone is known; without one there is no place for a field.
  if (top === undefined && (own.length !== headerEnd - headerStart || own.length === 0)) return
  if (embedded && isSigned(header)) return
  const signed = type.value === 'multipart/signed'
  const short = top !== undefined || signed ? own : shortHeader(wanted === 'ascii' ? asciiHeader(own, true) : own)
  const fits = signed || fitting.fits(headerEnd, bodyEnd)
  const encoding = fits || children.length > 0 ? undefined : encodingOf(part)
  const says = fits || children.length === 0 ? encoding?.says : wanted === 'ascii' ? '7bit' : undefined
  const head = says === undefined ? short : anew(short, says, top !== undefined || embedded)
  if (head !== own) yield { start: headerStart, end: headerEnd, by: head }
  if (encoding !== undefined) yield { start: headerEnd, end: bodyEnd, by: encoding.by }
  if (fits) return
  // What has other bytes still has them, below.
  const within = { wanted, fitting, embedded: type.value.startsWith('message/') }
  for (const child of children) yield* changesOf(child, within)
}

/** How a body is written anew, and what its header says of it then; undefined where it cannot be. */
function encodingOf({ type, encoding }: MimePart): { readonly says?: string; readonly by: () => Encoder } | undefined {
  // Lines of what is encoded mean nothing. That it is not ASCII all the same is broken, and no more so afterwards.
  if (encoding === 'base64') return { by: () => new Base64Lines() }
  if (encoding === 'quoted-printable') return { by: () => new QuotedLines() }
  if (!identities.has(encoding) || type.value.startsWith('message/')) return undefined
  const text = type.value.startsWith('text/') && encoding !== 'binary'
  return text
    ? { says: 'quoted-printable', by: () => new QuotedEncoder() }
    : { says: 'base64', by: () => new Base64Encoder() }
}

function anew(block: Buffer, encoding: string, ofMessage: boolean): Buffer {
  const fields = [['content-transfer-encoding', `Content-Transfer-Encoding: ${encoding}`]] as const
  const version = [['mime-version', 'MIME-Version: 1.0']] as const
  return rewriteHeader(block, new Set(), new Map(ofMessage ? [...version, ...fields] : fields))
}

/** The bytes with the changes made. @param at where the first of them stands */
async function* changed(
  pieces: AsyncIterable<Buffer> | Iterable<Buffer>,
  at: number,
  changes: readonly Change[],
): AsyncGenerator<Buffer> {
  let next = 0
  let encoder: Encoder | undefined
  let offset = at
  for await (const piece of pieces) {
    for (let from = 0; from < piece.length; ) {
      const { start, end, by } = changes[next] ?? nowhere
      if (offset + from < start) {
        const until = Math.min(piece.length, start - offset)
        yield piece.subarray(from, until)
        from = until
        continue
      }
      const until = Math.min(piece.length, end - offset)
      encoder ??= Buffer.isBuffer(by) ? replacing(by) : by()
      yield encoder.write(piece.subarray(from, until))
      from = until
      if (offset + until < end) continue
      yield encoder.end()
      encoder = undefined
      next += 1
    }
    offset += piece.length
  }
}

const nothing = Buffer.alloc(0)
const nowhere: Change = { start: Number.POSITIVE_INFINITY, end: Number.POSITIVE_INFINITY, by: nothing }

function replacing(by: Buffer): Encoder {
  return { write: () => nothing, end: () => by }
}
