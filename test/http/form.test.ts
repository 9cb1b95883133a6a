// Query strings, urlencoded and multipart bodies: what nests, what makes lists, what is refused.

import { expect, test } from 'vitest'
import { parseJsonBody, parseMultipart, parseQuery, parseUrlencoded } from '#http/input/form.ts'
import { limits } from '#lib/limits.ts'

const plain = (tree: unknown) => JSON.parse(JSON.stringify(tree)) as unknown

test.each([
  ['', {}],
  ['a=1', { a: '1' }],
  ['a', { a: '' }],
  ['a=1&a=2', { a: ['1', '2'] }],
  ['a[]=1', { a: ['1'] }],
  ['a[]=1&a[]=2', { a: ['1', '2'] }],
  ['a[0]=x&a[1]=y', { a: ['x', 'y'] }],
  ['a.b=1&a.c=2', { a: { b: '1', c: '2' } }],
  ['a[b]=1&a[c][d]=2', { a: { b: '1', c: { d: '2' } } }],
  ['to[0][name]=x&to[1][name]=y', { to: [{ name: 'x' }, { name: 'y' }] }],
  ['a+b=c%20d%2Be', { 'a b': 'c d+e' }],
  ['a%5Bb%5D=1', { a: { b: '1' } }],
  ['a[b=1', { 'a[b': '1' }],
  ['a=1=2&&b=', { a: '1=2', b: '' }],
  ['page=100?order=desc', { page: '100?order=desc' }],
])('%s', (query, expected) => {
  expect(plain(parseQuery(query))).toEqual(expected)
})

test('a dot in an urlencoded body is a dot', () => {
  expect(plain(parseUrlencoded(Buffer.from('a.b=1&c[d]=2')))).toEqual({ 'a.b': '1', c: { d: '2' } })
})

test.each([
  'a=1&a[b]=2',
  'a[b]=2&a=1',
  'a[__proto__][b]=1',
  'a.__proto__=1',
  'a=%zz',
  'a=%ff',
  `${'a'}${'[b]'.repeat(limits.http.nestingMax)}=1`,
])('%s is refused', query => {
  expect(() => parseQuery(query)).toThrow(expect.objectContaining({ code: 'InvalidContent' }))
})

test('nothing reaches a prototype', () => {
  const tree = parseQuery('__proto__[polluted]=1&constructor[prototype][polluted]=1')
  expect(Object.getPrototypeOf(tree)).toBe(null)
  expect(Object.keys(tree)).toEqual(['__proto__', 'constructor'])
  expect(({} as Record<string, unknown>).polluted).toBeUndefined()
})

test.each([
  '{"__proto__":1}',
  '{"a":[{"__proto__":{"b":1}}]}',
  '[]',
  'null',
  '"a"',
  '{',
  '{"a":1}x',
  '['.repeat(100_000),
  `{"a":${'['.repeat(limits.http.nestingMax)}${']'.repeat(limits.http.nestingMax)}}`,
  `{"a":[${'0,'.repeat(limits.http.valuesMax)}0]}`,
])('JSON %.40s is refused', body => {
  expect(() => parseJsonBody(Buffer.from(body))).toThrow(expect.objectContaining({ code: 'InvalidContent' }))
})

test('JSON with a byte order mark and one that is blank', () => {
  expect(parseJsonBody(Buffer.from('\ufeff{"a":1}'))).toEqual({ a: 1 })
  expect(parseJsonBody(Buffer.from(' \n'))).toEqual({})
})

const multipart = (...parts: string[]) =>
  Buffer.from(`${parts.map(part => `--b\r\n${part}\r\n`).join('')}--b--\r\n`, 'latin1')
const type = 'multipart/form-data; charset=utf-8; boundary="b"'

test('multipart fields, lists and files', () => {
  const body = multipart(
    'Content-Disposition: form-data; name="a"\r\n\r\none\r\ntwo',
    'content-disposition: form-data; name=a\r\n\r\nthree',
    'Content-Disposition: form-data; name="q[from]"\r\nContent-Type: text/plain; charset=utf-8\r\n\r\n',
    'Content-Disposition: form-data; name="f"; filename="x.bin"\r\nContent-Type: image/png\r\n\r\n\xff\x00--b',
    'Content-Disposition: form-data; name="say %22hi%22"\r\n\r\nx',
  )
  const { f, ...rest } = parseMultipart(body, type)
  expect(rest).toEqual({ a: ['one\r\ntwo', 'three'], q: { from: '' }, 'say "hi"': 'x' })
  expect(f).toEqual(Buffer.from([0xff, 0x00, 0x2d, 0x2d, 0x62]))
})

test('multipart with a preamble, and without any part', () => {
  const body = Buffer.concat([
    Buffer.from('preamble\r\n'),
    multipart('Content-Disposition: form-data; name="a"\r\n\r\n1'),
  ])
  expect(parseMultipart(body, type)).toEqual({ a: '1' })
  expect(parseMultipart(Buffer.from('--b--'), type)).toEqual({})
})

test.each([
  ['no boundary', multipart(), 'multipart/form-data'],
  ['no end', Buffer.from('--b\r\nContent-Disposition: form-data; name="a"\r\n\r\n1'), type],
  ['nothing', Buffer.from(''), type],
  ['no name', multipart('Content-Disposition: form-data\r\n\r\n1'), type],
  ['no header', multipart('\r\n1'), type],
  ['text that is not UTF-8', multipart('Content-Disposition: form-data; name="a"\r\n\r\n\xff'), type],
])('multipart with %s is refused', (_name, body, contentType) => {
  expect(() => parseMultipart(body, contentType)).toThrow(expect.objectContaining({ code: 'InvalidContent' }))
})
