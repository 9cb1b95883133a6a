// Access tokens, login nonces and temporary passwords: their text, their form and what is stored of them.
//
// Of a token and of a nonce only the SHA-256 is stored: they are 160 bits of chance, so nothing slower is needed, and
// who reads the database can use none. Comparing goes through the hash, which makes the time of a look-up tell nothing.

import { hash } from 'node:crypto'
import { randomHex, randomText, sameSecret } from '../id.ts'

const form = /^[0-9a-f]{40}$/

/** A new access token or nonce: 20 random bytes as 40 hexadecimal digits. */
export function newToken(): string {
  return randomHex(20)
}

/** Whether `text` has the form of a token or nonce. */
export function isToken(text: string): boolean {
  return form.test(text)
}

/** What is stored of a token or nonce. */
export function tokenDigest(text: string): string {
  return hash('sha256', text, 'hex')
}

/** Whether a presented token is the configured one, in time that does not depend on where they differ. */
export function sameToken(presented: string, configured: string): boolean {
  return configured !== '' && sameSecret(tokenDigest(presented), tokenDigest(configured))
}

/** A new temporary password: 12 letters and digits without those that are easily mistaken for each other. */
export function newTemporaryPassword(): string {
  return randomText('abcdefghjkmnpqrstuvwxyzABCDEFGHJKMNPQRSTUVWXYZ23456789', 12)
}

/** A new challenge for a security key: 64 random bytes as 128 hexadecimal digits. */
export function newChallenge(): string {
  return randomHex(64)
}
