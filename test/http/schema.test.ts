// Field types: what clients send and what an endpoint receives, and the words for what is wrong (api-semantics 1.4, 1.5).

import Type, { type TSchema } from 'typebox'
import { describe, expect, test } from 'vitest'
import { compileFields, Problems, readField } from '#http/input/validate.ts'
import { Fault } from '#lib/fault.ts'
import { limits } from '#lib/limits.ts'
import { encodeCursor } from '../../src/http/cursor.ts'
import {
  bool,
  content,
  cursor,
  date,
  email,
  hex,
  id,
  int,
  ipAddress,
  list,
  metaData,
  num,
  object,
  oneOf,
  optional,
  orFalse,
  text,
  url,
  username,
} from '../../src/http/schema.ts'

/** The value of `x` after reading, or the messages by path. */
function read(schema: TSchema, value: unknown): unknown {
  const [field] = compileFields({ x: schema })
  if (field === undefined) throw new Error('no field')
  const target: Record<string, unknown> = {}
  const problems = new Problems()
  readField(field, value, 'x', target, problems)
  try {
    problems.check()
  } catch (error) {
    if (error instanceof Fault) return { problems: error.details }
    throw error
  }
  return target.x
}

const wrong = (message: string, path = 'x') => ({ problems: { [path]: message } })

const digits = '0123456789abcdef01234567'
const day = Date.UTC(2026, 0, 2, 3, 4, 5, 678)

/** As forms and queries come. */
const tree = (fields: object) => Object.assign(Object.create(null), fields)

const good: [string, TSchema, unknown, unknown][] = [
  ...['true', 'TRUE', '1', 'yes', 'On', 'y', 'Y', true, 1].map(
    value => [`true from ${JSON.stringify(value)}`, bool(), value, true] as [string, TSchema, unknown, unknown],
  ),
  ...['false', '0', 'no', 'OFF', 'N', false, 0].map(
    value => [`false from ${JSON.stringify(value)}`, bool(), value, false] as [string, TSchema, unknown, unknown],
  ),
  ['nothing from an empty boolean', optional(bool()), '', undefined],
  ['a default for an empty boolean', bool({ default: true }), '', true],
  ['a default', int({ default: 20 }), undefined, 20],
  ['a number from text', int(), ' 20 ', 20],
  ['a number with a fraction', num(), '-1.5e2', -150],
  ['an id in lower case', id(), digits.toUpperCase(), digits],
  ['a queue id', hex(18, 24), 'a'.repeat(18), 'a'.repeat(18)],
  ['a date from ISO', date(), '2026-01-02T03:04:05.678Z', day],
  ['a date with an offset', date(), '2026-01-02T05:04:05.678+02:00', day],
  ['a date without a time', date(), '2026-01-02', Date.UTC(2026, 0, 2)],
  ['a date from milliseconds', date(), day, day],
  ['a date from milliseconds as text', date(), String(day), day],
  ['a date of a message', date(), 'Fri, 2 Jan 2026 03:04:05 +0000', Date.UTC(2026, 0, 2, 3, 4, 5)],
  ['false instead of a date', orFalse(date()), 'false', false],
  ['a date instead of false', orFalse(date()), '2026-01-02', Date.UTC(2026, 0, 2)],
  ['false instead of a text', orFalse(text()), false, false],
  ['the text false', orFalse(text()), 'false', 'false'],
  ['an empty text that counts', orFalse(text({ empty: true })), '', ''],
  ['one of a list', oneOf(['asc', 'desc']), 'desc', 'desc'],
  ['a list of one', list(text(), { max: 3 }), 'a', ['a']],
  ['a list', list(int(), { max: 3 }), ['1', 2], [1, 2]],
  ['a list with commas', list(text(), { max: 3, commas: true }), 'a, b,,c', ['a', 'b', 'c']],
  ['a list without repeats', list(text(), { max: 4, distinct: String }), ['b', 'a', 'b', 'c'], ['b', 'a', 'c']],
  ['a list of a form with gaps', list(text(), { max: 3 }), tree({ 11: 'c', 2: 'b', 1: 'a' }), ['a', 'b', 'c']],
  ['a list as JSON text', list(text(), { max: 3 }), '["a","b"]', ['a', 'b']],
  ['an object', object({ a: optional(int()) }), { a: '1' }, { a: 1 }],
  ['an object as JSON text', object({ a: int() }), '{"a":1}', { a: 1 }],
  ['an open object drops the rest', object({ a: int() }, { open: true }), { a: 1, b: 2 }, { a: 1 }],
  ['defaults inside', object({ a: int({ default: 4 }) }), {}, { a: 4 }],
  ['metadata', metaData(), { a: { b: [1] } }, { a: { b: [1] } }],
  ['metadata as text', metaData(), '{"a":1}', { a: 1 }],
  ['an address', email(), ' jõgeva+x@öö.example ', 'jõgeva+x@öö.example'],
  ['a username', username(), ' Andris.Two_three=4:5-6@Some.Host ', 'andris.two_three=4:5-6@some.host'],
  ['a username with a host of one label', username(), 'user@localhost', 'user@localhost'],
  ['IPv4', ipAddress(), '1.2.3.4', '1.2.3.4'],
  ['IPv6', ipAddress(), '2001:db8::1', '2001:db8::1'],
  ['a URL', url(['https']), ' https://a.example/b?c ', 'https://a.example/b?c'],
  ['bytes', content(3), Buffer.from('abc'), Buffer.from('abc')],
  ['empty content', content(3), '', ''],
  ['a cursor', cursor('Next page cursor'), encodeCursor(['a', 2], 3), { boundary: ['a', 2], page: 3 }],
  ['text as it is', text(), ' a ', ' a '],
  ['text trimmed and lowered', text({ trim: true, lower: true }), ' AB ', 'ab'],
  ['an empty text is nothing', optional(text()), '', undefined],
  ['an empty text where it counts', text({ empty: true }), '', ''],
  [
    'plain TypeBox',
    Type.Object({ a: Type.Integer(), b: Type.Union([Type.Boolean(), Type.Literal('all')]) }),
    { a: '3', b: 'all' },
    { a: 3, b: 'all' },
  ],
]

const bad: [string, TSchema, unknown, unknown][] = [
  ...['what', '111', '-2', '12345', 'notabool', 2, null, {}].map(
    value =>
      [`no boolean: ${JSON.stringify(value)}`, bool(), value, wrong('"x" must be a boolean')] as [
        string,
        TSchema,
        unknown,
        unknown,
      ],
  ),
  ['missing', text(), undefined, wrong('"x" is required')],
  ['empty', text(), '', wrong('"x" is required')],
  ['no text', text(), 5, wrong('"x" must be a string')],
  ['too short', text({ min: 2 }), 'a', wrong('"x" length must be at least 2 characters long')],
  ['no number', int(), '1a', wrong('"x" must be a number')],
  ['infinity', num(), Number.POSITIVE_INFINITY, wrong('"x" must be a number')],
  ['no integer', int(), '1.5', wrong('"x" must be an integer')],
  ['an unsafe number', int(), '9007199254740993', wrong('"x" must be a safe number')],
  ['below', int({ min: 1 }), '-1', wrong('"x" must be greater than or equal to 1')],
  ['above', int({ max: 250 }), '1000', wrong('"x" must be less than or equal to 250')],
  ['an id that is not hexadecimal', id(), '-'.repeat(24), wrong('"x" must only contain hexadecimal characters')],
  ['an id of another length', id(), '123', wrong('"x" length must be 24 characters long')],
  ['no date', date(), 'foo 1', wrong('"x" must be a valid date')],
  ['a day that is none', date(), '2026-13-45', wrong('"x" must be a valid date')],
  ['a date past all dates', date(), 1e17, wrong('"x" must be a valid date')],
  ['a year of five digits', date(), Date.UTC(10_000, 0), wrong('"x" must be a valid date')],
  ['a year before year 0', date(), '-000001-01-01', wrong('"x" must be a valid date')],
  ['none of a list', oneOf(['asc', 'desc']), 'up', wrong('"x" must be one of [asc, desc]')],
  [
    'a label instead of the path',
    ipAddress({ label: 'Client IP' }),
    '1.2.3.0/24',
    wrong('"Client IP" must be a valid ip address of one of the following versions [ipv4, ipv6]'),
  ],
  [
    'an octal address',
    ipAddress(),
    '010.1.1.1',
    wrong('"x" must be a valid ip address of one of the following versions [ipv4, ipv6]'),
  ],
  ['too many items', list(text(), { max: 1 }), ['a', 'b'], wrong('"x" must contain less than or equal to 1 items')],
  ['a bad item', list(int(), { max: 3 }), ['1', 'b'], wrong('"x[1]" must be a number', 'x,1')],
  ['an object for a list', list(text(), { max: 3 }), { 1: 'a' }, wrong('"x" must be an array')],
  ['names for a list', list(text(), { max: 3 }), tree({ 1: 'a', b: 'b' }), wrong('"x" must be an array')],
  ['a hole in a list', list(int(), { max: 3 }), [null], wrong('"x[0]" must not be a sparse array item', 'x,0')],
  ['no object', object({ a: int() }), 'a', wrong('"x" must be of type object')],
  ['a list is no object', metaData(), [1], wrong('"x" must be of type object or the JSON text of one')],
  [
    'metadata that is too long',
    metaData(),
    { a: 'x'.repeat(limits.name.metaDataBytesMax) },
    wrong(`"x" must be less than or equal to ${limits.name.metaDataBytesMax} bytes as JSON`),
  ],
  [
    'everything inside',
    object({ a: int(), b: object({ c: list(int(), { max: 2 }) }) }),
    { b: { c: ['q'], d: 1 }, e: 1 },
    {
      problems: {
        'x,a': '"x.a" is required',
        'x,b,c,0': '"x.b.c[0]" must be a number',
        'x,b,d': '"x.b.d" is not allowed',
        'x,e': '"x.e" is not allowed',
      },
    },
  ],
  ...['a', 'a@b', '@b.c', 'a b@c.d', 'a..b@c.d', `${'a'.repeat(65)}@c.d`, 'a@-c.d', 'a@c..d', 'a@b.c\r\nx'].map(
    value =>
      [`no address: ${JSON.stringify(value)}`, email(), value, wrong('"x" must be a valid email')] as [
        string,
        TSchema,
        unknown,
        unknown,
      ],
  ),
  [
    'a scheme that is not allowed',
    url(['https']),
    'javascript:alert(1)',
    wrong('"x" must be a valid uri with a scheme matching the https pattern'),
  ],
  [
    'no URL',
    url(['http', 'https']),
    'http://',
    wrong('"x" must be a valid uri with a scheme matching the http|https pattern'),
  ],
  ['content over its size', content(2), 'öö', wrong('"x" must be less than or equal to 2 bytes')],
  [
    'no alternative',
    Type.Union([Type.Integer(), Type.Literal('all')]),
    'some',
    wrong('"x" does not match any of the allowed types'),
  ],
  [
    'the wording that clients compare',
    text({ inverted: /\/{2,}|\/$/ }),
    'somepath/abc/',
    wrong('"x" with value "somepath/abc/" matches the inverted pattern: /\\/{2,}|\\/$/'),
  ],
]

test.each(good)('%s', (_name, schema, value, expected) => {
  expect(read(schema, value)).toEqual(expected)
})

test.each(bad)('%s', (_name, schema, value, expected) => {
  expect(read(schema, value)).toEqual(expected)
})

describe('usernames', () => {
  test.each(['ömyuser2', 'a..b', 'a+b', '.a', 'a.', 'a@b@c', 'a b', 'x'.repeat(129)])('%s is none', name => {
    expect(read(username(), name)).toHaveProperty('problems')
  })

  test('a long hostile one is refused at once', () => {
    expect(read(username(), `${'a'.repeat(127)}!`)).toHaveProperty('problems')
  })
})

test('cursors of other making', () => {
  const text64 = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url')
  for (const value of [
    '',
    'a b',
    'AAAA',
    text64(null),
    text64([1, 2, 3]),
    text64(['a', 2]),
    text64([['a', {}], 2]),
    text64([['a'], 'x']),
  ]) {
    expect(read(cursor('Next page cursor'), value === '' ? ' ' : value), value).toHaveProperty('problems')
  }
  expect(read(cursor('Next page cursor'), 'A'.repeat(limits.http.cursorLengthMax + 4))).toHaveProperty('problems')
})

test('the number of problems named is bounded', () => {
  const many = Object.fromEntries(Array.from({ length: 1000 }, (_, index) => [`k${index}`, 1]))
  const { problems } = read(object({}), many) as { problems: Record<string, string> }
  expect(Object.keys(problems)).toHaveLength(limits.http.problemsMax)
})
