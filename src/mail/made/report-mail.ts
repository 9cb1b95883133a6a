// Reports that programs read, as messages (RFC 8460 5.3, RFC 7489 7.2.1.1): some words for people, and a packed file.
//
// Pure. Nobody answers them: `Auto-Submitted: auto-generated`. Names in them were checked by whoever gives them.

import { randomHex } from '#lib/id.ts'
import { mailDate } from './dsn.ts'

export interface ReportMail {
  readonly from: string
  readonly to: string
  /** Who is told, who tells, and by what they know the report. */
  readonly domain: string
  readonly submitter: string
  readonly reportId: string
  readonly now: number
  /** For people, one line each. */
  readonly words: readonly string[]
  readonly filename: string
  readonly packed: Buffer
  readonly kind: 'tls' | 'dmarc'
}

const boundaryBytes = 12
const lineLength = 76

export function composeReportMail(report: ReportMail): Buffer {
  const { from, to, domain, submitter, reportId, now, words, filename, packed, kind } = report
  const boundary = `=_report_${randomHex(boundaryBytes)}`
  const tls = kind === 'tls'
  const type = tls ? 'application/tlsrpt+gzip' : 'application/gzip'
  const id = tls ? `<${reportId}@${submitter}>` : `<${reportId}>`
  const lines = [
    `From: <${from}>`,
    `To: <${to}>`,
    `Subject: Report Domain: ${domain}`,
    ` Submitter: ${submitter}`,
    ` Report-ID: ${id}`,
    `Date: ${mailDate(now)}`,
    `Message-ID: <${randomHex(boundaryBytes)}@${submitter}>`,
    ...(tls ? [`TLS-Report-Domain: ${domain}`, `TLS-Report-Submitter: ${submitter}`] : []),
    'Auto-Submitted: auto-generated',
    'MIME-Version: 1.0',
    `Content-Type: multipart/${tls ? 'report; report-type="tlsrpt"' : 'mixed'};`,
    ` boundary="${boundary}"`,
    '',
    `--${boundary}`,
    'Content-Type: text/plain; charset=utf-8',
    '',
    ...words,
    '',
    `--${boundary}`,
    `Content-Type: ${type}; name="${filename}"`,
    'Content-Transfer-Encoding: base64',
    `Content-Disposition: attachment; filename="${filename}"`,
    '',
    ...(packed.toString('base64').match(new RegExp(`.{1,${lineLength}}`, 'g')) ?? []),
    `--${boundary}--`,
    '',
  ]
  return Buffer.from(lines.join('\r\n'))
}
