// A DMARC aggregate report (RFC 9990): mail that came in the name of a domain on one day, as XML.
//
// Pure. Nothing stands in it but what the schema knows (appendix A), which has neither `pct` nor the words of RFC 7489 for it, and of SPF
// the envelope alone. What strangers chose (domains, selectors) is text and nothing else: markup is escaped, what XML cannot hold left out.

interface DmarcPublished {
  readonly domain: string
  readonly adkim: 'r' | 's'
  readonly aspf: 'r' | 's'
  readonly p: string
  readonly sp: string
  readonly np?: string
  readonly testing?: boolean
}

/** What is counted of one message. */
export interface DmarcDetail {
  readonly published: DmarcPublished
  readonly ip: string
  readonly disposition: 'none' | 'quarantine' | 'reject'
  readonly dkim: boolean
  readonly spf: boolean
  readonly reason?: { readonly type: string; readonly comment: string }
  readonly headerFrom: string
  readonly envelopeFrom: string
  readonly signatures: readonly { readonly domain: string; readonly selector: string; readonly result: string }[]
  readonly host?: { readonly domain: string; readonly result: string }
}

export interface DmarcReport {
  readonly organization: string
  readonly contact: string
  readonly reportId: string
  readonly from: number
  /** The last moment of it. */
  readonly to: number
  readonly published: DmarcPublished
  readonly counts: readonly { readonly detail: DmarcDetail; readonly count: number }[]
}

type Node = readonly [name: string, content: string | number | readonly Node[]]

const namespace = 'urn:ietf:params:xml:ns:dmarc-2.0'

export function dmarcReport({ organization, contact, reportId, from, to, published, counts }: DmarcReport): string {
  const seconds = (at: number) => Math.floor(at / 1000)
  const { domain, adkim, aspf, p, sp, np, testing = false } = published
  const metadata: Node[] = [
    ['org_name', organization],
    ['email', contact],
    ['report_id', reportId],
    [
      'date_range',
      [
        ['begin', seconds(from)],
        ['end', seconds(to)],
      ],
    ],
  ]
  const policy: Node[] = [
    ...([
      ['domain', domain],
      ['adkim', adkim],
      ['aspf', aspf],
      ['p', p],
      ['sp', sp],
    ] as Node[]),
    ...(np === undefined ? [] : ([['np', np]] as Node[])),
    ['testing', testing ? 'y' : 'n'],
    ['discovery_method', 'treewalk'],
  ]
  const records = counts.map(({ detail, count }): Node => ['record', recordOf(detail, count)])
  const root: Node = [
    'feedback',
    [['version', '1.0'], ['report_metadata', metadata], ['policy_published', policy], ...records],
  ]
  return `<?xml version="1.0" encoding="UTF-8" ?>\n${written(root, '').replace('<feedback>', `<feedback xmlns="${namespace}">`)}`
}

function recordOf(detail: DmarcDetail, count: number): Node[] {
  const { ip, disposition, dkim, spf, reason, headerFrom, envelopeFrom, signatures, host } = detail
  const word = (passed: boolean) => (passed ? 'pass' : 'fail')
  const because: Node[] =
    reason === undefined
      ? []
      : [
          [
            'reason',
            [
              ['type', reason.type],
              ['comment', reason.comment],
            ],
          ],
        ]
  const evaluated: Node[] = [['disposition', disposition], ['dkim', word(dkim)], ['spf', word(spf)], ...because]
  const signed = signatures.map(
    ({ domain, selector, result }): Node => [
      'dkim',
      [
        ['domain', domain],
        ['selector', selector],
        ['result', result],
      ],
    ],
  )
  const sent: Node[] =
    host === undefined
      ? []
      : [
          [
            'spf',
            [
              ['domain', host.domain],
              ['scope', 'mfrom'],
              ['result', host.result],
            ],
          ],
        ]
  return [
    [
      'row',
      [
        ['source_ip', ip],
        ['count', count],
        ['policy_evaluated', evaluated],
      ],
    ],
    [
      'identifiers',
      [
        ['envelope_from', envelopeFrom],
        ['header_from', headerFrom],
      ],
    ],
    ['auth_results', [...signed, ...sent]],
  ]
}

function written([name, content]: Node, indent: string): string {
  if (typeof content !== 'object') return `${indent}<${name}>${escaped(String(content))}</${name}>\n`
  return `${indent}<${name}>\n${content.map(one => written(one, `${indent}  `)).join('')}${indent}</${name}>\n`
}

const entities: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&apos;',
}

/** Characters that XML 1.0 has, markup escaped. */
function escaped(text: string): string {
  const held = text.toWellFormed().replace(/[^\t\n\r\x20-\ud7ff\ue000-\ufffd\u{10000}-\u{10ffff}]/gu, '')
  return held.replace(/[&<>"']/g, found => entities[found] ?? '')
}
