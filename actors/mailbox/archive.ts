// What becomes of a message that is deleted, whoever deletes it: it goes into the archive for the time of
// const:archive:time, or at once for good. Drafts are never archived. What is archived does not count against the quota.

import { flag } from '#mail/flags.ts'
import { keptPath } from '#mail/path.ts'
import { bodyRelease } from '#store/bodies/writes.ts'
import { archiveDrop, archiveInsert } from '#store/mailboxes/archive.ts'
import type { Mailbox } from '#store/mailboxes/mailboxes.ts'
import type { Message } from '#store/mailboxes/messages.ts'
import type { UserCommand, UserTurn } from '../user/user.ts'

/** Keeps or ends messages that are being taken out of `mailbox`; `keep` false ends them all. */
export function shelve(turn: UserTurn, mailbox: Mailbox, messages: readonly Message[], keep: boolean): void {
  const archiveMs = keep ? turn.settings.get('const:archive:time') : 0
  for (const message of messages) {
    const { num, uid, flags, idate, size, thread, body, saved, keywords, prefix, meta } = message
    if (archiveMs <= 0 || (flags & flag.draft) !== 0) {
      turn.write(bodyRelease, { num: body }, 20)
      continue
    }
    turn.write(archiveInsert, {
      num,
      user: turn.state.num,
      mailbox: mailbox.num,
      mailboxId: mailbox.id,
      path: keptPath(mailbox.path),
      uid,
      flags: flags & ~flag.deleted,
      idate,
      size,
      thread,
      body,
      saved,
      attachments: message.attachments,
      keywords,
      prefix,
      meta,
      archived: turn.now,
      expires: turn.now + archiveMs,
    })
  }
}

/** Ends archived messages for good; those that are gone already are passed over. */
export const endArchived: UserCommand<{ nums: readonly number[] }, void> = {
  name: 'message.end',
  background: true,
  run(turn, { nums }) {
    turn.write(archiveDrop, { nums }, nums.length * 16)
  },
}
