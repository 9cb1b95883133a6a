// A report about TLS (RFC 8460 4): how sessions with the hosts of a domain went on one day, as JSON.
//
// Pure. Counts of the same policy are put together; what is told are the words of the standard.

/** What is counted of one session; without `flaw` it went well. */
export interface TlsDetail {
  readonly policy: {
    readonly kind: 'tlsa' | 'sts' | 'no-policy-found'
    readonly strings: readonly string[]
    readonly hosts: readonly string[]
  }
  readonly flaw?: string
  readonly reason?: string
  readonly mx?: string
  readonly local?: string
  readonly remote?: string
}

export interface TlsReport {
  readonly organization: string
  readonly contact: string
  readonly reportId: string
  readonly domain: string
  readonly from: number
  /** The last moment of it. */
  readonly to: number
  readonly counts: readonly { readonly detail: TlsDetail; readonly count: number }[]
}

export function tlsReport({ organization, contact, reportId, domain, from, to, counts }: TlsReport): string {
  const groups = new Map<string, TlsReport['counts'][number][]>()
  for (const one of counts) {
    const key = JSON.stringify(one.detail.policy)
    groups.set(key, [...(groups.get(key) ?? []), one])
  }
  const iso = (at: number) => new Date(at).toISOString().replace(/\.\d+Z$/, 'Z')
  return JSON.stringify({
    'organization-name': organization,
    'date-range': { 'start-datetime': iso(from), 'end-datetime': iso(to) },
    'contact-info': contact,
    'report-id': reportId,
    policies: [...groups.values()].map(group => policyOf(domain, group)),
  })
}

function policyOf(domain: string, group: TlsReport['counts']) {
  const failed = group.filter(({ detail }) => detail.flaw !== undefined)
  const sum = (some: TlsReport['counts']) => some.reduce((total, { count }) => total + count, 0)
  const { kind = 'no-policy-found', strings = [], hosts = [] } = group[0]?.detail.policy ?? {}
  return {
    policy: {
      'policy-type': kind,
      ...(strings.length > 0 && { 'policy-string': strings }),
      'policy-domain': domain,
      ...(hosts.length > 0 && { 'mx-host': hosts }),
    },
    summary: {
      'total-successful-session-count': sum(group) - sum(failed),
      'total-failure-session-count': sum(failed),
    },
    ...(failed.length > 0 && { 'failure-details': failed.map(failureOf) }),
  }
}

function failureOf({ detail, count }: TlsReport['counts'][number]) {
  const { flaw, local = '', mx = '', remote = '', reason = '' } = detail
  return {
    'result-type': flaw,
    ...(local !== '' && { 'sending-mta-ip': local }),
    ...(mx !== '' && { 'receiving-mx-hostname': mx }),
    ...(remote !== '' && { 'receiving-ip': remote }),
    'failed-session-count': count,
    ...(reason !== '' && { 'failure-reason-code': reason }),
  }
}
