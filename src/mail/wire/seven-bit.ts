// A message in a form that every host takes: bodies with lines longer than 998 bytes (RFC 5321 4.5.3.1.6) get an encoding of transfer, and for
// hosts that take ASCII alone so do those with other bytes (RFC 6152 3).
//
// Pure. What a body means stays, and what is short and ASCII stays byte for byte. Not touched is what somebody signed inside of a message
// (multipart/signed, RFC 1847 2.1), nor the message's own header, for which others are (ascii-form.ts, short-lines.ts).

import { isAscii } from 'node:buffer'
import { rewriteHeader } from '../header/rewrite.ts'
import { type MimePart, scanMime } from '../mime/mime.ts'
import { asciiHeader } from './ascii-form.ts'
import { hasLongLine, shortHeader } from './short-lines.ts'

const identities: ReadonlySet<string> = new Set(['7bit', '8bit', 'binary'])
const base64Line = 76
const quotedLine = 76

/** What a form is for: hosts that take ASCII alone, or all of them. */
type Wanted = 'ascii' | 'short'

/** A message in memory with CR LF line ends: its header, the empty line included, and what stands below. */
export interface WholeMessage {
  readonly top: Buffer
  readonly body: Buffer
}

/** The message with every body in ASCII that can be, and with short lines; the same where all of it is. */
export function sevenBit(message: WholeMessage): WholeMessage {
  return transferable(message, 'ascii')
}

/** The same with other bytes in it. */
export function shortLined(message: WholeMessage): WholeMessage {
  return transferable(message, 'short')
}

function transferable(given: WholeMessage, wanted: Wanted): WholeMessage {
  if (fits(given.body, wanted)) return given
  const message = Buffer.concat([given.top, given.body])
  const root = scanMime(message)
  const [top = given.top, ...below] = written(message, root, { wanted, outermost: true })
  return { top, body: Buffer.concat([...below, message.subarray(root.bodyEnd)]) }
}

function fits(bytes: Buffer, wanted: Wanted): boolean {
  return (wanted === 'short' || isAscii(bytes)) && !hasLongLine(bytes)
}

interface How {
  readonly wanted: Wanted
  readonly outermost: boolean
}

function written(message: Buffer, part: MimePart, how: How): Buffer[] {
  const { headerStart, headerEnd, bodyEnd, type, encoding, children } = part
  const { wanted, outermost } = how
  const own = message.subarray(headerStart, headerEnd)
  const head =
    outermost || type.value === 'multipart/signed'
      ? own
      : shortHeader(wanted === 'ascii' ? asciiHeader(own, true) : own)
  const body = message.subarray(headerEnd, bodyEnd)
  if (fits(body, wanted) || type.value === 'multipart/signed') return [head, body]
  const header = (name: string) => anew(head, name, outermost)
  if (children.length > 0) {
    // What has other bytes still has them, below.
    const pieces = [wanted === 'ascii' ? header('7bit') : head]
    let done = headerEnd
    for (const child of children) {
      pieces.push(message.subarray(done, child.headerStart), ...written(message, child, { wanted, outermost: false }))
      done = child.bodyEnd
    }
    return [...pieces, message.subarray(done, bodyEnd)]
  }
  // Lines of what is encoded mean nothing. That it is not ASCII all the same is broken, and no more so afterwards.
  if (encoding === 'base64' && hasLongLine(body)) return [head, Buffer.from(inLines(body.toString('latin1')), 'latin1')]
  if (encoding === 'quoted-printable' && hasLongLine(body)) return [head, byLine(body, softened)]
  if (!identities.has(encoding) || type.value.startsWith('message/')) return [head, body]
  const text = type.value.startsWith('text/') && encoding !== 'binary'
  return text ? [header('quoted-printable'), byLine(body, quotedLineOf)] : [header('base64'), encoded(body)]
}

function anew(block: Buffer, encoding: string, outermost: boolean): Buffer {
  const fields = [['content-transfer-encoding', `Content-Transfer-Encoding: ${encoding}`]] as const
  const version = [['mime-version', 'MIME-Version: 1.0']] as const
  return rewriteHeader(block, new Set(), new Map(outermost ? [...version, ...fields] : fields))
}

function encoded(body: Buffer): Buffer {
  return Buffer.from(inLines(body.toString('base64')))
}

function inLines(text: string): string {
  return text.replace(/[\r\n]+/g, '').replace(new RegExp(`.{${base64Line}}(?=.)`, 'g'), '$&\r\n')
}

/** RFC 2045 6.7: line ends stay, no line is too long, none ends in white space. */
function byLine(body: Buffer, lineOf: (line: string) => string): Buffer {
  const lines = body.toString('latin1').split('\r\n')
  return Buffer.from(lines.map(lineOf).join('\r\n'), 'latin1')
}

function quotedLineOf(line: string): string {
  return softened(line.replace(/[^\t\x20-\x3c\x3e-\x7e]|[\t ]$/g, byte => `=${hex(byte)}`))
}

/** Cut where nothing is meant by it. */
function softened(plain: string): string {
  const pieces: string[] = []
  for (let from = 0; from < plain.length; ) {
    if (plain.length - from <= quotedLine) {
      pieces.push(plain.slice(from))
      break
    }
    let to = from + quotedLine - 1
    // Not within the three letters of a byte.
    if (plain[to - 1] === '=') to -= 1
    else if (plain[to - 2] === '=') to -= 2
    pieces.push(plain.slice(from, to))
    from = to
  }
  return pieces.join('=\r\n')
}

function hex(byte: string): string {
  return byte.charCodeAt(0).toString(16).toUpperCase().padStart(2, '0')
}
