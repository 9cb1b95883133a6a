// One filter: what it looks at, what it does, and what it would have done with mail that is there already.
//
// Trying it changes nothing; it goes through one folder, newest first.

import { useSignal } from '@preact/signals'
import { call, type Reply } from '../base/client.ts'
import { Dialog } from '../base/dialog.tsx'
import { CheckField, FieldErrors, Form, SelectField, Submit, TextArea, TextField, useForm } from '../base/form.tsx'
import { number } from '../base/language.ts'
import { failed } from '../base/notice.tsx'
import { Told } from '../base/parts.tsx'
import { owner } from '../base/session.ts'
import type { Filter, Folders } from './filters.tsx'
import { folderName } from './folder-name.ts'
import { accountTexts } from './texts/texts.ts'

type Tried = Reply<'POST /users/:user/filters/preview'>

const kilobyte = 1024
const shownMax = 10

function initial(filter: Filter | null) {
  const { from = '', to = '', subject = '', text = '', listId = '', ha, size = 0 } = filter?.originalQuery ?? {}
  const { mailbox = '', seen, flag, spam, delete: drop, targets = [] } = filter?.originalAction ?? {}
  return {
    ...{ name: filter?.name ?? '', from, to, subject, text, listId },
    ha: ha === undefined ? '' : String(ha),
    /** Kept where the form says nothing of the size. */
    size,
    largerKb: size > 0 ? String(size / kilobyte) : '',
    ...{ mailbox, seen: seen === true, flag: flag === true, delete: drop === true },
    /** What other programs have said no to stays so. */
    before: { seen, flag, delete: drop },
    spam: spam === undefined ? '' : String(spam),
    targets: targets.join('\n'),
  }
}

type Values = ReturnType<typeof initial>

/** As the API takes it; null takes away what was there. */
function bodyOf(values: Values) {
  const { name, from, to, subject, text, listId, ha, largerKb, mailbox, spam, targets } = values
  const size = Number(largerKb.replace(',', '.')) * kilobyte || Math.min(values.size, 0)
  const query = {
    from: from || null,
    to: to || null,
    subject: subject || null,
    text: text || null,
    listId: listId || null,
    ha: ha === '' ? null : ha === 'true',
    size: size || null,
  }
  const on = (key: keyof Values['before']) => values[key] || (values.before[key] === false ? false : null)
  const junk = spam === '' ? null : spam === 'true'
  const sent = targets.split(/[\s,;]+/).filter(one => one !== '')
  const action = {
    mailbox: mailbox || null,
    ...{ seen: on('seen'), flag: on('flag'), delete: on('delete') },
    spam: junk,
    targets: sent,
  }
  return { name, query, action }
}

export function FilterDialog({
  filter,
  folders,
  onClose,
  onSaved,
}: {
  readonly filter: Filter | null
  readonly folders: Folders
  onClose(): void
  onSaved(): void
}) {
  const texts = accountTexts.value.filters
  const params = { user: owner().id }
  const form = useForm(initial(filter), async values => {
    if (Number.isNaN(Number(values.largerKb.replace(',', '.')))) throw new FieldErrors({ largerKb: texts.noNumber })
    const body = bodyOf(values)
    // Secrets in them are not shown, and stay as they are.
    const { targets, ...others } = body.action
    const action = values.targets === initial(filter).targets ? others : { ...others, targets }
    if (filter === null) await call('POST /users/:user/filters', { params, body: { ...body, action } })
    else
      await call('PUT /users/:user/filters/:filter', {
        params: { ...params, filter: filter.id },
        body: { ...body, action },
      })
    onSaved()
  })
  const names = Object.fromEntries(folders.map(folder => [folder.id, folderName(folder)]))
  const choices = { '': texts.anyChoice, true: texts.yes, false: texts.no }
  return (
    <Dialog title={filter === null ? texts.add : texts.edit} onClose={onClose} wide>
      <Form of={form}>
        <TextField name="name" label={texts.name} autofocus />
        <h3>{texts.conditions}</h3>
        <div class="pair">
          <TextField name="from" label={texts.fields.from} />
          <TextField name="to" label={texts.fields.to} />
          <TextField name="subject" label={texts.fields.subject} />
          <TextField name="text" label={texts.fields.text} />
          <TextField name="listId" label={texts.fields.listId} />
          <SelectField name="ha" label={texts.attachments} options={choices} />
          <TextField name="largerKb" label={texts.largerKb} inputMode="numeric" />
        </div>
        <h3>{texts.actions}</h3>
        <div class="pair">
          <SelectField name="mailbox" label={texts.folder} options={{ '': texts.stay, ...names }} />
          <SelectField
            name="spam"
            label={texts.junk}
            options={{ '': texts.decide, true: texts.always, false: texts.never }}
          />
        </div>
        <CheckField name="seen" label={texts.seen} />
        <CheckField name="flag" label={texts.flag} />
        <CheckField name="delete" label={texts.delete} hint={texts.deleteHint} />
        <TextArea name="targets" label={texts.targets} rows={2} isCode />
        <Trial body={bodyOf(form.values.value)} folders={folders} />
        <Submit>{texts.save}</Submit>
      </Form>
    </Dialog>
  )
}

/** What it would do with the mail of the inbox. */
function Trial({
  body: { query, action },
  folders,
}: {
  readonly body: ReturnType<typeof bodyOf>
  readonly folders: Folders
}) {
  const texts = accountTexts.value.filters
  const tried = useSignal<Tried | null>(null)
  const isBusy = useSignal(false)
  const inbox = folders.find(({ path }) => path === 'INBOX')
  const run = async () => {
    if (inbox === undefined || isBusy.value) return
    isBusy.value = true
    try {
      const params = { user: owner().id }
      tried.value = await call('POST /users/:user/filters/preview', {
        params,
        body: { mailbox: inbox.id, query, action },
      })
    } catch (error) {
      failed(error)
    } finally {
      isBusy.value = false
    }
  }
  return (
    <div class="trial">
      <button type="button" aria-disabled={isBusy.value} onClick={() => void run()}>
        {texts.try}
      </button>
      <div role="status">
        {tried.value !== null && (
          <>
            <p class="hint">{texts.tried(number(tried.value.results.length), number(tried.value.examined))}</p>
            <ul class="lines">
              {tried.value.results.slice(0, shownMax).map(({ message }) => (
                <li key={message.id}>
                  <Told text={message.subject || texts.noSubject} />
                  <bdi class="hint">{message.from?.address}</bdi>
                </li>
              ))}
            </ul>
          </>
        )}
      </div>
    </div>
  )
}
