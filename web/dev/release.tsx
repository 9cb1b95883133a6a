// Asks to whom a caught mail is sent on, and says by which server, before anything leaves.

import { Dialog } from '../base/dialog.tsx'
import { Form, Submit, TextField, useForm } from '../base/form.tsx'
import { done } from '../base/notice.tsx'
import { baseTexts } from '../texts/texts.ts'
import { ask, type Info } from './rest.ts'
import { devTexts } from './texts/texts.ts'

export function ReleaseDialog({
  id,
  to,
  about,
  close,
}: {
  readonly id: string
  readonly to: readonly string[]
  readonly about: NonNullable<Info['release']>
  close(): void
}) {
  const texts = devTexts.value
  const form = useForm({ to: to.join(', ') }, async values => {
    const wanted = values.to.split(',').flatMap(one => one.trim() || [])
    await ask('POST', `/mails/${id}/release`, { to: wanted })
    done(texts.released)
    close()
  })
  return (
    <Dialog title={texts.releaseTitle} onClose={close}>
      <p>
        {texts.releaseText} <bdi class="code">{about.server}</bdi>
      </p>
      <p class="hint">
        {texts.releaseAllowed} <bdi>{about.to.join(', ')}</bdi>
      </p>
      <Form of={form}>
        <TextField name="to" label={texts.to} isCode autofocus />
        <Submit
          more={
            <button type="button" onClick={close}>
              {baseTexts.value.cancel}
            </button>
          }
        >
          {texts.release}
        </Submit>
      </Form>
    </Dialog>
  )
}
