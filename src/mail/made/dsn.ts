// Reports to senders about what became of their mail (RFC 3461, 3462, 3464): a text for people, fields for programs, and the
// message itself or its header.
//
// Pure. A report has the null sender and says `Auto-Submitted: auto-replied`, so that nobody answers it. What servers said is
// a stranger's text: it is cut, and nothing in it can begin a line of its own.

import { randomHex } from '#lib/id.ts'
import { limits } from '#lib/limits.ts'
import { domainToAscii, splitAddress } from '../address/address.ts'
import { encodeWords } from '../header/words.ts'
import { statusIn } from '../report/answer.ts'
import { byNumbers } from './notice.ts'

export interface ReportRecipient {
  readonly address: string
  /** The recipient its sender named, as `type;address`, where he did. */
  readonly original?: string
  readonly action: 'failed' | 'delayed' | 'delivered' | 'relayed'
  /** SMTP code of the last answer; null where nobody answered. */
  readonly status: number | null
  /** What the server said, or what went wrong without one. */
  readonly response: string
  /** Host that was spoken to. */
  readonly host?: string
  /** The words are our own: no host said them. */
  readonly ours?: boolean
  /** Until when it is tried further, for delays. */
  readonly until?: number
}

export interface Report {
  /** Name of this service. */
  readonly hostname: string
  /** Whom it goes to. */
  readonly to: string
  readonly now: number
  /** When the message was queued. */
  readonly arrived: number
  readonly envelopeId?: string | undefined
  readonly recipients: readonly ReportRecipient[]
  /** The message, or as much of it as is returned; header block first, with CRLF line ends. */
  readonly original: Buffer
  /** Whether `original` is the whole message. */
  readonly whole: boolean
  /** Of the message it is about. */
  readonly messageId?: string | undefined
}

/** The report as a message. */
export function composeReport(report: Report): Buffer {
  const { hostname, to, now, recipients, original, whole, messageId } = report
  const boundary = `=_report_${randomHex(boundaryBytes)}`
  const delayed = recipients.every(({ action }) => action === 'delayed')
  const delivered = recipients.every(({ action }) => action === 'delivered' || action === 'relayed')
  const subject = delayed ? 'Delivery is delayed' : delivered ? 'Delivered' : 'Delivery has failed'
  const known = messageId !== undefined && /^<[\x21-\x7e]{1,900}>$/.test(messageId)
  const head = [
    `From: Mail Delivery <mailer-daemon@${hostname}>`,
    `To: <${oneLine(to)}>`,
    `Subject: ${encodeWords(subject)}`,
    `Date: ${mailDate(now)}`,
    `Message-ID: <${randomHex(idBytes)}@${hostname}>`,
    ...(known ? [`In-Reply-To: ${messageId}`, `References: ${messageId}`] : []),
    'Auto-Submitted: auto-replied',
    'MIME-Version: 1.0',
    `Content-Type: multipart/report; report-type=delivery-status;\r\n boundary="${boundary}"`,
    '',
    '',
  ]
  const parts = [
    ['Content-Type: text/plain; charset=utf-8', 'Content-Transfer-Encoding: 8bit', '', explanation(report)],
    ['Content-Type: message/delivery-status', '', fields(report)],
  ]
  const text = parts.map(lines => `--${boundary}\r\n${lines.join('\r\n')}\r\n`).join('')
  const kind = whole ? 'message/rfc822' : 'text/rfc822-headers'
  const last = `--${boundary}\r\nContent-Type: ${kind}\r\nContent-Transfer-Encoding: 8bit\r\n\r\n`
  return Buffer.concat([Buffer.from(head.join('\r\n') + text + last), original, Buffer.from(`\r\n--${boundary}--\r\n`)])
}

const boundaryBytes = 12
const idBytes = 16

function explanation({ hostname, recipients }: Report): string {
  const lines = [`This is the mail system at ${hostname}.`, '']
  const groups = [
    ['failed', 'Your message could not be delivered to:'],
    [
      'delayed',
      'Your message is still waiting and will be tried again; you need not send it again. Not delivered yet:',
    ],
    ['delivered', 'Your message was delivered to:'],
    ['relayed', 'Your message was handed on, to hosts that may not report further:'],
  ] as const
  for (const [action, text] of groups) {
    const some = recipients.filter(recipient => recipient.action === action)
    if (some.length === 0) continue
    lines.push(text, '')
    for (const { address, response, until } of some) {
      lines.push(`  ${oneLine(address)}`)
      if (response !== '') lines.push(`    ${oneLine(response)}`)
      if (until !== undefined) lines.push(`    It is tried until ${mailDate(until)}.`)
      lines.push('')
    }
  }
  return lines.join('\r\n')
}

/** RFC 3464 2.2, 2.3. */
function fields({ hostname, arrived, envelopeId, recipients, now }: Report): string {
  const message = [
    ...(envelopeId === undefined ? [] : [`Original-Envelope-Id: ${oneLine(envelopeId)}`]),
    `Reporting-MTA: dns; ${hostname}`,
    `Arrival-Date: ${mailDate(arrived)}`,
  ]
  const each = recipients.map(({ address, original, action, status, response, host, ours, until }) => [
    '',
    ...(original === undefined ? [] : [`Original-Recipient: ${oneLine(original.replace(';', '; '))}`]),
    `Final-Recipient: ${typed(address)}`,
    `Action: ${action}`,
    `Status: ${enhanced(action, status, response)}`,
    ...(host === undefined ? [] : [`Remote-MTA: dns; ${oneLine(host)}`]),
    ...diagnosed(action, status, response, ours),
    `Last-Attempt-Date: ${mailDate(now)}`,
    ...(until === undefined ? [] : [`Will-Retry-Until: ${mailDate(until)}`]),
  ])
  return `${[...message, ...each.flat()].join('\r\n')}\r\n`
}

/** What a host said, or what we say where none did, who are no mail transport of a type that is registered (RFC 3464 2.3.6). */
function diagnosed(
  action: ReportRecipient['action'],
  status: number | null,
  response: string,
  ours = status === null,
): string[] {
  const done = action === 'delivered' || action === 'relayed'
  if (ours && (done || response === '')) return []
  const text = ours ? `x-teal; ${oneLine(response)}` : `smtp; ${oneLine(coded(status, response))}`
  return [`Diagnostic-Code: ${text.replace(/[^\x20-\x7e]/g, '?')}`]
}

/** Answers of hosts come with their code, those of our own without. */
function coded(status: number | null, response: string): string {
  return new RegExp(`^${status}[ -]`).test(response) ? response : `${status} ${response}`
}

/** Of the recipient: the part is ASCII alone, whatever the address is (RFC 3464 2.1, RFC 6533 3). */
function typed(address: string): string {
  if (/^[\x21-\x7e]+$/.test(address)) return `rfc822; ${address}`
  const { local, domain } = splitAddress(address)
  const ascii = domainToAscii(domain)
  return /^[\x21-\x7e]+$/.test(local) && ascii !== ''
    ? `rfc822; ${local}@${ascii}`
    : `utf-8; ${byNumbers(oneLine(address), /[^\x21-\x7e]|[\\+=]/gu)}`
}

/**
 * The enhanced code of the answer, or a general one of its class (RFC 3463), so that one status stands in all of a report: what
 * was given up after temporary answers has failed with the last of these (RFC 3464 2.3.4).
 */
function enhanced(action: ReportRecipient['action'], status: number | null, response: string): string {
  const done = action === 'delivered' || action === 'relayed'
  const answered = status === null ? null : Math.floor(status / 100)
  const kind = done ? 2 : answered === 4 || answered === 5 ? answered : action === 'failed' ? 5 : 4
  const said = statusIn(response, 100 * kind)
  if (said !== '') return said
  return status === null && !done ? `${kind}.4.1` : `${kind}.0.0`
}

function oneLine(text: string): string {
  return text
    .slice(0, limits.outbound.responseLengthMax)
    .replace(/[\x00-\x1f\x7f]+/g, ' ')
    .trim()
}

/** RFC 5322 3.3, in UTC. */
export function mailDate(at: number): string {
  return new Date(at).toUTCString().replace('GMT', '+0000')
}
