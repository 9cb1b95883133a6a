// Keys that sign mail, and signatures that another library finds right.

import { generateKeyPairSync, type KeyObject } from 'node:crypto'
import { dkimVerify } from 'mailauth/lib/dkim/verify.js'
import { describe, expect, test } from 'vitest'
import { limits } from '#lib/limits.ts'
import { privatePem } from '#lib/secret/private-key.ts'
import { dnsTxt, makeSigningKey, publicPem, readSigningKey, type SigningKey, signatures } from '#mail/crypt/dkim.ts'

const message = Buffer.from(
  [
    'From: Alice <alice@example.com>',
    'To: bob@example.net',
    'Subject: =?utf-8?Q?Gr=C3=BC=C3=9Fe?=',
    'Date: Tue, 1 Jul 2025 10:00:00 +0000',
    'Message-ID: <1@example.com>',
    'List-Unsubscribe: <https://example.com/u>',
    'List-Unsubscribe-Post: List-Unsubscribe=One-Click',
    'Feedback-ID: c1:bob:news:example',
    'X-Trace: kept out of it',
    '',
    'Text with trailing space \t',
    '.a line with a dot',
    '',
    '',
    '',
  ].join('\r\n'),
)

const rsa = generateKeyPairSync('rsa', { modulusLength: 1024 }).privateKey
const ed25519 = generateKeyPairSync('ed25519').privateKey

function signingKey(key: KeyObject, domain = 'example.com', selector = 's1'): SigningKey {
  return { domain, selector, privateKey: privatePem(key) }
}

/** What a verifier says who finds `records` in DNS. */
async function verify(signed: Buffer, ...keys: [KeyObject, domain: string, selector: string][]) {
  const records = new Map(
    keys.map(([key, domain, selector]) => {
      const { name, value } = dnsTxt(domain, selector, publicPem(key))
      return [name, value]
    }),
  )
  const resolver = async (name: string) => {
    const value = records.get(name)
    if (value === undefined) throw Object.assign(new Error('no such name'), { code: 'ENOTFOUND' })
    return [[value]]
  }
  const { results } = await dkimVerify(signed, { resolver: resolver as never })
  return results.map(({ signingDomain, selector, status }) => [signingDomain, selector, status.result])
}

describe('a signature', () => {
  test('is right with either kind of key', async () => {
    for (const key of [rsa, ed25519]) {
      const head = await signatures(message, [signingKey(key)])
      expect(head).toMatch(/^DKIM-Signature: /)
      expect(head.endsWith('\r\n')).toBe(true)
      const signed = Buffer.concat([Buffer.from(head), message])
      expect(await verify(signed, [key, 'example.com', 's1'])).toEqual([['example.com', 's1', 'pass']])
    }
  })

  test('is wrong once the message was changed', async () => {
    const head = Buffer.from(await signatures(message, [signingKey(rsa)]))
    for (const [from, to] of [
      ['Text with', 'Test with'],
      ['Alice', 'Malice'],
      ['com/u', 'org/u'],
      ['One-Click', 'One-Glance'],
      ['c1:bob', 'c2:bob'],
    ] as const) {
      const changed = Buffer.from(message.toString().replace(from, to))
      const [[, , result] = []] = await verify(Buffer.concat([head, changed]), [rsa, 'example.com', 's1'])
      expect(result).not.toBe('pass')
    }
  })

  test('bears what servers on the way may do: other header fields and folding', async () => {
    const head = await signatures(message, [signingKey(rsa)])
    const text = message.toString().replace('Subject: ', 'subject:\r\n  ').replace('X-Trace: kept', 'X-Trace: blown')
    const passed = Buffer.from(`Received: from a by b\r\n${head}${text}`)
    expect(await verify(passed, [rsa, 'example.com', 's1'])).toEqual([['example.com', 's1', 'pass']])
  })

  test('is made of a stream in pieces of any size', async () => {
    for (const size of [1, 7, 64, message.length]) {
      async function* pieces() {
        for (let at = 0; at < message.length; at += size) yield message.subarray(at, at + size)
      }
      const signed = Buffer.concat([Buffer.from(await signatures(pieces(), [signingKey(ed25519)])), message])
      expect(await verify(signed, [ed25519, 'example.com', 's1'])).toEqual([['example.com', 's1', 'pass']])
    }
  })

  test('is made for each key, also for a domain in unicode', async () => {
    const keys = [signingKey(rsa), signingKey(ed25519, 'grün.example', 'zwei')]
    const signed = Buffer.concat([Buffer.from(await signatures(message, keys)), message])
    const seen = await verify(signed, [rsa, 'example.com', 's1'], [ed25519, 'grün.example', 'zwei'])
    expect(seen).toContainEqual(['example.com', 's1', 'pass'])
    expect(seen).toContainEqual(['xn--grn-ioa.example', 'zwei', 'pass'])
  })

  test('is not made without keys, nor of a message without From', async () => {
    expect(await signatures(message, [])).toBe('')
    const anonymous = Buffer.from('Subject: x\r\n\r\ntext\r\n')
    expect(await signatures(anonymous, [signingKey(rsa)])).toBe('')
  })

  test('fails loudly where the source fails', async () => {
    async function* broken() {
      yield message.subarray(0, 10)
      throw new Error('the disk is gone')
    }
    await expect(signatures(broken(), [signingKey(rsa)])).rejects.toThrow('the disk is gone')
  })
})

describe('keys', () => {
  test('are read in the forms that people have them', () => {
    const pkcs1 = String(rsa.export({ type: 'pkcs1', format: 'pem' }))
    const seed = ed25519.export({ type: 'pkcs8', format: 'der' }).subarray(-32).toString('base64')
    expect(seed).toHaveLength(44)
    expect(readSigningKey(pkcs1)?.equals(rsa)).toBe(true)
    expect(readSigningKey(privatePem(rsa))?.equals(rsa)).toBe(true)
    expect(readSigningKey(privatePem(ed25519))?.equals(ed25519)).toBe(true)
    expect(readSigningKey(` ${seed}\n`)?.equals(ed25519)).toBe(true)
  })

  test('that cannot sign mail are not', () => {
    const short = generateKeyPairSync('rsa', { modulusLength: limits.dkim.rsaBitsMin - 8 }).privateKey
    const ec = generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey
    for (const key of [short, ec]) expect(readSigningKey(privatePem(key))).toBeUndefined()
    for (const text of ['', 'x'.repeat(44), publicPem(rsa)]) expect(readSigningKey(text)).toBeUndefined()
  })

  test('that are made are RSA of the usual size', async () => {
    const key = await makeSigningKey()
    expect(key.asymmetricKeyType).toBe('rsa')
    expect(key.asymmetricKeyDetails?.modulusLength).toBe(limits.dkim.rsaBits)
    expect(readSigningKey(privatePem(key))?.equals(key)).toBe(true)
  })

  test('have a record with one p tag, the name in ASCII', () => {
    for (const key of [rsa, ed25519]) {
      const { name, value } = dnsTxt('grün.example', 's1', publicPem(key))
      expect(name).toBe('s1._domainkey.xn--grn-ioa.example')
      expect(value).toMatch(/^v=DKIM1;(k=ed25519;)?t=s;p=[A-Za-z0-9+/]+=*$/)
      expect(value.split('p=')).toHaveLength(2)
    }
    expect(dnsTxt('example.com', 's1', publicPem(ed25519)).value).toMatch(/;k=ed25519;.*p=[A-Za-z0-9+/]{43}=$/)
  })
})
