// Deleting a folder of any size. A very large one is emptied in pieces first: one unit for all of it would hold up every other
// writer, and no command takes more than limits.actor.messagesMax.
//
// What broke off has some of its messages in the archive already, and may be asked for again.

import { limits } from '#lib/limits.ts'
import { findUser } from '#store/accounts/users.ts'
import { findMailbox, isDeletable } from '#store/mailboxes/mailboxes.ts'
import { uidSlice } from '#store/mailboxes/retention.ts'
import type { UserHandle } from '../kernel/system.ts'
import { deleteMailbox, type MailboxDeletion } from './mailbox.ts'
import { expungeMessages } from './message.ts'

/** @throws Fault NoSuchMailbox, DisallowedMailboxMethod for one that stays */
export async function deleteFolder(handle: UserHandle, deletion: MailboxDeletion, signal?: AbortSignal): Promise<void> {
  await emptyLarge(handle, deletion.id, signal)
  await handle.run(deleteMailbox, deletion, signal)
}

async function emptyLarge(handle: UserHandle, id: string, signal?: AbortSignal): Promise<void> {
  const { pieceMessages } = limits.mailbox
  for (;;) {
    const user = await findUser(handle.read, handle.id)
    const mailbox = user === undefined ? undefined : await findMailbox(handle.read, user.num, id)
    if (mailbox === undefined || mailbox.total <= pieceMessages || !isDeletable(mailbox)) return
    const { to } = await uidSlice(handle.read, mailbox.num, 1, pieceMessages)
    await handle.run(expungeMessages, { mailbox: id, uids: [[1, to]], marked: false }, signal)
  }
}
