// DANE for SMTP (RFC 7672, 6698): whether the certificates that a server showed are those its TLSA records name.
//
// Pure. Usages 2 (an issuer the domain names) and 3 (this certificate) count, others are unusable for SMTP (RFC 7672 3.1.3).
// Nothing else vouches for a server here: no list of public authorities, and for usage 3 neither names nor dates.

import { createHash, X509Certificate } from 'node:crypto'
import { limits } from '#lib/limits.ts'

export interface TlsaRecord {
  readonly usage: 2 | 3
  /** 0: the certificate, 1: its key. */
  readonly selector: 0 | 1
  /** 0: all of it, 1: SHA-256, 2: SHA-512. */
  readonly matching: 0 | 1 | 2
  readonly data: Buffer
}

const digestBytes: Readonly<Record<number, number>> = { 1: 32, 2: 64 }
const digests: Readonly<Record<number, string>> = { 1: 'sha256', 2: 'sha512' }
const issuer = 2
const itself = 3

/** A record that can prove something; undefined for others, which are left out (RFC 7672 2.2). */
export function usableTlsa(data: Buffer): TlsaRecord | undefined {
  const [usage = -1, selector = -1, matching = -1] = data
  const rest = data.subarray(3)
  if ((usage !== issuer && usage !== itself) || (selector !== 0 && selector !== 1)) return undefined
  if (matching !== 0 && matching !== 1 && matching !== 2) return undefined
  if (rest.length === 0 || (matching !== 0 && rest.length !== digestBytes[matching])) return undefined
  if (matching === 0 && rest.length > limits.dane.wholeBytesMax) return undefined
  return { usage, selector, matching, data: rest }
}

/** As it is shown in reports (RFC 8460 4.4): `3 1 1 ABC...`. */
export function tlsaText({ usage, selector, matching, data }: TlsaRecord): string {
  const shown = data.subarray(0, limits.dane.shownBytesMax)
  return `${usage} ${selector} ${matching} ${shown.toString('hex').toUpperCase()}`
}

/** Why the chain is not proven, in the words of RFC 8460 4.3; undefined where it is. */
export type DaneFailure = 'certificate-host-mismatch' | 'certificate-expired' | 'validation-failure'

/**
 * Whether a chain is proven by one of the records.
 *
 * @param chain certificates as DER that the server showed, its own first, each followed by its issuer
 * @param names of which the server's certificate must have one, for usage 2 (RFC 7672 3.2.2)
 * @param at milliseconds since 1970
 */
export function proveChain(
  records: readonly TlsaRecord[],
  chain: readonly Buffer[],
  names: readonly string[],
  at: number,
): DaneFailure | undefined {
  let certificates: X509Certificate[]
  try {
    certificates = chain.slice(0, limits.dane.chainMax).map(der => new X509Certificate(der))
  } catch {
    return 'validation-failure'
  }
  const [own] = certificates
  if (own === undefined) return 'validation-failure'
  if (records.some(record => record.usage === itself && matches(record, own))) return undefined
  const issuers = records.filter(({ usage }) => usage === issuer)
  if (issuers.length === 0) return 'validation-failure'
  return byIssuer(issuers, withAnchors(certificates, issuers), own, names, at)
}

function byIssuer(
  records: readonly TlsaRecord[],
  certificates: readonly X509Certificate[],
  own: X509Certificate,
  names: readonly string[],
  at: number,
): DaneFailure | undefined {
  for (const [place, issued] of certificates.entries()) {
    const next = certificates[place + 1]
    if (next === undefined) return 'validation-failure'
    if (!next.ca || !issued.checkIssued(next) || !issued.verify(next.publicKey)) return 'validation-failure'
    if (!records.some(record => matches(record, next))) continue
    if (!certificates.slice(0, place + 2).every(one => isCurrent(one, at))) return 'certificate-expired'
    const how = { wildcards: true, partialWildcards: false } as const
    return names.some(name => own.checkHost(name, how) !== undefined) ? undefined : 'certificate-host-mismatch'
  }
  return 'validation-failure'
}

/** The chain, ended by an issuer that a record carries whole where the server did not show it. */
function withAnchors(certificates: readonly X509Certificate[], records: readonly TlsaRecord[]): X509Certificate[] {
  const last = certificates.at(-1)
  for (const { selector, matching, data } of records) {
    if (selector !== 0 || matching !== 0) continue
    try {
      const anchor = new X509Certificate(data)
      if (last?.checkIssued(anchor) === true && !last.raw.equals(anchor.raw)) return [...certificates, anchor]
    } catch {
      // Not a certificate: it proves nothing.
    }
  }
  return [...certificates]
}

function matches({ selector, matching, data }: TlsaRecord, certificate: X509Certificate): boolean {
  const chosen = selector === 0 ? certificate.raw : certificate.publicKey.export({ type: 'spki', format: 'der' })
  const algorithm = digests[matching]
  const found = algorithm === undefined ? chosen : createHash(algorithm).update(chosen).digest()
  return found.equals(data)
}

function isCurrent(certificate: X509Certificate, at: number): boolean {
  return Date.parse(certificate.validFrom) <= at && at <= Date.parse(certificate.validTo)
}
