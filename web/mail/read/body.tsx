// The text of a message: its HTML in a frame where nothing runs, or its plain text with links.
//
// Pictures from elsewhere are shown when somebody asks, for this message and this once. What is far too long is shown as text first.

import { useSignal } from '@preact/signals'
import { useMemo } from 'preact/hooks'
import { addressOf } from '../../base/client.ts'
import { number } from '../../base/language.ts'
import { shownName } from '../../base/names.ts'
import { type Message, user } from '../store.ts'
import { mailTexts } from '../texts/texts.ts'
import { isDeep, isEndless } from './deep.ts'
import { HtmlFrame } from './frame.tsx'

/** Characters of HTML that are cleaned without asking. */
const htmlMax = 1_500_000

export function Body({ message }: { readonly message: Message }) {
  const texts = mailTexts.value
  const html = message.html?.join('<hr>') ?? ''
  const isLong = useMemo(() => html.length > htmlMax || isDeep(html), [html])
  const canBeShown = useMemo(() => !isEndless(html), [html])
  const asText = useSignal(isLong || html === '')
  const pictures = useSignal(false)
  const blocked = useSignal(0)
  const hosts = useSignal<readonly string[]>([])
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
          {canBeShown && (
            <button
              type="button"
              class="link"
              onClick={() => {
                asText.value = false
              }}
            >
              {texts.showAnyway}
            </button>
          )}
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
      {!asText.value && hosts.value.length > 0 && (
        <p class="mail-note" role="status">
          {texts.otherHosts} <bdi>{hosts.value.join(', ')}</bdi>
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
          onCleaned={found => {
            blocked.value = found.blocked
            hosts.value = found.hosts
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
