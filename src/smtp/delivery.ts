// From a message that has arrived whole to its replies: finish, hand over, answer.
//
// The transaction is over when this returns. A failure of ours is told to the log once and to the peer as a temporary one,
// so that nothing is lost; a reply of 250 is written only after the backend has said that the message is kept.

import { monotonic } from '#lib/clock.ts'
import { Disconnected } from '#net/connection.ts'
import type { Outcome } from './backend.ts'
import { type Arrival, type Reply, replyForAll, replyOf } from './message.ts'
import type { Session, Transaction } from './session.ts'
import type { DeliveryResult } from './setting.ts'

/** Delivers what has arrived and answers: one reply for each recipient over LMTP, else one. */
export async function deliver(session: Session, transaction: Transaction, arrival: Arrival): Promise<void> {
  const { setting } = session
  const started = monotonic()
  if (setting.intercept !== undefined) {
    const to = transaction.recipients.map(recipient => (recipient as { address?: string }).address ?? '')
    if (await session.meddled('end', to.join(' '))) return session.reset()
  }
  const id = `${session.id}-${session.messages + 1}`
  const outcomes = await hand(session, transaction, arrival, id)
  const ms = monotonic() - started
  session.transaction = undefined
  session.declaredBytes = 0
  session.messages += 1
  for (const { refused } of outcomes) if (refused !== undefined) session.report(refused)
  const stored = `Stored as ${id}`
  const each = outcomes.map(outcome => replyOf(outcome, stored))
  for (const reply of each) setting.countDelivery(resultOf(reply), ms)
  if (each.some(reply => resultOf(reply) === 'stored')) session.served()
  for (const reply of setting.lmtp ? each : [replyForAll(outcomes, stored)]) session.answer(reply)
}

/** The outcomes; where the message as a whole failed, that for every recipient. @throws Disconnected */
async function hand(
  session: Session,
  transaction: Transaction,
  arrival: Arrival,
  id: string,
): Promise<readonly Outcome[]> {
  const { from, utf8, notice, release, recipients } = transaction
  try {
    const received = await arrival.finish()
    const envelope = {
      from,
      utf8,
      notice,
      ...(release !== undefined && { release }),
      recipients,
      id,
      size: arrival.size,
      speaker: session,
    }
    return await session.setting.backend.deliver(received, envelope)
  } catch (error) {
    if (error instanceof Disconnected) throw error
    return recipients.map(() => ({ refused: error }))
  }
}

function resultOf({ code }: Reply): DeliveryResult {
  return code < 300 ? 'stored' : code < 500 ? 'temporary' : 'permanent'
}
