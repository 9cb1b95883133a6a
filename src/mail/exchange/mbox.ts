// Mailboxes in one file, in the mboxrd form: a `From ` line before each message, an empty line after it, and one more `>`
// before every line of a message that is `From ` behind any number of `>`, so that reading gives back what was written.
//
// Writing and reading work in pieces and hold no more than a line, cut where one is too long to hold. Lines end in LF alone.

import { limits } from '#lib/limits.ts'
import { formatAsctime } from '../header/date.ts'

const lf = 10
const quotable = /^>*From /
const quoted = /^>+From /
/** What is behind `From ` before a message: a sender alone or nothing, as some programs leave it, or a time somewhere (RFC 4155). */
const separating = /^From (\S*\s*$|.*\d:\d\d)/
const dropped = /^(content-length|x-status|status|x-gm-thrid|x-gmail-labels):/i

export interface MboxEnvelope {
  /** Envelope sender; empty for none. */
  readonly from: string
  /** When it was received, milliseconds. */
  readonly date: number
  /** Fields put on top, without line ends. */
  readonly fields: readonly string[]
}

/** One message as it stands in an mbox file. */
export async function* mboxMessage(envelope: MboxEnvelope, message: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  const sender = envelope.from.replace(/[^\x21-\x7e]/g, '') || 'MAILER-DAEMON'
  const fields = envelope.fields.map(field => `${field.replace(/[\r\n]+/g, ' ')}\n`).join('')
  yield Buffer.from(`From ${sender} ${formatAsctime(envelope.date)}\n${fields}`)
  let inHeader = true
  let dropping = false
  let whole = true
  for await (const pieces of lines(message)) {
    const out: Buffer[] = []
    for (const { bytes, begins, ends } of pieces) {
      const line = bytes.at(-1) === 13 && ends ? bytes.subarray(0, -1) : bytes
      if (inHeader && begins) {
        if (line.length === 0) inHeader = dropping = false
        else if (line[0] !== 32 && line[0] !== 9) dropping = dropped.test(line.subarray(0, 32).toString('latin1'))
      }
      whole = ends
      if (dropping) continue
      if (begins && quotable.test(line.subarray(0, 1024).toString('latin1'))) out.push(quote)
      out.push(line)
      if (ends) out.push(newline)
    }
    if (out.length > 0) yield Buffer.concat(out)
  }
  yield whole ? newline : Buffer.from('\n\n')
}

const quote = Buffer.from('>')
const newline = Buffer.from('\n')

export interface MboxRead {
  /** The line before the message, from behind `From `. */
  readonly envelope: string
  /** The message with its quotes taken away, as lines came; null where it is larger than `bytesMax`. */
  readonly message: Buffer | null
  /** Bytes of it. */
  readonly size: number
}

/**
 * The messages of an mbox file. What stands before the first `From ` line is passed over; behind that only what looks like an envelope ends a message,
 * since many programs do not quote what people write ("From now on").
 */
export async function* readMbox(chunks: AsyncIterable<Buffer>, bytesMax: number): AsyncGenerator<MboxRead> {
  let current: { envelope: string; parts: Buffer[]; size: number } | undefined
  // An empty line belongs to the message unless a `From ` line or the end follows it.
  let empty = true
  let held: Buffer | null = null
  const finished = (): MboxRead | undefined => {
    if (current === undefined) return undefined
    const { envelope, parts, size } = current
    return { envelope, size, message: size > bytesMax ? null : Buffer.concat(parts) }
  }
  const take = (bytes: Buffer) => {
    if (current === undefined) return
    current.size += bytes.length
    if (current.size > bytesMax) current.parts.length = 0
    else current.parts.push(bytes)
  }
  for await (const pieces of lines(chunks)) {
    for (const { bytes, begins, ends } of pieces) {
      const text = begins ? bytes.subarray(0, 1024).toString('latin1') : ''
      if (begins && empty && text.startsWith('From ') && (current === undefined || separating.test(text))) {
        const done = finished()
        if (done !== undefined) yield done
        current = { envelope: text.slice(5).trimEnd(), parts: [], size: 0 }
        held = null
        empty = false
        continue
      }
      if (held !== null) take(held)
      held = null
      const line = begins && quoted.test(text) ? bytes.subarray(1) : bytes
      empty = begins && ends && (bytes.length === 0 || (bytes.length === 1 && bytes[0] === 13))
      const written = ends ? Buffer.concat([line, newline]) : Buffer.from(line)
      if (empty) held = written
      else take(written)
    }
  }
  const done = finished()
  if (done !== undefined) yield done
}

interface Line {
  readonly bytes: Buffer
  /** It begins and ends here, and is not cut because of its length or the end of the file. */
  readonly begins: boolean
  readonly ends: boolean
}

/** Lines without their LF, as many as each chunk completes. */
async function* lines(chunks: AsyncIterable<Buffer>): AsyncGenerator<Line[]> {
  let rest: Buffer = Buffer.alloc(0)
  let begins = true
  for await (const chunk of chunks) {
    const bytes = rest.length === 0 ? chunk : Buffer.concat([rest, chunk])
    const found: Line[] = []
    let from = 0
    for (let at = bytes.indexOf(lf); at >= 0; at = bytes.indexOf(lf, from)) {
      found.push({ bytes: bytes.subarray(from, at), begins, ends: true })
      begins = true
      from = at + 1
    }
    rest = bytes.subarray(from)
    if (rest.length > limits.transfer.lineBytesMax) {
      found.push({ bytes: rest, begins, ends: false })
      begins = false
      rest = Buffer.alloc(0)
    }
    if (found.length > 0) yield found
  }
  if (rest.length > 0) yield [{ bytes: rest, begins, ends: false }]
}
