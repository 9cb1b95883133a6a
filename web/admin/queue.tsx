// The outgoing queue: in figures, by destination, message by message; tried again, held, removed. Accounts that are held back stand above it.
//
// What is done to a message is done at once in the service; the page asks again afterwards.

import { useState } from 'preact/hooks'
import { call, type Reply } from '../base/client.ts'
import { ask } from '../base/dialog.tsx'
import { number, relative } from '../base/language.ts'
import { Badge, Card, type Column, Empty, IconButton, Loaded, Page, Table, Told } from '../base/parts.tsx'
import { useCall } from '../base/resource.ts'
import { at } from '../base/router.ts'
import { may } from '../base/session.ts'
import { act } from './kit/act.tsx'
import { Choice, Pager, useCursor } from './kit/list.tsx'
import { adminTexts } from './texts/texts.ts'

type Queued = Reply<'GET /outbound/messages'>['results'][number]

const pageRows = 50

export function QueuePage() {
  const { pages, queue: texts } = adminTexts.value
  const [destination, setDestination] = useState('')
  const [cursor, goTo] = useCursor(destination)
  const query = { limit: pageRows, ...(destination !== '' && { destination }), ...cursor }
  const figures = useCall('GET /outbound', {})
  const found = useCall('GET /outbound/messages', { query })
  const reload = () => Promise.all([figures.reload(), found.reload()])
  const refresh = (
    <>
      <a class="button" href={at('/service/trace')}>
        {pages.trace}
      </a>
      <button type="button" onClick={() => void reload()}>
        {adminTexts.value.common.refresh}
      </button>
    </>
  )
  return (
    <Page title={pages.queue} actions={refresh}>
      <HeldBack />
      <Loaded of={figures}>
        {({ waiting, sending, deferred, oldest, destinations }) => (
          <>
            <Figures waiting={waiting} sending={sending} deferred={deferred} oldest={oldest} />
            {destinations.length > 1 && (
              <Choice
                label={texts.destination}
                value={destination}
                options={{
                  '': texts.all,
                  ...Object.fromEntries(
                    destinations.map(one => [one.destination, `${one.destination} (${number(one.waiting)})`]),
                  ),
                }}
                onChoose={setDestination}
              />
            )}
          </>
        )}
      </Loaded>
      <Card>
        <Loaded of={found}>
          {data =>
            data.results.length === 0 ? (
              <Empty icon="check" title={texts.empty} />
            ) : (
              <>
                <Table
                  label={pages.queue}
                  columns={columns()}
                  rows={data.results}
                  id={row => row.queueId}
                  actions={row => <Doings of={row} reload={reload} />}
                />
                <Pager of={data} go={goTo} />
              </>
            )
          }
        </Loaded>
      </Card>
    </Page>
  )
}

function Figures({
  waiting,
  sending,
  deferred,
  oldest,
}: {
  readonly waiting: number
  readonly sending: number
  readonly deferred: number
  readonly oldest: string | false
}) {
  const { queue: texts, overview } = adminTexts.value
  const tiles = [
    [texts.waiting, waiting, oldest === false ? '' : overview.oldest(relative(oldest))],
    [texts.sending, sending, ''],
    [texts.deferred, deferred, ''],
  ] as const
  return (
    <dl class="tiles">
      {tiles.map(([title, value, more]) => (
        <div key={title} class="card">
          <dt>{title}</dt>
          <dd>
            <strong>{number(value)}</strong>
            {more !== '' && <span>{more}</span>}
          </dd>
        </div>
      ))}
    </dl>
  )
}

function columns(): Column<Queued>[] {
  const { queue: texts } = adminTexts.value
  return [
    {
      title: texts.from,
      cell: ({ queueId, from, origin }) => (
        <span class="about">
          <a href={at(`/service/queue/${queueId}`)}>{from === '' ? texts.noSender : <Told text={from} />}</a>
          <span class="muted">{texts.origin[origin]}</span>
        </span>
      ),
    },
    { title: texts.to, cell: ({ destinations }) => <Told class="whole" text={destinations.join(', ')} /> },
    { title: texts.age, cell: ({ created }) => relative(created) },
    {
      title: texts.next,
      cell: ({ nextAttempt, attempts, sending }) =>
        sending > 0 ? (
          <Badge kind="good">{texts.sending}</Badge>
        ) : nextAttempt === false ? (
          number(attempts)
        ) : (
          relative(Math.max(new Date(nextAttempt).getTime(), Date.now()))
        ),
    },
    {
      title: texts.answer,
      cell: ({ response = '', failure = '' }) => <Told class="answer" text={response === '' ? failure : response} />,
    },
  ]
}

function Doings({ of: { queueId, from: sender }, reload }: { readonly of: Queued; reload(): Promise<unknown> }) {
  const { queue: texts } = adminTexts.value
  const from = sender === '' ? texts.noSender : sender
  const params = { queueId }
  const remove = async () => {
    if (!(await ask({ title: texts.remove, text: texts.removeAsk, action: texts.remove, danger: true }))) return
    await act(() => call('DELETE /outbound/messages/:queueId', { params }), adminTexts.value.common.removed, reload)
  }
  const retry = () => act(() => call('POST /outbound/messages/:queueId/retry', { params }), texts.retried, reload)
  const hold = () => act(() => call('POST /outbound/messages/:queueId/hold', { params }), texts.held, reload)
  return (
    <span class="row">
      {may('queue.update', 'any') && (
        <>
          <IconButton icon="refresh" label={`${texts.retry}: ${from}`} onClick={() => void retry()} />
          <IconButton icon="pause" label={`${texts.hold}: ${from}`} onClick={() => void hold()} />
        </>
      )}
      {may('queue.delete', 'any') && (
        <IconButton icon="trash" danger label={`${texts.remove}: ${from}`} onClick={() => void remove()} />
      )}
    </span>
  )
}

/** Accounts that sent far more than usual. */
function HeldBack() {
  const { queue: texts } = adminTexts.value
  const found = useCall('GET /outbound/paused', {})
  if (found.data === undefined || found.data.results.length === 0) return null
  const release = (user: string) =>
    act(() => call('POST /users/:user/outbound/resume', { params: { user } }), texts.released, found.reload)
  return (
    <Card title={texts.paused}>
      <ul class="lines">
        {found.data.results.map(({ user, address, since }) => (
          <li key={user}>
            <span class="about">
              <a href={at(`/service/users/${user}`)}>
                <Told text={address} />
              </a>
              <span class="muted">{texts.pausedSince(relative(since))}</span>
            </span>
            {may('queue.update', 'any') && (
              <button type="button" onClick={() => void release(user)} aria-label={`${texts.release}: ${address}`}>
                {texts.release}
              </button>
            )}
          </li>
        ))}
      </ul>
    </Card>
  )
}
