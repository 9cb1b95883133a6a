// The form in which a message leaves its account: under an address that the account may use, and without Bcc.
//
// What is sent over HTTP and over SMTP comes through here alike. A From that is not exactly one list of mailboxes, each the
// account's, is replaced by the account's own address; a foreign Sender is left out, and the whole of a foreign Resent block
// (wire-details 7); nobody is refused for that. A header that others may read otherwise than we do is
// (mail/header/authored.ts). Date and Message-ID are added where they lack (RFC 6409 8). Nothing else of a message changes,
// and one that needs no change is left as it is. Must not be asked about what is only stored: a draft keeps what its owner wrote.

import { now } from '#lib/clock.ts'
import { newUuid } from '#lib/id.ts'
import { limits } from '#lib/limits.ts'
import { domainToAscii, type Mailbox, mailboxes, splitAddress } from '#mail/address/address.ts'
import { parseAddresses } from '#mail/address/address-list.ts'
import { checkHeaderSize, plainHeader, strictMailboxes } from '#mail/header/authored.ts'
import { Header } from '#mail/header/header.ts'
import { fromField, rewriteHeader } from '#mail/header/rewrite.ts'
import { mailDate } from '#mail/made/dsn.ts'
import type { User } from '#store/accounts/users.ts'
import type { Bodies, Received } from '#store/bodies/bodies.ts'
import type { Reader } from '#store/engine/reader.ts'
import { maySendAs, senderFor } from './sender.ts'

/** A message as its owner wrote it. */
export interface Written {
  /** Bytes of its header block, the empty line included, and of all of it. */
  readonly headerSize: number
  readonly size: number
  read(start: number, end: number): Buffer | Promise<Buffer>
  stream(start: number): AsyncIterable<Buffer>
}

/** A message that was just received. */
export function writtenIn(received: Received): Written {
  return {
    headerSize: received.root.headerEnd,
    size: received.size,
    read: (start, end) => received.read(start, end),
    stream: start => received.stream(start),
  }
}

export interface SentForm {
  /** Who it is from now. */
  readonly from: { readonly name: string; readonly address: string }
  /** The changed message, for the caller to discard; null where it goes as it is. */
  readonly received: Received | null
}

/** What nobody else is to see, and what only those may say who receive a message (RFC 5321 4.4, RFC 8601 5). */
const dropped = ['bcc', 'resent-bcc', 'return-path', 'authentication-results']

/** Works out the form, and makes it where it is another one. @throws Fault MessageMalformed, StorageUnavailable */
export async function sentForm(
  { read, bodies, hostname }: { readonly read: Reader; readonly bodies: Bodies; readonly hostname: string },
  user: User,
  { headerSize, size, read: bytes, stream }: Written,
): Promise<SentForm> {
  checkHeaderSize(headerSize)
  const block = await bytes(0, headerSize)
  const plain = plainHeader(block)
  const header = new Header(plain)
  const honest = await isHonest(read, user, header)
  const [given] = mailboxes(parseAddresses(header.rawAll('from').join(', ')))
  const from = await senderFor(read, user, honest ? given : claimed(given), hostname)
  const drop = await foreign(read, user, header, honest)
  const replace = new Map<string, string>()
  if (!honest) replace.set('from', fromField(from))
  if (!header.has('date')) replace.set('date', `Date: ${mailDate(now())}`)
  if (!header.has('message-id')) {
    const domain = domainToAscii(splitAddress(from.address).domain) || hostname
    replace.set('message-id', `Message-ID: <${newUuid()}@${domain}>`)
  }
  if (plain === block && drop.size === 0 && replace.size === 0) return { from, received: null }
  const top = rewriteHeader(plain, drop, replace)
  async function* whole(): AsyncGenerator<Buffer> {
    yield top
    yield* stream(headerSize)
  }
  return { from, received: await bodies.receiveAll(whole(), size + top.length) }
}

/** Whether the header names who wrote the message in a way that cannot be misread, and the account may be all of these. */
export async function isHonest(read: Reader, user: User, header: Header): Promise<boolean> {
  return isOwn(read, user, header.rawAll('from'))
}

/** Whom a From names that is replaced: a word without a domain is a name, and an address is none. */
function claimed(given: Mailbox | undefined): Mailbox | undefined {
  if (given === undefined) return undefined
  const { name, address } = given
  return { name: name.includes('@') ? '' : name || (address.includes('@') ? '' : address), address }
}

/** Keys of the fields that must not go out with it. */
async function foreign(read: Reader, user: User, header: Header, honest: boolean): Promise<Set<string>> {
  const drop = new Set(dropped.filter(key => header.has(key)))
  if (header.has('sender') && !(honest && (await isOwn(read, user, header.rawAll('sender'), 1)))) drop.add('sender')
  for (const key of ['resent-from', 'resent-sender']) {
    if (!header.has(key) || (await isOwn(read, user, header.rawAll(key)))) continue
    for (const field of header.fields) if (field.key.startsWith('resent-')) drop.add(field.key)
  }
  return drop
}

/** Whether there is one such field, and it is a list of the account's addresses. */
async function isOwn(read: Reader, user: User, values: readonly string[], most: number = limits.compose.authorsMax) {
  const addresses = values.length === 1 ? strictMailboxes(values[0] ?? '') : undefined
  if (addresses === undefined || addresses.length > most) return false
  for (const address of addresses) if (!(await maySendAs(read, user, address))) return false
  return true
}
