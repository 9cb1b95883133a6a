// "Always file these": a filter made from the message that is read. Who it is from, its list and its subject are offered, with the folder
// that such mail goes to from now on, a look at how much of what is there already it would be, and moving that along.
//
// What matches is asked of the service, which looks as it will look when mail arrives; nothing is decided here.

import { type Signal, useSignal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import { call } from '../../base/client.ts'
import { Dialog } from '../../base/dialog.tsx'
import { CheckField, FieldErrors, Form, SelectField, Submit, TextField, useForm } from '../../base/form.tsx'
import { number } from '../../base/language.ts'
import { done, explain } from '../../base/notice.tsx'
import { move } from '../actions.ts'
import { folderName, folderOf, folderPath, folders, type Message, user } from '../store.ts'
import { mailTexts } from '../texts/texts.ts'

interface Fields {
  readonly from: string
  readonly listId: string
  readonly subject: string
}

/** Messages that one question asks for, and that one move takes along. */
const pageMessages = 250

export function AlwaysFile({ message, onClose }: { readonly message: Message; onClose(): void }) {
  const texts = mailTexts.value.filing
  const listId = message.list?.id?.address ?? ''
  const initial = {
    from: listId === '' ? message.from.address : '',
    ...{ listId, subject: '', to: '', existing: false },
  }
  const form = useForm(initial, async ({ to, existing, ...fields }) => {
    const query = queryOf(fields)
    if (Object.keys(query).length === 0) throw new FieldErrors({ from: texts.nothing })
    const folder = folderOf(to)
    if (folder === undefined) throw new FieldErrors({ to: texts.where })
    const name = Object.values(query).join(', ').slice(0, 100)
    await call('POST /users/:user/filters', {
      params: { user: user() },
      body: { name, query, action: { mailbox: to } },
    })
    if (existing) {
      const uids = await matching(message.mailbox, query, new AbortController().signal)
      const parts = Array.from({ length: Math.ceil(uids.length / pageMessages) }, (_, part) =>
        uids.slice(part * pageMessages, (part + 1) * pageMessages),
      )
      await move(
        parts.map(part => ({ mailbox: message.mailbox, uids: part })),
        folder,
      )
    }
    done(texts.made(folderName(folder)))
    onClose()
  })
  const targets = (folders.value ?? []).filter(one => one.id !== message.mailbox)
  const options = Object.fromEntries([['', texts.choose], ...targets.map(one => [one.id, folderPath(one)])])
  const here = folderOf(message.mailbox)
  return (
    <Dialog title={texts.title} onClose={onClose}>
      <p class="hint">{texts.text}</p>
      <Form of={form}>
        <TextField name="from" label={texts.from} isCode />
        <TextField name="listId" label={texts.listId} isCode />
        <TextField name="subject" label={texts.subject} placeholder={message.subject} />
        <SelectField name="to" label={texts.to} options={options} />
        <Count mailbox={message.mailbox} values={form.values} />
        <CheckField name="existing" label={texts.existing(here === undefined ? '' : folderName(here))} />
        <Submit>{texts.make}</Submit>
      </Form>
    </Dialog>
  )
}

function queryOf({ from, listId, subject }: Fields): Partial<Fields> {
  const given = Object.entries({ from, listId, subject }).map(([name, value]) => [name, value.trim()] as const)
  return Object.fromEntries(given.filter(([, value]) => value !== ''))
}

/** How many messages of the folder match, counted when somebody has stopped typing. */
function Count({ mailbox, values }: { readonly mailbox: string; readonly values: Signal<Fields> }) {
  const texts = mailTexts.value.filing
  const said = useSignal('')
  const { from, listId, subject } = values.value
  const query = queryOf({ from, listId, subject })
  useEffect(() => {
    said.value = ''
    if (Object.keys(query).length === 0) return undefined
    const control = new AbortController()
    const timer = setTimeout(() => {
      matching(mailbox, query, control.signal, (found, seen) => {
        said.value = texts.count(number(found), number(seen))
      }).catch(error => {
        if (!control.signal.aborted) said.value = explain(error)
      })
    }, typingMs)
    return () => {
      clearTimeout(timer)
      control.abort()
    }
  }, [JSON.stringify(query)])
  return (
    <p class="hint" role="status">
      {said.value}
    </p>
  )
}

const typingMs = 300

/** Numbers of those messages of a folder that a filter would take; the service looks at a part of them at a time. */
async function matching(
  mailbox: string,
  query: Partial<Fields>,
  signal: AbortSignal,
  onPart: (found: number, seen: number) => void = () => {},
): Promise<number[]> {
  const uids: number[] = []
  let seen = 0
  for (let next: string | undefined; ; ) {
    const body = { mailbox, query, action: { seen: true }, limit: pageMessages, ...(next !== undefined && { next }) }
    const answer = await call('POST /users/:user/filters/preview', { params: { user: user() }, body, signal })
    uids.push(...answer.results.map(one => one.message.id))
    seen += answer.examined
    onPart(uids.length, seen)
    if (answer.nextCursor === false) return uids
    next = answer.nextCursor
  }
}
