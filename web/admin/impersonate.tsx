// Acting as a user: this browser is that account's for an hour, with a mark in both logs and on every page (web/base/acting.tsx).
//
// The own session waits behind it. No script sees a token.

import { call } from '../base/client.ts'
import { Dialog } from '../base/dialog.tsx'
import { Form, Submit, TextField, useForm } from '../base/form.tsx'
import { done } from '../base/notice.tsx'
import { go } from '../base/router.ts'
import { begin } from '../base/session.ts'
import { baseTexts } from '../texts/texts.ts'
import { adminTexts } from './texts/texts.ts'

export function Impersonate({
  user,
  username,
  onClose,
}: {
  readonly user: string
  readonly username: string
  onClose(): void
}) {
  const { users: texts } = adminTexts.value
  const form = useForm({ reason: '' }, async ({ reason }) => {
    const session = await call('POST /session/acting', { body: { user, reason } })
    go('/account', { replace: true })
    begin(session)
    done(texts.impersonateDone)
  })
  return (
    <Dialog title={texts.impersonate} onClose={onClose}>
      <p>{texts.impersonateAsk(username)}</p>
      <Form of={form}>
        <TextField name="reason" label={texts.reason} maxLength={255} autofocus />
        <Submit
          more={
            <button type="button" onClick={onClose}>
              {baseTexts.value.cancel}
            </button>
          }
        >
          {texts.impersonate}
        </Submit>
      </Form>
    </Dialog>
  )
}
