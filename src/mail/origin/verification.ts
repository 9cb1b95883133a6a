// Whether a message comes from whom it says: SPF (RFC 7208), DKIM (RFC 6376), ARC (RFC 8617) and DMARC (RFC 9989) of mail
// that another server brought. The checks themselves are a library's; here is what it is asked, and what its answer means.
//
// Never throws for anything that is in
// a message or in DNS. A DMARC failure is `certain` only where every question that could have turned it into a pass was
// answered; nothing may be refused for one that is not. Each method has questions of its own, and policies a time of their own, so that
// a message with many signatures or seals cannot use up that by which the policy is found. All of it together has an end.

import { monotonic } from '#lib/clock.ts'
import { limits } from '#lib/limits.ts'
import { alignment, mailVerifiers, type ParsedFields, signatureChecks } from '#lib/process/lazy.ts'
import { domainToAscii } from '../address/address.ts'
import { type Assertion, assertionOf } from '../bimi/assertion.ts'
import type { MarkTasks } from '../bimi/mark.ts'
import type { Standing } from '../spam/standing.ts'
import { type Chain, isBelieved, sealedNames, sealersOf, vouched } from './arc-chain.ts'
import { askersUntil } from './asker.ts'
import type { Authors } from './authors.ts'
import { type DmarcFacts, dmarcFacts } from './dmarc-facts.ts'
import type { Resolve } from './dns-answers.ts'
import { Remembered } from './remembered.ts'
import { checkHost, type KnownHosts, knownHosts, type SenderHost, type Sending } from './sender-host.ts'
import type { Signature, Signed } from './signature.ts'
import { addedBeside, isWhole, type Looked, looked, verifySignatures } from './signed.ts'
import { type OpenedKeys, signerKeys } from './signer-keys.ts'

/** What comes with a message. */
export interface Envelope extends Sending {
  /** Domains whose ARC seals are believed. */
  readonly sealers: readonly string[]
  /** Domains, in ASCII, whose hosts may bring mail of others. */
  readonly forwarders?: readonly string[]
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
  /** The sender's domain says that this host sends nothing of it, and signed nothing of it: what is said to the sender may reach anybody. */
  readonly forgedSender?: true
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
  /** False where a name server did not answer by which it might have passed, or been pardoned. */
  readonly certain: boolean
  /** A signature proves the author of a part alone (`l=`, RFC 6376 8.2; a field that was added, 8.15): the rest may be anybody's. */
  readonly partial: boolean
  /** Percentage of messages that the policy is for (RFC 7489 6.3), 100 where the domain says nothing. */
  readonly percent: number
  /** No field names an author. */
  readonly nameless?: boolean
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
  const ask = askersUntil(monotonic() + limits.verify.dnsMs, resolve)
  const { sender } = input
  const keys = ask(limits.verify.keyLookupsMax)
  const [host, signed] = await Promise.all([
    checkHost(input, ask(limits.verify.spfLookupsMax).resolver, known.hosts),
    verifySignatures(message, signerKeys(keys.resolver, known.keys)),
  ])
  const spfDomain: string | false = host?.status.result === 'pass' && host.domain ? host.domain : false
  const results = infoOf([host, ...(signed?.results ?? [])])
  if (signed === undefined) return { spf: spfDomain, dkim: false, results }
  const passed = signed.results.filter(({ status }) => status.result === 'pass')
  const whole = passed.filter(isWhole)
  const dkim: string | false = (whole.find(({ status }) => status.aligned) ?? whole[0])?.signingDomain ?? false
  const seals = ask(limits.verify.keyLookupsMax)
  const chain = await chainOf(signed, seals.resolver, known.keys)
  if (chain !== undefined) results.push(...infoOf([chain]))
  const arc = chain === undefined ? {} : { arc: chain.status.result === 'pass' && (sealersOf(chain).at(-1) ?? false) }
  const found = { spf: spfDomain, dkim, ...arc, ...(isForged(host, sender, passed) && { forgedSender: true as const }) }
  const { authors } = signed
  const { domains, fields } = authors
  if (domains.length === 0 || domains.length > limits.verify.authorsMax) {
    return { ...found, ...ofNobody(domains.length > 0, sender, results) }
  }
  const evidence = { spfDomain, signatures: fields === 1 ? passed : [] }
  const judged = await worstOf(authors, evidence, resolve, known)
  results.push(...infoOf([judged.response]))
  const { response, asked, partial } = judged
  if (response === false) return { ...found, results }
  const { result, header } = response.status
  const policy = knownPolicy(response.policy)
  if (policy === undefined || (result !== 'pass' && result !== 'fail')) return { ...found, results }
  const from = header?.from ?? response.domain ?? ''
  const percent = percentOf(response)
  const facts = dmarcFacts(response, signed.results, host, sender)
  const told = { ...(facts !== undefined && { aggregate: facts }), results }
  if (result === 'pass') {
    const find = () => assertionOf(response, signed, ask(limits.bimi.lookupsMax).resolver)
    const selected = named(signed.headers, key => key === 'bimi-selector')
    const { assertion, info } = await (!isOne(signed, authors) ? {} : selected ? find() : known.marks.of(asked, find))
    if (info !== undefined) results.push(...infoOf([{ info }]))
    return { ...found, dmarc: { domain: from, policy }, ...(assertion !== undefined && { assertion }), ...told }
  }
  const speaks = domains.length === 1 && fields === 1 ? chain : undefined
  const asking = { host, signed, chain: speaks, silent: keys.unanswered || seals.unanswered }
  const failure = { percent, partial, ...failureOf(asking, input, domains, from) }
  return { ...found, dmarc: { domain: false, policy }, failure, ...told }
}

/** What could have made of a failure a pass, or had it pardoned. */
interface Asked {
  readonly host: SenderHost | undefined
  readonly signed: Signed
  /** Undefined where it speaks for nobody. */
  readonly chain: Chain | undefined
  /** Somebody did not say which key there is. */
  readonly silent: boolean
}

function failureOf(
  { host, signed, chain, silent }: Asked,
  { sender, helo, sealers, forwarders = [] }: Envelope,
  domains: readonly string[],
  from: string,
): Pick<Failure, 'certain' | 'vouched'> & { readonly partial?: true } {
  const by = host?.domain || domainOf(sender) || helo
  const nearAny = (domain: string) => domains.some(author => isNear(domain, author))
  const unanswered =
    (host === undefined || host.status.result === 'temperror') &&
    (nearAny(by) || forwarders.includes(domainToAscii(by)))
  const unread = signed.results.some(({ status, signingDomain = '' }) => {
    return status.result === 'temperror' && nearAny(signingDomain)
  })
  if (chain === undefined) return { certain: !unanswered && !unread, vouched: false }
  const unsealed = silent && isBelieved(sealersOf(chain).at(-1) ?? '', sealers)
  const sealer = vouched(chain, from, sealers)
  const partial = sealer !== false && addedBeside(sealedNames(chain), signed.headers) !== undefined
  const certain = !unanswered && !unread && !unsealed
  return partial ? { certain, vouched: false, partial } : { certain, vouched: sealer }
}

/** Whether there is one author and no more. */
function isOne({ headerFrom }: Signed, { domains, fields }: Authors): boolean {
  return headerFrom.length === 1 && domains.length === 1 && fields === 1
}

/**
 * A message that is in the name of too many, or of nobody. RFC 7489 leaves to us what becomes of one without an author (5):
 * RFC 5322 3.6 forbids it, so it is refused as at other large services; but what comes back from a program is put aside.
 */
function ofNobody(crowd: boolean, sender: string, results: readonly string[]) {
  const policy: Policy = crowd || sender === '' ? 'quarantine' : 'reject'
  const reason = crowd ? 'more authors than are looked at' : 'no author'
  return {
    dmarc: { domain: false, policy } as const,
    failure: {
      certain: true,
      percent: 100,
      partial: false,
      vouched: false,
      ...(!crowd && { nameless: true }),
    } as const,
    results: [...results, `dmarc=permerror (${reason})`],
  }
}

const infosMax = 20

function infoOf(results: readonly unknown[]): string[] {
  const infos = results.flatMap(result => {
    const { info } = (result ?? {}) as { readonly info?: unknown }
    if (typeof info !== 'string' || info === '') return []
    // Cut in the middle it would take what follows for its own comment.
    return info.length <= limits.verify.resultLengthMax ? [info] : (/^[\w-]+=\w+/.exec(info) ?? []).slice(0, 1)
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

/** What is proven, whoever the author says he is. */
interface Evidence {
  readonly spfDomain: string | false
  readonly signatures: Signed['results']
}

interface JudgedPolicy {
  readonly response: PolicyResponse
  /** By which it is known. */
  readonly asked: string
  readonly partial: boolean
}

/**
 * What is judged of the author whom least speaks for: a message in several names is what each of them says it must be (RFC 7489
 * 6.6.1). Each has questions of his own, and all of them a time that nobody before has used up: name servers of a forger that
 * are slow, or many, save him from nobody's policy.
 */
async function worstOf(
  { domains }: Authors,
  evidence: Evidence,
  resolve: Resolve,
  { policies }: KnownOrigins,
): Promise<JudgedPolicy> {
  const { policyLookupsMax, policyMs } = limits.verify
  const ask = askersUntil(monotonic() + policyMs, resolve)
  const each = Math.floor(policyLookupsMax / domains.length)
  const all = await Promise.all(domains.map(domain => policyOf(domain, evidence, ask(each).resolver, policies)))
  const none: JudgedPolicy = { response: false, asked: '', partial: false }
  return all.reduce((worst, one) => {
    return worst.response === false || severity(one.response) > severity(worst.response) ? one : worst
  }, none)
}

/** Failures first, the stricter the policy the worse; a pass is worth nothing beside an author of whom nothing is known. */
function severity(response: PolicyResponse): number {
  if (response === false) return 1
  const { status, policy } = response
  if (status.result === 'pass') return 0
  if (status.result !== 'fail') return 1
  return policy === 'reject' ? 4 : policy === 'quarantine' ? 3 : 2
}

/** One author's policy, and what it comes to. */
async function policyOf(
  author: string,
  { spfDomain, signatures }: Evidence,
  resolver: never,
  policies: KnownOrigins['policies'],
): Promise<JudgedPolicy> {
  const judge = async (signed: Signed['results']) => {
    const dkimDomains = [...new Set(signed.map(one => one.signingDomain ?? ''))].map(domain => ({ domain }))
    const question = { headerFrom: [author], spfDomains: spfDomain === false ? [] : [spfDomain], dkimDomains }
    const asked = JSON.stringify(question)
    const known = policies.find(asked)
    if (known !== undefined) return { response: known, asked, partial: false }
    const { evaluateDmarc } = mailVerifiers()
    const response = (await evaluateDmarc({ ...question, resolver }).catch(() => undefined))?.response
    if (response !== undefined) policies.keep(asked, response)
    return { response: response ?? (false as const), asked, partial: false }
  }
  const whole = signatures.filter(isWhole)
  const judged = await judge(whole)
  const failed = judged.response !== false && judged.response.status.result === 'fail'
  if (!failed || whole.length === signatures.length) return judged
  const { response } = await judge(signatures)
  return { ...judged, partial: response !== false && response.status.result === 'pass' }
}

/** Whether the header has such a field. */
function named({ parsed }: ParsedFields, wanted: (key: string) => boolean): boolean {
  return parsed.some(({ key }) => key !== null && wanted(key))
}

/** Whether the domain of an envelope sender disowns what came. */
function isForged(host: SenderHost | undefined, sender: string, passed: readonly Signature[]): boolean {
  if (sender === '' || host?.status.result !== 'fail') return false
  return !passed.some(({ signingDomain = '' }) => isAligned(signingDomain, domainOf(sender)))
}

/** RFC 9989 knows `pct` no more; domains that still say it mean it. What is no number counts as not said (RFC 7489 6.3). */
function percentOf(response: object): number {
  const { rr } = response as { readonly rr?: unknown }
  const percent = /(?:^|;)\s*pct\s*=\s*(\d{1,3})\s*(?:;|$)/i.exec(String(rr ?? ''))?.[1]
  return percent === undefined ? 100 : Math.min(100, Number(percent))
}

/** Whether two domains belong to one organization, so that what is proven for one is for the other (relaxed alignment). */
export function isAligned(domain: string, other: string): boolean {
  return Boolean(alignment()(domainToAscii(domain), [domainToAscii(other)]))
}

/** Whether the one may be proven by the other, for whatever organization they belong to. */
function isNear(domain: string, from: string): boolean {
  const [one, other] = [domainToAscii(domain), domainToAscii(from)]
  if (one === '' || other === '') return false
  const end = (name: string) => name.split('.').slice(-2).join('.')
  return one === other || one.endsWith(`.${other}`) || other.endsWith(`.${one}`) || end(one) === end(other)
}

function domainOf(address: string): string {
  return address.slice(address.lastIndexOf('@') + 1)
}

function knownPolicy(text: string | undefined): Policy | undefined {
  return text === 'none' || text === 'quarantine' || text === 'reject' ? text : undefined
}
