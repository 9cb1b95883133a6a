// Signatures of mail as they are checked here: for whatever was signed, changed or damaged on its way the library's own way, which
// takes a message byte by byte, says the same.

import { createHash, createPublicKey, generateKeyPairSync, type KeyObject, sign } from 'node:crypto'
import { createRequire } from 'node:module'
import { dkimSign } from 'mailauth/lib/dkim/sign.js'
import { dkimVerify } from 'mailauth/lib/dkim/verify.js'
import { expect, test } from 'vitest'
import { limits } from '#lib/limits.ts'
import { privatePem } from '#lib/secret/private-key.ts'
import { dnsTxt, publicPem } from '#mail/crypt/dkim.ts'
import { fieldRows } from '#mail/header/field-rows.ts'
import { authorsOf } from '#mail/origin/authors.ts'
import { looked, verifySignatures } from '#mail/origin/signed.ts'
import { signerKeys } from '#mail/origin/signer-keys.ts'
import { Chance } from '../corpus.ts'

const { parseHeaders } = createRequire(import.meta.url)('mailauth/lib/tools.js') as {
  readonly parseHeaders: typeof fieldRows
}

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
/** What it lets pass by a milder reading than that of RFC 6376 6.1.1. */
const mild = (results: readonly { readonly status: object }[]) =>
  results.some(({ status }) => {
    const { result, warnings = [] } = status as { result?: string; warnings?: readonly string[] }
    return (
      result === 'pass' &&
      warnings.some(one => /^(?:identity-domain|invalid-v|query-method|tag-syntax|missing-(?:v|bh|h))$/.test(one))
    )
  })

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

/** What somebody may write or change so that one reader finds what another does not. */
const tricks: readonly ((header: string, chance: Chance) => string)[] = [
  header => header,
  header => header.replace('From:', 'from :'),
  header => header.replace('From:', 'FROM:'),
  header => header.replace('From:', 'From\r\n :'),
  header => `${header}From: eve@evil.test\r\n`,
  header => header.replace('Ann <', '"Ann, eve@evil.test" <'),
  header => header.replace('Ann <', 'eve@evil.test <'),
  header => header.replace('>\r\nTo', '>, <eve@evil.test>\r\nTo'),
  header => header.replace('Ann <ann@sign.test>', 'Friends: ann@sign.test;'),
  header => header.replace('Ann <ann@sign.test>', ''),
  header => header.replace('Ann', '=?utf-8?q?Ann_=3Ceve=40evil=2Etest=3E?='),
  header => header.replace('Ann', 'An\xe9'),
  header => header.replace('Ann <', 'Ann\r\n\t<'),
  header => header.replace('ann@sign.test', 'ann@Sign.Test'),
  header => header.replace('ann@sign.test', 'ann@mail.sign.test'),
  header => header.replace('ann@sign.test', 'ann@other.test'),
  header => header.replace('From:', 'X: 1\rFrom: eve@evil.test\r\nFrom:'),
  header => header.replace('From:', 'X: 1\nFrom:'),
  header => header.replace('From:', 'no field\r\nFrom:'),
  header => `\r\n${header}`,
  header => ` ${header}`,
  header => `${header}\r\n`,
  header => `${header} \r\n`,
  header => `${header}BIMI-Selector: v=BIMI1; s=x\r\n`,
  header => `${header}ARC-Seal: i=1; a=rsa-sha256\r\n`,
  header => `${header}X-Null: \0\r\n`,
  header => `${header}X-High: \xff\xa0\r\n`,
  header => header.replace(/\bv=1/, 'v=2'),
  header => header.replace(/\bv=1/, ' V=1'),
  header => header.replace(/\ba=/, 'a = '),
  header => header.replace(/\bs=/, 'n=a note; s='),
  header => header.replace(/\bs=/, 's=ed; s='),
  header => header.replace(/\bs=/, 'i=@evil.test; s='),
  header => header.replace(/\bs=/, 'i="b="@sign.test; s='),
  header => header.replace(/\bs=/, '; s='),
  header => header.replace(/\bs=/, 'l=0; s='),
  header => header.replace(/\bs=/, 'x=1; s='),
  header => header.replace(/\bs=/, 'x=99999999999; s='),
  header => header.replace(/\bt=/, 't=z'),
  header => header.replace(/\bh=/, 'h=:'),
  header => header.replace(/\bh=From:/i, 'h='),
  header => header.replace(/\bh=([^;]*)/i, 'h=$1:from:x-none'),
  header => header.replace(/\bc=[^;]*/, 'c=relaxed'),
  header => header.replace(/\bd=sign/, 'd=SIGN'),
  header => header.replace(/\bd=sign\.test/, 'd=other.test'),
  header => header.replace(/\bb=/, 'b=\r\n '),
  header => header.replace(/\bb=([^;]*)/, 'b=$1;'),
  header => header.replace(/\bbh=.{8}/, '$& '),
  header => header.replace('DKIM-Signature:', 'DKIM-Signature :'),
  header => header.replace('DKIM-Signature:', 'dkim-signature:  \t'),
  header => header.replace(/^DKIM-Signature:.*\r\n(?:[ \t].*\r\n)*/, ''),
  header => header.replace(/^(DKIM-Signature:.*\r\n(?:[ \t].*\r\n)*)/, '$1$1'),
  header => header.replace('Subject: a', 'Subject: b'),
  (header, chance) => {
    const at = chance.below(header.length)
    return (
      header.slice(0, at) +
      chance.pick([' ', '\r', '\n', '\t', ':', ';', '=', '\0', '\xa0', 'a']) +
      header.slice(at + 1)
    )
  },
  (header, chance) => {
    const at = chance.below(header.length)
    return (
      header.slice(0, at) + chance.pick([' ', '\r\n', '\r\n ', '\t', ':', ';', '@', 'From: x@y\r\n']) + header.slice(at)
    )
  },
]

test('what is plain to us is the same to the library, whatever tricks are played with the header', async () => {
  const chance = new Chance()
  const opened: Parameters<typeof signerKeys>[1] = new WeakMap()
  let plainly = 0
  for (let round = 0; round < 400; round++) {
    const chosen = Array.from({ length: 1 + chance.below(2) }, () => chance.pick(tricks))
    const before = chance.below(2) === 0
    const play = (header: string) => chosen.reduce((played, trick) => trick(played, chance), header)
    const head = 'From: Ann <ann@sign.test>\r\nTo: ben@b.test\r\nSubject: a\r\n  fold\r\nX-One:  1 \r\nX-One: 2\r\n'
    const own = before ? play(head) : head
    const { selector, key, algorithm } = chance.pick(signers.filter(one => one.selector !== 'old'))
    const { signatures } = await dkimSign(Buffer.from(`${own}\r\ntext\r\n`, 'latin1'), {
      canonicalization: chance.pick(['relaxed/relaxed', 'simple/simple', 'relaxed/simple', 'simple/relaxed']),
      ...{ algorithm, headerList: chance.pick(['From:To:Subject', 'From:X-One:X-One', 'From:From:Subject:Date']) },
      signatureData: [{ signingDomain: 'sign.test', selector, privateKey: privatePem(key) }],
    } as never)
    const header = before ? `${signatures}${own}` : play(`${signatures}${own}`)
    const message = Buffer.from(`${header}\r\ntext\r\n`, 'latin1')
    const found = await ours(message, opened)
    const plain = found?.headers.parsed.length === 0
    if (plain) plainly += 1
    // Where the header of such a message ends, the library's own reader of messages sees in another way.
    else if (/\r(?!\n)|[^\r]\n/.test(header)) continue
    const wanted = await dkimVerify(message, how)
    if (mild(wanted.results)) {
      expect(said(found?.results)).not.toContainEqual(expect.objectContaining({ result: 'pass' }))
      continue
    }
    const about = `seed ${chance.seed}, round ${round}: ${JSON.stringify(message.toString('latin1'))}`
    const shown = (results: readonly object[] = []) =>
      results.map(one => {
        const { signingDomain, selector, info, status } = one as (typeof wanted.results)[number]
        return { signingDomain, selector, info, status }
      })
    expect(shown(found?.results), about).toEqual(shown(wanted.results))
    expect([found?.headerFrom, found?.fromFields], about).toEqual([wanted.headerFrom, wanted.fromFields])
    const all = authorsOf(wanted.headerFrom, fieldRows(looked(message).header))
    expect(found?.authors, about).toEqual(all)
  }
  expect(plainly).toBeGreaterThan(40)
})

test('fields are found where the library finds them, whatever is in the header', () => {
  const chance = new Chance()
  const pieces = [
    'From',
    ':',
    ': ',
    ' ',
    '\t',
    '\r\n',
    '\n',
    '\r',
    'x',
    ' x: y\r\n',
    'A b:',
    '\xa0',
    '\0',
    'DKIM-Signature: a=b',
    'É:',
  ]
  for (let round = 0; round < 3000; round++) {
    const block = Buffer.from(Array.from({ length: chance.below(25) }, () => chance.pick(pieces)).join(''), 'latin1')
    const about = `seed ${chance.seed}, round ${round}: ${JSON.stringify(block.toString('latin1'))}`
    const wanted = parseHeaders(block).parsed.map(({ key, casedKey, line }) => ({
      key,
      casedKey,
      line: line.toString('latin1'),
    }))
    const found = fieldRows(block).parsed.map(row => ({ ...row, line: row.line.toString('latin1') }))
    expect(found, about).toEqual(wanted)
  }
})

test.each([
  ['lines without end', `X-A: b\r\n${' x\r\n'.repeat(60_000)}`],
  ['line ends that are none', `X-A: b${'\r'.repeat(240_000)}x\r\n`],
  ['a first line that is no field', `a${' '.repeat(240_000)}b\r\nX: 1\r\n`],
  [
    'blanks within a signature',
    `DKIM-Signature: v=1; a=rsa-sha256; d=a.test; s=s; h=from; bh=AA==; b=AA==; y=a${' '.repeat(240_000)}b\r\n`,
  ],
  ['blanks within a seal', `ARC-Seal: i=1; y=a${' \r\n'.repeat(80_000)} b\r\n`],
  ['blanks within what was found', `ARC-Authentication-Results: i=1; y=a${'\t'.repeat(240_000)}b\r\n`],
  [
    'a signature of all there may be',
    `${`DKIM-Signature: v=1; a=rsa-sha256; d=a.test; s=s; h=from${':a'.repeat(11_000)}; bh=AA==; b=AA==\r\n`.repeat(5)}${'a:\r\n'.repeat(30_000)}`,
  ],
  [
    'a signer of a name without end',
    `DKIM-Signature: v=1; a=rsa-sha256; d=${Array.from({ length: 60_000 }, (_, n) => String.fromCodePoint(0x4e00 + (n % 20_000))).join('')}; s=s; h=from; bh=AA==; b=AA==\r\n`,
  ],
])('a header with %s is read in proportion to it', async (_, head) => {
  const found = await ours(Buffer.concat([Buffer.from(head), Buffer.from('From: ann@sign.test\r\n\r\ntext\r\n')]))
  expect(found?.authors.domains).toEqual(['sign.test'])
})

test.each([
  ['for nobody of its domain', 'i=@evil.test', '', 'domain mismatch'],
  ['for a name above its domain', 'i=@test', '', 'domain mismatch'],
  ['for somebody below it, where the key forbids that', 'i=a@mail.sign.test', 's', 'domain mismatch'],
  ['of a version nobody knows', 'v=2', '', 'incompatible version'],
  ['of two domains', 'd=sign.test', '', 'signature syntax error'],
  ['of two domains, one in capital letters', 'D=sign.test', '', 'signature syntax error'],
  ['with what is no tag', 'junk', '', 'signature syntax error'],
  ['with nothing for a tag', '', '', 'signature syntax error'],
  ['that covers no number of bytes', 'l=abc', '', 'signature syntax error'],
  ['with an unknown tag', 'zz=1', '', 'pass'],
  ['whose key is asked for in another way', 'q=dns/other', '', 'unsupported query method'],
  ['for somebody below its domain', 'i=a@mail.sign.test', '', 'pass'],
  ['for somebody of its domain', 'i=ann@Sign.test', 's', 'pass'],
  ['for somebody of its domain whose name has a code', 'i=ann=2Bx@sign.test', '', 'pass'],
  ['for a name that is none', 'i=a@b@sign.test', '', 'domain mismatch'],
  ['for a name that is none once it is decoded', 'i=a=40b@sign.test', '', 'domain mismatch'],
  ['whose key is asked for in one of two ways', 'q=dns/other:dns/txt', '', 'pass'],
])('a signature %s: %s', async (_, tag, flags, wanted) => {
  const key = generateKeyPairSync('ed25519').privateKey
  const { name, value } = dnsTxt('sign.test', 'own', publicPem(key))
  const record = [[value.replace(/t=s;/, flags === '' ? '' : `t=${flags};`)]]
  const body = createHash('sha256').update('text\r\n').digest('base64')
  const version = tag.startsWith('v=') ? tag : 'v=1'
  const more = tag.startsWith('v=') ? '' : ` ${tag};`
  const field = `DKIM-Signature: ${version}; a=ed25519-sha256; c=relaxed/relaxed; d=sign.test; s=own;${more} h=from; bh=${body}; b=`
  const from = 'From: ann@sign.test'
  const signed = `${from.replace('From: ', 'from:')}\r\n${field.replace('DKIM-Signature: ', 'dkim-signature:')}`
  const proof = sign(null, createHash('sha256').update(signed).digest(), key).toString('base64')
  const message = Buffer.from(`${field}${proof}\r\n${from}\r\n\r\ntext\r\n`)
  const keys = signerKeys(async asked => {
    expect(asked).toBe(name)
    return record
  }, new WeakMap())
  const [found] = (await verifySignatures(looked(message), keys))?.results ?? []
  const { result, comment } = found?.status ?? {}
  expect(result === 'pass' ? result : comment).toBe(wanted)
  expect(found?.info).toMatch(wanted === 'pass' ? /^dkim=pass/ : /^dkim=neutral \(/)
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
