// What of the outbound queue is due, when the next of it is, and another way for it.
//
// Reads are by the index of what waits, and bounded by the caller.

import type { Reader } from '../engine/reader.ts'
import { defineWrite } from '../engine/write.ts'
import { type Target, targets } from './outbound.ts'

/** Targets that are due at `at`, the longest waiting first, whoever of them is being sent left out. */
export async function dueTargets(read: Reader, at: number, count: number): Promise<Target[]> {
  return await targets.all(read, 'WHERE state < 2 AND due <= ? AND state = 0 ORDER BY due LIMIT ?', at, count)
}

/** The same of one destination. */
export async function dueOfDestination(
  read: Reader,
  destination: string,
  at: number,
  count: number,
): Promise<Target[]> {
  const rest = 'WHERE state < 2 AND lane = ? AND due <= ? AND state = 0 ORDER BY due LIMIT ?'
  return await targets.all(read, rest, destination, at, count)
}

/** Destinations for which something waits, in order of their names, from the one after `after`. */
export async function destinationsAfter(read: Reader, after: string, count: number): Promise<string[]> {
  const rows = await read.all<{ lane: string }>(
    `WITH RECURSIVE next(lane, n) AS (
       SELECT (SELECT min(lane) FROM outbound_target WHERE state < 2 AND lane > ?), 1
       UNION ALL
       SELECT (SELECT min(lane) FROM outbound_target WHERE state < 2 AND lane > next.lane), n + 1
       FROM next WHERE lane IS NOT NULL AND n < ?)
     SELECT lane FROM next WHERE lane IS NOT NULL`,
    after,
    count,
  )
  return rows.map(row => row.lane)
}

/** Targets of a message that wait for a destination and are due. */
export async function dueOfMessage(read: Reader, num: number, at: number): Promise<Target[]> {
  return await targets.all(read, 'WHERE message = ? AND state = 0 AND due <= ? ORDER BY seq', num, at)
}

/** When the next target is due. */
export async function nextTargetDue(read: Reader): Promise<number | null> {
  const row = await read.one<{ due: number | null }>('SELECT min(due) AS due FROM outbound_target WHERE state < 2')
  return row?.due ?? null
}

/** When the next target of a destination is due. */
export async function nextOfDestination(read: Reader, destination: string): Promise<number | null> {
  const text = 'SELECT min(due) AS due FROM outbound_target WHERE state < 2 AND lane = ?'
  return (await read.one<{ due: number | null }>(text, destination))?.due ?? null
}

/** Has targets that are not done wait for another destination. */
export const outboundLanes = defineWrite<readonly Pick<Target, 'message' | 'seq' | 'destination'>[]>(
  'outbound.lanes',
  (sql, rows) => {
    const move = sql('UPDATE outbound_target SET lane = ? WHERE message = ? AND seq = ? AND state < 2')
    for (const { message, seq, destination } of rows) move.run(destination, message, seq)
  },
)
