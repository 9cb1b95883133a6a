// The autoreply: what is answered while somebody is away, and between which days.
//
// Days are those of this browser: from the beginning of the first to the end of the last.

import { call, type Reply } from '../base/client.ts'
import { CheckField, FieldErrors, Form, Submit, TextArea, TextField, useForm } from '../base/form.tsx'
import { done } from '../base/notice.tsx'
import { Card, Loaded, Page } from '../base/parts.tsx'
import { useCall } from '../base/resource.ts'
import { owner } from '../base/session.ts'
import { baseTexts } from '../texts/texts.ts'
import { accountTexts } from './texts/texts.ts'

export function AutoreplyPage() {
  const texts = accountTexts.value.autoreply
  const reply = useCall('GET /users/:user/autoreply', { params: { user: owner().id } })
  return (
    <Page title={texts.title} lead={texts.lead}>
      <Card>
        <Loaded of={reply}>{kept => <ReplyForm kept={kept} />}</Loaded>
      </Card>
    </Page>
  )
}

function ReplyForm({ kept }: { readonly kept: Reply<'GET /users/:user/autoreply'> }) {
  const texts = accountTexts.value.autoreply
  const { status, subject, text, html } = kept
  const form = useForm({ status, subject, text, start: dayOf(kept.start), end: dayOf(kept.end) }, async values => {
    const { start, end, ...more } = values
    // What another program wrote in HTML stays until its text is another one.
    const isRewritten = more.text !== text
    const isEmpty = more.text.trim() === '' && (isRewritten || html === '')
    if (more.status && isEmpty) throw new FieldErrors({ text: texts.needed })
    if (start !== '' && end !== '' && end < start) throw new FieldErrors({ end: texts.order })
    const days = { start: moment(start, '00:00:00'), end: moment(end, '23:59:59') }
    const body = { ...more, ...days, ...(isRewritten && { html: '' }) }
    await call('PUT /users/:user/autoreply', { params: { user: owner().id }, body })
    done(more.status ? texts.on : texts.off)
  })
  return (
    <Form of={form} label={texts.title}>
      <CheckField name="status" label={texts.status} hint={texts.statusHint} />
      <div class="pair">
        <TextField name="start" label={texts.start} hint={texts.startHint} kind="date" />
        <TextField name="end" label={texts.end} hint={texts.endHint} kind="date" />
      </div>
      <TextField name="subject" label={texts.subject} hint={texts.subjectHint} />
      <TextArea name="text" label={texts.text} rows={8} />
      <Submit>{baseTexts.value.save}</Submit>
    </Form>
  )
}

/** `2026-11-23` of a moment, in the time of this browser. */
function dayOf(at: string | undefined): string {
  if (at === undefined) return ''
  const date = new Date(at)
  const two = (value: number) => String(value).padStart(2, '0')
  return `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}`
}

function moment(day: string, time: string): string | false {
  return day === '' ? false : new Date(`${day}T${time}`).toISOString()
}
