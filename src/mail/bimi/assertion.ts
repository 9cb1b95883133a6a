// What a domain asserts of its mark (BIMI, draft-brand-indicators-for-message-identification): where its picture and the
// evidence for it lie, for a message that proved its author under a policy which is enforced.
//
// The library asks and reads the record; a selector counts only where a signature of the author's domain covers the field that
// names it. Hardly any domain has a mark, so the library, which is large, is loaded where one has, and not because a name server
// is silent. Never throws; asks no more than its resolver lets it.

import { limits } from '#lib/limits.ts'
import { markLookup } from '#lib/process/lazy.ts'

/** Where a mark lies, as a domain said; nothing of it is proven yet. */
export interface Assertion {
  readonly domain: string
  readonly selector: string
  /** URL (HTTPS) of the picture, and of the certificate; empty for none. */
  readonly location: string
  readonly authority: string
}

/** Of what was found out of the signatures of a message. */
export interface SignedHeaders {
  readonly headers: unknown
  readonly results: readonly {
    readonly status: { readonly result?: string; readonly aligned?: unknown }
    readonly signingHeaders?: { readonly keys?: string }
  }[]
}

/** @returns what is asserted, and a result for Authentication-Results where there is something to say */
export async function assertionOf(
  dmarc: object,
  { headers, results }: SignedHeaders,
  resolver: never,
): Promise<{ readonly assertion?: Assertion; readonly info?: string }> {
  const { parsed = [] } = (headers ?? {}) as { readonly parsed?: readonly { readonly key: string }[] }
  const named = parsed.filter(({ key }) => key === 'bimi-selector').length
  const covered = results.some(({ status, signingHeaders }) => {
    const keys = (signingHeaders?.keys ?? '').toLowerCase().split(/\s*:\s*/)
    const times = keys.filter(key => key.trim() === 'bimi-selector').length
    return status.result === 'pass' && Boolean(status.aligned) && times >= named
  })
  if (named === 0) {
    const there = await mayAssert(dmarc, resolver)
    if (there === false) return {}
    if (there !== true) return { info: `bimi=temperror (failed to resolve ${there.silent})` }
  }
  const rows = named > 0 && !covered ? parsed.filter(({ key }) => key !== 'bimi-selector') : parsed
  const found = await markLookup()({ dmarc, headers: { parsed: rows }, resolver } as never).catch(() => false as const)
  if (found === false) return {}
  const {
    status,
    location = '',
    authority = '',
    info,
  } = found as unknown as {
    readonly status: { readonly result?: string; readonly header?: { readonly selector?: string; readonly d?: string } }
    readonly location?: string
    readonly authority?: string
    readonly info?: string
  }
  if (status.result === 'none' || status.result === 'skipped') return {}
  const told = info === undefined ? {} : { info }
  const { selector = '', d: domain = '' } = status.header ?? {}
  const short = location.length + authority.length <= limits.bimi.urlsLengthMax
  if (status.result !== 'pass' || !short) return told
  return { ...told, assertion: { domain, selector, location, authority } }
}

const absent = new Set(['ENOTFOUND', 'ENODATA', 'EBADNAME'])

/** Whether the author's domain, or the organization it belongs to, has a record of the usual name; else the one of which nobody could say, where it would count. */
async function mayAssert(dmarc: object, resolver: never): Promise<boolean | { readonly silent: string }> {
  const {
    domain = '',
    policy,
    testMode,
    status,
  } = dmarc as {
    readonly domain?: string
    readonly policy?: string
    readonly testMode?: boolean
    readonly status?: { header?: { from?: string } }
  }
  const lax = policy === 'none' || testMode === true
  const ask = resolver as (name: string, type: string) => Promise<unknown>
  for (const name of new Set([status?.header?.from ?? '', domain])) {
    if (name === '') continue
    try {
      await ask(`default._bimi.${name}`, 'TXT')
      return true
    } catch (error) {
      if (!absent.has((error as NodeJS.ErrnoException).code ?? '')) return lax ? false : { silent: name }
    }
  }
  return false
}
