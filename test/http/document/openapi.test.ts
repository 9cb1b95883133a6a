// The document of the whole API, as programs that make clients of it read it.

import { beforeAll, expect, test } from 'vitest'
import { useTeal } from '../../running.ts'

interface Operation {
  readonly operationId: string
  readonly parameters: readonly { in: string; name: string; required?: boolean; schema: object }[]
  readonly responses: Readonly<Record<string, { content?: Record<string, { schema: object }> }>>
}

const service = useTeal()
let document: {
  readonly info: { readonly license: object }
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>
}

beforeAll(async () => {
  document = (await service.call('GET', '/openapi.json')).body
})

test('no operation has the name of another, also where paths differ in case alone', () => {
  const names = Object.values(document.paths).flatMap(methods => Object.values(methods).map(one => one.operationId))
  expect(names.length).toBeGreaterThan(200)
  expect(names.filter((name, index) => names.indexOf(name) !== index)).toEqual([])
})

test('no path is another one with other names in it (OpenAPI 4.8.8.1)', () => {
  const shapes = Object.keys(document.paths).map(path => path.replace(/\{\w+\}/g, '{}'))
  expect(shapes.filter((shape, index) => shapes.indexOf(shape) !== index)).toEqual([])
  expect(Object.keys(document.paths['/users/{user}/addresses/{address}'] ?? {}).sort()).toEqual([
    'delete',
    'get',
    'put',
  ])
})

test('every name in a path is a parameter of its operations, and no other', () => {
  for (const [path, methods] of Object.entries(document.paths)) {
    const wanted = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name)
    for (const { parameters } of Object.values(methods)) {
      const shown = parameters.filter(one => one.in === 'path')
      expect([path, shown.map(one => one.name)]).toEqual([path, wanted])
      expect(shown.every(one => one.required === true)).toBe(true)
    }
  }
})

test('the licence is named as validators want it', () => {
  expect(document.info.license).toEqual({ name: 'MIT', identifier: 'MIT' })
})

test('every answer that there is has its status, its codes and its type', () => {
  const answers = (path: string, method: string) => document.paths[path]?.[method]?.responses ?? {}
  // Whoever needs no token may be refused as a page of somebody else, or for a token that the call itself brings.
  expect(Object.keys(answers('/session', 'delete'))).toContain('403')
  expect(JSON.stringify(answers('/session/totp', 'post')[403])).toMatch(/"ForeignPage".*"InvalidToken"/)
  expect(Object.keys(answers('/openapi.json', 'get'))).not.toContain('403')
  // A part of the path that is too long.
  expect(JSON.stringify(answers('/users/{user}', 'get')[404])).toContain('"ResourceNotFound"')
  expect(Object.keys(answers('/users', 'get'))).not.toContain('404')
  const file = answers('/users/{user}/storage/{file}', 'get')
  expect(Object.keys(file)).toEqual(expect.arrayContaining(['200', '206', '304', '416']))
  const bytes = { '*/*': { schema: { type: 'string', format: 'binary' } } }
  expect([file[200]?.content, file[206]?.content, file[304]?.content]).toEqual([bytes, bytes, undefined])
  const attachment = '/users/{user}/mailboxes/{mailbox}/messages/{message}/attachments/{attachment}'
  expect(answers(attachment, 'get')[200]?.content).toEqual(bytes)
  expect(answers('/openapi.json', 'get')[200]?.content).toEqual({ 'application/json': { schema: { type: 'object' } } })
})

test('an address of IP is a text in each of its forms, for makers of clients', () => {
  const ip = document.paths['/users']?.get?.parameters.find(one => one.name === 'ip')
  expect(ip?.schema).toEqual({
    anyOf: [
      { type: 'string', format: 'ipv4' },
      { type: 'string', format: 'ipv6' },
    ],
  })
})
