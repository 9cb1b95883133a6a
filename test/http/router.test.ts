// Which template answers a path.

import { expect, test } from 'vitest'
import { limits } from '#lib/limits.ts'
import { Router } from '../../src/http/router.ts'

const router = new Router<string>()
for (const path of [
  '/',
  '/users',
  '/users/:user',
  '/users/resolve/:username',
  '/users/:user/mailboxes',
  '/users/:user/mailboxes/:mailbox',
]) {
  router.add('GET', path, path)
}
router.add('POST', '/users', 'create')

test.each([
  ['/', '/', []],
  ['/users', '/users', []],
  ['/users/1', '/users/:user', ['1']],
  ['/users/resolve', '/users/:user', ['resolve']],
  ['/users/resolve/a', '/users/resolve/:username', ['a']],
  ['/users/resolve/mailboxes', '/users/resolve/:username', ['mailboxes']],
  ['/users/resolve/mailboxes/b', '/users/:user/mailboxes/:mailbox', ['resolve', 'b']],
  ['/users/a%2Fb%20%C3%B6', '/users/:user', ['a/b ö']],
  [
    `/users/${'ö'.repeat(limits.http.pathParameterLengthMax)}`,
    '/users/:user',
    ['ö'.repeat(limits.http.pathParameterLengthMax)],
  ],
])('%s', (path, template, values) => {
  const found = router.find(path)
  expect(found?.route.path).toBe(template)
  expect(found?.values).toEqual(values)
})

test.each([
  '',
  '/users/',
  '//users',
  '/Users',
  '/users//mailboxes',
  '/users/1/other',
  '/users/%',
  '/users/%c3%28',
  `/users/${'a'.repeat(limits.http.pathParameterLengthMax + 1)}`,
  '/a'.repeat(limits.http.segmentsMax + 1),
])('%.60s is unknown', path => {
  expect(router.find(path)).toBe(null)
})

test('a domain is found by its whole name', () => {
  const domains = new Router<number>()
  domains.add('GET', '/domains/:domain/dns', 1)
  expect(domains.find(`/domains/${'d'.repeat(253)}/dns`)?.values).toEqual(['d'.repeat(253)])
  expect(domains.find(`/domains/${'d'.repeat(254)}/dns`)).toBe(null)
})

test('methods of a path', () => {
  expect(router.find('/users')?.route.allow).toBe('GET, POST')
})

test('what cannot be told apart is refused at start', () => {
  expect(() => router.add('GET', '/users/:id', 'x')).toThrow('twice')
  expect(() => router.add('GET', '/users/:user', 'x')).toThrow('twice')
})
