// Values on their way to PostgreSQL and back. Numbers are bigint there and stay exact to 2^53; bytes are bytea.
//
// PostgreSQL's text holds no NUL, ours may: a NUL is U+0001 twice, and a U+0001 is followed by U+0002. Order and beginnings
// stay what they are byte by byte. The same is done to how JSON writes both, since no JSON with a NUL can be looked into; nor
// can one with half a pair of surrogates, which stands behind U+0001 and U+0003 without its backslash.

const escaped = /[\0\x01]|\\u(?:000[01]|d[89a-f])/
// A backslash behind another one begins nothing.
const escapes = /[\0\x01]|(?<=(?<!\\)(?:\\\\)*)\\u(?:000[01]|d[89a-f][\da-f]{2})/g
const marks =
  /\x01(?:[\x01\x02]|\x03d[89a-f][\da-f]{2})|(?<=(?<!\\)(?:\\\\)*)\\u0001\\u000(?:[12]|3d[89a-f][\da-f]{2})/g

/** A text as it is stored. */
function storedText(text: string): string {
  if (!escaped.test(text)) return text
  return text.replace(escapes, found => {
    if (found.startsWith('\\ud')) return `\\u0001\\u0003${found.slice(2)}`
    if (found.length > 1) return found === '\\u0000' ? '\\u0001\\u0001' : '\\u0001\\u0002'
    return found === '\0' ? '\x01\x01' : '\x01\x02'
  })
}

/** The text that was stored. */
function textOf(stored: string): string {
  if (!stored.includes('\x01') && !stored.includes('\\u0001')) return stored
  return stored.replace(marks, found => {
    const half = /(?:\x03|0003)(d...)$/.exec(found)?.[1]
    if (half !== undefined)
      return found.startsWith('\\') ? `\\u${half}` : String.fromCharCode(Number.parseInt(half, 16))
    if (found.length > 2) return found.endsWith('1') ? '\\u0000' : '\\u0001'
    return found === '\x01\x01' ? '\0' : '\x01'
  })
}

/** A list that is bound as JSON text, as an array of the engine. */
export function arrayOf(list: string): string {
  const values = JSON.parse(list) as readonly (number | string)[]
  return `{${values.map(value => (typeof value === 'number' ? value : quoted(value))).join(',')}}`
}

function quoted(value: string): string {
  return `"${storedText(value).replace(/["\\]/g, '\\$&')}"`
}

/** What a parameter is given as; the type is said in the text, so that nothing is guessed from what it is compared with. */
export function bound(value: unknown): { type: string; form: string | Buffer | null } {
  if (value === null || value === undefined) return { type: '', form: null }
  if (typeof value === 'string') return { type: '::text', form: storedText(value) }
  if (typeof value === 'number') return boundNumber(value)
  if (value instanceof Uint8Array) {
    return { type: '::bytea', form: Buffer.from(value.buffer, value.byteOffset, value.byteLength) }
  }
  throw new TypeError(`a ${typeof value} cannot be bound`)
}

function boundNumber(value: number): { type: string; form: string } {
  if (Number.isSafeInteger(value)) return { type: '::bigint', form: String(value) }
  // What has no end is above or below everything.
  if (Math.abs(value) >= 2 ** 63)
    return { type: '::bigint', form: value > 0 ? '9223372036854775807' : '-9223372036854775808' }
  return Number.isInteger(value)
    ? { type: '::bigint', form: BigInt(value).toString() }
    : { type: '::float8', form: String(value) }
}

const ofTypes = new Map<number, (stored: string) => unknown>([
  ...[20, 21, 23, 700, 701, 1700].map(number => [number, Number] as const),
  ...[18, 19, 25, 1042, 1043].map(words => [words, textOf] as const),
  [16, stored => (stored === 't' ? 1 : 0)],
  [17, stored => Buffer.from(stored.slice(2), 'hex')],
])

/** How the driver reads values: by the number of their type, as text. */
export const typeParsers = { getTypeParser: (type: number) => ofTypes.get(type) ?? textOf }
