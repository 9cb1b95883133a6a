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
  ['audit', 'userlisting.read', true],
  ['auditclient', 'userlisting.read', false],
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

test('who looks after domains has rights to what belongs to them, where an endpoint sees to that', () => {
  const keeper = { ...user, domains: ['example.com'] }
  const carl = '5f0000000000000000000009'
  expect(decide(keeper, 'users.delete', bob, false, true)?.scope).toBe('domain')
  expect(decide(keeper, 'users.delete', carl, false, false)).toBe(null)
  expect(decide(keeper, 'users.delete', bob, false)).toBe(null)
  expect(decide(keeper, 'users.create', null, false, false)?.scope).toBe('domain')
  expect(decide(keeper, 'users.create', null, false)).toBe(null)
  expect(decide(keeper, 'userlisting.read', null, true, false)?.scope).toBe('domain')
  expect(decide(keeper, 'webhooks.read', null, true)?.scope).toBe('own')
  for (const allow of ['messages.read', 'mailboxes.read', 'filters.create', 'asps.create', 'storage.read'] as const)
    expect(decide(keeper, allow, bob, true, true)).toBe(null)
  // To the own account like anybody.
  expect(decide(keeper, 'users.update', alice, false, true)?.scope).toBe('own')
  expect(decide(keeper, 'users.delete', alice, false, true)).toBe(null)
  expect(decide({ ...keeper, domains: [] }, 'users.delete', bob, false, true)).toBe(null)
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
