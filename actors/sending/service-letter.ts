// A message of the service itself to somebody who has mail here, ready for the queue.
//
// It has the null sender, so nothing comes of it where it cannot be delivered. Whoever calls lets the bytes go when the unit is settled.

import type { Bodies, Received } from '#store/bodies/bodies.ts'
import type { Numbers } from '#store/engine/sequence.ts'
import type { OutboundOptions } from '#store/sending/outbound.ts'
import { prepare } from '../delivery/prepare.ts'
import type { Outgoing } from './outgoing.ts'

export interface LetterDeps {
  readonly bodies: Pick<Bodies, 'receive'>
  readonly sequence: Numbers
}

export async function letterTo(
  { bodies, sequence }: LetterDeps,
  to: string,
  message: Buffer,
  options: OutboundOptions = {},
): Promise<{ outgoing: Outgoing; received: Received }> {
  const received = await bodies.receive(message)
  const prepared = await prepare(received, sequence)
  const targets = [{ kind: 'mail' as const, value: to }]
  return { outgoing: { user: null, from: '', targets, prepared, origin: 'report', options }, received }
}
