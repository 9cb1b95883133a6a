// A batch on its way to the engine: numbers and values of its statements as one JSON text, bytes of all values one after the
// other, so that neither is copied value by value, and what came of it.
//
// Failures are told in the words of SQLite's thread, so that the writer need not know which engine it has.

import type { FaultCode } from '#lib/fault.ts'
import type { WriterReply } from '../../../writer/writer.ts'
import { findTable, namesOf } from '../../table.ts'
import { refusedState } from '../../write.ts'
import type { Prepared } from '../text.ts'
import { fenced } from './functions.ts'

type Failure = WriterReply['failures'][number]

/** A unit as it is told. */
export interface ToldUnit {
  readonly partition: number
  readonly epoch: number
  readonly steps: readonly Prepared[]
  /** Under which it was made. */
  readonly lease?: UnitLease | undefined
}

/** A shard, and the how many-th time that somebody got it. */
export type UnitLease = readonly [shard: number, term: number]

export interface EncodedBatch {
  /** For each unit its partition, its epoch and the place behind its last statement; its shard and term, where it has a lease. */
  readonly units: string
  /** Leases of all units; null where none has one. */
  readonly leases: string | null
  /** Number and values of each statement, by turns. */
  readonly steps: string
  readonly bytes: Buffer
}

/** @param numberOf the number of a statement by its name */
export function encodeBatch(units: readonly ToldUnit[], numberOf: (name: string) => number): EncodedBatch {
  const steps: string[] = []
  const ends: string[] = []
  const pieces: Buffer[] = []
  let at = 1
  const written = (value: string | Buffer | null): string => {
    if (value === null) return 'null'
    // Half a pair of surrogates is no text to the engine.
    if (typeof value === 'string') return JSON.stringify(value.isWellFormed() ? value : value.toWellFormed())
    const place = `[${at},${value.length}]`
    pieces.push(value)
    at += value.length
    return place
  }
  const leases = new Set<string>()
  for (const { partition, epoch, steps: told, lease } of units) {
    for (const { name, values } of told) steps.push(String(numberOf(name)), `[${values.map(written).join()}]`)
    ends.push(`[${[partition, epoch, steps.length, ...(lease ?? [])].join()}]`)
    if (lease !== undefined) leases.add(`[${lease.join()}]`)
  }
  const under = leases.size === 0 ? null : `[${[...leases].join()}]`
  return { units: `[${ends.join()}]`, leases: under, steps: `[${steps.join()}]`, bytes: Buffer.concat(pieces) }
}

/** What the engine says of a unit that failed. */
export interface EngineFailure {
  readonly unit: number
  /** Its code; `stale` where an earlier unit of the same state failed, `fenced` (functions.ts) where its lease is gone. */
  readonly state: string
  readonly text?: string
  readonly detail?: string
  readonly table?: string
  readonly constraint?: string
  readonly column?: string
}

/** The same as the writer says it, in the words of the other engine where a rule of the schema was broken. */
export function failureOf({
  unit,
  state,
  text = '',
  detail,
  table = '',
  constraint = '',
  column,
}: EngineFailure): Failure {
  if (state === 'stale') return { unit, kind: 'stale', text: '' }
  if (state === fenced) return { unit, kind: 'fenced', text: '' }
  if (state === refusedState) return { unit, kind: 'refused', text, code: detail as FaultCode }
  if (state === '23502') return { unit, kind: 'conflict', text: `NOT NULL constraint failed: ${table}.${column}` }
  if (!state.startsWith('23')) return { unit, kind: 'error', text }
  return { unit, kind: 'conflict', text: `UNIQUE constraint failed: ${columnsOf(table, constraint)}` }
}

/** Columns of a unique index, or of the key: `mailbox.user, mailbox.path`. */
function columnsOf(name: string, constraint: string): string {
  const table = findTable(name)
  if (table === undefined) return name
  return namesOf(table, table.shape.indexes?.[constraint]?.on ?? table.shape.key)
}
