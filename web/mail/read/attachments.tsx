// Files that came with a message: names made fit to be shown, sizes, a look at pictures, and a way to keep each.

import { addressOf } from '../../base/client.ts'
import { Icon } from '../../base/icon.tsx'
import { bytes } from '../../base/language.ts'
import { shownName } from '../names.ts'
import { type Message, user } from '../store.ts'
import { mailTexts } from '../texts/texts.ts'

const shownMax = 200
/** What browsers show and cannot run. */
const preview = /^image\/(?:png|jpeg|gif|webp|bmp)$/i
const previewBytesMax = 8_000_000

export function Attachments({ message }: { readonly message: Message }) {
  const texts = mailTexts.value
  const files = message.attachments.filter(one => !one.related || one.cid === undefined)
  if (files.length === 0) return null
  const place = { user: user(), mailbox: message.mailbox, message: message.id }
  return (
    <section class="mail-attachments" aria-label={texts.attachments}>
      <h3>{texts.attachments}</h3>
      <ul>
        {files.slice(0, shownMax).map(({ id: attachment, filename, contentType, size }) => {
          const name = shownName(filename) || attachment
          const params = { ...place, attachment }
          const href = addressOf('GET /users/:user/mailboxes/:mailbox/messages/:message/attachments/:attachment', {
            params,
          })
          return (
            <li key={attachment}>
              <a href={href} download={name}>
                {preview.test(contentType) && size < previewBytesMax ? (
                  <img src={href} alt="" loading="lazy" />
                ) : (
                  <Icon name="download" />
                )}
                <span>
                  <bdi>{name}</bdi>
                  <span class="hint">{bytes(size)}</span>
                </span>
              </a>
            </li>
          )
        })}
      </ul>
    </section>
  )
}
