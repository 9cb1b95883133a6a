// Header fields of a message taken out or replaced, on its way in or out; nothing else of it changes.
//
// Pure. `cutFields` keeps every other byte, lines that are no field among them; `rewriteHeader` writes the fields anew, with
// CRLF line ends, and is for messages that get a field they did not have. Neither ever looks behind the header block.

import { domainToAscii, type Mailbox, splitAddress } from '../address/address.ts'
import { Header } from './header.ts'

const crlf = Buffer.from('\r\n')

/**
 * A header block, the empty line included, without some fields and with others in place of the first of their name.
 *
 * @param drop names in lower case
 * @param replace name in lower case -> the whole field without its line end
 */
export function rewriteHeader(
  block: Buffer,
  drop: ReadonlySet<string>,
  replace: ReadonlyMap<string, string> = new Map(),
): Buffer {
  const header = new Header(block)
  const pieces: Buffer[] = []
  const done = new Set<string>()
  for (const { key, start, end } of header.fields) {
    const field = replace.get(key)
    if (drop.has(key) || (field !== undefined && done.has(key))) continue
    done.add(key)
    pieces.push(field === undefined ? block.subarray(start, end) : Buffer.from(field), crlf)
  }
  for (const [key, field] of replace) if (!done.has(key)) pieces.push(Buffer.from(field), crlf)
  return Buffer.concat([...pieces, crlf])
}

/**
 * A header block without some fields, every other byte of it as it was; the same buffer where there are none of them.
 *
 * @param keys names in lower case
 */
export function cutFields(block: Buffer, keys: ReadonlySet<string>): Buffer {
  const pieces: Buffer[] = []
  let kept = 0
  let cutting = false
  for (let start = 0; start < block.length; ) {
    const feed = block.indexOf(0x0a, start)
    const next = feed < 0 ? block.length : feed + 1
    const folded = block[start] === 0x20 || block[start] === 0x09
    const cut: boolean = folded ? cutting : keys.has(fieldName(block, start, next))
    if (cut && !cutting) pieces.push(block.subarray(kept, start))
    if (cut) kept = next
    cutting = cut
    start = next
  }
  return kept === 0 ? block : Buffer.concat([...pieces, block.subarray(kept)])
}

const nameLengthMax = 128

/** The name of the field on a line, in lower case; '' where none is named. */
function fieldName(block: Buffer, start: number, end: number): string {
  const text = block.toString('latin1', start, Math.min(end, start + nameLengthMax))
  return /^([!-9;-~]+)[ \t]*:/.exec(text)?.[1]?.toLowerCase() ?? ''
}

/** `From: ...` with the name encoded where it must be, and the domain as every server understands it. */
export function fromField(author: Mailbox): string {
  return mailboxField('From', author)
}

/** A field that holds one mailbox. */
export function mailboxField(field: 'From' | 'Reply-To', mailbox: Mailbox): string {
  return `${field}: ${mailboxText(mailbox)}`
}

/** A mailbox as it stands in a field; ASCII alone, unless its local part is not. */
export function mailboxText({ name, address }: Mailbox): string {
  const { local, domain } = splitAddress(address)
  const ascii = domainToAscii(domain)
  const written = ascii === '' ? address : `${local}@${ascii}`
  const plain = name.replace(/[\x00-\x1f\x7f]+/g, ' ').trim()
  if (plain === '') return written
  if (/^[\w !#$%&'*+\-/=?^`{|}~]+$/.test(plain) && !plain.includes('=?')) return `${plain} <${written}>`
  if (/^[\x20-\x7e]+$/.test(plain)) return `"${plain.replace(/(["\\])/g, '\\$1')}" <${written}>`
  return `${encodedWords(plain)}\r\n <${written}>`
}

/** RFC 2047, words of at most 75 characters on a line each. */
function encodedWords(text: string): string {
  const words: string[] = []
  let chunk = ''
  for (const character of text) {
    if (Buffer.byteLength(chunk + character) > 42) {
      words.push(chunk)
      chunk = ''
    }
    chunk += character
  }
  words.push(chunk)
  return words.map(word => `=?UTF-8?B?${Buffer.from(word).toString('base64')}?=`).join('\r\n ')
}
