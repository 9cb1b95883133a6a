// Making and checking password hashes of every form in form.ts. For threads of the pool only: each call computes for
// milliseconds.
//
// A check that fails costs at least what the standard form costs, whatever is stored and also where nothing is, so that
// time does not tell a known name from an unknown one. Nothing here keeps a password.

import { pbkdf2Sync, timingSafeEqual } from 'node:crypto'
import { monotonic } from '../clock.ts'
import { Fault } from '../fault.ts'
import { randomBuffer } from '../id.ts'
import { verifyArgon2 } from './argon2.ts'
import { md5Crypt, shaCrypt } from './crypt.ts'
import { desCrypt } from './des-crypt.ts'
import { type HashForm, parseHash, printPbkdf2, standard } from './form.ts'

/** A password as it was presented: text counts as UTF-8, bytes as they are. */
export type Password = string | Uint8Array

/** What the thread of passwords does, by name. `rounds` are those of hashes that are made now, where the service is no usual one. */
export interface PasswordTasks {
  hash: { input: { password: Password; rounds?: number }; value: string }
  verify: { input: { password: Password; stored: string | null; rounds?: number }; value: boolean }
}

/** The standard form of `password` with a new salt: PHC text, pbkdf2-sha256. */
export function hashPassword(password: Password, rounds: number = standard.rounds): string {
  const salt = randomBuffer(standard.saltBytes)
  return printPbkdf2(salt, derive(bytesOf(password), salt, rounds), rounds)
}

/**
 * Whether `password` is the one that `stored` was made from. Without a stored hash (null or empty) the answer is no,
 * after the same work: `rounds` of the standard form.
 *
 * @throws Fault HashError for a stored hash of no known form, or of one that nothing on this platform can check
 */
export async function verifyPassword(
  password: Password,
  stored: string | null,
  rounds: number = standard.rounds,
): Promise<boolean> {
  const bytes = bytesOf(password)
  if (stored === null || stored === '') {
    derive(bytes, Buffer.alloc(standard.saltBytes), rounds)
    return false
  }
  const form = parseHash(stored)
  if (form === undefined) throw new Fault('HashError')
  const start = monotonic()
  const same = await matches(form, bytes, password)
  if (!same) levelCost(bytes, form, monotonic() - start, rounds)
  return same
}

async function matches(form: HashForm, bytes: Buffer, password: Password): Promise<boolean> {
  switch (form.kind) {
    case 'pbkdf2':
      return timingSafeEqual(pbkdf2Sync(bytes, form.salt, form.rounds, form.hash.length, form.digest), form.hash)
    case 'sha-crypt':
      return same(shaCrypt(form.digest, bytes, form.salt, form.rounds), form.hash)
    case 'md5-crypt':
      return same(md5Crypt(bytes, form.salt), form.hash)
    case 'des-crypt':
      return same(desCrypt(bytes, form.salt), form.hash)
    case 'bcrypt': {
      const text = typeof password === 'string' ? password : utf8(bytes)
      const { compareSync } = await import('bcryptjs')
      return text !== undefined && compareSync(text, form.text)
    }
    case 'argon2':
      return verifyArgon2(form.text, bytes)
  }
}

/** Milliseconds that the standard form takes in this thread, smoothed; a thread hashes for services of one kind. */
let standardMs = 0

function derive(bytes: Buffer, salt: Buffer, rounds: number): Buffer {
  const start = monotonic()
  const hash = pbkdf2Sync(bytes, salt, rounds, standard.hashBytes, standard.digest)
  const spent = monotonic() - start
  standardMs = standardMs === 0 ? spent : standardMs * 0.9 + spent * 0.1
  return hash
}

/** After a failure: the rest of what the standard form would have cost. */
function levelCost(bytes: Buffer, form: HashForm, spentMs: number, rounds: number): void {
  const owed = roundsOwed(form, spentMs, standardMs, rounds)
  const salt = Buffer.alloc(standard.saltBytes)
  if (owed === rounds) derive(bytes, salt, rounds)
  else if (owed > 0) pbkdf2Sync(bytes, salt, owed, standard.hashBytes, standard.digest)
}

/**
 * Rounds of the standard form that a check which failed still owes. What is counted in the same rounds owes those that are
 * missing, and the standard form none: its own time, which is never twice the same, would be made up to the mean of others, and
 * a name that somebody has be told by that. Of other forms time is all that can be compared.
 *
 * @param spentMs what the check took
 * @param standardMs what the standard form takes in this thread; 0 where that is not known yet
 * @param rounds those of the standard form
 */
export function roundsOwed(
  form: HashForm,
  spentMs: number,
  standardMs: number,
  rounds: number = standard.rounds,
): number {
  const { hashBytes, digest } = standard
  if (form.kind === 'pbkdf2' && form.digest === digest) {
    return Math.max(0, rounds - form.rounds * Math.ceil(form.hash.length / hashBytes))
  }
  return standardMs === 0 ? rounds : Math.max(0, Math.round(rounds * (1 - spentMs / standardMs)))
}

function same(made: string, stored: string): boolean {
  const left = Buffer.from(made)
  const right = Buffer.from(stored)
  return left.length === right.length && timingSafeEqual(left, right)
}

function bytesOf(password: Password): Buffer {
  return typeof password === 'string'
    ? Buffer.from(password)
    : Buffer.from(password.buffer, password.byteOffset, password.byteLength)
}

/** The text of UTF-8 bytes, or undefined where they are none: bcryptjs takes text only. */
function utf8(bytes: Buffer): string | undefined {
  const text = bytes.toString('utf8')
  return Buffer.from(text).equals(bytes) ? text : undefined
}
