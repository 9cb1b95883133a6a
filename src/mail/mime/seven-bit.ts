// A message in ASCII alone, for hosts that take nothing else (RFC 6152 3): bodies with other bytes get an encoding of transfer.
//
// Pure. What a body means stays, and what is ASCII stays byte for byte. Not touched are what somebody signed inside of a message
// (multipart/signed, RFC 1847 2.1) and header fields, which no encoding of transfer is for.

import { isAscii } from 'node:buffer'
import { rewriteHeader } from '../header/rewrite.ts'
import { type MimePart, scanMime } from './mime.ts'

const identities: ReadonlySet<string> = new Set(['7bit', '8bit', 'binary'])
const base64Line = 76
const quotedLine = 76

/** The message with CR LF line ends, of which every body that can be is ASCII; the same buffer where all of it is. */
export function sevenBit(message: Buffer): Buffer {
  if (isAscii(message)) return message
  const root = scanMime(message)
  return Buffer.concat([...written(message, root, true), message.subarray(root.bodyEnd)])
}

function written(message: Buffer, part: MimePart, outermost: boolean): Buffer[] {
  const { headerStart, headerEnd, bodyEnd, type, encoding, children } = part
  const whole = message.subarray(headerStart, bodyEnd)
  if (isAscii(message.subarray(headerEnd, bodyEnd)) || type.value === 'multipart/signed') return [whole]
  const header = (name: string) => anew(message.subarray(headerStart, headerEnd), name, outermost)
  if (children.length > 0) {
    const pieces = [header('7bit')]
    let done = headerEnd
    for (const child of children) {
      pieces.push(message.subarray(done, child.headerStart), ...written(message, child, false))
      done = child.bodyEnd
    }
    return [...pieces, message.subarray(done, bodyEnd)]
  }
  // What is encoded already and is not ASCII all the same is broken, and no more so afterwards.
  if (!identities.has(encoding) || type.value.startsWith('message/')) return [whole]
  const body = message.subarray(headerEnd, bodyEnd)
  const text = type.value.startsWith('text/') && encoding !== 'binary'
  return text ? [header('quoted-printable'), quoted(body)] : [header('base64'), encoded(body)]
}

function anew(block: Buffer, encoding: string, outermost: boolean): Buffer {
  const fields = [['content-transfer-encoding', `Content-Transfer-Encoding: ${encoding}`]] as const
  const version = [['mime-version', 'MIME-Version: 1.0']] as const
  return rewriteHeader(block, new Set(), new Map(outermost ? [...version, ...fields] : fields))
}

function encoded(body: Buffer): Buffer {
  const text = body.toString('base64')
  return Buffer.from(text.replace(new RegExp(`.{${base64Line}}(?=.)`, 'g'), '$&\r\n'))
}

/** RFC 2045 6.7: line ends stay, no line is too long, none ends in white space. */
function quoted(body: Buffer): Buffer {
  const lines = body.toString('latin1').split('\r\n')
  return Buffer.from(lines.map(quotedLineOf).join('\r\n'), 'latin1')
}

function quotedLineOf(line: string): string {
  const plain = line.replace(/[^\t\x20-\x3c\x3e-\x7e]|[\t ]$/g, byte => `=${hex(byte)}`)
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
