// MTA-STS (RFC 8461): what a domain says of how it wants to be sent mail, read from DNS and over HTTPS.
//
// Promises: nothing but a certificate for mta-sts.<domain> that is trusted, a 200 without a redirect, text/plain and a policy by
// the letter gives one; its size and time are bounded. Connections go to checked addresses only (outward.ts).

import { Resolver } from 'node:dns/promises'
import type { Agent } from 'undici'
import { after } from '#lib/clock.ts'
import { limits } from '#lib/limits.ts'
import { outwardFailure } from '../outward/outward.ts'
import type { TlsFlaw } from './peer.ts'

export interface StsPolicy {
  readonly mode: 'enforce' | 'testing' | 'none'
  /** Host names, in lower case; `*.` at the front stands for one label. */
  readonly mx: readonly string[]
  readonly maxAgeMs: number
}

/** Why there is no policy where one is announced, in the words of RFC 8460 4.3.2.2. */
export interface MissedPolicy {
  readonly flaw: TlsFlaw & `sts-${string}`
  readonly reason: string
}

/** TXT records, each as its strings; rejects as node:dns does. */
export type ResolveTxt = (name: string) => Promise<readonly (readonly string[])[]>

/** The id of a domain's policy; undefined where it has none (RFC 8461 3.1). Rejects where nobody could say. */
export async function policyId(domain: string, resolve: ResolveTxt): Promise<string | undefined> {
  try {
    const records = (await resolve(`_mta-sts.${domain}`)).map(parts => parts.join(''))
    const ours = records.filter(record => /^v=STSv1\s*;/.test(record))
    // Several are none.
    const [only = ''] = ours.length === 1 ? ours : []
    return /;\s*id\s*=\s*([A-Za-z0-9]{1,32})\s*(?:;|$)/.exec(only)?.[1]
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'ENOTFOUND' || code === 'ENODATA') return undefined
    throw error
  }
}

/** Fetches the policy of a domain, or says why there is none that holds. Never throws. */
export async function fetchPolicy(agent: Agent, domain: string, port = 443): Promise<StsPolicy | MissedPolicy> {
  const ended = new AbortController()
  const timer = after(limits.sts.fetchMs, () => ended.abort())
  try {
    const { statusCode, headers, body } = await agent.request({
      origin: `https://mta-sts.${domain}${port === 443 ? '' : `:${port}`}`,
      path: '/.well-known/mta-sts.txt',
      method: 'GET',
      signal: ended.signal,
    })
    const plain = /^text\/plain\s*(?:;|$)/i.test(String(headers['content-type'] ?? ''))
    if (statusCode !== 200 || !plain) {
      await body.dump({ limit: limits.sts.policyBytesMax }).catch(() => {})
      if (statusCode !== 200) return { flaw: 'sts-policy-fetch-error', reason: `the answer is ${statusCode}` }
      return { flaw: 'sts-policy-invalid', reason: 'the answer is no text/plain' }
    }
    const invalid = { flaw: 'sts-policy-invalid', reason: 'the text is no policy' } as const
    return parsePolicy(await body.text()) ?? invalid
  } catch (error) {
    const failure = outwardFailure(error)
    if (failure === 'tls') return { flaw: 'sts-webpki-invalid', reason: 'the host of the policy is not proven' }
    return { flaw: 'sts-policy-fetch-error', reason: `the policy could not be fetched: ${failure}` }
  } finally {
    timer.cancel()
  }
}

/** A policy by the letter of RFC 8461 3.2; undefined for anything else. */
export function parsePolicy(text: string): StsPolicy | undefined {
  const fields = new Map<string, string>()
  const mx: string[] = []
  for (const line of text.split(/\r?\n/)) {
    if (line.trim() === '') continue
    const [, key = '', value = ''] = /^([A-Za-z0-9][A-Za-z0-9_.-]{0,31})[ \t]*:[ \t]*(.*?)[ \t]*$/.exec(line) ?? []
    if (key === '') return undefined
    if (key === 'mx') mx.push(value.toLowerCase().replace(/\.$/, ''))
    // Of others that are there twice the first counts.
    else if (!fields.has(key)) fields.set(key, value)
  }
  const mode = fields.get('mode')
  const age = fields.get('max_age') ?? ''
  if (fields.get('version') !== 'STSv1' || !/^\d{1,10}$/.test(age)) return undefined
  if (mode !== 'enforce' && mode !== 'testing' && mode !== 'none') return undefined
  if (mode === 'none') return { mode, mx: [], maxAgeMs: Math.min(Number(age) * 1000, limits.sts.ageMaxMs) }
  if (
    mx.length === 0 ||
    mx.length > limits.sts.mxMax ||
    !mx.every(name => /^(?:\*\.)?[a-z\d_-]+(?:\.[a-z\d_-]+)*$/.test(name))
  )
    return undefined
  return { mode, mx, maxAgeMs: Math.min(Number(age) * 1000, limits.sts.ageMaxMs) }
}

/** Whether a policy names a host (RFC 8461 4.1). */
export function namesHost(mx: readonly string[], host: string): boolean {
  const name = host.toLowerCase().replace(/\.$/, '')
  return mx.some(pattern => {
    if (!pattern.startsWith('*.')) return pattern === name
    const dot = name.indexOf('.')
    return dot > 0 && name.slice(dot) === pattern.slice(1)
  })
}

/** TXT records by these servers; those of the system where there is none. */
export function txtResolver(servers: readonly string[]): ResolveTxt {
  return async name => {
    const resolver = new Resolver({ timeout: limits.outward.resolveMs, tries: 2 })
    if (servers.length > 0) resolver.setServers(servers)
    return resolver.resolveTxt(name)
  }
}
