// What was deleted and is still kept: looked through, and brought back one by one, by days, or all of it.
//
// Bringing back many is a task of the service. Each message goes to the folder it was in, or to the one that is chosen here.

import { useSignal } from '@preact/signals'
import { call, type Reply } from '../base/client.ts'
import { FieldErrors, Form, Submit, TextField, useForm } from '../base/form.tsx'
import { bytes, moment, number } from '../base/language.ts'
import { done, failed } from '../base/notice.tsx'
import { Card, Empty, Loaded, Page, Table, Told } from '../base/parts.tsx'
import { useCall } from '../base/resource.ts'
import { owner } from '../base/session.ts'
import { type Cursor, Turner } from '../base/turn.tsx'
import { folderName } from './folder-name.ts'
import { TaskLines, useTasks } from './tasks.tsx'
import { accountTexts } from './texts/texts.ts'

type Message = Reply<'GET /users/:user/archived/messages'>['results'][number]

export function ArchivePage() {
  const texts = accountTexts.value.archive
  const params = { user: owner().id }
  const at = useSignal<Cursor>({})
  const target = useSignal('')
  const messages = useCall('GET /users/:user/archived/messages', { params, query: { order: 'desc', ...at.value } })
  const folders = useCall('GET /users/:user/mailboxes', { params })
  const reload = () => void messages.reload()
  const tasks = useTasks(['archive.restore'], reload)
  const mailbox = target.value === '' ? {} : { mailbox: target.value }
  const restore = async ({ id, subject }: Message) => {
    await call('POST /users/:user/archived/messages/:message/restore', {
      params: { ...params, message: id },
      body: mailbox,
    })
    reload()
    done(texts.restored(subject || texts.noSubject))
  }
  const turn = (to: Cursor) => {
    at.value = to
  }
  const span = async (start: string, end: string) => {
    await call('POST /users/:user/archived/restore', { params, body: { start, end, ...mailbox } })
    await tasks.reload()
    done(texts.begun)
  }
  return (
    <Page title={texts.title} lead={texts.lead}>
      <Card title={texts.where}>
        <div class="field">
          <label for="archive-target">{texts.target}</label>
          <select
            id="archive-target"
            value={target.value}
            onChange={event => {
              target.value = event.currentTarget.value
            }}
          >
            <option value="">{texts.before}</option>
            {(folders.data?.results ?? []).map(folder => (
              <option key={folder.id} value={folder.id}>
                {folderName(folder)}
              </option>
            ))}
          </select>
        </div>
      </Card>
      <Card title={texts.kept}>
        <Loaded of={messages}>
          {({ total, results, nextCursor, previousCursor }) =>
            total === 0 ? (
              <Empty icon="archive" title={texts.none}>
                <p>{texts.noneText}</p>
              </Empty>
            ) : (
              <>
                <p class="hint">{texts.count(number(total))}</p>
                <Rows rows={results} onRestore={row => void restore(row).catch(failed)} />
                <Turner of={{ previousCursor, nextCursor }} newer={texts.newer} older={texts.older} onTurn={turn} />
              </>
            )
          }
        </Loaded>
      </Card>
      <Card title={texts.many} text={texts.manyText}>
        <Span onSpan={span} />
        <TaskLines rows={tasks.rows} onStopped={() => void tasks.reload()} />
      </Card>
    </Page>
  )
}

function Rows({ rows, onRestore }: { readonly rows: readonly Message[]; onRestore(row: Message): void }) {
  const texts = accountTexts.value.archive
  return (
    <Table
      label={texts.kept}
      rows={rows}
      id={row => row.id}
      columns={[
        { title: texts.subject, cell: row => <Told text={row.subject || texts.noSubject} /> },
        { title: texts.from, cell: ({ from }) => <Told text={from?.name || from?.address || ''} /> },
        { title: texts.deleted, cell: row => moment(row.archived) },
        { title: texts.size, cell: row => bytes(row.size), atEnd: true },
      ]}
      actions={row => (
        <button
          type="button"
          aria-label={`${texts.restore}: ${row.subject || texts.noSubject}`}
          onClick={() => onRestore(row)}
        >
          {texts.restore}
        </button>
      )}
    />
  )
}

function Span({ onSpan }: { onSpan(start: string, end: string): Promise<void> }) {
  const texts = accountTexts.value.archive
  const form = useForm({ start: '', end: '' }, async ({ start, end }) => {
    if (start !== '' && end !== '' && end < start) throw new FieldErrors({ end: texts.order })
    const first = start === '' ? new Date(0) : new Date(`${start}T00:00:00`)
    const last = end === '' ? new Date() : new Date(`${end}T23:59:59.999`)
    await onSpan(first.toISOString(), last.toISOString())
  })
  return (
    <Form of={form} label={texts.many}>
      <div class="pair">
        <TextField name="start" label={texts.start} hint={texts.startHint} kind="date" />
        <TextField name="end" label={texts.end} hint={texts.endHint} kind="date" />
      </div>
      <Submit>{texts.restoreMany}</Submit>
    </Form>
  )
}
