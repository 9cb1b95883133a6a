// The outbound queue: what its rows mean, and reading them.
//
// A message has one row and one for each target, and a target one state; what is in flight is told apart from what
// waits. Reads are by index and bounded by the caller, but where a function says that it scans.

import type { Mailbox } from '#mail/address.ts'
import type { MessageNotice, RecipientNotice } from '#mail/notice.ts'
import { checkParts } from './check.ts'
import { type TargetRow, targetState } from './outbound-writes.ts'
import type { Reader } from './reader.ts'

/** Who made the message that is sent. */
export type Origin = 'submission' | 'forward' | 'autoreply' | 'report'

export interface OutboundOptions extends MessageNotice {
  /** Relay of the account (an smtp: or smtps: URL) for targets of kind `mail`, instead of the service's way out. */
  readonly relay?: string
  /** Account or address it is forwarded for. */
  readonly forwardedFor?: string
  /** The sender before it was rewritten (SRS). */
  readonly originalSender?: string
  /** Of what is forwarded: what is known of From (actors/forward.ts). What is ours is signed like what is written here. */
  readonly trust?: 'ours' | 'theirs' | 'nobody'
  /** Who stands in From instead of who stood there, to whom answers go then. */
  readonly author?: Mailbox
  /** What its sender wants to hear, by recipient. */
  readonly notices?: Readonly<Record<string, RecipientNotice>>
  /** When it was to be sent, where its sender said so. */
  readonly notBefore?: number
  /** Message-ID, for reports and logs. */
  readonly messageId?: string
  /** Address or header fields hold UTF-8. */
  readonly utf8?: boolean
}

export interface Outbound {
  readonly num: number
  readonly user: string | null
  /** Envelope sender; empty for the null sender. */
  readonly sender: string
  readonly origin: Origin
  /** Null once nobody waits for it. */
  readonly body: number | null
  readonly prefix: string
  readonly size: number
  readonly created: number
  readonly done: number | null
  readonly options: OutboundOptions
}

export interface Target {
  readonly message: number
  readonly seq: number
  readonly kind: TargetRow['kind']
  readonly value: string
  readonly lane: string
  readonly state: number
  readonly attempts: number
  readonly due: number
  readonly tried: number | null
  readonly failure: string | null
  readonly status: number | null
  readonly response: string | null
  readonly warned: number | null
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
const columns = 'num, user, sender, origin, body, prefix, size, created, done, options'
const targetColumns = 'message, seq, kind, value, lane, state, attempts, due, tried, failure, status, response, warned'

type Row = Omit<Outbound, 'options'> & { options: string }

/** The queued message of this number. */
export async function findOutbound(read: Reader, num: number): Promise<Outbound | undefined> {
  const row = read.one<Row>(`SELECT ${columns} FROM outbound WHERE num = ?`, num)
  return row === undefined ? undefined : decode(row)
}

/** Its targets in order. */
export async function listTargets(read: Reader, num: number): Promise<Target[]> {
  return read.all<Target>(`SELECT ${targetColumns} FROM outbound_target WHERE message = ? ORDER BY seq`, num)
}

/** Targets that are due at `at`, the longest waiting first, whoever of them is being sent left out. */
export async function dueTargets(read: Reader, at: number, count: number): Promise<Target[]> {
  return read.all<Target>(
    `SELECT ${targetColumns} FROM outbound_target WHERE state < 2 AND due <= ? AND state = 0 ORDER BY due LIMIT ?`,
    at,
    count,
  )
}

/** The same of one lane. */
export async function dueOfLane(read: Reader, lane: string, at: number, count: number): Promise<Target[]> {
  return read.all<Target>(
    `SELECT ${targetColumns} FROM outbound_target WHERE state < 2 AND lane = ? AND due <= ? AND state = 0
     ORDER BY due LIMIT ?`,
    lane,
    at,
    count,
  )
}

/** Lanes in which something waits, in order of their names, from the one after `after`. */
export async function lanesAfter(read: Reader, after: string, count: number): Promise<string[]> {
  const rows = read.all<{ lane: string }>(
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

/** Targets of a message that wait in a lane and are due. */
export async function dueOfMessage(read: Reader, num: number, at: number): Promise<Target[]> {
  return read.all<Target>(
    `SELECT ${targetColumns} FROM outbound_target WHERE message = ? AND state = 0 AND due <= ? ORDER BY seq`,
    num,
    at,
  )
}

/** When the next target is due. */
export async function nextTargetDue(read: Reader): Promise<number | null> {
  const row = read.one<{ due: number | null }>('SELECT min(due) AS due FROM outbound_target WHERE state < 2')
  return row?.due ?? null
}

export interface QueueFigures {
  readonly waiting: number
  readonly sending: number
  /** Waiting targets that were tried already. */
  readonly deferred: number
  /** When the next is due, and when the oldest was queued; milliseconds since 1970. */
  readonly next: number | null
  readonly oldest: number | null
}

/** The queue in figures. Scans what waits: for an operator's eyes, not for each request. */
export async function queueFigures(read: Reader): Promise<QueueFigures> {
  const row = read.one<Omit<QueueFigures, 'oldest'>>(
    `SELECT coalesce(sum(state = 0), 0) AS waiting, coalesce(sum(state = 1), 0) AS sending,
      coalesce(sum(state = 0 AND attempts > 0), 0) AS deferred, min(due) AS next FROM outbound_target WHERE state < 2`,
  )
  const oldest = read.one<{ at: number | null }>(
    `SELECT created AS at FROM outbound WHERE num = (SELECT min(message) FROM outbound_target WHERE state < 2)`,
  )
  return { waiting: 0, sending: 0, deferred: 0, next: null, ...row, oldest: oldest?.at ?? null }
}

/** How many targets wait, counted up to a bound, and since when the first of them is due (null: none is waiting). */
export function waitingFigures(read: Reader, countMax: number): { waiting: number; due: number | null } {
  const waiting = read.one<{ n: number }>(
    'SELECT count(*) AS n FROM (SELECT 1 FROM outbound_target WHERE state < 2 LIMIT ?)',
    countMax,
  )
  const first = read.one<{ due: number | null }>('SELECT min(due) AS due FROM outbound_target WHERE state < 2')
  return { waiting: waiting?.n ?? 0, due: first?.due ?? null }
}

/** Lanes with the most waiting targets. */
export async function busiestLanes(read: Reader, count: number): Promise<{ lane: string; waiting: number }[]> {
  return read.all(
    `SELECT lane, count(*) AS waiting FROM outbound_target WHERE state < 2 GROUP BY lane ORDER BY waiting DESC LIMIT ?`,
    count,
  )
}

export interface OutboundPage {
  /** Only messages of this account. */
  readonly user: string | null
  /** Only messages that still wait for a target in this lane. */
  readonly lane?: string | undefined
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
  return read
    .all<Row>(`SELECT ${columns} FROM outbound WHERE num ${sign} @edge ${text} ORDER BY num ${order} LIMIT @count`, {
      ...values,
      edge,
      count,
    })
    .map(decode)
}

export async function countOutbound(read: Reader, page: OutboundPage): Promise<number> {
  const { text, values } = conditions(page)
  return (
    read.one<{ n: number }>(`SELECT count(*) AS n FROM outbound WHERE num > @edge ${text}`, { ...values, edge: 0 })
      ?.n ?? 0
  )
}

function conditions({ user, pending, lane, origin }: OutboundPage) {
  const waits = 'num IN (SELECT message FROM outbound_target WHERE state < 2 AND lane = @lane)'
  const text = [
    ...(user === null ? [] : ['AND user = @user']),
    ...(pending ? ['AND done IS NULL'] : []),
    ...(lane === undefined ? [] : [`AND ${waits}`]),
    ...(origin === undefined ? [] : ['AND origin = @origin']),
  ]
  const values = {
    ...(user !== null && { user }),
    ...(lane !== undefined && { lane }),
    ...(origin !== undefined && { origin }),
  }
  return { text: text.join(' '), values }
}

/** How a queued message is doing, all its targets together. */
export interface Progress {
  readonly waiting: number
  readonly sending: number
  /** Tries of the target that was tried most. */
  readonly attempts: number
  /** When the next waiting target is due. */
  readonly next: number | null
  /** Of the waiting target that was tried last. */
  readonly failure: string | null
  readonly status: number | null
  readonly response: string | null
  /** Some of the lanes in which it waits. */
  readonly lanes: readonly string[]
}

export async function progressOf(read: Reader, num: number, lanesMax: number): Promise<Progress> {
  const sums = read.one<Pick<Progress, 'waiting' | 'sending' | 'attempts' | 'next'>>(
    `SELECT coalesce(sum(state = 0), 0) AS waiting, coalesce(sum(state = 1), 0) AS sending,
      coalesce(max(attempts), 0) AS attempts, min(CASE WHEN state < 2 THEN due END) AS next
     FROM outbound_target WHERE message = ?`,
    num,
  )
  const last = read.one<Pick<Progress, 'failure' | 'status' | 'response'>>(
    `SELECT failure, status, response FROM outbound_target WHERE message = ? AND state < 2 AND tried IS NOT NULL
     ORDER BY tried DESC LIMIT 1`,
    num,
  )
  const lanes = read.all<{ lane: string }>(
    'SELECT DISTINCT lane FROM outbound_target WHERE message = ? AND state < 2 ORDER BY lane LIMIT ?',
    num,
    lanesMax,
  )
  const none = { failure: null, status: null, response: null }
  return {
    ...{ waiting: 0, sending: 0, attempts: 0, next: null },
    ...sums,
    ...(last ?? none),
    lanes: lanes.map(({ lane }) => lane),
  }
}

/** How many targets of a message were cancelled. */
export async function countCancelled(read: Reader, num: number): Promise<number> {
  const text = 'SELECT count(*) AS n FROM outbound_target WHERE message = ? AND state = ?'
  return read.one<{ n: number }>(text, num, targetState.cancelled)?.n ?? 0
}

function decode(row: Row): Outbound {
  return { ...row, options: JSON.parse(row.options) as OutboundOptions }
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
      query: 'SELECT message FROM outbound_target WHERE message NOT IN (SELECT num FROM outbound)',
    },
  ],
})
