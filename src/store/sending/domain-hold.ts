// Mail of accounts whose domain is closed: held in the queue, and let go when the domain is open again.
//
// What is held keeps when it was due, moved beyond all that is (outbound-due.ts), as that of a paused account does; both may
// be so at once. One write brings all that waits in step with how domains are now, so it may be done again at any time.

import { closedByDomain } from '../accounts/standing.ts'
import type { Sql } from '../engine/sqlite.ts'
import { defineWrite } from '../engine/write.ts'
import { checkParts } from '../upkeep/check.ts'
import { closedFrom, heldDue, pausedFrom } from './outbound-due.ts'
import type { Origin } from './outbound-options.ts'

const free = `(due < ${closedFrom} OR due BETWEEN ${pausedFrom} AND ${pausedFrom + closedFrom - 1})`
const held = `(due BETWEEN ${closedFrom} AND ${pausedFrom - 1} OR due BETWEEN ${pausedFrom + closedFrom} AND ${heldDue - 1})`

/** Messages that wait, of accounts whose domain is closed. */
const closed = `SELECT o.num FROM "user" JOIN outbound o ON o."user" = "user".id
  WHERE ${closedByDomain} AND o.done IS NULL`

/** Holds what waits of accounts whose domain is closed, and lets go what was held of others. */
export const domainHold = defineWrite<null>('outbound.domains', sql => {
  // Nearly always nothing is closed, and nothing held.
  if (sql('SELECT 1 FROM domain WHERE disabled = 1 LIMIT 1').get() !== undefined) {
    sql(
      `UPDATE outbound_target SET due = due + ${closedFrom} WHERE state = 0 AND ${free} AND message IN (${closed})`,
    ).run()
  }
  sql(`UPDATE outbound_target SET due = due - ${closedFrom} WHERE state = 0 AND state < 2 AND ${held}
    AND message NOT IN (${closed})`).run()
})

/** What is added to when a target is due for the domain of its account. */
export function closedFor(sql: Sql, user: string | null): number {
  if (user === null) return 0
  const found = sql(`SELECT 1 FROM "user" WHERE id = ? AND ${closedByDomain}`).get(user)
  return found === undefined ? 0 : closedFrom
}

/** The same also for a pause of the account (pause.ts). */
export function heldFor(sql: Sql, user: string | null, origin: Origin): number {
  return closedFor(sql, user) + (isPaused(sql, user, origin) ? pausedFrom : 0)
}

/** Whether mail of this kind of the account is held (pause.ts). */
function isPaused(sql: Sql, user: string | null, origin: Origin): boolean {
  if (user === null || origin !== 'submission') return false
  return sql('SELECT 1 FROM sending_pause WHERE "user" = ? AND resumed IS NULL').get(user) !== undefined
}

checkParts.push({
  rules: [
    {
      says: 'what is held for a closed domain belongs to an account of one',
      query: `SELECT message FROM outbound_target WHERE state < 2 AND ${held} AND message NOT IN (${closed})`,
    },
  ],
})
