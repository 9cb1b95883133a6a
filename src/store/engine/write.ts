// What a write is: a named, typed function that runs in the writer thread inside a unit's savepoint.
//
// The main thread only holds the name and the row, in the form that crosses to the other thread: it must survive a
// structured clone (plain objects, numbers, text, bytes). A write never reads the clock, never waits and never talks to
// anything but the database and `effects`. Those of one statement come with their table (table.ts).

import type { FaultCode } from '#lib/fault.ts'
import type { Sql } from './sqlite/handle.ts'

/** Thrown by a write: its unit is refused, and nothing of it is on disk, with this fault for who asked. */
export class Refused extends Error {
  readonly code: FaultCode

  constructor(code: FaultCode, text: string) {
    super(text)
    this.code = code
  }
}

/** How a procedure (procedure.ts) refuses its unit: with this state, and the fault's code as detail. */
export const refusedState = 'TL002'

/** What a unit wants done around its commit; all of it must be quick and repeatable. */
export interface Effects {
  /** Runs before the transaction is committed, when the unit itself went through (renaming files into place). */
  beforeCommit(task: () => void): void
  /** Runs after the commit is on disk (unlinking files no row names any more). */
  afterCommit(task: () => void): void
  /** Runs when the transaction was rolled back after `beforeCommit` tasks may have run. */
  onRollback(task: () => void): void
}

/** `Form` is what crosses to the writer thread for a row. */
export interface Write<Row, Form = unknown> {
  readonly name: string
  /** Absent: the row crosses as it is. */
  readonly encode?: ((row: Row) => Form) | undefined
  /** Whether this row, undone by a rollback, cannot be written again: it did something outside of the database. */
  readonly once?: ((form: Form) => boolean) | undefined
  /** Values of the row that may be large: the thread gives their memory back when it is done with them. */
  readonly values?: ((form: Form) => readonly Uint8Array[]) | undefined
  /**
   * What `run` does, for an engine that is told all of a unit in one call: without reads between its statements, which
   * procedures do in their place (procedure.ts). Absent where `run` reads nothing.
   */
  readonly told?: ((sql: Sql, form: Form, effects: Effects) => void) | undefined
  run(sql: Sql, form: Form, effects: Effects): void
}

/** One write and its row, ready to cross threads; made by `operation` alone. */
export type Operation = readonly [name: string, form: unknown] & { readonly [made]: true }
declare const made: unique symbol

const registry = new Map<string, Write<unknown>>()

/** Names a write. The name is `table.verb` and is how the other thread finds it. */
export function defineWrite<Row, Form = Row>(
  name: string,
  run: (sql: Sql, form: Form, effects: Effects) => void,
  traits: Pick<Write<Row, Form>, 'encode' | 'once' | 'values' | 'told'> = {},
): Write<Row> {
  if (registry.has(name)) throw new Error(`two writes are called ${name}`)
  const write: Write<Row, Form> = { name, run, ...traits }
  registry.set(name, write as unknown as Write<unknown>)
  return write as unknown as Write<Row>
}

/** Every write, by name. */
export function definedWrites(): ReadonlyMap<string, Write<unknown>> {
  return registry
}

/** The write of that name; for the writer thread. */
export function findWrite(name: string): Write<unknown> {
  const write = registry.get(name)
  if (write === undefined) throw new Error(`no write is called ${name}`)
  return write
}

/** A write with its row, for a unit. */
export function operation<Row>(write: Write<Row>, row: Row): Operation {
  return [write.name, write.encode === undefined ? row : write.encode(row)] as unknown as Operation
}

/** What it carries, about: by its values where they are bound by place, else a guess for a small row. */
export function bytesOf([, form]: Operation): number {
  if (!Array.isArray(form)) return 200
  let bytes = 60
  for (const value of form)
    bytes += typeof value === 'string' ? value.length : value instanceof Uint8Array ? value.length : 8
  return bytes
}
