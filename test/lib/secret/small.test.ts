import { createHash } from 'node:crypto'
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { generateSecret, generateSync } from 'otplib'
import { afterEach, describe, expect, test } from 'vitest'
import { shiftClock } from '#lib/clock.ts'
import { Fault } from '#lib/fault.ts'
import { aspOpens, aspSelector, isAsp, newAsp, normalAsp, shownScopes, storedScopes } from '#lib/secret/asp.ts'
import { Recall } from '#lib/secret/recall.ts'
import { SecretBox } from '#lib/secret/secret-box.ts'
import { isToken, newChallenge, newTemporaryPassword, newToken, sameToken, tokenDigest } from '#lib/secret/token.ts'
import {
  checkTotp,
  decodeBase32,
  enableTotp,
  encodeBase32,
  newSeed,
  otpauthUrl,
  stepMs,
  totpCode,
  unusedTotp,
} from '#lib/secret/totp.ts'
import { loadKey } from '#store/folder/keys.ts'
import { keyFile } from '#store/folder/place.ts'

afterEach(() => shiftClock(0))

describe('recall', () => {
  test('knows what it was told, for the stored hash it was told it for, and for a while', () => {
    const recall = new Recall({ enabled: true, ttlMs: 600_000 })
    const mark = recall.markOf('secret', 'hash')
    expect(recall.knows(mark)).toBe(false)
    recall.remember(mark)
    expect(recall.knows(recall.markOf('secret', 'hash'))).toBe(true)
    expect(recall.knows(recall.markOf('secret', 'other hash'))).toBe(false)
    expect(recall.knows(recall.markOf('secrets', 'hash'))).toBe(false)
    shiftClock(500_000)
    expect(recall.knows(mark)).toBe(true)
    shiftClock(600_001)
    expect(recall.knows(mark)).toBe(false)
    expect(recall.size).toBe(0)
  })

  test('tells apart where the hash ends and the password begins', () => {
    const recall = new Recall({ enabled: true })
    expect(recall.markOf('bc', 'a')).not.toBe(recall.markOf('c', 'ab'))
    expect(recall.markOf(Buffer.from('secret'), 'hash')).toBe(recall.markOf('secret', 'hash'))
  })

  test('marks mean nothing to another process', () => {
    const [one, two] = [new Recall({ enabled: true }), new Recall({ enabled: true })]
    expect(one.markOf('secret', 'hash')).not.toBe(two.markOf('secret', 'hash'))
  })

  test('is bounded: what was used longest ago goes first', () => {
    const recall = new Recall({ enabled: true, entriesMax: 3 })
    const marks = ['a', 'b', 'c', 'd'].map(password => recall.markOf(password, 'hash'))
    const [a, b, c, d] = marks
    if (a === undefined || b === undefined || c === undefined || d === undefined) throw new Error('four marks')
    for (const mark of [a, b, c]) recall.remember(mark)
    expect(recall.knows(a)).toBe(true)
    recall.remember(d)
    expect(marks.map(mark => recall.knows(mark))).toEqual([true, false, true, true])
    recall.clear()
    expect(recall.knows(d)).toBe(false)
  })

  test('can be off', () => {
    const recall = new Recall({ enabled: false })
    const mark = recall.markOf('secret', 'hash')
    recall.remember(mark)
    expect(recall.knows(mark)).toBe(false)
    expect(recall.size).toBe(0)
  })
})

describe('application passwords', () => {
  test('are sixteen letters, however they are grouped', () => {
    const asp = newAsp()
    expect(isAsp(asp)).toBe(true)
    expect(newAsp()).not.toBe(asp)
    expect(normalAsp('abcd efgh\tijkl MNOP ')).toBe('abcdefghijklmnop')
    for (const text of ['abcdefghijklmno', 'abcdefghijklmnopq', 'abcdefghijklmno1', 'äbcdefghijklmnop', '']) {
      expect(normalAsp(text)).toBeUndefined()
    }
    expect(normalAsp(' '.repeat(1_000_000))).toBeUndefined()
  })

  test('the selector is the sum of the bytes of SHA-1, modulo 32', () => {
    expect(aspSelector('abcdefghijklmnop')).toBe('c')
    for (let round = 0; round < 20; round++) {
      const asp = newAsp()
      const hex = createHash('sha1').update(asp).digest('hex')
      const sum = (hex.match(/../g) ?? []).reduce((total, pair) => total + Number.parseInt(pair, 16), 0)
      expect(aspSelector(asp)).toBe((sum % 32).toString(16))
    }
  })

  test('scopes', () => {
    expect(storedScopes(['smtp', 'imap', 'imap'])).toEqual(['imap', 'smtp'])
    expect(storedScopes(['smtp', 'imap', 'pop3'])).toEqual(['*'])
    expect(storedScopes(['*', 'imap'])).toEqual(['*'])
    expect(shownScopes(['*'])).toEqual(['imap', 'pop3', 'smtp'])
    expect(shownScopes(['imap'])).toEqual(['imap'])
    for (const scopes of [[], ['master'], ['imap', 'master'], ['*', 'master'], ['jmap'], ['']]) {
      const refuse = () => storedScopes(scopes)
      expect(refuse).toThrow(Fault)
      expect(refuse).toThrow(/scopes/)
    }
    expect(aspOpens(['*'], 'imap')).toBe(true)
    expect(aspOpens(['imap'], 'imap')).toBe(true)
    expect(aspOpens(['imap'], 'smtp')).toBe(false)
    expect(aspOpens(['*'], 'master')).toBe(false)
    expect(aspOpens(['*'], 'anything')).toBe(false)
  })
})

describe('tokens', () => {
  test('have their form and are compared by digest', () => {
    const token = newToken()
    expect(isToken(token)).toBe(true)
    expect(token).toMatch(/^[0-9a-f]{40}$/)
    for (const text of ['', token.slice(1), `${token}0`, token.toUpperCase().replace(/\d/g, 'A')]) {
      expect(isToken(text)).toBe(false)
    }
    expect(tokenDigest('abc')).toBe('ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad')
    expect(sameToken(token, token)).toBe(true)
    expect(sameToken(token, newToken())).toBe(false)
    expect(sameToken('', '')).toBe(false)
    expect(newChallenge()).toMatch(/^[0-9a-f]{128}$/)
    expect(newTemporaryPassword()).toMatch(/^[A-Za-z2-9]{12}$/)
  })
})

describe('TOTP', () => {
  const key = Buffer.from('12345678901234567890')
  const seed = 'GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ'

  test('RFC 6238 appendix B, SHA-1', () => {
    const vectors: readonly (readonly [number, string])[] = [
      [59, '94287082'],
      [1_111_111_109, '07081804'],
      [1_111_111_111, '14050471'],
      [1_234_567_890, '89005924'],
      [2_000_000_000, '69279037'],
      [20_000_000_000, '65353130'],
    ]
    for (const [seconds, code] of vectors) {
      expect(totpCode(key, Math.floor(seconds / 30), 8)).toBe(code)
      expect(checkTotp(seed, code.slice(2), seconds * 1000, unusedTotp).result).toBe('ok')
    }
  })

  test('RFC 4648 section 10, and back', () => {
    const vectors = { f: 'MY', fo: 'MZXQ', foo: 'MZXW6', foob: 'MZXW6YQ', fooba: 'MZXW6YTB', foobar: 'MZXW6YTBOI' }
    for (const [plain, text] of Object.entries(vectors)) {
      expect(encodeBase32(Buffer.from(plain))).toBe(text)
      expect(decodeBase32(text)?.toString()).toBe(plain)
    }
    expect(decodeBase32('mzxw 6ytb oi======')?.toString()).toBe('foobar')
    for (const text of ['', '1', 'MZXW6YTBO0', 'ÄÄ']) expect(decodeBase32(text)).toBeUndefined()
  })

  test('agrees with another implementation', () => {
    for (let round = 0; round < 10; round++) {
      const own = newSeed()
      expect(own).toMatch(/^[A-Z2-7]{32}$/)
      expect(checkTotp(own, generateSync({ secret: own }), Date.now(), unusedTotp).result).toBe('ok')
      const theirs = generateSecret()
      expect(checkTotp(theirs, generateSync({ secret: theirs }), Date.now(), unusedTotp).result).toBe('ok')
    }
  })

  const at = 50_000_000 * stepMs + 11_000
  const present = Math.floor(at / stepMs)
  const codeOf = (step: number) => totpCode(key, step)

  test('one step either way and no further', () => {
    const results = [-2, -1, 0, 1, 2].map(shift => checkTotp(seed, codeOf(present + shift), at, unusedTotp).result)
    expect(results).toEqual(['wrong', 'ok', 'ok', 'ok', 'wrong'])
  })

  test('a code is used once, and no older one after it, however long ago that was', () => {
    const first = checkTotp(seed, codeOf(present), at, unusedTotp)
    if (first.result !== 'ok') throw new Error(first.result)
    expect(first.use).toEqual({ step: present, spare: false })
    expect(checkTotp(seed, codeOf(present), at, first.use).result).toBe('replayed')
    expect(checkTotp(seed, codeOf(present - 1), at, first.use).result).toBe('replayed')
    expect(checkTotp(seed, codeOf(present + 1), at, first.use).result).toBe('ok')
    const years = { step: present + 10_000_000, spare: false }
    expect(checkTotp(seed, codeOf(present), at, years).result).toBe('replayed')
  })

  test('the code that switched the factor on serves once more', () => {
    const enabled = enableTotp(seed, codeOf(present), at)
    if (enabled.result !== 'ok') throw new Error(enabled.result)
    expect(enabled.use).toEqual({ step: present, spare: true })
    const once = checkTotp(seed, codeOf(present), at, enabled.use)
    if (once.result !== 'ok') throw new Error(once.result)
    expect(once.use).toEqual({ step: present, spare: false })
    expect(checkTotp(seed, codeOf(present), at, once.use).result).toBe('replayed')
    expect(checkTotp(seed, codeOf(present - 1), at, enabled.use).result).toBe('replayed')
  })

  test('anything but six digits is wrong', () => {
    for (const code of ['', '12345', '1234567', '12345a', ' 12345', '١٢٣٤٥٦', '-12345']) {
      expect(checkTotp(seed, code, at, unusedTotp).result).toBe('wrong')
    }
    expect(checkTotp('not base32!', codeOf(present), at, unusedTotp).result).toBe('wrong')
  })

  test('the address in the QR code', () => {
    const url = otpauthUrl('anna m@example.com', seed, 'Teal & Söhne')
    expect(url).toBe(`otpauth://totp/anna%20m%40example.com?secret=${seed}&issuer=Teal%20%26%20S%C3%B6hne`)
  })
})

describe('sealed secrets', () => {
  test('open again, differ each time, and hold nothing in clear', async () => {
    const seal = new SecretBox('a secret of the service')
    const [one, two] = [await seal.seal('JBSWY3DPEHPK3PXP'), await seal.seal('JBSWY3DPEHPK3PXP')]
    expect(one).toMatch(/^\$wd01\$aes-256-gcm\$[0-9a-f]{32}\$[0-9a-f]{24}\$[0-9a-f]{32}\$[0-9a-f]+$/)
    expect(one).not.toBe(two)
    expect(await seal.open(one)).toBe('JBSWY3DPEHPK3PXP')
    expect(await new SecretBox('a secret of the service').open(two)).toBe('JBSWY3DPEHPK3PXP')
  })

  test('of other programs with the same secret open', async () => {
    // python3: hashlib.scrypt(b'secret', salt=bytes(range(16)), n=16384, r=8, p=1, dklen=32) and AESGCM of cryptography;
    // the older form: printf SEEDSEED | openssl enc -aes-192-cbc -md md5 -nosalt -pass pass:secret
    const old = '$b96eb62122614ca579072fc748c2e3a5'
    const present =
      '$wd01$aes-256-gcm$8a4ea52b4ffd9c49fbf1cccb7bc837cd$000102030405060708090a0b$000102030405060708090a0b0c0d0e0f$afb311582bcd94ed'
    expect(await new SecretBox('secret').open(old)).toBe('SEEDSEED')
    expect(await new SecretBox('secret').open(present)).toBe('SEEDSEED')
    expect(await new SecretBox('secret').open('SEEDSEED')).toBe('SEEDSEED')
  })

  test('that were changed or sealed with another key are refused', async () => {
    const seal = new SecretBox('one')
    const sealed = await seal.seal('JBSWY3DPEHPK3PXP')
    const flipped = sealed.slice(0, -1) + (sealed.endsWith('0') ? '1' : '0')
    const shortTag = sealed.replace(/gcm\$([0-9a-f]{8})[0-9a-f]{24}/, 'gcm$$$1')
    for (const text of [flipped, shortTag, '$wd01$', '$wd01$aes-256-gcm$$$$', '$zz', '$00']) {
      const error = await seal.open(text).catch((cause: unknown) => cause)
      expect(error).toMatchObject({ code: 'SealBroken' })
    }
    await expect(new SecretBox('two').open(sealed)).rejects.toThrow(Fault)
  })
})

describe('key files', () => {
  test('are made once, for their owner alone, and given back ever after', () => {
    const dir = mkdtempSync(join(tmpdir(), 'teal-keys-'))
    const key = loadKey(dir, 'totp', '')
    expect(key).toMatch(/^[0-9a-f]{64}$/)
    expect(loadKey(dir, 'totp', '')).toBe(key)
    expect(loadKey(dir, 'srs', '')).not.toBe(key)
    expect(loadKey(dir, 'totp', 'configured')).toBe('configured')
    expect(statSync(keyFile(dir, 'totp')).mode & 0o777).toBe(0o600)
    expect(readFileSync(keyFile(dir, 'totp'), 'utf8').trim()).toBe(key)
    writeFileSync(keyFile(dir, 'totp'), '')
    expect(() => loadKey(dir, 'totp', '')).toThrow(Fault)
    rmSync(dir, { recursive: true })
  })
})
