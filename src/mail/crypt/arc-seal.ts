// A seal for mail that is sent on (RFC 8617 5.1): what was found of a message when it came here, so that the next host may believe
// it though the forward broke SPF, or changed what was signed.
//
// Promises: only what this service itself found is sealed, which stands in the lines it put on top; a chain that did not hold is
// sealed as failed, once, and one that nobody looked at not at all.

import { createPrivateKey } from 'node:crypto'
import { limits } from '#lib/limits.ts'
import { arcSealer, type ParsedFields } from '#lib/process/lazy.ts'
import { domainToAscii } from '../address/address.ts'
import { readResults, speaksAs } from '../header/auth-results.ts'
import { fieldRows } from '../header/field-rows.ts'
import type { Header } from '../header/header.ts'
import { BodyHash } from '../origin/body-hash.ts'
import { inSlices, type SigningKey } from './dkim.ts'

/** What is sealed: the results as they stand in Authentication-Results, and what became of the chain before. */
export interface Findings {
  readonly results: string
  readonly chain: 'none' | 'pass' | 'fail'
}

/**
 * What this service found of a message.
 *
 * @param own header lines that it put on top
 * @param header the whole header as it leaves
 */
export function findings(own: Header, header: Header, hostname: string): Findings | undefined {
  const results = own.rawAll('authentication-results').find(value => speaksAs(hostname, value))
  const said = results?.replace(/\s+/g, ' ').trim() ?? ''
  if (said === '' || /;\s*none$/.test(said)) return undefined
  const seals = header.rawAll('arc-seal')
  if (seals.length === 0) return { results: said, chain: 'none' }
  if (readResults(said).found.some(({ method, result }) => method === 'arc' && result === 'pass'))
    return seals.length < limits.verify.sealsMax ? { results: said, chain: 'pass' } : undefined
  // Nothing follows a chain that was sealed as failed (RFC 8617 5.1).
  return seals.some(value => /(?:^|;)\s*cv\s*=\s*fail\b/i.test(value)) ? undefined : { results: said, chain: 'fail' }
}

/**
 * The set of ARC fields for a message, each with its CRLF, to be put on top; empty where none can be made.
 *
 * @param message all of it with CRLF line ends, as it will be sent below them
 * @param keys of the domain that seals; one of RSA is preferred, which every verifier understands
 */
export async function arcSet(
  message: AsyncIterable<Buffer>,
  { results, chain }: Findings,
  keys: readonly SigningKey[],
): Promise<string> {
  const rsa = keys.find(({ privateKey }) => createPrivateKey(privateKey).asymmetricKeyType === 'rsa')
  const key = rsa ?? keys[0]
  if (key === undefined) return ''
  const how = {
    signingDomain: domainToAscii(key.domain),
    selector: key.selector,
    privateKey: key.privateKey,
    algorithm: rsa === undefined ? 'ed25519-sha256' : 'rsa-sha256',
    authResults: results,
    cv: chain,
  }
  const { header, bodyHash } = await taken(message)
  const headers = fieldRows(header)
  const seal = { ...how, bodyHash }
  const made = await arcSealer().createSeal(false, { headers, arc: { chain: chainIn(headers) }, seal } as never)
  return made.headers.map(field => `${field}\r\n`).join('')
}

/** The header block of a message, its empty line included, and the hash of the body as seals have it. */
async function taken(message: AsyncIterable<Buffer>): Promise<{ header: Buffer; bodyHash: string }> {
  const hash = new BodyHash({ relaxed: true, algorithm: 'sha256' })
  let header = Buffer.alloc(0)
  let whole = false
  for await (const piece of inSlices(message)) {
    if (whole) {
      hash.update(piece)
      continue
    }
    const all = Buffer.concat([header, piece])
    const end = all.indexOf(emptyLine) + emptyLine.length
    whole = end >= emptyLine.length
    header = whole ? all.subarray(0, end) : all
    if (whole) hash.update(all.subarray(end))
  }
  return { header, bodyHash: hash.digest() }
}

const emptyLine = '\r\n\r\n'

/** The sets that are there; none where they are no chain. */
function chainIn(headers: ParsedFields): unknown {
  try {
    return arcSealer().getARChain(headers)
  } catch {
    return false
  }
}
