// Writes of the outbound queue: they run in the writer thread, inside a unit.
//
// A queued message keeps its body from the unit that queues it to the unit in which its last target is settled; then the
// body goes and the rows stay for some time, to be looked at. A message may be queued in the unit of the change that
// sends it, so that neither is there without the other.

import { bodyRelease } from './body-writes.ts'
import type { Sql } from './sqlite.ts'
import { defineWrite, type Effects } from './write.ts'

/** Of `outbound_target.state`. */
export const targetState = { waiting: 0, sending: 1, delivered: 2, failed: 3, cancelled: 4 } as const

export interface OutboundRow {
  readonly num: number
  /** Id of the account it is sent for; null for what the service itself sends. */
  readonly user: string | null
  /** Envelope sender; empty for the null sender. */
  readonly sender: string
  readonly origin: string
  readonly body: number
  /** Header lines put on top of the body. */
  readonly prefix: string
  /** Bytes, those lines included. */
  readonly size: number
  readonly created: number
  /** JSON; see store/outbound.ts. */
  readonly options: string
  readonly due: number
  readonly targets: readonly TargetRow[]
}

export interface TargetRow {
  readonly kind: 'mail' | 'relay' | 'http'
  readonly value: string
  readonly lane: string
}

/** Queues a message whose body an earlier write of the unit has added (`bodyAdd`), for the queue's own reference. */
export const outboundInsert = defineWrite<OutboundRow>('outbound.insert', (sql, row) => {
  const { targets, due, ...message } = row
  sql(`INSERT INTO outbound (num, user, sender, origin, body, prefix, size, created, done, options) VALUES
    (@num, @user, @sender, @origin, @body, @prefix, @size, @created, NULL, @options)`).run(message)
  const insert = sql(`INSERT INTO outbound_target (message, seq, kind, value, lane, state, attempts, due)
    VALUES (?, ?, ?, ?, ?, 0, 0, ?)`)
  for (const [at, { kind, value, lane }] of targets.entries()) insert.run(row.num, at + 1, kind, value, lane, due)
})

export interface Claim {
  readonly message: number
  readonly seqs: readonly number[]
  /** When it is tried again should nobody say how it went. */
  readonly due: number
}

/** Takes targets to send to them; one that was cancelled meanwhile is not taken. */
export const outboundClaim = defineWrite<{ claims: readonly Claim[]; at: number }>('outbound.claim', (sql, row) => {
  const take = sql(`UPDATE outbound_target SET state = 1, attempts = attempts + 1, due = ?, tried = ?
    WHERE message = ? AND seq = ? AND state = 0`)
  for (const { message, seqs, due } of row.claims) for (const seq of seqs) take.run(due, row.at, message, seq)
})

export interface TargetOutcome {
  readonly seq: number
  /** `waiting` for another try at `due`. */
  readonly state: 0 | 2 | 3
  readonly due: number
  /** Whether this try counts. */
  readonly counts: boolean
  readonly failure: string | null
  readonly status: number | null
  readonly response: string | null
  /** The sender is told of the delay in the same unit. */
  readonly warned: boolean
}

/** What came of one try. */
export const outboundSettle = defineWrite<{
  message: number
  outcomes: readonly TargetOutcome[]
  at: number
}>('outbound.settle', (sql, row, effects) => {
  const settle = sql(`UPDATE outbound_target SET state = ?, due = ?, attempts = attempts - ?, failure = ?, status = ?,
    response = ?, warned = CASE WHEN ? THEN ? ELSE warned END WHERE message = ? AND seq = ? AND state = 1`)
  for (const one of row.outcomes) {
    const { state, due, counts, failure, status, response, warned, seq } = one
    settle.run(state, due, counts ? 0 : 1, failure, status, response, warned ? 1 : 0, row.at, row.message, seq)
  }
  finish(sql, row.message, row.at, effects)
})

/** Takes back what nobody is sending at this moment. */
export const outboundCancel = defineWrite<{ message: number; at: number }>('outbound.cancel', (sql, row, effects) => {
  sql('UPDATE outbound_target SET state = 4, tried = ? WHERE message = ? AND state = 0').run(row.at, row.message)
  finish(sql, row.message, row.at, effects)
})

/** Brings back to the queue what an earlier process was sending when it ended; at `due` at the latest. */
export const outboundRecover = defineWrite<{ due: number }>('outbound.recover', (sql, row) => {
  sql('UPDATE outbound_target SET state = 0, due = min(due, ?) WHERE state = 1').run(row.due)
})

/** Tries what waits now. */
export const outboundRetry = defineWrite<{ message: number; at: number }>('outbound.retry', (sql, row) => {
  sql('UPDATE outbound_target SET due = ? WHERE message = ? AND state = 0').run(row.at, row.message)
})

/** Forgets messages that were done before `before`. */
export const outboundSweep = defineWrite<{ before: number; count: number }>('outbound.sweep', (sql, row) => {
  const old = sql('SELECT num FROM outbound WHERE done IS NOT NULL AND done < ? LIMIT ?').all(row.before, row.count)
  for (const { num } of old as { num: number }[]) {
    sql('DELETE FROM outbound_target WHERE message = ?').run(num)
    sql('DELETE FROM outbound WHERE num = ?').run(num)
  }
})

/** Lets the body go with the last target that is settled. */
function finish(sql: Sql, num: number, at: number, effects: Effects): void {
  if (sql('SELECT 1 FROM outbound_target WHERE message = ? AND state < 2').get(num) !== undefined) return
  const row = sql('SELECT body FROM outbound WHERE num = ? AND body IS NOT NULL').get(num) as
    | { body: number }
    | undefined
  if (row === undefined) return
  sql('UPDATE outbound SET body = NULL, done = ? WHERE num = ?').run(at, num)
  bodyRelease.run(sql, { num: row.body }, effects)
}
