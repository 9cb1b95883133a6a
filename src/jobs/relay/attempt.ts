// What the answers of other hosts, and refusals of our own, mean for the recipients of an attempt.
//
// 5xx is final, everything else may pass; where nobody answered, the attempt reached nobody, and its destination rests.

import { smtpReply } from '#lib/fault.ts'
import type { Tracer } from '#lib/tracing/tracer.ts'
import { statusIn } from '#mail/report/answer.ts'
import { type Outbound, queueId, type Target } from '#store/sending/outbound.ts'
import type { Attempt } from './results.ts'
import type { MailFailed, MailSent, RefusedRecipient } from './smtp-client.ts'

export interface Recipient {
  readonly target: Target
  /** As it goes over the wire. */
  readonly to: string
}

type Answer = Omit<RefusedRecipient, 'recipient'>

const permanent = 500

/** RFC 5321 4.2.1: what begins with none of the digits that are said there means nothing for good. */
function isFinal(code: number): boolean {
  return code >= permanent && code < 600
}

/** What an attempt says of its destination. */
export function cameOf(attempts: readonly Attempt[]): 'taken' | 'busy' | 'answered' | 'unreached' {
  if (attempts.some(({ outcome }) => outcome === 'delivered')) return 'taken'
  if (!attempts.some(({ reached }) => reached)) return 'unreached'
  const refused = ({ outcome, status }: Attempt) =>
    outcome === 'retry' && status !== null && status >= 400 && status < 500
  return attempts.some(refused) ? 'busy' : 'answered'
}

export function bySent({ target, to }: Recipient, sent: MailSent, host: string): Attempt {
  const refused = sent.refused.find(({ recipient }) => recipient === to)
  if (refused === undefined) {
    const way = sent.reports ? 'reporting' : 'relayed'
    return {
      target,
      outcome: 'delivered',
      way,
      failure: null,
      status: 250,
      response: sent.response,
      host,
      security: sent.security,
      reached: true,
    }
  }
  const answer = byAnswer(target, refused, host)
  return { ...answer, ...(isCrowded(answer) && { outcome: 'retry' as const }), security: sent.security }
}

/**
 * Whether a recipient was refused since there were so many before it (RFC 5321 4.5.3.1.10, RFC 3463 3.6): the others are
 * for another transaction, and 552 is not for good.
 */
export function isCrowded({ outcome, status, response }: Pick<Attempt, 'outcome' | 'status' | 'response'>): boolean {
  if (outcome === 'delivered' || status === null) return false
  const enhanced = statusIn(response, status)
  if (/^[45]\.5\.3$/.test(enhanced)) return true
  const bare = enhanced === '' || /^[45]\.[05]\.0$/.test(enhanced)
  return (
    (status === 452 || status === 552) && bare && !/\b(?:size|large|bytes|quota|full|space|storage)\b/i.test(response)
  )
}

/** Whether a host has said that it does not take it now. */
export function isPutOff({ outcome, status, host }: Attempt): boolean {
  return outcome === 'retry' && status !== null && host !== undefined
}

export function byRefusal({ target, to }: Recipient, error: MailFailed, host: string): Attempt {
  const own = error.refused.find(({ recipient }) => recipient === to)
  const { status, response, unasked } = error
  return byAnswer(target, own ?? { code: status ?? permanent, response, unasked }, host)
}

function byAnswer(target: Target, { code, response, unasked }: Answer, host: string): Attempt {
  const outcome = isFinal(code) ? 'failed' : 'retry'
  const said = { failure: 'rejected', status: code, response, host, ...(unasked && { unasked }) }
  return { target, outcome, ...said, reached: true }
}

export function failed(target: Target, failure: string, status: number, response: string): Attempt {
  return { target, outcome: 'failed', failure, status, response, reached: true }
}

export function unreached(target: Target, failure: string, response: string, status: number | null = null): Attempt {
  return { target, outcome: 'retry', failure, status, response, reached: false }
}

/** What keeps a message from every host, as an enhanced code and a text: 4 for now, 5 for good. */
export function byObstacle(target: Target, obstacle: string): Attempt {
  return obstacle.startsWith('5') ? failed(target, 'tls', 550, obstacle) : unreached(target, 'tls', obstacle)
}

/** No host could be reached, or none that proved itself. */
export function unconnected(recipients: readonly Recipient[], last: MailFailed | undefined, host?: string): Attempt[] {
  const failure = last?.failure ?? 'unreachable'
  const response = last?.response || `no host could be reached: ${failure}`
  const at = host === undefined ? {} : { host }
  if (failure === 'blocked') {
    return recipients.map(({ target }) => failed(target, failure, 550, '5.4.4 The host is not public'))
  }
  // Who is not let in is so alone: others may log in there. Who closes is there.
  const reached = last?.login === true || last?.closing === true
  return recipients.map(({ target }) => ({
    ...{ ...unreached(target, failure, response, last?.status ?? null), reached },
    ...at,
  }))
}

/** The line broke when all was said: it may have arrived, so that it is not sent again at once. */
export function doubted({ target }: Recipient, { failure }: MailFailed, host: string): Attempt {
  const response = 'the host has all of the message, and did not say whether it keeps it'
  return { target, outcome: 'retry', failure, status: null, response, host, reached: true }
}

/** What our own refusals mean to a sender. */
export function byFault(error: unknown): Pick<Attempt, 'outcome' | 'failure' | 'status' | 'response'> {
  const { code, enhanced, text } = smtpReply(error)
  const outcome = code >= permanent ? 'failed' : 'retry'
  return { outcome, failure: 'rejected', status: code, response: `${enhanced} ${text}` }
}

/** One attempt for a message as a span: where it went and what came of it, without anybody's address. */
export async function traceAttempts(
  tracer: Tracer | undefined,
  message: Outbound,
  run: () => Promise<readonly Attempt[]>,
): Promise<void> {
  if (tracer === undefined) return void (await run())
  const begun = tracer.begin()
  const attempts = await run()
  const count = (outcome: Attempt['outcome']) => attempts.filter(one => one.outcome === outcome).length
  const answered = attempts.find(({ status }) => status !== null)
  tracer.end(begun, {
    name: 'send outbound',
    kind: 'client',
    attributes: {
      ...{ 'messaging.operation.type': 'send', 'teal.queue.id': queueId(message.num) },
      ...{ 'teal.recipients': attempts.length, 'teal.recipients.delivered': count('delivered') },
      ...{ 'teal.recipients.deferred': count('retry'), 'teal.recipients.failed': count('failed') },
      ...{ 'server.address': attempts.find(({ host }) => host !== undefined)?.host },
      ...{ 'teal.reply.code': answered?.status ?? undefined },
    },
  })
}
