// Turns a schema into a function that converts and checks a value and names everything that is wrong with it.
//
// Each schema is walked once, at start, into closures. Values come from JSON, forms and query strings alike, so text is
// taken where a number, a date or a boolean is meant (api-semantics 1.4). All problems are gathered; texts and paths
// follow api-semantics 1.5. The result is built from known keys only and never shares a prototype with the input.

import { IsOptional, type TSchema } from 'typebox'
import { dotted, Fault } from '#lib/fault.ts'
import { limits } from '#lib/limits.ts'
import { parseJson } from './form.ts'

/** Converts `value`, or reports to `problems` under `path` (keys joined with commas) and answers undefined. */
export type Read = (value: unknown, path: string, problems: Problems) => unknown

export interface Field {
  readonly key: string
  readonly read: Read
  readonly required: boolean
  /** Value when none is given; undefined for none. */
  readonly initial: unknown
  /** An empty string counts as a value instead of as nothing. */
  readonly takesEmpty: boolean
}

type Raw = Readonly<Record<string, unknown>>

/** What is wrong with one request: the first message for each path, bounded. */
export class Problems {
  #details: Record<string, string> | null = null
  #count = 0

  get none(): boolean {
    return this.#details === null
  }

  /** Adds `reason`, a text that follows the field's name. `label` stands for the name where the API has one. */
  add(path: string, reason: string, label?: string): undefined {
    return this.tell(path, `"${label ?? dotted(path)}" ${reason}`)
  }

  /** Adds a whole sentence, for texts that clients compare. */
  tell(path: string, sentence: string): undefined {
    this.#details ??= Object.create(null) as Record<string, string>
    if (path in this.#details || this.#count >= limits.http.problemsMax) return
    this.#details[path] = sentence
    this.#count += 1
  }

  /** Throws what has been gathered. */
  check(): void {
    if (this.#details === null) return
    const details = { ...this.#details }
    throw new Fault('InputValidationError', { text: Object.values(details).join('. '), details })
  }
}

/** Text of a stranger inside a message: short and on one line. */
export function quoted(text: string): string {
  const short = text.length > 128 ? `${text.slice(0, 128)}…` : text
  return `"${short.replace(/[\u0000-\u001f\u007f]/g, ' ')}"`
}

/** Marks a schema with a reader of its own instead of the one its keywords make. */
export const reader: unique symbol = Symbol('reader')
export const takesEmpty: unique symbol = Symbol('takesEmpty')

interface Known {
  readonly [reader]?: Read
  readonly [takesEmpty]?: boolean
  readonly type?: string
  readonly const?: unknown
  readonly enum?: readonly unknown[]
  readonly anyOf?: readonly TSchema[]
  readonly items?: TSchema
  readonly properties?: Readonly<Record<string, TSchema>>
  readonly additionalProperties?: unknown
  readonly default?: unknown
  readonly minLength?: number
  readonly maxLength?: number
  readonly pattern?: string
  readonly minimum?: number
  readonly maximum?: number
  readonly minItems?: number
  readonly maxItems?: number
}

/** The reader of any schema: its own, or one made from its keywords. */
export function compile(schema: TSchema): Read {
  const known = schema as Known
  const own = known[reader]
  if (own !== undefined) return own
  if (known.const !== undefined) return choice([known.const])
  if (known.enum !== undefined) return choice(known.enum)
  if (known.anyOf !== undefined) return anyOf(known.anyOf)
  if (known.type === 'string') return stringReader(known)
  if (known.type === 'integer' || known.type === 'number') return numberReader(known, known.type === 'integer')
  if (known.type === 'boolean') return readBoolean
  if (known.type === 'array') return arrayReader(compile(known.items ?? {}), known.minItems, known.maxItems)
  if (known.type === 'object' && known.properties !== undefined) {
    return objectReader(compileFields(known.properties), known.additionalProperties === true)
  }
  if (known.type === 'object') return readObject
  return value => value
}

/** The fields of an object schema, or of an endpoint's parameters. */
export function compileFields(properties: Readonly<Record<string, TSchema>>): Field[] {
  return Object.entries(properties).map(([key, schema]) => {
    const known = schema as Known
    return {
      key,
      read: compile(schema),
      required: !IsOptional(schema) && known.default === undefined,
      initial: known.default,
      takesEmpty: known[takesEmpty] === true,
    }
  })
}

/** Reads one field out of a raw value into `target`. Absent and not required leaves `target` as it is. */
export function readField(
  field: Field,
  value: unknown,
  path: string,
  target: Record<string, unknown>,
  problems: Problems,
): void {
  if (value === undefined || (value === '' && !field.takesEmpty)) {
    if (field.initial !== undefined) target[field.key] = field.initial
    else if (field.required) problems.add(path, 'is required')
    return
  }
  const result = field.read(value, path, problems)
  if (result !== undefined) target[field.key] = result
}

export interface StringRules {
  readonly minLength?: number | undefined
  readonly maxLength?: number | undefined
  readonly pattern?: string | RegExp | undefined
  /** Must not match. */
  readonly inverted?: RegExp | undefined
  readonly trim?: boolean | undefined
  readonly lower?: boolean | undefined
  readonly label?: string | undefined
}

export function stringReader(rules: StringRules): Read {
  const { minLength = 0, maxLength = Number.POSITIVE_INFINITY, inverted, label, trim, lower } = rules
  const pattern = rules.pattern === undefined ? undefined : new RegExp(rules.pattern)
  return (value, path, problems) => {
    if (typeof value !== 'string') return problems.add(path, 'must be a string', label)
    // Half a surrogate pair is no text: the store, mail and URLs would each make something else of it.
    let text = value.toWellFormed()
    if (trim === true) text = text.trim()
    if (lower === true) text = text.toLowerCase()
    if (text.length < minLength) {
      return problems.add(path, `length must be at least ${minLength} characters long`, label)
    }
    if (text.length > maxLength) {
      return problems.add(path, `length must be less than or equal to ${maxLength} characters long`, label)
    }
    if (pattern !== undefined && !pattern.test(text)) {
      return problems.add(path, `with value ${quoted(text)} fails to match the required pattern: ${pattern}`, label)
    }
    if (inverted?.test(text) === true) {
      return problems.add(path, `with value ${quoted(text)} matches the inverted pattern: ${inverted}`, label)
    }
    return text
  }
}

const numeric = /^[+-]?(\d+(\.\d*)?|\.\d+)(e[+-]?\d{1,3})?$/i

export function numberReader(
  rules: { minimum?: number | undefined; maximum?: number | undefined },
  integer: boolean | 'down',
): Read {
  const { minimum = Number.NEGATIVE_INFINITY, maximum = Number.POSITIVE_INFINITY } = rules
  return (value, path, problems) => {
    const given = typeof value === 'string' && numeric.test(value.trim()) ? Number(value) : value
    if (typeof given !== 'number' || !Number.isFinite(given)) return problems.add(path, 'must be a number')
    const number = integer === 'down' ? Math.floor(given) : given
    if (Math.abs(number) > Number.MAX_SAFE_INTEGER) return problems.add(path, 'must be a safe number')
    if (integer === true && !Number.isInteger(number)) return problems.add(path, 'must be an integer')
    if (number < minimum) return problems.add(path, `must be greater than or equal to ${minimum}`)
    if (number > maximum) return problems.add(path, `must be less than or equal to ${maximum}`)
    return number
  }
}

const booleans = new Map<string, boolean>([
  ...['true', '1', 'yes', 'on', 'y'].map(word => [word, true] as const),
  ...['false', '0', 'no', 'off', 'n'].map(word => [word, false] as const),
])

/** The lenient boolean of api-semantics 1.4, or undefined. */
export function lenientBoolean(value: unknown): boolean | undefined {
  if (typeof value === 'boolean') return value
  if (typeof value === 'string') return value.length <= 5 ? booleans.get(value.toLowerCase()) : undefined
  if (value === 1) return true
  return value === 0 ? false : undefined
}

export const readBoolean: Read = (value, path, problems) =>
  lenientBoolean(value) ?? problems.add(path, 'must be a boolean')

/** One of a few constants; numbers and booleans are taken as text too. */
function choice(options: readonly unknown[]): Read {
  const byText = new Map(options.map(option => [String(option), option]))
  return (value, path, problems) => {
    if (options.includes(value)) return value
    const option = typeof value === 'string' ? byText.get(value) : undefined
    return option ?? problems.add(path, `must be one of [${options.join(', ')}]`)
  }
}

function anyOf(schemas: readonly TSchema[]): Read {
  const reads = schemas.map(compile)
  return (value, path, problems) => {
    for (const read of reads) {
      const trial = new Problems()
      const result = read(value, path, trial)
      if (trial.none) return result
    }
    return problems.add(path, 'does not match any of the allowed types')
  }
}

export function arrayReader(item: Read, minItems = 0, maxItems = Number.POSITIVE_INFINITY): Read {
  return (value, path, problems) => {
    const list = itemsOf(value)
    if (list === null) return problems.add(path, 'must be an array')
    if (list.length < minItems) return problems.add(path, `must contain at least ${minItems} items`)
    if (list.length > maxItems) return problems.add(path, `must contain less than or equal to ${maxItems} items`)
    const result: unknown[] = []
    for (let index = 0; index < list.length; index++) {
      const at = `${path},${index}`
      if (list[index] === undefined || list[index] === null) problems.add(at, 'must not be a sparse array item')
      else result.push(item(list[index], at, problems))
    }
    return result
  }
}

/** The items of a list: an array, its JSON text, one text, or the numbered fields of a form in their order; else null. */
export function itemsOf(value: unknown): readonly unknown[] | null {
  const items = unpack(value)
  if (Array.isArray(items)) return items
  if (typeof items === 'string') return [items]
  // What a program left out of a list leaves a gap in the numbers.
  return isRecord(items) && isOfForm(items) && Object.keys(items).every(isIndex) ? Object.values(items) : null
}

/** Trees of forms and queries alone have no prototype (form.ts). */
function isOfForm(tree: Raw): boolean {
  return Object.getPrototypeOf(tree) === null
}

function isIndex(key: string): boolean {
  return /^(0|[1-9]\d{0,5})$/.test(key)
}

function objectReader(fields: readonly Field[], open: boolean): Read {
  const keys = new Set(fields.map(field => field.key))
  return (value, path, problems) => {
    const raw = unpack(value)
    if (!isRecord(raw)) return problems.add(path, 'must be of type object')
    const result: Record<string, unknown> = {}
    for (const field of fields) readField(field, own(raw, field.key), `${path},${field.key}`, result, problems)
    if (!open) for (const key of Object.keys(raw)) if (!keys.has(key)) problems.add(`${path},${key}`, 'is not allowed')
    return result
  }
}

const readObject: Read = (value, path, problems) => {
  const raw = unpack(value)
  return isRecord(raw) ? raw : problems.add(path, 'must be of type object')
}

/** Objects and arrays may also come as JSON text, in forms and query strings. */
export function unpack(value: unknown): unknown {
  if (typeof value !== 'string' || !/^\s*[{[]/.test(value)) return value
  try {
    return parseJson(value)
  } catch {
    return value
  }
}

export function isRecord(value: unknown): value is Raw {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && !ArrayBuffer.isView(value)
}

/** `raw[key]`, never something inherited. */
export function own(raw: Raw, key: string): unknown {
  return Object.hasOwn(raw, key) ? raw[key] : undefined
}
