// From SASL responses to credentials, and every way in which a response can be wrong.

import { describe, expect, test } from 'vitest'
import { Fault } from '#lib/fault.ts'
import { beginSasl, mechanisms, takesPasswords } from '#net/sasl.ts'

const base64 = (text: string | Buffer) => Buffer.from(text as string).toString('base64')

function codeOf(run: () => unknown): string {
  try {
    run()
  } catch (error) {
    if (error instanceof Fault) return error.code
    throw error
  }
  return 'none'
}

const plain = (response: string) => beginSasl('plain')?.next(response)

test('every mechanism that is announced can be begun, others cannot', () => {
  expect(mechanisms.map(name => beginSasl(name) === undefined)).toEqual([false, false])
  expect(beginSasl('CRAM-MD5')).toBeUndefined()
  expect(beginSasl('')).toBeUndefined()
  // IMAP's alone.
  expect(beginSasl('PLAIN-CLIENTTOKEN')).toBeUndefined()
})

describe('PLAIN', () => {
  test('gives name and password, in UTF-8 and with the own name to act as', () => {
    const credentials = { username: 'jösé@teal.test', password: 'p ä\ts' }
    expect(plain(base64('\0jösé@teal.test\0p ä\ts'))).toEqual({ credentials })
    expect(plain(base64('JÖSÉ@teal.test\0jösé@teal.test\0p ä\ts'))).toEqual({ credentials })
  })

  const wrong: [name: string, response: string, code: string][] = [
    ['to act as somebody else', base64('boss\0me\0pw'), 'AuthFailed'],
    ['cancelled', '*', 'AuthCancelled'],
    ['empty', '=', 'AuthMalformed'],
    ['no base64', 'AG1lAHB3!', 'AuthMalformed'],
    ['base64url', base64('\0m\xff?\0pw').replace('+', '-').replace('/', '_').padEnd(16, '_'), 'AuthMalformed'],
    ['without padding', base64('\0me\0p').replaceAll('=', ''), 'AuthMalformed'],
    ['padding in the middle', 'AG1l=AHB3', 'AuthMalformed'],
    ['white space', 'AG1l AHB3', 'AuthMalformed'],
    ['one NUL', base64('me\0pw'), 'AuthMalformed'],
    ['three NULs', base64('\0me\0p\0w'), 'AuthMalformed'],
    ['NULs alone', base64('\0\0'), 'AuthMalformed'],
    ['no name', base64('\0\0pw'), 'AuthMalformed'],
    ['no password', base64('\0me\0'), 'AuthMalformed'],
    ['no UTF-8', base64(Buffer.from('\0m\xff\0pw', 'latin1')), 'AuthMalformed'],
    ['too long', base64(`\0me\0${'x'.repeat(20_000)}`), 'AuthMalformed'],
  ]
  test.each(wrong)('%s', (_name, response, code) => {
    expect(codeOf(() => plain(response))).toBe(code)
  })
})

describe('LOGIN', () => {
  test('takes the name, then the password', () => {
    const login = beginSasl('LOGIN')
    expect(login?.challenge).toBe(base64('Username:'))
    expect(login?.next(base64('me'))).toEqual({ challenge: base64('Password:') })
    expect(login?.next(base64('pw'))).toEqual({ credentials: { username: 'me', password: 'pw' } })
  })

  test('wrong at either step', () => {
    for (const [response, code] of [
      ['', 'AuthMalformed'],
      ['*', 'AuthCancelled'],
      ['x', 'AuthMalformed'],
      [base64('a\0b'), 'AuthMalformed'],
    ] as const) {
      expect(codeOf(() => beginSasl('LOGIN')?.next(response))).toBe(code)
      const login = beginSasl('LOGIN')
      login?.next(base64('me'))
      expect(codeOf(() => login?.next(response))).toBe(code)
    }
  })
})

test('a password crosses in the clear only where the policy says so', () => {
  const peers = [
    { secure: true, remoteAddress: '192.0.2.1' },
    { secure: false, remoteAddress: '127.8.9.1' },
    { secure: false, remoteAddress: '::1' },
    { secure: false, remoteAddress: '192.0.2.1' },
  ]
  const answers = (policy: 'loopback' | 'never' | 'always') => peers.map(peer => takesPasswords(peer, policy))
  expect(answers('loopback')).toEqual([true, true, true, false])
  expect(answers('never')).toEqual([true, false, false, false])
  expect(answers('always')).toEqual([true, true, true, true])
})
