// The field types of this API: TypeBox schemas that also know how to read what clients really send.
//
// One schema gives the TypeScript type of the value an endpoint receives, the reader that converts and checks it
// (validate.ts) and the text in /openapi.json. An empty string means "not given" unless a field says `empty: true`.
// Dates arrive as ISO text or epoch milliseconds and become milliseconds; ids become lower case. Plain TypeBox schemas
// may be mixed in anywhere and are read with the same conversions.

import ipaddr from 'ipaddr.js'
import Type, { type Static, type TSchema, type TUnsafe } from 'typebox'
import { limits } from '#lib/limits.ts'
import { isAddress, usernamePattern } from '#mail/address/address.ts'
import { type Cursor, cursorLost, decodeCursor } from './cursor.ts'
import {
  arrayReader,
  compile,
  isRecord,
  lenientBoolean,
  numberReader,
  quoted,
  type Read,
  readBoolean,
  reader,
  stringReader,
  takesEmpty,
  unpack,
} from './input/validate.ts'

export const optional = Type.Optional

/** What every kind takes: texts for the documentation and a value for when none is given. */
export interface About<T> {
  readonly description?: string
  readonly examples?: readonly unknown[]
  readonly default?: T
  /** Name in messages instead of the field's path. */
  readonly label?: string
}

/** A schema with a reader of its own. `json` is what the documentation shows. */
export function field<T>(json: Record<string, unknown>, read: Read, about: About<T> = {}, empty = false): TUnsafe<T> {
  const { label: _label, ...shown } = about
  return Type.Unsafe<T>({ ...json, ...shown, [reader]: read, [takesEmpty]: empty })
}

export interface TextRules extends About<string> {
  readonly min?: number
  readonly max?: number
  readonly pattern?: RegExp
  /** Must not match. */
  readonly inverted?: RegExp
  readonly trim?: boolean
  readonly lower?: boolean
  /** An empty string is a value here. */
  readonly empty?: boolean
}

/** Text of `min` to `max` UTF-16 units. */
export function text(rules: TextRules = {}): TUnsafe<string> {
  const { min, max, pattern, inverted, trim, lower, empty, ...about } = rules
  const json = {
    type: 'string',
    ...(min !== undefined && { minLength: min }),
    ...(max !== undefined && { maxLength: max }),
    ...(pattern !== undefined && { pattern: pattern.source }),
    ...(inverted !== undefined && { not: { pattern: inverted.source } }),
  }
  const read = stringReader({ minLength: min, maxLength: max, pattern, inverted, trim, lower, label: about.label })
  return field(json, read, about, empty)
}

/** Hexadecimal digits, lower-cased. */
export function hex(min: number, max: number, about: About<string> = {}): TUnsafe<string> {
  const read: Read = (value, path, problems) => {
    if (typeof value !== 'string') return problems.add(path, 'must be a string', about.label)
    if (!/^[0-9a-f]*$/i.test(value)) {
      return problems.add(path, 'must only contain hexadecimal characters', about.label)
    }
    if (value.length >= min && value.length <= max) return value.toLowerCase()
    if (min === max) return problems.add(path, `length must be ${min} characters long`, about.label)
    return problems.add(path, `length must be between ${min} and ${max} characters long`, about.label)
  }
  return field({ type: 'string', pattern: `^[0-9a-fA-F]{${min === max ? min : `${min},${max}`}}$` }, read, about)
}

/** An id of ours: 24 hexadecimal digits. */
export function id(about: About<string> = {}): TUnsafe<string> {
  return hex(24, 24, about)
}

/** `:user` in paths; `me` has been replaced by the caller's id before this is read. */
export const userId = id({ description: 'Id of the user, or `me` with the token of a user' })
export const mailboxId = id({ description: 'Id of the mailbox' })
/** A message's number in its mailbox (the UID of IMAP). */
export const messageId = int({ min: 1, max: 0xffffffff, description: 'Number of the message in its mailbox' })
export const queueId = hex(18, 24, { description: 'Id of a message in the outbound queue' })

export interface NumberRules extends About<number> {
  readonly min?: number
  readonly max?: number
}

export function int(rules: NumberRules = {}): TUnsafe<number> {
  return numberField(rules, true)
}

export function num(rules: NumberRules = {}): TUnsafe<number> {
  return numberField(rules, false)
}

/** A limit, a quota or a size: what is behind the point is left out, since programs compute such numbers. */
export function amount(rules: NumberRules = {}): TUnsafe<number> {
  return numberField(rules, 'down')
}

function numberField({ min, max, ...about }: NumberRules, integer: boolean | 'down'): TUnsafe<number> {
  const json = {
    type: integer === true ? 'integer' : 'number',
    ...(min !== undefined && { minimum: min }),
    ...(max !== undefined && { maximum: max }),
  }
  return field(json, numberReader({ minimum: min, maximum: max }, integer), about)
}

/** true,1,yes,on,y or false,0,no,off,n in any case (api-semantics 1.4). */
export function bool(about: About<boolean> = {}): TUnsafe<boolean> {
  return field({ type: 'boolean' }, readBoolean, about)
}

const isoDate = /^[+-]?\d{4,6}-\d\d(-\d\d)?([T ]\d\d:\d\d(:\d\d([.,]\d+)?)?)?\s*(Z|[+-]\d\d:?\d\d)?$/i
const mailDate = /^([a-z]{3},\s*)?\d{1,2}[\s-][a-z]{3}[\s-]\d{4}(\s+\d\d:\d\d(:\d\d)?)?(\s+([+-]\d{4}|[a-z]{1,5}))?$/i

/** A moment as ISO 8601, RFC 5322 or epoch milliseconds; milliseconds since 1970 inside. */
export function date(about: About<number> = {}): TUnsafe<number> {
  const read: Read = (value, path, problems) => {
    const ms = dateMs(value)
    return ms >= limits.date.msMin && ms <= limits.date.msMax
      ? ms
      : problems.add(path, 'must be a valid date', about.label)
  }
  return field({ type: 'string', format: 'date-time' }, read, about)
}

function dateMs(value: unknown): number {
  if (typeof value === 'number') return Math.trunc(value)
  if (typeof value !== 'string' || value.length > 64) return Number.NaN
  const trimmed = value.trim()
  if (/^[+-]?\d+(\.\d+)?$/.test(trimmed)) return Math.trunc(Number(trimmed))
  return isoDate.test(trimmed) || mailDate.test(trimmed) ? Date.parse(trimmed) : Number.NaN
}

/** The same, or `false` for none. Text fields take only a real `false`, others its words as well. */
export function orFalse<S extends TSchema>(
  schema: S,
  about: About<Static<S> | false> = {},
): TUnsafe<Static<S> | false> {
  const read = compile(schema)
  const empty = (schema as { [takesEmpty]?: boolean })[takesEmpty] === true
  const isText = (schema as { type?: unknown; format?: unknown }).type === 'string' && !('format' in schema)
  const either: Read = (value, path, problems) => {
    if (value === false) return false
    if (!isText && typeof value === 'string' && lenientBoolean(value) === false) return false
    return read(value, path, problems)
  }
  return field({ anyOf: [schema, { const: false }] }, either, about, empty)
}

/** One of a few words. */
export function oneOf<const Option extends string>(
  options: readonly Option[],
  about: About<Option> = {},
): TUnsafe<Option> {
  const read: Read = (value, path, problems) =>
    options.includes(value as Option) ? value : problems.add(path, `must be one of [${options.join(', ')}]`)
  return field({ type: 'string', enum: options }, read, about)
}

export interface ListRules<T> extends About<T[]> {
  readonly min?: number
  readonly max: number
  /** Text is a list with commas in it. */
  readonly commas?: boolean
  /** Of items that are the same by this, the first counts. */
  readonly distinct?: (item: T) => unknown
}

/** An array; a single value is an array of one, a repeated parameter or `name[]` gives more. */
export function list<S extends TSchema>(item: S, rules: ListRules<Static<S>>): TUnsafe<Static<S>[]> {
  const { min, max, commas, distinct, ...about } = rules
  const readArray = arrayReader(compile(item), min, max)
  const read: Read = (value, path, problems) => {
    const parts = commas === true && typeof value === 'string' && !value.startsWith('[') ? splitList(value) : value
    const items = readArray(parts, path, problems)
    return distinct !== undefined && Array.isArray(items) ? firstOfEach(items, distinct) : items
  }
  const json = { type: 'array', items: item, maxItems: max, ...(min !== undefined && { minItems: min }) }
  return field(json, read, about)
}

/** Items that were refused are undefined, and of no matter. */
function firstOfEach(items: readonly unknown[], distinct: (item: never) => unknown): unknown[] {
  const first = new Map<unknown, unknown>()
  for (const item of items) {
    const key = item === undefined ? undefined : distinct(item as never)
    if (!first.has(key)) first.set(key, item)
  }
  return [...first.values()]
}

function splitList(value: string): string[] {
  return value
    .split(',')
    .map(part => part.trim())
    .filter(part => part !== '')
}

/** An object of named fields; further keys are refused unless `open`. */
export function object<P extends Record<string, TSchema>>(properties: P, options: { open?: boolean } = {}) {
  return Type.Object(properties, { additionalProperties: options.open === true })
}

/** Free data of the API's user: an object, or the JSON text of one, up to 1 MiB as text. */
export function metaData(about: About<Record<string, unknown>> = {}): TUnsafe<Record<string, unknown>> {
  const read: Read = (value, path, problems) => {
    const raw = unpack(value)
    if (!isRecord(raw)) return problems.add(path, 'must be of type object or the JSON text of one')
    const size = Buffer.byteLength(typeof value === 'string' ? value : JSON.stringify(raw))
    const max = limits.name.metaDataBytesMax
    return size <= max ? { ...raw } : problems.add(path, `must be less than or equal to ${max} bytes as JSON`)
  }
  return field({ type: 'object', additionalProperties: true }, read, about)
}

/** An e-mail address: unicode allowed, at least two labels in its domain (api-semantics 1.4). */
export function email(about: About<string> = {}): TUnsafe<string> {
  const read: Read = (value, path, problems) =>
    typeof value === 'string' && isAddress(value.trim())
      ? value.trim()
      : problems.add(path, typeof value === 'string' ? 'must be a valid email' : 'must be a string', about.label)
  return field({ type: 'string', format: 'idn-email' }, read, about)
}

/** A username, lower-cased (api-semantics 1.4). */
export function username(about: About<string> = {}): TUnsafe<string> {
  return text({
    min: 1,
    max: limits.name.usernameLengthMax,
    pattern: usernamePattern,
    trim: true,
    lower: true,
    ...about,
  })
}

/** An IPv4 or IPv6 address without a mask. */
export function ipAddress(about: About<string> = {}): TUnsafe<string> {
  const read: Read = (value, path, problems) =>
    typeof value === 'string' && isIp(value)
      ? value
      : problems.add(path, 'must be a valid ip address of one of the following versions [ipv4, ipv6]', about.label)
  // The type stands in each form: makers of clients know what a text of some format is, and not what a format alone is.
  const forms = ['ipv4', 'ipv6'].map(format => ({ type: 'string', format }))
  return field({ anyOf: forms }, read, about)
}

function isIp(value: string): boolean {
  if (value.length > 45) return false
  return ipaddr.IPv4.isValidFourPartDecimal(value) || (ipaddr.IPv6.isValid(value) && !value.includes('%'))
}

const urlLengthMax = 2048

/** An absolute URL with one of `schemes` (without the colon). */
export function url(schemes: readonly string[], about: About<string> = {}): TUnsafe<string> {
  const read: Read = (value, path, problems) => {
    if (typeof value !== 'string') return problems.add(path, 'must be a string', about.label)
    const trimmed = value.trim()
    const scheme = trimmed.length <= urlLengthMax && isUri(trimmed) ? new URL(trimmed) : null
    if (scheme === null || scheme.hostname === '' || !schemes.includes(scheme.protocol.slice(0, -1))) {
      return problems.add(path, `must be a valid uri with a scheme matching the ${schemes.join('|')} pattern`)
    }
    return trimmed
  }
  return field(
    { type: 'string', format: 'uri', pattern: `^(${schemes.join('|')}):`, maxLength: urlLengthMax },
    read,
    about,
  )
}

/** Whether `text` is an absolute URI: what the parser would drop from within one (line ends, tabs) is no part of it. */
export function isUri(text: string): boolean {
  return !/[\x00-\x20\x7f]/.test(text) && URL.canParse(text)
}

/** A URI of any scheme, as it is written; `fits` says whether it is one. */
export function uri(about: About<string> = {}, fits: (given: string) => boolean = isUri): TUnsafe<string> {
  const readText = compile(text({ min: 1, max: urlLengthMax, ...about }))
  const read: Read = (value, path, problems) => {
    const given = readText(value, path, problems)
    return typeof given !== 'string' || fits(given) ? given : problems.add(path, 'must be a valid uri', about.label)
  }
  return field({ type: 'string', format: 'uri', minLength: 1, maxLength: urlLengthMax }, read, about)
}

/** Bytes of a file part, or text, up to `max` bytes as sent. */
export function content(max: number, about: About<string> = {}): TUnsafe<Buffer | string> {
  const read: Read = (value, path, problems) => {
    if (typeof value !== 'string' && !Buffer.isBuffer(value)) return problems.add(path, 'must be a string or a file')
    const size = typeof value === 'string' ? Buffer.byteLength(value) : value.length
    return size <= max ? value : problems.add(path, `must be less than or equal to ${max} bytes`)
  }
  return field<Buffer | string>({ type: 'string', maxLength: max }, read, about as About<Buffer | string>, true)
}

/** A place in a list, as `nextCursor` and `previousCursor` of an earlier answer gave it. */
export function cursor(title: string): TUnsafe<Cursor> {
  const read: Read = (value, path, problems) => {
    if (typeof value !== 'string') return problems.add(path, 'must be a string', title)
    return (
      decodeCursor(value) ?? problems.add(path, `with value ${quoted(value)} is not a cursor. ${cursorLost}`, title)
    )
  }
  const json = { type: 'string', pattern: '^[A-Za-z0-9_-]+$', maxLength: limits.http.cursorLengthMax }
  return field<Cursor>({ ...json, description: title }, read)
}

/** Programs count pages and tell it; where a cursor is, it leads. */
export const pageNumber = optional(num({ description: 'Taken and not looked at: cursors lead' }))

/** The same for lists of messages, where a client's page may have something glued to it (wire-details 1). */
export const anyPage = optional(
  field<number | string>(
    { type: ['number', 'string'], description: 'Taken and not looked at: cursors lead' },
    () => undefined,
    {},
    true,
  ),
)

/** Parameters of a paged list; hand them to `paged` of cursor.ts. */
export const paging = {
  limit: amount({ min: 1, max: limits.http.pageSizeMax, default: limits.http.pageSize, description: 'Rows of a page' }),
  next: optional(cursor('Next page cursor')),
  previous: optional(cursor('Previous page cursor')),
} as const

/** Who is behind the call, as the API's user knows it; every endpoint takes these two. */
export const origin = {
  sess: optional(
    text({ max: limits.name.sessionLengthMax, label: 'Session identifier', description: 'Session, for the logs' }),
  ),
  ip: optional(ipAddress({ label: 'Client IP', description: 'Address of the client, for the logs and rate limits' })),
} as const

/** Fields of a paged answer beside `results`. */
export const pageReply = {
  total: Type.Integer({ description: 'Rows in the whole list' }),
  page: Type.Integer({ description: 'Number of this page, from 1' }),
  previousCursor: Type.Union([Type.String(), Type.Literal(false)]),
  nextCursor: Type.Union([Type.String(), Type.Literal(false)]),
} as const

/** A moment in an answer: ISO 8601 with milliseconds. */
export const moment = Type.String({ format: 'date-time' })
