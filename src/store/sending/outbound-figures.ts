// The outbound queue in figures: how much waits and for how long, in all, by destination, and of one message.
//
// What scans says so; the rest is bounded and fit for the metrics.

import { sumOf } from '../engine/dialect.ts'
import type { Reader } from '../engine/reader.ts'

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
  const row = await read.one<Omit<QueueFigures, 'oldest'>>(
    `SELECT coalesce(${sumOf('state = 0')}, 0) AS waiting, coalesce(${sumOf('state = 1')}, 0) AS sending,
      coalesce(${sumOf('state = 0 AND attempts > 0')}, 0) AS deferred, min(due) AS next FROM outbound_target WHERE state < 2`,
  )
  const oldest = await read.one<{ at: number | null }>(
    `SELECT created AS at FROM outbound WHERE num = (SELECT min(message) FROM outbound_target WHERE state < 2)`,
  )
  return { waiting: 0, sending: 0, deferred: 0, next: null, ...row, oldest: oldest?.at ?? null }
}

/**
 * How many targets wait, counted up to a bound, since when the first of them is due and when the oldest message was queued
 * (null: none is waiting).
 */
export async function waitingFigures(
  read: Reader,
  countMax: number,
): Promise<{ waiting: number; due: number | null; oldest: number | null }> {
  const waiting = await read.one<{ n: number }>(
    'SELECT count(*) AS n FROM (SELECT 1 FROM outbound_target WHERE state < 2 LIMIT ?)',
    countMax,
  )
  const first = await read.one<{ due: number | null }>('SELECT min(due) AS due FROM outbound_target WHERE state < 2')
  const oldest = await read.one<{ at: number | null }>(
    `SELECT created AS at FROM outbound WHERE num = (SELECT min(message) FROM outbound_target WHERE state < 2)`,
  )
  return { waiting: waiting?.n ?? 0, due: first?.due ?? null, oldest: oldest?.at ?? null }
}

/** Destinations with the most waiting targets. */
export async function busiestDestinations(
  read: Reader,
  count: number,
): Promise<{ destination: string; waiting: number }[]> {
  return await read.all(
    `SELECT lane AS destination, count(*) AS waiting FROM outbound_target WHERE state < 2 GROUP BY lane ORDER BY waiting DESC LIMIT ?`,
    count,
  )
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
  /** Some of the destinations it waits for. */
  readonly destinations: readonly string[]
}

export async function progressOf(read: Reader, num: number, destinationsMax: number): Promise<Progress> {
  const sums = await read.one<Pick<Progress, 'waiting' | 'sending' | 'attempts' | 'next'>>(
    `SELECT coalesce(${sumOf('state = 0')}, 0) AS waiting, coalesce(${sumOf('state = 1')}, 0) AS sending,
      coalesce(max(attempts), 0) AS attempts, min(CASE WHEN state < 2 THEN due END) AS next
     FROM outbound_target WHERE message = ?`,
    num,
  )
  const last = await read.one<Pick<Progress, 'failure' | 'status' | 'response'>>(
    `SELECT failure, status, response FROM outbound_target WHERE message = ? AND state < 2 AND tried IS NOT NULL
     ORDER BY tried DESC LIMIT 1`,
    num,
  )
  const destinations = await read.all<{ lane: string }>(
    'SELECT DISTINCT lane FROM outbound_target WHERE message = ? AND state < 2 ORDER BY lane LIMIT ?',
    num,
    destinationsMax,
  )
  const none = { failure: null, status: null, response: null }
  return {
    ...{ waiting: 0, sending: 0, attempts: 0, next: null },
    ...sums,
    ...(last ?? none),
    destinations: destinations.map(({ lane }) => lane),
  }
}

/** Whether messages were done before `before`. */
export async function hasOldOutbound(read: Reader, before: number): Promise<boolean> {
  return (await read.one('SELECT 1 FROM outbound WHERE done IS NOT NULL AND done < ? LIMIT 1', before)) !== undefined
}
