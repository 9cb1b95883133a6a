// A statement on its way to PostgreSQL: what is sent for it and what its answer becomes, with little between. The driver's own
// query has each result described anew and tells listeners of each row, which takes more than the rows themselves.
//
// A connection remembers what the rows of a statement look like, and what is asked in one turn of the loop leaves together.

import type { Writable } from 'node:stream'
import { limits } from '#lib/limits.ts'
import { postgres } from '#lib/process/lazy.ts'
import { typeParsers } from './values.ts'

export interface Asked {
  /** Statements without a name are not kept by the server. */
  readonly name?: string
  readonly text: string
  readonly values: readonly unknown[]
  readonly rowMode?: 'array'
}

/** Hears rows until it says true. */
export type Visit = (row: never) => unknown

/** What the driver's connection has and its types do not describe. */
interface Wire {
  readonly stream: Writable
  /** Texts by the names of statements that the server knows, or is about to. */
  readonly parsedStatements: Readonly<Record<string, string>>
  readonly submittedNamedStatements: Record<string, string>
  query(text: string): void
  parse(what: { name: string; text: string; types: readonly number[] }): void
  bind(what: { portal: string; statement: string; values: readonly unknown[] }): void
  describe(what: { type: 'P'; name: string }): void
  execute(what: { portal: string; rows: number }): void
  close(what: { type: 'P'; name: string }): void
  sync(): void
  flush(): void
}

interface Shape {
  readonly names: readonly string[]
  readonly parsers: readonly ((stored: string) => unknown)[]
}

/** What is known of rows, by connection and statement. */
const shapes = new WeakMap<Wire, Map<string, Shape>>()
const held = new WeakSet<Wire>()

/** One that the driver takes for its own. */
export class Asking {
  readonly name: string | undefined
  readonly text: string
  callback: (error: unknown) => void
  readonly #asked: Asked
  readonly #visit: Visit
  /** Rows that are fetched at a time; all where 0. */
  readonly #piece: number
  #known: Map<string, Shape> | undefined
  #shape: Shape | undefined
  #left = false
  #failure: unknown = null

  /** @param inPieces nothing else may be asked of the connection until its end. @param callback with what failed, or null */
  constructor(asked: Asked, visit: Visit, inPieces: boolean, callback: (error: unknown) => void) {
    this.name = asked.name
    this.text = asked.text
    this.callback = callback
    this.#asked = asked
    this.#visit = visit
    this.#piece = inPieces ? limits.postgres.pieceRows : 0
  }

  submit(wire: Wire): null {
    holdBack(wire)
    const { text } = this
    if (this.name === undefined && this.#asked.values.length === 0) {
      wire.query(text)
      return null
    }
    const name = this.name ?? ''
    this.#known = shapes.get(wire) ?? new Map()
    shapes.set(wire, this.#known)
    if (wire.parsedStatements[name] === undefined && wire.submittedNamedStatements[name] === undefined) {
      wire.parse({ name, text, types: [] })
      if (name !== '') wire.submittedNamedStatements[name] = text
    }
    wire.bind({ portal: '', statement: name, values: this.#asked.values })
    this.#shape = this.#known.get(name)
    if (this.#shape === undefined) wire.describe({ type: 'P', name: '' })
    this.#fetch(wire)
    return null
  }

  #fetch(wire: Wire): void {
    wire.execute({ portal: '', rows: this.#piece })
    if (this.#piece === 0) wire.sync()
    else wire.flush()
  }

  handleRowDescription({ fields }: { fields: readonly { name: string; dataTypeID: number }[] }): void {
    const parsers = fields.map(({ dataTypeID }) => typeParsers.getTypeParser(dataTypeID))
    this.#shape = { names: fields.map(({ name }) => name), parsers }
    if (this.name !== undefined) this.#known?.set(this.name, this.#shape)
  }

  handleDataRow({ fields }: { fields: readonly (string | null)[] }): void {
    if (this.#left) return
    try {
      this.#left = this.#visit(this.#row(fields) as never) === true
    } catch (error) {
      this.#left = true
      this.#failure = error
    }
  }

  #row(fields: readonly (string | null)[]): unknown {
    const { names, parsers } = this.#shape as Shape
    const value = (field: string | null, at: number) => (field === null ? null : parsers[at]?.(field))
    if (this.#asked.rowMode === 'array') return fields.map(value)
    const row: Record<string, unknown> = {}
    for (let at = 0; at < fields.length; at++) row[names[at] as string] = value(fields[at] as string | null, at)
    return row
  }

  handlePortalSuspended(wire: Wire): void {
    if (!this.#left) {
      this.#fetch(wire)
      return
    }
    wire.close({ type: 'P', name: '' })
    wire.sync()
  }

  handleCommandComplete(_message: unknown, wire: Wire): void {
    if (this.#piece > 0) wire.sync()
  }

  handleEmptyQuery(wire: Wire): void {
    if (this.#piece > 0) wire.sync()
  }

  handleReadyForQuery(): void {
    this.callback(this.#failure)
  }

  handleError(error: unknown): void {
    this.callback(error)
  }
}

let isDrivers = false

/** The driver lets nobody else's queries stand in line. */
export function asking(asked: Asked, visit: Visit, inPieces: boolean, callback: (error: unknown) => void): Asking {
  if (!isDrivers) Object.setPrototypeOf(Asking.prototype, postgres().Query.prototype)
  isDrivers = true
  return new Asking(asked, visit, inPieces, callback)
}

/** Until the end of this turn of the loop. */
function holdBack(wire: Wire): void {
  if (held.has(wire)) return
  held.add(wire)
  wire.stream.cork()
  setImmediate(() => {
    held.delete(wire)
    wire.stream.uncork()
  })
}
