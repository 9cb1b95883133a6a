// The form in which a message leaves its account: under an address that the account may use, and without Bcc.
//
// What is sent over HTTP and over SMTP comes through here alike. A foreign From is replaced by the account's own address, a
// foreign Sender is left out (wire-details 7); nobody is refused for it. Nothing else of a message changes, and one that
// needs no change is left as it is. Must not be asked about what is only stored: a draft keeps what its owner wrote.

import { mailboxes } from '#mail/address.ts'
import { parseAddresses } from '#mail/address-list.ts'
import { Header } from '#mail/header.ts'
import { cutFields, fromField, rewriteHeader } from '#mail/rewrite.ts'
import type { Bodies, Received } from '#store/blobs.ts'
import type { Reader } from '#store/reader.ts'
import type { User } from '#store/users.ts'
import { maySendAs, senderFor } from './sender.ts'

/** A message as its owner wrote it. */
export interface Written {
  /** Its header block, the empty line included. */
  readonly block: Buffer
  /** Bytes of all of it. */
  readonly size: number
  /** What comes behind the block. */
  rest(): AsyncIterable<Buffer>
}

export interface SentForm {
  /** Who it is from now. */
  readonly from: { readonly name: string; readonly address: string }
  /** The changed message, for the caller to discard; null where it goes as it is. */
  readonly received: Received | null
}

const hidden = ['bcc', 'resent-bcc']

/** Works out the form, and makes it where it is another one. @throws Fault StorageUnavailable */
export async function sentForm(
  { read, bodies, hostname }: { readonly read: Reader; readonly bodies: Bodies; readonly hostname: string },
  user: User,
  { block, size, rest }: Written,
): Promise<SentForm> {
  const header = new Header(block)
  const addresses = (key: string) => mailboxes(parseAddresses(header.rawAll(key).join(', ')))
  const given = addresses('from')
  const single = header.fields.filter(({ key }) => key === 'from').length === 1
  const honest = single && given.length > 0 && (await all(read, user, given))
  const from = await senderFor(read, user, given[0], hostname)
  const drop = new Set(hidden.filter(key => header.has(key)))
  if (header.has('sender') && !(honest && (await all(read, user, addresses('sender'))))) drop.add('sender')
  if (honest && drop.size === 0) return { from, received: null }
  const top = honest ? cutFields(block, drop) : rewriteHeader(block, drop, new Map([['from', fromField(from)]]))
  const intake = bodies.intake(size + top.length)
  try {
    await intake.write(top)
    for await (const chunk of rest()) await intake.write(chunk)
    return { from, received: await intake.finish() }
  } catch (error) {
    await intake.abort()
    throw error
  }
}

async function all(read: Reader, user: User, people: readonly { readonly address: string }[]): Promise<boolean> {
  for (const { address } of people) if (!(await maySendAs(read, user, address))) return false
  return true
}
