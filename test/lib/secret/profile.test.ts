import { generateKeyPairSync, webcrypto } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { fromBER, Integer, OctetString, PrintableString } from 'asn1js'
import * as pkijs from 'pkijs'
import { beforeAll, describe, expect, test } from 'vitest'
import { makeLog } from '#lib/log.ts'
import type { ProfileInput } from '#lib/secret/key-tasks.ts'
import { profileText, signedProfile } from '#lib/secret/profile.ts'
import { makePools } from '#pool'

interface Signer {
  certificate: string
  privateKey: string
}

/** A certificate of an authority of its own, with the chain. */
async function signer(kind: 'RSA' | 'EC'): Promise<Signer> {
  const algorithm =
    kind === 'RSA'
      ? { name: 'RSASSA-PKCS1-v1_5', hash: 'SHA-256', publicExponent: new Uint8Array([1, 0, 1]), modulusLength: 2048 }
      : { name: 'ECDSA', namedCurve: 'P-256' }
  const make = () =>
    webcrypto.subtle.generateKey(algorithm, true, ['sign', 'verify']) as Promise<webcrypto.CryptoKeyPair>
  const [authority, own] = [await make(), await make()]
  const leaf = await certificate('mail.example.com', 2, own.publicKey, authority.privateKey)
  const root = await certificate('Authority', 1, authority.publicKey, authority.privateKey)
  const privateKey = pem('PRIVATE KEY', await webcrypto.subtle.exportKey('pkcs8', own.privateKey))
  return { certificate: leaf + root, privateKey }
}

async function certificate(name: string, serial: number, own: webcrypto.CryptoKey, signer: webcrypto.CryptoKey) {
  const made = new pkijs.Certificate()
  const named = (value: string) =>
    new pkijs.AttributeTypeAndValue({ type: '2.5.4.3', value: new PrintableString({ value }) })
  made.version = 2
  made.serialNumber = new Integer({ value: serial })
  made.issuer.typesAndValues.push(named('Authority'))
  made.subject.typesAndValues.push(named(name))
  made.notBefore.value = new Date('2024-01-01')
  made.notAfter.value = new Date('2044-01-01')
  await made.subjectPublicKeyInfo.importKey(own)
  await made.sign(signer, 'SHA-256')
  return pem('CERTIFICATE', made.toSchema(true).toBER(false))
}

function pem(label: string, der: ArrayBuffer): string {
  const lines = Buffer.from(der)
    .toString('base64')
    .match(/.{1,64}/g)
    ?.join('\n')
  return `-----BEGIN ${label}-----\n${lines}\n-----END ${label}-----\n`
}

const form: Omit<ProfileInput, keyof Signer> = {
  identifier: 'teal.mail.665f00000000000000000001',
  displayName: 'Phone <& "ö" \u0007>',
  description: 'Sets up mail',
  organization: 'Teal',
  accountDescription: 'anna@example.com',
  accountName: 'Anna M',
  address: 'anna@example.com',
  password: 'abcdefghijklmnop',
  incoming: { kind: 'imap', host: 'imap.example.com', port: 993, tls: true },
  outgoing: { host: 'smtp.example.com', port: 587, tls: true },
}

/** The property list, read again by a reader that knows no more than what profiles hold. */
function readList(text: string): unknown {
  const tokens = [...text.matchAll(/<(\/?)(\w+)([^>]*?)(\/?)>([^<]*)/g)]
  let at = tokens.findIndex(([, , name]) => name === 'plist') + 1
  const plain = (escaped: string) =>
    escaped.replace(/&(lt|gt|amp|#13);/g, (_, name: string) => ({ lt: '<', gt: '>', amp: '&' })[name] ?? '\r')
  const read = (): unknown => {
    const [, , name, , empty, content = ''] = tokens[at++] ?? []
    if (empty === '/') return name === 'true'
    if (name === 'string' || name === 'integer' || name === 'key') {
      at += 1
      return name === 'integer' ? Number(content) : plain(content)
    }
    const items: unknown[] = []
    while (tokens[at]?.[1] !== '/') items.push(read())
    at += 1
    if (name === 'array') return items
    expect(name).toBe('dict')
    const pairs = items.flatMap((item, index) => (index % 2 === 0 ? [[item, items[index + 1]]] : []))
    return Object.fromEntries(pairs)
  }
  return read()
}

/** Takes the CMS apart: what was signed, by whom, and whether that holds. */
async function open(data: Uint8Array) {
  const info = pkijs.ContentInfo.fromBER(new Uint8Array(data).buffer)
  expect(info.contentType).toBe(pkijs.ContentInfo.SIGNED_DATA)
  const signed = new pkijs.SignedData({ schema: info.content })
  const valid = await signed.verify({ signer: 0, checkChain: false })
  const content = signed.encapContentInfo.eContent
  expect(content).toBeInstanceOf(OctetString)
  expect(content?.idBlock.isConstructed).toBe(false)
  const digests = signed.digestAlgorithms.map(({ algorithmId }) => algorithmId)
  return { signed, valid, digests, text: Buffer.from(content?.getValue() ?? new ArrayBuffer(0)).toString() }
}

describe('a configuration profile', () => {
  const signers = new Map<string, Signer>()
  beforeAll(async () => {
    for (const kind of ['RSA', 'EC'] as const) signers.set(kind, await signer(kind))
  })
  const signerOf = (kind: string): Signer => {
    const found = signers.get(kind)
    if (found === undefined) throw new Error(kind)
    return found
  }

  test('holds the account', () => {
    const list = readList(profileText({ ...form, ...signerOf('EC') }))
    expect(list).toMatchObject({
      PayloadType: 'Configuration',
      PayloadVersion: 1,
      PayloadIdentifier: 'teal.mail.665f00000000000000000001',
      PayloadDisplayName: 'Phone <& "ö" >',
      PayloadContent: [
        {
          ...{
            PayloadType: 'com.apple.mail.managed',
            EmailAccountType: 'EmailTypeIMAP',
            EmailAddress: 'anna@example.com',
          },
          ...{ IncomingMailServerHostName: 'imap.example.com', IncomingMailServerPortNumber: 993 },
          ...{ IncomingMailServerUseSSL: true, IncomingMailServerUsername: 'anna@example.com' },
          ...{ IncomingPassword: 'abcdefghijklmnop', OutgoingPasswordSameAsIncomingPassword: true },
          ...{ OutgoingMailServerHostName: 'smtp.example.com', OutgoingMailServerPortNumber: 587 },
          ...{ PreventMove: false, PreventAppSheet: false, SMIMEEnabled: false, allowMailDrop: true },
          ...{ EmailAccountName: 'Anna M', EmailAccountDescription: 'anna@example.com' },
        },
      ],
    })
    const again = readList(profileText({ ...form, ...signerOf('EC') })) as { PayloadUUID: string }
    expect(again.PayloadUUID).toMatch(/^[0-9a-f-]{36}$/)
    expect(again.PayloadUUID).not.toBe((list as { PayloadUUID: string }).PayloadUUID)
    const pop = profileText({ ...form, incoming: { ...form.incoming, kind: 'pop3' }, ...signerOf('EC') })
    expect(pop).toContain('EmailTypePOP')
  })

  for (const kind of ['RSA', 'EC']) {
    test(`is signed with ${kind}, in DER, the chain enclosed`, async () => {
      const data = await signedProfile({ ...form, ...signerOf(kind) })
      const { signed, valid, digests, text } = await open(data)
      expect(valid).toBe(true)
      expect(digests).toEqual(['2.16.840.1.101.3.4.2.1'])
      expect(signed.certificates).toHaveLength(2)
      expect(readList(text)).toMatchObject({ PayloadType: 'Configuration' })
      // Nothing is left over, and nothing has an indefinite length.
      expect(fromBER(new Uint8Array(data).buffer).offset).toBe(data.length)
      expect(Buffer.from(data).subarray(0, 2).toString('hex')).toBe('3082')
      const changed = Buffer.from(data)
      changed[changed.indexOf('imap.example.com')] = 0x58
      expect((await open(changed).catch(() => ({ valid: false }))).valid).toBe(false)
    })
  }

  test("cannot be signed with a key that is not the certificate's, or none", async () => {
    const { certificate } = signerOf('EC')
    const { privateKey } = signerOf('RSA')
    const ed25519 = generateKeyPairSync('ed25519').privateKey.export({ type: 'pkcs8', format: 'pem' }).toString()
    for (const bad of [
      { certificate, privateKey },
      { certificate, privateKey: 'none' },
      { certificate: 'none', privateKey },
      { certificate, privateKey: ed25519 },
    ]) {
      await expect(signedProfile({ ...form, ...bad })).rejects.toMatchObject({ code: 'ConfigInvalid' })
    }
  })

  test('is made on a thread, QR codes too', async () => {
    const pools = makePools({ log: makeLog('silent'), recall: true })
    const data = await pools.keys.run('profile', { ...form, ...signerOf('RSA') })
    expect((await open(data)).valid).toBe(true)
    const picture = await pools.keys.run('qrcode', { text: 'otpauth://totp/anna?secret=JBSWY3DP&issuer=Teal' })
    expect(picture).toMatch(/^data:image\/png;base64,iVBORw0KGgo/)
    await pools.close()
  })

  test('the libraries that make it stay off the main loop', () => {
    const text = readFileSync(new URL('../../../src/pool.ts', import.meta.url), 'utf8')
    expect(text).not.toMatch(/import (?!type)[^\n]*#lib\/secret\/(profile|attestation|hash)\.ts/)
  })
})
