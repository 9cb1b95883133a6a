// Sends a message on as it is: its fields and its text unchanged, so that whoever gets it sees who wrote it and answers them.

import { useSignal } from '@preact/signals'
import { useId } from 'preact/hooks'
import { call } from '../../base/client.ts'
import { Dialog } from '../../base/dialog.tsx'
import { FieldErrors, Form, Submit, useForm } from '../../base/form.tsx'
import { list } from '../../base/language.ts'
import { readPeople } from '../../base/names.ts'
import { done } from '../../base/notice.tsx'
import { type Message, user } from '../store.ts'
import { mailTexts } from '../texts/texts.ts'
import { PeopleField } from '../write/people-field.tsx'

export function Redirect({ message, onClose }: { readonly message: Message; onClose(): void }) {
  const texts = mailTexts.value.redirect
  const id = useId()
  const wrong = useSignal('')
  const form = useForm({ to: '' }, async ({ to }) => {
    const read = readPeople(to)
    wrong.value = read.wrong.length > 0 ? texts.noAddress(list(read.wrong)) : ''
    if (read.wrong.length > 0) throw new FieldErrors({})
    if (read.people.length === 0) {
      wrong.value = mailTexts.value.noRecipient
      throw new FieldErrors({})
    }
    const addresses = read.people.map(one => one.address)
    const params = { user: user(), mailbox: message.mailbox, message: message.id }
    await call('POST /users/:user/mailboxes/:mailbox/messages/:message/forward', { params, body: { addresses } })
    done(texts.sent(list(addresses)))
    onClose()
  })
  return (
    <Dialog title={texts.title} onClose={onClose}>
      <p class="hint">{texts.text}</p>
      <Form of={form}>
        <PeopleField
          id={id}
          label={mailTexts.value.to}
          value={form.values.value.to}
          onChange={to => form.set({ to })}
        />
        {wrong.value !== '' && (
          <p class="error" role="alert">
            {wrong.value}
          </p>
        )}
        <Submit>{texts.send}</Submit>
      </Form>
    </Dialog>
  )
}
