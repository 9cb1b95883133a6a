// Whose name a message goes under (RFC 9989 5.3.1): the domains of all authors that any reader may find in it.
//
// The library for DMARC judges a From of one domain and leaves all others unjudged, which is what a forger wants: `From: <x@his>
// <boss@bank>` is his for one reader and the bank's for another. So the domains it finds, those that are shown here (API, IMAP), and
// those in a text that is shown in place of an address are all held to be authors. Pure, linear, never throws.

import { limits } from '#lib/limits.ts'
import type { ParsedFields } from '#lib/process/lazy.ts'
import { domainToAscii, type Mailbox, mailboxes, splitAddress } from '../address/address.ts'
import { decodeAddresses, parseAddresses } from '../address/address-list.ts'
import { strictMailboxes } from '../header/authored.ts'
import { Header } from '../header/header.ts'
import { decodeWords } from '../header/words.ts'

export interface Authors {
  /** In ASCII, each once, limits.verify.authorsMax + 1 at most; none where nobody is named. */
  readonly domains: readonly string[]
  /** Fields that name them. */
  readonly fields: number
}

/**
 * @param headerFrom addresses as the library for signatures reads them
 * @param headers fields as it finds them, which are more than others do
 */
export function authorsOf(headerFrom: readonly string[], headers: ParsedFields): Authors {
  const lines = headers.parsed.flatMap(({ key, line }) => (key === 'from' ? [line] : []))
  const values = [...lines, ...hidden(headers)].map(valueIn)
  const [only = ''] = values
  const clear = values.length === 1 ? strictMailboxes(only) : undefined
  const found =
    clear?.map(address => splitAddress(address).domain) ??
    [...headerFrom.map(withoutQuoted), ...values.flatMap(shownIn)].flatMap(domainsIn)
  const domains = new Set<string>()
  for (const one of found) {
    const ascii = domainToAscii(decodeWords(one.replace(/\\/g, '')).replace(unseen, ''))
    if (ascii !== '' && domains.size <= limits.verify.authorsMax) domains.add(ascii)
  }
  return { domains: [...domains], fields: values.length }
}

const afterReturn = /\r(?=[ \t]*from[ \t]*:)/i
/** A line of its own, with what stands before its colon. */
const lineNamed = /(?:^|\n)([^\n:]{4,60}):([^\n]*(?:\n[ \t][^\n]*)*)/g

/**
 * Fields that some readers find and others do not: behind a bare CR, which some take for the end of a line, and under a name with signs
 * around or in it that show as nothing, which some leave out.
 */
function hidden({ parsed }: ParsedFields): Buffer[] {
  return parsed.flatMap(({ line }) => {
    const text = line.toString('latin1')
    const pieces = text.split(afterReturn).slice(1)
    if (strangeName.test(text)) {
      for (const [, name = '', value = ''] of text.matchAll(lineNamed)) {
        if (!plainName.test(name) && name.replace(/[^!-~]+/g, '').toLowerCase() === 'from') pieces.push(`From:${value}`)
      }
    }
    return pieces.map(piece => Buffer.from(piece.replace(/\r(?!\n)[\s\S]*$/, ''), 'latin1'))
  })
}

/** What every reader takes for the name of a field, or for a line that goes on. */
const plainName = /^(?:[!-~]+[ \t\r]*$|[ \t])/
const strangeName = /[^\t\n\r -~]/

function valueIn(line: Buffer): string {
  const block = Buffer.concat([Buffer.from('From'), line.subarray(line.indexOf(0x3a)), Buffer.from('\r\n')])
  return new Header(block).raw('from') ?? ''
}

/** Addresses as the API and IMAP show them, and names where they have nothing else to show. */
function shownIn(value: string): string[] {
  const found: Mailbox[] = mailboxes(decodeAddresses(parseAddresses(value, { decode: false })))
  return found.map(({ name, address }) => (address.includes('@') ? `@${splitAddress(address).domain}` : name))
}

/** What stands in quotes before an `@` is a local part, whatever it looks like. */
function withoutQuoted(address: string): string {
  return address.replace(/"(?:[^"\\]|\\.)*"(?=\s*@)/g, '')
}

/** Whatever stands behind an `@`. */
function domainsIn(text: string): string[] {
  return [...text.matchAll(afterAt)].map(([, domain = '']) => domain)
}

const afterAt = /@\s*(\[[^[\]\s]{1,64}\]|[^\s@"<>(),;:[\]]{1,255})/g
/** Characters that show as nothing. */
const unseen = /[\p{C}\p{Z}\p{Default_Ignorable_Code_Point}]/gu
