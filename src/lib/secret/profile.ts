// Apple configuration profiles with one mail account (api-semantics 4): a property list inside CMS SignedData (RFC 5652),
// DER, SHA-256, content embedded. For the thread of keys.
//
// Everything that stands in the list is escaped; the signer's whole chain goes along, so a phone can show who signed.

import { createPrivateKey, hash, webcrypto, X509Certificate } from 'node:crypto'
import { now } from '../clock.ts'
import { Fault } from '../fault.ts'
import { newUuid } from '../id.ts'
import type { ProfileInput } from './key-tasks.ts'

/** The signed profile. @throws Fault ConfigInvalid for a certificate or key that cannot sign */
export async function signedProfile(input: ProfileInput): Promise<Uint8Array> {
  return sign(Buffer.from(profileText(input)), input.certificate, input.privateKey)
}

/** The property list inside. */
export function profileText(input: ProfileInput): string {
  const { incoming, outgoing } = input
  const account = {
    PayloadType: 'com.apple.mail.managed',
    PayloadVersion: 1,
    PayloadIdentifier: `${input.identifier}.mail`,
    PayloadUUID: newUuid(),
    PayloadDisplayName: input.displayName,
    PayloadDescription: input.description,
    PayloadOrganization: input.organization,
    EmailAccountDescription: input.accountDescription,
    EmailAccountName: input.accountName,
    EmailAccountType: incoming.kind === 'imap' ? 'EmailTypeIMAP' : 'EmailTypePOP',
    EmailAddress: input.address,
    IncomingMailServerAuthentication: 'EmailAuthPassword',
    IncomingMailServerHostName: incoming.host,
    IncomingMailServerPortNumber: incoming.port,
    IncomingMailServerUseSSL: incoming.tls,
    IncomingMailServerUsername: input.address,
    IncomingPassword: input.password,
    OutgoingMailServerAuthentication: 'EmailAuthPassword',
    OutgoingMailServerHostName: outgoing.host,
    OutgoingMailServerPortNumber: outgoing.port,
    OutgoingMailServerUseSSL: outgoing.tls,
    OutgoingMailServerUsername: input.address,
    OutgoingPasswordSameAsIncomingPassword: true,
    PreventMove: false,
    PreventAppSheet: false,
    SMIMEEnabled: false,
    allowMailDrop: true,
  }
  const profile = {
    PayloadType: 'Configuration',
    PayloadVersion: 1,
    PayloadIdentifier: input.identifier,
    PayloadUUID: newUuid(),
    PayloadDisplayName: input.displayName,
    PayloadDescription: input.description,
    PayloadOrganization: input.organization,
    PayloadContent: [account],
  }
  return [
    '<?xml version="1.0" encoding="UTF-8"?>',
    '<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">',
    `<plist version="1.0">${element(profile)}</plist>`,
    '',
  ].join('\n')
}

type Property = string | number | boolean | readonly Property[] | { readonly [key: string]: Property }

function element(value: Property): string {
  if (typeof value === 'string') return `<string>${escaped(value)}</string>`
  if (typeof value === 'number') return `<integer>${value}</integer>`
  if (typeof value === 'boolean') return value ? '<true/>' : '<false/>'
  if (Array.isArray(value)) return `<array>${value.map(element).join('')}</array>`
  const entries = Object.entries(value as { readonly [key: string]: Property })
  return `<dict>${entries.map(([key, inner]) => `\n<key>${escaped(key)}</key>${element(inner)}`).join('')}\n</dict>`
}

/** XML text; characters that XML 1.0 cannot hold are left out. */
function escaped(text: string): string {
  return text
    .toWellFormed()
    .replace(/[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]/g, '')
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('\r', '&#13;')
}

async function sign(content: Buffer, chainPem: string, keyPem: string): Promise<Uint8Array> {
  const pki = await import('pkijs')
  const { OctetString, ObjectIdentifier, UTCTime } = await import('asn1js')
  const chain = derOf(chainPem)
  const key = await importKey(keyPem, chain[0])
  const certificates = chain.map(der => pki.Certificate.fromBER(arrayBuffer(der)))
  const [signer] = certificates
  if (signer === undefined) throw new Fault('ConfigInvalid')
  const encapContentInfo = new pki.EncapsulatedContentInfo({ eContentType: pki.ContentInfo.DATA })
  // Set afterwards: the constructor would split it, and DER wants it in one piece.
  encapContentInfo.eContent = new OctetString({ valueHex: arrayBuffer(content) })
  const attribute = (type: string, value: unknown) => new pki.Attribute({ type, values: [value] })
  const signedAttrs = new pki.SignedAndUnsignedAttributes({
    type: 0,
    // In the order of their encodings, as DER wants a set (RFC 5652 5.4: content type, signing time, message digest).
    attributes: [
      attribute('1.2.840.113549.1.9.3', new ObjectIdentifier({ value: pki.ContentInfo.DATA })),
      attribute('1.2.840.113549.1.9.5', new UTCTime({ valueDate: new Date(now()) })),
      attribute('1.2.840.113549.1.9.4', new OctetString({ valueHex: arrayBuffer(hash('sha256', content, 'buffer')) })),
    ],
  })
  const { issuer, serialNumber } = signer
  const sid = new pki.IssuerAndSerialNumber({ issuer, serialNumber })
  const signerInfos = [new pki.SignerInfo({ version: 1, sid, signedAttrs })]
  const signed = new pki.SignedData({ version: 1, encapContentInfo, signerInfos, certificates })
  await signed.sign(key, 0, 'SHA-256')
  const info = new pki.ContentInfo({ contentType: pki.ContentInfo.SIGNED_DATA, content: signed.toSchema(true) })
  return new Uint8Array(info.toSchema().toBER(false))
}

/** The private key for signing, RSA or EC; the certificate must be its own. */
async function importKey(keyPem: string, own: Buffer | undefined): Promise<webcrypto.CryptoKey> {
  try {
    const key = createPrivateKey(keyPem)
    if (own === undefined) throw new Error('the certificate is no PEM')
    if (!new X509Certificate(own).checkPrivateKey(key)) throw new Error('the key is not that of the certificate')
    const algorithm = algorithmOf(key.asymmetricKeyType, key.asymmetricKeyDetails?.namedCurve)
    const data = key.export({ type: 'pkcs8', format: 'der' })
    return await webcrypto.subtle.importKey('pkcs8', data, algorithm, false, ['sign'])
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause)
    throw new Fault('ConfigInvalid', { text: `Profiles cannot be signed: ${reason}`, cause })
  }
}

function algorithmOf(
  type: string | undefined,
  curve: string | undefined,
): webcrypto.RsaHashedImportParams | webcrypto.EcKeyImportParams {
  const curves: Readonly<Record<string, string>> = { prime256v1: 'P-256', secp384r1: 'P-384', secp521r1: 'P-521' }
  const namedCurve = curves[curve ?? '']
  if (type === 'rsa') return { name: 'RSASSA-PKCS1-v1_5', hash: 'SHA-256' }
  if (type === 'ec' && namedCurve !== undefined) return { name: 'ECDSA', namedCurve }
  throw new Error(`a key of type ${type ?? 'unknown'} is not supported`)
}

function derOf(pem: string): Buffer[] {
  const blocks = pem.matchAll(/-----BEGIN CERTIFICATE-----([A-Za-z0-9+/=\s]+)-----END CERTIFICATE-----/g)
  return [...blocks].map(([, text = '']) => Buffer.from(text, 'base64'))
}

function arrayBuffer(bytes: Uint8Array): ArrayBuffer {
  return new Uint8Array(bytes).buffer
}
