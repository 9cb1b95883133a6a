// The way out: queued mail is delivered here, handed to a relay, to the hosts of its domain, or to a URL; failures are
// tried again by the schedule of const:sender:defer_times, and senders hear of what failed or takes long.
//
// The attempt is on disk before anything is sent, so a crash repeats one delivery at most and loses none. Targets of one
// domain form a destination with few transactions at once; a destination whose hosts cannot be reached rests and is then tried with one
// message, while the others go on. A recipient of this service never leaves it.

import type { Agent } from 'undici'
import type { DeliveryResult } from '#actors/delivery/envelope.ts'
import type { LocalDelivery } from '#actors/delivery/local-delivery.ts'
import type { EventName } from '#actors/kernel/events.ts'
import type { JobWriter } from '#actors/kernel/job-writer.ts'
import { every, now, type Timer } from '#lib/clock.ts'
import { Fault } from '#lib/fault.ts'
import type { Journal } from '#lib/journal/journal.ts'
import { limits } from '#lib/limits.ts'
import type { Log } from '#lib/log.ts'
import type { Metrics } from '#lib/metrics.ts'
import type { UrlSecrets } from '#lib/secret/url-secret.ts'
import type { Tracer } from '#lib/tracing/tracer.ts'
import { domainToAscii, splitAddress } from '#mail/address/address.ts'
import type { SrsKey } from '#mail/address/srs.ts'
import { NoMailHost, type ResolveMx } from '#net/outward/mail-hosts.ts'
import { Names } from '#net/outward/names.ts'
import type { Outward } from '#net/outward/outward.ts'
import { type ResolveTxt, txtResolver } from '#net/tls/mta-sts.ts'
import type { Bodies } from '#store/bodies/bodies.ts'
import type { Reader } from '#store/engine/reader.ts'
import type { Sequence } from '#store/engine/sequence.ts'
import { type Operation, operation } from '#store/engine/write.ts'
import type { Settings } from '#store/folder/settings.ts'
import { hasOldTraces, traceSweep } from '#store/rules/trace.ts'
import { type Outbound, outboundRecover, outboundSweep, queueId, type Target } from '#store/sending/outbound.ts'
import { hasOldOutbound } from '#store/sending/outbound-figures.ts'
import { clockNow, outboundClockBack } from '#store/upkeep/clock-back.ts'
import { Loop, type Term } from '../loop.ts'
import { sweepReturned } from '../returned/outcome.ts'
import { markOf } from '../returned/return-path.ts'
import { byFault, byObstacle, cameOf, failed, type Recipient, traceAttempts, unreached } from './attempt.ts'
import { Destinations, type RelayItem } from './destinations.ts'
import { postForm } from './form.ts'
import { hereOf, isHere } from './here.ts'
import { requireTlsMissing } from './host/sayable.ts'
import { type FindSigningKeys, type OutgoingMessage, openOutgoing, traceLine } from './message.ts'
import { StsPolicies } from './proof/sts-policies.ts'
import { type Attempt, RelayResults } from './results.ts'
import { demandOf, relayFor, wire } from './route.ts'
import { RelaySessions } from './sessions.ts'
import { type TlsCounts, tell, tellFlaw, tellMissed } from './told.ts'
import { Transactions } from './transactions.ts'
import { Ways, type WaysOptions } from './ways.ts'

export interface RelayOptions {
  readonly read: Reader
  readonly writer: JobWriter
  readonly sequence: Sequence
  readonly settings: Settings
  readonly bodies: Bodies
  readonly delivery: LocalDelivery
  /** What passwords of relays and targets are sealed with. */
  readonly secrets: UrlSecrets
  readonly outward: Outward
  readonly log: Log
  readonly journal?: Journal
  readonly tracer?: Tracer | undefined
  readonly hostname: string
  readonly version: string
  /** Whether anything leaves the service; mail for its own users arrives all the same. */
  readonly away: boolean
  /** An smtp: or smtps: URL that takes everything; empty: the hosts of each domain. */
  readonly relay: string
  /** Address of this machine to send from; any where absent. */
  readonly source?: string | undefined
  /** Port of those hosts. */
  readonly port: number
  /** Of rewritten senders, and of marks by which mail is known when it comes back. */
  readonly srs: SrsKey
  /** Address of the account that has the postmaster's mail; '' leaves it to each domain's first. */
  readonly postmaster: string
  /** What signs mail of a domain. */
  readonly findKeys: FindSigningKeys
  /** Whether somebody subscribes to `message.sent`; after a unit with events `kick` is called. */
  readonly wanted?: (name: EventName) => boolean
  readonly kick?: () => void
  /** Name servers that are asked, and believed; those of the system where there is none. */
  readonly dnsServers?: readonly string[]
  /** Whether TLSA records of hosts are heeded. */
  readonly dane?: boolean
  /** Where it is counted how sessions went. */
  readonly counts?: TlsCounts | undefined
  /** Instead of DNS and 443, for tests. */
  readonly resolveMx?: ResolveMx
  readonly resolveTxt?: ResolveTxt
  readonly policyPort?: number
  readonly metrics?: Metrics
  /** Certificates to trust besides the built-in ones, for tests. */
  readonly ca?: string
}

export interface Relay {
  /** Something may be due. */
  kick(): void
  /** Takes nothing new, waits for what is being sent. */
  close(): Promise<void>
}

/** Starts sending, with what an earlier process left behind. */
export function startRelay(options: RelayOptions): Relay {
  const relay = new Sender(options)
  relay.kick()
  return relay
}

class Sender implements Relay {
  readonly #options: RelayOptions
  readonly #loop: Loop<RelayItem>
  readonly #destinations: Destinations
  readonly #results: RelayResults
  readonly #sessions: RelaySessions
  readonly #transactions: Transactions
  readonly #ways: Ways
  readonly #policies: StsPolicies
  #agent: Agent | undefined
  #forgetting = false
  readonly #sweep: Timer

  constructor(options: RelayOptions) {
    const { read, writer, outward, log, relay, dnsServers = [], counts, dane = false } = options
    this.#options = options
    const { ca, resolveTxt = txtResolver(dnsServers), policyPort: port } = options
    this.#policies = new StsPolicies({
      ...{ read, writer, outward, resolveTxt, missed: (domain, why) => tellMissed(counts, domain, why) },
      ...(ca !== undefined && { ca }),
      ...(port !== undefined && { port }),
    })
    const names = new Names(dnsServers)
    const flawed: WaysOptions['flawed'] = ({ policy, host: mx, flaw, reason }) =>
      tellFlaw(counts, policy, { mx, flaw, reason, local: '', remote: '' })
    this.#ways = new Ways({ ...options, names, policies: this.#policies, dane, flawed })
    this.#sessions = new RelaySessions(outward, (route, facts) => tell(options.counts, route, facts))
    const broken = (target: Target, error: unknown) => this.#broken(target, error)
    this.#transactions = new Transactions(this.#sessions, options.srs, broken)
    const here = options.away ? undefined : hereOf(read, options.srs.domain)
    const { settings } = options
    this.#destinations = new Destinations({ read, writer, settings, relay: options.away ? relay : '', here })
    this.#results = new RelayResults(options)
    options.metrics?.observe('outbound_destinations_slowed', slowedHelp, () => this.#destinations.slowed)
    options.metrics?.remembers('destinations', () => this.#destinations.size)
    options.metrics?.remembers('connections', () => this.#sessions.idle)
    this.#loop = new Loop<RelayItem>(
      {
        name: 'relay',
        clockBack: (ms, under) => this.#clockBack(ms, under),
        // What a process or a node that is gone had begun.
        begin: under => writer.write(outboundRecover, { due: now() }, under),
        claim: (room, at, under) => this.#destinations.claim(room, at, under),
        run: (item, signal) => traceAttempts(options.tracer, item.message, () => this.#run(item, signal)),
        next: () => this.#destinations.next(),
      },
      {
        ...{ inFlightMax: limits.outbound.inFlightMax, log, metrics: options.metrics, duty: writer.duty },
        late: { afterMs: limits.outbound.lateMs, max: limits.outbound.lateMax },
      },
    )
    this.#sweep = every(limits.outbound.sweepMs, () => void this.#forget())
  }

  kick(): void {
    this.#loop.kick()
  }

  async close(): Promise<void> {
    this.#sweep.cancel()
    await this.#loop.close()
    this.#sessions.close()
    await this.#agent?.destroy()
    await this.#policies.close()
  }

  async #clockBack(ms: number, under: Term): Promise<void> {
    await this.#options.writer.write(outboundClockBack, clockNow(), under)
    this.#destinations.clockBack(ms)
  }

  /** What came of it; nothing where the end of the service cut it off. */
  async #run(item: RelayItem, signal: AbortSignal): Promise<readonly Attempt[]> {
    const { message, targets, destination } = item
    let attempts: readonly Attempt[]
    try {
      attempts = await this.#attempt(message, targets, signal)
    } catch (error) {
      if (signal.aborted) return []
      attempts = targets.map(target => this.#broken(target, error))
    } finally {
      this.#destinations.release(destination)
    }
    // Cut off by the end of the service: the next one goes on.
    if (signal.aborted && attempts.every(({ outcome }) => outcome === 'retry')) return []
    const came = cameOf(attempts)
    // What asks more of hosts than others do says nothing of them.
    if (came !== 'unreached' || message.options.requireTls !== true) this.#destinations.report(destination, came)
    await this.#results.record(message, attempts, signal)
    return attempts
  }

  async #attempt(message: Outbound, targets: readonly Target[], signal: AbortSignal): Promise<Attempt[]> {
    const attempts: Attempt[] = []
    const far: Target[] = []
    for (const target of targets) {
      if (target.kind === 'mail' && (await isHere(this.#options.read, this.#options.srs.domain, target.value))) {
        attempts.push(await this.#deliverHere(message, target))
      } else far.push(target)
    }
    if (far.length > 0) attempts.push(...(await this.#part(far, () => this.#sendAway(message, far, signal))))
    return attempts
  }

  /** Something of ours broke. */
  #broken(target: Target, error: unknown): Attempt {
    const { log } = this.#options
    if (!(error instanceof Fault)) log.error({ error, queueId: queueId(target.message) }, 'a message could not be sent')
    return { target, ...byFault(error), reached: true }
  }

  /** Sends to some of the targets; what breaks for them has no others repeated that have the message. */
  async #part(targets: readonly Target[], send: () => Promise<Attempt[]>): Promise<Attempt[]> {
    try {
      return await send()
    } catch (error) {
      return targets.map(target => this.#broken(target, error))
    }
  }

  async #deliverHere(message: Outbound, target: Target): Promise<Attempt> {
    const { delivery, hostname } = this.#options
    const { body, prefix, sender: from } = message
    try {
      const found = await delivery.recipient(target.value)
      const recipient = message.options.ofForward === true ? { ...found, returned: { sender: '', message: 0 } } : found
      const stored = { body: body ?? 0, prefix: traceLine(message, hostname, now()) + prefix }
      const trust = message.origin === 'forward' ? (message.options.trust ?? 'theirs') : 'ours'
      const { requireTls } = message.options
      const envelope = { from, recipients: [recipient], source: 'submission' as const, trust, requireTls }
      const [result] = (await delivery.deliverStored(stored, envelope)) as [DeliveryResult]
      if ('refused' in result) throw result.refused
      const way = recipient.user === '' ? 'relayed' : 'here'
      return {
        target,
        outcome: 'delivered',
        way,
        status: 250,
        failure: null,
        response: 'delivered here',
        reached: true,
      }
    } catch (error) {
      if (!(error instanceof Fault)) this.#options.log.error({ error }, 'a message could not be delivered here')
      return { target, ...byFault(error), reached: true }
    }
  }

  async #sendAway(message: Outbound, targets: readonly Target[], signal: AbortSignal): Promise<Attempt[]> {
    const { read, bodies, hostname, findKeys, srs, secrets } = this.#options
    const how = { hostname, now: now(), findKeys, srsDomain: srs.domain, mark: markOf(message, targets, srs) }
    const opened = await openOutgoing(read, bodies, message, message.body ?? 0, how)
    const attempts: Attempt[] = []
    for (const target of targets.filter(({ kind }) => kind === 'http')) {
      attempts.push(...(await this.#part([target], async () => [await this.#post(message, target, opened, signal)])))
    }
    for (const target of targets.filter(({ kind }) => kind === 'relay')) {
      const to = message.options.forwardedFor ?? ''
      const submit = async () => {
        const way = relayFor(message, await secrets.open(target.value), this.#options)
        return this.#transactions.send(message, [{ target, to }], [way], opened, signal)
      }
      attempts.push(...(await this.#part([target], submit)))
    }
    const mail = targets.filter(({ kind }) => kind === 'mail')
    const people = mail.map(target => ({ target, to: wire(target.value) }))
    if (mail.length > 0)
      attempts.push(...(await this.#part(mail, () => this.#submitMail(message, people, opened, signal))))
    return attempts
  }

  /** Made when a URL is first called: most services never do, and its package is large. */
  #client(): Agent {
    const { outward, ca } = this.#options
    this.#agent ??= outward.agent({
      connectionsMax: limits.outbound.destinationInFlightMax,
      answerBytesMax: limits.outbound.answerBytesMax,
      ...(ca !== undefined && { ca }),
    })
    return this.#agent
  }

  async #post(message: Outbound, target: Target, opened: OutgoingMessage, signal: AbortSignal): Promise<Attempt> {
    const id = queueId(message.num)
    const { size, header } = opened
    const form = {
      ...{ id: `${id}.${target.seq.toString(16).padStart(seqDigits, '0')}`, queueId: id, size, header },
      from: message.options.originalSender ?? message.sender,
      to: message.options.forwardedFor ?? '',
      stream: () => opened.stream(),
      start: await opened.start(limits.outbound.httpBodyBytesMax),
    }
    const { secrets, version } = this.#options
    const url = await secrets.open(target.value)
    if (message.options.requireTls === true && new URL(url).protocol !== 'https:') {
      return byObstacle(target, requireTlsMissing)
    }
    const posted = await postForm(this.#client(), url, form, `Teal/${version}`, signal)
    const { delivered, final, failure, status, response } = posted
    return {
      target,
      outcome: delivered ? 'delivered' : final ? 'failed' : 'retry',
      ...{ failure, status, response, reached: status !== null || final },
    }
  }

  /** To the relay, or host after host of the domain; all targets are in one domain unless there is a relay. */
  async #submitMail(
    message: Outbound,
    recipients: readonly Recipient[],
    opened: OutgoingMessage,
    signal: AbortSignal,
  ): Promise<Attempt[]> {
    const { options } = message
    const relay = options.relay === undefined ? this.#options.relay : await this.#options.secrets.open(options.relay)
    if (relay !== '')
      return this.#transactions.send(message, recipients, [relayFor(message, relay, this.#options)], opened, signal)
    const domain = domainToAscii(splitAddress(recipients[0]?.to ?? '').domain)
    try {
      const { ways, obstacle } = await this.#ways.to(domain, demandOf(options, opened.header))
      const hindered = ({ target }: Pick<Recipient, 'target'>) => byObstacle(target, obstacle)
      if (ways.length === 0) return recipients.map(hindered)
      const attempts = await this.#transactions.send(message, recipients, ways, opened, signal)
      // RFC 5321 5.1: hosts that are named and lead nowhere are an error, and none that time mends.
      if (attempts.every(({ failure }) => failure === 'unresolved') && (await this.#ways.leadNowhere(domain)))
        throw new NoMailHost(domain, '5.4.4 None of the mail hosts of the domain has an address')
      // A host that is out of reach for now may keep what the others do not.
      const passes = ({ response, failure }: Attempt) => response === requireTlsMissing || failure === 'blocked'
      return attempts.map(one => (obstacle.startsWith('4') && passes(one) ? hindered(one) : one))
    } catch (error) {
      if (error instanceof NoMailHost)
        return recipients.map(({ target }) => failed(target, 'unresolved', error.status, error.message))
      if (error instanceof Fault) throw error
      return recipients.map(({ target }) => unreached(target, 'unresolved', 'the domain could not be looked up'))
    }
  }

  /** In pieces, until nothing is left: one of them in each round is less than a busy server sends. */
  async #forget(): Promise<void> {
    if (this.#forgetting) return
    this.#forgetting = true
    const { read, writer, log } = this.#options
    const at = now()
    const sent = { before: at - limits.outbound.keepMs, count: limits.outbound.sweepRowsMax }
    const decided = { before: at - limits.filter.traceMs, count: limits.filter.sweepRowsMax }
    try {
      do {
        const operations: Operation[] = [
          operation(outboundSweep, sent),
          ...sweepReturned(at),
          operation(traceSweep, decided),
        ]
        await writer.submit({ operations, bytes: 200, background: true })
      } while ((await hasOldOutbound(read, sent.before)) || (await hasOldTraces(read, decided.before)))
    } catch (error) {
      log.warn({ error }, 'what was sent long ago could not be forgotten')
    } finally {
      this.#forgetting = false
    }
  }
}

const seqDigits = 3
const slowedHelp = 'Destinations that are sent to more slowly, since they put mail off'
