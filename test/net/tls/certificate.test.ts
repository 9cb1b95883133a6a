// Certificates as operators paste them.

import { createHash, createPrivateKey, generateKeyPairSync, X509Certificate } from 'node:crypto'
import { beforeAll, describe, expect, test } from 'vitest'
import { Fault } from '#lib/fault.ts'
import { limits } from '#lib/limits.ts'
import { keyFingerprint, parsePrivateKey, privatePem } from '#lib/secret/private-key.ts'
import { readCertificate } from '#net/tls/certificate.ts'
import { type Authority, keyOf, openAuthority } from '../authority.ts'

let root: Authority
let middle: Authority

beforeAll(async () => {
  root = await openAuthority()
  middle = await root.delegate('Test intermediate')
})

/** Subjects of a chain in order. */
function subjects(chain: string): string[] {
  const blocks = chain.match(/-----BEGIN[^-]+-----[^-]+-----END[^-]+-----/g) ?? []
  return blocks.map(block => new X509Certificate(block).subject)
}

function refused(key: string, cert: string, ca: string[] = []): readonly string[] {
  try {
    readCertificate(keyOf(key), cert, ca)
  } catch (error) {
    expect(error).toBeInstanceOf(Fault)
    expect((error as Fault).code).toBe('InputValidationError')
    return Object.keys((error as Fault).details ?? {})
  }
  throw new Error('it was taken')
}

describe('names', () => {
  test('are those of the certificate in its order, each once', async () => {
    const names = ['z.example.com', '*.A.example.com', 'z.example.com']
    const { key, cert } = await root.issue({ commonName: 'cn.example.com', names, addresses: ['192.0.2.7'] })
    const { altNames } = readCertificate(keyOf(key), cert, [])
    expect(altNames).toEqual(['z.example.com', '*.a.example.com', '192.0.2.7'])
  })

  test('are the common name where there are no others, and none without that', async () => {
    const one = await root.issue({ commonName: 'cn.example.com' })
    expect(readCertificate(keyOf(one.key), one.cert, []).altNames).toEqual(['cn.example.com'])
    const two = await root.issue({})
    expect(readCertificate(keyOf(two.key), two.cert, []).altNames).toEqual([])
  })

  test('that are odd are read as they are', async () => {
    const { key, cert } = await root.issue({ names: ['a, DNS:b.example.com', 'c.example.com'] })
    expect(readCertificate(keyOf(key), cert, []).altNames).toEqual(['a, dns:b.example.com', 'c.example.com'])
  })
})

describe('the chain', () => {
  test('is put in order whatever way it comes', async () => {
    const { key, cert } = await middle.issue({ commonName: 'mail.example.com' })
    const wanted = ['CN=mail.example.com', 'CN=Test intermediate', 'CN=Test root']
    const ways: [string, string[]][] = [
      [cert + middle.cert + root.cert, []],
      [root.cert + middle.cert + cert, []],
      [cert, [root.cert, middle.cert]],
      [cert, [`${middle.cert}\n${root.cert}`]],
      [`${cert}${cert}`, [middle.cert, cert, middle.cert, root.cert]],
    ]
    for (const [text, ca] of ways) {
      const { cert: chain } = readCertificate(keyOf(key), text, ca)
      expect(subjects(chain)).toEqual(wanted)
    }
  })

  test('keeps what does not belong to it at its end', async () => {
    const other = await openAuthority('Other root')
    const { key, cert } = await middle.issue({ commonName: 'mail.example.com' })
    const { cert: chain } = readCertificate(keyOf(key), other.cert + cert, [middle.cert])
    expect(subjects(chain)).toEqual(['CN=mail.example.com', 'CN=Test intermediate', 'CN=Other root'])
  })

  test('has an end', async () => {
    const { key, cert } = await root.issue({ commonName: 'mail.example.com' })
    const many = Array.from({ length: limits.certificate.chainMax + 1 }, () => root.cert)
    expect(refused(key, cert, many)).toEqual(['cert'])
  })
})

test('a certificate that has ended is taken', async () => {
  const expires = Date.UTC(2020, 1, 2)
  const { key, cert } = await root.issue({ commonName: 'old.example.com', expires })
  expect(readCertificate(keyOf(key), cert, []).expires).toBe(expires)
})

test('what does not fit together is refused and named', async () => {
  const one = await root.issue({ commonName: 'one.example.com' })
  const two = await root.issue({ commonName: 'two.example.com' })
  expect(refused(two.key, one.cert)).toEqual(['privateKey'])
  expect(refused(one.key, 'no certificate')).toEqual(['cert'])
  expect(refused(one.key, '-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----')).toEqual(['cert'])
  expect(refused(one.key, one.cert, ['', 'nonsense'])).toEqual(['ca,1'])
})

test('a key too short for TLS is refused', async () => {
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 512 })
  expect(refused(privatePem(privateKey), (await root.issue({})).cert)).toEqual(['privateKey'])
})

describe('private keys', () => {
  test('of every usual form are read, also with text around them', () => {
    const rsa = generateKeyPairSync('rsa', { modulusLength: 1024 }).privateKey
    const ec = generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey
    const texts = [
      rsa.export({ type: 'pkcs1', format: 'pem' }),
      rsa.export({ type: 'pkcs8', format: 'pem' }),
      ec.export({ type: 'sec1', format: 'pem' }),
      ec.export({ type: 'pkcs8', format: 'pem' }),
    ].map(String)
    for (const text of texts) {
      expect(parsePrivateKey(text)).toBeDefined()
      expect(parsePrivateKey(`Bag Attributes\n${text}\nmore`)?.asymmetricKeyType).toMatch(/rsa|ec/)
      expect(parsePrivateKey(text.replaceAll('\n', '\r\n'))).toBeDefined()
    }
  })

  test('that are encrypted or none are not', () => {
    const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
    const secret = { type: 'pkcs8', format: 'pem', cipher: 'aes-256-cbc', passphrase: 'x' } as const
    expect(parsePrivateKey(String(privateKey.export(secret)))).toBeUndefined()
    expect(parsePrivateKey(String(publicKey.export({ type: 'spki', format: 'pem' })))).toBeUndefined()
    expect(parsePrivateKey('-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----')).toBeUndefined()
    expect(parsePrivateKey('')).toBeUndefined()
  })

  test('are named by the digest of their PKCS#8 form', () => {
    const pem = `-----BEGIN PRIVATE KEY-----
MC4CAQAwBQYDK2VwBCIEIJ1hsZ3v/VpguoRK9JLsLMREScVpezJpGXA7rAMcrn9g
-----END PRIVATE KEY-----`
    const der = Buffer.from('MC4CAQAwBQYDK2VwBCIEIJ1hsZ3v/VpguoRK9JLsLMREScVpezJpGXA7rAMcrn9g', 'base64')
    const digest = createHash('sha256').update(der).digest('hex')
    const fingerprint = keyFingerprint(createPrivateKey(pem))
    expect(fingerprint).toMatch(/^([0-9a-f]{2}:){31}[0-9a-f]{2}$/)
    expect(fingerprint.replaceAll(':', '')).toBe(digest)
  })
})
