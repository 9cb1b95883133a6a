// What others report about mail of our domains, over HTTP: each report, and all of some days summed up.
//
// Anybody may send a report, so what it says is a hint and no proof; what nobody was proven to have sent is summed up by itself. Nothing
// here is bounded by more than what is kept.

import { Type } from 'typebox'
import { now } from '#lib/clock.ts'
import { limits } from '#lib/limits.ts'
import { domainToAscii, domainToUnicode } from '#mail/address/address.ts'
import type { Reader } from '#store/engine/reader.ts'
import { type ArrivedReportRow, listArrivedReports } from '#store/sending/arrived-report.ts'
import { type Endpoint, endpoint } from '../../endpoint.ts'
import { int, moment, oneOf, optional } from '../../schema.ts'
import { domainName } from '../accounts/domains.ts'

export interface ReportDeps {
  readonly read: Reader
}

const daysMax = 365
const daysUsual = 30
const shownMax = 1000

const rowShape = Type.Object({
  source: Type.String({ description: 'dmarc: the address that sent; tls: the host that was sent to' }),
  count: Type.Integer({ description: 'Messages, or sessions' }),
  failed: Type.Boolean(),
  result: Type.String({ description: 'dmarc: what was done with it; tls: what went wrong (RFC 8460 4.3)' }),
  passed: Type.Optional(Type.Array(Type.String(), { description: 'dmarc: `dkim`, `spf`' })),
  reason: Type.Optional(Type.String()),
})

const sums = {
  dmarc: Type.Object({
    ...{ reports: Type.Integer(), messages: Type.Integer(), failed: Type.Integer() },
    sources: Type.Array(Type.Object({ ip: Type.String(), messages: Type.Integer(), failed: Type.Integer() })),
  }),
  tls: Type.Object({
    ...{ reports: Type.Integer(), sessions: Type.Integer(), failed: Type.Integer() },
    failures: Type.Array(Type.Object({ result: Type.String(), host: Type.String(), sessions: Type.Integer() })),
  }),
}

const days = optional(int({ min: 1, max: daysMax, description: 'How far back, 30 days unless told' }))

export function reportEndpoints({ read }: ReportDeps): Endpoint[] {
  const since = (some: number = daysUsual) => now() - some * limits.time.day
  const namesOf = (domain: string) => domainToAscii(domain) || domainToUnicode(domain)

  const listed = endpoint({
    method: 'GET',
    path: '/reports',
    tag: 'Reports',
    summary: 'List reports that others sent about domains of this service, newest first',
    allow: 'settings.read',
    query: { domain: optional(domainName), kind: optional(oneOf(['dmarc', 'tls'])), days },
    reply: {
      results: Type.Array(
        Type.Object({
          kind: oneOf(['dmarc', 'tls']),
          ...{ domain: Type.String(), reporter: Type.String(), reportId: Type.String() },
          ...{ begin: moment, end: moment, received: moment, total: Type.Integer(), failed: Type.Integer() },
          proven: Type.Union([Type.String(), Type.Literal(false)], {
            description: 'Domain that was proven to have sent it; false where nobody knows who did',
          }),
          rows: Type.Array(rowShape),
        }),
      ),
    },
    async run({ input }) {
      const domain = input.domain === undefined ? null : namesOf(input.domain)
      const where = { domain, kind: input.kind ?? null, since: since(input.days) }
      return { results: (await listArrivedReports(read, where, shownMax)).map(shown) }
    },
  })

  const summed = endpoint({
    method: 'GET',
    path: '/reports/summary',
    tag: 'Reports',
    summary: 'What others report about a domain, summed up',
    description:
      'Reports of which nobody was proven to be the sender are in `unproven` alone: anybody may have made them up.',
    allow: 'settings.read',
    query: { domain: domainName, days },
    reply: {
      domain: Type.String(),
      since: moment,
      ...sums,
      unproven: Type.Object(sums),
    },
    async run({ input }) {
      const domain = namesOf(input.domain)
      const from = since(input.days)
      const all = await listArrivedReports(read, { domain, kind: null, since: from }, 2 * limits.arrivedReport.keptMax)
      const [proven, unproven] = [all.filter(one => one.proven !== ''), all.filter(one => one.proven === '')]
      return { domain, since: new Date(from).toISOString(), ...summary(proven), unproven: summary(unproven) }
    },
  })
  return [summed, listed]
}

function summary(all: readonly ArrivedReportRow[]) {
  const sources = new Map<string, { ip: string; messages: number; failed: number }>()
  const failures = new Map<string, { result: string; host: string; sessions: number }>()
  const dmarc = all.filter(({ kind }) => kind === 'dmarc')
  const tls = all.filter(({ kind }) => kind === 'tls')
  for (const { source: ip, count, failed } of dmarc.flatMap(({ rows }) => rows)) {
    const known = sources.get(ip) ?? { ip, messages: 0, failed: 0 }
    sources.set(ip, { ip, messages: known.messages + count, failed: known.failed + (failed ? count : 0) })
  }
  for (const { source: host, result, count } of tls.flatMap(({ rows }) => rows)) {
    const key = `${result} ${host}`
    failures.set(key, { result, host, sessions: (failures.get(key)?.sessions ?? 0) + count })
  }
  const sum = (some: readonly ArrivedReportRow[], name: 'total' | 'failed') => some.reduce((n, one) => n + one[name], 0)
  const { rowsMax } = limits.arrivedReport
  return {
    dmarc: {
      ...{ reports: dmarc.length, messages: sum(dmarc, 'total'), failed: sum(dmarc, 'failed') },
      sources: [...sources.values()].sort((a, b) => b.failed - a.failed || b.messages - a.messages).slice(0, rowsMax),
    },
    tls: {
      ...{ reports: tls.length, sessions: sum(tls, 'total'), failed: sum(tls, 'failed') },
      failures: [...failures.values()].sort((a, b) => b.sessions - a.sessions).slice(0, rowsMax),
    },
  }
}

function shown({ begin, end, received, rows, proven, ...rest }: ArrivedReportRow) {
  const iso = (at: number) => new Date(at).toISOString()
  return {
    ...rest,
    begin: iso(begin),
    end: iso(end),
    received: iso(received),
    proven: proven === '' ? (false as const) : proven,
    rows: rows.map(one => ({ ...one, passed: [...(one.passed ?? [])] })),
  }
}
