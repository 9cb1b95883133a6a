// A message that was taken back before anybody got it becomes the draft again that it was.
//
// The copy that was kept as sent goes to Drafts and leaves its folder in one unit. Nothing is done where any target got it,
// where the copy was moved or deleted meanwhile, or where it was encrypted when it was kept: then it stays as it is.

import { flag } from '#mail/flags.ts'
import { findMailbox } from '#store/mailboxes/mailboxes.ts'
import { findMessage } from '#store/mailboxes/messages.ts'
import type { StoredSummary } from '#store/mailboxes/outlines.ts'
import { findOutbound, listTargets, queueId, targetState } from '#store/sending/outbound.ts'
import { prepareStored } from '../delivery/stored.ts'
import { type Append, appendMessage } from '../mailbox/append.ts'
import { expungeMessages } from '../mailbox/message.ts'
import { requireUser, type UserCommand, type UserTurn } from '../user/user.ts'

/** Where a draft lies. */
export interface DraftPlace {
  /** Id of the folder. */
  readonly mailbox: string
  readonly uid: number
  readonly size: number
}

/** May be asked for again: what became a draft is found no more. @returns null where there is nothing to make one of */
export const restoreDraft: UserCommand<{ num: number }, DraftPlace | null> = {
  name: 'outgoing.restore',
  async run(turn, { num }) {
    requireUser(turn)
    const copy = await copyOf(turn, num)
    if (copy === undefined) return null
    const { mailbox, message } = copy
    const { outbound: _, ...meta } = message.meta
    const append: Append = {
      prepared: await prepareStored(turn.read, message.body),
      to: { specialUse: '\\Drafts' },
      ...{ prefix: '', flags: flag.seen | flag.draft, keywords: [], meta, once: false, limited: false },
    }
    const { mailbox: drafts, uid, size } = await appendMessage.run(turn, append)
    const gone = [[message.uid, message.uid]] as const
    await expungeMessages.run(turn, { mailbox, uids: gone, marked: false, archive: false })
    return { mailbox: drafts, uid, size }
  },
}

/** The copy of a message that nobody got. */
async function copyOf(turn: UserTurn, num: number) {
  const { read, state } = turn
  const outbound = await findOutbound(read, num)
  const place = outbound?.options.copy
  if (outbound?.user !== state.id || place === undefined) return undefined
  const targets = await listTargets(read, num)
  if (!targets.every(target => target.state === targetState.cancelled)) return undefined
  const mailbox = await findMailbox(read, state.num, place.mailbox)
  const message = mailbox === undefined ? undefined : await findMessage(read, mailbox.num, place.uid)
  if (mailbox === undefined || message?.meta.outbound?.includes(queueId(num)) !== true) return undefined
  if ((JSON.parse(message.summary) as StoredSummary).encrypted) return undefined
  return { mailbox: mailbox.id, message }
}
