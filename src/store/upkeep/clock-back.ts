// What waits in rows when the machine's clock was ahead and is put right: it waits for as long as it would have.
//
// A row that waits for a while has its end as a moment of the clock, and beside it the moment it was written at. Where that
// one lies in times to come, the clock was ahead when it was written, and the end moves back with it; without that a message
// that was put off while the clock was a year ahead would be tried in a year. What somebody chose as a moment stays. Which
// loop calls which of these: jobs/loop.ts, `clockBack`.

import { now } from '#lib/clock.ts'
import { limits } from '#lib/limits.ts'
import { greatest } from '../engine/dialect.ts'
import type { Reader } from '../engine/reader.ts'
import { defineWrite } from '../engine/write.ts'
import { closedFrom, heldDue, pausedFrom } from '../sending/outbound-due.ts'

export interface ClockBack {
  /** What the clock says. */
  readonly at: number
  /** Moments after this one are of a clock that was ahead. */
  readonly after: number
}

/** What rows are measured by now. */
export function clockNow(): ClockBack {
  const at = now()
  return { at, after: at + limits.loop.clockMs }
}

function correcting(name: string, texts: readonly string[]) {
  return defineWrite<ClockBack>(name, (sql, { at, after }) => {
    for (const text of texts) sql(text).run({ at, after })
  })
}

/** What a message of the queue that was to leave at once is due at: when it was queued, and what holds it. */
const atOnce = [0, closedFrom, pausedFrom, closedFrom + pausedFrom]
const queued = '(SELECT created FROM outbound WHERE num = message)'

/** Messages on their way out, and addresses that are not written to for a while. */
export const outboundClockBack = correcting('outbound.clock', [
  `UPDATE outbound_target SET due = due - (tried - @at), tried = @at
    WHERE state < 2 AND due > @at AND due < ${heldDue} AND tried > @after`,
  `UPDATE outbound_target SET due = due - (${queued} - @at) WHERE state < 2 AND tried IS NULL
    AND message IN (SELECT num FROM outbound WHERE done IS NULL AND created > @after)
    AND due - ${queued} IN (${atOnce.join(', ')})`,
  'UPDATE outbound SET created = @at WHERE done IS NULL AND created > @after',
  `UPDATE suppression SET until = until - (created - @at), created = @at
    WHERE until > @at AND created > @after AND source <> 'manual'`,
])

/** Tasks; one that nobody has taken yet and that was asked for at a moment keeps it. */
export const taskClockBack = correcting('task.clock', [
  `UPDATE task SET due = CASE WHEN attempts > 0 OR due <= updated THEN due - (updated - @at) ELSE due END, updated = @at
    WHERE state IN ('queued', 'running') AND updated > @after`,
])

/** Webhook deliveries that wait for another try. */
export const deliveryClockBack = correcting('delivery.clock', [
  `UPDATE delivery SET due = CASE WHEN due < tried THEN due ELSE due - (tried - @at) END,
    since = CASE WHEN since > @at THEN @at ELSE since END, tried = @at
    WHERE endpoint IN (SELECT num FROM endpoint) AND state = 1 AND tried > @after`,
])

const lastSeen = greatest('since', 'coalesce(checked, since)')

/** Keys that wait to be seen in DNS, or to be forgotten. */
export const signingKeyClockBack = correcting('signing_key.clock', [
  `UPDATE signing_key SET due = due - (${lastSeen} - @at), since = CASE WHEN since > @at THEN @at ELSE since END,
    checked = CASE WHEN checked > @at THEN @at ELSE checked END WHERE ${lastSeen} > @after`,
])

/** Whether any of them was looked at by a clock that was ahead. */
export async function signingKeysAhead(read: Reader, { after }: ClockBack): Promise<boolean> {
  return (await read.one(`SELECT 1 FROM signing_key WHERE ${lastSeen} > ? LIMIT 1`, after)) !== undefined
}
