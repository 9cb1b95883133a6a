// The header of a message that an account sends, in the one form that all who read it later take alike, and strict reading of
// whom a field names. What one server takes for a part of a value another takes for a field, or for the end of the header:
// such doubt is what lets a message leave under two names, the checked one and the shown one.
//
// Pure and linear. A header that cannot be brought into that form without guessing is refused; what can is written anew, and
// one that has the form comes back as the same buffer. Must not be asked about mail of strangers, which is kept as it came.

import { Fault } from '#lib/fault.ts'
import { limits } from '#lib/limits.ts'
import { Header, type HeaderField } from './header.ts'
import { decodeWords } from './words.ts'

/** @throws Fault MessageMalformed where a header of so many bytes is not read to its end */
export function checkHeaderSize(bytes: number): void {
  if (bytes > limits.mime.headerBytesMax) throw malformed('The header is longer than it may be')
}

/**
 * A header block, its empty line included: fields of RFC 5322 2.2 only, lines that end in CR LF and are not blank.
 *
 * @throws Fault MessageMalformed for NUL, a CR without LF, or more than is read of a header
 */
export function plainHeader(block: Buffer): Buffer {
  checkHeaderSize(block.length)
  const text = block.toString('latin1')
  if (/\0|\r(?!\n)/.test(text)) throw malformed('The header holds NUL, or CR without LF')
  if (new Header(block).fields.length >= limits.mime.headerFieldsMax) {
    throw malformed('The header has more fields than it may have')
  }
  const written = writtenAnew(block)
  return written.equals(block) ? block : written
}

/** The same without refusing anything: what is no field, or is beyond what is read, goes. */
export function writtenAnew(block: Buffer): Buffer {
  const text = block.toString('latin1')
  const fields = new Header(block).fields.map(field => plainField(text, field))
  return Buffer.from(`${fields.join('')}\r\n`, 'latin1')
}

const anyAuthor = /(?:^|[\r\n])from[ \t\r\n]*:/gi

/** Whether no reader finds an author in this header that we do not find. */
export function namesAuthorsClearly(header: Header): boolean {
  if (header.fields.length >= limits.mime.headerFieldsMax) return false
  const found = header.block.toString('latin1').match(anyAuthor) ?? []
  return found.length === header.rawAll('from').length
}

/** Some end the header at a line of white space, and a line at VT or FF. */
function plainField(text: string, { name, valueStart, end }: HeaderField): string {
  const [first = '', ...folded] = text
    .slice(valueStart, end)
    .replace(/[\x01-\x08\x0b\x0c\x0e-\x1a\x1c-\x1f\x7f]/g, ' ')
    .split(/\r?\n/)
  return `${name}:${[first, ...folded.filter(line => /[^ \t]/.test(line))].join('\r\n')}\r\n`
}

function malformed(text: string): Fault {
  return new Fault('MessageMalformed', { text })
}

const blank = /[ \t]*/y
const addrSpec =
  /[\w!#$%&'*+\-/=?^`{|}~]+(?:\.[\w!#$%&'*+\-/=?^`{|}~]+)*@[A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?(?:\.[A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?)*/y
/** Dots outside of quotes are obsolete, and all over the world (RFC 5322 4.1). */
const word = /[\w!#$%&'*+\-/=?^`{|}~.]+|"(?:[ !#-[\]-~]|\\[ -~])*"/y

/**
 * The addresses of an unfolded value that is a list of mailboxes and nothing else (RFC 5322 3.4): no groups, comments,
 * routes or quoted local parts, and no encoded word that would change the list for who decodes before reading.
 */
export function strictMailboxes(value: string): string[] | undefined {
  const addresses: string[] = []
  let at = 0
  const take = (pattern: RegExp): string | undefined => {
    pattern.lastIndex = at
    const [found] = pattern.exec(value) ?? []
    at += found?.length ?? 0
    return found
  }
  for (;;) {
    take(blank)
    const start = at
    let address = take(addrSpec)
    take(blank)
    if (address === undefined || !isEnd(value, at)) {
      at = start
      while (take(word) !== undefined) take(blank)
      if (isHiding(value.slice(start, at)) || value[at] !== '<') return undefined
      at += 1
      take(blank)
      address = take(addrSpec)
      take(blank)
      if (address === undefined || value[at] !== '>') return undefined
      at += 1
      take(blank)
    }
    if (address.includes('=?')) return undefined
    addresses.push(address)
    if (at === value.length) return addresses
    if (value[at] !== ',') return undefined
    at += 1
  }
}

function isEnd(value: string, at: number): boolean {
  return at === value.length || value[at] === ','
}

/** Whether encoded words of a name hold an address, or what separates one. */
function isHiding(phrase: string): boolean {
  return phrase.includes('=?') && /[<>@]/.test(decodeWords(phrase))
}
