// Sending: what goes out is queued and its copy stored in one unit, with everything that follows from it: the draft goes,
// the message it answers is marked, files used for it go. Who may send, and how much, was checked before the turn.
//
// What can be refused is refused before the first write.

import { Fault } from '#lib/fault.ts'
import { flag, forwarded } from '#mail/flags.ts'
import { fileDelete, findFile } from '#store/accounts/file.ts'
import type { MessageMeta } from '#store/mailboxes/messages.ts'
import { hasMessage } from '#store/mailboxes/numbers.ts'
import { outboundOptions } from '#store/sending/outbound.ts'
import { type Outgoing, type Queued, queue } from '../sending/outgoing.ts'
import { nextModseq, quotaOf, requireMailbox, requireUser, type UserCommand, type UserTurn } from '../user/user.ts'
import { type Append, type Appended, appendMessage } from './append.ts'
import { expungeMessages, storeFlags } from './message.ts'

interface MessagePlace {
  /** Id of the folder. */
  readonly mailbox: string
  readonly uid: number
}

export interface Submission {
  /** What goes out; null where it is only stored. */
  readonly outgoing: Outgoing | null
  /** The copy that is kept. Its `meta.outbound` gets the queue id. */
  readonly copy: Append
  /** A copy that does not fit the quota is left out instead of refusing everything. */
  readonly copyMayFail: boolean
  /** The draft it was made from, which goes; it must still be there. */
  readonly draft?: MessagePlace | undefined
  /** A draft that goes if it is still there. */
  readonly replaced?: MessagePlace | undefined
  /** The message it answers or forwards. */
  readonly reference?: (MessagePlace & { readonly action: 'reply' | 'replyAll' | 'forward' }) | undefined
  /** Ids of stored files that go. */
  readonly files?: readonly string[]
}

export interface Submitted {
  readonly queueId: string | null
  /** Null where the account had no room for it. */
  readonly stored: Appended | null
}

/** @throws Fault MessageNotFound (the draft), NoSuchMailbox, OverQuotaError */
export const submitMessage: UserCommand<Submission, Submitted> = {
  name: 'message.submit',
  async run(turn, input) {
    requireUser(turn)
    // What can be refused is refused before the first write.
    const { draft, copy, reference } = input
    if (draft !== undefined && !(await isThere(turn, draft))) throw new Fault('MessageNotFound')
    if (typeof copy.to === 'object' && 'id' in copy.to) requireMailbox(turn, copy.to.id)
    const room = turn.state.storage <= quotaOf(turn) || (draft !== undefined && copy.limited === false)
    if (!room && !input.copyMayFail) throw new Fault('OverQuotaError')
    const queued = input.outgoing === null ? null : queue(turn, input.outgoing)
    const outbound = queued === null ? {} : { outbound: [queued.queueId] }
    const meta: MessageMeta = { ...copy.meta, ...outbound }
    const stored = room ? await appendMessage.run(turn, { ...copy, meta, limited: false }) : null
    if (queued !== null && stored !== null) rememberCopy(turn, input.outgoing, queued, stored)
    for (const gone of [draft, input.replaced]) {
      if (gone === undefined || !(await isThere(turn, gone))) continue
      const uids = [[gone.uid, gone.uid]] as const
      await expungeMessages.run(turn, { mailbox: gone.mailbox, uids, marked: false })
    }
    if (reference !== undefined && (await isThere(turn, reference))) await mark(turn, reference)
    await dropFiles(turn, input.files ?? [])
    return { queueId: queued?.queueId ?? null, stored }
  },
}

/** What waits for its moment may be taken back, and is a draft again then. */
function rememberCopy(turn: UserTurn, outgoing: Outgoing | null, { num }: Queued, { mailbox, uid }: Appended): void {
  if (!outgoing?.sendTime) return
  const options = { ...outgoing.options, notBefore: outgoing.sendTime, copy: { mailbox, uid } }
  turn.write(outboundOptions, { num, options })
}

/** Answered, or forwarded. */
async function mark(turn: UserTurn, { mailbox, uid, action }: NonNullable<Submission['reference']>): Promise<void> {
  const flags = action === 'forward' ? 0 : flag.answered
  const keywords = action === 'forward' ? [forwarded] : []
  await storeFlags.run(turn, { mailbox, uids: [[uid, uid]], how: 'add', flags, keywords })
}

async function isThere(turn: UserTurn, { mailbox: id, uid }: MessagePlace): Promise<boolean> {
  const mailbox = [...turn.state.mailboxes.values()].find(one => one.id === id)
  if (mailbox === undefined) return false
  return await hasMessage(turn.read, mailbox.num, uid)
}

async function dropFiles(turn: UserTurn, ids: readonly string[]): Promise<void> {
  const found: string[] = []
  let size = 0
  for (const id of new Set(ids)) {
    const file = await findFile(turn.read, turn.state.num, id)
    if (file === undefined) continue
    found.push(id)
    size += file.size
  }
  if (found.length === 0) return
  turn.write(fileDelete, { ids: found })
  nextModseq(turn, -size)
}
