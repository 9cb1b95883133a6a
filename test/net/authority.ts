// A certificate authority for tests: issues what they ask for, ended certificates and odd names too.

import 'reflect-metadata'
import { createPrivateKey, createPublicKey, generateKeyPairSync, type KeyObject, webcrypto } from 'node:crypto'
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

interface Wanted {
  readonly commonName?: string
  /** DNS names; no extension where empty. */
  readonly names?: readonly string[]
  readonly addresses?: readonly string[]
  /** Milliseconds since 1970. */
  readonly expires?: number
  readonly key?: KeyObject
  /** Besides those of the names. */
  readonly extensions?: readonly x509.Extension[]
}

export interface Authority {
  /** PEM. */
  readonly cert: string
  issue(wanted: Wanted): Promise<Issued>
  /** What a certificate request (DER) asks for, where `names` is all that it names and it is signed with its key; PEM. */
  certify(request: Buffer, names: readonly string[], expires: number): Promise<string>
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
    async issue({ commonName = '', names = [], addresses = [], expires = now() + 90 * day, key = newKey(), ...more }) {
      const { publicKey } = await cryptoKeys(key)
      const others = [
        ...names.map(value => ({ type: 'dns' as const, value })),
        ...addresses.map(value => ({ type: 'ip' as const, value })),
      ]
      const extensions: x509.Extension[] = others.length === 0 ? [] : [new x509.SubjectAlternativeNameExtension(others)]
      extensions.push(...(more.extensions ?? []))
      const cert = await sign(commonName, publicKey, expires, extensions)
      return { key: pem(key), cert: `${cert.toString('pem')}\n` }
    },
    async certify(request, names, expires) {
      const asked = new x509.Pkcs10CertificateRequest(request)
      const others = asked.getExtension('2.5.29.17') as x509.SubjectAlternativeNameExtension | null
      const found = others?.names.items.map(({ value }) => value) ?? []
      const common = asked.subjectName.getField('CN').filter(name => !names.includes(name))
      if (!(await asked.verify())) throw new Error('is not signed with its key')
      if (common.length > 0 || found.join() !== names.join()) throw new Error('asks for other names')
      const extensions = [
        new x509.SubjectAlternativeNameExtension(names.map(value => ({ type: 'dns' as const, value }))),
      ]
      const publicKey = (await asked.publicKey.export()) as webcrypto.CryptoKey
      return `${(await sign('', publicKey, expires, extensions)).toString('pem')}\n`
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
  const { subtle } = webcrypto
  const how = algorithms[key.asymmetricKeyType ?? ''] ?? { name: 'ECDSA', namedCurve: 'P-256' }
  const own = key.export({ type: 'pkcs8', format: 'der' })
  const open = createPublicKey(key).export({ type: 'spki', format: 'der' })
  const privateKey = await subtle.importKey('pkcs8', own, how, true, ['sign'])
  const publicKey = await subtle.importKey('spki', open, how, true, ['verify'])
  return { privateKey, publicKey }
}

const algorithms: Readonly<Record<string, webcrypto.RsaHashedImportParams | webcrypto.Algorithm>> = {
  rsa: { name: 'RSASSA-PKCS1-v1_5', hash: 'SHA-256' },
  ed25519: { name: 'Ed25519' },
}

function pem(key: KeyObject): string {
  return key.export({ type: 'pkcs8', format: 'pem' }).toString()
}

/** The key in a PEM text. */
export const keyOf = (text: string): KeyObject => createPrivateKey(text)
