// What a valid chain of seals (RFC 8617) says of how a message came: who sealed it, and what each of them had found.
//
// A seal proves who says something, not that it is true. So a chain counts only as far down as everybody is believed,
// from the newest seal on: behind one who is not, anybody could have written the rest.

import { isAuthorProven } from '../header/auth-results.ts'

/** As the library gives it. */
export interface Chain {
  readonly status: { readonly result: string }
  readonly info?: string
  readonly chain?: readonly ChainSet[] | false
}

interface ChainSet {
  readonly 'arc-seal': { readonly parsed?: { readonly d?: { readonly value?: unknown } } }
  readonly 'arc-message-signature': { readonly parsed?: { readonly h?: { readonly value?: unknown } } }
  readonly 'arc-authentication-results': { readonly original?: string | Buffer }
}

/** Domains that sealed, the first one first. */
export function sealersOf({ chain }: Chain): string[] {
  return (chain || []).map(set => String(set['arc-seal'].parsed?.d?.value ?? '').toLowerCase())
}

/** Names of the fields that the newest seal covers, with colons between them. */
export function sealedNames({ chain }: Chain): string {
  return String((chain || []).at(-1)?.['arc-message-signature'].parsed?.h?.value ?? '').trim()
}

/** The sealer who says that the domain in From was proven when the message came to him, and is believed. */
export function vouched(found: Chain, from: string, believed: readonly string[]): string | false {
  if (found.status.result !== 'pass') return false
  const sealers = sealersOf(found)
  const sets = found.chain || []
  for (let at = sets.length - 1; at >= 0; at -= 1) {
    const sealer = sealers[at] ?? ''
    if (!isBelieved(sealer, believed)) return false
    const said = String(sets[at]?.['arc-authentication-results'].original ?? '')
    if (isAuthorProven(said, from)) return sealer
  }
  return false
}

export function isBelieved(sealer: string, believed: readonly string[]): boolean {
  return believed.some(domain => domain.toLowerCase() === sealer)
}
