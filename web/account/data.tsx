// Storage by folder, taking everything along as one file, and bringing mail in from a file or from another server.
//
// An import from elsewhere is a task of the service, which goes on without this page (tasks.tsx).

import { useState } from 'preact/hooks'
import { addressOf, call } from '../base/client.ts'
import { Form, SelectField, Submit, TextField, useForm } from '../base/form.tsx'
import { Icon } from '../base/icon.tsx'
import { bytes, number, percent } from '../base/language.ts'
import { done } from '../base/notice.tsx'
import { Card, Loaded, Meter, Page, Table } from '../base/parts.tsx'
import { useCall } from '../base/resource.ts'
import { owner } from '../base/session.ts'
import { FileImport } from './file-import.tsx'
import { folderName } from './folder-name.ts'
import { TaskLines, useTasks } from './tasks.tsx'
import { accountTexts } from './texts/texts.ts'

export function DataPage() {
  const texts = accountTexts.value.data
  // What was brought in is in the folders then.
  const [round, setRound] = useState(0)
  const again = () => setRound(before => before + 1)
  return (
    <Page title={texts.title} lead={texts.lead}>
      <Folders key={round} />
      <Export />
      <FileImport onBrought={again} />
      <ServerImport onEnd={again} />
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
              { title: texts.folder, cell: row => <bdi>{folderName(row)}</bdi> },
              { title: texts.messages, cell: row => number(row.total ?? 0), atEnd: true },
              { title: texts.size, cell: row => bytes(row.size ?? 0), atEnd: true },
            ]}
            actions={row => (
              <a
                class="button plain"
                href={addressOf('GET /users/:user/export.mbox', { params, query: { mailbox: row.id } })}
                aria-label={texts.exportFolder(folderName(row))}
                title={texts.exportFolder(folderName(row))}
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
  const params = { user: owner().id }
  return (
    <Card title={texts.export} text={texts.exportText}>
      <div class="actions">
        <a class="button" href={addressOf('GET /users/:user/export.zip', { params })} download>
          <Icon name="download" />
          {texts.exportAll}
        </a>
        <a class="button plain" href={addressOf('GET /users/:user/export.mbox', { params })} download>
          {texts.exportMail}
        </a>
      </div>
    </Card>
  )
}

function ServerImport({ onEnd }: { onEnd(): void }) {
  const texts = accountTexts.value.data
  const params = { user: owner().id }
  const tasks = useTasks(['mail.import'], onEnd)
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
