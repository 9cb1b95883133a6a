// What came of an attempt: the rows say so, and where it failed or takes long the sender gets a report in the same unit.
//
// Nobody is told twice of a delay, nobody with a null sender is told anything, and reports and autoreplies bring none about.
// A message whose schedule is over, by tries or by age, has failed. What of a forward fails is told to who forwards it, not to who
// wrote it (actors/sending/forward-owner.ts).

import type { EventName } from '#actors/kernel/events.ts'
import type { JobWriter } from '#actors/kernel/job-writer.ts'
import { ownerOfForward } from '#actors/sending/forward-owner.ts'
import { now } from '#lib/clock.ts'
import { cut, type Journal } from '#lib/journal/journal.ts'
import { limits } from '#lib/limits.ts'
import type { Log } from '#lib/log.ts'
import type { Metrics } from '#lib/metrics.ts'
import { composeReport, type ReportRecipient } from '#mail/made/dsn.ts'
import { composeServiceLetter } from '#mail/made/service-letter.ts'
import type { Bodies } from '#store/bodies/bodies.ts'
import type { Reader } from '#store/engine/reader.ts'
import type { Sequence } from '#store/engine/sequence.ts'
import { type Operation, operation } from '#store/engine/write.ts'
import { type EventRow, eventInsert } from '#store/events/event.ts'
import type { Settings } from '#store/folder/settings.ts'
import { readDetail } from '#store/mailboxes/outlines.ts'
import { attemptPut } from '#store/sending/attempts.ts'
import { type Outbound, outboundSettle, queueId, type Target, type TargetOutcome } from '#store/sending/outbound.ts'
import { persist } from '../loop.ts'
import { nothingWritten, together, type Written, writeLetter } from '../returned/letter.ts'
import {
  addressOperations,
  isToldEnough,
  kindOf,
  shownTarget as nameOf,
  type Said,
  type Trouble,
  troubleOperations,
  troublesOf,
} from '../returned/outcome.ts'
import { retryWaits } from '../returned/waits.ts'
import type { Security } from './smtp-client.ts'

export interface Attempt {
  /** As it was claimed: this try is counted. */
  readonly target: Target
  readonly outcome: 'delivered' | 'failed' | 'retry'
  /** What was delivered is in a mailbox here, with a host that reports further, or with one that does not. */
  readonly way?: 'here' | 'reporting' | 'relayed'
  readonly failure: string | null
  /** SMTP or HTTP status; null where nobody answered. */
  readonly status: number | null
  readonly response: string
  readonly host?: string
  readonly security?: Security
  /** The host said none of it: it is known without asking that it would refuse. */
  readonly unasked?: boolean
  /** Whether somebody answered at all. */
  readonly reached: boolean
}

export interface ResultOptions {
  readonly read: Reader
  readonly writer: JobWriter
  readonly sequence: Sequence
  readonly settings: Settings
  readonly bodies: Bodies
  readonly log: Log
  readonly journal?: Journal
  readonly metrics?: Pick<Metrics, 'relayed'>
  readonly hostname: string
  readonly postmaster: string
  readonly wanted?: (name: EventName) => boolean
  readonly kick?: () => void
}

type Settled = Attempt & { readonly final: TargetOutcome; readonly until: number }

export class RelayResults {
  readonly #options: ResultOptions

  constructor(options: ResultOptions) {
    this.#options = options
  }

  /** Records one transaction; tried again until storage takes it, or `signal` ends. */
  async record(message: Outbound, attempts: readonly Attempt[], signal: AbortSignal): Promise<void> {
    const { writer, settings } = this.#options
    const at = now()
    const waits = retryWaits(settings.get('const:sender:defer_times'))
    const settled = attempts.map(attempt => settle(message, attempt, waits, at))
    const said = settled.map(saidOf)
    const troubles = await troublesOf(this.#options, message, said, at)
    const quiet = new Set(troubles.filter(one => isToldEnough(message, one, at)).map(one => one.said.target))
    const told = settled.filter(one => isTold(message, one) && !quiet.has(one.target))
    const reports = await this.#reports(message, { told, troubles }, at)
    const toldOf = new Set(reports.operations.length > 0 ? told.map(({ target }) => target) : [])
    const outcomes = settled.map(({ final }) => final)
    const operations: Operation[] = [
      ...reports.operations,
      operation(outboundSettle, { message: message.num, outcomes, at }),
      ...settled.map(one => operation(attemptPut, attemptOf(message, one, at))),
      ...(await addressOperations(this.#options, message, said, at)),
      ...(await troubleOperations(this.#options, message, { said, troubles, told: toldOf, at })),
      ...this.#events(message, settled, troubles, at),
    ]
    try {
      // Bytes: a report is the only thing of weight.
      const unit = { operations, bytes: 500 + reports.bytes }
      await persist(() => writer.submit(unit), signal)
    } finally {
      for (const received of reports.received) await received.discard()
    }
    if (operations.length > 1) this.#options.kick?.()
    for (const one of settled) {
      this.#options.metrics?.relayed.labels(outcomeOf(one.final)).inc()
      this.#options.journal?.note('attempt', '', attemptFields(message, one), 'sent on')
    }
  }

  /** What subscribers hear: what was taken, and what failed for good. */
  #events(message: Outbound, settled: readonly Settled[], troubles: readonly Trouble[], at: number): Operation[] {
    const { sequence, wanted } = this.#options
    const { user } = message
    const whose = user === null ? {} : { user }
    const event = (name: EventName, body: object): Operation[] => {
      if (wanted?.(name) !== true) return []
      const row: EventRow = [sequence.next('event'), name, user, JSON.stringify({ ...whose, ...body }), at]
      return [operation(eventInsert, row)]
    }
    const ended = settled.flatMap(one => {
      const about = { queueId: queueId(message.num), recipient: nameOf(one.target) }
      if (one.final.state === 2) return event('message.sent', about)
      if (one.final.state !== 3) return []
      const { kind, status } = kindOf(saidOf(one))
      const response = one.response.slice(0, limits.outbound.responseLengthMax)
      return event('message.bounced', { ...about, kind, status, response, final: true, reported: false, proven: true })
    })
    const failing = troubles
      .filter(({ warned }) => warned)
      .map(({ target, known }) => ({ target, since: new Date(known?.since ?? at).toISOString() }))
    const address = message.options.forwardedFor ?? ''
    return [...ended, ...failing.flatMap(one => event('forward.failing', { address, ...one }))]
  }

  /** What is told of an attempt, and to whom. That it cannot be written costs nobody the attempt's record. */
  async #reports(
    message: Outbound,
    { told, troubles }: { told: readonly Settled[]; troubles: readonly Trouble[] },
    at: number,
  ): Promise<Written> {
    const forwarded = message.origin === 'forward'
    const sender = message.options.originalSender ?? message.sender
    const warned = troubles.filter(one => one.warned)
    if (told.length + warned.length === 0) return nothingWritten
    try {
      const owner = forwarded ? await ownerOfForward(this.#options.read, message, this.#options.postmaster) : undefined
      const to = forwarded ? (owner?.address ?? '') : sender
      if (to === '') return nothingWritten
      // Nothing is told of what a program sent: what it is told of would come back in a circle.
      const report = sender === '' || told.length === 0 ? [] : [await this.#report(message, to, told, at)]
      const letters = await Promise.all(warned.map(one => this.#failing(message, to, one, at)))
      return together([...report, ...letters])
    } catch (error) {
      this.#options.log.warn({ error, queueId: queueId(message.num) }, 'a report could not be written')
      return nothingWritten
    }
  }

  async #report(message: Outbound, to: string, told: readonly Settled[], at: number): Promise<Written> {
    const { bodies, read, hostname } = this.#options
    if (message.body === null) return nothingWritten
    const body = await bodies.open(message.body, false)
    const headerSize = (await readDetail(read, message.body))?.headerSize ?? 0
    const prefix = Buffer.from(message.prefix)
    const whole = body.size + prefix.length <= returnedMax(message, told)
    const original = Buffer.concat([prefix, await body.read(0, whole ? body.size : headerSize)])
    const { envelopeId, messageId } = message.options
    const form = {
      ...{ hostname, to, now: at, arrived: message.created, original, whole, envelopeId, messageId },
      recipients: told.map(one => shown(message, one)),
    }
    const options = {
      ...(message.options.requireTls === true && ({ requireTls: true } as const)),
      ...(message.origin === 'forward' && ({ ofForward: true } as const)),
    }
    return writeLetter(this.#options, { message: composeReport(form), to, at, options })
  }

  /** To whose forward it is: a target has refused everything for days. */
  #failing(message: Outbound, to: string, { target, known, said }: Trouble, at: number): Promise<Written> {
    const since = new Date(known?.since ?? at).toISOString()
    const lines = [
      `Mail to ${message.options.forwardedFor ?? ''} is forwarded to ${target}, which has refused it since ${since}`,
      `(${(known?.failures ?? 0) + 1} times). It said last:`,
      '',
      `  ${said.text}`,
      '',
      'The forward goes on as it is. Change or remove it if the address is not used any more.',
    ]
    const subject = `Forwarding to ${target} fails`
    const letter = composeServiceLetter({ hostname: this.#options.hostname, to, subject, lines, now: at })
    return writeLetter(this.#options, { message: letter, to, at, options: { ofForward: true } })
  }
}

function saidOf({ target, final, status, response, failure }: Settled): Said {
  const state = final.state === 2 ? 'delivered' : final.state === 3 ? 'failed' : 'waiting'
  return { target, state, code: status, text: response, asked: failure !== 'unresolved' }
}

function settle(message: Outbound, attempt: Attempt, waits: readonly number[], at: number): Settled {
  const { target, outcome, failure, status, response } = attempt
  const total = waits.reduce((sum, wait) => sum + wait, 0)
  const wait = waits[target.attempts - 1]
  const begun = Math.max(message.created, message.options.notBefore ?? 0)
  const over = wait === undefined || at - begun > total + limits.outbound.restMs
  const state = outcome === 'delivered' ? 2 : outcome === 'failed' || over ? 3 : 0
  const late = state === 0 && at + (wait ?? 0) - begun >= limits.outbound.warnMs && target.warned === null
  const kept = response.slice(0, limits.outbound.responseLengthMax)
  const due = state === 0 ? at + (wait ?? 0) : at
  return {
    ...attempt,
    until: begun + total,
    final: { seq: target.seq, state, due, counts: true, failure, status, response: kept, warned: late },
  }
}

function attemptOf(message: Outbound, settled: Settled, at: number) {
  const { target, failure, status, response, host, final, security = null } = settled
  const kept = { at, failure, status, response: final.response ?? response.slice(0, limits.outbound.responseLengthMax) }
  const outcome =
    final.state === 2 ? ('delivered' as const) : final.state === 3 ? ('failed' as const) : ('retry' as const)
  return {
    message: message.num,
    seq: target.seq,
    attempt: target.attempts,
    outcome,
    host: host ?? null,
    security,
    ...kept,
  }
}

function outcomeOf({ state }: TargetOutcome): 'delivered' | 'failed' | 'retry' {
  return state === 2 ? 'delivered' : state === 3 ? 'failed' : 'retry'
}

/** What the log says of an attempt; passwords in URLs are masked. */
function attemptFields({ num, user, sender, size, options }: Outbound, { target, host, way, final, ...came }: Settled) {
  const { failure, status, response } = came
  return {
    queueId: queueId(num),
    ...(user !== null && { user }),
    ...{ from: cut(sender), to: cut(nameOf(target)), size },
    ...(options.messageId !== undefined && { messageId: cut(options.messageId) }),
    ...{ attempt: target.attempts, outcome: outcomeOf(final) },
    ...(host !== undefined && { host }),
    ...(came.security !== undefined && { security: came.security }),
    ...(way !== undefined && { way }),
    ...(failure !== null && { failure }),
    ...(status !== null && { status }),
    response: cut(response),
    ...(final.state === 0 && { next: new Date(final.due).toISOString() }),
  }
}

/** Bytes up to which the report of these outcomes carries all of the message (RFC 3461 4.3). */
function returnedMax({ options: { returns, requireTls } }: Outbound, told: readonly Settled[]): number {
  // RFC 8689 5: of what is protected the header at most, whatever its sender said.
  if (returns === 'headers' || requireTls === true || !told.some(({ final }) => final.state === 3)) return 0
  return returns === 'full' ? limits.outbound.reportFullBytesMax : limits.outbound.reportBytesMax
}

/** Whether the sender hears of this outcome (RFC 3461 4.1; a forward's owner wants no letters about targets of his). */
function isTold({ origin, options }: Outbound, { target, final, way }: Settled): boolean {
  if (origin === 'autoreply' || origin === 'report' || target.kind === 'http') return false
  const notify = options.notices?.[target.value]?.notify ?? ['failure', 'delay']
  if (notify.includes('never')) return false
  if (final.state === 3) return notify.includes('failure')
  // RFC 3461 5.2.2: a host that knows the parameters has them, and reports itself.
  if (final.state === 2) return notify.includes('success') && way !== 'reporting'
  return final.warned && origin === 'submission' && notify.includes('delay')
}

function shown({ options }: Outbound, settled: Settled): ReportRecipient {
  const { target, final, status, response, host, until, way, unasked = false } = settled
  const done = way === 'here' ? 'delivered' : 'relayed'
  const action = final.state === 3 ? 'failed' : final.state === 2 ? done : 'delayed'
  // Where an account has its mail sent on to is nobody else's business.
  const address = target.kind === 'mail' ? target.value : (options.forwardedFor ?? '')
  const original = options.notices?.[address]?.original
  return {
    ...{ address, action, status, response, ours: status === null || host === undefined || unasked },
    ...(original !== undefined && { original }),
    ...(host !== undefined && { host }),
    ...(action === 'delayed' && { until }),
  }
}
