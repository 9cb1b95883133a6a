// ENVELOPE, BODY and BODYSTRUCTURE as IMAP sends them (RFC 9051 7.5.2, the same in RFC 3501 7.4.2).
//
// Promises: each text is complete and may be written to an IMAP client as it stands, in any session, with or without
// UTF8=ACCEPT: it is printable ASCII, strings are quoted strings or NIL, and there is never a literal, CR or LF in it.
// What is not ASCII is encoded on the way: header text and names as encoded words (RFC 2047), parameters in the form of
// RFC 2231, domains as xn--. What was encoded by the sender stays as it was written, since clients decode it themselves.
// Whoever takes UTF-8 gets local parts of addresses as they are (`unicodeMailboxes`): nobody decodes those.

import { type Address, domainToAscii, isGroup, type Mailbox, splitAddress } from '../address/address.ts'
import { addressesOf, readingAddresses } from '../address/address-list.ts'
import { withoutComments } from '../header/comment.ts'
import type { Header } from '../header/header.ts'
import { decodeWords, encodeWords } from '../header/words.ts'
import { type MimePart, nothingSaid, type Said } from './mime-part.ts'
import { extendedValue, joinedParameters, type Valued } from './parameter.ts'

const noEnvelope = '(NIL NIL NIL NIL NIL NIL NIL NIL NIL NIL)'
const addressFields = ['from', 'sender', 'reply-to', 'to', 'cc', 'bcc']
const noBody = '"TEXT" "PLAIN" NIL NIL NIL "7BIT" 0 0'
const noExtension = ' NIL NIL NIL NIL'

/** The ENVELOPE of a message by its header, brackets included. Yields where whoever asks may rest. */
export function* envelope(header: Header): Generator<undefined, string> {
  for (const key of addressFields) {
    yield* readingAddresses(header, key)
    yield
  }
  const from = addressList(header, 'from')
  const sender = addressList(header, 'sender')
  const replyTo = addressList(header, 'reply-to')
  return `(${[
    text(header.raw('date')),
    text(header.raw('subject')),
    from,
    // RFC 9051 7.5.2: absent or empty means the same as From.
    sender === 'NIL' ? from : sender,
    replyTo === 'NIL' ? from : replyTo,
    addressList(header, 'to'),
    addressList(header, 'cc'),
    addressList(header, 'bcc'),
    text(header.raw('in-reply-to')),
    text(header.raw('message-id')),
  ].join(' ')})`
}

export interface Structures {
  readonly body: string
  readonly bodyStructure: string
}

/** BODY and BODYSTRUCTURE of a part, brackets included. Yields where whoever asks may rest. */
export function* structures(part: MimePart): Generator<undefined, Structures> {
  const body: string[] = []
  const bodyStructure: string[] = []
  yield* addStructures(part, body, bodyStructure)
  return { body: body.join(''), bodyStructure: bodyStructure.join('') }
}

/**
 * Adds the texts of a part to both, in pieces. Each piece is joined and not added up: what the engine has not laid out yet is some ten
 * strings, and those of a thousand parts are copied with each look for garbage.
 */
function* addStructures(part: MimePart, body: string[], bodyStructure: string[]): Generator<undefined, void> {
  const [type, subtype] = part.type.value.toUpperCase().split('/', 2) as [string, string]
  if (type === 'MULTIPART' && part.children.length > 0) {
    body.push('(')
    bodyStructure.push('(')
    for (const child of part.children) {
      yield* addStructures(child, body, bodyStructure)
      yield
    }
    body.push(` ${quoted(subtype)})`)
    bodyStructure.push([' ', quoted(subtype), multipartExtension(part), ')'].join(''))
    return
  }
  const basic = basicFields(part, type, subtype)
  if (type !== 'MESSAGE' || (subtype !== 'RFC822' && subtype !== 'GLOBAL')) {
    const lines = type === 'TEXT' ? ` ${part.lines}` : ''
    body.push(['(', basic, lines, ')'].join(''))
    bodyStructure.push(['(', basic, lines, singleExtension(part), ')'].join(''))
    return
  }
  // One that is encoded or too deep is not looked into, but the syntax wants these fields.
  const [message] = part.children
  const before = ['(', basic, ' ', message === undefined ? noEnvelope : yield* envelope(message.header), ' '].join('')
  body.push(before)
  bodyStructure.push(before)
  if (message !== undefined) yield* addStructures(message, body, bodyStructure)
  else {
    body.push(`(${noBody})`)
    bodyStructure.push(`(${noBody}${noExtension})`)
  }
  body.push(` ${part.lines})`)
  bodyStructure.push([' ', part.lines, singleExtension(part), ')'].join(''))
}

/** body-fields: type and subtype, parameters, id, description, encoding, octets. */
function basicFields(part: MimePart, type: string, subtype: string): string {
  const { said } = part
  return [
    quoted(type),
    quoted(subtype),
    parameters(part.type),
    text(said.id),
    text(said.description),
    quoted(part.encoding.toUpperCase()),
    part.bodyEnd - part.headerEnd,
  ].join(' ')
}

const globalStart = '("MESSAGE" "GLOBAL" '
/** Of one part before its envelope: parameters, id, description, encoding, octets. */
const basicValues = 5
/** What RFC 9051 has besides: envelope, structure, lines. */
const messageFields = 3

/** A structure as RFC 3501 9 has it, where only message/rfc822 is a message with an envelope and message/global a part like others. */
export function oldStructure(text: string): string {
  let out = ''
  let from = 0
  for (let at = text.indexOf(globalStart); at >= 0; at = text.indexOf(globalStart, from)) {
    const kept = valuesEnd(text, at + globalStart.length, basicValues)
    out += text.slice(from, kept)
    from = valuesEnd(text, kept + 1, messageFields)
  }
  return from === 0 ? text : out + text.slice(from)
}

/** An address whose local part is encoded, up to its host: a quote within a string has a backslash, so that this is nothing else. */
const encodedMailbox = /(\((?:NIL|"[^"\\]*(?:\\.[^"\\]*)*") NIL )"(=\?utf-8\?[^"\\]*\?=)"(?= ")/g

/**
 * An envelope or a structure for who takes UTF-8 (RFC 6855 3): the local part of an address is what mail is to be sent to, and an
 * encoded word is nobody's. A name is for reading, and a domain that begins with xn-- is the domain.
 */
export function unicodeMailboxes(text: string): string {
  if (!text.includes(' NIL "=?utf-8?')) return text
  return text.replace(encodedMailbox, (written, before: string, words: string) => {
    const local = decodeWords(words)
    const own = !/[\x00-\x1f\x7f]/.test(local) && encodeWords(local) === words
    return own ? `${before}"${local.replace(/["\\]/g, '\\$&')}"` : written
  })
}

/** Where so many values end that stand behind each other from `start` on, a space between them. */
function valuesEnd(text: string, start: number, count: number): number {
  let at = start
  for (let index = 0; index < count; index++) {
    if (index > 0) at += 1
    let depth = 0
    do {
      const character = text[at]
      if (character === '(') depth += 1
      else if (character === ')') depth -= 1
      if (character === '"') at = quotedEnd(text, at)
      else if (depth > 0 || character === ')') at += 1
      else while (at < text.length && text[at] !== ' ' && text[at] !== ')') at += 1
    } while (depth > 0 && at < text.length)
  }
  return at
}

function quotedEnd(text: string, start: number): number {
  let at = start + 1
  while (at < text.length && text[at] !== '"') at += text[at] === '\\' ? 2 : 1
  return at + 1
}

/** body-ext-mpart: parameters, disposition, language, location. */
function multipartExtension(part: MimePart): string {
  return ` ${parameters(part.type)} ${disposition(part)} ${language(part.said)} ${text(part.said.location)}`
}

/** body-ext-1part: MD5, disposition, language, location. */
function singleExtension(part: MimePart): string {
  const { said } = part
  if (said === nothingSaid && part.disposition === null) return noExtension
  return ` ${text(said.md5)} ${disposition(part)} ${language(said)} ${text(said.location)}`
}

function disposition(part: MimePart): string {
  const valued = part.disposition
  return valued === null || valued.value === ''
    ? 'NIL'
    : `(${quoted(valued.value.toUpperCase())} ${parameters(valued)})`
}

function language(said: Said): string {
  if (said.language === undefined) return 'NIL'
  const tags = withoutComments(said.language)
    .split(',', 20)
    .map(tag => tag.trim())
    .filter(tag => tag !== '')
  if (tags.length <= 1) return text(tags[0])
  return `(${tags.map(text).join(' ')})`
}

/** Parameters as written by the sender, each whole; those with 8-bit text as RFC 2231 would have them. */
function parameters(valued: Valued): string {
  if (valued.written.length === 0) return 'NIL'
  const items = joinedParameters(valued.written).map(([name, value]) => {
    const key = ascii(name)
    if (/^[\x20-\x7e]*$/.test(value)) return `${quoted(key)} ${quoted(value)}`
    return `${quoted(key.endsWith('*') ? key : `${key}*`)} ${quoted(extendedValue(value))}`
  })
  return `(${items.join(' ')})`
}

function addressList(header: Header, key: string): string {
  const items = addressesOf(header, key).map(addressItems).join('')
  return items === '' ? 'NIL' : `(${items})`
}

/** A group is opened by its name where the mailbox stands and closed by an item of NILs. */
function addressItems(address: Address): string {
  if (!isGroup(address)) return addressItem(address)
  const name = address.name === '' ? '""' : text(address.name)
  return `(NIL NIL ${name} NIL)${address.group.map(addressItem).join('')}(NIL NIL NIL NIL)`
}

function addressItem({ name, address }: Mailbox): string {
  const { local, domain } = splitAddress(address)
  // A NIL host would open a group, so what is missing is an empty string.
  const host = /^[\x21-\x7e]*$/.test(domain) ? domain : domainToAscii(domain) || encodeWords(domain)
  return `(${name === '' ? 'NIL' : text(name)} NIL ${text(unquoted(local))} ${text(host)})`
}

/** RFC 9051 9, addr-mailbox: the quotes of RFC 5322 are taken off. */
function unquoted(local: string): string {
  if (local.length < 2 || !local.startsWith('"') || !local.endsWith('"')) return local
  return local.slice(1, -1).replace(/\\(.)/g, '$1')
}

function text(value: string | undefined): string {
  return value === undefined ? 'NIL' : quoted(ascii(value))
}

function ascii(value: string): string {
  return /^[\x20-\x7e]*$/.test(value) ? value : encodeWords(value.replace(/[\x00-\x1f\x7f]/g, ' '))
}

/** `value` must be printable ASCII; what is not is dropped, so that no path leads to a broken line. */
function quoted(value: string): string {
  if (/^[\x20-\x21\x23-\x5b\x5d-\x7e]*$/.test(value)) return `"${value}"`
  return `"${value.replace(/[^\x20-\x7e]/g, '').replace(/["\\]/g, '\\$&')}"`
}
