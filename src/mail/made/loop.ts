// Finding mail that goes round in circles: too many Received lines, or a header of ours that says the message was forwarded
// for this account before. The header is keyed per account, so nobody else can make one, and it names nobody.

import { createHmac } from 'node:crypto'
import { randomHex, sameSecret } from '#lib/id.ts'
import { limits } from '#lib/limits.ts'
import type { Header } from '../header/header.ts'

const name = 'X-Forward-Seen'
const saltBytes = 6
const saltLength = 2 * saltBytes

/** The header line that marks a message as forwarded for `who`, with its CRLF. */
export function loopHeader(secret: string, who: string): string {
  const salt = randomHex(saltBytes)
  return `${name}: ${salt}${mac(secret, salt, who)}\r\n`
}

/** Whether forwarding this message for `who` would close a circle. */
export function isLooping(header: Header, secret: string, who: string): boolean {
  if (header.fields.filter(({ key }) => key === 'received').length >= limits.outbound.receivedLinesMax) return true
  return header
    .rawAll(name.toLowerCase())
    .slice(0, limits.outbound.loopHeadersMax)
    .some(value => sameSecret(value.slice(saltLength), mac(secret, value.slice(0, saltLength), who)))
}

function mac(secret: string, salt: string, who: string): string {
  return createHmac('sha256', secret).update(`${salt} ${who}`).digest('hex')
}
