// Reads reports that arrived about domains of ours (mail/report/arrived.ts), on a thread, and keeps what they say.
//
// What cannot be read is none: it is not tried again. A report about a domain that is not here is left alone, and so is one that came
// to anybody else than the postmaster, unless the records of the domain ask for reports there.

import type { JobWriter } from '#actors/kernel/job-writer.ts'
import { mayBeReport, type ReportNote, reportTask } from '#actors/sending/report-arrival.ts'
import { now } from '#lib/clock.ts'
import { Fault } from '#lib/fault.ts'
import { limits } from '#lib/limits.ts'
import type { Log } from '#lib/log.ts'
import type { Metrics } from '#lib/metrics.ts'
import { normalizeAddress } from '#mail/address/address.ts'
import { decodeBody } from '#mail/mime/decode.ts'
import type { ArrivedReport } from '#mail/report/arrived.ts'
import type { Pools } from '#pool'
import { holdsDomain } from '#store/accounts/address.ts'
import type { Task } from '#store/accounts/task.ts'
import type { Bodies } from '#store/bodies/bodies.ts'
import type { Reader } from '#store/engine/reader.ts'
import { readDetail, readSummary } from '#store/mailboxes/outlines.ts'
import { arrivedReportPut, arrivedReportRow } from '#store/sending/arrived-report.ts'
import type { TaskRun, Tasks } from './tasks.ts'

export interface ReportReadingDeps {
  readonly read: Reader
  readonly writer: JobWriter
  readonly bodies: Bodies
  readonly pools: Pick<Pools, 'keys'>
  readonly log: Log
  readonly metrics: Metrics
  /** TXT records of a name; null where nobody answers. */
  readonly texts: (name: string) => Promise<string[] | null>
}

export function handleArrivedReports(tasks: Tasks, deps: ReportReadingDeps): void {
  tasks.handle(reportTask, (task, run) => readReports(deps, task, run))
}

/** Input: a ReportNote. */
async function readReports(deps: ReportReadingDeps, { input }: Task, { signal }: TaskRun) {
  const { read, bodies } = deps
  // A task of old does not say who was proven.
  const { body, proven = '', named } = input as unknown as Partial<ReportNote> & Pick<ReportNote, 'body'>
  const [detail, summary] = [await readDetail(read, body), await readSummary(read, body)]
  // Deleted meanwhile, or stored in an encrypted form.
  if (detail === undefined || summary === undefined) return { reports: 0 }
  let reports = 0
  const found = summary.attachments.filter(mayBeReport).slice(0, limits.arrivedReport.filesMax)
  for (const { id, transferEncoding } of found) {
    const place = detail.attachments.find(one => one.id === id)
    if (place === undefined || place.end - place.start > 2 * limits.arrivedReport.packedBytesMax) continue
    const encoded = await (await bodies.open(body)).read(place.start, place.end)
    const data = decodeBody(Buffer.from(encoded), transferEncoding.toLowerCase())
    if (await take(deps, { data, proven, named }, signal)) reports += 1
  }
  return { reports }
}

async function take(
  { read, writer, pools, log, metrics, texts }: ReportReadingDeps,
  { data, proven, named }: Pick<ReportNote, 'proven' | 'named'> & { data: Buffer },
  signal: AbortSignal,
) {
  let report: ArrivedReport
  try {
    report = await pools.keys.run('report', { data }, { signal })
    // It would stand before all others for as long as it is kept.
    if (report.begin > now() + limits.arrivedReport.aheadMs) throw new RangeError('about days to come')
  } catch (error) {
    // Too much to do now passes; that the thread had to be ended, or found nothing, does not.
    if (error instanceof Fault && error.code === 'Overloaded') throw error
    metrics.arrivedReports.labels('unreadable').inc()
    log.info({ why: String(error) }, 'a report that arrived could not be read')
    return false
  }
  if (!(await holdsDomain(read, report.domain))) {
    metrics.arrivedReports.labels('foreign').inc()
    return false
  }
  if (named !== undefined && !(await isNamed(texts, report, named))) {
    metrics.arrivedReports.labels('unasked').inc()
    return false
  }
  const { keepMs, keptMax: keepMax } = limits.arrivedReport
  const at = now()
  const { kind, domain, reporter, reportId } = report
  const about = { kind, domain, reporter, reportId, proven }
  await writer.write(arrivedReportPut, {
    row: arrivedReportRow(report, at, proven),
    about,
    keepMax,
    before: at - keepMs,
  })
  metrics.arrivedReports.labels(proven === '' ? `${kind}-unproven` : kind).inc()
  return true
}

/** Whether the records of the domain ask for reports at one of these addresses. */
async function isNamed(
  texts: ReportReadingDeps['texts'],
  { kind, domain }: ArrivedReport,
  addresses: readonly string[],
): Promise<boolean> {
  const records = await texts(kind === 'tls' ? `_smtp._tls.${domain}` : `_dmarc.${domain}`)
  // Nobody answers now; the report stays where it is.
  if (records === null) throw new Fault('Overloaded')
  const uris = records.flatMap(record => /(?:^|;)\s*rua\s*=\s*([^;]*)/i.exec(record)?.[1]?.split(',') ?? [])
  const asked = uris.map(uri => /^\s*mailto:([^!?\s]+)/i.exec(uri)?.[1] ?? '')
  const keys = new Set(asked.map(address => normalizeAddress(address.replace(/%40/g, '@')).key))
  return addresses.some(address => keys.has(normalizeAddress(address).key))
}
