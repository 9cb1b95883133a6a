// A certificate authority for tests: issues what they ask for, ended certificates and odd names too.

import 'reflect-metadata'
import { createPrivateKey, generateKeyPairSync, type KeyObject, webcrypto } from 'node:crypto'
import * as x509 from '@peculiar/x509'
import { now } from '#lib/clock.ts'
import { limits } from '#lib/limits.ts'

x509.cryptoProvider.set(webcrypto as never)

export interface Issued {
  /** PKCS#8 in PEM. */
  readonly key: string
  /** PEM, this certificate alone. */
  readonly cert: string
}

export interface Wanted {
  readonly commonName?: string
  /** DNS names; no extension where empty. */
  readonly names?: readonly string[]
  readonly addresses?: readonly string[]
  /** Milliseconds since 1970. */
  readonly expires?: number
  readonly key?: KeyObject
}

export interface Authority {
  /** PEM. */
  readonly cert: string
  issue(wanted: Wanted): Promise<Issued>
  /** An authority below this one. */
  delegate(name: string): Promise<Authority>
}

const algorithm = { name: 'ECDSA', hash: 'SHA-256' } as const
const { day } = limits.time

export function newKey(): KeyObject {
  return generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey
}

export async function openAuthority(name = 'Test root'): Promise<Authority> {
  const keys = await cryptoKeys(newKey())
  const certificate = await x509.X509CertificateGenerator.createSelfSigned({
    ...validity(now() + 100 * day),
    name: `CN=${name}`,
    keys,
    signingAlgorithm: algorithm,
    extensions: [new x509.BasicConstraintsExtension(true, undefined, true)],
  })
  return authority(certificate, keys.privateKey)
}

function authority(own: x509.X509Certificate, signingKey: webcrypto.CryptoKey): Authority {
  const sign = (
    commonName: string,
    publicKey: webcrypto.CryptoKey,
    expires: number,
    extensions: x509.Extension[],
  ): Promise<x509.X509Certificate> =>
    x509.X509CertificateGenerator.create({
      ...validity(expires),
      subject: commonName === '' ? '' : `CN=${commonName}`,
      issuer: own.subject,
      publicKey: publicKey as never,
      signingKey: signingKey as never,
      signingAlgorithm: algorithm,
      extensions,
    })
  return {
    cert: own.toString('pem'),
    async issue({ commonName = '', names = [], addresses = [], expires = now() + 90 * day, key = newKey() }) {
      const { publicKey } = await cryptoKeys(key)
      const others = [
        ...names.map(value => ({ type: 'dns' as const, value })),
        ...addresses.map(value => ({ type: 'ip' as const, value })),
      ]
      const extensions = others.length === 0 ? [] : [new x509.SubjectAlternativeNameExtension(others)]
      const cert = await sign(commonName, publicKey, expires, extensions)
      return { key: pem(key), cert: `${cert.toString('pem')}\n` }
    },
    async delegate(name) {
      const keys = await cryptoKeys(newKey())
      const extensions = [new x509.BasicConstraintsExtension(true, undefined, true)]
      return authority(await sign(name, keys.publicKey, now() + 90 * day, extensions), keys.privateKey)
    },
  }
}

function validity(expires: number) {
  return {
    serialNumber: Math.floor(expires / 1000)
      .toString(16)
      .padStart(16, '1'),
    notBefore: new Date(Math.min(now(), expires) - 10 * day),
    notAfter: new Date(expires),
  }
}

async function cryptoKeys(
  key: KeyObject,
): Promise<{ privateKey: webcrypto.CryptoKey; publicKey: webcrypto.CryptoKey }> {
  const curve = { name: 'ECDSA', namedCurve: 'P-256' }
  const { subtle } = webcrypto
  const privateKey = await subtle.importKey('pkcs8', key.export({ type: 'pkcs8', format: 'der' }), curve, true, [
    'sign',
  ])
  const { d: _private, key_ops: _operations, ...jwk } = await subtle.exportKey('jwk', privateKey)
  const publicKey = await subtle.importKey('jwk', { ...jwk, key_ops: ['verify'] }, curve, true, ['verify'])
  return { privateKey, publicKey }
}

function pem(key: KeyObject): string {
  return key.export({ type: 'pkcs8', format: 'pem' }).toString()
}

/** The key in a PEM text. */
export const keyOf = (text: string): KeyObject => createPrivateKey(text)
