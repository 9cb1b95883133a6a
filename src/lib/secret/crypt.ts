// The crypt(3) family that older systems stored: SHA-crypt (Drepper, "Unix crypt using SHA-256 and SHA-512"), MD5-crypt
// (FreeBSD) and their common base64. Verification only; new passwords are never stored like this.
//
// Works on bytes, so 8-bit passwords of any length come out as the C libraries have them. It computes for
// milliseconds and more: for threads of the pool, never for the main loop.

import { createHash, hash } from 'node:crypto'
import type { Digest } from './form.ts'

const alphabet = './0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'

/** Order in which the digest's bytes are printed, three to a group of four letters; -1 is a zero byte. */
const orders = {
  sha256: [
    ...[0, 10, 20, 21, 1, 11, 12, 22, 2, 3, 13, 23, 24, 4, 14, 15, 25, 5, 6, 16, 26, 27, 7, 17, 18, 28, 8, 9, 19, 29],
    ...[-1, 31, 30],
  ],
  sha512: [
    ...[0, 21, 42, 22, 43, 1, 44, 2, 23, 3, 24, 45, 25, 46, 4, 47, 5, 26, 6, 27, 48, 28, 49, 7, 50, 8, 29, 9, 30, 51],
    ...[31, 52, 10, 53, 11, 32, 12, 33, 54, 34, 55, 13, 56, 14, 35, 15, 36, 57, 37, 58, 16, 59, 17, 38, 18, 39, 60],
    ...[40, 61, 19, 62, 20, 41, -1, -1, 63],
  ],
  md5: [0, 6, 12, 1, 7, 13, 2, 8, 14, 3, 9, 15, 4, 10, 5, -1, -1, 11],
} as const

/** The printed hash of SHA-crypt, `$5$` for sha256 and `$6$` for sha512: 43 or 86 letters. */
export function shaCrypt(digest: Digest, password: Buffer, salt: Buffer, rounds: number): string {
  const sum = (...parts: readonly Buffer[]) => hash(digest, Buffer.concat(parts), 'buffer')
  const b = sum(password, salt, password)
  const mixed: Buffer[] = [password, salt, stretched(b, password.length)]
  for (let bits = password.length; bits > 0; bits >>= 1) mixed.push((bits & 1) === 1 ? b : password)
  let a = sum(...mixed)
  const p = stretched(sum(repeated(password, password.length)), password.length)
  const s = stretched(sum(repeated(salt, 16 + (a[0] ?? 0))), salt.length)
  for (let round = 0; round < rounds; round++) {
    const odd = (round & 1) === 1
    const parts: Buffer[] = [odd ? p : a]
    if (round % 3 !== 0) parts.push(s)
    if (round % 7 !== 0) parts.push(p)
    parts.push(odd ? a : p)
    a = sum(...parts)
  }
  const letters = digest === 'sha256' ? 43 : 86
  return printed(a, digest === 'sha256' ? orders.sha256 : orders.sha512).slice(0, letters)
}

/** The printed hash of MD5-crypt (`$1$`): 22 letters. */
export function md5Crypt(password: Buffer, salt: Buffer): string {
  const first = md5(password, salt, password)
  const mixed: Buffer[] = [password, Buffer.from('$1$'), salt, stretched(first, password.length)]
  for (let bits = password.length; bits > 0; bits >>= 1) {
    mixed.push((bits & 1) === 1 ? Buffer.alloc(1) : password.subarray(0, 1))
  }
  let sum = md5(...mixed)
  for (let round = 0; round < 1000; round++) {
    const odd = (round & 1) === 1
    const parts: Buffer[] = [odd ? password : sum]
    if (round % 3 !== 0) parts.push(salt)
    if (round % 7 !== 0) parts.push(password)
    parts.push(odd ? sum : password)
    sum = md5(...parts)
  }
  return printed(sum, orders.md5).slice(0, 22)
}

/** The 6-bit letter of crypt(3), `.` for 0. */
export function letter(value: number): string {
  return alphabet[value & 63] ?? ''
}

/** The value of such a letter, or -1. */
export function letterValue(text: string): number {
  return alphabet.indexOf(text)
}

function md5(...parts: readonly Buffer[]): Buffer {
  const sum = createHash('md5')
  for (const part of parts) sum.update(part)
  return sum.digest()
}

function repeated(bytes: Buffer, times: number): Buffer {
  return Buffer.alloc(bytes.length * times, bytes.length === 0 ? 0 : bytes)
}

/** `bytes` over and over, cut at `length`. */
function stretched(bytes: Buffer, length: number): Buffer {
  return Buffer.alloc(length, bytes)
}

/** Groups of three bytes, the first named in the highest bits, printed with the lowest six bits first. */
function printed(sum: Buffer, order: readonly number[]): string {
  let text = ''
  for (let at = 0; at < order.length; at += 3) {
    const [high = 0, middle = 0, low = 0] = order.slice(at, at + 3).map(index => (index < 0 ? 0 : (sum[index] ?? 0)))
    let group = (high << 16) | (middle << 8) | low
    for (let letters = 0; letters < 4; letters++) {
      text += letter(group)
      group >>= 6
    }
  }
  return text
}
