// What helps somebody back in who lost a password or a second factor.
//
// An operator makes a temporary password, which is shown this once with how long it is good; whoever looks after a domain may not. Both
// give a new one, which must be changed with the next sign-in unless they want it otherwise. Whoever lost what a second factor needs has all of them turned off, and sets them up anew.

import { useState } from 'preact/hooks'
import { call, type Reply } from '../base/client.ts'
import { ask, Dialog } from '../base/dialog.tsx'
import { CheckField, FieldErrors, Form, Submit, TextField, useForm } from '../base/form.tsx'
import { moment } from '../base/language.ts'
import { done } from '../base/notice.tsx'
import { baseTexts } from '../texts/texts.ts'
import { act, Shown } from './kit/act.tsx'
import { adminTexts } from './texts/texts.ts'

interface About {
  readonly user: string
  readonly username: string
  /** Closes it, with whether something was done. */
  onClose(isDone: boolean): void
}

export function ResetDialog({ user, username, onClose }: About) {
  const { users: texts } = adminTexts.value
  const [made, setMade] = useState<Reply<'POST /users/:user/password/reset'>>()
  const form = useForm({ validAfter: '' }, async ({ validAfter }) => {
    const body = validAfter === '' ? {} : { validAfter: new Date(validAfter).toISOString() }
    setMade(await call('POST /users/:user/password/reset', { params: { user }, body }))
  })
  if (made !== undefined) {
    const begins = new Date(made.validAfter).getTime()
    const until = moment(made.expires)
    const span = begins > Date.now() ? texts.resetFrom(moment(begins), until) : texts.resetUntil(until)
    return (
      <Shown
        key="made"
        title={texts.resetDone}
        hint={`${span} ${texts.resetTell}`}
        text={made.password}
        onClose={() => onClose(true)}
      />
    )
  }
  return (
    <Dialog key="ask" title={texts.reset} onClose={() => onClose(false)}>
      <p>{texts.resetAsk(username)}</p>
      <Form of={form}>
        <TextField name="validAfter" label={texts.resetBegin} kind="datetime-local" hint={texts.resetBeginHint} />
        <Submit more={<Cancel onClose={onClose} />}>{texts.reset}</Submit>
      </Form>
    </Dialog>
  )
}

export function GivePassword({ user, username, onClose }: About) {
  const { users: texts } = adminTexts.value
  const form = useForm({ password: '', requirePasswordChange: true }, async body => {
    if (body.password === '') throw new FieldErrors({ password: texts.giveWanted })
    await call('PUT /users/:user', { params: { user }, body })
    done(texts.gaveDone)
    onClose(true)
  })
  return (
    <Dialog title={texts.give} onClose={() => onClose(false)}>
      <p>{texts.giveAsk(username)}</p>
      <Form of={form}>
        <TextField name="password" label={texts.password} kind="password" autocomplete="new-password" autofocus />
        <CheckField name="requirePasswordChange" label={texts.giveChange} hint={texts.giveChangeHint} />
        <Submit more={<Cancel onClose={onClose} />}>{texts.give}</Submit>
      </Form>
    </Dialog>
  )
}

function Cancel({ onClose }: Pick<About, 'onClose'>) {
  return (
    <button type="button" onClick={() => onClose(false)}>
      {baseTexts.value.cancel}
    </button>
  )
}

/** Turns every second factor of an account off, after a question. */
export async function turnFactorsOff(user: string, username: string, after: () => unknown): Promise<void> {
  const { users: texts } = adminTexts.value
  const question = { title: texts.factorsOff, text: texts.factorsOffAsk(username), action: texts.factorsOff }
  if (!(await ask({ ...question, danger: true }))) return
  await act(() => call('DELETE /users/:user/2fa', { params: { user }, body: {} }), texts.factorsOffDone, after)
}
