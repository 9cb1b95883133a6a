// Whether a host may send for a domain (SPF, RFC 7208), by the letter of it.
//
// Where that is an error of the record, and the library's milder reading (a name without an address of the peer's family is no
// void look-up) has it pass, it passes: mail must not be refused for a detail of counting. What holds for a domain whoever of
// it writes is remembered for the domain.

import { isAscii } from 'node:buffer'
import { limits } from '#lib/limits.ts'
import { mailVerifiers, signatureChecks } from '#lib/process/lazy.ts'
import { domainToAscii } from '../address/address.ts'
import { Remembered } from './remembered.ts'

export interface SenderHost {
  readonly domain?: string | undefined
  readonly status: {
    readonly result: string
    readonly comment?: unknown
    readonly smtp?: { readonly mailfrom?: string }
  }
  /** For Authentication-Results. */
  readonly info?: string | undefined
}

/** Who sends, and for whom. */
export interface Sending {
  readonly ip: string
  readonly helo: string
  /** Envelope sender; empty for the null sender. */
  readonly sender: string
  /** Name of this service. */
  readonly hostname: string
}

/** Results by host and domain; 'personal' where the record looks at who of the domain writes. */
export type KnownHosts = Remembered<SenderHost | 'personal'>

const lasting = new Set(['pass', 'fail', 'softfail', 'neutral', 'none'])

export function knownHosts(): KnownHosts {
  return new Remembered(found => found === 'personal' || lasting.has(found.status.result))
}

/** Undefined where the library gives up. */
export async function checkHost(given: Sending, resolver: never, known: KnownHosts): Promise<SenderHost | undefined> {
  const sending = { ...given, sender: inDns(given.sender) }
  const { ip, helo, sender, hostname } = sending
  const domain = sender.slice(sender.lastIndexOf('@') + 1).toLowerCase()
  const key = JSON.stringify([ip, helo, hostname, domain])
  const ofDomain = known.find(key)
  if (ofDomain !== undefined && ofDomain !== 'personal') return ofDomain
  const personal = JSON.stringify([ip, helo, hostname, sender, domain])
  if (ofDomain === 'personal') {
    const found = known.find(personal)
    if (found !== undefined && found !== 'personal') return found
  }
  const found = await evaluated(sending, resolver)
  if (found === undefined) return undefined
  const { mailfrom } = found.status.smtp ?? {}
  // What of the sender the library names is what the record looked at (RFC 8601 2.7.2).
  if (sender !== '' && mailfrom !== undefined && mailfrom !== sender) {
    const impersonal = withoutSender(found, sender, domain)
    known.keep(key, impersonal)
    return impersonal
  }
  if (sender !== '' && lasting.has(found.status.result)) known.keep(key, 'personal')
  known.keep(sender === '' ? key : personal, found)
  return found
}

/** A sender with his domain as DNS has it, by which results name it, too (RFC 8616 4, 5). */
function inDns(sender: string): string {
  const domain = sender.slice(sender.lastIndexOf('@') + 1)
  const ascii = isAscii(Buffer.from(domain)) ? '' : domainToAscii(domain)
  return ascii === '' ? sender : sender.slice(0, -domain.length) + ascii
}

async function evaluated(
  { ip, helo, sender, hostname: mta }: Sending,
  resolver: never,
): Promise<SenderHost | undefined> {
  const { spf } = mailVerifiers()
  const check = (strict: boolean): Promise<SenderHost | undefined> =>
    spf({ ip, helo, sender, mta, resolver, maxElapsedTime: limits.verify.dnsMs, strict }).catch(() => undefined)
  const exact = await check(true)
  if (exact?.status.result !== 'permerror') return exact
  const mild = await check(false)
  // Whoever did not answer might have had it pass.
  return mild?.status.result === 'pass' || mild?.status.result === 'temperror' ? mild : exact
}

/** The same for whoever else of the domain writes. */
function withoutSender(found: SenderHost, sender: string, domain: string): SenderHost {
  const { comment } = found.status
  if (typeof comment !== 'string' || !comment.includes(sender)) return found
  const status = { ...found.status, comment: comment.replaceAll(sender, domain) }
  return { ...found, status, info: signatureChecks().formatAuthHeaderRow('spf', status, { strict: true }) }
}
