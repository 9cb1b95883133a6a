// The service's users: found by name or address, page by page, and new ones.
//
// The service finds and counts them; a page has fifty. Whoever is made here must choose a password of the own with the first login.

import { useState } from 'preact/hooks'
import { call } from '../base/client.ts'
import { Dialog } from '../base/dialog.tsx'
import { Form, Submit, TextField, useForm } from '../base/form.tsx'
import { bytes } from '../base/language.ts'
import { done } from '../base/notice.tsx'
import { Badge, Card, type Column, Loaded, Located, Page, Table, Told } from '../base/parts.tsx'
import { useCall } from '../base/resource.ts'
import { at, go } from '../base/router.ts'
import { may } from '../base/session.ts'
import { baseTexts } from '../texts/texts.ts'
import { Pager, Search, useCursor } from './kit/list.tsx'
import { adminTexts } from './texts/texts.ts'

interface Listed {
  readonly id: string
  readonly username: string
  readonly name: string
  readonly address: string
  readonly enabled2fa: readonly string[]
  readonly disabled: boolean
  readonly suspended: boolean
  readonly quota: { readonly allowed: number; readonly used: number }
}

const pageRows = 50

export function UsersPage() {
  const { pages, users: texts, common } = adminTexts.value
  const [query, setQuery] = useState('')
  const [cursor, goTo] = useCursor(query)
  const [isAdding, setAdding] = useState(false)
  const found = useCall('GET /users', { query: { limit: pageRows, ...(query !== '' && { query }), ...cursor } })
  const add = may('users.create', 'domain') && (
    <button type="button" class="primary" onClick={() => setAdding(true)}>
      {texts.add}
    </button>
  )
  return (
    <Page title={pages.users} actions={add}>
      <Card>
        <Search label={texts.find} onSearch={setQuery} />
        <Loaded of={found}>
          {data => (
            <>
              {data.results.length === 0 ? (
                <p class="muted">{common.nothingFound}</p>
              ) : (
                <Table label={pages.users} columns={columns()} rows={data.results} id={row => row.id} />
              )}
              <Pager of={data} go={goTo} />
            </>
          )}
        </Loaded>
      </Card>
      {isAdding && <AddUser onClose={() => setAdding(false)} />}
    </Page>
  )
}

function columns(): Column<Listed>[] {
  const { users: texts, common } = adminTexts.value
  return [
    {
      title: texts.username,
      cell: ({ id, username, name }) => (
        <span class="about">
          <a href={at(`/service/users/${id}`)}>
            <Told text={username} />
          </a>
          {name !== '' && <Told class="muted" text={name} />}
        </span>
      ),
    },
    { title: common.address, cell: ({ address }) => <Located text={address} /> },
    { title: texts.quota, cell: ({ quota }) => texts.used(bytes(quota.used), bytes(quota.allowed)), atEnd: true },
    { title: texts.status, cell: user => <UserState user={user} /> },
  ]
}

export function UserState({
  user,
}: {
  readonly user: Pick<Listed, 'disabled' | 'suspended'> & { enabled2fa: readonly string[] }
}) {
  const { users: texts } = adminTexts.value
  if (user.suspended) return <Badge kind="bad">{texts.suspended}</Badge>
  if (user.disabled) return <Badge kind="warn">{texts.disabled}</Badge>
  return (
    <span class="badges">
      <Badge kind="good">{texts.active}</Badge>
      {user.enabled2fa.length > 0 && <Badge>{texts.factors}</Badge>}
    </span>
  )
}

function AddUser({ onClose }: { onClose(): void }) {
  const { users: texts } = adminTexts.value
  const form = useForm({ username: '', address: '', name: '', password: '', quotaMb: '' }, async fields => {
    const { username, address, name, password, quotaMb } = fields
    const body = {
      ...{ username, password, requirePasswordChange: true },
      ...(address !== '' && { address }),
      ...(name !== '' && { name }),
      ...(quotaMb !== '' && { quota: Number(quotaMb) * 1024 ** 2 }),
    }
    const { id } = await call('POST /users', { body })
    done(texts.created)
    go(`/service/users/${id}`)
  })
  return (
    <Dialog title={texts.add} onClose={onClose}>
      <Form of={form}>
        <TextField name="username" label={texts.username} autocomplete="off" isCode autofocus />
        <TextField name="address" label={texts.address} autocomplete="off" isCode />
        <TextField name="name" label={texts.name} autocomplete="off" />
        <TextField
          name="password"
          label={texts.password}
          kind="password"
          hint={texts.passwordHint}
          autocomplete="new-password"
        />
        <TextField name="quotaMb" label={texts.quotaMb} kind="number" hint={texts.limitsHint} />
        <Submit
          more={
            <button type="button" onClick={onClose}>
              {baseTexts.value.cancel}
            </button>
          }
        >
          {texts.add}
        </Submit>
      </Form>
    </Dialog>
  )
}
