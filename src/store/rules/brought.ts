// What one transaction of SMTP brought, by the id that its reply named (`Stored as ...`): it stands in the Received line on top of every copy.
//
// Looked for among the newest messages, some at a time, since nothing is kept by that id alone; a hit is a whole id in a line of ours, and
// never one that a stranger wrote.

import { sleep } from '#lib/clock.ts'
import { limits } from '#lib/limits.ts'
import type { Reader } from '../engine/reader.ts'
import type { MessageMeta } from '../mailboxes/messages.ts'
import { summaryOf } from '../mailboxes/outlines.ts'
import { findOutbound, type Outbound } from '../sending/outbound.ts'
import type { Arrival } from './arrivals.ts'

interface Brought {
  /** What was queued of it. */
  readonly sent: readonly Outbound[]
  /** Copies in folders. */
  readonly arrivals: readonly Arrival[]
  /** Its Message-ID, where it has one. */
  readonly messageId: string | undefined
}

interface Row extends Omit<Arrival, 'meta'> {
  readonly meta: string
  readonly summary: string
  readonly prefix: string
}

/** Whether an id may be one of a transaction. */
export function isTransaction(id: string): boolean {
  return /^[0-9a-f]{12}-[1-9]\d{0,9}$/.test(id)
}

/** @param user id of the account that asks; null where everybody's may be told */
export async function broughtBy(read: Reader, id: string, user: string | null): Promise<Brought> {
  const sent = await queuedOf(read, id, user)
  const rows = await storedOf(read, id, user)
  const queued = sent.find(({ options }) => options.messageId !== undefined)?.options.messageId
  const stored = rows.map(({ summary }) => summaryOf(summary).messageId).find(one => one)
  const arrivals = rows.map(({ meta, summary: _, prefix: __, ...row }) => ({
    ...row,
    meta: JSON.parse(meta) as MessageMeta,
  }))
  return { sent, arrivals, messageId: queued ?? stored }
}

/** Runs through the newest rows by number, the newest first, until enough are found. */
async function search<Found extends { readonly prefix: string }>(
  id: string,
  max: number,
  some: (before: number) => Promise<{ readonly last: number | null; readonly found: readonly Found[] }>,
): Promise<Found[]> {
  const { traceAmongMax, traceAccountsMax } = limits.outbound
  const whole = new RegExp(`\\sid ${id}[\\s;]`)
  const all: Found[] = []
  let before = Number.MAX_SAFE_INTEGER
  for (let seen = 0; seen < traceAmongMax && all.length < max; seen += traceAccountsMax) {
    const { last, found } = await some(before)
    all.push(...found.filter(({ prefix }) => whole.test(prefix)))
    if (last === null) break
    before = last
    await sleep(0)
  }
  return all.slice(0, max)
}

async function queuedOf(read: Reader, id: string, user: string | null): Promise<Outbound[]> {
  const whose = user === null ? '' : 'AND "user" = @user'
  const rows = await search(id, limits.outbound.tracedMax, async before => {
    const newest = 'SELECT num FROM outbound WHERE num < @before ORDER BY num DESC LIMIT @count'
    const how = { before, count: limits.outbound.traceAccountsMax }
    const { last = null } = (await read.one<{ last: number }>(`SELECT min(num) AS last FROM (${newest}) n`, how)) ?? {}
    const found = await read.all<{ num: number; prefix: string }>(
      `SELECT num, prefix FROM outbound WHERE num IN (${newest}) ${whose} AND prefix LIKE @part ORDER BY num DESC`,
      { ...how, part: `% id ${id}%`, ...(user !== null && { user }) },
    )
    return { last, found }
  })
  const sent = await Promise.all(rows.map(({ num }) => findOutbound(read, num)))
  return sent.filter(one => one !== undefined)
}

async function storedOf(read: Reader, id: string, user: string | null): Promise<Row[]> {
  const whose = user === null ? '' : 'AND u.id = @user'
  return await search(id, limits.outbound.tracedCopiesMax, async before => {
    const newest = 'SELECT num FROM message WHERE num < @before ORDER BY num DESC LIMIT @count'
    const how = { before, count: limits.outbound.traceAccountsMax }
    const { last = null } = (await read.one<{ last: number }>(`SELECT min(num) AS last FROM (${newest}) n`, how)) ?? {}
    const found = await read.all<Row>(
      `SELECT u.id AS "user", m.idate, b.id AS mailbox, b.path, m.uid, m.meta, m.prefix, o.summary
       FROM message m JOIN "user" u ON u.num = m."user" JOIN mailbox b ON b.num = m.mailbox JOIN outline o ON o.body = m.body
       WHERE m.num IN (${newest}) ${whose} AND m.prefix LIKE @part ORDER BY m.num`,
      { ...how, part: `% id ${id}%`, ...(user !== null && { user }) },
    )
    return { last, found }
  })
}
