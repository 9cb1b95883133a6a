// Time-based one-time codes (RFC 6238 over RFC 4226): SHA-1, six digits, steps of 30 seconds, as every authenticator
// app has them.
//
// A code is good in its step and one step either way. The step of the last code that was used is remembered for good,
// and only later steps count; the code that switched the factor on may serve once more.

import { createHmac } from 'node:crypto'
import { randomBuffer, sameSecret } from '../id.ts'

export const stepMs = 30_000
/** Steps before and after the present one whose codes count: clocks differ, people type slowly. */
const driftSteps = 1
const seedBytes = 20
const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567'

/** What is remembered of the codes that were used. */
export interface TotpUse {
  /** Step of the last code that was used; -1 before the first. */
  readonly step: number
  /** Whether that code switched the factor on and may be used once more. */
  readonly spare: boolean
}

export const unusedTotp: TotpUse = { step: -1, spare: false }

/** `use` is what has to be stored before the caller is told yes. */
export type TotpResult = { readonly result: 'ok'; readonly use: TotpUse } | { readonly result: 'wrong' | 'replayed' }

/** A new seed: 32 letters of base32. */
export function newSeed(): string {
  return encodeBase32(randomBuffer(seedBytes))
}

/** Whether `code` switches the factor of `seed` on at `atMs`. */
export function enableTotp(seed: string, code: string, atMs: number): TotpResult {
  const found = checkTotp(seed, code, atMs, unusedTotp)
  return found.result === 'ok' ? { result: 'ok', use: { ...found.use, spare: true } } : found
}

/** Whether `code` is good for `seed` at `atMs`, given what was used before. */
export function checkTotp(seed: string, code: string, atMs: number, used: TotpUse): TotpResult {
  const key = decodeBase32(seed)
  if (key === undefined || !/^\d{6}$/.test(code)) return { result: 'wrong' }
  const present = Math.floor(atMs / stepMs)
  let replayed = false
  let fresh: number | undefined
  for (let step = present - driftSteps; step <= present + driftSteps; step++) {
    if (!sameSecret(totpCode(key, step), code)) continue
    if (step > used.step || (step === used.step && used.spare)) fresh ??= step
    else replayed = true
  }
  if (fresh !== undefined) return { result: 'ok', use: { step: fresh, spare: false } }
  return { result: replayed ? 'replayed' : 'wrong' }
}

/** The code of one step: RFC 4226 5.3. */
export function totpCode(key: Buffer, step: number, digits = 6): string {
  const counter = Buffer.alloc(8)
  counter.writeBigUInt64BE(BigInt(Math.max(0, step)))
  const sum = createHmac('sha1', key).update(counter).digest()
  const offset = (sum[19] ?? 0) & 15
  const number = sum.readUInt32BE(offset) & 0x7fffffff
  return (number % 10 ** digits).toString().padStart(digits, '0')
}

/** The address that the QR code holds; the label has no prefix (api-semantics 3.1). */
export function otpauthUrl(label: string, seed: string, issuer: string): string {
  return `otpauth://totp/${encodeURIComponent(label)}?secret=${seed}&issuer=${encodeURIComponent(issuer)}`
}

/** Base32 without padding (RFC 4648 6). */
export function encodeBase32(bytes: Uint8Array): string {
  let text = ''
  let held = 0
  let bits = 0
  for (const byte of bytes) {
    held = ((held << 8) | byte) & 0xfff
    bits += 8
    while (bits >= 5) {
      bits -= 5
      text += alphabet[(held >> bits) & 31]
    }
  }
  return bits === 0 ? text : text + alphabet[(held << (5 - bits)) & 31]
}

/** Bytes of base32, in either case, with or without padding and white space; undefined for anything else. */
export function decodeBase32(text: string): Buffer | undefined {
  const plain = text.replace(/\s+/g, '').replace(/=+$/, '').toUpperCase()
  if (plain === '' || !/^[A-Z2-7]+$/.test(plain)) return undefined
  const bytes: number[] = []
  let held = 0
  let bits = 0
  for (const letter of plain) {
    held = ((held << 5) | alphabet.indexOf(letter)) & 0xfff
    bits += 5
    if (bits < 8) continue
    bits -= 8
    bytes.push((held >> bits) & 0xff)
  }
  return Buffer.from(bytes)
}
