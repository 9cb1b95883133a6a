// One message: who wrote to whom about what, the text in its frame (frame.tsx), attachments, and one click away why it is here, its
// header fields and its source.
//
// It is marked as read once it was shown.

import { useSignal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import { Refusal } from '../../base/client.ts'
import { moment, number } from '../../base/language.ts'
import { type Person, personName, shownName } from '../../base/names.ts'
import { Loaded } from '../../base/parts.tsx'
import { setFlag } from '../actions.ts'
import type { MessageList } from '../list/message-list.ts'
import type { Message, Row } from '../store.ts'
import { mailTexts } from '../texts/texts.ts'
import { Attachments } from './attachments.tsx'
import { Body } from './body.tsx'
import { Details } from './details.tsx'
import { Invitations } from './invitation.tsx'
import { Marks } from './marks.tsx'
import { useMessage } from './message.ts'
import { HeaderFields, Source } from './source.tsx'
import { Actions } from './toolbar.tsx'

interface Props {
  readonly mailbox: string
  readonly uid: number
  readonly list: MessageList
  open(row: Row | undefined): void
}

export function Reader({ mailbox, uid, list, open }: Props) {
  const texts = mailTexts.value
  const found = useMessage(mailbox, uid)
  const message = found.data
  useEffect(() => {
    if (message !== undefined && !message.seen) void setFlag([{ mailbox, uids: [uid] }], { seen: true })
  }, [message?.id])
  if (found.error instanceof Refusal && found.error.status === 404) return <p class="state">{texts.gone}</p>
  return <Loaded of={found}>{shown => <Shown message={shown} list={list} open={open} />}</Loaded>
}

function Shown({
  message,
  list,
  open,
}: {
  readonly message: Message
  readonly list: MessageList
  open: Props['open']
}) {
  const texts = mailTexts.value
  const subject = shownName(message.subject) || texts.noSubject
  const who = personName(message.from) || texts.nobody
  return (
    <article class="mail-message">
      <Actions message={message} list={list} open={open} />
      <header>
        <h2>
          <bdi>{subject}</bdi>
        </h2>
        <div class="mail-from">
          <span class="face" aria-hidden="true">
            {[...personName(message.from)][0]?.toUpperCase() ?? '?'}
          </span>
          <div>
            <p>
              <strong>
                <bdi>{who}</bdi>
              </strong>{' '}
              <bdi class="hint" dir="ltr">
                {shownName(message.from.address)}
              </bdi>
            </p>
            <People label={texts.to} people={message.to} />
            <People label={texts.cc} people={message.cc} />
            <People label={texts.bcc} people={message.bcc} />
          </div>
          <time dateTime={message.date}>{moment(message.date)}</time>
        </div>
        <Marks message={message} />
        <Behind message={message} />
      </header>
      <Invitations message={message} />
      <Body message={message} />
      <Attachments message={message} />
    </article>
  )
}

const views = { why: Details, headers: HeaderFields, source: Source } as const
type View = keyof typeof views

/** What is behind the message, one at a time. */
function Behind({ message }: { readonly message: Message }) {
  const texts = mailTexts.value
  const chosen = useSignal<View | ''>('')
  const names: Readonly<Record<View, string>> = { why: texts.details, headers: texts.headers, source: texts.source }
  const Chosen = chosen.value === '' ? null : views[chosen.value]
  return (
    <>
      <p class="mail-behind">
        {(Object.keys(views) as View[]).map(view => (
          <button
            key={view}
            type="button"
            class="link"
            aria-expanded={chosen.value === view}
            onClick={() => {
              chosen.value = chosen.value === view ? '' : view
            }}
          >
            {names[view]}
          </button>
        ))}
      </p>
      {Chosen !== null && <Chosen message={message} />}
    </>
  )
}

const peopleShown = 8
const peopleMax = 500

function People({ label, people = [] }: { readonly label: string; readonly people?: readonly Person[] | undefined }) {
  const texts = mailTexts.value
  const isLong = useSignal(false)
  if (people.length === 0) return null
  const shown = people.slice(0, isLong.value ? peopleMax : peopleShown)
  return (
    <p class="mail-people">
      <span class="hint">{label}: </span>
      {shown.map((person, at) => (
        <span key={at}>
          {at > 0 && ', '}
          <bdi title={shownName(person.address)}>{personName(person)}</bdi>
        </span>
      ))}{' '}
      {people.length > shown.length && (
        <button
          type="button"
          class="link"
          onClick={() => {
            isLong.value = true
          }}
        >
          {texts.toMany(number(people.length - shown.length))}
        </button>
      )}
    </p>
  )
}
