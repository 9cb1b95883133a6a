// A seal for mail that is sent on (RFC 8617 5.1): what was found of a message when it came here, so that the next host may believe
// it though the forward broke SPF, or changed what was signed.
//
// Promises: only what this service itself found is sealed, which stands in the lines it put on top; a chain that did not hold is
// sealed as failed, once, and one that nobody looked at not at all.

import { createPrivateKey } from 'node:crypto'
import type { Readable } from 'node:stream'
import { limits } from '#lib/limits.ts'
import { arcSealer } from '#lib/process/lazy.ts'
import { domainToAscii } from '../address/address.ts'
import { readResults, speaksAs } from '../header/auth-results.ts'
import type { Header } from '../header/header.ts'
import type { SigningKey } from './dkim.ts'

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
  message: Readable,
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
  const fields = await arcSealer()(message, how as never)
  return fields
    .toString()
    .replace(/\r?\n(?=$)/, '')
    .replace(/(.)$/s, '$1\r\n')
}
