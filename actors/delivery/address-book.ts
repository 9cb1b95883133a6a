// The address books of all accounts: whom each has written to or heard from, for completing addresses.
//
// Uses are gathered in memory and written together by nobody's order, so that a delivery pays next to nothing. What is
// lost in a crash, or forgotten because too much came at once, is learned again from the next message.

import { after, type Timer } from '#lib/clock.ts'
import { Fault } from '#lib/fault.ts'
import { newId } from '#lib/id.ts'
import { limits } from '#lib/limits.ts'
import { Aside } from '#lib/memoize.ts'
import { isAddress, type Mailbox, mailboxes, normalizeAddress } from '#mail/address/address.ts'
import { parseAddresses } from '#mail/address/address-list.ts'
import type { Header } from '#mail/header/header.ts'
import {
  type AddressBookNote,
  addressBookNote,
  addressBookUpdate,
  findAddressBookEntry,
} from '#store/accounts/address-book.ts'
import { type Operation, operation } from '#store/engine/write.ts'
import type { Writer } from '#store/writer/writer.ts'
import type { UserCommand } from '../user/user.ts'
import { requireUser } from '../user/user.ts'

export class AddressBook {
  readonly #writer: Writer
  #pending = new Map<string, AddressBookNote>()
  #timer: Timer | undefined
  #writing: Promise<void> = Promise.resolve()

  constructor(writer: Writer) {
    this.#writer = writer
  }

  /**
   * Notes addresses an account used at `used`.
   *
   * @param user number of the account
   * @param known whether it was the account that did so: it wrote to them, or says that it knows them
   */
  note(user: number, addresses: readonly Mailbox[], used: number, known = false): void {
    for (const { name, address: given } of addresses.slice(0, limits.addressBook.addressesMax)) {
      if (!isAddress(given) || isNobody(given)) continue
      const { address, key } = normalizeAddress(given)
      const place = `${user} ${key}`
      if (this.#pending.size >= limits.addressBook.pendingMax && !this.#pending.has(place)) continue
      const before = this.#pending.get(place)
      const shown = name.slice(0, limits.addressBook.nameLengthMax) || (before?.name ?? '')
      const entry = { id: before?.id ?? newId(), user, key, address, name: shown, used }
      this.#pending.set(place, { ...entry, known: known || before?.known === true })
    }
    if (this.#pending.size > 0) this.#timer ??= after(limits.addressBook.flushMs, () => this.flush())
  }

  /** Writes what waits. */
  flush(): Promise<void> {
    this.#timer?.cancel()
    this.#timer = undefined
    const notes = [...this.#pending.values()]
    this.#pending = new Map()
    for (let from = 0; from < notes.length; from += unitNotes) this.#write(notes.slice(from, from + unitNotes))
    return this.#writing
  }

  async close(): Promise<void> {
    await this.flush()
  }

  #write(notes: readonly AddressBookNote[]): void {
    const { entriesMax } = limits.addressBook
    const operations: Operation[] = [operation(addressBookNote, { notes, entriesMax })]
    const unit = { partition: 0, epoch: 0, operations, bytes: notes.length * 150, background: true }
    // An address book is a help: what cannot be written now is learned again.
    const written = this.#writer.submit(unit).catch(() => {})
    this.#writing = Promise.all([this.#writing, written]).then(() => {})
  }
}

const unitNotes = 500

/** Addresses that nobody reads. */
function isNobody(address: string): boolean {
  return (
    /^(no-?reply|do-?not-?reply|mailer-daemon|bounces?)\b/i.test(address) || /[+-](bounces?|noreply)@/i.test(address)
  )
}

/** Whether a message was made by a program or for many, so that its sender is nobody to write to. */
function isBulk(header: Header): boolean {
  const automatic = header.raw('auto-submitted')
  if (automatic !== undefined && automatic.trim().toLowerCase() !== 'no') return true
  if (/^\s*(bulk|list|junk)\b/i.test(header.raw('precedence') ?? '')) return true
  return ['list-id', 'list-unsubscribe', 'x-auto-response-suppress', 'feedback-id'].some(name => header.has(name))
}

/** Whom a message in a folder of this special use tells of: its recipients where it was sent, else its sender. */
export function learned(header: Header, specialUse: string | null): Mailbox[] {
  if (specialUse === '\\Junk' || specialUse === '\\Drafts' || isBulk(header)) return []
  const names = specialUse === '\\Sent' ? ['to', 'cc', 'bcc'] : ['from']
  return mailboxes(names.flatMap(name => parseAddresses(header.rawAll(name).join(', '))))
}

const senders = new Aside<Header, readonly Mailbox[]>()

/** Who wrote a message; nobody where a program did, or where it went to many. Worked out once, whoever asks. */
export function sendersOf(header: Header): readonly Mailbox[] {
  let found = senders.get(header)
  if (found === undefined) {
    found = learned(header, null)
    senders.set(header, found)
  }
  return found
}

/** Renames an entry or hides it. @throws Fault AddressNotFound */
export const updateAddressBook: UserCommand<{ id: string; name: string | null; disabled: boolean }, void> = {
  name: 'register.update',
  async run(turn, { id, name, disabled }) {
    requireUser(turn)
    if ((await findAddressBookEntry(turn.read, turn.state.num, id)) === undefined) throw new Fault('AddressNotFound')
    turn.write(addressBookUpdate, { id, name, disabled: disabled ? 1 : 0 })
  },
}
