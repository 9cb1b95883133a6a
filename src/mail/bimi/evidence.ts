// The evidence for a mark: a certificate (VMC or CMC) by an authority that is believed, for the domain that asserts the mark, with the
// very picture in it (draft-fetch-validation-vmc-wchuang, RFC 3709).
//
// Each link of the chain is proven by its signature: that a certificate names its issuer says nothing. Throws an Error with
// the reason; what it unpacks is bounded.

import { createHash, X509Certificate } from 'node:crypto'
import { gunzipSync } from 'node:zlib'
import { limits } from '#lib/limits.ts'

export interface Evidence {
  readonly type: 'VMC' | 'CMC'
}

/** id-kp-BrandIndicatorforMessageIdentification. */
const purpose = '1.3.6.1.5.5.7.3.31'
const logotype = '1.3.6.1.5.5.7.1.12'
/** The kind of mark, in the subject. */
const markType = '1.3.6.1.4.1.53087.1.13'
const common = /^(?:Prior Use Mark|Modified Registered Mark)$/
const hashes: Readonly<Record<string, string>> = {
  '2.16.840.1.101.3.4.2.1': 'sha256',
  '2.16.840.1.101.3.4.2.2': 'sha384',
  '2.16.840.1.101.3.4.2.3': 'sha512',
}

export interface EvidenceQuestion {
  /** Certificates in PEM, that of the mark first. */
  readonly bundle: string
  readonly svg: Uint8Array
  readonly domain: string
  readonly selector: string
  readonly now: number
  /** Authorities that are believed, in PEM. */
  readonly roots: readonly string[]
}

/** @throws Error where it proves nothing */
export async function evidenceFor({ bundle, svg, domain, selector, now, roots }: EvidenceQuestion): Promise<Evidence> {
  const pems = bundle.match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g) ?? []
  if (pems.length === 0 || pems.length > limits.bimi.chainMax) throw new Error('no chain of certificates')
  const chain = pems.map(pem => new X509Certificate(pem))
  const [leaf] = chain as [X509Certificate]
  checkChain(
    chain,
    roots.map(pem => new X509Certificate(pem)),
    now,
  )
  if (leaf.ca || !(leaf.keyUsage ?? []).includes(purpose)) throw new Error('a certificate that is not for marks')
  const asked = domain.toLowerCase()
  const own = `${selector}._bimi.${domain}`.toLowerCase()
  if (!namesOf(leaf).some(name => name === asked || name === own || asked.endsWith(`.${name}`)))
    throw new Error('a certificate of another domain')
  const picture = await pictureIn(leaf)
  const packed = picture.data[0] === 0x1f && picture.data[1] === 0x8b
  const embedded = packed ? gunzipSync(picture.data, { maxOutputLength: limits.bimi.indicatorBytesMax }) : picture.data
  for (const one of [embedded, svg]) {
    if (!createHash(picture.algorithm).update(one).digest().equals(picture.hash)) {
      throw new Error('another picture than the certificate has')
    }
  }
  const kind = leaf.subject.split('\n').find(line => line.startsWith(`${markType}=`)) ?? ''
  return { type: common.test(kind.slice(markType.length + 1)) ? 'CMC' : 'VMC' }
}

/** Names in DNS that it is for, in lower case; of a list with anything quoted none, since a quoted name may hold commas. */
function namesOf({ subjectAltName = '' }: X509Certificate): string[] {
  if (subjectAltName.includes('"')) return []
  const names = subjectAltName.split(', ').filter(one => one.startsWith('DNS:'))
  return names.map(one => one.slice('DNS:'.length).toLowerCase()).filter(name => name.includes('.'))
}

function checkChain(chain: readonly X509Certificate[], roots: readonly X509Certificate[], now: number): void {
  for (const [at, one] of chain.entries()) {
    if (now < Date.parse(one.validFrom) || now > Date.parse(one.validTo))
      throw new Error('a certificate out of its time')
    const above = chain[at + 1]
    if (above !== undefined && !isBy(one, above)) throw new Error('a chain that is broken')
  }
  const last = chain.at(-1) as X509Certificate
  const believed = roots.some(root => {
    const inTime = now >= Date.parse(root.validFrom) && now <= Date.parse(root.validTo)
    return inTime && (root.fingerprint512 === last.fingerprint512 || isBy(last, root))
  })
  if (!believed) throw new Error('an authority that is not believed')
}

function isBy(one: X509Certificate, issuer: X509Certificate): boolean {
  return issuer.ca && one.checkIssued(issuer) && one.verify(issuer.publicKey)
}

interface Picture {
  readonly algorithm: string
  readonly hash: Buffer
  /** Packed with gzip, as a rule (RFC 6170 5.2). */
  readonly data: Buffer
}

/** The picture of the subject: `LogotypeDetails`, media type, hashes, and where it lies, here in the certificate itself. */
async function pictureIn(leaf: X509Certificate): Promise<Picture> {
  const { Certificate } = await import('pkijs')
  const asn1 = await import('asn1js')
  const certificate = Certificate.fromBER(new Uint8Array(leaf.raw))
  const extension = certificate.extensions?.find(({ extnID }) => extnID === logotype)
  if (extension === undefined) throw new Error('a certificate without a picture')
  const { result } = asn1.fromBER(extension.extnValue.valueBlock.valueHexView)
  const waiting: unknown[] = [result]
  for (let seen = 0; waiting.length > 0 && seen < limits.bimi.nodesMax; seen++) {
    const node = waiting.shift()
    const details = detailsOf(node, asn1)
    if (details !== undefined) return details
    if (node instanceof asn1.Constructed || node instanceof asn1.Sequence) waiting.push(...node.valueBlock.value)
  }
  throw new Error('a certificate without a picture')
}

function detailsOf(node: unknown, asn1: typeof import('asn1js')): Picture | undefined {
  if (!(node instanceof asn1.Sequence)) return undefined
  const [media, digests, places] = node.valueBlock.value
  if (!(media instanceof asn1.IA5String) || !(digests instanceof asn1.Sequence) || !(places instanceof asn1.Sequence)) {
    return undefined
  }
  const [digest] = digests.valueBlock.value
  const [place] = places.valueBlock.value
  if (!(digest instanceof asn1.Sequence) || !(place instanceof asn1.IA5String)) return undefined
  const [by, hash] = digest.valueBlock.value
  const oid = by instanceof asn1.Sequence ? by.valueBlock.value[0] : undefined
  if (!(oid instanceof asn1.ObjectIdentifier) || !(hash instanceof asn1.OctetString)) return undefined
  const algorithm = hashes[oid.valueBlock.toString()]
  const data = /^data:image\/svg\+xml(?:\+gzip)?;base64,([A-Za-z\d+/=\s]+)$/i.exec(place.valueBlock.value)?.[1]
  if (algorithm === undefined || data === undefined || !/^image\/svg\+xml/i.test(media.valueBlock.value))
    return undefined
  return { algorithm, hash: Buffer.from(hash.valueBlock.valueHexView), data: Buffer.from(data, 'base64') }
}
