// Who gets an answer whose writer names nobody: whom the message that is answered wants to hear it, with `replyAll` everybody
// who got it, too.
//
// Groups are opened, nobody is named twice, the account itself never. Must not touch what the writer said: one recipient
// named anywhere, and all stays as it is.

import { breathe } from '#lib/clock.ts'
import { isAddress, type Mailbox, mailboxes, normalizeAddress } from '#mail/address/address.ts'
import { resolveAddress } from '#store/accounts/address.ts'
import type { User } from '#store/accounts/users.ts'
import type { Reader } from '#store/engine/reader.ts'
import type { StoredSummary } from '#store/mailboxes/outlines.ts'
import type { MessageFields, Referenced } from './fields.ts'

/** Addresses that are looked up before others get their turn. */
const slice = 100

/** The fields of an answer, its recipients filled in where none was named. */
export async function withRecipients<Fields extends MessageFields>(
  read: Reader,
  user: User,
  fields: Fields,
  referenced: Referenced | undefined,
): Promise<Fields> {
  const { to = [], cc = [], bcc = [] } = fields
  const named = to.length + cc.length + bcc.length > 0
  if (referenced === undefined || referenced.action === 'forward' || named) return fields
  const { summary, action } = referenced
  const all = action === 'replyAll'
  const others = new Others(read, user)
  const first = await others.of([...wanted(summary), ...(all ? mailboxes(summary.to) : [])])
  const copies = all ? await others.of(mailboxes(summary.cc)) : []
  return { ...fields, to: first, ...(copies.length > 0 && { cc: copies }) }
}

function wanted({ replyTo, from, sender }: StoredSummary): Mailbox[] {
  for (const field of [replyTo, from, sender]) {
    const people = mailboxes(field).filter(({ address }) => isAddress(address))
    if (people.length > 0) return people
  }
  return []
}

class Others {
  readonly #read: Reader
  readonly #user: User
  readonly #seen = new Set<string>()

  constructor(read: Reader, user: User) {
    this.#read = read
    this.#user = user
  }

  /** Those who were not met before, in order. */
  async of(people: readonly Mailbox[]): Promise<Mailbox[]> {
    const found: Mailbox[] = []
    for (const [at, { name, address }] of people.entries()) {
      if (at % slice === slice - 1) await breathe()
      const key = address.toLowerCase()
      if (this.#seen.has(key) || !isAddress(address)) continue
      this.#seen.add(key)
      if (!(await this.#isOwn(address))) found.push({ name, address })
    }
    return found
  }

  async #isOwn(address: string): Promise<boolean> {
    const { id, address: main } = this.#user
    if (main !== '' && normalizeAddress(address).key === normalizeAddress(main).key) return true
    return (await resolveAddress(this.#read, address, true))?.user === id
  }
}
