// What came of an attempt: the rows say so, and where it failed or takes long the sender gets a report in the same unit.
//
// Nobody is told twice of a delay, nobody with a null sender is told anything, and reports and autoreplies bring none about.
// A message whose schedule is over, by tries or by age, has failed.

import { prepare } from '#actors/delivery/prepare.ts'
import type { JobWriter } from '#actors/kernel/job-writer.ts'
import { queueOperations } from '#actors/sending/outgoing.ts'
import { now } from '#lib/clock.ts'
import { cut, type Journal } from '#lib/journal/journal.ts'
import { limits } from '#lib/limits.ts'
import type { Log } from '#lib/log.ts'
import type { Metrics } from '#lib/metrics.ts'
import { maskUrl } from '#lib/secret/url-secret.ts'
import { composeReport, type ReportRecipient } from '#mail/made/dsn.ts'
import type { Bodies, Received } from '#store/bodies/bodies.ts'
import type { Reader } from '#store/engine/reader.ts'
import type { Sequence } from '#store/engine/sequence.ts'
import { type Operation, operation } from '#store/engine/write.ts'
import { type EventRow, eventInsert } from '#store/events/event.ts'
import type { Settings } from '#store/folder/settings.ts'
import { readDetail } from '#store/mailboxes/outlines.ts'
import { attemptPut } from '#store/sending/attempts.ts'
import { type Outbound, outboundSettle, queueId, type Target, type TargetOutcome } from '#store/sending/outbound.ts'
import { persist } from '../loop.ts'
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
  readonly wanted?: (name: 'message.sent') => boolean
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
    const reports = await this.#reports(message, settled, at)
    const outcomes = settled.map(({ final }) => final)
    const operations: Operation[] = [
      ...reports.operations,
      operation(outboundSettle, { message: message.num, outcomes, at }),
      ...settled.map(one => operation(attemptPut, attemptOf(message, one, at))),
      ...this.#events(message, settled, at),
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

  #events(message: Outbound, settled: readonly Settled[], at: number): Operation[] {
    const { sequence, wanted } = this.#options
    const delivered = settled.filter(({ final }) => final.state === 2)
    if (delivered.length === 0 || wanted?.('message.sent') !== true) return []
    return delivered.map(({ target }) => {
      const { user } = message
      const body = { ...(user !== null && { user }), queueId: queueId(message.num), recipient: nameOf(target) }
      const row: EventRow = [sequence.next('event'), 'message.sent', user, JSON.stringify(body), at]
      return operation(eventInsert, row)
    })
  }

  async #reports(
    message: Outbound,
    settled: readonly Settled[],
    at: number,
  ): Promise<{ operations: Operation[]; received: Received[]; bytes: number }> {
    const nothing = { operations: [], received: [], bytes: 0 }
    const to = message.options.originalSender ?? message.sender
    const told = settled.filter(one => isTold(message, one))
    if (to === '' || told.length === 0 || message.body === null) return nothing
    const { read, bodies, sequence, hostname, log } = this.#options
    try {
      const body = bodies.open(message.body, false)
      const headerSize = (await readDetail(read, message.body))?.headerSize ?? 0
      const prefix = Buffer.from(message.prefix)
      const whole = body.size + prefix.length <= returnedMax(message, told)
      const original = Buffer.concat([prefix, await body.read(0, whole ? body.size : headerSize)])
      const { envelopeId, messageId } = message.options
      const recipients = told.map(one => shown(message, one))
      const form = {
        hostname,
        to,
        now: at,
        arrived: message.created,
        recipients,
        original,
        whole,
        envelopeId,
        messageId,
      }
      const report = composeReport(form)
      const received = await bodies.receive(report)
      const prepared = await prepare(received, sequence)
      const targets = [{ kind: 'mail' as const, value: to }]
      const options = message.options.requireTls === true ? ({ requireTls: true } as const) : {}
      const outgoing = { user: null, from: '', targets, prepared, origin: 'report' as const, options }
      return { operations: queueOperations(sequence, at, outgoing), received: [received], bytes: report.length }
    } catch (error) {
      log.warn({ error, queueId: queueId(message.num) }, 'a report could not be written')
      return nothing
    }
  }
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

/** A target as it may be told to others. */
function nameOf({ kind, value }: Target): string {
  return kind === 'mail' ? value : maskUrl(value)
}

function shown({ options }: Outbound, settled: Settled): ReportRecipient {
  const { target, final, status, response, host, until, way } = settled
  const done = way === 'here' ? 'delivered' : 'relayed'
  const action = final.state === 3 ? 'failed' : final.state === 2 ? done : 'delayed'
  // Where an account has its mail sent on to is nobody else's business.
  const address = target.kind === 'mail' ? target.value : (options.forwardedFor ?? '')
  const original = options.notices?.[address]?.original
  return {
    ...{ address, action, status, response },
    ...(original !== undefined && { original }),
    ...(host !== undefined && { host }),
    ...(action === 'delayed' && { until }),
  }
}

const units: Readonly<Record<string, number>> = {
  s: limits.time.second,
  m: limits.time.minute,
  h: limits.time.hour,
  d: limits.time.day,
}

/** The waits of `5m, 2h, ...` in milliseconds. */
export function retryWaits(text: string): readonly number[] {
  let waits = parsed.get(text)
  if (waits === undefined) {
    waits = [...text.matchAll(/(\d+)\s*([smhd])/g)].map(([, count, unit]) => Number(count) * (units[unit ?? ''] ?? 0))
    parsed.clear()
    parsed.set(text, waits)
  }
  return waits
}

const parsed = new Map<string, readonly number[]>()
