// A draft is written on: one that somebody opens, and one whose sending they take back.
//
// The files of a stored draft are uploaded anew, so that the draft may go when it is saved again.

import { call, Refusal } from '../../base/client.ts'
import { moment } from '../../base/language.ts'
import { done, failed } from '../../base/notice.tsx'
import { offer } from '../actions.ts'
import { type Message, user } from '../store.ts'
import { mailTexts } from '../texts/texts.ts'
import { listed, loadIdentities } from './identity.ts'
import { type Fields, makeLetter, type Reference } from './letter.ts'
import { letters, open } from './opened.ts'
import { withPictures } from './rich/pictures.ts'
import { safeHtml } from './rich/safe.ts'
import { uploadAgain } from './upload.ts'

/** Time to think again after sending. */
export const holdMs = 10_000

export const getting = 'GET /users/:user/mailboxes/:mailbox/messages/:message'

/** Goes on with a draft. */
export async function editDraft(message: Message): Promise<void> {
  const known = letters.value.find(one => one.draft?.mailbox === message.mailbox && one.draft.id === message.id)
  try {
    if (known !== undefined) {
      open(known)
      return
    }
    await loadIdentities()
    const { html, shown } = await withPictures(message.html?.join('<hr>') ?? '', message)
    const fields: Fields = {
      from: message.from.address,
      ...{ to: listed(message.to ?? []), cc: listed(message.cc ?? []), bcc: listed(message.bcc ?? []) },
      ...{
        subject: message.subject,
        text: message.text.replace(/\r\n/g, '\n'),
        html: html === '' ? null : safeHtml(html),
      },
      files: await uploadAgain(message, shown),
      carried: [],
    }
    const reference = message.reference && { ...(message.reference as Reference), attachments: false }
    const draft = { mailbox: message.mailbox, id: message.id }
    open(makeLetter({ fields, draft, ...(reference && { reference }) }))
  } catch (error) {
    failed(error)
  }
}

/** Says that a letter goes, and lets it be taken back as long as it has not. @param later the moment, 0 for now */
export function offerBack(queueId: string | undefined, later: number): void {
  const texts = mailTexts.value
  const text = later === 0 ? texts.sent : texts.sentLater(moment(later))
  if (queueId === undefined) done(text)
  else offer({ text, label: texts.takeBack, run: () => takeBack(queueId) }, holdMs)
}

async function takeBack(queueId: string): Promise<void> {
  const taken = await call('DELETE /users/:user/outbound/:queueId', {
    params: { user: user(), queueId },
    query: { restoreDraft: true },
  })
  if (!taken.success || taken.message === undefined) {
    failed(new Refusal(200, 'TooLate', mailTexts.value.tooLate))
    return
  }
  const { mailbox, id: message } = taken.message
  await editDraft(await call(getting, { params: { user: user(), mailbox, message } }))
  done(mailTexts.value.takenBack)
}
