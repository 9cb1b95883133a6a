// What a user says about spam by moving mail: events marked.spam and marked.ham with their whole payload (api-semantics
// 9.6). Into Junk is spam; out of Junk to anywhere but Trash is ham; what is delivered or uploaded there says nothing.
//
// The events stand in the unit of the move itself, so that what is learned and what is stored never differ. Who is taken out
// of Junk is one whom the account knows, and who is put there is none any more, where he proved to be himself.

import { newId } from '#lib/id.ts'
import { limits } from '#lib/limits.ts'
import { isAddress, isGroup, mailboxes, normalizeAddress } from '#mail/address/address.ts'
import { type AddressBookNote, addressBookForget, addressBookNote } from '#store/accounts/address-book.ts'
import { shownMark } from '#store/domains/mark.ts'
import type { Mailbox } from '#store/mailboxes/mailboxes.ts'
import type { Message } from '#store/mailboxes/messages.ts'
import { readSummary, shownMessageId } from '#store/mailboxes/outlines.ts'
import { spamMark } from '#store/rules/spam.ts'
import { referenceHash } from '../delivery/prepare.ts'
import type { Marked } from '../kernel/events.ts'
import type { UserTurn } from '../user/user.ts'

/** Emits what moving or copying messages from one folder to another says; `uids` are theirs in the target. */
export async function markTransfer(
  turn: UserTurn,
  source: Mailbox,
  target: Mailbox,
  messages: readonly Message[],
  uids: readonly number[],
): Promise<void> {
  const name = markOf(source, target)
  if (name === null) return
  await learnFrom(turn, name === 'marked.spam', messages)
  if (!turn.wants(name)) return
  for (const [at, message] of messages.entries()) {
    const payload = await markedPayload(turn, target, message, uids[at] ?? 0)
    if (payload !== undefined) turn.emit(name, payload)
  }
}

/** Whoever flags a message says that it is none of the spam. */
export async function markFlagged(turn: UserTurn, mailbox: Mailbox, messages: readonly Message[]): Promise<void> {
  if (!turn.wants('marked.ham')) return
  for (const message of messages) {
    const payload = await markedPayload(turn, mailbox, message, message.uid)
    if (payload !== undefined) turn.emit('marked.ham', payload)
  }
}

/** Notes whom the account knows by it, and has whoever learns learn it, when it comes to it (store/rules/spam.ts). */
async function learnFrom(turn: UserTurn, spam: boolean, messages: readonly Message[]): Promise<void> {
  const marks: [reference: number, body: number][] = []
  const authors = new Map<string, AddressBookNote>()
  for (const { body, meta } of messages) {
    const summary = await readSummary(turn.read, body)
    if (summary === undefined) continue
    marks.push([referenceHash(shownMessageId(summary, body)), body])
    const [author] = mailboxes(summary.from)
    const { domain } = (meta.verificationResults?.dmarc ?? {}) as { readonly domain?: unknown }
    const proven = typeof domain === 'string'
    if (author === undefined || !isAddress(author.address) || (spam && !proven)) continue
    const { key, address } = normalizeAddress(author.address)
    const entry = { user: turn.state.num, key, address, name: author.name.slice(0, limits.addressBook.nameLengthMax) }
    authors.set(key, { id: newId(), ...entry, used: turn.now, known: true })
  }
  knowAuthors(turn, spam, [...authors.values()].slice(-limits.addressBook.addressesMax))
  if (marks.length === 0 || !turn.learns) return
  turn.write(spamMark, { user: turn.state.num, spam, at: turn.now, marks }, 60 + 16 * marks.length)
}

function knowAuthors(turn: UserTurn, spam: boolean, notes: readonly AddressBookNote[]): void {
  if (notes.length === 0) return
  const { entriesMax } = limits.addressBook
  if (!spam) turn.write(addressBookNote, { notes, entriesMax }, 150 * notes.length)
  else turn.write(addressBookForget, { user: turn.state.num, keys: notes.map(({ key }) => key) }, 60 * notes.length)
}

/** What a move from one folder to another says about its messages. */
export function markOf(source: Mailbox, target: Mailbox): 'marked.spam' | 'marked.ham' | null {
  const from = source.specialUse === '\\Junk'
  const to = target.specialUse === '\\Junk'
  if (to && !from) return 'marked.spam'
  return from && !to && target.specialUse !== '\\Trash' ? 'marked.ham' : null
}

async function markedPayload(
  turn: UserTurn,
  mailbox: Mailbox,
  { body, idate, meta }: Message,
  uid: number,
): Promise<Marked | undefined> {
  const summary = await readSummary(turn.read, body)
  if (summary === undefined) return undefined
  const [first] = [...mailboxes(summary.from), ...mailboxes(summary.sender)]
  const people = (key: 'to' | 'cc' | 'bcc') => {
    const list = summary[key].map(one => (isGroup(one) ? { name: one.name, group: [...one.group] } : { ...one }))
    return list.length === 0 ? {} : { [key]: list }
  }
  return {
    user: turn.state.id,
    mailbox: mailbox.id,
    message: uid,
    from: { name: first?.name ?? '', address: first?.address ?? '' },
    ...people('to'),
    ...people('cc'),
    ...people('bcc'),
    messageId: shownMessageId(summary, body),
    subject: summary.subject,
    date: new Date(idate).toISOString(),
    ...(meta.verificationResults === undefined ? {} : { verificationResults: meta.verificationResults }),
    ...(meta.bimi === undefined ? {} : { bimi: await shownMark(turn.read, meta.bimi) }),
  }
}
