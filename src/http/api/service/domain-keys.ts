// Keys that domains have without being asked, over HTTP: what there is, what DNS shows, and the next ones.
//
// A private key never comes out. Each answer tells the TXT record to be published, since a key signs only once it is. A key that was put in by hand (`/dkim`) signs alone.

import { Type } from 'typebox'
import type { SigningKeys } from '#actors/admin/signing-keys.ts'
import { now } from '#lib/clock.ts'
import { domainToUnicode } from '#mail/address/address.ts'
import { dnsTxt } from '#mail/crypt/dkim.ts'
import { findDkimFor } from '#store/domains/dkim.ts'
import { keysOf, listSigningKeys, type SigningKeyRow } from '#store/domains/signing-key.ts'
import { type Endpoint, endpoint } from '../../endpoint.ts'
import { requireWithin } from '../../guard/within.ts'
import { moment, optional, text } from '../../schema.ts'
import { domainName } from '../accounts/domains.ts'

export interface DomainKeyDeps {
  readonly keys: SigningKeys
}

const states = ['next', 'current', 'retired'] as const
const pageMax = 1000

const keyShape = Type.Object({
  domain: Type.String(),
  selector: Type.String(),
  algorithm: Type.String({ description: '`rsa` or `ed25519`' }),
  state: Type.String({
    description: '`next` waits for DNS to show it, `current` signs, `retired` signed and may leave DNS at `until`',
  }),
  signs: Type.Boolean({ description: 'Whether mail is signed with it' }),
  why: Type.String({ description: 'Why it does or does not sign' }),
  dnsTxt: Type.Object({ name: Type.String(), value: Type.String() }, { description: 'TXT record to be published' }),
  created: moment,
  since: moment,
  checked: Type.Optional(moment),
  until: Type.Optional(moment),
})

export function domainKeyEndpoints({ keys }: DomainKeyDeps): Endpoint[] {
  const { read } = keys
  const shown = async (rows: readonly SigningKeyRow[]) => {
    const byHand = new Map<string, boolean>()
    for (const { domain } of rows) {
      if (!byHand.has(domain)) byHand.set(domain, (await findDkimFor(read, domain)) !== undefined)
    }
    return rows.map(row => keyView(row, byHand.get(row.domain) === true))
  }

  const list = endpoint({
    method: 'GET',
    path: '/domainkeys',
    tag: 'DKIM',
    summary: 'List the keys that domains have without being asked',
    allow: 'dkim.read',
    domains: true,
    query: {
      domain: optional(domainName),
      after: optional(text({ max: 255, description: 'Only domains after this one' })),
    },
    reply: { results: Type.Array(keyShape) },
    async run({ input: { domain, after = '' }, onlyDomains }) {
      if (domain !== undefined) requireWithin(onlyDomains, domainToUnicode(domain))
      if (onlyDomains !== null) {
        const names = domain === undefined ? onlyDomains.filter(one => one > after) : [domainToUnicode(domain)]
        const rows = await Promise.all(names.map(name => keysOf(read, name)))
        return { results: await shown(rows.flat()) }
      }
      const rows =
        domain === undefined ? await listSigningKeys(read, after, pageMax) : await keysOf(read, domainToUnicode(domain))
      return { results: await shown(rows) }
    },
  })

  const rotate = endpoint({
    method: 'POST',
    path: '/domainkeys/rotate',
    tag: 'DKIM',
    summary: 'Make the next keys of a domain',
    description:
      'They sign once DNS shows them; until then those before go on. Where keys wait already, those are told.',
    allow: 'dkim.create',
    domains: true,
    body: { domain: domainName },
    reply: { results: Type.Array(keyShape) },
    faults: ['DomainNotFound'],
    async run({ input, signal, onlyDomains }) {
      requireWithin(onlyDomains, input.domain)
      return { results: await shown(await keys.rotate(input.domain, now(), signal)) }
    },
  })

  const check = endpoint({
    method: 'POST',
    path: '/domainkeys/check',
    tag: 'DKIM',
    summary: 'Ask DNS for the keys of a domain now',
    allow: 'dkim.create',
    domains: true,
    body: { domain: domainName },
    reply: { results: Type.Array(keyShape) },
    async run({ input, signal, onlyDomains }) {
      requireWithin(onlyDomains, input.domain)
      return { results: await shown(await keys.checkAll(input.domain, now(), signal)) }
    },
  })

  return [list, rotate, check]
}

function keyView(row: SigningKeyRow, byHand: boolean) {
  const { domain, selector, algorithm, created, since, checked } = row
  const state = states[row.state] ?? 'retired'
  const iso = (at: number) => new Date(at).toISOString()
  return {
    ...{ domain, selector, algorithm, state, signs: state === 'current' && !byHand, why: reason(row, byHand) },
    dnsTxt: dnsTxt(domain, selector, row.public),
    ...{ created: iso(created), since: iso(since) },
    ...(checked !== null && { checked: iso(checked) }),
    ...(state === 'retired' && { until: iso(row.due) }),
  }
}

function reason({ state, found }: SigningKeyRow, byHand: boolean): string {
  if (byHand) return 'a key that was put in by hand signs for the domain'
  if (state === 2) return 'another key signs now; leave its record in DNS until then'
  if (state === 1) return found === 'unknown' ? 'DNS showed it before; it did not answer the last time' : 'DNS shows it'
  if (found === null) return 'DNS was not asked yet'
  if (found === 'unknown') return 'DNS did not answer'
  return found === 'absent' ? 'DNS does not show it' : 'DNS shows something else under its name'
}
