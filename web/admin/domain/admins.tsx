// Who looks after a domain: accounts that are named for it, found by search.
//
// They see the domain and its users alone; what they may change is within the limits that are set here.

import { call } from '../../base/client.ts'
import { FieldErrors, Form, Submit, useForm } from '../../base/form.tsx'
import { Card, IconButton, Located, Told } from '../../base/parts.tsx'
import { at } from '../../base/router.ts'
import { baseTexts } from '../../texts/texts.ts'
import { act } from '../kit/act.tsx'
import { type Account, UserField } from '../kit/user-field.tsx'
import { adminTexts } from '../texts/texts.ts'
import type { DomainPart } from './domain.tsx'

export function Admins({ domain: { name, admins }, of }: DomainPart) {
  const { domains: texts, common } = adminTexts.value
  const change = async (ids: string[]) => {
    of.show(await call('PUT /domains/:domain', { params: { domain: name }, body: { admins: ids } }))
  }
  const ids = admins.map(({ id }) => id)
  const form = useForm<{ admins: Account | null }>({ admins: null }, async fields => {
    if (fields.admins === null) throw new FieldErrors({ admins: common.pickUser })
    await change([...ids, fields.admins.id])
    form.set({ admins: null })
  })
  const remove = (id: string) => act(() => change(ids.filter(one => one !== id)), common.removed)
  return (
    <Card title={texts.admins} text={texts.adminsHint}>
      {admins.length === 0 ? (
        <p class="muted">{texts.noAdmins}</p>
      ) : (
        <ul class="lines">
          {admins.map(({ id, username, address }) => (
            <li key={id}>
              <a href={at(`/service/users/${id}`)}>
                <Told text={username} />
              </a>
              <Located class="muted" text={address} />
              <IconButton
                icon="trash"
                label={`${baseTexts.value.remove} ${username}`}
                onClick={() => void remove(id)}
              />
            </li>
          ))}
        </ul>
      )}
      <Form of={form} label={texts.addAdmin}>
        <UserField name="admins" label={texts.addAdmin} />
        <Submit>{common.add}</Submit>
      </Form>
    </Card>
  )
}
