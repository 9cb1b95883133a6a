// Hashes of Argon2 where the library has no part for the platform: Node's own checks them, or it is said why nobody can.

import * as crypto from 'node:crypto'
import { expect, test } from 'vitest'
import { verifyWithEngine } from '#lib/secret/argon2.ts'
import vectors from './vectors.json' with { type: 'json' }

const own = vectors.filter(({ stored }) => stored.startsWith('$argon2') && stored.includes('$v=19$'))

test('what Node cannot check is refused, never called wrong', () => {
  expect(own.length).toBeGreaterThan(2)
  for (const { password, stored } of own) {
    const verify = (text: Buffer) => () => verifyWithEngine(stored, text)
    if ('argon2Sync' in crypto) {
      expect(verify(Buffer.from(password, 'hex'))()).toBe(true)
      expect(verify(Buffer.from('another'))()).toBe(false)
    } else expect(verify(Buffer.from(password, 'hex'))).toThrow(/cannot be verified on .* with Node before 24\.7/)
  }
  const old = '$argon2i$m=65536,t=2,p=1$c29tZXNhbHQ$9sTbSlTio3Biev89thdrlKKiCaYsjjYVJxGAL3swxpQ'
  expect(() => verifyWithEngine(old, Buffer.from('password'))).toThrow(/before version 19/)
})
