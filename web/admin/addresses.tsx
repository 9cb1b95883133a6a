// Every address of the service: whose it is or where it is forwarded to; addresses that only forward are made and switched off here.
// What stands here is one page of the service's list; an address of a user leads to that user, where it is changed. Targets may be URLs with
// a password in them, which the service masks in what it shows.

import { useState } from 'preact/hooks'
import { call, type Reply } from '../base/client.ts'
import { ask, Dialog } from '../base/dialog.tsx'
import { Form, Submit, TextArea, TextField, useForm } from '../base/form.tsx'
import { done } from '../base/notice.tsx'
import { Badge, Card, type Column, IconButton, Loaded, Located, Page, Table, Told } from '../base/parts.tsx'
import { useCall } from '../base/resource.ts'
import { at } from '../base/router.ts'
import { may } from '../base/session.ts'
import { baseTexts } from '../texts/texts.ts'
import { act } from './kit/act.tsx'
import { linesOf, Pager, Search, useCursor } from './kit/list.tsx'
import { adminTexts } from './texts/texts.ts'

type Listed = Reply<'GET /addresses'>['results'][number]

const pageRows = 50

export function AddressesPage() {
  const { pages, addresses: texts, common } = adminTexts.value
  const [query, setQuery] = useState('')
  const [cursor, goTo] = useCursor(query)
  const [edited, setEdited] = useState<Listed | null>()
  const found = useCall('GET /addresses', { query: { limit: pageRows, ...(query !== '' && { query }), ...cursor } })
  const close = () => {
    setEdited(undefined)
    void found.reload()
  }
  const add = may('addresses.create', 'domain') && (
    <button type="button" class="primary" onClick={() => setEdited(null)}>
      {texts.add}
    </button>
  )
  return (
    <Page title={pages.addresses} actions={add}>
      <Card>
        <Search label={texts.find} onSearch={setQuery} />
        <Loaded of={found}>
          {data => (
            <>
              {data.results.length === 0 ? (
                <p class="muted">{common.nothingFound}</p>
              ) : (
                <Table
                  label={pages.addresses}
                  columns={columns()}
                  rows={data.results}
                  id={row => row.id}
                  actions={row =>
                    row.forwarded && <Doings of={row} edit={() => setEdited(row)} reload={found.reload} />
                  }
                />
              )}
              <Pager of={data} go={goTo} />
            </>
          )}
        </Loaded>
      </Card>
      {edited !== undefined && <Forwarded of={edited} onClose={close} />}
    </Page>
  )
}

function columns(): Column<Listed>[] {
  const { addresses: texts, common } = adminTexts.value
  return [
    { title: common.address, cell: ({ address }) => <Located text={address} /> },
    {
      title: texts.forwards,
      cell: ({ user, username, targets = [], forwardedDisabled }) => (
        <span class="badges">
          {user === undefined ? (
            <Told text={targets.join(', ')} />
          ) : (
            <a href={at(`/service/users/${user}`)}>
              <Told text={username ?? texts.user} />
            </a>
          )}
          {forwardedDisabled && <Badge kind="warn">{texts.disabled}</Badge>}
        </span>
      ),
    },
  ]
}

function Doings({
  of: { id, address, forwardedDisabled },
  edit,
  reload,
}: {
  readonly of: Listed
  edit(): void
  reload(): Promise<void>
}) {
  const { addresses: texts, common } = adminTexts.value
  const remove = async () => {
    const title = `${baseTexts.value.remove} ${address}`
    if (!(await ask({ title, text: common.sure, action: baseTexts.value.remove, danger: true }))) return
    await act(() => call('DELETE /addresses/forwarded/:id', { params: { id } }), common.removed, reload)
  }
  const flip = () =>
    act(
      () => call('PUT /addresses/forwarded/:id', { params: { id }, body: { forwardedDisabled: !forwardedDisabled } }),
      baseTexts.value.saved,
      reload,
    )
  return (
    <span class="row">
      {may('addresses.update', 'domain') && (
        <>
          <IconButton icon="edit" label={`${baseTexts.value.edit} ${address}`} onClick={edit} />
          <IconButton
            icon={forwardedDisabled ? 'check' : 'lock'}
            label={`${forwardedDisabled ? texts.enable : texts.disable} ${address}`}
            onClick={() => void flip()}
          />
        </>
      )}
      {may('addresses.delete', 'domain') && (
        <IconButton icon="trash" danger label={`${baseTexts.value.remove} ${address}`} onClick={() => void remove()} />
      )}
    </span>
  )
}

/** A new address that only forwards, or the targets of one. */
function Forwarded({ of, onClose }: { readonly of: Listed | null; onClose(): void }) {
  const { addresses: texts, common } = adminTexts.value
  const initial = { address: of?.address ?? '', targets: (of?.targets ?? []).join('\n') }
  const form = useForm(initial, async fields => {
    const targets = linesOf(fields.targets)
    if (of === null) await call('POST /addresses/forwarded', { body: { address: fields.address, targets } })
    else await call('PUT /addresses/forwarded/:id', { params: { id: of.id }, body: { targets } })
    done(baseTexts.value.saved)
    onClose()
  })
  return (
    <Dialog title={of === null ? texts.add : of.address} onClose={onClose}>
      <Form of={form}>
        {of === null && <TextField name="address" label={common.address} isCode autofocus autocomplete="off" />}
        <TextArea name="targets" label={texts.targets} rows={4} isCode />
        <Submit>{baseTexts.value.save}</Submit>
      </Form>
    </Dialog>
  )
}
