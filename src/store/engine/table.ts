// One definition for a table: its columns and how each value is stored, its key and indexes, the type of its rows, and the
// texts of ordinary reads and writes.
//
// A column is named here and in the migration that makes it, and nowhere else; that both say the same is a test
// (test/store/table.test.ts). Names are those of the properties in snake case. Values are always bound. What only one
// engine knows (full text, pragmas) stays in the files that say so: definitions hold to what SQLite and PostgreSQL share.

import type { Reader } from './reader.ts'
import { defineWrite, type Write } from './write.ts'

/** What both engines store. */
export type Stored = number | string | Uint8Array | null

/** How one value of a row is stored. */
export interface Column<Value> {
  readonly type: 'integer' | 'text' | 'bytes'
  readonly nullable: boolean
  /** Where it is not that of the property. */
  readonly name?: string | undefined
  /** Absent where the value is stored as it is. */
  readonly codec?: Codec<Value> | undefined
}

interface Codec<Value> {
  encode(value: Value): Stored
  decode(stored: Stored): Value
}

/** A whole number, exact to 2^53. */
export const integer: Column<number> = { type: 'integer', nullable: false }
/** Milliseconds since 1970. */
export const moment = integer
export const text: Column<string> = { type: 'text', nullable: false }
export const bytes: Column<Uint8Array> = { type: 'bytes', nullable: false }
/** Stored as 0 or 1. */
export const boolean: Column<boolean> = {
  type: 'integer',
  nullable: false,
  codec: { encode: value => (value ? 1 : 0), decode: stored => stored === 1 },
}

/** Text of a closed set of words, or numbers of one. */
export function oneOf<Value extends string>(): Column<Value> {
  return text as Column<Value>
}

/** A value that is only ever read whole, as JSON. */
export function json<Value>(): Column<Value> {
  return {
    type: 'text',
    nullable: false,
    codec: { encode: value => JSON.stringify(value), decode: stored => JSON.parse(stored as string) as Value },
  }
}

export function nullable<Value>(column: Column<Value>): Column<Value | null> {
  return { ...column, nullable: true, codec: absent(column.codec, null) }
}

/** Like `nullable`, for rows where what is absent is undefined. */
export function optional<Value>(column: Column<Value>): Column<Value | undefined> {
  const plain: Codec<Value> = { encode: value => value as Stored, decode: stored => stored as Value }
  return { ...column, nullable: true, codec: absent(column.codec ?? plain, undefined) }
}

/** A column with a name of its own. */
export function called<Value>(name: string, column: Column<Value>): Column<Value> {
  return { ...column, name }
}

function absent<Value, None>(codec: Codec<Value> | undefined, none: None): Codec<Value | None> | undefined {
  if (codec === undefined) return undefined
  return {
    encode: value => (value === none ? null : codec.encode(value as Value)),
    decode: stored => (stored === null ? none : codec.decode(stored)),
  }
}

type Columns = Readonly<Record<string, Column<unknown>>>
type ValueOf<C> = C extends Column<infer Value> ? Value : never
/** A row as the program has it. */
export type RowOf<T> = T extends Table<infer C> ? Row<C> : never
type Row<C extends Columns> = { -readonly [Key in keyof C]: ValueOf<C[Key]> }

export interface Index<Key> {
  readonly on: readonly Key[]
  readonly unique?: boolean
  /** Rows it holds, as a condition. */
  readonly where?: string
}

export interface Shape<Key> {
  /** What names a row. */
  readonly key: readonly Key[]
  /** Rows lie in the order of their key; without it they lie in the order in which they came. */
  readonly clustered?: boolean
  /** By name. */
  readonly indexes?: Readonly<Record<string, Index<Key>>>
}

const defined = new Map<string, Table<Columns>>()

/** Every table that was defined, by name; for the test that compares them with what migrations make. */
export function definedTables(): ReadonlyMap<string, Table<Columns>> {
  return defined
}

export class Table<C extends Columns> {
  readonly name: string
  readonly columns: C
  readonly shape: Shape<keyof C & string>
  /** Every column for a SELECT of whole rows. */
  readonly list: string
  readonly #coded: readonly (readonly [string, Codec<unknown>])[]

  constructor(name: string, columns: C, shape: Shape<keyof C & string>) {
    this.name = name
    this.columns = columns
    this.shape = shape
    this.list = this.listOf()
    this.#coded = coded(columns, Object.keys(columns))
  }

  /** Its name in a text. */
  toString(): string {
    return quoted(this.name)
  }

  /** Columns for a SELECT, all or some, of the table or of what stands for it in a join. */
  listOf(alias?: string, keys: readonly (keyof C & string)[] = Object.keys(this.columns)): string {
    const place = alias === undefined ? '' : `${alias}.`
    return keys
      .map(key => {
        const name = this.columnOf(key)
        return name === key ? place + quoted(name) : `${place}${quoted(name)} AS "${key}"`
      })
      .join(', ')
  }

  /** A row that was read with `list`, or with some of its columns. Changes what it is given. */
  decode(stored: Record<string, unknown>, keys?: readonly (keyof C & string)[]): Row<C> {
    for (const [key, codec] of this.#coded) {
      if (keys === undefined || keys.includes(key)) stored[key] = codec.decode(stored[key] as Stored)
    }
    return stored as Row<C>
  }

  /** Values of a row in their stored form, by property; for writes that bind by name. */
  encode(row: Partial<Row<C>>): Record<string, Stored> {
    const stored = { ...row } as Record<string, Stored>
    for (const [key, codec] of this.#coded) if (key in stored) stored[key] = codec.encode(row[key as keyof C])
    return stored
  }

  /** The first row; `rest` is what follows the table's name. */
  one(read: Reader, rest: string, ...values: unknown[]): Row<C> | undefined {
    const stored = read.one<Record<string, unknown>>(`SELECT ${this.list} FROM ${this} ${rest}`, ...values)
    return stored === undefined ? undefined : this.decode(stored)
  }

  /** All rows of a query that is bounded by its LIMIT or its nature. */
  all(read: Reader, rest: string, ...values: unknown[]): Row<C>[] {
    const rows = read.all<Record<string, unknown>>(`SELECT ${this.list} FROM ${this} ${rest}`, ...values)
    return rows.map(stored => this.decode(stored))
  }

  /** Rows one after the other; never await between them. */
  *iterate(read: Reader, rest: string, ...values: unknown[]): Generator<Row<C>> {
    const rows = read.iterate<Record<string, unknown>>(`SELECT ${this.list} FROM ${this} ${rest}`, ...values)
    for (const stored of rows) yield this.decode(stored)
  }

  count(read: Reader, rest: string, ...values: unknown[]): number {
    return read.one<{ n: number }>(`SELECT count(*) AS n FROM ${this} ${rest}`, ...values)?.n ?? 0
  }

  /** The write `<table>.insert`. */
  defineInsert(name = 'insert'): Write<Row<C>> {
    return this.#define(name, Object.keys(this.columns), this.#insert())
  }

  /** The write `<table>.put`: a row that is there under the same key is replaced, but for what it keeps. */
  defineUpsert(name = 'put', keeps: readonly (keyof C & string)[] = []): Write<Row<C>> {
    const keys = Object.keys(this.columns)
    const rest = keys.filter(key => !this.shape.key.includes(key) && !keeps.includes(key)).map(key => this.place(key))
    const set = rest.map(place => `${place} = excluded.${place}`).join(', ')
    const key = this.shape.key.map(key => this.place(key)).join(', ')
    return this.#define(name, keys, `${this.#insert()} ON CONFLICT (${key}) DO UPDATE SET ${set}`)
  }

  /** The write `<table>.<name>`: sets columns of the row that agrees in the others, by default in the key. */
  defineUpdate<Set extends keyof C & string, By extends keyof C & string>(
    name: string,
    { set, by }: { set: readonly Set[]; by: readonly By[] },
  ): Write<Pick<Row<C>, Set | By>> {
    const assignments = set.map(key => `${this.place(key)} = ?`).join(', ')
    return this.#define(name, [...set, ...by], `UPDATE ${this} SET ${assignments} WHERE ${this.#agree(by)}`)
  }

  /** The write `<table>.<name>`: takes away the rows that agree. */
  defineDelete<By extends keyof C & string>(by: readonly By[], name = 'delete'): Write<Pick<Row<C>, By>> {
    return this.#define(name, by, `DELETE FROM ${this} WHERE ${this.#agree(by)}`)
  }

  /** The stored name of a property: `authVersion` is `auth_version`. */
  columnOf(key: string): string {
    return this.columns[key]?.name ?? key.replaceAll(/[A-Z]/g, letter => `_${letter.toLowerCase()}`)
  }

  /** A column in a text. */
  place(key: string): string {
    return quoted(this.columnOf(key))
  }

  #agree(by: readonly string[]): string {
    return by.map(key => `${this.place(key)} = ?`).join(' AND ')
  }

  #insert(): string {
    const keys = Object.keys(this.columns)
    return `INSERT INTO ${this} (${keys.map(key => this.place(key)).join(', ')}) VALUES (${keys.map(() => '?').join(', ')})`
  }

  /** A write of one statement whose values are bound by place, in the order of `keys`. */
  #define<Input>(name: string, keys: readonly string[], text: string): Write<Input> {
    const codecs = keys.map(key => [key, this.columns[key]?.codec] as const)
    return defineWrite<Input, Stored[]>(`${this.name}.${name}`, (sql, values) => void sql(text).run(...values), {
      encode: input =>
        codecs.map(([key, codec]) => {
          const value = (input as Record<string, unknown>)[key]
          return codec === undefined ? (value as Stored) : codec.encode(value)
        }),
    })
  }
}

/** Defines a table: its columns by property, in the order in which they are stored. */
export function table<C extends Columns>(name: string, columns: C, shape: Shape<keyof C & string>): Table<C> {
  if (defined.has(name)) throw new Error(`two tables are called ${name}`)
  const made = new Table(name, columns, shape)
  defined.set(name, made as unknown as Table<Columns>)
  return made
}

function coded(columns: Columns, keys: readonly string[]): [string, Codec<unknown>][] {
  return keys.flatMap(key => {
    const codec = columns[key]?.codec
    return codec === undefined ? [] : [[key, codec] satisfies [string, Codec<unknown>]]
  })
}

/** Names that one of the engines reads as something else unless they are quoted. */
const reserved = new Set(['user', 'end', 'from', 'to', 'table', 'group', 'order', 'default', 'check', 'references'])

function quoted(name: string): string {
  return reserved.has(name) ? `"${name}"` : name
}
