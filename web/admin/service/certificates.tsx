// Certificates by host name: when they end, whether ACME fetches them and how that goes; new ones by hand or by ACME.
//
// A private key goes in and never comes out. What ends soon, or could not be fetched, is seen without a click.

import { useState } from 'preact/hooks'
import { call, type Reply } from '../../base/client.ts'
import { ask, Dialog } from '../../base/dialog.tsx'
import { CheckField, Form, Submit, TextArea, TextField, useForm } from '../../base/form.tsx'
import { day, number, relative } from '../../base/language.ts'
import { done } from '../../base/notice.tsx'
import { Badge, Card, type Column, Empty, IconButton, Loaded, Located, Page, Table } from '../../base/parts.tsx'
import { useCall } from '../../base/resource.ts'
import { may } from '../../base/session.ts'
import { baseTexts } from '../../texts/texts.ts'
import { act } from '../kit/act.tsx'
import { Pager, Search, useCursor } from '../kit/list.tsx'
import { adminTexts } from '../texts/texts.ts'

type Listed = Reply<'GET /certs'>['results'][number]

const pageRows = 50
const soonMs = 14 * 86_400_000

export function CertificatesPage() {
  const { pages, certificates: texts, common } = adminTexts.value
  const [query, setQuery] = useState('')
  const [cursor, goTo] = useCursor(query)
  const [isAdding, setAdding] = useState(false)
  const found = useCall('GET /certs', { query: { limit: pageRows, ...(query !== '' && { query }), ...cursor } })
  const remove = async ({ id, servername }: Listed) => {
    const question = {
      title: baseTexts.value.remove,
      text: texts.removeAsk(servername),
      action: baseTexts.value.remove,
    }
    if (!(await ask({ ...question, danger: true }))) return
    await act(() => call('DELETE /certs/:cert', { params: { cert: id } }), common.removed, found.reload)
  }
  const add = may('certs.create', 'any') && (
    <button type="button" class="primary" onClick={() => setAdding(true)}>
      {texts.add}
    </button>
  )
  const close = () => {
    setAdding(false)
    void found.reload()
  }
  return (
    <Page title={pages.certificates} actions={add}>
      <Card>
        <Search label={texts.find} onSearch={setQuery} />
        <Loaded of={found}>
          {data =>
            data.results.length === 0 ? (
              <Empty icon="shield" title={query === '' ? common.nothing : common.nothingFound} />
            ) : (
              <>
                <Table
                  label={pages.certificates}
                  columns={columns()}
                  rows={data.results}
                  id={row => row.id}
                  actions={row =>
                    may('certs.delete', 'any') && (
                      <IconButton
                        icon="trash"
                        danger
                        label={`${baseTexts.value.remove} ${row.servername}`}
                        onClick={() => void remove(row)}
                      />
                    )
                  }
                />
                <Pager of={data} go={goTo} />
              </>
            )
          }
        </Loaded>
      </Card>
      {isAdding && <AddCertificate onClose={close} />}
    </Page>
  )
}

function columns(): Column<Listed>[] {
  const { certificates: texts } = adminTexts.value
  return [
    { title: texts.name, cell: ({ servername }) => <Located text={servername} /> },
    { title: texts.ends, cell: row => <Ends of={row} /> },
    { title: texts.source, cell: row => <Source of={row} /> },
  ]
}

function Ends({ of: { expires } }: { readonly of: Listed }) {
  const { certificates: texts } = adminTexts.value
  if (expires === undefined) return <Badge kind="warn">{texts.pending}</Badge>
  const left = Date.parse(expires) - Date.now()
  return (
    <span class="badges">
      {day(expires)}
      <Badge kind={left < 0 ? 'bad' : left < soonMs ? 'warn' : 'good'}>{relative(expires)}</Badge>
    </span>
  )
}

function Source({ of: { acme, fetching } }: { readonly of: Listed }) {
  const { certificates: texts } = adminTexts.value
  if (!acme) return texts.manual
  return (
    <span class="about">
      <span>{texts.acme}</span>
      {fetching?.failure !== undefined && (
        <Badge kind="bad">{texts.attempts(number(fetching.attempts), fetching.failure)}</Badge>
      )}
      {fetching?.next !== undefined && <span class="muted">{texts.nextTry(relative(fetching.next))}</span>}
    </span>
  )
}

function AddCertificate({ onClose }: { onClose(): void }) {
  const { certificates: texts } = adminTexts.value
  const form = useForm({ servername: '', acme: false, cert: '', privateKey: '' }, async fields => {
    const { servername, acme, cert, privateKey } = fields
    const body = acme ? { servername, acme } : { servername, cert, privateKey }
    await call('POST /certs', { body })
    done(baseTexts.value.saved)
    onClose()
  })
  return (
    <Dialog title={texts.add} onClose={onClose} wide>
      <Form of={form}>
        <TextField name="servername" label={texts.name} isCode autofocus autocomplete="off" />
        <CheckField name="acme" label={texts.fetch} />
        {!form.values.value.acme && (
          <>
            <TextArea name="cert" label={texts.chain} rows={5} isCode />
            <TextArea name="privateKey" label={texts.key} rows={5} isCode />
          </>
        )}
        <Submit>{texts.add}</Submit>
      </Form>
    </Dialog>
  )
}
