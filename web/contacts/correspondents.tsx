// Everybody the account has written to or heard from, the latest first: what completes addresses while they are typed. Names are
// changed, entries hidden, and kept as contacts.
//
// One that is hidden completes nothing any more, whoever writes.

import { useSignal } from '@preact/signals'
import { call, type Reply } from '../base/client.ts'
import { ask, Dialog } from '../base/dialog.tsx'
import { Form, Submit, TextField, useForm } from '../base/form.tsx'
import { personName } from '../base/names.ts'
import { done, failed } from '../base/notice.tsx'
import { Card, Empty, IconButton, Loaded, Page } from '../base/parts.tsx'
import { useCall } from '../base/resource.ts'
import { Search } from './search.tsx'
import { user } from './store.ts'
import { contactTexts } from './texts/texts.ts'

type Entry = Reply<'GET /users/:user/addressregister'>['results'][number]

const shownMax = 100
/** Every address has one. */
const everybody = '@'

export function CorrespondentsPage() {
  const texts = contactTexts.value.people
  const words = useSignal('')
  const named = useSignal<Entry | null>(null)
  const query = { query: words.value || everybody, limit: shownMax }
  const found = useCall('GET /users/:user/addressregister', { params: { user: user() }, query })
  const hide = async ({ id, address }: Entry) => {
    if (!(await ask({ title: texts.hide(address), text: texts.hideText, action: texts.hideNow }))) return
    const params = { user: user(), id }
    await call('PUT /users/:user/addressregister/:id', { params, body: { disabled: true } })
    await found.reload()
  }
  const keep = async ({ name = '', address }: Entry) => {
    const body = { name: name || address, emails: [{ value: address }] }
    await call('POST /users/:user/contacts', { params: { user: user() }, body })
    done(texts.kept(name || address))
  }
  return (
    <Page title={texts.title} lead={texts.lead}>
      <Card>
        <Search
          label={texts.search}
          onSearch={text => {
            words.value = text
          }}
        />
        <Loaded of={found}>
          {({ results }) =>
            results.length === 0 ? (
              <Empty icon="mail" title={texts.none} />
            ) : (
              <ul class="lines" aria-label={texts.title}>
                {results.map(entry => (
                  <li key={entry.id}>
                    <span class="about grow">
                      <bdi>{personName(entry)}</bdi>
                      <bdi class="hint" dir="ltr">
                        {entry.address}
                      </bdi>
                    </span>
                    <span class="actions">
                      <IconButton
                        icon="plus"
                        label={texts.keep(entry.address)}
                        onClick={() => void keep(entry).catch(failed)}
                      />
                      <IconButton
                        icon="edit"
                        label={texts.rename(entry.address)}
                        onClick={() => {
                          named.value = entry
                        }}
                      />
                      <IconButton
                        icon="close"
                        label={texts.hide(entry.address)}
                        onClick={() => void hide(entry).catch(failed)}
                      />
                    </span>
                  </li>
                ))}
              </ul>
            )
          }
        </Loaded>
      </Card>
      {named.value !== null && (
        <NameDialog
          entry={named.value}
          onClose={() => {
            named.value = null
            void found.reload()
          }}
        />
      )}
    </Page>
  )
}

function NameDialog({ entry: { id, name = '', address }, onClose }: { readonly entry: Entry; onClose(): void }) {
  const texts = contactTexts.value
  const form = useForm({ name }, async given => {
    const body = { disabled: false, name: given.name.trim() }
    await call('PUT /users/:user/addressregister/:id', { params: { user: user(), id }, body })
    onClose()
  })
  return (
    <Dialog title={texts.people.rename(address)} onClose={onClose}>
      <Form of={form}>
        <TextField name="name" label={texts.name} autofocus />
        <Submit>{texts.keep}</Submit>
      </Form>
    </Dialog>
  )
}
