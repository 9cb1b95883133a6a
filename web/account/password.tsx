// Changing the password, also where that must be done first.
//
// The service checks the present one and decides what is good enough; here only what it would refuse for sure is said at once.

import { call } from '../base/client.ts'
import { FieldErrors, Form, Submit, TextField, useForm } from '../base/form.tsx'
import { Icon } from '../base/icon.tsx'
import { done } from '../base/notice.tsx'
import { Card, Page } from '../base/parts.tsx'
import { owner, refreshSession } from '../base/session.ts'
import { accountTexts } from './texts/texts.ts'

const lengthMin = 8
const none = { existingPassword: '', password: '', repeat: '' }

export function PasswordPage() {
  const texts = accountTexts.value.password
  const { id, username, requirePasswordChange } = owner()
  const form = useForm(none, async ({ existingPassword, password, repeat }) => {
    if (password.length < lengthMin) throw new FieldErrors({ password: texts.short })
    if (password !== repeat) throw new FieldErrors({ repeat: texts.differs })
    await call('PUT /users/:user', { params: { user: id }, body: { existingPassword, password } })
    form.set(none)
    await refreshSession()
    done(texts.changed)
  })
  return (
    <Page title={texts.title} lead={texts.lead}>
      {requirePasswordChange && (
        <p class="callout warn">
          <Icon name="alert" />
          <span>{texts.must}</span>
        </p>
      )}
      <Card>
        <Form of={form} label={texts.title}>
          <span class="unseen" aria-hidden="true">
            <input type="text" autocomplete="username" value={username} readOnly tabIndex={-1} />
          </span>
          <TextField
            name="existingPassword"
            label={texts.existing}
            {...(requirePasswordChange && { hint: texts.existingHint })}
            kind="password"
            autocomplete="current-password"
          />
          <TextField
            name="password"
            label={texts.fresh}
            hint={texts.freshHint}
            kind="password"
            autocomplete="new-password"
          />
          <TextField name="repeat" label={texts.repeat} kind="password" autocomplete="new-password" />
          <Submit>{texts.change}</Submit>
        </Form>
      </Card>
    </Page>
  )
}
