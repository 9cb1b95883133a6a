// One message as it is read: who and when, its text in a frame that does nothing (frame.tsx), attachments, and why it is here.
//
// It is marked as read once it was shown. Pictures from elsewhere are shown when somebody asks, for this message and this once.

import { useSignal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import { addressOf, Refusal } from '../../base/client.ts'
import { Icon, type IconName } from '../../base/icon.tsx'
import { moment, number } from '../../base/language.ts'
import { Loaded } from '../../base/parts.tsx'
import { useCall } from '../../base/resource.ts'
import { moveFor, type Place, remove, setFlag } from '../actions.ts'
import type { MessageList } from '../list/message-list.ts'
import { MoveMenu } from '../list/move-menu.tsx'
import { type Person, personName, shownName } from '../names.ts'
import { folderOf, type Message, type Row, user } from '../store.ts'
import { mailTexts } from '../texts/texts.ts'
import { answer, editDraft } from '../write/writing.ts'
import { Attachments } from './attachments.tsx'
import { Details } from './details.tsx'
import { HtmlFrame } from './frame.tsx'

/** Characters of HTML that are cleaned without asking. */
const htmlMax = 1_500_000

interface Props {
  readonly mailbox: string
  readonly uid: number
  readonly list: MessageList
  open(row: Row | undefined): void
}

const getting = 'GET /users/:user/mailboxes/:mailbox/messages/:message'

export function Reader({ mailbox, uid, list, open }: Props) {
  const texts = mailTexts.value
  const params = { user: user(), mailbox, message: uid }
  const found = useCall(getting, { params })
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
  const isDetailed = useSignal(false)
  const subject = shownName(message.subject) || texts.noSubject
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
                <bdi>{personName(message.from)}</bdi>
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
        <button
          type="button"
          class="link"
          aria-expanded={isDetailed.value}
          onClick={() => {
            isDetailed.value = !isDetailed.value
          }}
        >
          {texts.details}
        </button>
        {isDetailed.value && <Details message={message} />}
      </header>
      <Body message={message} />
      <Attachments message={message} />
    </article>
  )
}

/** What else is to be known at a glance. */
function Marks({ message }: { readonly message: Message }) {
  const texts = mailTexts.value
  const type = message.contentType.value.toLowerCase()
  const types = [type, ...message.attachments.map(one => one.contentType.toLowerCase())]
  const says = [
    ...(message.encrypted === true || type === 'multipart/encrypted' ? [texts.encrypted] : []),
    ...(types.some(one => one === 'multipart/signed' || /pgp-signature|pkcs7-signature/.test(one))
      ? [texts.signed]
      : []),
    ...(types.includes('text/calendar') ? [texts.invitation] : []),
  ]
  return says.length === 0 ? null : (
    <p class="mail-marks">
      {says.map(text => (
        <span key={text} class="badge plain">
          {text}
        </span>
      ))}
    </p>
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

function Body({ message }: { readonly message: Message }) {
  const texts = mailTexts.value
  const html = message.html?.join('<hr>') ?? ''
  const isLong = html.length > htmlMax
  const asText = useSignal(isLong || html === '')
  const pictures = useSignal(false)
  const blocked = useSignal(0)
  const place = { user: user(), mailbox: message.mailbox, message: message.id }
  const of = (attachment: string) =>
    addressOf('GET /users/:user/mailboxes/:mailbox/messages/:message/attachments/:attachment', {
      params: { ...place, attachment },
    })
  const key = (event: KeyboardEvent) => {
    const { key: name, metaKey, ctrlKey, altKey } = event
    const again = new KeyboardEvent('keydown', { key: name, metaKey, ctrlKey, altKey, bubbles: true, cancelable: true })
    if (!document.body.dispatchEvent(again)) event.preventDefault()
  }
  return (
    <div class="mail-body">
      {isLong && asText.value && (
        <p class="mail-note">
          {texts.tooLong}{' '}
          <button
            type="button"
            class="link"
            onClick={() => {
              asText.value = false
            }}
          >
            {texts.showAnyway}
          </button>
        </p>
      )}
      {!asText.value && blocked.value > 0 && !pictures.value && (
        <p class="mail-note" role="status">
          {texts.blockedPictures(number(blocked.value))}{' '}
          <button
            type="button"
            class="link"
            onClick={() => {
              pictures.value = true
            }}
          >
            {texts.showPictures}
          </button>
        </p>
      )}
      {asText.value ? (
        <PlainText text={message.text} />
      ) : (
        <HtmlFrame
          html={html}
          pictures={pictures.value}
          title={shownName(message.subject) || texts.message}
          addressOf={of}
          onBlocked={count => {
            blocked.value = count
          }}
          onKey={key}
        />
      )}
      {html !== '' && !isLong && (
        <button
          type="button"
          class="link"
          onClick={() => {
            asText.value = !asText.value
          }}
        >
          {asText.value ? texts.asHtml : texts.asText}
        </button>
      )}
    </div>
  )
}

const textMax = 2_000_000

function PlainText({ text }: { readonly text: string }) {
  const shown = text.slice(0, textMax)
  const parts = shown.split(
    /(https?:\/\/[^\s<>"'\u202a-\u202e\u2066-\u2069]{1,2000}[^\s<>"'.,;:!?)\]\u202a-\u202e\u2066-\u2069])/g,
  )
  return (
    <div class="mail-text" dir="auto">
      {parts.map((part, at) =>
        at % 2 === 1 ? (
          <a key={at} href={part} target="_blank" rel="noopener noreferrer nofollow">
            {part}
          </a>
        ) : (
          part
        ),
      )}
    </div>
  )
}

function Actions({
  message,
  list,
  open,
}: {
  readonly message: Message
  readonly list: MessageList
  open: Props['open']
}) {
  const texts = mailTexts.value
  const { mailbox, id: uid } = message
  const places: readonly Place[] = [{ mailbox, uids: [uid] }]
  const folder = folderOf(mailbox)
  const isJunk = folder?.specialUse === '\\Junk'
  const leave = (run: (places: readonly Place[]) => Promise<void>) => {
    const index = list.indexOf(mailbox, uid)
    open(index < 0 ? undefined : (list.row(index + 1) ?? list.row(index - 1)))
    void run(places)
  }
  const button = (icon: IconName, label: string, run: () => void) => (
    <button type="button" class="plain" title={label} aria-label={label} onClick={run}>
      <Icon name={icon} />
    </button>
  )
  return (
    <div class="mail-actions" role="toolbar" aria-label={texts.message}>
      <button
        type="button"
        class="plain mail-back"
        aria-label={texts.back}
        title={texts.back}
        onClick={() => open(undefined)}
      >
        <Icon name="chevron" />
      </button>
      {message.draft ? (
        <button type="button" class="primary" onClick={() => void editDraft(message)}>
          {texts.edit}
        </button>
      ) : (
        <>
          <button type="button" onClick={() => void answer({ mailbox, uid }, 'reply')}>
            {texts.reply}
          </button>
          <button type="button" onClick={() => void answer({ mailbox, uid }, 'replyAll')}>
            {texts.replyAll}
          </button>
          <button type="button" onClick={() => void answer({ mailbox, uid }, 'forward')}>
            {texts.forward}
          </button>
        </>
      )}
      <span class="gap" />
      {button('archive', texts.archive, () => leave(some => moveFor(some, '\\Archive')))}
      {button('alert', isJunk ? texts.notJunk : texts.junk, () =>
        leave(some => moveFor(some, isJunk ? 'INBOX' : '\\Junk')),
      )}
      {button('trash', texts.delete, () => leave(remove))}
      {button('mail', texts.markUnread, () => {
        open(undefined)
        void setFlag(places, { seen: false })
      })}
      <MoveMenu act={leave} />
    </div>
  )
}
