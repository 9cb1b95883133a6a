// E-mail addresses: the forms one may have here, and what makes two of them the same.
//
// Promises: everything is linear and never throws; what is compared is always a `key`, what is shown always an
// `address`. Lists in header fields are read by address-list.ts.

import { domainToASCII, domainToUnicode as toUnicode } from 'node:url'
import { limits } from '#lib/limits.ts'

export interface Mailbox {
  readonly name: string
  /** `local@domain`; may lack the domain or be empty where the header was broken. */
  readonly address: string
}

export interface Group {
  readonly name: string
  readonly group: readonly Mailbox[]
}

export type Address = Mailbox | Group

export function isGroup(address: Address): address is Group {
  return 'group' in address
}

/** All mailboxes of a list, those of groups in their place. */
export function mailboxes(addresses: readonly Address[]): Mailbox[] {
  return addresses.flatMap(address => (isGroup(address) ? address.group : [address]))
}

/** Local part and domain of an address, split at the last `@`; no `@` gives an empty domain. */
export function splitAddress(address: string): { local: string; domain: string } {
  const at = address.lastIndexOf('@')
  return at < 0 ? { local: address, domain: '' } : { local: address.slice(0, at), domain: address.slice(at + 1) }
}

export interface NormalAddress {
  /** For showing: NFC, domain in lower case and in unicode; dots, case and label of the local part kept. */
  readonly address: string
  /** For comparing: all in lower case, local part without dots and +label (api-semantics 2.4). */
  readonly key: string
  /** Local part as in `address`, without its +label. */
  readonly local: string
  readonly domain: string
  /** What stood after the `+`, or an empty string. */
  readonly label: string
}

/** What an address is shown as and what it is compared by. Takes any text; check the form with `isAddress` first. */
export function normalizeAddress(text: string): NormalAddress {
  const { local: whole, domain: given } = splitAddress(text.normalize('NFC').trim())
  const domain = domainToUnicode(given)
  const plus = whole.indexOf('+')
  const local = plus > 0 ? whole.slice(0, plus) : whole
  const label = plus > 0 ? whole.slice(plus + 1) : ''
  const dotless = local.replaceAll('.', '') || local
  return { address: `${whole}@${domain}`, key: `${dotless.toLowerCase()}@${domain}`, local, domain, label }
}

/** What a username or a login name is compared by: with an `@` like an address, else in lower case without dots. */
export function normalizeUsername(name: string): string {
  const text = name.normalize('NFC').trim()
  if (text.includes('@')) return normalizeAddress(text).key
  return text.toLowerCase().replaceAll('.', '')
}

/**
 * Lower case, NFC, `xn--` labels decoded, no dot at the end, and one spelling for what DNS takes for one name: letters of
 * full width become plain ones (UTS 46). What cannot be decoded stays.
 */
export function domainToUnicode(domain: string): string {
  const lower = domain.normalize('NFC').trim().toLowerCase().replace(/\.$/, '')
  const ascii = domainToAscii(lower)
  if (ascii === lower && !lower.includes('xn--')) return lower
  return toUnicode(ascii) || lower
}

/** A text with the domains in it that are written `xn--` in unicode. */
export function domainsToUnicode(text: string): string {
  return /xn--/i.test(text) ? text.replace(/[a-z0-9-]+(?:\.[a-z0-9-]+)*/gi, decodedWord) : text
}

function decodedWord(word: string): string {
  return /xn--/i.test(word) ? domainToUnicode(word) : word
}

/** The form DNS and old mail servers understand (`xn--`), or an empty string where there is none. */
export function domainToAscii(domain: string): string {
  const lower = domain.normalize('NFC').trim().toLowerCase().replace(/\.$/, '')
  if (/^[\x21-\x7e]*$/.test(lower)) return lower
  const ascii = domainToASCII(lower)
  // A host parser reads digits as an IPv4 address; a mail domain is never one.
  return /^[\d.]+$/.test(ascii) ? '' : ascii
}

/** The domain of an address as DNS has it; as it is written, in lower case, where it has no such form. */
export function domainOf(address: string): string {
  const { domain } = splitAddress(address)
  return domainToAscii(domain) || domain.toLowerCase()
}

/** A username in lower case (api-semantics 1.4). */
export const usernamePattern = /^[a-z0-9-]+(?:[._=:][a-z0-9-]+)*(?:@[a-z0-9-]+(?:[._=:][a-z0-9-]+)*)?$/

/** Whether `name`, already in lower case, may be a username (api-semantics 1.4). */
export function isUsername(name: string): boolean {
  return name.length <= limits.name.usernameLengthMax && usernamePattern.test(name)
}

const localPattern =
  /^[^\x00-\x20\x7f-\xa0"(),:;<>@[\\\].\u2028\u2029\ud800-\udfff]+(?:\.[^\x00-\x20\x7f-\xa0"(),:;<>@[\\\].\u2028\u2029\ud800-\udfff]+)*$/u
const labelPattern = /^[\p{L}\p{N}\p{M}](?:[\p{L}\p{N}\p{M}-]*[\p{L}\p{N}\p{M}])?$/u

/** Whether `text` is an address: unicode allowed, two domain labels at least, no quotes (api-semantics 1.4). */
export function isAddress(text: string): boolean {
  const { local, domain } = splitAddress(text)
  if (local === '' || Buffer.byteLength(local) > limits.name.localPartBytesMax) return false
  return localPattern.test(local) && isDomain(domain)
}

/** Whether something in `text` shows as nothing, so that it looks like another address (RFC 8264 9.8, 9.13). */
export function hasInvisible(text: string): boolean {
  return /\p{Default_Ignorable_Code_Point}/u.test(text)
}

/** Whether `text` is a domain of two labels at least, in unicode or ASCII. */
export function isDomain(text: string): boolean {
  if (text.length > limits.name.domainLengthMax) return false
  const labels = text.split('.')
  if (labels.length < 2 || labels.some(label => !labelPattern.test(label))) return false
  const ascii = domainToAscii(text)
  return (
    ascii !== '' && ascii.length <= limits.name.domainLengthMax && ascii.split('.').every(label => label.length <= 63)
  )
}

export interface Wildcard {
  /** `any` is *@domain, `suffix` *text@domain, `prefix` text*@domain, `everywhere` text@*. */
  readonly kind: 'any' | 'suffix' | 'prefix' | 'everywhere'
  readonly text: string
  readonly domain: string
}

/** The parts of a wildcard address in the forms of api-semantics 10.8; null for anything else. */
export function parseWildcard(address: string): Wildcard | null {
  const { local, domain } = splitAddress(address)
  if (address.split('*').length !== 2 || address.includes('+')) return null
  if (domain === '*') return localPattern.test(local) ? { kind: 'everywhere', text: local, domain } : null
  if (!isDomain(domain)) return null
  if (local === '*') return { kind: 'any', text: '', domain }
  const text = local.replace('*', '')
  if (text.length > limits.name.wildcardPartLengthMax || !localPattern.test(text)) return null
  if (local.startsWith('*')) return { kind: 'suffix', text, domain }
  return local.endsWith('*') ? { kind: 'prefix', text, domain } : null
}

/**
 * Keys of the wildcard addresses that match `address`, in the order in which they are tried (api-semantics 10.8):
 * longer parts before shorter ones and `*@domain`, the same in the domain that its domain is an alias of, then `user@*`.
 */
export function wildcardKeys(address: string, aliasOf?: string): string[] {
  const { key } = normalizeAddress(address)
  const { local, domain } = splitAddress(key)
  const keys: string[] = []
  for (const one of aliasOf === undefined ? [domain] : [domain, aliasOf]) {
    for (let length = Math.min(local.length, limits.name.wildcardPartLengthMax); length > 0; length--) {
      keys.push(`*${local.slice(-length)}@${one}`, `${local.slice(0, length)}*@${one}`)
    }
    keys.push(`*@${one}`)
  }
  keys.push(`${local}@*`)
  return keys
}
