// Signatures of mail as they are checked here: for whatever was signed, changed or damaged on its way the library's own way, which
// takes a message byte by byte, says the same.

import { createPublicKey, generateKeyPairSync, type KeyObject } from 'node:crypto'
import { dkimSign } from 'mailauth/lib/dkim/sign.js'
import { dkimVerify } from 'mailauth/lib/dkim/verify.js'
import { expect, test } from 'vitest'
import { limits } from '#lib/limits.ts'
import { privatePem } from '#lib/secret/private-key.ts'
import { dnsTxt, publicPem } from '#mail/crypt/dkim.ts'
import { looked, verifySignatures } from '#mail/origin/signed.ts'
import { signerKeys } from '#mail/origin/signer-keys.ts'
import { Chance } from '../corpus.ts'

const signers: readonly { readonly selector: string; readonly key: KeyObject; readonly algorithm: string }[] = [
  { selector: 'rsa', key: generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey, algorithm: 'rsa-sha256' },
  { selector: 'old', key: generateKeyPairSync('rsa', { modulusLength: 1024 }).privateKey, algorithm: 'rsa-sha1' },
  { selector: 'ed', key: generateKeyPairSync('ed25519').privateKey, algorithm: 'ed25519-sha256' },
]
const records = new Map<string, readonly (readonly string[])[]>(
  signers.map(({ selector, key }) => {
    const { name, value } = dnsTxt('sign.test', selector, publicPem(key))
    return [name, [[value]]] as const
  }),
)

async function resolve(name: string): Promise<unknown> {
  const found = records.get(name)
  if (found === undefined) throw Object.assign(new Error(name), { code: 'ENOTFOUND' })
  return found
}

async function ours(message: Buffer, opened: Parameters<typeof signerKeys>[1] = new WeakMap()) {
  return verifySignatures(looked(message), signerKeys(resolve, opened))
}

const how = { minBitLength: limits.dkim.rsaBitsMin, rejectRsaSha1: true, resolver: resolve as never }
const said = (results: readonly { readonly status: object }[] | undefined) => results?.map(({ status }) => status)

test('the library says the same of messages that were signed in any way, and of what became of them', async () => {
  const chance = new Chance()
  const opened: Parameters<typeof signerKeys>[1] = new WeakMap()
  const seen = new Set<string>()
  for (let round = 0; round < 150; round++) {
    const lines = Array.from({ length: chance.below(8) }, () =>
      chance.pick(['', ' ', 'word', 'two  words', 'tab\there ', ' . ', 'x'.repeat(200)]),
    )
    const type = chance.pick(['text/plain', 'multipart/mixed; boundary="b b"', 'text/plain;\r\n charset=x', ''])
    const head = `From: Ann <ann@sign.test>\r\nTo:  ben@b.test\r\nSubject: a\r\n  fold\r\nContent-Type: ${type}\r\n`
    const plain = Buffer.from(`${head}${chance.pick(['\r\n', '\r\n', 'X-Last: 1\r\n\r\n'])}${lines.join('\r\n')}`)
    const { selector, key, algorithm } = chance.pick(signers)
    const canonicalization = chance.pick(['relaxed/relaxed', 'simple/simple', 'relaxed/simple', 'simple/relaxed'])
    const covered = chance.below(4) === 0 ? { maxBodyLength: chance.below(60) } : {}
    const { signatures } = await dkimSign(plain, {
      ...{ canonicalization, algorithm },
      signatureData: [{ signingDomain: 'sign.test', selector, privateKey: privatePem(key), ...covered }],
    } as never)
    const message = Buffer.concat([Buffer.from(signatures), plain])
    if (chance.below(3) === 0) message[chance.below(message.length)] = chance.pick([0x20, 0x61, 0x3b, 0x3d])
    const changed = chance.below(4) === 0 ? Buffer.concat([message, Buffer.from('\r\nadded')]) : message
    const wanted = await dkimVerify(changed, how)
    const found = await ours(changed, opened)
    const about = `seed ${chance.seed}, round ${round}: ${JSON.stringify(changed.toString('latin1'))}`
    expect(said(found?.results), about).toEqual(said(wanted.results))
    expect([found?.headerFrom, found?.fromFields], about).toEqual([wanted.headerFrom, wanted.fromFields])
    for (const { status } of wanted.results) seen.add(String(status.result))
  }
  expect([...seen]).toEqual(expect.arrayContaining(['pass', 'neutral', 'fail', 'policy']))
})

test('a key that would cost milliseconds for each signature is none', async () => {
  const plain = Buffer.from('From: ann@sign.test\r\n\r\ntext\r\n')
  const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
  const e = Buffer.from('0100000001', 'hex').toString('base64url')
  const costly = createPublicKey({ key: { ...publicKey.export({ format: 'jwk' }), e }, format: 'jwk' })
  const pem = costly.export({ type: 'spki', format: 'pem' }).toString()
  const { name, value } = dnsTxt('sign.test', 'costly', pem)
  records.set(name, [[value]])
  const { signatures } = await dkimSign(plain, {
    signatureData: [{ signingDomain: 'sign.test', selector: 'costly', privateKey: privatePem(privateKey) }],
  } as never)
  const found = await ours(Buffer.concat([Buffer.from(signatures), plain]))
  expect(said(found?.results)).toMatchObject([{ result: 'neutral', comment: 'invalid public key' }])
})

test('an answer is read once, and another answer anew', async () => {
  const opened: Parameters<typeof signerKeys>[1] = new WeakMap()
  const keyOf = () => signerKeys(resolve, opened).get('DKIM', 'rsa._domainkey.sign.test', limits.dkim.rsaBitsMin)
  const [first, second] = [await keyOf(), await keyOf()]
  expect(second.publicKey).toBe(first.publicKey)
  records.set('rsa._domainkey.sign.test', records.get('ed._domainkey.sign.test') ?? [])
  expect((await keyOf()).publicKey.asymmetricKeyType).toBe('ed25519')
})
