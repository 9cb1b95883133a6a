// Mail that a stranger brings is looked at before it is dropped: is it from whom it says (mail/origin/verification.ts)?
//
// What is found goes with the message and is shown with it, and what the domain in From asks for is done (DMARC), unless
// the configuration says otherwise, a sealer who is believed vouches for the message, or one brings it who forwards mail of
// others. Refused for good is only what certainly failed: where a name server did not answer by which it might have
// passed, a message that would be refused is put off. What could not be looked at at all, because DNS is gone or there
// is too much to do, is taken no later than limits.verify.totalMs: it then counts as not looked at. Where a stranger made
// it costly to look at, that is no way past DMARC: such a message has to come again, and is put aside in the end.

import { within } from '#lib/clock.ts'
import { Fault } from '#lib/fault.ts'
import { jitter } from '#lib/id.ts'
import { limits } from '#lib/limits.ts'
import type { Log } from '#lib/log.ts'
import type { Metrics } from '#lib/metrics.ts'
import { rangesOf } from '#lib/network.ts'
import { arrivalPace } from '#lib/pace.ts'
import { domainToAscii } from '#mail/address/address.ts'
import type { DmarcDetail } from '#mail/made/dmarc-report.ts'
import type { DmarcFacts } from '#mail/origin/dmarc-facts.ts'
import { type Brought, isPlain, type Origins } from '#mail/origin/origins.ts'
import { headerEnd } from '#mail/origin/signed.ts'
import type { Envelope, Failure, Policy, Verified } from '#mail/origin/verification.ts'
import type { Pools } from '#pool'
import type { Received } from '#store/bodies/bodies.ts'
import type { HeldMark } from '#store/domains/mark.ts'
import type { SpamPart } from '#store/mailboxes/messages.ts'
import type { Marks } from './marks.ts'
import { saidIn } from './said.ts'

/** As the API shows it (wire-shapes, verificationResults). */
export interface VerificationResults
  extends Partial<Omit<Verified, 'results' | 'failure' | 'standing' | 'aggregate' | 'assertion'>> {
  readonly tls: { readonly name: string; readonly version: string } | false
}

export interface VerifierOptions {
  readonly origins: Pick<Origins, 'of'>
  /** For what may cost much. */
  readonly pool: Pools['verify']
  readonly hostname: string
  /** Whether anything is looked at. */
  readonly enabled: boolean
  /** Whether what the sender domain asks for is done: refused, or taken for junk. */
  readonly heed: boolean
  /** Networks in CIDR form whose mail is not looked at. */
  readonly unjudged: readonly string[]
  /** Networks, and domains proven by SPF, that may bring mail of others. */
  readonly forwarders: readonly string[]
  /** Domains whose ARC seals are believed. */
  readonly sealers: readonly string[]
  readonly log: Log
  readonly metrics: Metrics
  /** Fetches marks of domains; without it none are shown. */
  readonly marks?: Pick<Marks, 'of'> | undefined
  /** Where it is counted what became of mail, for the domains that want to be told. */
  readonly counts?: { add(kind: 'dmarc', domain: string, detail: DmarcDetail): void } | undefined
}

/** Who brought a message, and how. */
export interface Bringer {
  readonly remoteAddress: string
  readonly helo: string
  readonly tls: { readonly protocol: string; readonly cipher: string } | undefined
}

export interface Judged {
  readonly verification: VerificationResults
  /** What it makes of the message, 0 to 100 (api-semantics 10.5). */
  readonly score: number
  /** For Authentication-Results. */
  readonly results: readonly string[]
  /** What the net thinks of who brought it, as parts of the score. */
  readonly standing: readonly SpamPart[]
  /** The registered domain of the name of who brought it, where that is his. */
  readonly organization?: string | undefined
  /** The mark of its author's domain. */
  readonly bimi?: HeldMark | undefined
}

const quarantineScore = 50
/** Enough for greylisting. */
const unproven: SpamPart = {
  ...{ name: 'unproven', score: limits.smtp.greylistFrom },
  info: 'its header asks for so much work that it was not known in time who sent it',
}
const mappedPrefix = /^::ffff:(?=\d+\.\d+\.\d+\.\d+$)/i

export class Verifier {
  readonly #options: VerifierOptions
  readonly #isUnjudged: (address: string) => boolean
  readonly #isForwarder: (address: string) => boolean
  readonly #forwardingDomains: ReadonlySet<string>
  #off = ''
  /** Done when the large message before is. */
  #large: Promise<unknown> = Promise.resolve()

  constructor(options: VerifierOptions) {
    this.#options = options
    this.#isUnjudged = rangesOf(options.unjudged)
    this.#isForwarder = rangesOf(options.forwarders.filter(one => one.includes('/')))
    this.#forwardingDomains = new Set(options.forwarders.filter(one => !one.includes('/')).map(domainToAscii))
  }

  /**
   * What is to be known of a message before it is dropped; of one from a network that is no stranger only what needs no
   * question.
   *
   * @throws Fault SenderRefused, SenderUnproven, MessageMalformed, and nothing else
   */
  async judge(received: Received, sender: string, { remoteAddress, helo, tls }: Bringer): Promise<Judged> {
    const { hostname, heed, sealers, enabled, metrics } = this.#options
    const secured = tls === undefined ? (false as const) : { name: tls.cipher, version: tls.protocol }
    const ip = remoteAddress.replace(mappedPrefix, '')
    if (!enabled || this.#isUnjudged(ip)) return { verification: { tls: secured }, score: 0, results: [], standing: [] }
    const forwarders = [...this.#forwardingDomains]
    const { found, costly } = await this.#ask(received, { ip, helo, sender, hostname, sealers, forwarders })
    if (found === undefined && costly && heed && !this.#isForwarder(ip)) {
      metrics.verified.labels('costly').inc()
      return { verification: { tls: secured }, score: quarantineScore, results: [], standing: [unproven] }
    }
    const {
      results = [],
      failure,
      standing,
      aggregate,
      assertion,
      forgedSender,
      ...shown
    }: Partial<Verified> = found ?? {}
    this.#tellOff(standing?.off ?? [])
    const parts = standing?.parts ?? []
    const organization = standing?.organization
    // Who forwards comes with senders of others.
    const forged = forgedSender === true && !this.#isForwarder(ip)
    const verification = { tls: secured, ...shown, ...(forged && { forgedSender }) }
    if (failure === undefined || shown.dmarc === undefined) {
      const result = found === undefined ? 'unknown' : shown.dmarc === undefined ? 'none' : 'pass'
      metrics.verified.labels(result).inc()
      this.#count(aggregate, ip, 'none')
      const bimi = await this.#options.marks?.of(assertion)
      return { verification, score: 0, results, standing: parts, organization, bimi }
    }
    const pardon = this.#pardon(failure, ip, shown.spf)
    const wanted = heed && pardon === '' ? asked(shown.dmarc.policy, failure) : 'none'
    metrics.verified.labels(pardon !== '' ? 'pardoned' : failure.certain ? wanted : 'uncertain').inc()
    if (failure.certain || wanted !== 'reject') {
      this.#count(aggregate, ip, wanted, whyOf(shown.dmarc.policy, wanted, pardon, heed, failure))
    }
    if (wanted === 'reject') {
      if (failure.nameless) throw new Fault('MessageMalformed', { text: 'No From field says who wrote the message' })
      throw new Fault(failure.certain ? 'SenderRefused' : 'SenderUnproven')
    }
    const score = wanted === 'quarantine' && failure.certain ? quarantineScore : 0
    const told = pardon === '' ? results : results.map(one => pardoned(one, pardon))
    return { verification, score, results: told, standing: parts, organization }
  }

  #count(
    aggregate: DmarcFacts | undefined,
    ip: string,
    disposition: Policy,
    reason?: { readonly type: string; readonly comment: string },
  ): void {
    if (aggregate === undefined) return
    const { domain, spared, ...facts } = aggregate
    const tried = spared && !facts.dkim && !facts.spf ? { type: 'policy_test_mode', comment: '' } : undefined
    const because = reason ?? tried
    this.#options.counts?.add('dmarc', domain, {
      ...facts,
      ip,
      disposition,
      ...(because !== undefined && { reason: because }),
    })
  }

  /** Whether mail of this host is that of a stranger, and looked at. */
  isStrange(address: string): boolean {
    return this.#options.enabled && !this.#isUnjudged(address.replace(mappedPrefix, ''))
  }

  /** The log hears of a list that is not asked, once. */
  #tellOff(lists: readonly string[]): void {
    const told = lists.join('; ')
    if (told === this.#off) return
    this.#off = told
    this.#options.metrics.dnsListsOff.set(lists.length)
    if (told !== '') this.#options.log.warn({ lists }, 'lists in DNS are not asked')
  }

  /** Why a failure leads to nothing; empty where it does. */
  #pardon({ vouched }: Failure, ip: string, spf: string | false | undefined): string {
    if (vouched !== false) return `sealed by ${vouched}`
    if (this.#isForwarder(ip)) return 'brought by a forwarder'
    if (typeof spf === 'string' && this.#forwardingDomains.has(domainToAscii(spf))) return `forwarded by ${spf}`
    return ''
  }

  /** What was found, if anything, and whether a stranger made it costly to look. */
  async #ask(received: Received, envelope: Envelope): Promise<{ found: Verified | undefined; costly: boolean }> {
    const { log, origins } = this.#options
    const beginning = received.read(0, limits.verify.plainHeaderBytesMax + 1)
    const header = beginning.subarray(0, headerEnd(beginning))
    const costly = !isPlain(header)
    try {
      // Here, where the bytes are, unless that may take long.
      const looked = costly ? this.#elsewhere(received, envelope) : origins.of(broughtOf(received, header), envelope)
      return { found: await within(limits.verify.totalMs, looked, () => new Fault('TimedOut')), costly }
    } catch (error) {
      if (!(error instanceof Fault)) log.warn({ error }, 'the origin of a message could not be looked at')
      return { found: undefined, costly }
    }
  }

  /** On a thread. @throws Fault Overloaded */
  #elsewhere(received: Received, envelope: Envelope): Promise<Verified> {
    const look = async () => this.#options.pool.run('verify', { ...envelope, message: await messageOf(received) })
    if (received.size < limits.verify.largeBytes) return look()
    const looked = this.#large.then(look)
    this.#large = looked.catch(() => {})
    return looked
  }
}

function broughtOf(received: Received, header: Buffer): Brought {
  const { header: fields } = received.root
  return {
    header,
    // Where both see the same end of it.
    ...(fields.block.length === header.length && { fields }),
    body() {
      const small = received.size - header.length <= limits.body.chunkBytes
      return small ? [received.read(header.length, received.size)] : inSlices(received, header.length)
    },
    async texts() {
      return (await saidIn(received)).texts
    },
  }
}

async function* inSlices(received: Received, start: number): AsyncGenerator<Buffer> {
  const pace = arrivalPace()
  for await (const chunk of received.stream(start)) {
    yield chunk
    if (pace.spent) await pace.turn()
  }
}

/** What is asked for of this one message: of a share of them, and one step less of the others (RFC 7489 6.6.4). */
function asked(given: Policy, { percent, partial }: Failure): Policy {
  const policy = partial && given === 'reject' ? 'quarantine' : given
  if (percent >= 100 || jitter() * 100 < percent) return policy
  return policy === 'reject' ? 'quarantine' : 'none'
}

/** Why less was done than the domain asks for, in the words of RFC 9990 3.1.6; that it only tries its policy is known with the facts. */
function whyOf(policy: Policy, wanted: Policy, pardon: string, heed: boolean, { partial }: Failure) {
  if (policy === wanted) return undefined
  if (pardon !== '')
    return { type: pardon.startsWith('sealed') ? 'local_policy' : 'trusted_forwarder', comment: pardon }
  if (!heed) return { type: 'local_policy', comment: 'noted only' }
  if (partial) return { type: 'local_policy', comment: 'a part is signed' }
  return { type: 'other', comment: 'the policy asks for a share of messages (pct)' }
}

/** The result of DMARC with the reason why nothing came of it. */
function pardoned(result: string, why: string): string {
  return /^dmarc=fail\b/.test(result) ? `${result} (pardoned: ${why.replace(/[^\w.: -]/g, '?')})` : result
}

async function messageOf(received: Received): Promise<Uint8Array> {
  const chunks: Buffer[] = []
  for await (const chunk of received.stream()) chunks.push(chunk)
  return Buffer.concat(chunks)
}
