// Access tokens that belong to no account, with their roles: made, shown once, ended.
//
// A session sees those that may do no more than itself. The text of a token is in the dialog that follows its making and nowhere else.

import { useState } from 'preact/hooks'
import { call, type Reply } from '../../base/client.ts'
import { ask, Dialog } from '../../base/dialog.tsx'
import { Form, SelectField, Submit, TextField, useForm } from '../../base/form.tsx'
import { moment } from '../../base/language.ts'
import { Badge, Card, type Column, Loaded, Page, Table, Told } from '../../base/parts.tsx'
import { useCall } from '../../base/resource.ts'
import { may } from '../../base/session.ts'
import { act, Shown } from '../kit/act.tsx'
import { adminTexts } from '../texts/texts.ts'

type Listed = Reply<'GET /tokens'>['results'][number]
type Body = NonNullable<Parameters<typeof call<'POST /tokens'>>[1]>['body']

export function TokensPage() {
  const { pages, tokens: texts, common } = adminTexts.value
  const [isAdding, setAdding] = useState(false)
  const [made, setMade] = useState<string>()
  const found = useCall('GET /tokens', {})
  const revoke = async ({ id }: Listed) => {
    if (!(await ask({ title: texts.revoke, text: texts.revokeAsk, action: texts.revoke, danger: true }))) return
    await act(() => call('DELETE /tokens/:token', { params: { token: id } }), common.removed, found.reload)
  }
  const add = may('tokens.create', 'any') && (
    <button type="button" class="primary" onClick={() => setAdding(true)}>
      {texts.add}
    </button>
  )
  const shown = (token: string) => {
    setAdding(false)
    setMade(token)
    void found.reload()
  }
  return (
    <Page title={pages.tokens} lead={texts.hint} actions={add}>
      <Loaded of={found}>
        {({ results, roles }) => (
          <>
            <Card>
              <Table
                label={pages.tokens}
                columns={columns()}
                rows={results}
                id={row => row.id}
                actions={row =>
                  may('tokens.delete', 'any') && (
                    <button
                      type="button"
                      aria-label={`${texts.revoke}: ${row.label} ${row.id}`}
                      onClick={() => void revoke(row)}
                    >
                      {texts.revoke}
                    </button>
                  )
                }
              />
            </Card>
            {isAdding && <AddToken roles={roles} onMade={shown} onClose={() => setAdding(false)} />}
          </>
        )}
      </Loaded>
      {made !== undefined && (
        <Shown title={texts.made} hint={texts.once} text={made} onClose={() => setMade(undefined)} />
      )}
    </Page>
  )
}

function roleText(role: string): string {
  const { roles } = adminTexts.value.tokens
  return Object.hasOwn(roles, role) ? roles[role as keyof typeof roles] : role
}

function columns(): Column<Listed>[] {
  const { tokens: texts, common } = adminTexts.value
  return [
    {
      title: texts.label,
      cell: ({ label, id, own }) => (
        <span class="about">
          <span class="badges">
            <Told text={label === '' ? id : label} />
            {own && <Badge kind="good">{texts.own}</Badge>}
          </span>
          {label !== '' && (
            <span class="muted">
              <bdi class="code">{id}</bdi>
            </span>
          )}
        </span>
      ),
    },
    {
      title: texts.role,
      cell: ({ role }) => (
        <span class="about">
          <bdi>{role}</bdi>
          <span class="muted">{roleText(role)}</span>
        </span>
      ),
    },
    { title: common.created, cell: ({ created }) => moment(created) },
  ]
}

function AddToken({
  roles,
  onMade,
  onClose,
}: {
  readonly roles: readonly string[]
  onMade(token: string): void
  onClose(): void
}) {
  const { tokens: texts } = adminTexts.value
  const form = useForm({ role: roles.at(-1) ?? '', label: '' }, async fields => {
    const { token } = await call('POST /tokens', { body: fields as Body })
    onMade(token)
  })
  const options = Object.fromEntries(roles.map(role => [role, `${role}: ${roleText(role)}`]))
  return (
    <Dialog title={texts.add} onClose={onClose}>
      <Form of={form}>
        <TextField name="label" label={texts.label} autofocus autocomplete="off" maxLength={255} />
        <SelectField name="role" label={texts.role} options={options} hint={texts.hint} />
        <Submit>{texts.add}</Submit>
      </Form>
    </Dialog>
  )
}
