// A decision about a message, carried out in the turn of its account: what it queues is one unit with the message, and the
// decision is kept for those who ask why (api-semantics 6.4).
//
// Everything was worked out before the turn; nothing in here waits or can be refused.

import { bodyAdd, bodyRelease } from '#store/bodies/writes.ts'
import { auditArrival, isAudited } from '#store/mailboxes/audits.ts'
import { headerInsert, outlineInsert, outlineWeight } from '#store/mailboxes/outlines.ts'
import { type Trace, traceInsert } from '#store/rules/trace.ts'
import { queueId } from '#store/sending/outbound.ts'
import { type Append, type Appended, appendMessage } from '../mailbox/append.ts'
import { queue } from '../sending/outgoing.ts'
import { inbox, requireUser, type UserCommand, type UserTurn } from '../user/user.ts'
import type { SealedForward } from './encryption.ts'
import type { Arriving, Decision } from './rules.ts'

/** The decision with what may go out; what can go nowhere is kept. */
export function forwarding(decision: Decision, { outgoing, unusable }: SealedForward): Decision {
  if (!unusable) return { ...decision, outgoing }
  const forward = { queueId: null, targets: [], reason: 'not-encrypted' }
  return { ...decision, outgoing, drop: false, forward: undefined, trace: { ...decision.trace, forward } }
}

/** What of a decision its turn carries out. */
export interface CarriedOut extends Pick<Decision, 'outgoing' | 'trace'> {
  /** Hash of the Message-ID the decision was about. */
  readonly reference: number
}

export function carried({ outgoing, trace }: Decision, { prepared }: Arriving): CarriedOut {
  return { outgoing, trace, reference: prepared.hash }
}

/** What a decision brought about beside the message. */
export interface Carried {
  /** Ids in the queue. */
  readonly queued: readonly string[]
}

/** Stores a message as its owner's rules want it; one that is there already carries nothing out. */
export const deliverMessage: UserCommand<{ append: Append; decision: CarriedOut }, Appended & Carried> = {
  name: 'message.deliver',
  pipelined: true,
  async run(turn, { append, decision }) {
    const appended = await appendMessage.run(turn, append)
    return { ...appended, queued: appended.duplicate ? [] : carryOut(turn, decision, appended) }
  },
}

/** Takes a message that its owner's rules do not want to be stored: only audits get it. */
export const dropMessage: UserCommand<{ append: Append; decision: CarriedOut }, Carried> = {
  name: 'message.drop',
  pipelined: true,
  async run(turn, { append, decision }) {
    const { id } = requireUser(turn)
    if (await isAudited(turn.read, id)) auditDropped(turn, append)
    return { queued: carryOut(turn, decision, null) }
  },
}

/** Copies it for every audit of the account that is on; where none takes it, nothing of it stays. */
function auditDropped(turn: UserTurn, { prepared, prefix, flags, keywords, idate, meta }: Append): void {
  const { body, outline, header, attachments } = prepared
  const { num: mailbox, modseq } = inbox(turn)
  turn.write(bodyAdd, prepared.row, prepared.weight)
  turn.write(outlineInsert, { body, ...outline }, outlineWeight(outline))
  if (header !== null) turn.write(headerInsert, { body, lines: header })
  turn.write(auditArrival, {
    ...{ mailbox, uid: 0, num: 0, user: turn.state.num, modseq, flags, idate: idate ?? turn.now },
    ...{ size: prepared.size + Buffer.byteLength(prefix), thread: 0, body, saved: turn.now, attachments },
    ...{ keywords, expires: null, prefix, meta },
  })
  turn.write(bodyRelease, { num: body }, 20)
}

/** Queues what was decided and keeps the decision for those who ask. Gives ids in the queue. */
function carryOut(turn: UserTurn, decision: CarriedOut, appended: Appended | null): readonly string[] {
  const queued = decision.outgoing.map(outgoing => ({ origin: outgoing.origin, ...queue(turn, outgoing) }))
  const idOf = (origin: string) => queued.find(one => one.origin === origin)?.num
  const { forward, autoreply, ...rest } = decision.trace
  const named = (part: { queueId: string | null } | undefined, num: number | undefined) =>
    part === undefined ? undefined : { ...part, queueId: num === undefined ? null : queueId(num) }
  const mailbox = appended === null ? undefined : turn.state.mailboxes.get(appended.mailboxNumber)
  const trace: Trace = {
    ...rest,
    stored: mailbox?.path ?? null,
    ...(forward !== undefined && { forward: named(forward, idOf('forward')) as NonNullable<Trace['forward']> }),
    ...(autoreply !== undefined && {
      autoreply: named(autoreply, idOf('autoreply')) as NonNullable<Trace['autoreply']>,
    }),
  }
  turn.write(traceInsert, {
    user: turn.state.num,
    num: turn.sequence.next('trace'),
    at: turn.now,
    message: appended?.num ?? null,
    mailbox: appended?.mailboxNumber ?? null,
    uid: appended?.uid ?? null,
    reference: decision.reference,
    trace,
  })
  return queued.map(({ num }) => queueId(num))
}
