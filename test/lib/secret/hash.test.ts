import { hash as argon2, argon2d } from 'argon2'
import { describe, expect, test } from 'vitest'
import { Fault } from '#lib/fault.ts'
import { limits } from '#lib/limits.ts'
import { type HashForm, knownHash, needsRehash, parseHash, standard } from '#lib/secret/form.ts'
import { hashPassword, roundsOwed, verifyPassword } from '#lib/secret/hash.ts'
import vectors from './vectors.json' with { type: 'json' }

/** Another printable character of the crypt and base64 alphabets in the last place of the hash that carries whole bits. */
const spoiled = (stored: string) => {
  const at = stored.length - 3
  return stored.slice(0, at) + (stored[at] === 'A' ? 'B' : 'A') + stored.slice(at + 1)
}

describe('stored hashes of other programs', () => {
  const kinds = [...new Set(vectors.map(({ kind }) => kind))]
  for (const kind of kinds) {
    test(kind, async () => {
      for (const { password, stored, made } of vectors.filter(vector => vector.kind === kind)) {
        const bytes = Buffer.from(password, 'hex')
        expect(knownHash(stored), made).toBe(true)
        expect(await verifyPassword(bytes, stored), made).toBe(true)
      }
    })

    test(`${kind}, wrong password or wrong hash`, async () => {
      for (const { password, stored, made } of vectors.filter(vector => vector.kind === kind).slice(0, 3)) {
        const bytes = Buffer.from(password, 'hex')
        const other = Buffer.from(bytes)
        other[0] = (other[0] ?? 0) ^ 1
        expect(await verifyPassword(other, stored), made).toBe(false)
        expect(await verifyPassword(Buffer.alloc(0), stored), made).toBe(false)
        expect(await verifyPassword(bytes, spoiled(stored)), made).toBe(false)
      }
    })
  }

  test('argon2d, and the order of costs that this library prints', async () => {
    const stored = await argon2('correct horse', { type: argon2d, memoryCost: 1024, timeCost: 2, parallelism: 1 })
    expect(stored).toMatch(/^\$argon2d\$/)
    expect(knownHash(stored)).toBe(true)
    expect(await verifyPassword('correct horse', stored)).toBe(true)
    expect(await verifyPassword('correct horst', stored)).toBe(false)
  })

  test('text counts as UTF-8', async () => {
    const vector = vectors.find(({ stored }) => stored.startsWith('$6$rounds=1234$saltstring'))
    expect(await verifyPassword('пароль', vector?.stored ?? '')).toBe(true)
  })

  test('bytes that are no UTF-8 match no bcrypt hash', async () => {
    const bcrypt = vectors.find(({ kind }) => kind === 'bcrypt')
    expect(await verifyPassword(Buffer.from([0xff, 0xfe]), bcrypt?.stored ?? '')).toBe(false)
  })
})

describe('hashes made here', () => {
  test('have the standard form, a new salt each time, and verify', async () => {
    const first = hashPassword('pässwörd')
    const second = hashPassword('pässwörd')
    expect(first).toMatch(/^\$pbkdf2-sha256\$i=100000\$[A-Za-z0-9+/]{22}\$[A-Za-z0-9+/]{43}$/)
    expect(second).not.toBe(first)
    expect(await verifyPassword('pässwörd', first)).toBe(true)
    expect(await verifyPassword(Buffer.from('pässwörd'), second)).toBe(true)
    expect(await verifyPassword('passwörd', first)).toBe(false)
    expect(needsRehash(first, standard.rounds)).toBe(false)
  })
})

describe('a stored hash', () => {
  test('is replaced unless it is pbkdf2 with SHA-2 and enough rounds', () => {
    const expected = (stored: string) => {
      const [, id = '', cost = ''] = stored.split('$')
      return !(/^pbkdf2-sha(256|512)$/.test(id) && Number(/^i=(\d+)/.exec(cost)?.[1]) >= 100_000)
    }
    for (const { stored } of vectors) expect(needsRehash(stored, standard.rounds), stored).toBe(expected(stored))
    expect(vectors.filter(({ stored }) => !needsRehash(stored, standard.rounds))).toHaveLength(1)
    expect(needsRehash('nothing known', standard.rounds)).toBe(false)
  })

  const salt = 'c2FsdHNhbHRzYWx0'
  const hash = 'A'.repeat(43)
  const unknown: Readonly<Record<string, string>> = {
    empty: '',
    'clear text': 'password',
    'twelve letters': 'abNANd1rDfiN',
    SSHA: '{SSHA}W6ph5Mm5Pz8GgiULbPgzG37mj9g=',
    yescrypt: '$y$j9T$F5Jx5fExrKuPp53xLKQ..1$X3DX6M94c7o.9agCG9G317fhZg9SqC.5i5rd.RhAtQ7',
    scrypt: '$7$CU..../....2Q9obwLhin8qvQl6sisAO/$PvrZ4QaYRpVFmGTJUCYKHhRZBMKGVFDaGFrYBVCRYLC',
    'the form of passlib': `$pbkdf2-sha256$1000$${salt}$${hash}`,
    'no rounds': `$pbkdf2-sha256$i=0$${salt}$${hash}`,
    'rounds beyond all bounds': `$pbkdf2-sha256$i=999999999$${salt}$${hash}`,
    'rounds of many digits': `$pbkdf2-sha256$i=${'9'.repeat(400)}$${salt}$${hash}`,
    'a hash too short to mean anything': `$pbkdf2-sha256$i=1000$${salt}$QUJD`,
    'another length than it says': `$pbkdf2-sha256$i=1000,l=20$${salt}$${hash}`,
    'base64 that is none': `$pbkdf2-sha256$i=1000$sa!t$${hash}`,
    'an unknown digest': `$pbkdf2-md5$i=1000$${salt}$${hash}`,
    'bcrypt of an unknown kind': `$2x$04$${'a'.repeat(53)}`,
    'bcrypt too dear': `$2b$31$${'a'.repeat(53)}`,
    'bcrypt too cheap': `$2b$03$${'a'.repeat(53)}`,
    'argon2 with all memory': `$argon2id$v=19$m=4194304,t=1,p=1$${salt}$${hash}`,
    'argon2 without end': `$argon2id$v=19$m=262144,t=9999,p=1$${salt}$${hash}`,
    'argon2 without memory': `$argon2id$v=19$m=1,t=1,p=1$${salt}$${hash}`,
    'argon2 without costs': `$argon2id$v=19$${salt}$${hash}`,
    'argon2 with costs twice': `$argon2id$v=19$m=1024,m=1024,t=1,p=1$${salt}$${hash}`,
    'SHA-crypt without end': `$6$rounds=999999999$salt$${'a'.repeat(86)}`,
    'SHA-crypt cut short': `$6$salt$${'a'.repeat(85)}`,
    'MD5-crypt with a long salt': `$1$123456789$${'a'.repeat(22)}`,
    'far too long': `$6$salt$${'a'.repeat(limits.password.storedLengthMax)}`,
  }
  for (const [what, stored] of Object.entries(unknown)) {
    test(`of no known form: ${what}`, async () => {
      expect(parseHash(stored)).toBeUndefined()
      if (stored === '') return
      const error = await verifyPassword('password', stored).catch((cause: unknown) => cause)
      expect(error).toBeInstanceOf(Fault)
      expect(error).toMatchObject({ code: 'HashError', status: 400 })
    })
  }

  test('that is absent matches nothing', async () => {
    expect(await verifyPassword('', null)).toBe(false)
    expect(await verifyPassword('', '')).toBe(false)
    expect(await verifyPassword('password', null)).toBe(false)
  })
})

describe('a check that failed', () => {
  const ours = parseHash(hashPassword('somebody')) as HashForm & { kind: 'pbkdf2' }
  const others = parseHash(vectors.find(({ kind }) => kind === 'md5-crypt')?.stored ?? '') as HashForm

  test.each<[string, HashForm, number, number, number]>([
    ['quicker than others', ours, 20, 30, 0],
    ['slower than others', ours, 40, 30, 0],
    ['the first of its thread', ours, 30, 0, 0],
    ['of a tenth of the rounds', { ...ours, rounds: 10_000 }, 20, 30, 90_000],
    ['of two blocks', { ...ours, rounds: 10_000, hash: Buffer.alloc(64) }, 20, 30, 80_000],
    ['of more rounds', { ...ours, rounds: 200_000 }, 20, 30, 0],
    ['of another form', others, 3, 30, 90_000],
    ['of another form that took longer', others, 31, 30, 0],
    ['of another form, the first of its thread', others, 3, 0, 100_000],
  ])('%s owes what the standard form would have cost, and that one nothing', (_what, form, spent, usual, owed) => {
    expect(roundsOwed(form, spent, usual)).toBe(owed)
  })
})
