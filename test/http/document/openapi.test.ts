// The document of the whole API, as programs that make clients of it read it.

import { beforeAll, expect, test } from 'vitest'
import { useTeal } from '../../running.ts'

interface Operation {
  readonly operationId: string
  readonly parameters: readonly { in: string; name: string; required?: boolean }[]
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
