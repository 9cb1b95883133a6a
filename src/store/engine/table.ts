// One definition for a table: its columns and how each value is stored, its key and indexes, the type of its rows, and the
// texts of ordinary reads and writes.
//
// A column is named here and in the migration that makes it, and nowhere else; that both say the same is a test
// (test/store/engine/table.test.ts). Names are those of the properties in snake case. Values are always bound. What only one
// engine knows (full text, pragmas) stays in the files that say so: definitions hold to what SQLite and PostgreSQL share.

import type { FaultCode } from '#lib/fault.ts'
import type { Codec, Column, Stored } from './column.ts'
import { greatest } from './dialect.ts'
import type { Reader } from './reader.ts'
import { defineWrite, type Write } from './write.ts'

type Columns = Readonly<Record<string, Column<unknown>>>
type ValueOf<C> = C extends Column<infer Value> ? Value : never
type FormOf<C> = C extends Column<unknown, infer Form> ? Form : never
/** A row as the program has it. */
export type RowOf<T> = T extends Table<infer C> ? Row<C> : never
type Row<C extends Columns> = { -readonly [Key in keyof C]: ValueOf<C[Key]> }

/** Where each of some columns stands in a row that is an array. */
type Places<Keys extends readonly string[]> = {
  readonly [Place in Exclude<keyof Keys, keyof unknown[]> as Keys[Place] &
    string]: Place extends `${infer At extends number}` ? At : never
}
type Forms<C extends Columns, Keys extends readonly string[]> = { -readonly [At in keyof Keys]: FormOf<C[Keys[At]]> }

/**
 * Columns of rows that are read as arrays, for listings of thousands: a value is found by `row[column.uid]`, in the form in
 * which it is stored.
 */
class Picked<Keys extends readonly string[], Form extends unknown[]> {
  /** For a SELECT. */
  readonly list: string
  readonly keys: Keys
  readonly at: Places<Keys>

  constructor(keys: Keys, list: string) {
    this.keys = keys
    this.list = list
    this.at = Object.fromEntries(keys.map((key, at) => [key, at])) as unknown as Places<Keys>
  }

  /** These and those of another table that it is joined with. */
  with<Others extends readonly string[], OtherForm extends unknown[]>(
    other: Picked<Others, OtherForm>,
  ): Picked<readonly [...Keys, ...Others], [...Form, ...OtherForm]> {
    return new Picked([...this.keys, ...other.keys] as const, `${this.list}, ${other.list}`)
  }

  /** The same list with nothing in the places of these, for rows of which they are not asked. */
  without(absent: readonly Keys[number][]): string {
    const places = this.list.split(', ')
    return places.map((place, at) => (absent.includes(this.keys[at] as Keys[number]) ? 'NULL' : place)).join(', ')
  }

  /** All rows of a query that is bounded by its LIMIT or its nature; `rest` begins with FROM. */
  async all(read: Reader, rest: string, ...values: unknown[]): Promise<Form[]> {
    return await read.arrays<Form>(`SELECT ${this.list} ${rest}`, ...values)
  }
}

/** A row of picked columns. */
export type PickedRow<P> = P extends { all(...args: never[]): Promise<(infer Form)[]> } ? Form : never

interface Index<Key> {
  /** Columns of a row, and those the engine works out from them (`derived`). */
  readonly on: readonly (Key | Derived)[]
  readonly unique?: boolean
  /** What is said to who writes a second row. */
  readonly conflict?: FaultCode
  /** Rows it holds, as a condition. */
  readonly where?: string
}

export interface Shape<Key> {
  /** What names a row. */
  readonly key: readonly Key[]
  /** What is said to who writes a second row under the same key. */
  readonly conflict?: FaultCode
  /** Rows lie in the order of their key; without it they lie in the order in which they came. */
  readonly clustered?: boolean
  /** Columns of the key or of unique indexes that may be longer than what every engine takes into an index, some 2,700 bytes. */
  readonly long?: readonly Key[]
  /** Columns that the engine works out from others of the row, and from what: texts and indexes name them, rows have none. */
  readonly derived?: Readonly<Partial<Record<Derived, string>>>
  /** By name. */
  readonly indexes?: Readonly<Record<string, Index<Key>>>
  /** Only where several processes share a database: a file has none, and it goes with no move. */
  readonly shared?: boolean
}

/** Columns that the engine works out from others of the row: in no row as the program has it, but in texts and indexes. */
type Derived = 'domain'

const defined = new Map<string, Table<Columns>>()
const shared = new Map<string, Table<Columns>>()

/** The fault of the caller who broke a key or a unique index, which is named by its columns: `mailbox.user, mailbox.path`. */
export function conflictOf(columns: string): FaultCode | undefined {
  const [name = ''] = columns.split('.')
  const found = findTable(name)
  if (found === undefined) return undefined
  const { key, conflict: taken, indexes = {} } = found.shape
  const all: Pick<Index<string>, 'on' | 'conflict'>[] = [
    { on: key, ...(taken && { conflict: taken }) },
    ...Object.values(indexes),
  ]
  return all.find(({ on, conflict }) => conflict !== undefined && namesOf(found, on) === columns)?.conflict
}

/** Columns in the words in which an engine says that a rule was broken: `mailbox.user, mailbox.path`. */
export function namesOf(table: Table<Columns>, columns: readonly string[]): string {
  return columns.map(key => `${table.name}.${table.columnOf(key)}`).join(', ')
}

/** A table of either kind. */
export function findTable(name: string): Table<Columns> | undefined {
  return defined.get(name) ?? shared.get(name)
}

/** Every table that both engines have, by name. */
export function definedTables(): ReadonlyMap<string, Table<Columns>> {
  return defined
}

/** Tables of an engine that several processes share, by name. */
export function sharedTables(): ReadonlyMap<string, Table<Columns>> {
  return shared
}

export class Table<C extends Columns> {
  readonly name: string
  readonly columns: C
  readonly shape: Shape<keyof C & string>
  /** Every column for a SELECT of whole rows. */
  readonly list: string
  /** Where each column stands in `values`. */
  readonly at: Readonly<Record<keyof C & string, number>>
  readonly #keys: readonly (keyof C & string)[]
  readonly #coded: readonly (readonly [string, Codec<unknown>])[]
  readonly #forms: Form[]

  constructor(name: string, columns: C, shape: Shape<keyof C & string>) {
    this.name = name
    this.columns = columns
    this.shape = shape
    this.list = this.listOf()
    this.#keys = Object.keys(columns)
    this.at = Object.fromEntries(this.#keys.map((key, at) => [key, at])) as Record<keyof C & string, number>
    this.#coded = coded(columns, this.#keys)
    this.#forms = this.#formsOf(this.#keys)
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

  /** Columns of rows that are read as arrays. */
  pick<const Keys extends readonly (keyof C & string)[]>(keys: Keys, alias?: string): Picked<Keys, Forms<C, Keys>> {
    return new Picked(keys, this.listOf(alias, keys))
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
  async one(read: Reader, rest: string, ...values: unknown[]): Promise<Row<C> | undefined> {
    const stored = await read.one<Record<string, unknown>>(`SELECT ${this.list} FROM ${this} ${rest}`, ...values)
    return stored === undefined ? undefined : this.decode(stored)
  }

  /** All rows of a query that is bounded by its LIMIT or its nature. */
  async all(read: Reader, rest: string, ...values: unknown[]): Promise<Row<C>[]> {
    const rows = await read.all<Record<string, unknown>>(`SELECT ${this.list} FROM ${this} ${rest}`, ...values)
    return rows.map(stored => this.decode(stored))
  }

  async count(read: Reader, rest: string, ...values: unknown[]): Promise<number> {
    return (await read.one<{ n: number }>(`SELECT count(*) AS n FROM ${this} ${rest}`, ...values))?.n ?? 0
  }

  /** Values of a row in their stored form, in the order of the columns; for writes that bind by place (`insertion`). */
  values(row: Readonly<Row<C>>): Stored[] {
    return valuesOf(this.#forms, row)
  }

  /** The row of such values. */
  rowOf(values: readonly Stored[]): Row<C> {
    return this.decode(Object.fromEntries(this.#keys.map((key, at) => [key, values[at]])))
  }

  /** The write `<table>.insert`; `ifNew` leaves a row alone that is there under the same key. */
  defineInsert(name = 'insert', { ifNew = false } = {}): Write<Readonly<Row<C>>> {
    return this.#define(name, this.#keys, ifNew ? `${this.insertion} ON CONFLICT DO NOTHING` : this.insertion)
  }

  /** The write `<table>.put`: a row that is there under the same key is replaced, but for what it keeps. */
  defineUpsert(name = 'put', keeps: readonly (keyof C & string)[] = []): Write<Readonly<Row<C>>> {
    const rest = this.#keys
      .filter(key => !this.shape.key.includes(key) && !keeps.includes(key))
      .map(key => this.place(key))
    const set = rest.map(place => `${place} = excluded.${place}`).join(', ')
    const key = this.shape.key.map(key => this.place(key)).join(', ')
    return this.#define(name, this.#keys, `${this.insertion} ON CONFLICT (${key}) DO UPDATE SET ${set}`)
  }

  /** The write `<table>.<name>`: changes columns of the rows that agree in those of `by`. */
  defineUpdate<const Change extends Changes<keyof C & string>>(
    name: string,
    change: Change,
  ): Write<Readonly<Pick<Row<C>, Named<Change>>>> {
    const { set = [], add = [], raise = [], by } = change
    return this.#define(name, [...set, ...add, ...raise, ...by], this.updating(change))
  }

  /** The write `<table>.<name>`: takes away the rows that agree. */
  defineDelete<By extends keyof C & string>(by: readonly By[], name = 'delete'): Write<Readonly<Pick<Row<C>, By>>> {
    return this.#define(name, by, this.deleting(by))
  }

  /** The text that inserts a row, its values in the order of the columns. */
  get insertion(): string {
    return this.inserting(this.#keys)
  }

  /** The same of some columns, where the engine gives the others their values. */
  inserting(keys: readonly (keyof C & string)[]): string {
    const places = keys.map(key => this.place(key)).join(', ')
    return `INSERT INTO ${this} (${places}) VALUES (${keys.map(() => '?').join(', ')})`
  }

  /** The text that changes the rows that agree; its values are those of `set`, `add`, `raise` and `by`, in this order. */
  updating({ set = [], add = [], raise = [], by }: Changes<keyof C & string>): string {
    const places = (keys: readonly string[], value: (place: string) => string) =>
      keys.map(key => `${this.place(key)} = ${value(this.place(key))}`)
    const changes = [
      ...places(set, () => '?'),
      ...places(add, place => `${place} + ?`),
      ...places(raise, place => greatest(place, '?')),
    ]
    return `UPDATE ${this} SET ${changes.join(', ')} WHERE ${this.#agree(by)}`
  }

  /** The text that takes away the rows that agree. */
  deleting(by: readonly (keyof C & string)[]): string {
    return `DELETE FROM ${this} WHERE ${this.#agree(by)}`
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

  /** A write of one statement whose values are bound by place, in the order of `keys`. */
  #define<Input>(name: string, keys: readonly string[], text: string): Write<Input> {
    const forms = this.#formsOf(keys)
    return defineWrite<Input, Stored[]>(`${this.name}.${name}`, (sql, values) => void sql(text).run(values), {
      encode: input => valuesOf(forms, input as Readonly<Record<string, unknown>>),
    })
  }

  #formsOf(keys: readonly string[]): Form[] {
    return keys.map(key => ({ key, codec: this.columns[key]?.codec }))
  }
}

/** What an update does to the columns it names. */
interface Changes<Key extends string> {
  /** Columns that get a new value. */
  readonly set?: readonly Key[]
  /** Columns to which a difference is added. */
  readonly add?: readonly Key[]
  /** Columns that get a new value where it is the greater one; null stays null. */
  readonly raise?: readonly Key[]
  /** Columns in which a row agrees. */
  readonly by: readonly Key[]
}

type Named<Change> = {
  [Part in keyof Change]: Change[Part] extends readonly (infer Key extends string)[] | undefined ? Key : never
}[keyof Change]

/** How the value of a property is bound. */
interface Form {
  readonly key: string
  readonly codec: Codec<unknown> | undefined
}

function valuesOf(forms: readonly Form[], row: Readonly<Record<string, unknown>>): Stored[] {
  return forms.map(({ key, codec }) => (codec === undefined ? (row[key] as Stored) : codec.encode(row[key])))
}

/** Defines a table: its columns by property, in the order in which they are stored. */
export function table<C extends Columns>(name: string, columns: C, shape: Shape<keyof C & string>): Table<C> {
  if (findTable(name) !== undefined) throw new Error(`two tables are called ${name}`)
  const made = new Table(name, columns, shape)
  const tables = shape.shared === true ? shared : defined
  tables.set(name, made as unknown as Table<Columns>)
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
