// Tells other domains once a day what was counted of them: how sessions with their hosts went (RFC 8460), and mail that came in
// their name (DMARC; RFC 7489, RFC 9990). Only those that ask for it, where they ask for it.
//
// Reports leave some hours after the day, each domain at a moment of its own, so that not all of the world is told at
// midnight. One that is queued is forgotten in the same unit; what nobody takes is forgotten after some days. A report goes under
// a null sender: what comes back would tell nobody anything.

import { createHash } from 'node:crypto'
import { promisify } from 'node:util'
import { gzip } from 'node:zlib'
import type { Agent } from 'undici'
import { prepare } from '#actors/delivery/prepare.ts'
import type { JobWriter } from '#actors/kernel/job-writer.ts'
import { mailTargets, queueOperations } from '#actors/sending/outgoing.ts'
import { dayOf } from '#actors/sending/report-counts.ts'
import { after, now } from '#lib/clock.ts'
import { limits } from '#lib/limits.ts'
import type { Log } from '#lib/log.ts'
import type { Metrics } from '#lib/metrics.ts'
import { type DmarcDetail, dmarcReport } from '#mail/made/dmarc-report.ts'
import { composeReportMail } from '#mail/made/report-mail.ts'
import { type TlsDetail, tlsReport } from '#mail/made/tls-report.ts'
import type { Outward } from '#net/outward/outward.ts'
import type { ResolveTxt } from '#net/tls/mta-sts.ts'
import type { Bodies } from '#store/bodies/bodies.ts'
import type { Reader } from '#store/engine/reader.ts'
import type { Sequence } from '#store/engine/sequence.ts'
import { type Operation, operation } from '#store/engine/write.ts'
import {
  type ReportCount,
  type ReportKind,
  type ReportSubject,
  reportCounts,
  reportDone,
  reportSubjects,
} from '#store/sending/report.ts'
import { Loop } from '../loop.ts'
import { reportAddresses } from './report-addresses.ts'

export interface ReportOptions {
  readonly read: Reader
  readonly writer: JobWriter
  readonly sequence: Sequence
  readonly bodies: Bodies
  readonly outward: Outward
  readonly log: Log
  readonly metrics: Metrics
  /** What is told; the rest is neither counted nor told. */
  readonly kinds: readonly ReportKind[]
  /** Who tells: the domain of the sender, which signs. */
  readonly domain: string
  /** Whether mail of that domain is signed now. */
  readonly signs: () => Promise<boolean>
  readonly resolveTxt: ResolveTxt
  readonly kick: () => void
  /** Certificates to trust instead of the built-in ones, for tests. */
  readonly ca?: string
}

const pack = promisify(gzip)
const idLength = 16

export class Reports {
  readonly #options: ReportOptions
  readonly #loop: Loop<ReportSubject>
  /** What could not be told, and when it is tried again. */
  readonly #later = new Map<string, number>()
  /** URLs that have a report which others do not have yet. */
  readonly #having = new Map<string, Set<string>>()
  readonly #busy = new Set<string>()
  #agent: Agent | undefined

  constructor(options: ReportOptions) {
    this.#options = options
    this.#loop = new Loop<ReportSubject>(
      {
        name: 'reports',
        claim: async (room, at) => {
          // What ends while rows are read may be among them still.
          const busy = new Set(this.#busy)
          const due = (await this.#waiting(at)).filter(one => this.#dueOf(one) <= at && !busy.has(keyOf(one)))
          const taken = due.slice(0, room)
          for (const one of taken) this.#busy.add(keyOf(one))
          return taken
        },
        run: (item, signal) => this.#run(item, signal),
        clockBack: ms => {
          for (const [key, until] of this.#later) this.#later.set(key, until - ms)
        },
        next: async () => {
          const at = now()
          const due = (await this.#waiting(at)).map(one => this.#dueOf(one))
          return Math.max(at + limits.loop.retryMs, Math.min(dayOf(at) + limits.time.day, ...due))
        },
      },
      { inFlightMax: limits.report.inFlightMax, log: options.log, metrics: options.metrics, duty: options.writer.duty },
    )
  }

  kick(): void {
    this.#loop.kick()
  }

  async close(): Promise<void> {
    await this.#loop.close()
    await this.#agent?.destroy()
  }

  async #waiting(at: number): Promise<ReportSubject[]> {
    const { read, kinds } = this.#options
    const each = kinds.map(kind => reportSubjects(read, kind, dayOf(at), limits.report.subjectsMax))
    return (await Promise.all(each)).flat()
  }

  #dueOf(one: ReportSubject): number {
    const spread = createHash('sha256').update(keyOf(one)).digest().readUInt32BE(0) % limits.report.spreadMs
    return Math.max(one.day + limits.time.day + spread, this.#later.get(keyOf(one)) ?? 0)
  }

  async #run(subject: ReportSubject, signal: AbortSignal): Promise<void> {
    const { log, metrics } = this.#options
    const key = keyOf(subject)
    try {
      const result = await this.#tell(subject, signal)
      this.#settled(key)
      metrics.reports.labels(subject.kind, result).inc()
    } catch (error) {
      if (signal.aborted) return
      const over = now() - subject.day > limits.report.keepMs
      metrics.reports.labels(subject.kind, over ? 'lost' : 'later').inc()
      log.info({ domain: subject.domain, kind: subject.kind, why: String(error), over }, 'a report could not be sent')
      this.#later.set(key, now() + limits.report.retryMs)
      if (!over) return
      await this.#forget(subject)
      this.#settled(key)
    } finally {
      this.#busy.delete(key)
    }
  }

  /** Nothing is left to be told. */
  #settled(key: string): void {
    this.#later.delete(key)
    this.#having.delete(key)
  }

  async #tell(subject: ReportSubject, signal: AbortSignal): Promise<'sent' | 'unwanted' | 'unsigned'> {
    const { kind, domain } = subject
    const { read, resolveTxt, signs } = this.#options
    const { mail, https, doubtful } = await reportAddresses(kind, domain, resolveTxt)
    const waits = now() < subject.day + limits.time.day + limits.report.agreementMs
    if (doubtful && (waits || mail.length === 0)) throw new Error('it is not known who agrees to be told')
    if (mail.length + https.length === 0) {
      await this.#forget(subject)
      return 'unwanted'
    }
    // RFC 8460 3: a report about TLS that comes by mail is signed, or is not believed.
    const signed = kind !== 'tls' || (await signs())
    const rows = (await reportCounts(read, subject, limits.report.rowsMax)).filter(({ detail }) => detail !== '')
    const report = await this.#made(subject, rows)
    const targets = signed ? mail.filter(({ bytesMax }) => report.packed.length <= bytesMax) : []
    const posted = await this.#postAll(subject, https, report.packed, signal)
    // RFC 8460 5.4: who does not take it is asked again for a day; mail goes when that is over, since what was told is forgotten then.
    const patient = now() < subject.day + limits.time.day + limits.report.postAgainMs
    if (posted < https.length && (patient || posted + targets.length === 0)) throw new Error('not everybody took it')
    const addresses = targets.map(({ address }) => address)
    await this.#queue(subject, report, addresses)
    return posted + targets.length > 0 ? 'sent' : 'unsigned'
  }

  async #made({ kind, day, domain }: ReportSubject, rows: readonly ReportCount[]) {
    const { domain: organization } = this.#options
    const to = day + limits.time.day - 1000
    const reportId = createHash('sha256')
      .update(`${organization} ${kind} ${domain} ${day}`)
      .digest('hex')
      .slice(0, idLength)
    const counts = rows.map(({ detail, count }) => ({ detail: JSON.parse(detail) as unknown, count }))
    const shared = { organization, contact: `postmaster@${organization}`, reportId, from: day, to }
    const name = `${organization}!${domain}!${Math.floor(day / 1000)}!${Math.floor(to / 1000)}`
    if (kind === 'tls') {
      const text = tlsReport({ ...shared, domain, counts: counts as { detail: TlsDetail; count: number }[] })
      return { reportId, filename: `${name}!${reportId}.json.gz`, packed: await pack(text) }
    }
    const all = counts as { detail: DmarcDetail; count: number }[]
    // A domain that changed its record during the day is told by the newest one that was met most.
    const published = all[0]?.detail.published ?? noPolicy(domain)
    const text = dmarcReport({ ...shared, published, counts: all })
    return { reportId, filename: `${name}.xml.gz`, packed: await pack(text) }
  }

  async #queue(
    subject: ReportSubject,
    { reportId, filename, packed }: { reportId: string; filename: string; packed: Buffer },
    addresses: readonly string[],
  ): Promise<void> {
    const { bodies, sequence, writer, domain: submitter, kick } = this.#options
    const { kind, domain, day } = subject
    const operations: Operation[] = [operation(reportDone, subject)]
    const date = new Date(day).toISOString().slice(0, 'yyyy-mm-dd'.length)
    const what = kind === 'tls' ? `TLS sessions with the mail hosts of ${domain}` : `mail in the name of ${domain}`
    const words = [`This is a report by ${submitter} about ${what} on ${date} (UTC).`, 'It is meant for programs.']
    const received = []
    let bytes = 100
    for (const to of addresses) {
      const from = `postmaster@${submitter}`
      const mail = { ...{ from, to, domain, submitter, reportId, now: now(), words, filename, packed, kind } }
      const one = await bodies.receive(composeReportMail(mail))
      received.push(one)
      bytes += one.size
      const prepared = await prepare(one, sequence)
      // RFC 8460 3: a report gets there whatever is wrong with TLS.
      const options = { anyTls: true as const }
      const outgoing = {
        user: null,
        from: '',
        targets: mailTargets([to]),
        prepared,
        origin: 'report' as const,
        options,
      }
      operations.push(...queueOperations(sequence, now(), outgoing))
    }
    try {
      await writer.submit({ operations, bytes })
    } finally {
      for (const one of received) await one.discard()
    }
    if (addresses.length > 0) kick()
  }

  /** How many have it; none of them gets it again. */
  async #postAll(
    subject: ReportSubject,
    urls: readonly string[],
    packed: Buffer,
    signal: AbortSignal,
  ): Promise<number> {
    const key = keyOf(subject)
    const having = this.#having.get(key) ?? new Set()
    if (urls.length > 0) this.#having.set(key, having)
    for (const url of urls) if (!having.has(url) && (await this.#post(url, packed, signal))) having.add(url)
    return urls.filter(url => having.has(url)).length
  }

  /** RFC 8460 5.4. */
  async #post(url: string, packed: Buffer, signal: AbortSignal): Promise<boolean> {
    const { outward, log, ca } = this.#options
    const { answerBytesMax } = limits.report
    this.#agent ??= outward.agent({ connectionsMax: 1, answerBytesMax, ...(ca !== undefined && { ca }) })
    const ended = new AbortController()
    const stop = () => ended.abort()
    const timer = after(limits.report.postMs, stop)
    signal.addEventListener('abort', stop, { once: true })
    try {
      const { origin, pathname, search } = new URL(url)
      const headers = { 'content-type': 'application/tlsrpt+gzip' }
      const how = { origin, path: pathname + search, method: 'POST' as const, headers, body: packed }
      const { statusCode, body } = await this.#agent.request({ ...how, signal: ended.signal })
      await body.dump({ limit: limits.report.answerBytesMax }).catch(() => {})
      return statusCode >= 200 && statusCode < 300
    } catch (error) {
      log.debug({ why: String(error) }, 'a report was not taken')
      return false
    } finally {
      timer.cancel()
      signal.removeEventListener('abort', stop)
    }
  }

  async #forget(subject: ReportSubject): Promise<void> {
    await this.#options.writer.write(reportDone, subject)
  }
}

function noPolicy(domain: string): DmarcDetail['published'] {
  return { domain, adkim: 'r', aspf: 'r', p: 'none', sp: 'none' }
}

function keyOf({ kind, day, domain }: ReportSubject): string {
  return `${kind} ${day} ${domain}`
}
