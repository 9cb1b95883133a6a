// Where the account is signed in, ending that, and the log of what happened around it.
//
// Ending all others keeps this browser alone.

import { useSignal } from '@preact/signals'
import { call, type Reply } from '../base/client.ts'
import { ask } from '../base/dialog.tsx'
import { moment } from '../base/language.ts'
import { done, failed } from '../base/notice.tsx'
import { Badge, Card, Loaded, Page, Table, Told } from '../base/parts.tsx'
import { useCall } from '../base/resource.ts'
import { owner } from '../base/session.ts'
import { type Cursor, Turner } from '../base/turn.tsx'
import { accountTexts } from './texts/texts.ts'

type Entry = Reply<'GET /users/:user/authlog'>['results'][number]

export function ActivityPage() {
  const texts = accountTexts.value.activity
  return (
    <Page title={texts.title} lead={texts.lead}>
      <Sessions />
      <Log />
    </Page>
  )
}

function Sessions() {
  const texts = accountTexts.value.activity
  const params = { user: owner().id }
  const sessions = useCall('GET /users/:user/sessions', { params })
  const changed = async (text: string) => {
    await sessions.reload()
    done(text)
  }
  const endOthers = async () => {
    if (!(await ask({ title: `${texts.endOthers}?`, text: texts.endOthersText, action: texts.endOthers }))) return
    await call('DELETE /users/:user/sessions', { params })
    await changed(texts.endedOthers)
  }
  const end = async (session: string) => {
    await call('DELETE /users/:user/sessions/:session', { params: { ...params, session } })
    await changed(texts.ended)
  }
  const all = (
    <button type="button" onClick={() => void endOthers().catch(failed)}>
      {texts.endOthers}
    </button>
  )
  return (
    <Card title={texts.sessions} actions={all}>
      <Loaded of={sessions}>
        {({ results, connections }) => (
          <>
            <p class="hint">{texts.connections(connections)}</p>
            <ul class="lines">
              {results.map(({ id, label, created, current }) => (
                <li key={id}>
                  <span class="about">
                    <strong>{label === '' ? texts.browser : <Told text={label} />}</strong>
                    <span class="hint">{texts.began(moment(created))}</span>
                  </span>
                  {current ? (
                    <Badge kind="good">{texts.this}</Badge>
                  ) : (
                    <button type="button" onClick={() => void end(id).catch(failed)}>
                      {texts.end}
                    </button>
                  )}
                </li>
              ))}
            </ul>
          </>
        )}
      </Loaded>
    </Card>
  )
}

function Log() {
  const texts = accountTexts.value.activity
  const page = useSignal<Cursor>({})
  const log = useCall('GET /users/:user/authlog', { params: { user: owner().id }, query: page.value })
  const turn = (to: Cursor) => {
    page.value = to
  }
  return (
    <Card title={texts.log}>
      <Loaded of={log}>
        {({ results, nextCursor, previousCursor }) => (
          <>
            <Table
              label={texts.log}
              rows={results}
              id={row => row.id}
              columns={[
                { title: texts.event, cell: row => <What row={row} /> },
                {
                  title: texts.from,
                  cell: ({ ip, protocol }) => <Told class="whole" text={[protocol, ip].filter(Boolean).join(' · ')} />,
                },
                { title: texts.when, cell: row => moment(row.last), atEnd: true },
              ]}
            />
            <Turner of={{ previousCursor, nextCursor }} newer={texts.newer} older={texts.older} onTurn={turn} />
          </>
        )}
      </Loaded>
    </Card>
  )
}

function What({ row: { action, result, aname, target, events } }: { readonly row: Entry }) {
  const texts = accountTexts.value.activity
  const more = aname ?? target
  const kind = result === 'success' ? 'good' : 'bad'
  const said = texts.result[result as keyof typeof texts.result]
  return (
    <span class="what">
      <span>
        {texts.actions[action] ?? action}
        {more !== undefined && (
          <>
            : <Told text={more} />
          </>
        )}
      </span>
      {said !== undefined && <Badge kind={kind}>{said}</Badge>}
      {events > 1 && <span class="hint">{texts.times(events)}</span>}
    </span>
  )
}
