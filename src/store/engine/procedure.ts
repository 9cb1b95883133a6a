// Procedures: what a write does that reads between its statements, in PL/pgSQL, for an engine that gets a whole batch in one
// call. A procedure is defined beside the write that it belongs to, which calls it by the text given here.
//
// Names of parameters and variables begin with `_`, so that none is taken for a column. Texts may hold the neutral words of
// dialect.ts, and call other procedures by `${name}(...)`.

/** A function of the engine. */
export interface Procedure {
  readonly name: string
  /** Parameters with their types. */
  readonly takes: string
  /** What it gives: nothing, unless it is called by other procedures. */
  readonly gives: string
  /** From DECLARE or BEGIN to END. */
  readonly body: string
  /** The statement that calls it, with a place for each parameter. */
  readonly call: string
  /** Its name in a text. */
  toString(): string
}

/** The engine's own clock, in milliseconds since 1970: the one that all nodes have in common. */
export const engineClock = 'floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint'

const procedures = new Map<string, Procedure>()

/** Defines one. Those that it calls must be defined before it. */
export function defineProcedure(name: string, takes: string, body: string, gives = 'void'): Procedure {
  if (procedures.has(name)) throw new Error(`two procedures are called ${name}`)
  // They live as long as a connection, so that no version of the program meets those of another.
  const place = `pg_temp.${name}`
  const places =
    takes === ''
      ? ''
      : takes
          .split(',')
          .map(() => '?')
          .join(', ')
  const made = { name, takes, gives, body, call: `SELECT ${place}(${places})`, toString: () => place }
  procedures.set(name, made)
  return made
}

/** All of them, in the order in which they were defined. */
export function definedProcedures(): readonly Procedure[] {
  return [...procedures.values()]
}
