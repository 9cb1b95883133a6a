// What came of a call to another node, kept with what the call wrote: whoever asked finds it where that node is gone.

import { deserialize, serialize } from 'node:v8'
import { limits } from '#lib/limits.ts'
import type { Leases } from './leases.ts'
import { answers } from './tables.ts'

/** For the unit in which the call is carried out: the unit is refused where whoever asked waits for it no more. */
export const answerInsert = answers.defineInsert()

/** Its row. */
export function keptAnswer(call: string, reply: unknown, at: number) {
  const packed = serialize(reply)
  // Of one that is too large only that it was given.
  const kept = packed.length > limits.cluster.answerBytesMax ? Buffer.alloc(0) : packed
  return { call, reply: kept, kept: at }
}

/** What came of a call to a node that is gone, as that node kept it; undefined where nothing did, and nothing will. */
export async function withdraw(leases: Leases, call: string): Promise<Uint8Array | undefined> {
  const text = 'SELECT pg_temp.teal_withdraw($1) AS reply'
  return (await leases.first<{ reply: Uint8Array | null }>(text, call))?.reply ?? undefined
}

/** What was kept; undefined where it was too large. */
export function readAnswer(kept: Uint8Array): { readonly reply: unknown } | undefined {
  return kept.length === 0 ? undefined : { reply: deserialize(kept) }
}
