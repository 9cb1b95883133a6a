// What the service runs with: every key, its value and where that came from; those that take effect at once are changed here.
//
// Secrets come masked from the service. Keys of the file are shown and not changed: who may edit the machine's files is not decided here.

import { useState } from 'preact/hooks'
import { call, type Reply } from '../../base/client.ts'
import { Dialog } from '../../base/dialog.tsx'
import { Form, Submit, TextField, useForm } from '../../base/form.tsx'
import { done } from '../../base/notice.tsx'
import { Badge, Card, type Column, IconButton, Loaded, Page, Table } from '../../base/parts.tsx'
import { useCall } from '../../base/resource.ts'
import { may } from '../../base/session.ts'
import { baseTexts } from '../../texts/texts.ts'
import { act } from '../kit/act.tsx'
import { Search } from '../kit/list.tsx'
import { adminTexts } from '../texts/texts.ts'

type Row = Reply<'GET /configuration'>['results'][number]

export function SettingsPage() {
  const { pages, settings: texts, common } = adminTexts.value
  const [filter, setFilter] = useState('')
  const [isChanged, setChanged] = useState(false)
  const [edited, setEdited] = useState<Row>()
  const found = useCall('GET /configuration', { query: filter === '' ? {} : { filter } })
  const close = () => {
    setEdited(undefined)
    void found.reload()
  }
  return (
    <Page title={pages.settings} lead={texts.hint}>
      <Card>
        <div class="filters">
          <Search label={texts.find} onSearch={setFilter} />
          <label class="check">
            <input type="checkbox" checked={isChanged} onChange={event => setChanged(event.currentTarget.checked)} />
            {texts.changed}
          </label>
        </div>
        <Loaded of={found}>
          {({ results }) => {
            const rows = isChanged ? results.filter(({ source }) => source !== 'default') : results
            if (rows.length === 0) return <p class="muted">{common.nothingFound}</p>
            return (
              <Table
                label={pages.settings}
                columns={columns()}
                rows={rows}
                id={row => row.key}
                actions={row =>
                  row.changeable &&
                  may('settings.create', 'any') && (
                    <IconButton icon="edit" label={texts.change(row.key)} onClick={() => setEdited(row)} />
                  )
                }
              />
            )
          }}
        </Loaded>
      </Card>
      {edited !== undefined && <Change of={edited} onClose={close} />}
    </Page>
  )
}

function columns(): Column<Row>[] {
  const { settings: texts } = adminTexts.value
  return [
    {
      title: texts.key,
      cell: ({ key, description }) => (
        <span class="about">
          <bdi class="code" dir="ltr">
            {key}
          </bdi>
          <span class="muted" lang="en">
            {description}
          </span>
        </span>
      ),
    },
    {
      title: texts.value,
      cell: ({ value }) => (
        <bdi class="code value" dir="ltr">
          {value}
        </bdi>
      ),
    },
    {
      title: texts.source,
      cell: ({ source, origin }) => (
        <span title={origin}>
          <Badge kind={source === 'default' ? 'plain' : 'good'}>
            {texts.sources[source as keyof typeof texts.sources] ?? source}
          </Badge>
        </span>
      ),
    },
  ]
}

function Change({ of: row, onClose }: { readonly of: Row; onClose(): void }) {
  const { settings: texts } = adminTexts.value
  const params = { key: row.key }
  const form = useForm({ value: row.value }, async ({ value }) => {
    await call('POST /settings/:key', { params, body: { value } })
    done(baseTexts.value.saved)
    onClose()
  })
  const reset = () => act(() => call('DELETE /settings/:key', { params }), baseTexts.value.saved, onClose)
  return (
    <Dialog title={texts.change(row.key)} onClose={onClose}>
      <Form of={form}>
        <TextField
          name="value"
          label={texts.value}
          hint={`${row.description} (${row.type}, ${row.default})`}
          isCode
          autofocus
        />
        <Submit
          more={
            row.source === 'database' &&
            may('settings.delete', 'any') && (
              <button type="button" onClick={() => void reset()}>
                {texts.reset}
              </button>
            )
          }
        >
          {baseTexts.value.save}
        </Submit>
      </Form>
    </Dialog>
  )
}
