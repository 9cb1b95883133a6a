// What this service tells other domains, and counts for it, put together from the core: where domains ask for it, and where the
// configuration does not say no.

import { ReportCounts } from '#actors/sending/report-counts.ts'
import type { Closers, Core } from '#core'
import { Reports } from '#jobs/reports/reports.ts'
import { limits } from '#lib/limits.ts'
import { memoize } from '#lib/memoize.ts'
import { txtResolver } from '#net/tls/mta-sts.ts'
import { countReportRows, type ReportKind } from '#store/sending/report.ts'

/** Where sessions with other hosts are counted; undefined where nobody is told of them. Closed after what counts. */
export function countSessions({ config, system, log }: Core, closers: Closers): ReportCounts | undefined {
  if (!config.reports.tls) return undefined
  const counts = new ReportCounts(system, log)
  closers.add(() => counts.flush())
  return counts
}

/** Starts telling what was counted. */
export function tellDomains(core: Core, closers: Closers): void {
  const { config, read, jobWriter: writer, sequence, bodies, outward, log, metrics, dkim, kick } = core
  const rows = memoize(() => countReportRows(read, limits.report.countMax), limits.outbound.figuresMs)
  metrics.observe('report_rows', 'Rows that wait to be told to other domains', rows)
  const kinds = (['tls', 'dmarc'] as const).filter((kind: ReportKind) => config.reports[kind])
  if (kinds.length === 0 || !config.outbound.enabled) return
  const domain = config.mail.defaultDomain || config.hostname
  const reports = new Reports({
    ...{ read, writer, sequence, bodies, outward, log, metrics, kinds, domain, kick },
    signs: async () => (await dkim.findSigningKeys(domain)).length > 0,
    resolveTxt: txtResolver(config.network.dnsServers),
  })
  closers.add(() => reports.close())
  reports.kick()
}
