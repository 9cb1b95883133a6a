// The service's log: the last lines by level, event, user and text, older ones on demand, and new ones as they are written.
//
// Lines are text of strangers in part: they are shown as text. A page that follows keeps a bounded number of them.

import { useEffect, useState } from 'preact/hooks'
import { addressOf, call, type Reply } from '../base/client.ts'
import { locale, number } from '../base/language.ts'
import { shownSigns } from '../base/names.ts'
import { failed } from '../base/notice.tsx'
import { Badge, Card, Loaded, Page, Table } from '../base/parts.tsx'
import { useCall } from '../base/resource.ts'
import { Choice, Search } from './kit/list.tsx'
import { adminTexts } from './texts/texts.ts'

type LogLine = Reply<'GET /log'>['results'][number]
type Level = keyof ReturnType<typeof levels>
type EventName = '' | keyof ReturnType<typeof events>

const levels = () => adminTexts.value.log.levels
const events = () => adminTexts.value.log.events

const pageRows = 100
const keptRows = 1000

export function LogPage() {
  const { pages, log: texts } = adminTexts.value
  const [level, setLevel] = useState<Level>('info')
  const [event, setEvent] = useState<EventName>('')
  const [text, setText] = useState('')
  const [isLive, setLive] = useState(false)
  const query = { level, ...(event !== '' && { event }), ...(text !== '' && { text }) }
  const follow = (
    <button type="button" class={isLive ? 'primary' : undefined} aria-pressed={isLive} onClick={() => setLive(!isLive)}>
      {isLive ? texts.stop : texts.live}
    </button>
  )
  return (
    <Page title={pages.log} actions={follow}>
      <Card>
        <div class="filters">
          <Search label={texts.text} onSearch={setText} />
          <Choice label={texts.level} value={level} options={levels()} onChoose={chosen => setLevel(chosen)} />
          <Choice
            label={texts.event}
            value={event}
            options={{ '': texts.anyEvent, ...events() }}
            onChoose={chosen => setEvent(chosen as EventName)}
          />
        </div>
        <Lines key={JSON.stringify(query)} query={query} isLive={isLive} />
      </Card>
    </Page>
  )
}

interface Query {
  readonly level: Level
  readonly event?: string
  readonly text?: string
}

function Lines({ query, isLive }: { readonly query: Query; readonly isLive: boolean }) {
  const { log: texts, common } = adminTexts.value
  const first = useCall('GET /log', { query: { ...query, limit: pageRows } })
  const [older, setOlder] = useState<{ lines: LogLine[]; more: boolean }>()
  const [newer, missed] = useLive(query, isLive)
  return (
    <Loaded of={first}>
      {data => {
        const known = new Set(data.results.map(line => line.number))
        const fresh = newer.filter(line => !known.has(line.number))
        const lines = [...fresh, ...data.results, ...(older?.lines ?? [])]
        const more = async () => {
          try {
            const before = lines.at(-1)?.number
            const page = await call('GET /log', {
              query: { ...query, limit: pageRows, ...(before !== undefined && { before }) },
            })
            setOlder({ lines: [...(older?.lines ?? []), ...page.results], more: page.more })
          } catch (error) {
            failed(error)
          }
        }
        if (lines.length === 0) return <p class="muted">{common.nothingFound}</p>
        return (
          <>
            {missed > 0 && <p class="callout warn">{texts.missed(number(missed))}</p>}
            <LineTable lines={lines} />
            {(older?.more ?? data.more) && (
              <button type="button" onClick={() => void more()}>
                {texts.older}
              </button>
            )}
          </>
        )
      }}
    </Loaded>
  )
}

const kinds: Readonly<Record<string, 'bad' | 'warn'>> = { fatal: 'bad', error: 'bad', warn: 'warn' }

function LineTable({ lines }: { readonly lines: readonly LogLine[] }) {
  const { log: texts, pages } = adminTexts.value
  return (
    <Table
      label={pages.log}
      rows={lines}
      id={line => line.number}
      columns={[
        { title: texts.time, cell: ({ time }) => <time dateTime={time}>{exactly(time)}</time> },
        {
          title: texts.kind,
          cell: ({ level }) => (
            <Badge kind={kinds[level] ?? 'plain'}>{texts.words[level as keyof typeof texts.words] ?? level}</Badge>
          ),
        },
        {
          title: texts.message,
          cell: ({ msg, event, fields }) => (
            <span class="about full">
              <bdi>{shownSigns(event === undefined ? msg : `${msg} (${event})`)}</bdi>
              {Object.keys(fields).length > 0 && (
                <bdi class="code value" dir="ltr">
                  {shownSigns(
                    Object.entries(fields)
                      .map(([name, value]) => `${name}=${typeof value === 'string' ? value : JSON.stringify(value)}`)
                      .join(' '),
                  )}
                </bdi>
              )}
            </span>
          ),
        },
      ]}
    />
  )
}

function exactly(time: string): string {
  return new Intl.DateTimeFormat(locale(), { dateStyle: 'short', timeStyle: 'medium' }).format(new Date(time))
}

/** Lines that were written since it follows, the newest first, and how many were left out. */
function useLive(query: Query, isLive: boolean): [readonly LogLine[], number] {
  const [state, setState] = useState<{ lines: readonly LogLine[]; missed: number }>({ lines: [], missed: 0 })
  useEffect(() => {
    if (!isLive) return undefined
    const source = new EventSource(addressOf('GET /log/live', { query }))
    source.onmessage = ({ data }: MessageEvent<string>) => {
      const line = JSON.parse(data) as LogLine
      setState(before => ({ ...before, lines: [line, ...before.lines].slice(0, keptRows) }))
    }
    source.addEventListener('missed', event => {
      const { lines } = JSON.parse((event as MessageEvent<string>).data) as { lines: number }
      setState(before => ({ ...before, missed: before.missed + lines }))
    })
    return () => source.close()
  }, [isLive])
  return [state.lines, state.missed]
}
