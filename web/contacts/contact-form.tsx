// One contact in front of the page: a name, addresses, numbers, groups and a note. What the form does not show, such as postal addresses,
// stays as it is.
//
// Addresses are checked by the service; what it refuses stands beside the field.

import { type CallInput, call } from '../base/client.ts'
import { ask, Dialog } from '../base/dialog.tsx'
import { FieldErrors, Form, Submit, TextArea, TextField, useForm } from '../base/form.tsx'
import { done, failed } from '../base/notice.tsx'
import { type Contact, user } from './store.ts'
import { contactTexts } from './texts/texts.ts'

type Values = Contact['emails']
/** Kinds are the service's own words. */
type Kinds = NonNullable<NonNullable<CallInput<'POST /users/:user/contacts'>['body']>['emails']>

const lines = (text: string) =>
  text
    .split('\n')
    .map(line => line.trim())
    .filter(line => line !== '')

/** Lines as values; one that was there keeps its kind. */
function valuesOf(text: string, before: Values): Kinds {
  const kinds = new Map(before.map(({ value, kind }) => [value, kind]))
  return lines(text).map(value => ({ value, kind: kinds.get(value) ?? '' })) as Kinds
}

interface Props {
  readonly contact: Partial<Contact>
  /** Whether something changed. */
  onClose(isChanged: boolean): void
}

export function ContactDialog({ contact, onClose }: Props) {
  const texts = contactTexts.value
  const { id, name = '', emails = [], phones = [], groups = [] } = contact
  const { organization = '', title = '', birthday = '', note = '' } = contact
  const initial = {
    ...{ name, organization, title, birthday, note },
    emails: emails.map(one => one.value).join('\n'),
    phones: phones.map(one => one.value).join('\n'),
    groups: groups.join(', '),
  }
  const form = useForm(initial, async given => {
    const wrong = lines(given.emails).find(line => !/^\S+@\S+$/.test(line))
    if (wrong !== undefined) throw new FieldErrors({ emails: texts.noAddress(wrong) })
    const body = {
      ...{ name: given.name, organization: given.organization, title: given.title },
      ...{ birthday: given.birthday, note: given.note },
      emails: valuesOf(given.emails, emails),
      phones: valuesOf(given.phones, phones),
      groups: [...new Set(lines(given.groups.replace(/[,;]/g, '\n')))],
    }
    if (id === undefined) await call('POST /users/:user/contacts', { params: { user: user() }, body })
    else await call('PUT /users/:user/contacts/:contact', { params: { user: user(), contact: id }, body })
    done(texts.kept)
    onClose(true)
  })
  const remove = async () => {
    if (id === undefined || !(await ask({ title: texts.delete, text: name, action: texts.delete, danger: true })))
      return
    await call('DELETE /users/:user/contacts/:contact', { params: { user: user(), contact: id } })
    onClose(true)
  }
  return (
    <Dialog title={id === undefined ? texts.add : name} onClose={() => onClose(false)}>
      <Form of={form}>
        <TextField name="name" label={texts.name} autofocus />
        <TextArea name="emails" label={texts.emails} hint={texts.oneALine} rows={2} isCode />
        <TextArea name="phones" label={texts.phones} hint={texts.oneALine} rows={2} isCode />
        <TextField name="groups" label={texts.groups} hint={texts.groupsHint} />
        <div class="pair">
          <TextField name="organization" label={texts.organization} />
          <TextField name="title" label={texts.position} />
        </div>
        <TextField name="birthday" label={texts.birthday} isCode />
        <TextArea name="note" label={texts.note} rows={3} />
        <Submit
          more={
            id !== undefined && (
              <button type="button" class="danger" onClick={() => void remove().catch(failed)}>
                {texts.delete}
              </button>
            )
          }
        >
          {texts.keep}
        </Submit>
      </Form>
    </Dialog>
  )
}
