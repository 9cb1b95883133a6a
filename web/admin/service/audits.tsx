// Audits: which there are, how far they are, what they hold as a file; a new one for an account and a span of time.
//
// Only a session with a role for audits comes here; what an audit holds is downloaded by the browser itself and shown nowhere.

import { useEffect, useState } from 'preact/hooks'
import { addressOf, call, type Reply } from '../../base/client.ts'
import { Dialog } from '../../base/dialog.tsx'
import { FieldErrors, Form, Submit, TextArea, TextField, useForm } from '../../base/form.tsx'
import { day, number } from '../../base/language.ts'
import { done } from '../../base/notice.tsx'
import { Badge, Card, type Column, Empty, Loaded, Page, Table } from '../../base/parts.tsx'
import { useCall } from '../../base/resource.ts'
import { may } from '../../base/session.ts'
import { baseTexts } from '../../texts/texts.ts'
import { Pager, useCursor } from '../kit/list.tsx'
import { type Account, UserField } from '../kit/user-field.tsx'
import { adminTexts } from '../texts/texts.ts'

type Listed = Reply<'GET /audit'>['results'][number]

const pageRows = 50
/** How often is asked how far the copying is. */
const lookMs = 2000
/** How long an audit is kept unless somebody says otherwise. */
const keptDays = 90

const isOnTheWay = (status: string) => status === 'queued' || status === 'importing'

export function AuditsPage() {
  const { pages, audits: texts, common } = adminTexts.value
  const [cursor, goTo] = useCursor('')
  const [isAdding, setAdding] = useState(false)
  const found = useCall('GET /audit', { query: { limit: pageRows, ...cursor } })
  const isCopying =
    found.data?.results.some(({ deleted, import: { status } }) => !deleted && isOnTheWay(status)) === true
  useEffect(() => {
    if (!isCopying) return undefined
    const timer = setInterval(() => void found.reload(), lookMs)
    return () => clearInterval(timer)
  }, [isCopying, found.reload])
  const close = () => {
    setAdding(false)
    void found.reload()
  }
  const add = may('audit.create', 'any') && (
    <button type="button" class="primary" onClick={() => setAdding(true)}>
      {texts.add}
    </button>
  )
  return (
    <Page title={pages.audits} lead={texts.hint} actions={add}>
      <Card>
        <Loaded of={found}>
          {data =>
            data.results.length === 0 ? (
              <Empty icon="archive" title={common.nothing} />
            ) : (
              <>
                <Table
                  label={pages.audits}
                  columns={columns()}
                  rows={data.results}
                  id={row => row.id}
                  actions={({ id, deleted, notes }) =>
                    !deleted && (
                      <a
                        class="button"
                        download
                        aria-label={`${texts.download}: ${notes} ${id}`}
                        href={addressOf('GET /audit/:audit/export.mbox', { params: { audit: id } })}
                      >
                        {texts.download}
                      </a>
                    )
                  }
                />
                <Pager of={data} go={goTo} />
              </>
            )
          }
        </Loaded>
      </Card>
      {isAdding && <AddAudit onClose={close} />}
    </Page>
  )
}

function columns(): Column<Listed>[] {
  const { audits: texts } = adminTexts.value
  return [
    {
      title: texts.account,
      cell: ({ user, username, notes }) => (
        <span class="about">
          <bdi class={username === undefined ? 'code' : undefined}>{username ?? user}</bdi>
          {notes !== '' && <span class="muted">{notes}</span>}
        </span>
      ),
    },
    {
      title: texts.span,
      cell: ({ start, end }) =>
        start === null && end === null ? texts.everything : texts.between(start && day(start), end && day(end)),
    },
    { title: texts.messages, cell: ({ audited }) => number(audited), atEnd: true },
    {
      title: texts.status,
      cell: ({ deleted, import: { status, failed } }) =>
        deleted ? (
          <Badge>{texts.over}</Badge>
        ) : (
          <span class="badges">
            <Badge kind={status === 'imported' ? 'good' : status === 'failed' ? 'bad' : 'plain'}>
              {texts.statuses[status as keyof typeof texts.statuses] ?? status}
            </Badge>
            {failed > 0 && <Badge kind="warn">{texts.notCopied(number(failed))}</Badge>}
          </span>
        ),
    },
    { title: texts.expires, cell: ({ expires }) => day(expires) },
  ]
}

interface Fields {
  readonly user: Account | null
  readonly start: string
  readonly end: string
  readonly expires: string
  readonly notes: string
}

function AddAudit({ onClose }: { onClose(): void }) {
  const { audits: texts, common } = adminTexts.value
  const kept = new Date(Date.now() + keptDays * 86_400_000).toISOString().slice(0, 'yyyy-mm-dd'.length)
  const initial: Fields = { user: null, start: '', end: '', expires: kept, notes: '' }
  const form = useForm<Fields>(initial, async fields => {
    const { user, start, end, expires, notes } = fields
    if (user === null) throw new FieldErrors({ user: common.pickUser })
    if (expires === '') throw new FieldErrors({ expires: common.wantDate })
    // The last day is meant with it.
    const last = end === '' ? undefined : `${end}T23:59:59.999Z`
    const body = {
      user: user.id,
      expires,
      notes,
      ...(start !== '' && { start }),
      ...(last !== undefined && { end: last }),
    }
    await call('POST /audit', { body })
    done(baseTexts.value.saved)
    onClose()
  })
  return (
    <Dialog title={texts.add} onClose={onClose}>
      <Form of={form}>
        <UserField name="user" label={texts.account} autofocus />
        <div class="pair">
          <TextField name="start" label={texts.start} kind="date" />
          <TextField name="end" label={texts.end} kind="date" />
        </div>
        <TextField name="expires" label={texts.expires} kind="date" />
        <TextArea name="notes" label={texts.notes} rows={2} />
        <Submit>{texts.add}</Submit>
      </Form>
    </Dialog>
  )
}
