// What else is to be known of a message at a glance: that it is encrypted, signed, an invitation.
//
// It is named and no more: the service has no keys of its readers, so it neither opens nor checks any of them.

import type { Message } from '../store.ts'
import { mailTexts } from '../texts/texts.ts'

const armour = /^-----BEGIN PGP (MESSAGE|SIGNED MESSAGE)-----/m

/** By its types (RFC 1847, 8551), and by what is written into its text (RFC 9580 6.2). */
function sealsOf({ contentType, attachments, encrypted, text }: Message): { encrypted: boolean; signed: boolean } {
  const type = contentType.value.toLowerCase()
  const form = (contentType.params['smime-type'] ?? '').toLowerCase()
  const types = attachments.map(one => one.contentType.toLowerCase())
  const isPacked = /^application\/(?:x-)?pkcs7-mime$/.test(type)
  const written = armour.exec(text.slice(0, 10_000))?.[1]
  const signed =
    type === 'multipart/signed' ||
    types.some(one => /pgp-signature|pkcs7-signature/.test(one)) ||
    (isPacked && form === 'signed-data') ||
    written === 'SIGNED MESSAGE'
  const isEncrypted =
    encrypted === true ||
    type === 'multipart/encrypted' ||
    (isPacked && form !== 'signed-data') ||
    written === 'MESSAGE'
  return { encrypted: isEncrypted, signed }
}

export function Marks({ message }: { readonly message: Message }) {
  const texts = mailTexts.value
  const { encrypted, signed } = sealsOf(message)
  const says = [...(encrypted ? [texts.encrypted] : []), ...(signed ? [texts.signed] : [])]
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
