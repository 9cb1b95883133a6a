// Signatures of a message about which there is nothing to be in doubt: each field of the header is one to every reader, one author
// stands in From, nothing was sealed, and every signature is written in the usual way and is right.
//
// Nearly all mail is such, and to find it so here costs a fraction of what the library for all that may be needs: it makes a
// line of each field some times over. Promises: what comes back is what the library finds (the test compares them); whatever
// is unusual, or not right, is left to it, so that nothing but a pass is decided here. Never throws; a stranger's header costs
// what is linear in it times a bound.

import { createHash, verify } from 'node:crypto'
import { now } from '#lib/clock.ts'
import { limits } from '#lib/limits.ts'
import { alignment } from '#lib/process/lazy.ts'
import { domainToAscii, splitAddress } from '../address/address.ts'
import { strictMailboxes } from '../header/authored.ts'
import type { Header, HeaderField } from '../header/header.ts'
import { unfold } from '../header/words.ts'
import type { BodyHashes, WantedHash } from './body-hashes.ts'
import type { Signature, Signed } from './signature.ts'
import type { SignerKeys } from './signer-keys.ts'

/** A signature field as it is read. */
interface Written {
  readonly field: HeaderField
  readonly domain: string
  readonly selector: string
  readonly algorithm: 'rsa-sha256' | 'ed25519-sha256'
  readonly relaxed: boolean
  readonly names: readonly string[]
  readonly bodyHash: string
  readonly signature: string
  /** The field without the signature itself. */
  readonly unsigned: string
  readonly hash: WantedHash
}

/** Undefined where somebody else has to look. */
export async function plainSigned(header: Header, hashes: BodyHashes, keys: SignerKeys): Promise<Signed | undefined> {
  const { block } = header
  if (block.length > limits.verify.plainHeaderBytesMax) return undefined
  const text = block.toString('latin1')
  const { fields } = header
  if (!isPlain(text, fields)) return undefined
  const author = authorIn(text, fields)
  if (author === undefined) return undefined
  const signatures: Written[] = []
  for (const field of fields) {
    if (field.key !== 'dkim-signature') continue
    const written = signatures.length < limits.verify.plainSignaturesMax ? read(text, field, hashes) : undefined
    if (written === undefined) return undefined
    signatures.push(written)
  }
  if (signatures.length > 0) await hashes.fill()
  const results: Signature[] = []
  for (const signature of signatures) {
    if (signature.hash.hash !== signature.bodyHash || !(await isRight(signature, text, fields, keys))) return undefined
    results.push(resultOf(signature, author))
  }
  if (results.length === 0) results.push(unsigned)
  const authors = { domains: [domainToAscii(splitAddress(author).domain)], fields: 1 }
  return { headerFrom: [author], fromFields: 1, authors, results, arc: {}, headers: { parsed: [] } }
}

/** Of these a message has one (RFC 5322 3.6, RFC 2045): of two a reader shows, or goes by, either. */
export const singles: ReadonlySet<string> = new Set([
  ...['subject', 'reply-to', 'content-type', 'content-transfer-encoding'],
])

const strangeEnd = /\r(?!\n)|[^\r]\n/

/** Whether nobody finds other fields than these, and no end but the last line. */
function isPlain(text: string, fields: readonly HeaderField[]): boolean {
  if (strangeEnd.test(text) || text.indexOf('\n\r\n') !== text.length - 3) return false
  let start = 0
  let single = ''
  for (const { start: at, name, valueStart, end, key } of fields) {
    if (at !== start || valueStart !== at + name.length + 1) return false
    if (key.startsWith('arc-') || key === 'bimi-selector') return false
    if (singles.has(key)) {
      if (single.includes(`${key}:`)) return false
      single += `${key}:`
    }
    start = end + 2
  }
  return start === text.length - 2
}

/** The address in the one field that names one. */
function authorIn(text: string, fields: readonly HeaderField[]): string | undefined {
  let found: HeaderField | undefined
  for (const field of fields) {
    if (field.key !== 'from') continue
    if (found !== undefined) return undefined
    found = field
  }
  if (found === undefined) return undefined
  const value = text.slice(found.valueStart, found.end)
  if (!asciiLines.test(value)) return undefined
  const addresses = strictMailboxes(unfold(value))
  return addresses?.length === 1 ? addresses[0] : undefined
}

const asciiLines = /^[\t\r\n\x20-\x7e]*$/
const label = '[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?'
const domainName = new RegExp(`^(?=.{1,253}$)${label}(?:\\.${label})+$`)
const selectorName = new RegExp(`^(?=.{1,253}$)${label}(?:\\.${label})*$`)
const base64 = /^[A-Za-z0-9+/]+={0,2}$/
const seconds = /^\d{1,12}$/
const ways = /^(relaxed|simple)(?:\/(relaxed|simple))?$/
const fieldsMax = 200

/** RFC 6376 3.5; `l=` and whatever is none of the usual tags is not for here. */
function read(text: string, field: HeaderField, hashes: BodyHashes): Written | undefined {
  const value = text.slice(field.valueStart, field.end)
  if (!asciiLines.test(value)) return undefined
  const tags = tagsIn(value)
  if (tags === undefined || tags.v !== '1') return undefined
  const { a: algorithm, d: domain = '', s: selector = '', c = 'simple', t = '0', x, h = '', i, q, at, until } = tags
  if (i !== undefined && !isOfDomain(i, domain)) return undefined
  if (q !== undefined && q !== 'dns/txt') return undefined
  if (algorithm !== 'rsa-sha256' && algorithm !== 'ed25519-sha256') return undefined
  if (!domainName.test(domain) || !selectorName.test(selector) || !seconds.test(t)) return undefined
  if (x !== undefined && !(seconds.test(x) && Number(x) > Number(t) && Number(x) * 1000 > now())) return undefined
  const [, ofHeader, ofBody = 'simple'] = ways.exec(c) ?? []
  const [signature, bodyHash] = [dense(tags.b), dense(tags.bh)]
  if (ofHeader === undefined || !base64.test(signature) || !base64.test(bodyHash)) return undefined
  const names = dense(h).toLowerCase().split(':')
  if (names.length > fieldsMax || !names.includes('from')) return undefined
  return {
    ...{ field, domain, selector, algorithm, relaxed: ofHeader === 'relaxed', names, bodyHash, signature },
    unsigned: value.slice(0, at) + value.slice(until),
    hash: hashes.want({ relaxed: ofBody === 'relaxed', algorithm: 'sha256' }),
  }
}

/** Whether somebody of the domain itself is named, in a way that needs no quotes and no code (RFC 6376 2.11, 3.5). */
function isOfDomain(identity: string, domain: string): boolean {
  const at = identity.indexOf('@')
  return identity.slice(at + 1).toLowerCase() === domain.toLowerCase() && plainLocal.test(identity.slice(0, at))
}

const plainLocal = /^(?:[\w!#$%&'*+/?^`{|}~-]+(?:\.[\w!#$%&'*+/?^`{|}~-]+)*)?$/

type Tag = 'v' | 'a' | 'b' | 'bh' | 'c' | 'd' | 'h' | 'i' | 'q' | 's' | 't' | 'x'

interface Tags extends Partial<Record<Tag, string>> {
  /** Where the value of `b` stands. */
  at: number
  until: number
}

/** A list of tags (RFC 6376 3.2) that are all known, each once. */
function tagsIn(value: string): Tags | undefined {
  const tags: Tags = { at: 0, until: 0 }
  for (let start = 0; start < value.length; ) {
    const semicolon = value.indexOf(';', start)
    const end = semicolon < 0 ? value.length : semicolon
    const equals = value.indexOf('=', start)
    // One may stand at the end.
    if (equals < 0 || equals > end) return value.slice(start).trim() === '' ? tags : undefined
    const name = value.slice(start, equals).trim()
    if (!isTag(name) || tags[name] !== undefined) return undefined
    tags[name] = value.slice(equals + 1, end).trim()
    if (name === 'b') {
      tags.at = equals + 1
      tags.until = end
    }
    start = end + 1
  }
  return tags
}

const known: ReadonlySet<string> = new Set<Tag>(['v', 'a', 'b', 'bh', 'c', 'd', 'h', 'i', 'q', 's', 't', 'x'])

function isTag(name: string): name is Tag {
  return known.has(name)
}

function dense(text = ''): string {
  return /[ \t\r\n]/.test(text) ? text.replace(/[ \t\r\n]+/g, '') : text
}

/** RFC 6376 3.7. */
async function isRight(
  written: Written,
  text: string,
  fields: readonly HeaderField[],
  keys: SignerKeys,
): Promise<boolean> {
  const { algorithm, domain, selector, signature } = written
  try {
    const name = `${selector}._domainkey.${domain}`
    const found = await keys.get('DKIM', name, limits.dkim.rsaBitsMin, { strict: false, hashAlgo: 'sha256' })
    const { publicKey, testing = false, warnings = [] } = found
    const isRsa = algorithm === 'rsa-sha256'
    if (testing || warnings.length > 0 || publicKey.asymmetricKeyType !== (isRsa ? 'rsa' : 'ed25519')) return false
    const bytes = Buffer.from(signedText(written, text, fields), 'latin1')
    const proof = Buffer.from(signature, 'base64')
    if (isRsa) return verify('sha256', bytes, publicKey, proof)
    return verify(null, createHash('sha256').update(bytes).digest(), publicKey, proof)
  } catch {
    return false
  }
}

/** The fields that are signed, from the last of a name on (5.4.2), and the signature's own. */
function signedText(
  { field, relaxed, names, unsigned }: Written,
  text: string,
  fields: readonly HeaderField[],
): string {
  let signed = ''
  const used = new Uint8Array(fields.length)
  for (const name of names) {
    if (name === '') continue
    for (let at = fields.length - 1; at >= 0; at--) {
      const one = fields[at] as HeaderField
      if (one.key !== name || used[at] === 1) continue
      used[at] = 1
      const value = text.slice(one.valueStart, one.end)
      signed += relaxed ? `${name}:${relax(value)}\r\n` : `${one.name}:${value}\r\n`
      break
    }
  }
  return signed + (relaxed ? `dkim-signature:${relax(unsigned)}` : `${field.name}:${unsigned}`)
}

/** RFC 6376 3.4.2. */
function relax(value: string): string {
  let start = 0
  let end = value.length
  while (start < end && isBlank(value.charCodeAt(start))) start++
  while (end > start && isBlank(value.charCodeAt(end - 1))) end--
  const text = value.slice(start, end)
  return folded.test(text) ? text.replace(/(?:[ \t]|\r\n)+/g, ' ') : text
}

const folded = /[\t\n]| {2}/

function isBlank(code: number): boolean {
  return code === 0x20 || code === 0x09 || code === 0x0a || code === 0x0d
}

/** As the library says it. */
const unsigned: Signature = {
  status: { result: 'none', comment: 'message not signed' },
  info: 'dkim=none (message not signed)',
}

const token = /^[!#$%&'*+\-.0-9A-Z^_`a-z{|}~]+$/

/** Of a signature that is right. */
function resultOf({ domain, selector, algorithm, signature, names }: Written, author: string): Signature {
  const b = signature.slice(0, 8)
  const from = splitAddress(author).domain
  const near = from === domain ? { domain } : (alignment()(from, [domain]) as { domain?: string } | false)
  const shown = `header.s=${selector} header.a=${algorithm} header.b=${token.test(b) ? b : `"${b}"`}`
  return {
    signingDomain: domain,
    selector,
    status: {
      result: 'pass',
      header: { i: `@${domain}`, s: selector, a: algorithm, b },
      aligned: near === false ? false : (near?.domain ?? false),
    },
    signingHeaders: { keys: names.join(': ') },
    info: `dkim=pass header.i=@${domain} ${shown}`,
  }
}
