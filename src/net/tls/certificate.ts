// A certificate as an operator gives it, made fit for use: its key checked, its chain put in order, its names read.
//
// Certificates may come in one text or several, the own one first or not. One that has ended is taken, since what to do
// about it is the operator's business. The private key must be that of one of the certificates.

import { type KeyObject, X509Certificate } from 'node:crypto'
import { invalid } from '#lib/fault.ts'
import { limits } from '#lib/limits.ts'
import { privatePem } from '#lib/secret/private-key.ts'
import { type KeyPair, secureContext } from './tls.ts'

export interface Certificate extends KeyPair {
  /** DNS names and addresses in the certificate's order; the common name where it has none. */
  readonly altNames: string[]
  /** Milliseconds since 1970. */
  readonly expires: number
}

/**
 * Puts a certificate together.
 *
 * @param cert PEM, may be a bundle
 * @param ca further PEM texts with certificates of issuers
 * @throws Fault InputValidationError naming `cert`, `ca` or `privateKey`
 */
export function readCertificate(key: KeyObject, cert: string, ca: readonly string[]): Certificate {
  const given = readBlocks(cert, 'cert')
  if (given.length === 0) throw invalid('cert', 'must be a certificate in PEM')
  const issuers = ca.flatMap((text, index) => {
    const found = readBlocks(text, `ca,${index}`)
    if (found.length === 0 && text.trim() !== '') throw invalid(`ca,${index}`, 'must be certificates in PEM')
    return found
  })
  if (given.length + issuers.length > limits.certificate.chainMax) {
    throw invalid('cert', `must not have more than ${limits.certificate.chainMax} certificates in its chain`)
  }
  const own = given.find(one => one.checkPrivateKey(key))
  if (own === undefined) throw invalid('privateKey', 'does not belong to the certificate')
  const chain = inOrder(own, [...given, ...issuers])
  const pair = { key: privatePem(key), cert: chain.map(one => one.toString()).join('') }
  try {
    secureContext(pair, 'TLSv1.2')
  } catch {
    throw invalid('cert', 'cannot be used for TLS')
  }
  return { ...pair, altNames: namesOf(own), expires: own.validToDate.getTime() }
}

function readBlocks(text: string, field: string): X509Certificate[] {
  const blocks = text.match(/-----BEGIN CERTIFICATE-----[A-Za-z0-9+/=\s]+-----END CERTIFICATE-----/g) ?? []
  try {
    return blocks.slice(0, limits.certificate.chainMax + 1).map(block => new X509Certificate(block))
  } catch {
    throw invalid(field, 'has a certificate that cannot be read')
  }
}

/** The own certificate, whoever issued it, and so on; what is not part of that goes last (RFC 8446 4.4.2). */
function inOrder(own: X509Certificate, all: readonly X509Certificate[]): X509Certificate[] {
  const rest = new Map(all.map(one => [one.fingerprint256, one]))
  const chain: X509Certificate[] = []
  for (let next: X509Certificate | undefined = own; next !== undefined; ) {
    const current: X509Certificate = next
    chain.push(current)
    rest.delete(current.fingerprint256)
    next = [...rest.values()].find(one => current.checkIssued(one))
  }
  return [...chain, ...rest.values()]
}

function namesOf(certificate: X509Certificate): string[] {
  const text = certificate.subjectAltName ?? ''
  const names = [...text.matchAll(/(?:^|, )(DNS|IP Address):("(?:[^"\\]|\\.)*"|[^,]*)/g)]
    .map(([, , value = '']) => (value.startsWith('"') ? (JSON.parse(value) as string) : value))
    .map(name => name.toLowerCase())
  if (names.length > 0) return [...new Set(names)].slice(0, limits.certificate.namesMax)
  const common = certificate.toLegacyObject().subject?.CN as string | string[] | undefined
  return common === undefined ? [] : [common].flat().slice(0, 1)
}
