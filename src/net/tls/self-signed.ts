// The certificate a service makes for itself where the operator gives none: `<dataDir>/tls/self-signed.{key,crt}`.
//
// Promises: made once and used again as long as the two files belong together, are for the host name and stay valid for
// some time; otherwise made anew. The key is readable by its owner alone from its first byte on. ECDSA P-256, ten years, for
// the host name, localhost and the loopback addresses.

import { createPrivateKey, webcrypto, X509Certificate } from 'node:crypto'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { now } from '#lib/clock.ts'
import { randomBuffer } from '#lib/id.ts'
import { isPassing, makeFolder, putFile } from '#lib/lasting.ts'
import { limits } from '#lib/limits.ts'
import type { KeyPair } from './tls.ts'

const { day } = limits.time
const validMs = 3652 * day
/** A certificate nearer to its end is made anew at start. */
const marginMs = 30 * day
/** Clocks of clients may be behind. */
const backdateMs = 1 * day
const commonNameLengthMax = 64
const localhost = 'localhost'
const loopbackBytes = [
  [127, 0, 0, 1],
  [...new Array<number>(15).fill(0), 1],
]

/** The self-signed certificate for `hostname`, from the data directory or, where there is none that fits, made now. */
export async function selfSigned(dataDir: string, hostname: string): Promise<KeyPair> {
  const folder = join(dataDir, 'tls')
  const files = { key: join(folder, 'self-signed.key'), cert: join(folder, 'self-signed.crt') }
  const known = readPair(files, hostname)
  if (known !== undefined) return known
  const pair = await (isPassing(folder) ? passingPair(hostname) : makePair(hostname))
  makeFolder(folder)
  putFile(files.key, pair.key, 0o600)
  putFile(files.cert, pair.cert, 0o644)
  return pair
}

/** Services of one process whose folders are thrown away show the same one. */
function passingPair(hostname: string): Promise<KeyPair> {
  const known = shared.get(hostname) ?? makePair(hostname)
  shared.set(hostname, known)
  known.catch(() => shared.delete(hostname))
  return known
}

const shared = new Map<string, Promise<KeyPair>>()

/** What lies in the files if it may be used; a pair torn by a crash, or unreadable text, may not. */
function readPair(files: KeyPair, hostname: string): KeyPair | undefined {
  if (!existsSync(files.key) || !existsSync(files.cert)) return undefined
  const pair = { key: readFileSync(files.key, 'utf8'), cert: readFileSync(files.cert, 'utf8') }
  return fits(pair, hostname) ? pair : undefined
}

function fits(pair: KeyPair, hostname: string): boolean {
  try {
    const certificate = new X509Certificate(pair.cert)
    const valid = certificate.validToDate.getTime() > now() + marginMs
    const named = certificate.checkHost(hostname) !== undefined
    return valid && named && certificate.checkPrivateKey(createPrivateKey(pair.key))
  } catch (error) {
    if (error instanceof Error) return false
    throw error
  }
}

/** Makes a key and its certificate; the libraries for it are loaded only here, since most starts need none. */
async function makePair(hostname: string): Promise<KeyPair> {
  const pkijs = await import('pkijs')
  const asn1 = await import('asn1js')
  const engine = new pkijs.CryptoEngine({ name: 'node', crypto: webcrypto })
  const algorithm = { name: 'ECDSA', namedCurve: 'P-256' }
  const keys = await webcrypto.subtle.generateKey(algorithm, true, ['sign', 'verify'])

  /** From 2050 on a moment is written in another form (RFC 5280 4.1.2.5). */
  const moment = (at: number) => {
    const value = new Date(at)
    const { UTCTime, GeneralizedTime } = pkijs.TimeType
    return new pkijs.Time({ type: value.getUTCFullYear() < 2050 ? UTCTime : GeneralizedTime, value })
  }

  const certificate = new pkijs.Certificate()
  certificate.version = 2
  certificate.serialNumber = new asn1.Integer({ valueHex: serialNumber() })
  for (const name of [certificate.issuer, certificate.subject]) {
    const value = new asn1.Utf8String({ value: hostname.length > commonNameLengthMax ? localhost : hostname })
    name.typesAndValues.push(new pkijs.AttributeTypeAndValue({ type: commonName, value }))
  }
  certificate.notBefore = moment(now() - backdateMs)
  certificate.notAfter = moment(now() + validMs)
  const names = [...new Set([hostname, localhost])].map(value => new pkijs.GeneralName({ type: 2, value }))
  const addresses = loopbackBytes.map(bytes => {
    const value = new asn1.OctetString({ valueHex: Uint8Array.from(bytes) })
    return new pkijs.GeneralName({ type: 7, value })
  })
  const extension = (extnID: string, critical: boolean, value: { toBER(): ArrayBuffer }) =>
    new pkijs.Extension({ extnID, critical, extnValue: value.toBER() })
  certificate.extensions = [
    extension(basicConstraints, true, new pkijs.BasicConstraints({ cA: false }).toSchema()),
    extension(keyUsage, true, new asn1.BitString({ valueHex: Uint8Array.of(0x80), unusedBits: 7 })),
    extension(extendedKeyUsage, false, new pkijs.ExtKeyUsage({ keyPurposes: [serverAuth] }).toSchema()),
    extension(alternativeName, false, new pkijs.GeneralNames({ names: [...names, ...addresses] }).toSchema()),
  ]
  await certificate.subjectPublicKeyInfo.importKey(keys.publicKey, engine)
  await certificate.sign(keys.privateKey, 'SHA-256', engine)
  return {
    key: pem('PRIVATE KEY', await webcrypto.subtle.exportKey('pkcs8', keys.privateKey)),
    cert: pem('CERTIFICATE', certificate.toSchema(true).toBER()),
  }
}

const commonName = '2.5.4.3'
const basicConstraints = '2.5.29.19'
const keyUsage = '2.5.29.15'
const extendedKeyUsage = '2.5.29.37'
const serverAuth = '1.3.6.1.5.5.7.3.1'
const alternativeName = '2.5.29.17'

/** Sixteen random bytes, positive and without a leading zero (RFC 5280 4.1.2.2). */
function serialNumber(): Uint8Array {
  const bytes = new Uint8Array(randomBuffer(16))
  bytes[0] = ((bytes[0] ?? 0) & 0x7f) | 0x40
  return bytes
}

function pem(label: string, der: ArrayBuffer): string {
  const lines =
    Buffer.from(der)
      .toString('base64')
      .match(/.{1,64}/g) ?? []
  return `-----BEGIN ${label}-----\n${lines.join('\n')}\n-----END ${label}-----\n`
}
