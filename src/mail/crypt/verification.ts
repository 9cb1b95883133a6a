// Whether a message comes from whom it says: SPF (RFC 7208), DKIM (RFC 6376), ARC (RFC 8617) and DMARC (RFC 9989) of mail
// that another server brought. The checks themselves are a library's; here is what it is asked, and what its answer means.
//
// Runs on a thread (workers/verify.ts), since a stranger's message decides what it costs. Never throws for anything that is in
// a message or in DNS. A DMARC failure is `certain` only where every question that could have turned it into a pass was
// answered; nothing may be refused for one that is not. Each method has questions of its own, so that a message with
// many signatures or seals cannot use up those by which the policy is found. All of it together has an end.

import { monotonic, within } from '#lib/clock.ts'
import { limits } from '#lib/limits.ts'
import { alignment, mailVerifiers } from '#lib/process/lazy.ts'
import { domainToAscii } from '../address/address.ts'
import { type Assertion, assertionOf } from '../bimi/assertion.ts'
import type { MarkTasks } from '../bimi/mark.ts'
import { cutUnwanted } from '../header/cut.ts'
import type { Standing } from '../spam/standing.ts'
import { type Chain, sealersOf, vouched } from './arc-chain.ts'
import { type DmarcFacts, dmarcFacts } from './dmarc-facts.ts'
import type { Resolve } from './dns-answers.ts'

/** What comes with a message, and the message. */
export interface VerifyInput {
  readonly message: Uint8Array
  readonly ip: string
  readonly helo: string
  /** Envelope sender; empty for the null sender. */
  readonly sender: string
  /** Name of this service. */
  readonly hostname: string
  /** Domains whose ARC seals are believed. */
  readonly sealers: readonly string[]
}

export interface Verified {
  /** Domain for which the sending host may send. */
  readonly spf: string | false
  /** Domain that signed all of it; that of From where there are several. */
  readonly dkim: string | false
  /** Domain of the newest seal of a valid chain; absent where there is no chain. */
  readonly arc?: string | false
  /** Absent where the domain in From has no policy, or nobody could say. */
  readonly dmarc?: {
    /** The domain in From, where it is proven. */
    readonly domain: string | false
    readonly policy: Policy
  }
  /** What a DMARC failure rests on; absent where there is none. */
  readonly failure?: Failure
  /** What its domain is told of it, where it asks. */
  readonly aggregate?: DmarcFacts
  /** Where its mark lies, as its domain says. */
  readonly assertion?: Assertion
  /** What the net thinks of who brings it. */
  readonly standing?: Standing
  /** What was looked at, for Authentication-Results (RFC 8601 2.2): `spf=pass smtp.mailfrom=...` and so on. */
  readonly results: readonly string[]
}

export interface Failure {
  /** False where a name server did not answer by which it might have passed. */
  readonly certain: boolean
  /** Percentage of messages that the policy is for (RFC 7489 6.3), 100 where the domain says nothing. */
  readonly percent: number
  /** A sealer that is believed says that the message proved its author when it came to him. */
  readonly vouched: string | false
}

export type Policy = 'none' | 'quarantine' | 'reject'

export interface VerifyTasks extends MarkTasks {
  verify: { input: VerifyInput; value: Verified }
}

/** Finds out what can be found out within limits.verify. */
export async function verifyMessage(input: VerifyInput, resolve: Resolve): Promise<Verified> {
  const { dkimVerify } = mailVerifiers()
  const ask = askerUntil(monotonic() + limits.verify.dnsMs, resolve)
  const { helo, sender } = input
  const [host, signed] = await Promise.all([
    checkHost(input, ask(limits.verify.spfLookupsMax)),
    verifySignatures(input, ask(limits.verify.keyLookupsMax), dkimVerify),
  ])
  const spfDomain: string | false = host?.status.result === 'pass' && host.domain ? host.domain : false
  const results = infoOf([host, ...(signed?.results ?? [])])
  if (signed === undefined) return { spf: spfDomain, dkim: false, results }
  const passed = signed.results.filter(({ status }) => status.result === 'pass')
  const whole = passed.filter(({ status }) => !status.underSized)
  const dkim: string | false = (whole.find(({ status }) => status.aligned) ?? whole[0])?.signingDomain ?? false
  const chain = await chainOf(signed, ask(limits.verify.keyLookupsMax))
  if (chain !== undefined) results.push(...infoOf([chain]))
  const arc = chain === undefined ? {} : { arc: chain.status.result === 'pass' && (sealersOf(chain).at(-1) ?? false) }
  const found = { spf: spfDomain, dkim, ...arc }
  const response = await policyOf(signed, spfDomain, passed, ask(limits.verify.policyLookupsMax))
  results.push(...infoOf([response]))
  if (response === false) return { ...found, results }
  const { result, header } = response.status
  const policy = knownPolicy(response.policy)
  if (policy === undefined || (result !== 'pass' && result !== 'fail')) return { ...found, results }
  const from = header?.from ?? response.domain ?? ''
  const percent = percentOf(response)
  const facts = dmarcFacts(response, percent, signed.results, host, sender)
  const told = { ...(facts !== undefined && { aggregate: facts }), results }
  if (result === 'pass') {
    const { assertion, info } = await assertionOf(response, signed as never, ask(limits.bimi.lookupsMax))
    if (info !== undefined) results.push(...infoOf([{ info }]))
    return { ...found, dmarc: { domain: from, policy }, ...(assertion !== undefined && { assertion }), ...told }
  }
  const unanswered =
    (host === undefined || host.status.result === 'temperror') && isNear(host?.domain || domainOf(sender) || helo, from)
  const unread = signed.results.some(one => one.status.result === 'temperror' && isNear(one.signingDomain ?? '', from))
  const sealer = chain === undefined ? false : vouched(chain, from, input.sealers)
  const failure = { certain: !unanswered && !unread, percent, vouched: sealer }
  return { ...found, dmarc: { domain: false, policy }, failure, ...told }
}

const infosMax = 20

function infoOf(results: readonly unknown[]): string[] {
  const infos = results.flatMap(result => {
    const { info } = (result ?? {}) as { readonly info?: unknown }
    return typeof info === 'string' && info !== '' ? [info.slice(0, limits.mime.messageIdLengthMax)] : []
  })
  return infos.slice(0, infosMax)
}

/**
 * SPF by the letter of RFC 7208. Where that is an error of the record, and the library's milder reading (a name without an
 * address of the peer's family is no void look-up) has it pass, it passes: mail must not be refused for a detail of counting.
 */
async function checkHost({ ip, helo, sender, hostname: mta }: VerifyInput, resolver: never) {
  const { spf } = mailVerifiers()
  const check = (strict: boolean) =>
    spf({ ip, helo, sender, mta, resolver, maxElapsedTime: limits.verify.dnsMs, strict }).catch(() => undefined)
  const exact = await check(true)
  if (exact?.status.result !== 'permerror') return exact
  const mild = await check(false)
  return mild?.status.result === 'pass' ? mild : exact
}

type Verifiers = ReturnType<typeof mailVerifiers>
type Signed = Awaited<ReturnType<Verifiers['dkimVerify']>>

async function verifySignatures(input: VerifyInput, resolver: never, dkimVerify: Verifiers['dkimVerify']) {
  const { message } = input
  const bytes = withFewerSignatures(Buffer.from(message.buffer, message.byteOffset, message.byteLength))
  try {
    // SHA-1 proves nothing any more (RFC 8301).
    return await dkimVerify(bytes, { resolver, minBitLength: limits.dkim.rsaBitsMin, rejectRsaSha1: true })
  } catch {
    return undefined
  }
}

/**
 * The message with as many signatures as are looked at (RFC 6376 6.1): those of the domain in From first. A thousand of
 * somebody else must neither cost a thousand times as much nor save a message from being judged.
 */
function withFewerSignatures(message: Buffer): Buffer {
  const end = message.indexOf('\r\n\r\n')
  const block = end < 0 ? message : message.subarray(0, end + 2)
  const { signaturesMax } = limits.verify
  const signers: string[] = []
  let from = ''
  cutUnwanted(block, (key, value) => {
    if (key === 'dkim-signature') signers.push(/(?:^|;)\s*d\s*=\s*([^\s;]+)/i.exec(value())?.[1]?.toLowerCase() ?? '')
    if (key === 'from') from = /@([^\s@>,;]+)>?\s*$/.exec(value())?.[1]?.toLowerCase() ?? ''
    return false
  })
  if (signers.length <= signaturesMax) return message
  const near = signers.map(
    domain => domain !== '' && (from === domain || from.endsWith(`.${domain}`) || domain.endsWith(`.${from}`)),
  )
  const order = signers.map((_, at) => at).sort((one, other) => Number(near[other]) - Number(near[one]) || one - other)
  const kept = new Set(order.slice(0, signaturesMax))
  let at = 0
  const cut = cutUnwanted(block, key => key === 'dkim-signature' && !kept.has(at++))
  return Buffer.concat([cut, message.subarray(block.length)])
}

/** The chain by the letter of RFC 8617: a tag list that two readers may take in two ways is none that vouches. */
async function chainOf({ arc, headers }: Signed, resolver: never): Promise<Chain | undefined> {
  const { arc: verifyChain, getARChain } = mailVerifiers()
  const data = arc as unknown as { error?: unknown }
  try {
    getARChain(headers, { strict: true })
  } catch (error) {
    data.error ??= error
  }
  const how = { resolver, minBitLength: limits.dkim.rsaBitsMin, strict: true }
  const found = await verifyChain(data as never, how).catch(() => undefined)
  return found === undefined || found.status.result === 'none' ? undefined : (found as unknown as Chain)
}

async function policyOf(signed: Signed, spfDomain: string | false, passed: Signed['results'], resolver: never) {
  const { response } = await mailVerifiers()
    .evaluateDmarc({
      headerFrom: signed.headerFrom as string[],
      ...(signed.fromFields !== undefined && { fromFields: signed.fromFields }),
      spfDomains: spfDomain === false ? [] : [spfDomain],
      dkimDomains: passed.map(({ signingDomain: domain = '', status: { aligned, underSized } }) => ({
        ...{ domain, aligned: aligned || false },
        ...(underSized !== undefined && { underSized }),
      })),
      resolver,
    })
    .catch(() => ({ response: false as const }))
  return response
}

/** RFC 9989 knows `pct` no more; domains that still say it mean it. */
function percentOf(response: object): number {
  const { pct } = (response as { readonly record?: { readonly pct?: unknown } }).record ?? {}
  return typeof pct === 'number' && pct >= 0 && pct < 100 ? pct : 100
}

/** Whether two domains belong to one organization, so that what is proven for one is for the other (relaxed alignment). */
export function isAligned(domain: string, other: string): boolean {
  return Boolean(alignment()(domainToAscii(domain), [domainToAscii(other)]))
}

function isNear(domain: string, from: string): boolean {
  return domain !== '' && isAligned(from, domain)
}

function domainOf(address: string): string {
  return address.slice(address.lastIndexOf('@') + 1)
}

function knownPolicy(text: string | undefined): Policy | undefined {
  return text === 'none' || text === 'quarantine' || text === 'reject' ? text : undefined
}

/** `resolve` for the methods of one message: so many questions each, and an end to all of them. */
function askerUntil(until: number, resolve: Resolve): (lookupsMax: number) => never {
  const late = () => Object.assign(new Error('no more questions for this message'), { code: 'ETIMEOUT' })
  return lookupsMax => {
    let asked = 0
    const ask: Resolve = async (name, type) => {
      asked += 1
      const left = until - monotonic()
      if (asked > lookupsMax || left <= 0) throw late()
      const answer = await within(left, resolve(name, type), late)
      return bounded(answer)
    }
    return ask as never
  }
}

/** An answer of a size that is worth reading: a key or a policy of 64 KB is none. */
function bounded(answer: unknown): unknown {
  if (!Array.isArray(answer)) return answer
  return answer.filter(one => !Array.isArray(one) || one.join('').length <= limits.verify.recordLengthMax)
}
