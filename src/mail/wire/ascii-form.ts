// A header in ASCII alone (RFC 5322 2.2), for what leaves: hosts that do not offer SMTPUTF8 must not be sent anything else (RFC 6531 3.2).
//
// Pure and linear. Text becomes encoded words (RFC 2047), parameters those of RFC 2231, domains what DNS has; what such a field says stays
// the same, and fields in ASCII stay byte for byte. An address whose local part is not ASCII has no such form: its field stays, or where
// it names a recipient becomes a group without members that shows it (RFC 6857 3.1.5), if the caller asks for that.

import { isAscii } from 'node:buffer'
import { limits } from '#lib/limits.ts'
import { type Address, isGroup, type Mailbox, mailboxes } from '../address/address.ts'
import { parseAddresses } from '../address/address-list.ts'
import { Header, type HeaderField } from '../header/header.ts'
import { mailboxText } from '../header/rewrite.ts'
import { decodeWords, encodeAnyWords } from '../header/words.ts'
import { parseValued } from '../mime/parameter.ts'

const recipients = new Set(['to', 'cc', 'bcc', 'resent-to', 'resent-cc', 'resent-bcc'])
const addressed = new Set([
  ...recipients,
  ...['from', 'sender', 'reply-to', 'resent-from', 'resent-sender', 'resent-reply-to', 'errors-to'],
  ...['disposition-notification-to', 'return-receipt-to', 'mail-followup-to', 'mail-reply-to'],
])
const valued = new Set(['content-type', 'content-disposition'])
const identifying = new Set(['message-id', 'in-reply-to', 'references', 'resent-message-id', 'content-id'])
const lineLength = 76
/** A longer one leaves no room on a line that is as long as it may be (RFC 5322 2.1.1). */
const wordLengthMax = 900
/** Characters of a parameter's segment: with its name it fits on a line. */
const segmentLength = 54
const token = /^[^\s()<>@,;:\\"/[\]?=\x00-\x1f\x7f-\uffff]+$/

/**
 * A header block, its empty line included; the same buffer where there is nothing to do. What cannot be told in ASCII is still in it.
 *
 * @param downgraded recipients that cannot be told are shown and no more
 */
export function asciiHeader(block: Buffer, downgraded = false): Buffer {
  if (isAscii(block)) return block
  const header = new Header(block)
  const pieces: Buffer[] = []
  let kept = 0
  for (const field of header.fields) {
    if (isAscii(block.subarray(field.start, field.end))) continue
    const written = asciiValue(field, header.value(field), downgraded)
    if (written === undefined) continue
    pieces.push(block.subarray(kept, field.start), Buffer.from(`${field.name}: ${written}`, 'latin1'))
    kept = field.end
  }
  return kept === 0 ? block : Buffer.concat([...pieces, block.subarray(kept)])
}

/** Text as encoded words where it is not ASCII or a word fills a line, on lines that are not too long. */
export function asciiText(text: string, column: number): string {
  const words = text.split(' ')
  const odd = (word: string) => !isPlain(word) || word.includes('=?') || word.length > wordLengthMax
  const first = words.findIndex(odd)
  const last = words.findLastIndex(odd)
  if (first < 0) return folded(words, column)
  // White space between encoded words is none, so that what stands between them is encoded as well.
  const encoded = encodeAnyWords(decodeWords(words.slice(first, last + 1).join(' '))).split(' ')
  return folded([...words.slice(0, first), ...encoded, ...words.slice(last + 1)], column)
}

function asciiValue({ key, name }: HeaderField, value: string, downgraded: boolean): string | undefined {
  const column = name.length + 2
  if (addressed.has(key)) {
    const list = parseAddresses(value)
    // Of so many the rest may not have been read: none is left out.
    if (mailboxes(list).length >= limits.mime.addressesMax) return undefined
    if (list.length > 0) return addressesText(list, downgraded && recipients.has(key))
  }
  if (valued.has(key)) return valuedText(value)
  if (identifying.has(key)) return folded(value.replace(/[^\0-\x7f]+/g, bytesText).split(' '), column)
  // RFC 6857 3.2.1: for whom it came is left out where that cannot be told.
  if (key === 'received') {
    const told = value.replace(/\sfor\s+<[^<>]*[^\0-\x7f][^<>]*>/i, '')
    return folded(told.replace(/[^\0-\x7f]/g, '?').split(' '), column)
  }
  return asciiText(value, column)
}

function addressesText(list: readonly Address[], downgraded: boolean): string | undefined {
  const written = list.map(one => {
    if (!isGroup(one)) return mailboxIn(one, downgraded)
    const members = one.group.map(member => mailboxIn(member, false))
    if (members.every(isPlain)) return `${phrase(one.name)}: ${members.join(',\r\n ')};`
    return downgraded ? shown(`${one.name}: ${one.group.map(plainly).join(', ')}`) : ''
  })
  return written.every(one => isPlain(one) && one !== '') ? written.join(',\r\n ') : undefined
}

function mailboxIn(mailbox: Mailbox, downgraded: boolean): string {
  const text = mailboxText(mailbox)
  return isPlain(text) || !downgraded ? text : shown(plainly(mailbox))
}

function plainly({ name, address }: Mailbox): string {
  return name === '' ? address : `${name} <${address}>`
}

/** A group of nobody that shows a text. */
function shown(text: string): string {
  return `${asciiText(text, 0)} :;`
}

function phrase(name: string): string {
  if (!isPlain(name)) return asciiText(name, 0)
  return /^[\w !#$%&'*+\-/=?^`{|}~]+$/.test(name) ? name : `"${name.replace(/(["\\])/g, '\\$1')}"`
}

function valuedText(text: string): string | undefined {
  const { value, written } = parseValued(text)
  if (value === '' || !isPlain(value)) return undefined
  return [value, ...written.flatMap(([name, said]) => (isPlain(name) ? parameterText(name, said) : []))].join(';\r\n ')
}

/** RFC 2231 3 and 4, where it must be. */
function parameterText(name: string, said: string): string[] {
  if (isPlain(said)) return [token.test(said) ? `${name}=${said}` : `${name}="${said.replace(/(["\\])/g, '\\$1')}"`]
  const bytes = [...Buffer.from(decodeWords(said))]
  const encoded = bytes.map(byte =>
    /[\w.-]/.test(String.fromCharCode(byte)) && byte < 128 ? String.fromCharCode(byte) : `%${hex(byte)}`,
  )
  const segments = ["utf-8''"]
  for (const one of encoded) {
    if ((segments.at(-1) ?? '').length + one.length > segmentLength) segments.push('')
    segments.push(`${segments.pop()}${one}`)
  }
  if (segments.length === 1) return [`${name}*=${segments[0]}`]
  return segments.map((segment, at) => `${name}*${at}*=${segment}`)
}

/** What an id holds beyond ASCII, so that all fields that name it still name one. */
function bytesText(text: string): string {
  return [...Buffer.from(text)].map(byte => `=${hex(byte)}`).join('')
}

function hex(byte: number): string {
  return byte.toString(16).toUpperCase().padStart(2, '0')
}

function folded(words: readonly string[], column: number): string {
  let at = column
  return words
    .map((word, place) => {
      const breaks = place > 0 && word !== '' && at + 1 + word.length > lineLength
      at = breaks ? 1 + word.length : at + 1 + word.length
      return place === 0 ? word : breaks ? `\r\n ${word}` : ` ${word}`
    })
    .join('')
}

function isPlain(text: string): boolean {
  return /^[\0-\x7f]*$/.test(text)
}
