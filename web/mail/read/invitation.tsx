// An invitation that came with a message, as a card above its text: what, when, where, and who asks.
//
// Named and no more: it is answered with the calendar that it is opened with.

import { call } from '../../base/client.ts'
import { number } from '../../base/language.ts'
import { shownName } from '../../base/names.ts'
import { Badge, Fact, Facts } from '../../base/parts.tsx'
import { useResource } from '../../base/resource.ts'
import { type Message, user } from '../store.ts'
import { mailTexts } from '../texts/texts.ts'
import { calendarMax, readInvitation } from './calendar.ts'

export function Invitations({ message }: { readonly message: Message }) {
  const part = message.attachments.find(one => one.contentType.toLowerCase() === 'text/calendar')
  if (part === undefined || part.size > 2 * calendarMax) return null
  return <Card key={part.id} message={message} attachment={part.id} />
}

function Card({ message, attachment }: { readonly message: Message; readonly attachment: string }) {
  const texts = mailTexts.value.invited
  const params = { user: user(), mailbox: message.mailbox, message: message.id, attachment }
  const { data: found } = useResource(async signal => {
    const name = 'GET /users/:user/mailboxes/:mailbox/messages/:message/attachments/:attachment'
    const blob = await call(name, { params, query: { sendAsString: true }, signal })
    return { invitation: readInvitation(await blob.text()) }
  }, JSON.stringify(params))
  const invitation = found?.invitation
  if (invitation === undefined) return null
  const { method, what, when, where, organizer, repeats, more } = invitation
  const kind = method === 'CANCEL' ? texts.cancelled : method === 'REPLY' ? texts.answer : texts.invitation
  return (
    <section class="mail-invitation" aria-label={kind}>
      <p>
        <Badge kind={method === 'CANCEL' ? 'bad' : 'good'}>{kind}</Badge> {repeats && <Badge>{texts.repeats}</Badge>}
      </p>
      <h3>
        <bdi>{shownName(what) || texts.noName}</bdi>
      </h3>
      <Facts>
        {when !== '' && (
          <Fact name={texts.when}>
            <bdi>{shownName(when)}</bdi>
          </Fact>
        )}
        {where !== '' && (
          <Fact name={texts.where}>
            <bdi>{shownName(where)}</bdi>
          </Fact>
        )}
        {organizer !== '' && (
          <Fact name={texts.organizer}>
            <bdi>{shownName(organizer)}</bdi>
          </Fact>
        )}
      </Facts>
      {more > 0 && <p class="hint">{texts.more(number(more))}</p>}
    </section>
  )
}
