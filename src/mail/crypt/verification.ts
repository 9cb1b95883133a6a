// Whether a message comes from whom it says: SPF (RFC 7208), DKIM (RFC 6376) and DMARC (RFC 9989) of mail that another
// server brought. The checks themselves are a library's; here is what it is asked, and what its answer means.
//
// Runs on a thread (workers/verify.ts), since a stranger's message decides what it costs. Never throws for anything that is in
// a message or in DNS: what could not be found out counts as not proven, and DMARC without certainty is no failure. All
// questions of one message together have a number and an end.

import { monotonic, within } from '#lib/clock.ts'
import { limits } from '#lib/limits.ts'
import { alignment, mailVerifiers } from '#lib/process/lazy.ts'
import { domainToAscii } from '../address/address.ts'

/** What comes with a message, and the message, or null where that is too large to be looked at. */
export interface VerifyInput {
  readonly message: Uint8Array | null
  readonly ip: string
  readonly helo: string
  /** Envelope sender; empty for the null sender. */
  readonly sender: string
  /** Name of this service. */
  readonly hostname: string
}

export interface Verified {
  /** Domain for which the sending host may send. */
  readonly spf: string | false
  /** Domain that signed all of it; that of From where there are several. */
  readonly dkim: string | false
  /** Absent where the domain in From has no policy, or nobody could say. */
  readonly dmarc?: {
    /** The domain in From, where it is proven. */
    readonly domain: string | false
    readonly policy: Policy
  }
  /** What was looked at, for Authentication-Results (RFC 8601 2.2): `spf=pass smtp.mailfrom=...` and so on. */
  readonly results: readonly string[]
}

type Policy = 'none' | 'quarantine' | 'reject'

export interface VerifyTasks {
  verify: { input: VerifyInput; value: Verified }
}

/** Answers a question as node:dns does. */
export type Resolve = (name: string, type: string) => Promise<unknown>

/** Finds out what can be found out within limits.verify. */
export async function verifyMessage(input: VerifyInput, resolve: Resolve): Promise<Verified> {
  const { dkimVerify, spf, evaluateDmarc } = mailVerifiers()
  const resolver = bounded(resolve) as never
  const { message, ip, helo, sender, hostname: mta } = input
  const [host, signed] = await Promise.all([
    spf({ ip, helo, sender, mta, resolver, maxElapsedTime: limits.verify.dnsMs }).catch(() => undefined),
    message === null ? undefined : verifySignatures(message, resolver, dkimVerify),
  ])
  const spfDomain = host?.status.result === 'pass' && host.domain ? host.domain : false
  const results = infoOf([host, ...(signed?.results ?? [])])
  if (signed === undefined) return { spf: spfDomain, dkim: false, results }
  const passed = signed.results.filter(({ status }) => status.result === 'pass')
  const whole = passed.filter(({ status }) => !status.underSized)
  const dkim = (whole.find(({ status }) => status.aligned) ?? whole[0])?.signingDomain ?? false
  const { response } = await evaluateDmarc({
    headerFrom: signed.headerFrom as string[],
    ...(signed.fromFields !== undefined && { fromFields: signed.fromFields }),
    spfDomains: spfDomain === false ? [] : [spfDomain],
    dkimDomains: passed.map(({ signingDomain: domain = '', status: { aligned, underSized } }) => ({
      ...{ domain, aligned: aligned || false },
      ...(underSized !== undefined && { underSized }),
    })),
    resolver,
  }).catch(() => ({ response: false as const }))
  results.push(...infoOf([response]))
  const policy = response === false ? undefined : policyOf(response.policy)
  const result = response === false ? '' : response.status.result
  if (response === false || policy === undefined || (result !== 'pass' && result !== 'fail'))
    return { spf: spfDomain, dkim, results }
  const domain = result === 'pass' ? (response.status.header?.from ?? response.domain) : false
  return { spf: spfDomain, dkim, dmarc: { domain, policy }, results }
}

const infosMax = 20

function infoOf(results: readonly unknown[]): string[] {
  const infos = results.flatMap(result => {
    const { info } = (result ?? {}) as { readonly info?: unknown }
    return typeof info === 'string' && info !== '' ? [info.slice(0, limits.mime.messageIdLengthMax)] : []
  })
  return infos.slice(0, infosMax)
}

type DkimVerify = ReturnType<typeof mailVerifiers>['dkimVerify']

async function verifySignatures(message: Uint8Array, resolver: never, dkimVerify: DkimVerify) {
  const bytes = Buffer.from(message.buffer, message.byteOffset, message.byteLength)
  try {
    // SHA-1 proves nothing any more (RFC 8301).
    return await dkimVerify(bytes, { resolver, minBitLength: limits.dkim.rsaBitsMin, rejectRsaSha1: true })
  } catch {
    return undefined
  }
}

/** Whether two domains belong to one organization, so that what is proven for one is for the other (relaxed alignment). */
export function isAligned(domain: string, other: string): boolean {
  return Boolean(alignment()(domainToAscii(domain), [domainToAscii(other)]))
}

function policyOf(text: string | undefined): Policy | undefined {
  return text === 'none' || text === 'quarantine' || text === 'reject' ? text : undefined
}

/** `resolve` for one message: so many questions, and an end to all of them. */
function bounded(resolve: Resolve): Resolve {
  const { lookupsMax, dnsMs } = limits.verify
  const until = monotonic() + dnsMs
  const late = () => Object.assign(new Error('no more questions for this message'), { code: 'ETIMEOUT' })
  let asked = 0
  return async (name, type) => {
    asked += 1
    const left = until - monotonic()
    if (asked > lookupsMax || left <= 0) throw late()
    return within(left, resolve(name, type), late)
  }
}
