// The DNS records that a domain needs, and whether what is there will do.
//
// Where a record is another one that will do as well, such as a longer SPF policy, it is taken for right. Nobody who answers is not the same as
// nothing that is there.

import type { Config } from '#config'
import { stsRecord } from '#mail/made/sts-policy.ts'
import { isPublic, ownAddresses } from '#net/outward/own-addresses.ts'
import type { RecordKind } from '#net/outward/records.ts'

export interface Wanted {
  readonly name: string
  readonly kind: RecordKind
  readonly value: string
  /** Whether what is there will do, where that is not the same text. */
  readonly fits?: (found: string) => boolean
  /** Mail works without, only not as well. */
  readonly optional?: true
}

/** The record of a DKIM key. */
export interface KeyRecord {
  readonly name: string
  readonly value: string
}

/** @param found what is there; null where nobody answered */
export function judge(
  { value, fits }: Wanted,
  found: readonly string[] | null,
): 'ok' | 'missing' | 'wrong' | 'unknown' {
  if (found === null) return 'unknown'
  if (found.some(one => one.toLowerCase() === value.toLowerCase() || fits?.(one) === true)) return 'ok'
  return found.length === 0 ? 'missing' : 'wrong'
}

const optional = true

/** Whether an SPF policy may let this host send: one that is looked up further may (RFC 7208 5). */
function allows(found: string, hostname: string): boolean {
  const [version = '', ...terms] = found.toLowerCase().split(' ')
  if (version !== 'v=spf1') return false
  const named = (term: string) => term === 'mx' || term === `a:${hostname.toLowerCase()}`
  const further = /^(ip[46]:|include:|redirect=|exists:|mx[:/]|a$|a[:/]|ptr)/
  return terms.map(term => term.replace(/^\+/, '')).some(term => named(term) || further.test(term))
}

/** Everything mail for a domain needs: RFC 7208 (SPF), 6376 (DKIM), 7489 (DMARC), 6186 and 8314 (SRV). */
export function wantedRecords(config: Config, domain: string, keys: readonly KeyRecord[]): Wanted[] {
  const { hostname, setup } = config
  const service = (name: string, part: { host: string; port: number }): Wanted => {
    return {
      name: `_${name}._tcp.${domain}`,
      kind: 'SRV',
      value: `0 1 ${part.port} ${part.host || hostname}.`,
      optional,
    }
  }
  const records: Wanted[] = [
    ...hostOf(hostname, domain),
    ...greetingOf(hostname, domain),
    { name: domain, kind: 'MX', value: `10 ${hostname}.`, fits: found => found.endsWith(` ${hostname}.`) },
    { name: domain, kind: 'TXT', value: `v=spf1 mx a:${hostname} -all`, fits: found => allows(found, hostname) },
    {
      name: `_dmarc.${domain}`,
      kind: 'TXT',
      value: `v=DMARC1; p=quarantine; rua=mailto:postmaster@${domain}`,
      fits: found => /^v=DMARC1;/i.test(found),
    },
    ...keys.map(keyRecord),
    ...stsOf(config, domain),
    {
      name: `_smtp._tls.${domain}`,
      kind: 'TXT',
      value: `v=TLSRPTv1; rua=mailto:postmaster@${domain}`,
      fits: found => /^v=TLSRPTv1\s*;/i.test(found),
      optional,
    },
    { name: `autoconfig.${domain}`, kind: 'CNAME', value: `${hostname}.`, optional },
    { name: `autodiscover.${domain}`, kind: 'CNAME', value: `${hostname}.`, optional },
    { name: `_autodiscover._tcp.${domain}`, kind: 'SRV', value: `0 1 443 ${hostname}.`, optional },
  ]
  for (const [name, part] of [
    ['imap', setup.imap],
    ['pop3', setup.pop3],
    ['submission', setup.smtp],
  ] as const) {
    if (part.security !== 'none') records.push(service(part.security === 'tls' ? `${name}s` : name, part))
  }
  return records
}

/** Where the host name leads, where the domain has it: here, if this machine has an address that others reach. */
function hostOf(hostname: string, domain: string): Wanted[] {
  if (hostname !== domain && !hostname.endsWith(`.${domain}`)) return []
  const all = ownAddresses()
  const own = all.filter(isPublic)
  const fits = (found: string) => all.includes(found)
  const four = own.filter(address => !address.includes(':'))
  return own.map(value => {
    const kind = value.includes(':') ? 'AAAA' : 'A'
    return { name: hostname, kind, value, fits, ...(kind === 'AAAA' && four.length > 0 && { optional }) }
  })
}

/** Mail without a sender (notices, reports) is judged by the name that the host greets with (RFC 7208 2.4, 10.1.3). */
function greetingOf(hostname: string, domain: string): Wanted[] {
  if (!hostname.endsWith(`.${domain}`)) return []
  const fits = (found: string) => /^v=spf1( |$)/i.test(found)
  return [{ name: hostname, kind: 'TXT', value: 'v=spf1 a -all', fits, optional }]
}

/** RFC 8461 and RFC 8460: how others send mail here, and where they tell how that went. */
function stsOf({ hostname, smtp: { stsMode } }: Config, domain: string): Wanted[] {
  if (stsMode === 'none') return []
  return [
    { name: `_mta-sts.${domain}`, kind: 'TXT', value: stsRecord(hostname, stsMode) },
    { name: `mta-sts.${domain}`, kind: 'CNAME', value: `${hostname}.` },
  ]
}

function keyRecord({ name, value }: KeyRecord): Wanted {
  const key = /p=([^;\s]+)/.exec(value)?.[1] ?? ''
  return { name, kind: 'TXT', value, fits: found => found.replace(/\s/g, '').includes(key) }
}
