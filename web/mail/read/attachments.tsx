// Files that came with a message: names made fit to be shown, sizes, a way to keep each, and a look at those that can be looked at
// (preview.tsx). What belongs to the text, such as its pictures, is shown there and not here.
// Names are their senders': directions and signs that cannot be seen are taken out.

import { useSignal } from '@preact/signals'
import { addressOf } from '../../base/client.ts'
import { Icon } from '../../base/icon.tsx'
import { bytes, number } from '../../base/language.ts'
import { shownName } from '../../base/names.ts'
import type { Message } from '../store.ts'
import { mailTexts } from '../texts/texts.ts'
import { type File, kindOf, Preview, paramsOf } from './preview.tsx'

/** Shown at first, and more for each time somebody asks. */
const shownStep = 200
const thumbBytesMax = 8_000_000

export function Attachments({ message }: { readonly message: Message }) {
  const texts = mailTexts.value
  const looked = useSignal<File | null>(null)
  const shown = useSignal(shownStep)
  const files = message.attachments.filter(one => !one.related || one.cid === undefined)
  if (files.length === 0) return null
  return (
    <section class="mail-attachments" aria-label={texts.attachments}>
      <h3>{texts.attachments}</h3>
      <ul>
        {files.slice(0, shown.value).map(file => (
          <Attached
            key={file.id}
            message={message}
            file={file}
            onLook={() => {
              looked.value = file
            }}
          />
        ))}
      </ul>
      {files.length > shown.value && (
        <button
          type="button"
          class="link"
          onClick={() => {
            shown.value += shownStep
          }}
        >
          {texts.toMany(number(files.length - shown.value))}
        </button>
      )}
      {looked.value !== null && (
        <Preview
          message={message}
          file={looked.value}
          onClose={() => {
            looked.value = null
          }}
        />
      )}
    </section>
  )
}

function Attached({ message, file, onLook }: { readonly message: Message; readonly file: File; onLook(): void }) {
  const texts = mailTexts.value.preview
  const name = shownName(file.filename) || file.id
  const kind = kindOf(file)
  const href = addressOf('GET /users/:user/mailboxes/:mailbox/messages/:message/attachments/:attachment', {
    params: paramsOf(message, file),
  })
  return (
    <li>
      <a href={href} download={name}>
        {kind === 'picture' && file.size < thumbBytesMax ? (
          <img src={href} alt="" loading="lazy" />
        ) : (
          <Icon name="download" />
        )}
        <span>
          <bdi>{name}</bdi>
          <span class="hint">{bytes(file.size)}</span>
        </span>
      </a>
      {kind !== undefined && (
        <button type="button" class="link" aria-label={texts.lookAt(name)} onClick={onLook}>
          {texts.look}
        </button>
      )}
    </li>
  )
}
