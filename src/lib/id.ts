// Identifiers and the only source of randomness.
//
// Outward ids are 24 lower-case hexadecimal digits: four bytes of seconds, five random bytes of this process, a
// three-byte counter, so that ids made later sort later. Rows that come by the thousand (messages, threads, journal
// entries) carry an integer inside; `numberId` shows it as such an id, `idNumber` takes it back.

import { randomBytes, randomInt, randomUUID, timingSafeEqual } from 'node:crypto'
import { now } from './clock.ts'

const process = randomBytes(5).toString('hex')
let counter = randomInt(0x1000000)

/** A new id: 24 lower-case hexadecimal digits, rising with time. */
export function newId(): string {
  counter = (counter + 1) % 0x1000000
  const seconds = Math.floor(now() / 1000)
  return seconds.toString(16).padStart(8, '0') + process + counter.toString(16).padStart(6, '0')
}

const idPattern = /^[0-9a-f]{24}$/

/** Whether `text` has the form of an id (lower case). */
export function isId(text: string): boolean {
  return idPattern.test(text)
}

/** An internal number as an outward id. */
export function numberId(number: number): string {
  return number.toString(16).padStart(24, '0')
}

/** The internal number of an outward id, or 0 where it cannot be one. */
export function idNumber(id: string): number {
  if (!idPattern.test(id) || !id.startsWith('00000000000')) return 0
  const number = Number.parseInt(id, 16)
  return Number.isSafeInteger(number) ? number : 0
}

/** A random number of 48 bits. */
export function randomNumber(): number {
  return randomBytes(6).readUIntBE(0, 6)
}

/** `bytes` random bytes as lower-case hexadecimal digits. */
export function randomHex(bytes: number): string {
  return randomBytes(bytes).toString('hex')
}

export function randomBuffer(bytes: number): Buffer {
  return randomBytes(bytes)
}

/** A random UUID, version 4. */
export function newUuid(): string {
  return randomUUID()
}

/** `length` characters drawn evenly from `alphabet`. */
export function randomText(alphabet: string, length: number): string {
  let text = ''
  for (let index = 0; index < length; index++) text += alphabet[randomInt(alphabet.length)]
  return text
}

/** A fraction in [0, 1) for jitter. Not for secrets. */
export function jitter(): number {
  return Math.random()
}

/** Compares two secrets in time that depends on their lengths only. */
export function sameSecret(a: string | Buffer, b: string | Buffer): boolean {
  const left = Buffer.from(a as string)
  const right = Buffer.from(b as string)
  return left.length === right.length && timingSafeEqual(left, right)
}
