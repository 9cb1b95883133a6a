// Moving mail in from elsewhere: folders are found or made, messages stored as they were received there.
//
// Nothing is told as new mail. No quota stands in the way of whoever moves an account, but of its owner. A message is
// remembered under the name it has at its source, in the unit that stores it, so that moving it again, after whatever
// broke off, brings only what is missing. The same message sent by two imports at once is stored once.

import { Fault } from '#lib/fault.ts'
import { parseDate } from '#mail/header/date.ts'
import { resolveLogin } from '#store/accounts/login-name.ts'
import { importedInsert, isImported, missingKeys } from '#store/accounts/transfer.ts'
import { findUser } from '#store/accounts/users.ts'
import type { Bodies, Pieces, Received } from '#store/bodies/bodies.ts'
import type { Sequence } from '#store/engine/sequence.ts'
import type { Mailbox } from '#store/mailboxes/mailboxes.ts'
import { mailboxNumberOf } from '#store/mailboxes/numbers.ts'
import { prepare } from '../delivery/prepare.ts'
import type { ActorSystem } from '../kernel/system.ts'
import { type Append, type Appended, appendMessage } from '../mailbox/append.ts'
import { createMailbox } from '../mailbox/mailbox.ts'
import { mailboxAt, requireUser, type UserCommand } from '../user/user.ts'

export interface ImportFolder {
  /** Normalised (mail/path.ts). */
  readonly path: string
  /** What it is for; where there is no folder of this path, the one for it is taken. */
  readonly specialUse: string | null
  readonly subscribed: boolean
}

export interface ImportItem {
  /** Id of the folder. */
  readonly mailbox: string
  /** What kind of source, and the name the message has there. */
  readonly source: string
  readonly key: string
  readonly flags: number
  readonly keywords: readonly string[]
  /** When it was received; null: as its header says, else now. */
  readonly idate: number | null
  /** The quota of the account stands in its way: its owner brings it, not an operator. */
  readonly limited?: boolean
}

export type Imported = 'imported' | 'known'

export interface ImportOptions {
  readonly system: ActorSystem
  readonly bodies: Bodies
  readonly sequence: Sequence
}

export class Importer {
  readonly #options: ImportOptions
  /** Messages being stored: account, folder, source and key. */
  readonly #storing = new Map<string, Promise<Imported>>()
  /** Folder -> when the message that came last is on its way into it. */
  readonly #lines = new Map<string, Promise<void>>()

  constructor(options: ImportOptions) {
    this.#options = options
  }

  /** The account that an id, a username or an address means; null where it means none. */
  async account(identifier: string): Promise<{ id: string; username: string } | null> {
    const { read } = this.#options.system
    const byId = /^[0-9a-f]{24}$/i.test(identifier) ? await findUser(read, identifier.toLowerCase()) : undefined
    const id = byId?.id ?? (await resolveLogin(read, identifier))
    const user = byId ?? (id === undefined ? undefined : await findUser(read, id))
    return user === undefined || user.deleted !== null ? null : { id: user.id, username: user.username }
  }

  /** Finds or makes the folder. @throws Fault UserNotFound, DisallowedMailboxMethod */
  async folder(user: string, folder: ImportFolder, signal: AbortSignal): Promise<{ id: string; path: string }> {
    const { id, path } = await this.#options.system.handle(user).run(importFolder, folder, signal)
    return { id, path }
  }

  /** Those of `keys` that are not there yet. */
  async missing(user: string, mailbox: string, source: string, keys: readonly string[]): Promise<string[]> {
    const { read } = this.#options.system
    const num = await mailboxNumberOf(read, user, mailbox)
    if (num === undefined) throw new Fault('NoSuchMailbox')
    return await missingKeys(read, num, source, keys)
  }

  /** Takes in a message; `store` gives it back. @throws Fault MessageTooLarge, StorageUnavailable */
  receive(pieces: Pieces, bytesMax: number): Promise<Received> {
    return this.#options.bodies.receiveAll(pieces, bytesMax)
  }

  /** Stores a message unless it is there. Discards `received` when it is done. */
  async store(user: string, item: ImportItem, received: Received): Promise<Imported> {
    const name = JSON.stringify([user, item.mailbox, item.source, item.key])
    const other = this.#storing.get(name)
    if (other !== undefined) {
      await received.discard()
      await other
      return 'known'
    }
    const storing = this.#store(user, item, received).finally(() => this.#storing.delete(name))
    this.#storing.set(name, storing)
    return storing
  }

  async #store(user: string, item: ImportItem, received: Received): Promise<Imported> {
    const { before, done } = this.#line(user, item.mailbox)
    try {
      const { mailbox, source, key, flags, keywords, limited = false } = item
      if (await isImported(this.#options.system.read, mailbox, source, key)) return 'known'
      const prepared = await prepare(received, this.#options.sequence)
      const append: Append = {
        ...{ prepared, to: { id: mailbox }, prefix: '', flags, keywords },
        idate: item.idate ?? receivedAt(received) ?? undefined,
        meta: { source: 'import' },
        ...{ once: false, limited, silent: true },
      }
      await before
      const running = this.#options.system.handle(user).run(importMessage, { append, source, key })
      done()
      await running
      return 'imported'
    } finally {
      // One that is not stored leaves those before it their places.
      void Promise.resolve(before).then(done)
      await received.discard()
    }
  }

  /** A place in the line of a folder: what one message needs more time for than the next must not change their order. */
  #line(user: string, mailbox: string): { before: Promise<void> | undefined; done: () => void } {
    const name = JSON.stringify([user, mailbox])
    const before = this.#lines.get(name)
    const place = Promise.withResolvers<void>()
    this.#lines.set(name, place.promise)
    const done = () => {
      if (this.#lines.get(name) === place.promise) this.#lines.delete(name)
      place.resolve()
    }
    return { before, done }
  }
}

/** When a message was received as its topmost Received field says, else its Date field. */
function receivedAt(received: Received): number | null {
  const { header } = received.root
  const stamp = header.raw('received')
  const at = stamp === undefined ? null : parseDate(stamp.slice(stamp.lastIndexOf(';') + 1))
  return at ?? parseDate(header.raw('date') ?? '')
}

/** Stores a message, and under which name it was found at its source, so that it is not brought again. */
export const importMessage: UserCommand<{ append: Append; source: string; key: string }, Appended> = {
  name: 'message.import',
  pipelined: true,
  async run(turn, { append, source, key }) {
    const appended = await appendMessage.run(turn, append)
    turn.write(importedInsert, { mailbox: appended.mailboxNumber, source, key })
    return appended
  },
}

export const importFolder: UserCommand<ImportFolder, Mailbox> = {
  name: 'mailbox.import',
  async run(turn, input) {
    requireUser(turn)
    const { path, specialUse, subscribed } = input
    const there = mailboxAt(turn.state, { path }) ?? (specialUse && mailboxAt(turn.state, { specialUse }))
    if (there) return there
    const folder = { path, specialUse, subscribed, hidden: false, encrypt: false }
    return (await createMailbox.run(turn, folder)).mailbox
  },
}
