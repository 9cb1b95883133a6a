// Who serves which shard of accounts: nodes, and the leases they hold. Only the database's clock is in these rows.

import { boolean, bytes, integer, moment, nullable, text } from '../engine/column.ts'
import { table } from '../engine/table.ts'

/** A node: alive until a moment that it pushes out. */
export const nodes = table(
  'node',
  {
    /** Of its writer, too (`writer_call`). */
    num: integer,
    /** As it is configured: one at a time. */
    name: text,
    /** Which process of that name. */
    incarnation: text,
    until: moment,
    /** It takes nothing any more. */
    leaving: boolean,
    began: moment,
  },
  { key: ['num'], indexes: { node_name: { on: ['name'], unique: true } }, shared: true },
)

/** What was given out of each kind of number: a node takes many at once. */
export const numberBlocks = table('number_block', { name: text, last: integer }, { key: ['name'], shared: true })

/** A shard: whose it is (0: nobody's), and the how many-th time that somebody got it. */
export const leases = table(
  'lease',
  { shard: integer, node: integer, term: integer },
  { key: ['shard'], indexes: { lease_node: { on: ['node'] } }, shared: true },
)

/**
 * What came of what a node did for another one, by the call's name and written with it: where that node is gone nobody else
 * can say. Without an answer whoever asked had it put down that nobody will do it any more: who does it all the same was too slow.
 */
export const answers = table(
  'node_answer',
  { call: text, reply: nullable(bytes), kept: moment },
  { key: ['call'], conflict: 'TimedOut', indexes: { node_answer_kept: { on: ['kept'] } }, shared: true },
)

/** A node as the database has it. */
export interface NodeState {
  readonly num: number
  readonly name: string
  readonly incarnation: string
  readonly alive: boolean
  readonly leaving: boolean
  /** For how long it has been heard of no more; 0 for one that is alive. */
  readonly silentMs: number
  /** When its leases were renewed last, of this node's `monotonic`. */
  readonly renewedAt: number
}
