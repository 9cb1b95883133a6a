// What the log of an account tells of a change to it: what it lets in or keeps out, where its mail goes, as whom it writes.
//
// Passwords in URLs are masked, and of keys and lists there is only that they changed. What is merely taste (language, names, limits) is
// in no log.

import { maskUrl } from '#lib/secret/url-secret.ts'
import type { User } from '#store/accounts/users.ts'

/** An entry as far as the change tells it: an action (api-semantics 2.8), and what it is about. */
export interface Noted {
  readonly action: string
  readonly target?: string
}

type Told = Pick<User, 'disabled' | 'suspended' | 'options'>

/** Before an account is made. */
export const nothing: Told = { disabled: false, suspended: false, options: {} }

/** What is different in `after`, in the order in which a log tells it. */
export function notedChanges(before: Told, after: Told): Noted[] {
  const noted: Noted[] = []
  if (after.disabled !== before.disabled)
    noted.push({ action: after.disabled ? 'account disabled' : 'account enabled' })
  if (after.suspended !== before.suspended)
    noted.push({ action: after.suspended ? 'account suspended' : 'account resumed' })
  const { options: old } = before
  const { options } = after
  const scopes = listOf(options.disabledScopes)
  if (scopes !== listOf(old.disabledScopes)) noted.push({ action: 'scopes disabled', target: scopes })
  for (const target of without(options.targets, old.targets)) noted.push(about('user forward added', target))
  for (const target of without(old.targets, options.targets)) noted.push(about('user forward removed', target))
  if (options.mtaRelay && options.mtaRelay !== old.mtaRelay) noted.push(about('mta relay changed', options.mtaRelay))
  else if (old.mtaRelay && !options.mtaRelay) noted.push(about('mta relay removed', old.mtaRelay))
  if (differs(options.fromWhitelist, old.fromWhitelist)) noted.push({ action: 'from whitelist changed' })
  if (differs(options.pubKey, old.pubKey) || differs(options.smimeCerts, old.smimeCerts))
    noted.push({ action: 'encryption key changed' })
  return noted
}

function about(action: string, url: string): Noted {
  return { action, target: maskUrl(url) }
}

function listOf(scopes: unknown): string {
  return Array.isArray(scopes) ? [...scopes].sort().join(', ') : ''
}

function without(these: readonly string[] = [], those: readonly string[] = []): string[] {
  const known = new Set(those)
  return these.filter(one => !known.has(one))
}

/** Nothing, an empty text and an empty list are alike. */
function differs(one: unknown, other: unknown): boolean {
  const text = (value: unknown) => JSON.stringify(Array.isArray(value) && value.length === 0 ? '' : value || '')
  return text(one) !== text(other)
}
