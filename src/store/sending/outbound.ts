// The outbound queue: the tables, their reads and writes.
//
// A message has one row and one for each target, and a target one state; what is in flight is told apart from what waits.
// A queued message keeps its body from the unit that queues it to the unit in which its last target is settled; then the
// body goes and the rows stay for some time, to be looked at. A message may be queued in the unit of the change that sends
// it, so that neither is there without the other. Reads are by index and bounded by the caller, but where one says it scans.

import { bodyRelease } from '../bodies/writes.ts'
import { called, integer, json, moment, nullable, oneOf, text } from '../engine/column.ts'
import { isSet, jsonAt, least } from '../engine/dialect.ts'
import type { Reader } from '../engine/reader.ts'
import type { Sql } from '../engine/sqlite/handle.ts'
import { type RowOf, table } from '../engine/table.ts'
import { defineWrite, type Effects, type Write } from '../engine/write.ts'
import { checkParts } from '../upkeep/check.ts'
import { closedFor, domainHold, heldFor } from './domain-hold.ts'
import { heldDue, pausedFrom } from './outbound-due.ts'
import type { Origin, OutboundOptions } from './outbound-options.ts'
import { addTarget, finishOne, retryNow, settleOne, sweepOld } from './outbound-procedures.ts'

/** Of a target. */
export const targetState = { waiting: 0, sending: 1, delivered: 2, failed: 3, cancelled: 4 } as const

export type { Origin, OutboundOptions }

const messages = table(
  'outbound',
  {
    num: integer,
    /** Id of the account it is sent for; null for what the service itself sends. */
    user: nullable(text),
    /** Envelope sender; empty for the null sender. */
    sender: text,
    origin: oneOf<Origin>(),
    /** Null once nobody waits for it. */
    body: nullable(integer),
    /** Header lines put on top of the body. */
    prefix: text,
    /** Bytes, those lines included. */
    size: integer,
    created: moment,
    done: nullable(moment),
    options: json<OutboundOptions>(),
  },
  {
    key: ['num'],
    indexes: {
      outbound_user: { on: ['user', 'num'], where: '"user" IS NOT NULL' },
      outbound_done: { on: ['done'], where: 'done IS NOT NULL' },
      outbound_waiting: { on: ['num'], where: 'done IS NULL' },
    },
  },
)

export const targets = table(
  'outbound_target',
  {
    message: integer,
    seq: integer,
    kind: oneOf<'mail' | 'relay' | 'http'>(),
    value: text,
    /** Where it goes, so that one slow host holds up nobody else. */
    destination: called('lane', text),
    /** See `targetState`. One that is being sent is tried again at `due` if nobody says how it went. */
    state: integer,
    attempts: integer,
    due: moment,
    tried: nullable(moment),
    failure: nullable(text),
    status: nullable(integer),
    response: nullable(text),
    warned: nullable(moment),
  },
  {
    key: ['message', 'seq'],
    clustered: true,
    indexes: {
      outbound_due: { on: ['due'], where: 'state < 2' },
      outbound_lane: { on: ['destination', 'due'], where: 'state < 2' },
    },
  },
)

export type Outbound = Readonly<RowOf<typeof messages>>
export type Target = Readonly<RowOf<typeof targets>>
export type TargetRow = Pick<Target, 'kind' | 'value' | 'destination'>

/** A message as it is queued, with its targets. */
export interface OutboundRow extends Omit<Outbound, 'done'> {
  readonly body: number
  readonly due: number
  readonly targets: readonly TargetRow[]
}

const insertMessage = messages.defineInsert('row')

interface QueuedForm extends Pick<OutboundRow, 'num' | 'due' | 'targets'> {
  readonly message: unknown
}

/** Queues a message whose body an earlier write of the unit has added (`bodyAdd`), for the queue's own reference. */
export const outboundInsert: Write<OutboundRow> = defineWrite<OutboundRow, QueuedForm>(
  'outbound.insert',
  (sql, { message, num, due, targets }, effects) => {
    insertMessage.run(sql, message, effects)
    const start = due + heldFor(sql, num)
    const insert = sql(`INSERT INTO outbound_target (message, seq, kind, value, lane, state, attempts, due)
      VALUES (?, ?, ?, ?, ?, 0, 0, ?)`)
    for (const [at, { kind, value, destination }] of targets.entries())
      insert.run(num, at + 1, kind, value, destination, start)
  },
  {
    encode: ({ targets, due, ...message }) => {
      const { num } = message
      return { message: insertMessage.encode?.({ ...message, done: null }), num, due, targets }
    },
    told: (sql, { message, num, due, targets }, effects) => {
      insertMessage.run(sql, message, effects)
      for (const [at, { kind, value, destination }] of targets.entries()) {
        sql(addTarget.call).run(num, at + 1, kind, value, destination, due)
      }
    },
  },
)

export interface Claim {
  readonly message: number
  readonly seqs: readonly number[]
  /** When it is tried again should nobody say how it went. */
  readonly due: number
}

/** Takes targets to send to them; one that was cancelled or held meanwhile is not taken. */
export const outboundClaim = defineWrite<{ claims: readonly Claim[]; at: number }>('outbound.claim', (sql, row) => {
  const take = sql(`UPDATE outbound_target SET state = 1, attempts = attempts + 1, due = ?, tried = ?
    WHERE message = ? AND seq = ? AND state = 0 AND due <= ?`)
  for (const { message, seqs, due } of row.claims) for (const seq of seqs) take.run(due, row.at, message, seq, row.at)
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
}>(
  'outbound.settle',
  (sql, row, effects) => {
    const settle = sql(`UPDATE outbound_target SET state = ?, due = ?, attempts = attempts - ?, failure = ?, status = ?,
    response = ?, warned = CASE WHEN ${isSet()} THEN ? ELSE warned END WHERE message = ? AND seq = ? AND state = 1`)
    const held = heldFor(sql, row.message)
    for (const one of row.outcomes) {
      const { state, due, counts, failure, status, response, warned, seq } = one
      settle.run(
        state,
        state === 0 ? due + held : due,
        counts ? 0 : 1,
        failure,
        status,
        response,
        warned ? 1 : 0,
        row.at,
        row.message,
        seq,
      )
    }
    finish(sql, row.message, row.at, effects)
  },
  {
    told: (sql, { message, outcomes, at }) => {
      for (const { seq, state, due, counts, failure, status, response, warned } of outcomes) {
        const back = counts ? 0 : 1
        sql(settleOne.call).run(message, seq, state, due, back, failure, status, response, warned ? at : null)
      }
      sql(finishOne.call).run(message, at)
    },
  },
)

const cancelling = 'UPDATE outbound_target SET state = 4, tried = ? WHERE message = ? AND state = 0'

/** Takes back what nobody is sending at this moment. */
export const outboundCancel = defineWrite<{ message: number; at: number }>(
  'outbound.cancel',
  (sql, row, effects) => {
    sql(cancelling).run(row.at, row.message)
    finish(sql, row.message, row.at, effects)
  },
  {
    told: (sql, { message, at }) => {
      sql(cancelling).run(at, message)
      sql(finishOne.call).run(message, at)
    },
  },
)

function recover(sql: Sql, due: number): void {
  sql(`UPDATE outbound_target SET state = 0, due = ${least('due', '?')} WHERE state = 1`).run(due)
  sql(`UPDATE outbound_target SET due = due + ${pausedFrom} WHERE state = 0 AND due < ${pausedFrom} AND message IN
    (SELECT o.num FROM outbound o JOIN sending_pause p ON p."user" = o."user"
      WHERE p.resumed IS NULL AND o.origin = 'submission' AND o.done IS NULL)`).run()
}

/** Brings back to the queue what an earlier process was sending when it ended; at `due` at the latest. */
export const outboundRecover = defineWrite<{ due: number }>(
  'outbound.recover',
  (sql, row, effects) => {
    recover(sql, row.due)
    domainHold.run(sql, null, effects)
  },
  {
    told: (sql, { due }, effects) => {
      recover(sql, due)
      domainHold.told?.(sql, null, effects)
    },
  },
)

/** Tries what waits now; what a closed domain holds, once that is open again. */
export const outboundRetry = defineWrite<{ message: number; at: number }>(
  'outbound.retry',
  (sql, row) => {
    const due = row.at + closedFor(sql, row.message)
    sql('UPDATE outbound_target SET due = ? WHERE message = ? AND state = 0').run(due, row.message)
  },
  { told: (sql, { message, at }) => void sql(retryNow.call).run(message, at) },
)

/** Holds what waits until somebody has it tried. */
export const outboundHold = defineWrite<{ message: number }>('outbound.hold', (sql, row) => {
  sql('UPDATE outbound_target SET due = ? WHERE message = ? AND state = 0').run(heldDue, row.message)
})

/** Changes how a message is sent, its relay for example. */
export const outboundOptions = messages.defineUpdate('options', { set: ['options'], by: ['num'] })

/** Forgets messages that were done before `before`. */
export const outboundSweep = defineWrite<{ before: number; count: number }>(
  'outbound.sweep',
  (sql, row) => {
    const old = sql('SELECT num FROM outbound WHERE done IS NOT NULL AND done < ? LIMIT ?').all(row.before, row.count)
    for (const { num } of old as { num: number }[]) {
      sql('DELETE FROM outbound_attempt WHERE message = ?').run(num)
      sql('DELETE FROM outbound_bounce WHERE message = ?').run(num)
      sql('DELETE FROM outbound_target WHERE message = ?').run(num)
      sql('DELETE FROM outbound WHERE num = ?').run(num)
    }
  },
  { told: (sql, { before, count }) => void sql(sweepOld.call).run(before, count) },
)

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

export const stateNames = ['waiting', 'sending', 'delivered', 'failed', 'cancelled'] as const
export type StateName = (typeof stateNames)[number]

export function stateName(target: Pick<Target, 'state'>): StateName {
  return stateNames[target.state] ?? 'failed'
}

/** A message's number in the queue as the id that clients know: 18 hexadecimal digits. */
export function queueId(num: number): string {
  return num.toString(16).padStart(queueIdDigits, '0')
}

/** The number of a queue id, 0 where it cannot be one. */
export function queueNumber(id: string): number {
  if (!/^0*[0-9a-f]{1,13}$/.test(id)) return 0
  const num = Number.parseInt(id, 16)
  return Number.isSafeInteger(num) ? num : 0
}

const queueIdDigits = 18

/** The queued message of this number. */
export async function findOutbound(read: Reader, num: number): Promise<Outbound | undefined> {
  return await messages.one(read, 'WHERE num = ?', num)
}

/** Messages of the queue with this Message-ID among the newest ones, the newest first. */
export async function findByMessageId(
  read: Reader,
  messageId: string,
  among: number,
  count: number,
): Promise<Outbound[]> {
  const newest = 'SELECT num FROM outbound ORDER BY num DESC LIMIT ?'
  const rest = `WHERE num IN (${newest}) AND ${jsonAt('options', 'messageId')} = ? ORDER BY num DESC LIMIT ?`
  return await messages.all(read, rest, among, messageId, count)
}

/** The newest message of an account with this Message-ID, among its newest ones. */
export async function findSent(
  read: Reader,
  user: string,
  messageId: string,
  among: number,
): Promise<Outbound | undefined> {
  const newest = 'SELECT num FROM outbound WHERE "user" = ? ORDER BY num DESC LIMIT ?'
  const rest = `WHERE num IN (${newest}) AND ${jsonAt('options', 'messageId')} = ? ORDER BY num DESC LIMIT 1`
  return await messages.one(read, rest, user, among, messageId)
}

/** Its targets in order. */
export async function listTargets(read: Reader, num: number): Promise<Target[]> {
  return await targets.all(read, 'WHERE message = ? ORDER BY seq', num)
}

export interface OutboundPage {
  /** Only messages of this account. */
  readonly user: string | null
  /** Only messages that still wait for a target with this destination. */
  readonly destination?: string | undefined
  readonly origin?: Origin | undefined
  /** Only messages that still wait for a target. */
  readonly pending: boolean
}

/** Messages of the queue, newest first. */
export async function listOutbound(
  read: Reader,
  page: OutboundPage,
  boundary: number | null,
  direction: 'forward' | 'back',
  count: number,
): Promise<Outbound[]> {
  const [sign, order] = direction === 'forward' ? ['<', 'DESC'] : ['>', 'ASC']
  const edge = boundary ?? (direction === 'forward' ? Number.MAX_SAFE_INTEGER : 0)
  const { text, values } = conditions(page)
  const rest = `WHERE num ${sign} @edge ${text} ORDER BY num ${order} LIMIT @count`
  return await messages.all(read, rest, { ...values, edge, count })
}

export async function countOutbound(read: Reader, page: OutboundPage): Promise<number> {
  const { text, values } = conditions(page)
  return await messages.count(read, `WHERE num > @edge ${text}`, { ...values, edge: 0 })
}

function conditions({ user, pending, destination, origin }: OutboundPage) {
  const waits = 'num IN (SELECT message FROM outbound_target WHERE state < 2 AND lane = @destination)'
  const text = [
    ...(user === null ? [] : ['AND "user" = @user']),
    ...(pending ? ['AND done IS NULL'] : []),
    ...(destination === undefined ? [] : [`AND ${waits}`]),
    ...(origin === undefined ? [] : ['AND origin = @origin']),
  ]
  const values = {
    ...(user !== null && { user }),
    ...(destination !== undefined && { destination }),
    ...(origin !== undefined && { origin }),
  }
  return { text: text.join(' '), values }
}

/** How many targets of a message were cancelled. */
export async function countCancelled(read: Reader, num: number): Promise<number> {
  return await targets.count(read, 'WHERE message = ? AND state = ?', num, targetState.cancelled)
}

checkParts.push({
  bodies: 'SELECT body FROM outbound WHERE body IS NOT NULL',
  rules: [
    {
      says: 'a queued message has its body exactly as long as a target waits for it',
      query: `SELECT num FROM outbound o WHERE (body IS NOT NULL) <>
        EXISTS (SELECT 1 FROM outbound_target t WHERE t.message = o.num AND t.state < 2)`,
    },
    {
      says: 'a queued message is done or has a body',
      query: 'SELECT num FROM outbound WHERE (body IS NULL) = (done IS NULL)',
    },
    {
      says: 'every target belongs to a queued message',
      query:
        'SELECT message FROM outbound_target AS o WHERE NOT EXISTS (SELECT 1 FROM outbound AS i WHERE i.num = o.message)',
    },
  ],
})
