// What is told to a domain of one message in its name (RFC 9990): what was looked at, and what it published, as plain data.
//
// Pure. Only of messages whose domain asks to be told (`rua`); nothing of the message itself is in it.

import { limits } from '#lib/limits.ts'
import { domainToAscii } from '../address/address.ts'
import type { DmarcDetail } from '../made/dmarc-report.ts'

/** What is known before it is decided what becomes of the message. */
export interface DmarcFacts extends Omit<DmarcDetail, 'ip' | 'disposition' | 'reason'> {
  /** Who is told. */
  readonly domain: string
  /** A failure has less done to it than is published, as the domain only tries its policy (RFC 9989 4.7, `t`). */
  readonly spared: boolean
}

/** Of the library's answer, what is told. */
interface Response {
  readonly policyDomain?: string
  readonly p?: string
  /** That holds for this message, a step less where it is only tried. */
  readonly policy?: string
  readonly sp?: string
  readonly np?: string | undefined
  readonly testMode?: boolean
  readonly rr?: unknown
  readonly status: { readonly header?: { readonly from?: string } }
  readonly alignment?: {
    readonly spf: { readonly result?: string | undefined; readonly strict?: boolean }
    readonly dkim: { readonly result?: string | undefined; readonly strict?: boolean }
  }
}

interface Signature {
  readonly signingDomain?: string | undefined
  readonly selector?: string | undefined
  readonly status: { readonly result?: string | undefined }
}

interface Host {
  readonly domain?: string | undefined
  readonly status: { readonly result: string; readonly smtp?: { readonly mailfrom?: string } }
}

/** Undefined where the domain does not ask. */
export function dmarcFacts(
  given: object,
  signatures: readonly Signature[],
  host: Host | undefined,
  sender: string,
): DmarcFacts | undefined {
  const { policyDomain, p = 'none', policy, sp = p, np, testMode, rr, status, alignment } = given as Response
  if (policyDomain === undefined || alignment === undefined || !/(?:^|;)\s*rua\s*=/i.test(String(rr ?? '')))
    return undefined
  // RFC 8616 3: in ASCII, as everything that programs compare.
  const cut = (text: string) => (domainToAscii(text) || text.toLowerCase()).slice(0, limits.report.nameLengthMax)
  const mode = (strict: boolean | undefined) => (strict === true ? ('s' as const) : ('r' as const))
  // One that names no signer stands for there being none, of which a report says nothing (RFC 7489 C).
  const told = signatures.filter(one => one.signingDomain !== undefined).slice(0, limits.report.signaturesMax)
  const from = cut(status.header?.from ?? '')
  const published = from === cut(policyDomain) ? [p] : [sp, np]
  const envelopeFrom = cut(sender.slice(sender.lastIndexOf('@') + 1))
  return {
    domain: cut(policyDomain),
    spared: testMode === true && (policy === 'quarantine' || published.includes('quarantine')),
    published: {
      ...{ domain: cut(policyDomain), adkim: mode(alignment.dkim.strict), aspf: mode(alignment.spf.strict), p, sp },
      ...(np !== undefined && { np }),
      ...(testMode === true && { testing: true }),
    },
    dkim: alignment.dkim.result !== undefined,
    spf: alignment.spf.result !== undefined,
    headerFrom: from,
    envelopeFrom,
    signatures: told.map(({ signingDomain = '', selector = '', status: { result = 'none' } }) => ({
      ...{ domain: cut(signingDomain), selector: cut(selector), result },
    })),
    ...(host !== undefined && {
      host: {
        domain: cut(host.domain || envelopeFrom),
        result: host.status.result,
      },
    }),
  }
}
