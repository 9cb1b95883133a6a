// A message of the service itself, on its way to somebody in the unit of what it tells of.
//
// Whoever calls lets the bytes go when the unit is settled.

import { queueOperations } from '#actors/sending/outgoing.ts'
import { letterTo } from '#actors/sending/service-letter.ts'
import type { Bodies, Received } from '#store/bodies/bodies.ts'
import type { Sequence } from '#store/engine/sequence.ts'
import type { Operation } from '#store/engine/write.ts'
import type { OutboundOptions } from '#store/sending/outbound.ts'

export interface Written {
  readonly operations: Operation[]
  readonly received: Received[]
  readonly bytes: number
}

export const nothingWritten: Written = { operations: [], received: [], bytes: 0 }

export async function writeLetter(
  deps: { readonly bodies: Bodies; readonly sequence: Sequence },
  { message, to, at, options = {} }: { message: Buffer; to: string; at: number; options?: OutboundOptions },
): Promise<Written> {
  const { outgoing, received } = await letterTo(deps, to, message, options)
  const operations = queueOperations(deps.sequence, at, outgoing)
  return { operations, received: [received], bytes: message.length }
}

export function together(all: readonly Written[]): Written {
  return {
    operations: all.flatMap(({ operations }) => operations),
    received: all.flatMap(({ received }) => received),
    bytes: all.reduce((sum, { bytes }) => sum + bytes, 0),
  }
}
