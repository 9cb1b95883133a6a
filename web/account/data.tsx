// Storage by folder, taking everything along as one file, and bringing mail in from a file or from another server.
//
// An import from elsewhere is a task of the service, which goes on without this page (tasks.tsx).

import { useSignal } from '@preact/signals'
import { addressOf, call } from '../base/client.ts'
import { Form, SelectField, Submit, TextField, useForm } from '../base/form.tsx'
import { Icon } from '../base/icon.tsx'
import { bytes, number, percent } from '../base/language.ts'
import { done, failed } from '../base/notice.tsx'
import { Card, Loaded, Meter, Page, Table } from '../base/parts.tsx'
import { useCall } from '../base/resource.ts'
import { owner } from '../base/session.ts'
import { TaskLines, useTasks } from './tasks.tsx'
import { accountTexts } from './texts/texts.ts'

export function DataPage() {
  const texts = accountTexts.value.data
  return (
    <Page title={texts.title} lead={texts.lead}>
      <Folders />
      <Export />
      <FileImport />
      <ServerImport />
    </Page>
  )
}

function Folders() {
  const texts = accountTexts.value.data
  const params = { user: owner().id }
  const account = useCall('GET /users/:user', { params })
  const folders = useCall('GET /users/:user/mailboxes', { params, query: { sizes: true, counters: true } })
  return (
    <Card title={texts.folders}>
      <Loaded of={account}>
        {({ limits: { quota } }) => (
          <div>
            <Meter used={quota.used} allowed={quota.allowed} label={texts.folders} />
            <p class="hint">
              {accountTexts.value.overview.used(
                bytes(quota.used),
                bytes(quota.allowed),
                percent(quota.used / (quota.allowed || 1)),
              )}
            </p>
          </div>
        )}
      </Loaded>
      <Loaded of={folders}>
        {({ results }) => (
          <Table
            label={texts.folders}
            rows={results.toSorted((a, b) => (b.size ?? 0) - (a.size ?? 0))}
            id={row => row.id}
            columns={[
              { title: texts.folder, cell: row => <bdi>{row.path}</bdi> },
              { title: texts.messages, cell: row => number(row.total ?? 0), atEnd: true },
              { title: texts.size, cell: row => bytes(row.size ?? 0), atEnd: true },
            ]}
            actions={({ id, path }) => (
              <a
                class="button plain"
                href={addressOf('GET /users/:user/export.mbox', { params, query: { mailbox: id } })}
                aria-label={texts.exportFolder(path)}
                title={texts.exportFolder(path)}
                download
              >
                <Icon name="download" />
              </a>
            )}
          />
        )}
      </Loaded>
    </Card>
  )
}

function Export() {
  const texts = accountTexts.value.data
  return (
    <Card title={texts.export} text={texts.exportText}>
      <div class="actions">
        <a class="button" href={addressOf('GET /users/:user/export.mbox', { params: { user: owner().id } })} download>
          <Icon name="download" />
          {texts.exportAll}
        </a>
      </div>
    </Card>
  )
}

function FileImport() {
  const texts = accountTexts.value.data
  const isBusy = useSignal(false)
  const bring = async (input: HTMLInputElement) => {
    const [file] = input.files ?? []
    if (file === undefined || isBusy.value) return
    isBusy.value = true
    try {
      const asked = { params: { user: owner().id }, query: { folders: true } }
      const { imported, known } = await call('POST /users/:user/import/file', {
        ...asked,
        body: new Blob([file], { type: 'application/mbox' }),
      })
      done(texts.imported(number(imported), number(known)))
    } catch (error) {
      failed(error)
    } finally {
      isBusy.value = false
      input.value = ''
    }
  }
  return (
    <Card title={texts.file} text={texts.fileText}>
      <div class="field">
        <label for="import-file">{texts.choose}</label>
        <input
          id="import-file"
          type="file"
          accept=".mbox,.eml,application/mbox,message/rfc822"
          disabled={isBusy.value}
          onChange={event => void bring(event.currentTarget)}
        />
      </div>
      {isBusy.value && (
        <p role="status">
          <span class="spinner" aria-hidden="true" /> {texts.importing}
        </p>
      )}
    </Card>
  )
}

function ServerImport() {
  const texts = accountTexts.value.data
  const params = { user: owner().id }
  const tasks = useTasks(['mail.import'])
  const initial = { host: '', port: '', security: 'tls' as const, login: '', password: '' }
  const form = useForm(initial, async ({ port, ...more }) => {
    const body = { ...more, ...(port !== '' && { port: Number(port) }) }
    await call('POST /users/:user/import/imap', { params, body })
    form.set({ password: '' })
    await tasks.reload()
    done(texts.begun)
  })
  return (
    <Card title={texts.server} text={texts.serverText}>
      <Form of={form} label={texts.server}>
        <div class="pair">
          <TextField name="host" label={texts.host} isCode />
          <TextField name="port" label={texts.port} hint={texts.portHint} inputMode="numeric" isCode />
          <SelectField name="security" label={texts.security} options={texts.securities} />
          <TextField name="login" label={texts.login} isCode autocomplete="off" />
          <TextField name="password" label={texts.password} kind="password" autocomplete="off" />
        </div>
        <Submit>{texts.begin}</Submit>
      </Form>
      <TaskLines rows={tasks.rows} onStopped={() => void tasks.reload()} />
    </Card>
  )
}
