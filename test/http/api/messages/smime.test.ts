// Encryption at rest for the holders of certificates: what is stored, who can read it, what is taken for a certificate.

import 'reflect-metadata'
import {
  constants,
  createDecipheriv,
  createHash,
  createPrivateKey,
  createPublicKey,
  diffieHellman,
  KeyObject,
  privateDecrypt,
  webcrypto,
  X509Certificate,
} from 'node:crypto'
import * as x509 from '@peculiar/x509'
import * as asn1 from 'asn1js'
import { beforeAll, expect, test } from 'vitest'
import { openpgp } from '#lib/process/lazy.ts'
import { encryptSmime, inspectCertificate } from '#mail/crypt/smime.ts'
import { deliver, openLmtp } from '../../../dialogue.ts'
import { useTeal } from '../../../running.ts'
import { type Account, account, mail } from '../mail-world.ts'

const service = useTeal({ outbound: { enabled: false } })

interface Holder {
  readonly pem: string
  readonly key: KeyObject
}

const rsa = (modulusLength: number) => ({
  ...{ name: 'RSASSA-PKCS1-v1_5', hash: 'SHA-256', modulusLength },
  publicExponent: new Uint8Array([1, 0, 1]),
})
const curve = (namedCurve: string) => ({ name: 'ECDSA', namedCurve, hash: 'SHA-256' })

async function holder(name: string, algorithm: ReturnType<typeof rsa> | ReturnType<typeof curve>): Promise<Holder> {
  const keys = await webcrypto.subtle.generateKey(algorithm, true, ['sign', 'verify'])
  const certificate = await x509.X509CertificateGenerator.createSelfSigned(
    { name: name === '' ? '' : `CN=${name}`, keys, signingAlgorithm: algorithm, serialNumber: '0badcafe' },
    webcrypto as never,
  )
  return { pem: certificate.toString('pem'), key: KeyObject.from(keys.privateKey) }
}

let holders: Record<'plain' | 'large' | 'p256' | 'p384' | 'p521' | 'small', Holder>

beforeAll(async () => {
  const made = await Promise.all([
    ...[holder('plain', rsa(2048)), holder('large', rsa(3072)), holder('p256', curve('P-256'))],
    ...[holder('p384', curve('P-384')), holder('p521', curve('P-521')), holder('small', rsa(1024))],
  ])
  const [plain, large, p256, p384, p521, small] = made as [Holder, Holder, Holder, Holder, Holder, Holder]
  holders = { plain, large, p256, p384, p521, small }
})

/** The certificate with other bytes at the end of its RSA modulus, or in its exponent. */
function changed({ pem }: Holder, change: (raw: Buffer, modulusEnd: number) => void): string {
  const { raw, publicKey } = new X509Certificate(pem)
  const bytes = Buffer.from(raw)
  const modulus = Buffer.from(publicKey.export({ format: 'jwk' }).n ?? '', 'base64url')
  change(bytes, bytes.indexOf(modulus) + modulus.length)
  return `-----BEGIN CERTIFICATE-----\n${bytes.toString('base64').replace(/.{64}/g, '$&\n')}\n-----END CERTIFICATE-----\n`
}

const evenModulus = () => changed(holders.plain, (raw, end) => raw.writeUInt8(raw.readUInt8(end - 1) & 0xfe, end - 1))
/** What stands behind the modulus is 02 03 01 00 01. */
const exponentOfOne = () => changed(holders.plain, (raw, end) => raw.fill(0, end + 2, end + 4))

/** Children of a constructed element; bytes of a primitive one. */
const inside = (block: asn1.BaseBlock): asn1.BaseBlock[] =>
  (block.valueBlock as { value?: asn1.BaseBlock[] }).value ?? []
const bytes = (block: asn1.BaseBlock | undefined) =>
  Buffer.from((block?.valueBlock as { valueHexView?: Uint8Array } | undefined)?.valueHexView ?? [])
const idOf = (block: asn1.BaseBlock | undefined) => (block as asn1.ObjectIdentifier).valueBlock.toString()

/** What is inside, read with one holder's key, by the recipient information of that holder alone. */
function opened(message: string, { pem, key }: Holder): { text: string; transport: string } {
  const base64 = message.slice(message.indexOf('\r\n\r\n') + 4)
  const root = asn1.fromBER(Buffer.from(base64, 'base64')).result
  const [enveloped] = inside(inside(root)[1] as asn1.BaseBlock)
  const [, infos, content, mac] = inside(enveloped as asn1.BaseBlock)
  const issuer = new x509.X509Certificate(pem).issuer.slice(3)
  const mine = inside(infos as asn1.BaseBlock).find(info => Buffer.from(info.toBER()).includes(issuer))
  const { contentKey, transport } = contentKeyOf(mine as asn1.BaseBlock, key)
  const [, algorithm, sealed] = inside(content as asn1.BaseBlock)
  const [cipher, parameters] = inside(algorithm as asn1.BaseBlock)
  const isGcm = idOf(cipher) === '2.16.840.1.101.3.4.1.46'
  const iv = isGcm ? bytes(inside(parameters as asn1.BaseBlock)[0]) : bytes(parameters)
  const decipher = isGcm
    ? createDecipheriv('aes-256-gcm', contentKey, iv).setAuthTag(bytes(mac))
    : createDecipheriv('aes-256-cbc', contentKey, iv)
  return { text: Buffer.concat([decipher.update(bytes(sealed)), decipher.final()]).toString(), transport }
}

function contentKeyOf(info: asn1.BaseBlock, key: KeyObject): { contentKey: Buffer; transport: string } {
  const fields = inside(info)
  if (key.asymmetricKeyType === 'rsa') {
    const oaep = idOf(inside(fields[2] as asn1.BaseBlock)[0]) === '1.2.840.113549.1.1.7'
    const padding = oaep ? constants.RSA_PKCS1_OAEP_PADDING : constants.RSA_PKCS1_PADDING
    const wrapped = bytes(fields[3])
    return {
      contentKey: privateDecrypt({ key, padding, ...(oaep && { oaepHash: 'sha256' }) }, wrapped),
      transport: oaep ? 'OAEP' : 'PKCS#1 v1.5',
    }
  }
  const [originator] = inside(fields[1] as asn1.BaseBlock)
  const spki = Buffer.from((originator as asn1.BaseBlock).toBER())
  spki[0] = 0x30
  const publicKey = createPublicKey({ key: spki, type: 'spki', format: 'der' })
  const secret = diffieHellman({
    privateKey: createPrivateKey(key.export({ type: 'pkcs8', format: 'pem' })),
    publicKey,
  })
  const shared = Buffer.from('3015300b060960864801650304012da20604040000' + '0100', 'hex')
  const wrapKey = createHash('sha256')
    .update(secret)
    .update(Buffer.from([0, 0, 0, 1]))
    .update(shared)
    .digest()
  const [recipient] = inside(fields[3] as asn1.BaseBlock)
  const unwrap = createDecipheriv('id-aes256-wrap', wrapKey, Buffer.alloc(8, 0xa6))
  const wrapped = bytes(inside(recipient as asn1.BaseBlock)[1])
  return { contentKey: Buffer.concat([unwrap.update(wrapped), unwrap.final()]), transport: 'ECDH' }
}

async function source(user: Account, box: string, id: number): Promise<string> {
  const answer = await service.raw('GET', `/users/${user.id}/mailboxes/${user.box(box)}/messages/${id}/message.eml`)
  return answer.text()
}

const raw =
  'From: a@example.net\r\nTo: b@example.net\r\nCc: c@example.net\r\nX-Own: 1\r\nSubject: open\r\n\r\nsecret\r\n'

test.each([
  ['enveloped-data', undefined, undefined],
  ['enveloped-data', 'AES-CBC', 'OAEP'],
  ['authEnveloped-data', 'AES-GCM', 'PKCS#1 v1.5'],
  ['authEnveloped-data', 'AES-GCM', 'OAEP'],
])('%s by %s and %s: every holder reads the bytes that were sent', async (kind, smimeCipher, smimeKeyTransport) => {
  const able = [holders.plain, holders.large, holders.p256, holders.p384, holders.p521]
  const options = { smimeCerts: able.map(({ pem }) => pem), smimeCipher, smimeKeyTransport, encryptMessages: true }
  const user = await account(service, `smime${kind.length}${smimeKeyTransport === 'OAEP' ? 'o' : 'p'}`, options)
  const id = await user.put('INBOX', { raw })
  const shown = (await user.call('GET', `/mailboxes/${user.box('INBOX')}/messages/${id}`)).body
  expect(shown).toMatchObject({
    ...{ subject: 'open', encrypted: true, text: '', contentType: { value: 'application/pkcs7-mime' } },
    attachments: [{ filename: 'smime.p7m', disposition: 'attachment', transferEncoding: 'base64' }],
  })
  const stored = await source(user, 'INBOX', id)
  expect(stored).toContain(`Content-Type: application/pkcs7-mime; smime-type=${kind}; name=smime.p7m\r\n`)
  expect(stored).not.toMatch(/^(x-own|cc):/im)
  for (const one of able) {
    const transport = one.key.asymmetricKeyType === 'rsa' ? (smimeKeyTransport ?? 'PKCS#1 v1.5') : 'ECDH'
    expect(opened(stored, one)).toEqual({ text: raw, transport })
  }
  // What is encrypted already is left alone.
  expect(await source(user, 'INBOX', await user.put('INBOX', { raw: stored }))).toBe(stored)
})

test('what comes in, what is moved and what is sent is encrypted as with OpenPGP, drafts are not', async () => {
  const user = await account(service, 'ways', { smimeCerts: [holders.plain.pem] })
  const { body } = await user.call('POST', '/mailboxes', { path: 'Vault', encryptMessages: true })
  const id = await user.put('INBOX', { raw })
  await user.call('PUT', `/mailboxes/${user.box('INBOX')}/messages/${id}`, { moveTo: body.id })
  const moved = await service.raw('GET', `/users/${user.id}/mailboxes/${body.id}/messages/1/message.eml`)
  expect(opened(await moved.text(), holders.plain).text).toBe(raw)
  await user.call('PUT', '', { encryptMessages: true })
  const lmtp = await openLmtp(service.at('lmtp'))
  await deliver(lmtp, 'sender@example.org', ['ways@example.com'], Buffer.from(raw))
  lmtp.close()
  const delivered = await source(user, 'INBOX', 2)
  expect(delivered).toMatch(/^Delivered-To: ways@example\.com\r\n/)
  expect(opened(delivered, holders.plain).text).toContain('secret')
  await user.call('POST', '/submit', mail('sent', 'secret', { to: [{ address: 'x@example.net' }] }))
  expect(opened(await source(user, 'Sent Mail', 1), holders.plain).text).toContain('secret')
  const draft = await user.put('Drafts', { ...mail('d', 'secret'), draft: true })
  expect(await source(user, 'Drafts', draft)).toContain('secret')
})

test('certificates are looked at when they are set, told of, and take the place of an OpenPGP key', async () => {
  const user = await account(service, 'certificates')
  for (const bad of [
    'no certificate',
    '-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----',
    holders.small.pem,
    evenModulus(),
    exponentOfOne(),
  ]) {
    const answer = await user.call('PUT', '', { smimeCerts: [holders.plain.pem, bad] })
    expect(answer).toMatchObject({ status: 400, body: { code: 'InputValidationError' } })
    expect(answer.body.details['smimeCerts,1']).toMatch(/certificate/)
  }
  const keys = await openpgp().generateKey({ userIDs: [{ name: 'Key', email: 'k@example.com' }], format: 'armored' })
  const pubKey = keys.publicKey
  const both = await user.call('PUT', '', { smimeCerts: [holders.plain.pem], pubKey })
  expect(both).toMatchObject({ status: 400, body: { details: { smimeCerts: /pubKey/ } } })
  const facts = async () => (await service.call('GET', `/users/${user.id}`)).body
  await user.call('PUT', '', { pubKey })
  await user.call('PUT', '', { smimeCerts: [holders.plain.pem, holders.p256.pem] })
  expect(await facts()).toMatchObject({
    ...{ pubKey: '', keyInfo: false, smimeCerts: [holders.plain.pem, holders.p256.pem] },
    smimeCertInfo: ['plain', 'p256'].map(name => {
      return { subject: `CN=${name}`, serial: '0badcafe', fingerprint: expect.stringMatching(/^([0-9a-f]{2}:){31}/) }
    }),
  })
  await user.call('PUT', '', { pubKey })
  expect(await facts()).toMatchObject({ pubKey, keyInfo: { name: 'Key' }, smimeCerts: [], smimeCertInfo: [] })
  await user.call('PUT', '', { smimeCerts: [holders.plain.pem] })
  await user.call('PUT', '', { smimeCerts: [] })
  expect(await facts()).toMatchObject({ smimeCerts: [], smimeCertInfo: [] })
})

test('a certificate that cannot be used is passed over, and none encrypts nothing', () => {
  const message = Buffer.from(raw)
  const certificates = ['nonsense', holders.small.pem, evenModulus(), exponentOfOne(), holders.p384.pem]
  const sealed = encryptSmime(message, { certificates })
  expect(opened(sealed?.toString() ?? '', holders.p384).text).toBe(raw)
  expect(encryptSmime(message, { certificates: ['nonsense', holders.small.pem] })).toBeNull()
  expect(inspectCertificate(holders.small.pem)).toBeNull()
})

test('a certificate that names nobody is one, too', async () => {
  const { pem, key } = await holder('', rsa(2048))
  const user = await account(service, 'nobody', { smimeCerts: [pem], encryptMessages: true })
  const { body } = await service.call('GET', `/users/${user.id}`)
  expect(body.smimeCertInfo).toMatchObject([{ subject: '', serial: '0badcafe' }])
  const id = await user.put('INBOX', { raw })
  expect(opened(await source(user, 'INBOX', id), { pem, key }).text).toBe(raw)
})
