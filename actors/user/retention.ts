// Retention of a folder: its messages are dated anew in the background, by the setting the folder has at that moment, so
// that of two changes the newer one wins. What went so long ago that no client will ask for it is forgotten.

import { limits } from '#lib/limits.ts'
import { expungedForget } from '#store/mailboxes/gone/expunged.ts'
import { messageRestamp, uidSlice } from '#store/mailboxes/retention.ts'
import type { UserCommand } from './user.ts'

/** Dates some messages of a folder from a uid on; answers the uid to go on with, or null when all are done. */
export const restampMessages: UserCommand<{ mailbox: string; from: number }, { next: number | null }> = {
  name: 'mailbox.restamp',
  background: true,
  async run(turn, { mailbox: id, from }) {
    const mailbox = [...turn.state.mailboxes.values()].find(one => one.id === id)
    if (mailbox === undefined) return { next: null }
    const { to, n } = await uidSlice(turn.read, mailbox.num, from, limits.expiry.batchMessages)
    if (n === 0) return { next: null }
    turn.write(messageRestamp, { mailbox: mailbox.num, from, to, retention: mailbox.retention })
    return { next: to + 1 }
  },
}

/** Forgets some of what went from a folder (by its internal number) up to a change; false where the folder is gone. */
export const forgetExpunged: UserCommand<{ mailbox: number; upTo: number }, boolean> = {
  name: 'mailbox.forget',
  background: true,
  run(turn, { mailbox, upTo }) {
    if (!turn.state.mailboxes.has(mailbox)) return false
    turn.write(expungedForget, { mailbox, upTo, count: limits.mailbox.forgetRows })
    return true
  },
}
