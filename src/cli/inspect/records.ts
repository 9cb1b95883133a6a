// The DNS records that a domain needs, with the keys that a service has for it, and what is there in words.

import { judge, type KeyRecord, type Wanted, wantedRecords } from '#actors/status/domain-records.ts'
import type { Config } from '#config'
import { Fault } from '#lib/fault.ts'
import { oneLine } from '#lib/journal/harmless.ts'
import type { Reach } from '../reach.ts'

/** Everything mail for a domain needs, the records of its keys among them. */
export async function recordsOf(config: Config, domain: string, to: Reach): Promise<Wanted[]> {
  return wantedRecords(config, domain, await keysOf(domain, to))
}

/** What is there, in words: `set`, `not set`, or what stands there instead; `unknown` where nobody answered. */
export function stateOf(wanted: Wanted, found: readonly string[] | null): string {
  const state = judge(wanted, found)
  if (state === 'wrong') return oneLine(`set otherwise: ${found?.join(' | ')}`)
  return { ok: 'set', missing: 'not set', unknown: 'unknown' }[state]
}

/** Strings of at most 255 bytes, as zone files have them (RFC 1035 3.3). */
export function quoted(value: string): string {
  return (value.match(/.{1,255}/gs) ?? ['']).map(part => `"${part.replace(/["\\]/g, '\\$&')}"`).join(' ')
}

/** The record of the domain's DKIM key, or of those it has without being asked. */
async function keysOf(domain: string, to: Reach): Promise<KeyRecord[]> {
  try {
    const { id } = await to.call<{ id: string }>('GET', `/dkim/resolve/${encodeURIComponent(domain)}`)
    const { dnsTxt } = await to.call<{ dnsTxt: KeyRecord }>('GET', `/dkim/${id}`)
    return [dnsTxt]
  } catch (error) {
    if (error instanceof Fault && error.code === 'DkimNotFound') return automatic(domain, to)
    throw error
  }
}

/** Records of the keys it has without being asked; those of the past may stay, but are not needed. */
async function automatic(domain: string, to: Reach): Promise<KeyRecord[]> {
  const path = `/domainkeys?domain=${encodeURIComponent(domain)}`
  const { results } = await to.call<{ results: AutomaticKey[] }>('GET', path)
  return results.filter(({ state }) => state !== 'retired').map(({ dnsTxt }) => dnsTxt)
}

interface AutomaticKey {
  readonly state: string
  readonly dnsTxt: KeyRecord
}
