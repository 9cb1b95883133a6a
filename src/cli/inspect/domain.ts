// What DNS says of a domain that has mail here: its records against those it needs, and whether its policy lets this host send.
//
// Nobody who answers is not the same as nothing that is there: it is said as unknown.

import { lookUpAll, policyOf } from '#actors/status/domain-dns.ts'
import type { Wanted } from '#actors/status/domain-records.ts'
import type { Config } from '#config'
import type { Reach } from '../reach.ts'
import { type Finding, good, unknown, warning, wrong } from './finding.ts'
import { quoted, recordsOf, stateOf } from './records.ts'

export interface Seen extends Wanted {
  /** What is there; null where nobody answered. */
  readonly found: readonly string[] | null
  readonly state: string
}

/** The records of a domain, each with what is there now. */
export async function seenRecords(
  config: Config,
  domain: string,
  to: Reach,
  servers: readonly string[],
): Promise<Seen[]> {
  const found = await lookUpAll(await recordsOf(config, domain, to), servers)
  return found.map(record => ({ ...record, state: stateOf(record, record.found) }))
}

/** A record as a zone file has it, with what is there now. */
export function zoneLine({ name, kind, value, state }: Seen): string {
  const line = `${`${name}.`.padEnd(44)} 3600 IN ${kind.padEnd(6)} ${kind === 'TXT' ? quoted(value) : value}`
  return `${line}   ; ${state}`
}

export function findingOf({ name, kind, value, state, optional }: Seen): Finding {
  const subject = `${name} ${kind}`
  if (state === 'set') return good('dns', `${name} ${kind} is set.`, { subject })
  if (state === 'unknown') return unknown('dns', `Nobody says what ${name} ${kind} is.`, { subject })
  const advice = `Set it to: ${value}`
  return (optional === true ? warning : wrong)('dns', `${name} ${kind} is ${state}.`, { subject, advice })
}

/**
 * Whether mail of the domain is signed, by keys that it has without being asked. The service looks whether DNS shows them, now and not
 * after a while, so that what was just set holds for the next mail.
 */
export async function lookAtKeys(to: Reach, domain: string): Promise<Finding[]> {
  const { results } = await to.call<{ results: { state: string }[] }>('POST', '/domainkeys/check', { domain })
  const alive = results.filter(({ state }) => state !== 'retired')
  if (alive.length === 0) return []
  if (alive.some(({ state }) => state === 'current')) {
    return [good('dkim', `Mail of ${domain} is signed.`, { subject: domain })]
  }
  const advice = 'Set the records of its keys; the service signs once its own resolver shows them.'
  return [wrong('dkim', `Mail of ${domain} leaves without a signature.`, { subject: domain, advice })]
}

/** Whether the domain's policy lets mail come from each address of this host (RFC 7208). */
export async function lookAtPolicy(
  domain: string,
  hostname: string,
  addresses: readonly string[],
  servers: readonly string[],
): Promise<Finding[]> {
  const results = await policyOf({ domain, hostname, addresses, servers })
  return results.map(({ ip, result }) => {
    const subject = `${domain} ${ip}`
    if (result === 'pass') return good('spf', `${domain} lets ${ip} send.`, { subject })
    if (result === 'temperror') return unknown('spf', `Nobody says whether ${domain} lets ${ip} send.`, { subject })
    const text = `The policy of ${domain} does not let ${ip} send (spf=${result}).`
    return wrong('spf', text, { subject, advice: `Put mx or a:${hostname} into its SPF record, before "all".` })
  })
}
