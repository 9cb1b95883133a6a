// Passwords for mail programs: one for each, with what it may, and for Apple's devices a profile that sets them up.
//
// A password is shown once, when it is made; afterwards nobody can.

import { useSignal } from '@preact/signals'
import { useEffect, useMemo } from 'preact/hooks'
import { call, type Reply } from '../base/client.ts'
import { ask, Cancelled, Dialog, withPassword } from '../base/dialog.tsx'
import { CheckField, ChecksField, Form, Submit, TextField, useForm } from '../base/form.tsx'
import { Icon } from '../base/icon.tsx'
import { list, relative } from '../base/language.ts'
import { done, failed } from '../base/notice.tsx'
import { Card, Empty, IconButton, Loaded, Page, Table } from '../base/parts.tsx'
import { useCall } from '../base/resource.ts'
import { owner } from '../base/session.ts'
import { baseTexts } from '../texts/texts.ts'
import { accountTexts } from './texts/texts.ts'

type Made = Reply<'POST /users/:user/asps'>

export function ProgramsPage() {
  const texts = accountTexts.value.programs
  const params = { user: owner().id }
  const passwords = useCall('GET /users/:user/asps', { params, query: { showAll: true } })
  const isAdding = useSignal(false)
  const made = useSignal<Made | null>(null)
  const remove = async (asp: string, name: string) => {
    if (!(await ask({ title: texts.removeTitle(name), text: texts.removeText, action: texts.remove, danger: true })))
      return
    await call('DELETE /users/:user/asps/:asp', { params: { ...params, asp } })
    await passwords.reload()
    done(texts.removed)
  }
  const add = (
    <button
      type="button"
      class="primary"
      onClick={() => {
        isAdding.value = true
      }}
    >
      <Icon name="plus" />
      {texts.add}
    </button>
  )
  return (
    <Page title={texts.title} lead={texts.lead} actions={add}>
      <Card>
        <Loaded of={passwords}>
          {({ results }) =>
            results.length === 0 ? (
              <Empty icon="phone" title={texts.none}>
                <p>{texts.noneText}</p>
              </Empty>
            ) : (
              <Table
                label={texts.title}
                rows={results}
                id={row => row.id}
                columns={[
                  { title: texts.description, cell: row => <bdi>{row.description}</bdi> },
                  { title: texts.scopes, cell: row => scopesText(row.scopes) },
                  {
                    title: texts.used,
                    cell: ({ lastUse }) => (lastUse.time === undefined ? texts.never : relative(lastUse.time)),
                  },
                ]}
                actions={row => (
                  <IconButton
                    icon="trash"
                    label={`${texts.remove}: ${row.description}`}
                    onClick={() => void remove(row.id, row.description).catch(failed)}
                  />
                )}
              />
            )
          }
        </Loaded>
      </Card>
      {isAdding.value && (
        <AddDialog
          onClose={() => {
            isAdding.value = false
          }}
          onMade={password => {
            isAdding.value = false
            made.value = password
            void passwords.reload()
          }}
        />
      )}
      {made.value !== null && (
        <MadeDialog
          made={made.value}
          onClose={() => {
            made.value = null
          }}
        />
      )}
    </Page>
  )
}

function scopesText(scopes: readonly string[]): string {
  const texts = accountTexts.value.programs
  if (scopes.includes('*')) return texts.all
  const known = Object.entries(texts.scope).filter(([key]) => scopes.includes(key))
  return list(known.map(([, text]) => text))
}

function AddDialog({ onClose, onMade }: { onClose(): void; onMade(made: Made): void }) {
  const texts = accountTexts.value.programs
  const form = useForm({ description: '', scopes: ['imap', 'smtp'], generateMobileconfig: false }, async values => {
    try {
      const asked = { params: { user: owner().id } }
      onMade(await withPassword(more => call('POST /users/:user/asps', { ...asked, body: { ...values, ...more } })))
    } catch (error) {
      if (!(error instanceof Cancelled)) throw error
    }
  })
  return (
    <Dialog title={texts.add} onClose={onClose}>
      <Form of={form}>
        <TextField name="description" label={texts.description} hint={texts.descriptionHint} autofocus />
        <ChecksField name="scopes" label={texts.scopes} options={texts.scope} />
        <CheckField name="generateMobileconfig" label={texts.profile} hint={texts.profileHint} />
        <Submit>{texts.create}</Submit>
      </Form>
    </Dialog>
  )
}

function MadeDialog({ made, onClose }: { readonly made: Made; onClose(): void }) {
  const texts = accountTexts.value.programs
  const profile = useMemo(() => profileUrl(made), [made])
  useEffect(() => () => URL.revokeObjectURL(profile), [profile])
  const copy = () => {
    navigator.clipboard.writeText(made.password).then(() => done(baseTexts.value.copied), failed)
  }
  return (
    <Dialog title={texts.made} onClose={onClose}>
      <p>{texts.madeText}</p>
      <p class="shown-secret">
        <code dir="ltr">{made.password.replaceAll(/(.{4})(?=.)/g, '$1 ')}</code>
        <IconButton icon="copy" label={baseTexts.value.copy} onClick={copy} />
      </p>
      <div class="actions">
        {profile !== '' && (
          <a class="button" href={profile} download="teal.mobileconfig">
            <Icon name="download" />
            {texts.download}
          </a>
        )}
        <button type="button" class="primary" onClick={onClose}>
          {texts.finished}
        </button>
      </div>
    </Dialog>
  )
}

function profileUrl({ mobileconfig }: Made): string {
  if (mobileconfig === undefined) return ''
  const bytes = Uint8Array.from(atob(mobileconfig), letter => letter.charCodeAt(0))
  return URL.createObjectURL(new Blob([bytes], { type: 'application/x-apple-aspen-config' }))
}
