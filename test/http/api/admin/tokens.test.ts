// Tokens and roles over HTTP: nobody hands out more than the own role may, and who acts as a user is seen and bounded.

import { expect, test } from 'vitest'
import type { Role } from '#http/guard/access.ts'
import { now, shiftClock } from '#lib/clock.ts'
import { useTeal } from '../../../running.ts'
import { scenarios } from '../../scenario.ts'

const service = useTeal()
const { call } = service
const target = () => ({ url: service.teal.url, token: service.teal.rootToken })

const made = new Map<Role, string>()
async function tokenOf(role: Role): Promise<string> {
  const token = made.get(role) ?? (await service.teal.core.access.provision(`of ${role}`, role)).token
  made.set(role, token)
  return token
}

const handed: Readonly<Record<string, readonly string[]>> = {
  root: ['root', 'manager', 'webmail', 'domain', 'auth', 'tokenAuth', 'attachments', 'downloader', 'settings'],
  manager: ['manager', 'domain', 'auth', 'tokenAuth'],
}
const all = [...(handed.root ?? []), 'user', 'impersonated', 'audit', 'auditclient', 'export']

for (const giver of ['root', 'manager'] as const) {
  test.each(all)(`${giver} asks for a token of role %s`, async role => {
    const token = await tokenOf(giver)
    const bound = role === 'domain' && { domains: ['example.com'] }
    const { status, body } = await call('POST', '/tokens', { role, label: 'made here', ...bound }, token)
    const may = handed[giver]?.includes(role) === true
    expect([status, body.code]).toEqual(may ? [200, undefined] : [403, 'MissingPrivileges'])
    if (!may) return
    expect(body.token).toMatch(/^[0-9a-f]{40}$/)
    const { results, roles } = (await call('GET', '/tokens', undefined, token)).body
    expect(roles).toEqual(handed[giver])
    const entry = results.find((one: { id: string }) => one.id === body.id)
    expect(entry).toEqual({ id: body.id, role, label: 'made here', ...bound, created: expect.any(String), own: false })
    expect(JSON.stringify(results)).not.toContain(body.token)
    expect((await call('DELETE', `/tokens/${body.id}`, undefined, token)).status).toBe(200)
    expect((await call('GET', '/authenticated', undefined, body.token)).status).toBe(403)
    expect((await call('DELETE', `/tokens/${body.id}`, undefined, token)).body.code).toBe('TokenNotFound')
  })
}

test('a manager neither sees nor ends what may do more', async () => {
  const manager = await tokenOf('manager')
  const root = (await call('GET', '/tokens')).body.results.find((one: { own: boolean }) => one.own)
  expect(root.role).toBe('root')
  const seen = (await call('GET', '/tokens', undefined, manager)).body.results
  expect(new Set(seen.map(({ role }: { role: string }) => role))).toEqual(new Set(['manager']))
  expect((await call('DELETE', `/tokens/${root.id}`, undefined, manager)).body.code).toBe('TokenNotFound')
  expect((await call('GET', '/authenticated')).status).toBe(200)
})

for (const role of ['webmail', 'settings', 'auth', 'audit'] as const) {
  test(`${role} has nothing to do with tokens`, async () => {
    const token = await tokenOf(role)
    expect((await call('GET', '/tokens', undefined, token)).status).toBe(403)
    expect((await call('POST', '/tokens', { role }, token)).status).toBe(403)
  })
}

scenarios(target, [
  {
    name: 'the queue is a manager’s',
    url: '/outbound/messages',
    token: () => made.get('manager') ?? '',
    status: 200,
  },
  { name: 'settings are not', url: '/settings', token: () => made.get('manager') ?? '', status: 403 },
  { name: 'a role that is none', method: 'POST', url: '/tokens', body: { role: 'emperor' }, status: 400 },
])

test('an operator acts as a user for a while, and it stands in the logs', async () => {
  const id = await service.user('looked-after')
  const other = await service.user('neighbour')
  const { status, body } = await call('POST', `/users/${id}/impersonate`, { reason: 'ticket 12', ip: '192.0.2.7' })
  expect(status).toBe(200)
  expect(body).toMatchObject({ success: true, id, username: 'looked-after', token: expect.any(String) })
  expect(Date.parse(body.expires) - now()).toBeLessThanOrEqual(3_600_000)
  const as = (method: string, path: string, given?: unknown) => call(method, path, given, body.token)
  expect((await as('GET', '/users/me')).body.username).toBe('looked-after')
  expect((await as('GET', '/users/me/mailboxes')).status).toBe(200)
  expect((await as('PUT', '/users/me', { name: 'Mended' })).status).toBe(200)
  const refused: [string, string, object?][] = [
    ['PUT', '/users/me', { password: 'another one', existingPassword: 'secret of looked-after' }],
    ['PUT', '/users/me', { disable2fa: true }],
    ['POST', '/users/me/2fa/totp/setup', { existingPassword: 'secret of looked-after' }],
    ['DELETE', '/users/me/2fa'],
    ['PUT', '/users/me/2fa/custom'],
    ['DELETE', `/users/me/2fa/webauthn/credentials/${'0'.repeat(24)}`],
    ['POST', '/users/me/asps', { description: 'mine', scopes: '*' }],
    ['POST', '/users/me/password/reset'],
    ['GET', `/users/${other}`],
    ['POST', `/users/${other}/impersonate`],
    ['GET', '/tokens'],
  ]
  for (const [method, path, given] of refused) {
    const answer = await as(method, path, given)
    expect([method, path, answer.body.code]).toEqual([method, path, 'MissingPrivileges'])
  }
  const log = (await call('GET', `/users/${id}/authlog?action=impersonate`)).body.results
  expect(log).toMatchObject([{ action: 'impersonate', result: 'success', ip: '192.0.2.7', protocol: 'API' }])
  expect(log[0].target).toMatch(/^root [0-9a-f]{24} \(first root token\) ticket 12$/)
  shiftClock(3_601_000)
  try {
    expect((await as('GET', '/users/me')).body.code).toBe('InvalidToken')
  } finally {
    shiftClock(0)
  }
})

test('the one who acts as a user may end it; a closed account is nobody’s to act as', async () => {
  const id = await service.user('briefly')
  const { token } = (await call('POST', `/users/${id}/impersonate`)).body
  expect((await call('DELETE', '/authenticate', undefined, token)).status).toBe(200)
  expect((await call('GET', '/users/me', undefined, token)).status).toBe(403)
  const again = (await call('POST', `/users/${id}/impersonate`)).body.token
  await call('PUT', `/users/${id}`, { suspended: true })
  expect((await call('GET', '/users/me', undefined, again)).status).toBe(403)
  expect((await call('POST', `/users/${id}/impersonate`)).body.code).toBe('UserDisabled')
  expect((await call('POST', `/users/${'0'.repeat(24)}/impersonate`)).body.code).toBe('UserNotFound')
  expect((await call('POST', `/users/${id}/impersonate`, {}, await tokenOf('manager'))).status).toBe(403)
})

test('audits are listed a page at a time, of one account where it is named', async () => {
  const token = await tokenOf('audit')
  const users = [await service.user('case-a'), await service.user('case-b')]
  const expires = new Date(now() + 3_600_000).toISOString()
  const ids: string[] = []
  for (const user of [users[0], users[1], users[0]]) {
    ids.push((await call('POST', '/audit', { user, expires, notes: 'why' }, token)).body.id)
  }
  const first = (await call('GET', '/audit?limit=2', undefined, token)).body
  expect(first).toMatchObject({ total: 3, page: 1 })
  const second = (await call('GET', `/audit?limit=2&next=${first.nextCursor}`, undefined, token)).body
  const listed = [...first.results, ...second.results]
  expect(listed.map(({ id }: { id: string }) => id)).toEqual(ids.toReversed())
  expect(listed[0]).toMatchObject({ user: users[0], notes: 'why', deleted: false })
  const own = (await call('GET', `/audit?user=${users[1]}`, undefined, token)).body.results
  expect(own.map(({ id }: { id: string }) => id)).toEqual([ids[1]])
  expect((await call('GET', '/audit')).status).toBe(403)
})
