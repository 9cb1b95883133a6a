// Application passwords: sixteen lower-case letters for one program each, with scopes and never for the whole account
// (api-semantics 2.7 and 4).
//
// The selector tells the few of a user's passwords that are worth hashing: five bits, so it gives almost nothing away.

import { createHash } from 'node:crypto'
import { Fault } from '../fault.ts'
import { randomText } from '../id.ts'

export const aspScopes = ['imap', 'pop3', 'smtp'] as const
type AspScope = (typeof aspScopes)[number]

const letters = 'abcdefghijklmnopqrstuvwxyz'
const form = /^[a-z]{16}$/

/** A new application password: 75 bits of chance. */
export function newAsp(): string {
  return randomText(letters, 16)
}

/** Whether `text` is an application password as it is stored and shown. */
export function isAsp(text: string): boolean {
  return form.test(text)
}

/** What was presented as an application password: white space and case do not count. Undefined where it cannot be one. */
export function normalAsp(text: string): string | undefined {
  // Twice the letters, with room for groups: nothing longer was ever typed, and a long text is not worth a look.
  if (text.length > 64) return undefined
  const plain = text.replace(/\s+/g, '').toLowerCase()
  return form.test(plain) ? plain : undefined
}

/** `0` to `1f`: the sum of the bytes of the password's SHA-1, modulo 32, in hexadecimal. */
export function aspSelector(asp: string): string {
  const sum = createHash('sha1').update(asp).digest()
  return (sum.reduce((total, byte) => total + byte, 0) % 32).toString(16)
}

/**
 * Scopes as they are stored: `['*']` where all are meant.
 *
 * @throws Fault InputValidationError for an empty list, for master and for anything unknown
 */
export function storedScopes(scopes: readonly string[]): readonly string[] {
  const set = new Set(scopes)
  for (const scope of set) {
    if (scope !== '*' && !aspScopes.includes(scope as AspScope)) throw badScopes(scope)
  }
  if (set.size === 0) throw badScopes('')
  if (set.has('*') || aspScopes.every(scope => set.has(scope))) return ['*']
  return aspScopes.filter(scope => set.has(scope))
}

/** Scopes as they are shown: one by one. */
export function shownScopes(stored: readonly string[]): readonly string[] {
  return stored.includes('*') ? aspScopes : stored
}

/** Whether a password with these stored scopes opens `scope`. Nothing opens master. */
export function aspOpens(stored: readonly string[], scope: string): boolean {
  if (!aspScopes.includes(scope as AspScope)) return false
  return stored.includes('*') || stored.includes(scope)
}

function badScopes(scope: string): Fault {
  const text =
    scope === 'master'
      ? '"scopes" must not hold master: only the account password opens that'
      : scope === ''
        ? '"scopes" must hold at least one scope'
        : `"scopes" must hold only ${aspScopes.join(', ')} or *`
  return new Fault('InputValidationError', { text, details: { scopes: text } })
}
