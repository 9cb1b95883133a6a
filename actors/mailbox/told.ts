// Up to which uid some IMAP session was told of a folder's messages (RFC 3501 2.3.2, \Recent).
//
// Nothing of the account's state depends on it, and no watcher hears of it: it is no change of any message. The mark
// never falls.

import { toldMark } from '#store/mailboxes/mailboxes.ts'
import type { UserCommand } from '../user/user.ts'

export interface Told {
  /** Number of the folder. */
  readonly mailbox: number
  /** The uid after the last message that somebody was told of. */
  readonly uid: number
}

/** Moves the mark of a folder that is there. */
export const noteTold: UserCommand<Told, void> = {
  name: 'mailbox.told',
  pipelined: true,
  background: true,
  run(turn, { mailbox, uid }) {
    if (turn.state.mailboxes.has(mailbox)) turn.write(toldMark, { mailbox, told: uid }, 20)
  },
}
