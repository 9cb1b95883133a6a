// Who gets mail for addresses of a domain that nobody has: an account, some targets, or nobody.
//
// Targets may hold secrets, which are shown hidden: what was not changed is not sent.

import { call } from '../../base/client.ts'
import { FieldErrors, Form, SelectField, Submit, TextArea, useForm } from '../../base/form.tsx'
import { done } from '../../base/notice.tsx'
import { Card } from '../../base/parts.tsx'
import { useCall } from '../../base/resource.ts'
import { baseTexts } from '../../texts/texts.ts'
import { linesOf } from '../kit/list.tsx'
import { type Account, UserField } from '../kit/user-field.tsx'
import { adminTexts } from '../texts/texts.ts'
import type { DomainPart } from './domain.tsx'

interface Fields {
  readonly to: string
  readonly catchAll: Account | null
  readonly targets: string
}

export function CatchAll({ domain, of }: DomainPart) {
  const { domains: texts } = adminTexts.value
  const user = domain.catchAll === false ? undefined : domain.catchAll.user
  const known = useCall('GET /users/:user', user === undefined ? null : { params: { user } })
  if (user !== undefined && known.data === undefined && known.error === undefined)
    return <Card title={texts.catchAll} />
  const account = user === undefined ? null : { id: user, text: known.data?.username ?? user }
  return <CatchAllForm key={user ?? ''} domain={domain} of={of} account={account} />
}

function CatchAllForm({ domain, of, account }: DomainPart & { readonly account: Account | null }) {
  const { domains: texts, common } = adminTexts.value
  const { catchAll } = domain
  const targets = catchAll === false ? [] : (catchAll.targets ?? [])
  const to = account !== null ? 'user' : targets.length > 0 ? 'targets' : 'nobody'
  const initial: Fields = { to, catchAll: account, targets: targets.join('\n') }
  const form = useForm<Fields>(initial, async fields => {
    const wanted = wantedOf(fields)
    if (wanted === null) throw new FieldErrors({ catchAll: common.pickUser })
    const isSame = fields.to === to && fields.catchAll?.id === account?.id && fields.targets === initial.targets
    if (!isSame) {
      of.show(await call('PUT /domains/:domain', { params: { domain: domain.name }, body: { catchAll: wanted } }))
    }
    done(baseTexts.value.saved)
  })
  const chosen = form.values.value.to
  return (
    <Card title={texts.catchAll} text={texts.catchAllHint}>
      <Form of={form}>
        <SelectField name="to" label={texts.catchAllTo} options={texts.catchAlls} />
        {chosen === 'user' && <UserField name="catchAll" label={adminTexts.value.addresses.user} />}
        {chosen === 'targets' && <TextArea name="targets" label={adminTexts.value.users.targets} rows={3} isCode />}
        <Submit>{baseTexts.value.save}</Submit>
      </Form>
    </Card>
  )
}

/** What the service is told; null where somebody is still to be named. */
function wantedOf({ to, catchAll, targets }: Fields) {
  if (to === 'user') return catchAll && { user: catchAll.id }
  const lines = linesOf(targets)
  return to === 'nobody' || lines.length === 0 ? (false as const) : { targets: lines }
}
