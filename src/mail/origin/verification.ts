// Whether a message comes from whom it says: SPF (RFC 7208), DKIM (RFC 6376), ARC (RFC 8617) and DMARC (RFC 9989) of mail
// that another server brought. The checks themselves are a library's; here is what it is asked, and what its answer means.
//
// Runs on a thread (workers/verify.ts), since a stranger's message decides what it costs. Never throws for anything that is in
// a message or in DNS. A DMARC failure is `certain` only where every question that could have turned it into a pass was
// answered; nothing may be refused for one that is not. Each method has questions of its own, so that a message with
// many signatures or seals cannot use up those by which the policy is found. All of it together has an end.

import { monotonic, within } from '#lib/clock.ts'
import { limits } from '#lib/limits.ts'
import { alignment, mailVerifiers, type ParsedFields, signatureChecks } from '#lib/process/lazy.ts'
import { domainToAscii } from '../address/address.ts'
import { type Assertion, assertionOf } from '../bimi/assertion.ts'
import type { MarkTasks } from '../bimi/mark.ts'
import type { Standing } from '../spam/standing.ts'
import { type Chain, sealersOf, vouched } from './arc-chain.ts'
import { type DmarcFacts, dmarcFacts } from './dmarc-facts.ts'
import type { Resolve } from './dns-answers.ts'
import { Remembered } from './remembered.ts'
import { checkHost, type KnownHosts, knownHosts, type Sending } from './sender-host.ts'
import { type Looked, looked, type Signed, verifySignatures } from './signed.ts'
import { type OpenedKeys, signerKeys } from './signer-keys.ts'

/** What comes with a message. */
export interface Envelope extends Sending {
  /** Domains whose ARC seals are believed. */
  readonly sealers: readonly string[]
}

/** The same, and the message. */
export interface VerifyInput extends Envelope {
  readonly message: Uint8Array
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

/** What was found for other messages and holds for more of them. */
export interface KnownOrigins {
  readonly hosts: KnownHosts
  readonly keys: OpenedKeys
  readonly policies: Remembered<PolicyResponse>
  readonly marks: Remembered<Awaited<ReturnType<typeof assertionOf>>>
}

type PolicyResponse = Awaited<ReturnType<ReturnType<typeof mailVerifiers>['evaluateDmarc']>>['response']

export function knownOrigins(): KnownOrigins {
  const settled = (response: PolicyResponse) =>
    response === false || (response.status.result !== 'temperror' && response.error === undefined)
  return {
    hosts: knownHosts(),
    keys: new WeakMap(),
    policies: new Remembered(settled),
    marks: new Remembered(({ info = '' }) => !info.startsWith('bimi=temperror')),
  }
}

/** Finds out what can be found out within limits.verify. */
export function verifyMessage(input: VerifyInput, resolve: Resolve): Promise<Verified> {
  return verifyOrigin(looked(input.message), input, resolve, knownOrigins())
}

/** The same of a message that is not in one piece, with what is known already. */
export async function verifyOrigin(
  message: Looked,
  input: Envelope,
  resolve: Resolve,
  known: KnownOrigins,
): Promise<Verified> {
  // The first message loads the library, which must not be taken from its time.
  mailVerifiers()
  signatureChecks()
  const ask = askerUntil(monotonic() + limits.verify.dnsMs, resolve)
  const { helo, sender } = input
  const [host, signed] = await Promise.all([
    checkHost(input, ask(limits.verify.spfLookupsMax), known.hosts),
    verifySignatures(message, signerKeys(ask(limits.verify.keyLookupsMax), known.keys)),
  ])
  const spfDomain: string | false = host?.status.result === 'pass' && host.domain ? host.domain : false
  const results = infoOf([host, ...(signed?.results ?? [])])
  if (signed === undefined) return { spf: spfDomain, dkim: false, results }
  const passed = signed.results.filter(({ status }) => status.result === 'pass')
  const whole = passed.filter(({ status }) => !status.underSized)
  const dkim: string | false = (whole.find(({ status }) => status.aligned) ?? whole[0])?.signingDomain ?? false
  const chain = await chainOf(signed, ask(limits.verify.keyLookupsMax), known.keys)
  if (chain !== undefined) results.push(...infoOf([chain]))
  const arc = chain === undefined ? {} : { arc: chain.status.result === 'pass' && (sealersOf(chain).at(-1) ?? false) }
  const found = { spf: spfDomain, dkim, ...arc }
  const [response, asked] = await policyOf(signed, spfDomain, passed, ask(limits.verify.policyLookupsMax), known)
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
    const find = () => assertionOf(response, signed as never, ask(limits.bimi.lookupsMax))
    const { assertion, info } = await (named(signed.headers, key => key === 'bimi-selector')
      ? find()
      : known.marks.of(asked, find))
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

/** The chain by the letter of RFC 8617: a tag list that two readers may take in two ways is none that vouches. */
async function chainOf({ arc, headers }: Signed, resolver: never, opened: OpenedKeys): Promise<Chain | undefined> {
  const { arc: verifyChain, getARChain } = mailVerifiers()
  if (!named(headers, key => key.startsWith('arc-'))) return undefined
  const data = arc as { error?: unknown; keyCache?: unknown }
  try {
    getARChain(headers as never, { strict: true })
  } catch (error) {
    data.error ??= error
  }
  data.keyCache = signerKeys(resolver, opened)
  const how = { resolver, minBitLength: limits.dkim.rsaBitsMin, strict: true }
  const found = await verifyChain(data as never, how).catch(() => undefined)
  return found === undefined || found.status.result === 'none' ? undefined : (found as unknown as Chain)
}

/** The author's policy, and by what it is known. */
async function policyOf(
  { headerFrom, fromFields }: Signed,
  spfDomain: string | false,
  passed: Signed['results'],
  resolver: never,
  { policies }: KnownOrigins,
): Promise<readonly [PolicyResponse, string]> {
  const question = {
    headerFrom: [...headerFrom],
    fromFields,
    spfDomains: spfDomain === false ? [] : [spfDomain],
    dkimDomains: passed.map(({ signingDomain: domain = '', status: { aligned, underSized } }) => ({
      ...{ domain, aligned: aligned || (false as const) },
      ...(underSized !== undefined && { underSized }),
    })),
  }
  const asked = JSON.stringify(question)
  const find = async () => {
    const { evaluateDmarc } = mailVerifiers()
    return (await evaluateDmarc({ ...question, resolver }).catch(() => undefined))?.response
  }
  const found = policies.find(asked) ?? (await find())
  if (found !== undefined) policies.keep(asked, found)
  return [found ?? false, asked]
}

/** Whether the header has such a field. */
function named(headers: unknown, wanted: (key: string) => boolean): boolean {
  return (headers as ParsedFields).parsed.some(({ key }) => key !== null && wanted(key))
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
  const readable = (one: unknown) => !Array.isArray(one) || one.join('').length <= limits.verify.recordLengthMax
  // The same array for the same answer: what was made of it is known by it.
  return answer.every(readable) ? answer : answer.filter(readable)
}
