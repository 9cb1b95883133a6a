// What a write is: a named, typed function that runs in the writer thread inside a unit's savepoint.
//
// The main thread only holds the name and the row; rows must survive a structured clone (plain objects, numbers, text,
// bytes). A write never reads the clock, never waits and never talks to anything but the database and `effects`.

import type { Sql } from './sqlite.ts'

/** What a unit wants done around its commit; all of it must be quick and repeatable. */
export interface Effects {
  /** Runs before the transaction is committed, when the unit itself went through (renaming files into place). */
  beforeCommit(task: () => void): void
  /** Runs after the commit is on disk (unlinking files no row names any more). */
  afterCommit(task: () => void): void
  /** Runs when the transaction was rolled back after `beforeCommit` tasks may have run. */
  onRollback(task: () => void): void
}

export interface Write<Row> {
  readonly name: string
  /** Whether this row, undone by a rollback, cannot be written again: it did something outside of the database. */
  readonly once?: ((row: Row) => boolean) | undefined
  /** Values of the row that may be large: the thread gives their memory back when it is done with them. */
  readonly values?: ((row: Row) => readonly Uint8Array[]) | undefined
  readonly run: (sql: Sql, row: Row, effects: Effects) => void
}

const registry = new Map<string, Write<never>>()

/** Names a write. The name is `table.verb` and is how the other thread finds it. */
export function defineWrite<Row>(
  name: string,
  run: Write<Row>['run'],
  traits: Pick<Write<Row>, 'once' | 'values'> = {},
): Write<Row> {
  if (registry.has(name)) throw new Error(`two writes are called ${name}`)
  const write: Write<Row> = { name, run, ...traits }
  registry.set(name, write as Write<never>)
  return write
}

/** The write of that name; for the writer thread. */
export function findWrite(name: string): Write<unknown> {
  const write = registry.get(name)
  if (write === undefined) throw new Error(`no write is called ${name}`)
  return write as unknown as Write<unknown>
}
