// Signatures of a message: which are right (DKIM, RFC 6376), and what ARC needs of them.
//
// What is plainly right is found so here (plain-signed.ts); a library reads and judges all else. Body hashes, keys and the
// splitting of the message are ours (body-hash.ts, signer-keys.ts), since what the library does for each byte and each key made
// a check cost ten times as much as its signature. Never throws.

import { limits } from '#lib/limits.ts'
import { type ParsedFields, signatureChecks } from '#lib/process/lazy.ts'
import { cutUnwanted } from '../header/cut.ts'
import { fieldRows } from '../header/field-rows.ts'
import { Header } from '../header/header.ts'
import { authorsOf } from './authors.ts'
import { BodyHashes } from './body-hashes.ts'
import { plainSigned, singles } from './plain-signed.ts'
import type { Signature, Signed } from './signature.ts'
import type { SignerKeys } from './signer-keys.ts'

/** A message as it is looked at: line ends are CR LF. */
export interface Looked {
  /** The header block with the empty line, if there is one. */
  readonly header: Buffer
  /** The same, where its fields are known. */
  readonly fields?: Header | undefined
  /** What follows; asked for only where something covers it, hardly ever twice. */
  body(): AsyncIterable<Uint8Array> | Iterable<Uint8Array>
}

/** Where header and body part. */
export function looked(message: Uint8Array): Looked {
  const bytes = Buffer.from(message.buffer, message.byteOffset, message.byteLength)
  const end = headerEnd(bytes)
  return { header: bytes.subarray(0, end), body: () => [bytes.subarray(end)] }
}

/** Behind the empty line that ends a header block; all of it where there is none. */
export function headerEnd(bytes: Buffer): number {
  if (bytes[0] === 0x0d && bytes[1] === 0x0a) return 2
  const end = bytes.indexOf('\n\r\n')
  return end < 0 ? bytes.length : end + 3
}

/** Undefined where it cannot be read. */
export async function verifySignatures(message: Looked, keys: SignerKeys): Promise<Signed | undefined> {
  const hashes = new BodyHashes(() => message.body())
  const { header, fields = new Header(header) } = message
  return (await plainSigned(fields, hashes, keys)) ?? (await verifyAll(header, hashes, keys))
}

/** Whatever may be in a header. */
async function verifyAll(header: Buffer, hashes: BodyHashes, keys: SignerKeys): Promise<Signed | undefined> {
  const { DkimVerifier } = signatureChecks()
  try {
    // SHA-1 proves nothing any more (RFC 8301).
    const how = { resolver: keys.resolver, minBitLength: limits.dkim.rsaBitsMin, rejectRsaSha1: true }
    checker ??= checkerOf(DkimVerifier)
    const verifier = new checker(how)
    verifier.keyCache = keys
    verifier.wanted = hashes
    const headers = fieldRows(withFewerSignatures(header))
    // What it makes of the type of the content says nothing of signatures.
    await verifier.messageHeaders({ parsed: headers.parsed.filter(({ key }) => key !== 'content-type') })
    verifier.headers = headers
    await hashes.fill()
    await verifier.finalChunk()
    const { headerFrom, fromFields, arc } = verifier
    const results = verifier.results.map(result => besideAdded(lawful(result), headers))
    return { headerFrom, fromFields, authors: authorsOf(headerFrom, headers), results, arc, headers }
  } catch {
    return undefined
  }
}

/** What the library only warns of, and RFC 6376 lets prove nothing (3.2 of tags there twice or that are none, 3.6.1 of `t=s`, 6.1.1). */
const unlawful: Readonly<Record<string, string>> = {
  'identity-domain': 'domain mismatch',
  'invalid-v': 'incompatible version',
  'query-method': 'unsupported query method',
  'tag-syntax': 'signature syntax error',
  ...Object.fromEntries(['v', 'bh', 'h'].map(tag => [`missing-${tag}`, 'signature missing required tag'])),
}

function lawful(result: Signature): Signature {
  const { warnings = [] } = result.status as { readonly warnings?: readonly string[] }
  const comment = warnings.map(warning => unlawful[warning]).find(reason => reason !== undefined)
  if (comment === undefined || result.status.result !== 'pass') return result
  const status = { ...result.status, result: 'neutral', comment }
  return { ...result, status, info: signatureChecks().formatAuthHeaderRow('dkim', status, { strict: false }) }
}

/** A signature that is right and covers one of two says nothing of the other, which is as good as a part that is not signed. */
function besideAdded(result: Signature, headers: ParsedFields): Signature {
  if (result.status.result !== 'pass') return result
  const added = addedBeside(result.signingHeaders?.keys ?? '', headers)
  if (added === undefined) return result
  const comment = `another ${added} is not signed`
  const status = { ...result.status, comment }
  const info = signatureChecks().formatAuthHeaderRow('dkim', status, { strict: false })
  return { ...result, added: true, status, info }
}

/**
 * A field that is there more often than it is signed.
 *
 * @param names that are signed, with colons between them
 */
export function addedBeside(names: string, { parsed }: ParsedFields): string | undefined {
  const signed = names.toLowerCase().split(/\s*:\s*/)
  const times = (all: readonly (string | null)[], name: string) => all.filter(one => one === name).length
  const there = parsed.map(({ key }) => key).filter(key => key !== null && singles.has(key))
  // By the few names: somebody may have signed one of them a thousand times.
  return [...singles].find(name => signed.includes(name) && times(there, name) > times(signed, name))
}

/** Whether all that a reader sees is signed. */
export function isWhole({ status, added }: Signature): boolean {
  return !status.underSized && added !== true
}

/** The library's verifier with body hashes of ours; one class for all messages. */
let checker: ReturnType<typeof checkerOf> | undefined

function checkerOf(Verifier: ReturnType<typeof signatureChecks>['DkimVerifier']) {
  return class extends Verifier {
    wanted: BodyHashes | undefined

    override addBodyHash(canonicalization: string, algorithm: string, covered: number | ''): string {
      const key = `${canonicalization}:${algorithm}:${covered}`
      const hash = this.wanted?.want({
        relaxed: canonicalization === 'relaxed',
        algorithm: algorithm === 'sha1' ? 'sha1' : 'sha256',
        coveredBytes: covered === '' ? undefined : covered,
      })
      if (hash !== undefined) this.bodyHashes.set(key, hash)
      return key
    }
  }
}

/**
 * The header with as many signatures as are looked at (RFC 6376 6.1): those of the domain in From first. A thousand of
 * somebody else must neither cost a thousand times as much nor save a message from being judged.
 */
function withFewerSignatures(header: Buffer): Buffer {
  const { signaturesMax } = limits.verify
  // A quick look: there hardly ever are so many.
  if (header.toString('latin1').split(/dkim-signature/i, signaturesMax + 2).length <= signaturesMax + 1) return header
  const signers: string[] = []
  let from = ''
  cutUnwanted(header, (key, value) => {
    if (key === 'dkim-signature') signers.push(/(?:^|;)\s*d\s*=\s*([^\s;]+)/i.exec(value())?.[1]?.toLowerCase() ?? '')
    if (key === 'from') from = /@([^\s@>,;]+)>?\s*$/.exec(value())?.[1]?.toLowerCase() ?? ''
    return false
  })
  if (signers.length <= signaturesMax) return header
  const near = signers.map(
    domain => domain !== '' && (from === domain || from.endsWith(`.${domain}`) || domain.endsWith(`.${from}`)),
  )
  const order = signers.map((_, at) => at).sort((one, other) => Number(near[other]) - Number(near[one]) || one - other)
  const kept = new Set(order.slice(0, signaturesMax))
  let at = 0
  return cutUnwanted(header, key => key === 'dkim-signature' && !kept.has(at++))
}
