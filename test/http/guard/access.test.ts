// The table of roles: who may do what, and what they may send and see (api-semantics 1.3).

import { expect, test } from 'vitest'
import {
  type Allow,
  type Caller,
  decide,
  filterInput,
  filterOutput,
  isRole,
  type Role,
  roles,
} from '#http/guard/access.ts'
import { alice, bob } from '../front.ts'

const user: Caller = { role: 'user', user: alice, tokenKind: 'user' }
const as = (role: Role): Caller => ({ role, user: null, tokenKind: 'provisioned' })

test.each<[Role, Allow, boolean]>([
  ['root', 'messages.delete', true],
  ['root', 'audit.read', false],
  ['root', 'export.create', false],
  ['root', 'import.create', false],
  ['root', 'asps.update', false],
  ['manager', 'users.delete', true],
  ['manager', 'messages.read', false],
  ['manager', 'settings.read', false],
  ['webmail', 'users.update', true],
  ['webmail', 'users.create', false],
  ['auth', 'authentication.create', true],
  ['auth', 'authentication.read', false],
  ['tokenAuth', 'authentication.create', true],
  ['attachments', 'attachments.read', true],
  ['downloader', 'messages.read', true],
  ['downloader', 'attachments.read', false],
  ['audit', 'audit.update', true],
  ['audit', 'users.read', true],
  ['auditclient', 'audit.read', true],
  ['auditclient', 'audit.create', false],
  ['export', 'export.create', true],
  ['export', 'import.create', true],
  ['settings', 'settings.update', true],
])('%s and %s: %s', (role, allow, expected) => {
  expect(decide(as(role), allow, bob, false) !== null).toBe(expected)
})

test('a user has rights to own things only', () => {
  expect(decide(user, 'messages.delete', alice, false)?.scope).toBe('own')
  expect(decide(user, 'messages.delete', bob, false)).toBe(null)
  expect(decide(user, 'authentication.create', null, false)).toBe(null)
  expect(decide(user, 'userlisting.read', null, true)?.scope).toBe('own')
  expect(decide(user, 'users.delete', alice, false)).toBe(null)
  expect(decide(user, 'webhooks.create', null, true)).toBe(null)
})

test('the role of users without a user grants nothing', () => {
  for (const owner of [null, alice]) expect(decide(as('user'), 'users.read', owner, true)).toBe(null)
})

test('what a user sends and sees', () => {
  const update = decide(user, 'users.update', alice, false)
  const read = decide(user, 'users.read', alice, false)
  if (update === null || read === null) throw new Error('no grant')
  const input = { user: alice, name: 'A', quota: 5, sess: 's', internalData: {}, suspended: true }
  filterInput(update, input, new Set(['user', 'sess', 'ip']))
  expect(input).toEqual({ user: alice, name: 'A', sess: 's' })
  const shown = filterOutput(read, { id: alice, tags: [], results: [{ id: 1, internalData: {} }, 5] })
  expect(shown).toEqual({ id: alice, results: [{ id: 1 }, 5] })
})

test('names of roles', () => {
  expect(roles.every(isRole)).toBe(true)
  expect(['toString', '__proto__', 'nobody', ''].some(isRole)).toBe(false)
})
