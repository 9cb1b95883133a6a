// Messages encrypted for the holders of certificates before they are stored: S/MIME (RFC 8551), the CMS inside by hand
// (RFC 5652; AES-GCM: RFC 5083, 5084; elliptic curves: RFC 5753).
//
// Promises: what is inside is the message byte for byte, and each holder can read it: RSA from 2048 bits by PKCS#1 v1.5 or
// OAEP, P-256, P-384 and P-521 by an ephemeral key. A certificate that cannot be used is passed over, one that has expired
// can: its holder still reads what is encrypted to it, and would rather have that than clear text on the disk.

import {
  constants,
  createCipheriv,
  createHash,
  diffieHellman,
  generateKeyPairSync,
  type KeyObject,
  publicEncrypt,
  X509Certificate,
} from 'node:crypto'
import { randomBuffer } from '#lib/id.ts'
import { der, elements, integer, octets, oid, sequence, tags } from './der.ts'
import { outerFieldsOf } from './encrypt.ts'

/** What a certificate says of itself. */
export interface CertificateFacts {
  readonly subject: string
  readonly serial: string
  /** SHA-256, hexadecimal with colons. */
  readonly fingerprint: string
}

export interface SmimeOptions {
  readonly certificates: readonly string[]
  /** AES-CBC unless given. */
  readonly cipher?: string | undefined
  /** PKCS#1 v1.5 unless given. */
  readonly keyTransport?: string | undefined
}

/** Whom a certificate in PEM belongs to; null where mail cannot be encrypted to it. */
export function inspectCertificate(pem: string): CertificateFacts | null {
  const found = readCertificate(pem)
  if (found === null) return null
  const { serialNumber, fingerprint256 } = found.certificate
  // One that names its holder by address alone has none, and the runtime says so by undefined.
  const subject = found.certificate.subject as string | undefined
  return {
    subject: subject?.replaceAll('\n', ', ') ?? '',
    serial: serialNumber.toLowerCase(),
    fingerprint: fingerprint256.toLowerCase(),
  }
}

/** The message encrypted to every certificate that can be used; null where there is none. */
export function encryptSmime(message: Buffer, { certificates, cipher, keyTransport }: SmimeOptions): Buffer | null {
  const key = randomBuffer(32)
  const recipients = certificates.map(pem => recipientOf(pem, key, keyTransport === 'OAEP')).filter(one => one !== null)
  if (recipients.length === 0) return null
  const infos = der(tags.set, ...recipients.sort(Buffer.compare))
  const version = recipients.some(info => info[0] !== tags.sequence) ? 2 : 0
  const sealed = cipher === 'AES-GCM' ? withGcm(message, key, infos) : withCbc(message, key, infos, version)
  const kind = cipher === 'AES-GCM' ? 'authEnveloped-data' : 'enveloped-data'
  const own = [
    'MIME-Version: 1.0',
    `Content-Type: application/pkcs7-mime; smime-type=${kind}; name=smime.p7m`,
    'Content-Transfer-Encoding: base64',
    'Content-Disposition: attachment; filename=smime.p7m',
    'Content-Description: S/MIME encrypted message',
    '',
    '',
  ].join('\r\n')
  const lines = sealed.toString('base64').replace(/.{76}(?=.)/g, '$&\r\n')
  return Buffer.concat([...outerFieldsOf(message), Buffer.from(`${own}${lines}\r\n`)])
}

interface Holder {
  readonly certificate: X509Certificate
  readonly key: KeyObject
  /** Null for RSA. */
  readonly curve: string | null
  /** IssuerAndSerialNumber (RFC 5652 10.2.4). */
  readonly name: Buffer
}

const curves = new Set(['prime256v1', 'secp384r1', 'secp521r1'])
const modulusBitsMin = 2048

function readCertificate(pem: string): Holder | null {
  try {
    const certificate = new X509Certificate(pem)
    const key = certificate.publicKey
    const { modulusLength = 0, publicExponent = 0n, namedCurve = '' } = key.asymmetricKeyDetails ?? {}
    // With an exponent of 1 nothing is hidden, and what an even one hides nobody finds.
    const hides = publicExponent > 1n && publicExponent % 2n === 1n
    const isRsa = key.asymmetricKeyType === 'rsa' && modulusLength >= modulusBitsMin && hides
    if (!isRsa && !(key.asymmetricKeyType === 'ec' && curves.has(namedCurve))) return null
    return { certificate, key, curve: isRsa ? null : namedCurve, name: nameOf(certificate.raw) }
  } catch {
    return null
  }
}

function nameOf(raw: Buffer): Buffer {
  const [whole] = elements(raw)
  const [body] = elements(whole?.content ?? raw)
  const [version, ...rest] = elements(body?.content ?? raw)
  const fields = version?.tag === 0xa0 ? rest : [version, ...rest]
  const [serial, , issuer] = fields
  if (serial?.tag !== tags.integer || issuer?.tag !== tags.sequence) throw new RangeError('no certificate')
  return sequence(issuer.whole, serial.whole)
}

/** The key for one holder; null where the certificate cannot be used. A number that is no RSA modulus shows only here. */
function recipientOf(pem: string, key: Buffer, oaep: boolean): Buffer | null {
  const holder = readCertificate(pem)
  if (holder === null) return null
  try {
    return holder.curve === null ? rsaRecipient(holder, key, oaep) : curveRecipient(holder, key)
  } catch {
    return null
  }
}

const sha256 = sequence(oid('2.16.840.1.101.3.4.2.1'), der(tags.null))
const mgf1 = sequence(oid('1.2.840.113549.1.1.8'), sha256)
const pkcs1Transport = sequence(oid('1.2.840.113549.1.1.1'), der(tags.null))
const oaepTransport = sequence(oid('1.2.840.113549.1.1.7'), sequence(der(0xa0, sha256), der(0xa1, mgf1)))

/** RFC 5652 6.2.1. */
function rsaRecipient({ key: publicKey, name }: Holder, key: Buffer, oaep: boolean): Buffer {
  const { RSA_PKCS1_OAEP_PADDING, RSA_PKCS1_PADDING } = constants
  const wrapped = oaep
    ? publicEncrypt({ key: publicKey, padding: RSA_PKCS1_OAEP_PADDING, oaepHash: 'sha256' }, key)
    : publicEncrypt({ key: publicKey, padding: RSA_PKCS1_PADDING }, key)
  return sequence(integer(0), name, oaep ? oaepTransport : pkcs1Transport, octets(wrapped))
}

const aesWrap = sequence(oid('2.16.840.1.101.3.4.1.45'))
/** dhSinglePass-stdDH-sha256kdf-scheme (RFC 5753 7.1.4). */
const curveAgreement = sequence(oid('1.3.132.1.11.1'), aesWrap)
/** Bits of the key that wraps, as ECC-CMS-SharedInfo has them. */
const wrapBits = Buffer.from([0, 0, 1, 0])

/** RFC 5652 6.2.2, RFC 5753 3.1.1. */
function curveRecipient({ key: publicKey, curve, name }: Holder, key: Buffer): Buffer {
  const own = generateKeyPairSync('ec', { namedCurve: curve ?? '' })
  const secret = diffieHellman({ privateKey: own.privateKey, publicKey })
  const shared = sequence(aesWrap, der(0xa2, octets(wrapBits)))
  const wrapKey = createHash('sha256')
    .update(secret)
    .update(Buffer.from([0, 0, 0, 1]))
    .update(shared)
    .digest()
  const wrap = createCipheriv('id-aes256-wrap', wrapKey, Buffer.alloc(8, 0xa6))
  const wrapped = Buffer.concat([wrap.update(key), wrap.final()])
  const [spki] = elements(own.publicKey.export({ type: 'spki', format: 'der' }))
  const originator = der(0xa0, der(0xa1, spki?.content ?? Buffer.alloc(0)))
  return der(0xa1, integer(3), originator, curveAgreement, sequence(sequence(name, octets(wrapped))))
}

const data = oid('1.2.840.113549.1.7.1')

/** EnvelopedData (RFC 5652 6.1). */
function withCbc(message: Buffer, key: Buffer, infos: Buffer, version: number): Buffer {
  const iv = randomBuffer(16)
  const cipher = createCipheriv('aes-256-cbc', key, iv)
  const content = der(0x80, cipher.update(message), cipher.final())
  const algorithm = sequence(oid('2.16.840.1.101.3.4.1.42'), octets(iv))
  const enveloped = sequence(integer(version), infos, sequence(data, algorithm, content))
  return sequence(oid('1.2.840.113549.1.7.3'), der(0xa0, enveloped))
}

const macBytes = 16

/** AuthEnvelopedData (RFC 5083 2.1). */
function withGcm(message: Buffer, key: Buffer, infos: Buffer): Buffer {
  const nonce = randomBuffer(12)
  const cipher = createCipheriv('aes-256-gcm', key, nonce, { authTagLength: macBytes })
  const content = der(0x80, cipher.update(message), cipher.final())
  const algorithm = sequence(oid('2.16.840.1.101.3.4.1.46'), sequence(octets(nonce), integer(macBytes)))
  const enveloped = sequence(integer(0), infos, sequence(data, algorithm, content), octets(cipher.getAuthTag()))
  return sequence(oid('1.2.840.113549.1.9.16.1.23'), der(0xa0, enveloped))
}
