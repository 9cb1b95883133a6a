// What DNS says of a domain: each record that it needs, what is there, and whether that will do.
//
// Nobody who answers is told as unknown, not as missing. What was said is remembered for a minute.

import { Type } from 'typebox'
import type { DomainDns } from '#actors/status/domain-dns.ts'
import { limits } from '#lib/limits.ts'
import { type Endpoint, endpoint } from '../../endpoint.ts'
import { requireWithin } from '../../guard/within.ts'
import { bool, moment } from '../../schema.ts'
import { domainName } from '../accounts/domains.ts'

export interface DomainDnsDeps {
  readonly domains: DomainDns
}

const recordShape = Type.Object({
  name: Type.String(),
  type: Type.String({ description: '`A`, `AAAA`, `MX`, `TXT`, `SRV` or `CNAME`' }),
  value: Type.String({ description: 'What it should be' }),
  optional: Type.Boolean({ description: 'Mail works without, only not as well' }),
  state: Type.String({ description: '`ok`, `missing`, `wrong`, or `unknown` where nobody answered' }),
  found: Type.Array(Type.String({ description: 'What is there' })),
})

export function domainDnsEndpoints({ domains }: DomainDnsDeps): Endpoint[] {
  const get = endpoint({
    method: 'GET',
    path: '/domains/:domain/dns',
    tag: 'Domains',
    summary: 'What DNS says of a domain, beside what it needs',
    description: 'The domain need not be here yet. DNS is asked when nobody asked within the last minute.',
    allow: 'dkim.read',
    domains: true,
    params: { domain: domainName },
    query: { again: bool({ default: false, description: 'Ask now; answers are still remembered for some seconds' }) },
    reply: {
      domain: Type.String(),
      state: Type.String({ description: 'The worst of the records that are not optional' }),
      checked: moment,
      records: Type.Array(recordShape),
      policy: Type.Array(
        Type.Object({ ip: Type.String(), result: Type.String({ description: 'Result of SPF (RFC 7208 2.6)' }) }),
        { description: 'What the policy says of mail from the public addresses of this machine' },
      ),
    },
    async run({ input, onlyDomains }) {
      requireWithin(onlyDomains, input.domain)
      const { checked, records, policy } = await domains.status(input.domain, input.again)
      const needed = new Set(records.filter(({ optional }) => optional !== true).map(({ state }) => state))
      const state = (['wrong', 'missing', 'unknown'] as const).find(word => needed.has(word)) ?? 'ok'
      const shown = records.map(({ name, kind, value, optional, state: one, found }) => ({
        ...{ name, type: kind, value, optional: optional === true, state: one, found: told(found ?? []) },
      }))
      return {
        ...{ domain: input.domain, state, checked: new Date(checked).toISOString() },
        ...{ records: shown, policy: [...policy] },
      }
    },
  })
  return [get]
}

/** What strangers put into DNS is told within bounds. */
function told(found: readonly string[]): string[] {
  const { statusValuesMax, statusValueLengthMax } = limits.domain
  return found.slice(0, statusValuesMax).map(value => value.slice(0, statusValueLengthMax))
}
