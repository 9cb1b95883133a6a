// The service at a glance: what needs a look, what it holds, and the last hour, day or week in plots.
//
// Figures are the service's own samples. A part that this session may not ask for is left out.

import { useState } from 'preact/hooks'
import type { Reply } from '../base/client.ts'
import { bytes, number, percent } from '../base/language.ts'
import { Card, Loaded, Page } from '../base/parts.tsx'
import { useCall } from '../base/resource.ts'
import { Attention } from './attention.tsx'
import { Choice } from './kit/list.tsx'
import { Plot, type Steps } from './kit/plot.tsx'
import type { Line } from './kit/plot-table.tsx'
import { adminTexts } from './texts/texts.ts'

type Figures = Reply<'GET /figures'>
type Name = keyof Figures['columns']

const spans = { hour: 3600, day: 86_400, week: 604_800 } as const
type Span = keyof typeof spans

const minuteMs = 60_000

export function OverviewPage() {
  const { pages, overview: texts } = adminTexts.value
  const [span, setSpan] = useState<Span>('day')
  // By the minute, so that the question stays the same while the page is drawn again.
  const now = Math.floor(Date.now() / minuteMs) * minuteMs
  const figures = useCall('GET /figures', { query: { from: new Date(now - spans[span] * 1000).toISOString() } })
  const choice = <Choice label={texts.span} value={span} options={texts.spans} onChoose={chosen => setSpan(chosen)} />
  return (
    <Page title={pages.overview} actions={choice}>
      <Attention />
      <Loaded of={figures}>
        {data => (
          <>
            <Tiles data={data} />
            {latest(data, 'users') !== undefined && <Plots data={data} />}
          </>
        )}
      </Loaded>
    </Page>
  )
}

/** The last sample there is. */
function latest(data: Figures, name: Name): number | undefined {
  return lastOf(data.columns[name])
}

function lastOf(values: readonly (number | null)[]): number | undefined {
  return values.findLast(value => value !== null) ?? undefined
}

function Tiles({ data }: { readonly data: Figures }) {
  const { overview: texts } = adminTexts.value
  const [users, storage, free, disk, queue, age, sessions] = (
    ['users', 'storage', 'diskFree', 'disk', 'queue', 'queueAge', 'sessions'] as const
  ).map(name => latest(data, name))
  if (users === undefined) return <p class="callout">{texts.noData}</p>
  const tiles = [
    [texts.users, number(users), ''],
    [texts.storage, bytes(storage ?? 0), texts.disk(bytes(free ?? 0), bytes(disk ?? 0))],
    [texts.queue, number(queue ?? 0), (queue ?? 0) > 0 ? texts.oldest(duration(age ?? 0)) : ''],
    [texts.sessions, number(sessions ?? 0), ''],
  ] as const
  return (
    <dl class="tiles">
      {tiles.map(([title, value, more]) => (
        <div key={title} class="card">
          <dt>{title}</dt>
          <dd>
            <strong>{value}</strong>
            {more !== '' && <span>{more}</span>}
          </dd>
        </div>
      ))}
    </dl>
  )
}

function Plots({ data }: { readonly data: Figures }) {
  const { overview: texts } = adminTexts.value
  const { columns, from, step } = data
  const start = Date.parse(from) / 1000
  const times = columns.received.map((_, index) => start + index * step)
  const counted = (label: string, name: Name): Line => ({ label, values: columns[name], of: total })
  const stood = (label: string, name: Name): Line => ({ label, values: columns[name], of: lastOf })
  const timed = (label: string, name: Name): Line => ({ label, values: columns[name], of: median })
  const half = percent(0.5)
  const nearly = percent(0.99)
  const plots: readonly (readonly [string, readonly Line[], ((value: number) => string)?, Steps?])[] = [
    [
      texts.mail,
      [
        counted(texts.received, 'received'),
        counted(texts.sent, 'sent'),
        counted(texts.refused, 'refused'),
        counted(texts.retried, 'sendRetried'),
        counted(texts.failed, 'sendFailed'),
      ],
    ],
    [
      texts.verdicts,
      [
        counted(texts.pass, 'verdictPass'),
        counted(texts.noPolicy, 'verdictNone'),
        counted(texts.quarantine, 'verdictQuarantine'),
        counted(texts.reject, 'verdictReject'),
        counted(texts.other, 'verdictOther'),
      ],
    ],
    [texts.logins, [counted(texts.loginsOk, 'logins'), counted(texts.loginsFailed, 'loginsFailed')]],
    [texts.queueLong, [stood(texts.waiting, 'queue')]],
    [
      texts.latency,
      [
        timed(texts.calls(half), 'callP50'),
        timed(texts.calls(nearly), 'callP99'),
        timed(texts.deliveries(half), 'deliveryP50'),
        timed(texts.deliveries(nearly), 'deliveryP99'),
      ],
      milliseconds,
      { least: 0.1, base: 10 },
    ],
    [texts.stored, [stood(texts.storage, 'storage')], bytes, { least: 1024, base: 1024 }],
    [
      texts.connections,
      [
        counted(texts.accepted, 'connections'),
        counted(texts.turned, 'connectionsRefused'),
        stood(texts.sessions, 'sessions'),
      ],
    ],
  ]
  return (
    <div class="plots">
      {plots.map(([title, lines, form = number, steps]) => (
        <Card key={title}>
          <Plot title={title} times={times} lines={lines} form={form} steps={steps} />
        </Card>
      ))}
    </div>
  )
}

function total(values: readonly (number | null)[]): number | undefined {
  return values.length === 0 ? undefined : values.reduce<number>((sum, value) => sum + (value ?? 0), 0)
}

function median(values: readonly (number | null)[]): number | undefined {
  const known = values.filter(value => value !== null).sort((a, b) => a - b)
  return known[Math.floor(known.length / 2)]
}

function milliseconds(value: number): string {
  return value < 1000 ? `${number(Math.round(value * 10) / 10)} ms` : `${number(Math.round(value / 100) / 10)} s`
}

const units = [
  ['day', 86_400],
  ['hour', 3600],
  ['minute', 60],
] as const

function duration(seconds: number): string {
  const [unit, size] = units.find(([, least]) => seconds >= least) ?? (['second', 1] as const)
  const form = { style: 'unit', unit, unitDisplay: 'long' } as const
  return new Intl.NumberFormat(document.documentElement.lang, form).format(Math.round(seconds / size))
}
