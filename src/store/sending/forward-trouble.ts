// Targets of forwards that refuse what is sent on to them, until they take something again: the table, its reads and writes.
//
// A forward is marked, not ended: its owner decides. What nothing went to for long is forgotten.

import { integer, moment, nullable, text } from '../engine/column.ts'
import type { Reader } from '../engine/reader.ts'
import { type RowOf, table } from '../engine/table.ts'
import { defineWrite } from '../engine/write.ts'

const troubles = table(
  'forward_trouble',
  {
    /** Id of the account, or the address that only forwards. */
    owner: text,
    /** As it is shown: passwords in URLs are masked. */
    target: text,
    since: moment,
    last: moment,
    failures: integer,
    status: text,
    response: text,
    /** When its owner was last sent what came back, and was last told that it has been so for days. */
    told: nullable(moment),
    warned: nullable(moment),
  },
  { key: ['owner', 'target'], clustered: true, long: ['target'], indexes: { forward_trouble_last: { on: ['last'] } } },
)

export type ForwardTrouble = Readonly<RowOf<typeof troubles>>

interface Noted extends Pick<ForwardTrouble, 'owner' | 'target' | 'last' | 'status' | 'response'> {
  readonly told: boolean
  readonly warned: boolean
}

/** Notes that a target refused. */
export const troubleNote = defineWrite<Noted>('forward_trouble.note', (sql, row) => {
  sql(`INSERT INTO forward_trouble (owner, target, since, last, failures, status, response, told, warned)
    VALUES (@owner, @target, @last, @last, 1, @status, @response, @told, @warned)
    ON CONFLICT (owner, target) DO UPDATE SET last = excluded.last, failures = forward_trouble.failures + 1, status = excluded.status,
      response = excluded.response, told = coalesce(excluded.told, forward_trouble.told),
      warned = coalesce(excluded.warned, forward_trouble.warned)`).run({
    ...row,
    told: row.told ? row.last : null,
    warned: row.warned ? row.last : null,
  })
})

/** It takes mail again, or is none any more. */
export const troubleEnd = troubles.defineDelete(['owner', 'target'])

export const troubleSweep = defineWrite<{ before: number; count: number }>('forward_trouble.sweep', (sql, row) => {
  sql(`DELETE FROM forward_trouble WHERE (owner, target) IN
    (SELECT owner, target FROM forward_trouble WHERE last < ? LIMIT ?)`).run(row.before, row.count)
})

export async function findTrouble(read: Reader, owner: string, target: string): Promise<ForwardTrouble | undefined> {
  return await troubles.one(read, 'WHERE owner = ? AND target = ?', owner, target)
}

/** Of one owner, the newest first. */
export async function listTroubles(read: Reader, owner: string, count: number): Promise<ForwardTrouble[]> {
  return await troubles.all(read, 'WHERE owner = ? ORDER BY last DESC LIMIT ?', owner, count)
}

/** Counted up to a bound. */
export async function countTroubles(read: Reader, countMax: number): Promise<number> {
  const found = await read.one<{ n: number }>(
    'SELECT count(*) AS n FROM (SELECT 1 FROM forward_trouble LIMIT ?)',
    countMax,
  )
  return found?.n ?? 0
}
