// The forms a stored password hash may have (api-semantics 11): recognised, taken apart, and checked against what one
// verification may cost at most. Nothing is hashed here, so the main loop may import this file.
//
// A stored hash can come from a stranger (an import), so its numbers are as hostile as anything else: a form whose
// rounds, memory or lengths are outside the limits is no known form.

import { limits } from '../limits.ts'

export type Digest = 'sha1' | 'sha256' | 'sha512'

export type HashForm =
  | {
      readonly kind: 'pbkdf2'
      readonly digest: Digest
      readonly rounds: number
      readonly salt: Buffer
      readonly hash: Buffer
    }
  | { readonly kind: 'bcrypt'; readonly text: string }
  | { readonly kind: 'argon2'; readonly text: string }
  | {
      readonly kind: 'sha-crypt'
      readonly digest: Digest
      readonly rounds: number
      readonly salt: Buffer
      readonly hash: string
    }
  | { readonly kind: 'md5-crypt'; readonly salt: Buffer; readonly hash: string }
  | { readonly kind: 'des-crypt'; readonly salt: string; readonly hash: string }

/** Rounds and salt of hashes made now. */
export const standard = { digest: 'sha256', rounds: 100_000, saltBytes: 16, hashBytes: 32 } as const

/** Rounds where nothing is kept, and nobody guesses: a service that lives in a test signs its users in a hundred times as fast. */
export const passingRounds = 1000

/** Whether `text` is a stored form that can be verified. */
export function knownHash(text: string): boolean {
  return parseHash(text) !== undefined
}

/** Whether a login that matched `text` should store a hash of the standard form with so many rounds instead. */
export function needsRehash(text: string, rounds: number): boolean {
  const form = parseHash(text)
  if (form === undefined) return false
  return form.kind !== 'pbkdf2' || form.digest === 'sha1' || form.rounds < rounds
}

/** The parts of a stored hash, or undefined where its form is unknown or costs more than allowed. */
export function parseHash(text: string): HashForm | undefined {
  if (text.length > limits.password.storedLengthMax) return undefined
  if (text.startsWith('$pbkdf2-')) return parsePbkdf2(text)
  if (text.startsWith('$2')) return parseBcrypt(text)
  if (text.startsWith('$argon2')) return parseArgon2(text)
  if (text.startsWith('$5$')) return parseShaCrypt(text, 'sha256', 43)
  if (text.startsWith('$6$')) return parseShaCrypt(text, 'sha512', 86)
  if (text.startsWith('$1$')) return parseMd5Crypt(text)
  if (/^[./0-9A-Za-z]{13}$/.test(text)) return { kind: 'des-crypt', salt: text.slice(0, 2), hash: text.slice(2) }
  return undefined
}

/** PHC form of a standard hash. */
export function printPbkdf2(salt: Buffer, hash: Buffer, rounds: number): string {
  return `$pbkdf2-${standard.digest}$i=${rounds}$${unpadded(salt)}$${unpadded(hash)}`
}

function parsePbkdf2(text: string): HashForm | undefined {
  const match = /^\$pbkdf2-(sha1|sha256|sha512)\$i=([1-9]\d{0,8})(?:,l=(\d{1,3}))?\$([^$]+)\$([^$]+)$/.exec(text)
  if (match === null) return undefined
  const [, digest = '', count = '', length, saltText = '', hashText = ''] = match
  const rounds = Number(count)
  const salt = fromBase64(saltText)
  const hash = fromBase64(hashText)
  if (rounds > limits.password.pbkdf2RoundsMax || salt === undefined || hash === undefined) return undefined
  if (hash.length < limits.password.hashBytesMin || hash.length > 64) return undefined
  if (length !== undefined && Number(length) !== hash.length) return undefined
  return { kind: 'pbkdf2', digest: digest as Digest, rounds, salt, hash }
}

function parseBcrypt(text: string): HashForm | undefined {
  const match = /^\$2[aby]\$(\d\d)\$[./0-9A-Za-z]{53}$/.exec(text)
  const cost = Number(match?.[1])
  return cost >= 4 && cost <= limits.password.bcryptCostMax ? { kind: 'bcrypt', text } : undefined
}

function parseArgon2(text: string): HashForm | undefined {
  const match = /^\$argon2(?:id|i|d)(?:\$v=(?:16|19))?\$([a-z0-9=,]+)\$([^$]+)\$([^$]+)$/.exec(text)
  const costs = (match?.[1] ?? '').split(',').sort()
  // In any order: libraries differ.
  const [memoryKib = 0, lanes = 0, passes = 0] = ['m', 'p', 't'].map((name, at) => {
    return Number(new RegExp(`^${name}=(\\d{1,8})$`).exec(costs[at] ?? '')?.[1])
  })
  if (match === null || costs.length !== 3) return undefined
  const { argon2KibMax, argon2KibPassesMax, argon2LanesMax, hashBytesMin } = limits.password
  if (!(lanes >= 1 && lanes <= argon2LanesMax && passes >= 1 && memoryKib >= 8 * lanes)) return undefined
  if (memoryKib > argon2KibMax || memoryKib * passes > argon2KibPassesMax) return undefined
  const salt = fromBase64(match[2] ?? '')
  const hash = fromBase64(match[3] ?? '')
  if (salt === undefined || salt.length < 8 || hash === undefined) return undefined
  return hash.length < hashBytesMin || hash.length > 128 ? undefined : { kind: 'argon2', text }
}

/** SHA-crypt (Drepper): rounds outside 1000..999,999,999 count as the nearest allowed number. */
function parseShaCrypt(text: string, digest: Digest, hashLength: number): HashForm | undefined {
  const match = /^\$[56]\$(?:rounds=(\d{1,9})\$)?([^$]{0,16})\$([./0-9A-Za-z]+)$/.exec(text)
  if (match === null || match[3]?.length !== hashLength) return undefined
  const rounds = Math.max(1000, Number(match[1] ?? 5000))
  if (rounds > limits.password.shaCryptRoundsMax) return undefined
  return { kind: 'sha-crypt', digest, rounds, salt: Buffer.from(match[2] ?? ''), hash: match[3] }
}

function parseMd5Crypt(text: string): HashForm | undefined {
  const match = /^\$1\$([^$]{0,8})\$([./0-9A-Za-z]{22})$/.exec(text)
  return match === null ? undefined : { kind: 'md5-crypt', salt: Buffer.from(match[1] ?? ''), hash: match[2] ?? '' }
}

/** Bytes of standard base64 with or without padding; undefined for anything that does not print back the same. */
function fromBase64(text: string): Buffer | undefined {
  const bytes = Buffer.from(text, 'base64')
  return bytes.length > 0 && unpadded(bytes) === text.replace(/={1,2}$/, '') ? bytes : undefined
}

function unpadded(bytes: Buffer): string {
  return bytes.toString('base64').replace(/=+$/, '')
}
