// Bringing archived messages back, to the folder they came from or to another one.

import { Fault } from '#lib/fault.ts'
import { archiveTake, findArchived } from '#store/mailboxes/archive.ts'
import type { Mailbox } from '#store/mailboxes/mailboxes.ts'
import type { Message } from '#store/mailboxes/messages.ts'
import { putBack } from '../mailbox/message.ts'
import { inbox, mailboxAt, quotaOf, requireMailbox, requireUser, type UserCommand, type UserTurn } from './user.ts'

export interface Restore {
  /** Numbers of archived messages; those that are gone are passed over. */
  readonly nums: readonly number[]
  /** Id of a folder; where absent each goes to the one it came from, else to one of that path, else to INBOX. */
  readonly mailbox?: string | undefined
}

export interface Restored {
  readonly num: number
  readonly mailbox: string
  readonly uid: number
}

/** @throws Fault NoSuchMailbox, OverQuotaError */
export const restoreArchived: UserCommand<Restore, Restored[]> = {
  name: 'message.restore',
  async run(turn, input) {
    requireUser(turn)
    const given = input.mailbox === undefined ? undefined : requireMailbox(turn, input.mailbox)
    const archived = await findArchived(turn.read, turn.state.num, input.nums)
    const size = archived.reduce((sum, { message }) => sum + message.size, 0)
    if (size > 0 && turn.state.storage + size > quotaOf(turn)) throw new Fault('OverQuotaError')
    const targets = new Map<Mailbox, Message[]>()
    for (const { message, path } of archived) {
      const target = given ?? home(turn, message.mailbox, path)
      const messages = targets.get(target)
      if (messages === undefined) targets.set(target, [message])
      else messages.push(message)
    }
    const restored: Restored[] = []
    for (const [target, messages] of targets) {
      for (const { num } of messages) turn.write(archiveTake, { num }, 20)
      const uids = putBack(turn, target, messages)
      for (const [at, uid] of uids.entries()) {
        restored.push({ num: messages[at]?.num ?? 0, mailbox: target.id, uid })
      }
    }
    return restored
  },
}

function home(turn: UserTurn, mailbox: number, path: string): Mailbox {
  return turn.state.mailboxes.get(mailbox) ?? mailboxAt(turn.state, { path }) ?? inbox(turn)
}
