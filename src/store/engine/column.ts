// The kinds of columns: how a value of a row is stored, and read back. Names of kinds are those that any engine knows.
//
// A kind keeps its form for ever: rows of years ago are read by it.

import assert from 'node:assert/strict'

/** What both engines store. */
export type Stored = number | string | Uint8Array | null

/** How one value of a row is stored. */
export interface Column<Value, Form extends Stored = Stored> {
  readonly type: 'integer' | 'text' | 'bytes' | 'any'
  readonly nullable: boolean
  /** Numbers that need not be whole. */
  readonly fraction?: boolean
  /** Where it is not that of the property. */
  readonly name?: string | undefined
  /** Absent where the value is stored as it is. */
  readonly codec?: Codec<Value, Form> | undefined
}

export interface Codec<Value, Form extends Stored = Stored> {
  encode(value: Value): Form
  decode(stored: Form): Value
}

/** A whole number, exact to 2^53. */
export const integer: Column<number, number> = { type: 'integer', nullable: false }
/** Milliseconds since 1970. */
export const moment: Column<number, number> = { ...integer }
/** Milliseconds that need not be whole. */
export const span: Column<number, number> = { ...integer, fraction: true }
export const text: Column<string, string> = { type: 'text', nullable: false }
export const bytes: Column<Buffer, Buffer> = { type: 'bytes', nullable: false }
/** A number or a text, as it was given. */
export const scalar: Column<number | string, number | string> = { type: 'any', nullable: true }
/** Stored as 0 or 1. */
export const boolean: Column<boolean, number> = {
  type: 'integer',
  nullable: false,
  codec: { encode: value => (value ? 1 : 0), decode: stored => stored === 1 },
}

/** Words without blanks, with one between each two; null where there are none. */
export const words: Column<readonly string[], string | null> & {
  readonly codec: Codec<readonly string[], string | null>
} = {
  type: 'text',
  nullable: true,
  codec: {
    encode: value => (value.length === 0 ? null : value.join(' ')),
    decode: stored => (stored === null ? [] : stored.split(' ')),
  },
}

/** Text of a closed set of words, or numbers of one. */
export function oneOf<Value extends string>(): Column<Value, Value> {
  return text as Column<Value, Value>
}

/** One of some words, stored as its place among them: a place keeps its meaning for ever. */
export function placeIn<Value extends string>(values: readonly Value[]): Column<Value, number> {
  return {
    type: 'integer',
    nullable: false,
    codec: {
      encode: value => values.indexOf(value),
      decode: stored => {
        const value = values[stored]
        assert(value !== undefined, 'a stored place is one of a word')
        return value
      },
    },
  }
}

/** A value that is only ever read whole, as JSON. */
export function json<Value>(): Column<Value, string> {
  return {
    type: 'text',
    nullable: false,
    codec: { encode: value => JSON.stringify(value), decode: stored => JSON.parse(stored) as Value },
  }
}

export function nullable<Value, Form extends Stored>(column: Column<Value, Form>): Column<Value | null, Form | null> {
  return { ...column, nullable: true, codec: absent(column.codec, null) }
}

/** Like `nullable`, for rows where what is absent is undefined. */
export function optional<Value, Form extends Stored>(
  column: Column<Value, Form>,
): Column<Value | undefined, Form | null> {
  const plain = { encode: (value: unknown) => value as Form, decode: (stored: unknown) => stored as Value }
  return { ...column, nullable: true, codec: absent(column.codec ?? plain, undefined) }
}

/** A column with a name of its own. */
export function called<Value, Form extends Stored>(name: string, column: Column<Value, Form>): Column<Value, Form> {
  return { ...column, name }
}

function absent<Value, Form extends Stored, None>(
  codec: Codec<Value, Form> | undefined,
  none: None,
): Codec<Value | None, Form | null> | undefined {
  if (codec === undefined) return undefined
  return {
    encode: value => (value === none ? null : codec.encode(value as Value)),
    decode: stored => (stored === null ? none : codec.decode(stored)),
  }
}
