// A report that another service sent us, read (RFC 7489 appendix C, RFC 9990, RFC 8460 4.4): whose it is, about what, and the counts.
//
// Runs on a thread, since a stranger wrote it. What is not by the form is no report; texts are cut, numbers bounded, and only
// the rows that count most are kept.

import { limits } from '#lib/limits.ts'
import { decodeCharset } from '../mime/charset.ts'
import { unpack } from './unpack.ts'
import { readXml, type XmlElement } from './xml.ts'

export interface ArrivedRow {
  /** DMARC: the host that sent. TLS: host that was sent to. */
  readonly source: string
  readonly count: number
  /** Whether it is a failure. */
  readonly failed: boolean
  /** DMARC: disposition. TLS: what went wrong. */
  readonly result: string
  /** DMARC: `dkim`, `spf` where these passed. */
  readonly passed?: readonly string[]
  readonly reason?: string
}

export interface ArrivedReport {
  readonly kind: 'dmarc' | 'tls'
  /** About what. */
  readonly domain: string
  readonly reporter: string
  readonly reportId: string
  /** Milliseconds since 1970. */
  readonly begin: number
  readonly end: number
  readonly total: number
  readonly failed: number
  readonly rows: readonly ArrivedRow[]
}

/** What the thread does, by name. */
export interface PoolReportTask {
  report: { input: { data: Uint8Array }; value: ArrivedReport }
}

const countMax = 1e12

/** @throws SyntaxError, RangeError for what is no report */
export function readReport(data: Uint8Array): ArrivedReport {
  const text = textOf(unpack(Buffer.from(data.buffer, data.byteOffset, data.byteLength)))
  const first = /[<{]/.exec(text.slice(0, limits.arrivedReport.textLengthMax))?.[0]
  if (first === '{') return tlsReport(JSON.parse(text) as Json)
  if (first === '<') return dmarcReport(readXml(text))
  throw new SyntaxError('no report')
}

/** In whatever code it says it is written (XML 1.0 4.3.3); zeros that fill its end are left out. */
function textOf(bytes: Buffer): string {
  let end = bytes.length
  const wide = (bytes[0] === 0xff && bytes[1] === 0xfe) || (bytes[0] === 0xfe && bytes[1] === 0xff)
  if (wide) return decodeCharset(bytes, 'utf-16').replace(/^\ufeff/, '')
  while (end > 0 && bytes[end - 1] === 0) end -= 1
  const declared = /^[^<]{0,9}<\?xml[^>]{0,99}?\sencoding\s*=\s*["']([\w.:-]{1,40})["']/.exec(
    bytes.toString('latin1', 0, 200),
  )
  const label = /^utf-?16/i.test(declared?.[1] ?? '') ? 'utf-8' : declared?.[1]
  return decodeCharset(bytes.subarray(0, end), label ?? 'utf-8').replace(/^\ufeff/, '')
}

function dmarcReport(root: XmlElement): ArrivedReport {
  if (root.name !== 'feedback') throw new SyntaxError('no report')
  const metadata = child(root, 'report_metadata')
  const range = child(metadata, 'date_range')
  const rows = root.children.filter(({ name }) => name === 'record').map(recordOf)
  return complete({
    kind: 'dmarc',
    domain: word(child(child(root, 'policy_published'), 'domain')),
    reporter: word(child(metadata, 'org_name')),
    reportId: word(child(metadata, 'report_id')),
    begin: number(child(range, 'begin')?.text) * 1000,
    end: number(child(range, 'end')?.text) * 1000,
    rows,
    total: rows.reduce((sum, { count }) => sum + count, 0),
  })
}

function recordOf(record: XmlElement): ArrivedRow {
  const row = child(record, 'row')
  const evaluated = child(row, 'policy_evaluated')
  const passed = ['dkim', 'spf'].filter(name => word(child(evaluated, name)).toLowerCase() === 'pass')
  const reason = word(child(child(evaluated, 'reason'), 'type'))
  return {
    source: word(child(row, 'source_ip')),
    count: number(child(row, 'count')?.text),
    failed: passed.length === 0,
    result: word(child(evaluated, 'disposition')) || 'none',
    passed,
    ...(reason !== '' && { reason }),
  }
}

type Json = { readonly [key: string]: unknown }

function tlsReport(report: Json): ArrivedReport {
  const policies = list(report.policies)
  const range = object(report['date-range'])
  let total = 0
  const rows: ArrivedRow[] = []
  let domain = ''
  for (const one of policies.map(object)) {
    domain ||= cut(object(one.policy)['policy-domain'])
    const summary = object(one.summary)
    total += number(summary['total-successful-session-count']) + number(summary['total-failure-session-count'])
    for (const detail of list(one['failure-details']).map(object)) {
      const reason = cut(detail['failure-reason-code'])
      rows.push({
        source: cut(detail['receiving-mx-hostname']),
        count: number(detail['failed-session-count']),
        failed: true,
        result: cut(detail['result-type']),
        ...(reason !== '' && { reason }),
      })
    }
  }
  return complete({
    kind: 'tls',
    ...{ domain, reporter: cut(report['organization-name']), reportId: cut(report['report-id']), total, rows },
    begin: Date.parse(cut(range['start-datetime'])),
    end: Date.parse(cut(range['end-datetime'])),
  })
}

function complete(report: Omit<ArrivedReport, 'failed'>): ArrivedReport {
  const { domain, reporter, reportId, begin, end, rows } = report
  const dated = begin > 0 && end >= begin && end <= limits.date.msMax
  if (domain === '' || reporter === '' || reportId === '' || !dated) throw new SyntaxError('not complete')
  const failed = rows.reduce((sum, one) => sum + (one.failed ? one.count : 0), 0)
  const most = [...rows].sort((one, other) => other.count - one.count).slice(0, limits.arrivedReport.rowsMax)
  return { ...report, domain: domain.toLowerCase().replace(/\.$/, ''), failed, rows: most }
}

function child(element: XmlElement | undefined, name: string): XmlElement | undefined {
  return element?.children.find(one => one.name === name)
}

function word(element: XmlElement | undefined): string {
  return cut(element?.text)
}

function cut(text: unknown): string {
  return typeof text === 'string' ? text.trim().slice(0, limits.arrivedReport.textLengthMax) : ''
}

function number(value: unknown): number {
  const found = typeof value === 'string' ? Number(value.trim() || Number.NaN) : value
  return typeof found === 'number' && found >= 0 && found <= countMax ? Math.floor(found) : 0
}

function object(value: unknown): Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Json) : {}
}

function list(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value.slice(0, limits.arrivedReport.rowsMax) : []
}
