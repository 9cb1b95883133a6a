// Where an account is signed in: tokens and connections, and ending one or all others.

import { expect, test } from 'vitest'
import { Client } from '../../../imap/client.ts'
import { useTeal } from '../../../running.ts'
import { scenarios } from '../../scenario.ts'
import { account } from '../mail-world.ts'

const service = useTeal()
const target = () => ({ url: service.teal.url, token: service.teal.rootToken })

test('are listed newest first, say which is the own one, and tell no token', async () => {
  const user = await account(service, 'here')
  const first = await user.token()
  const second = await user.token()
  const { status, body } = await user.call('GET', '/sessions', undefined, second)
  expect(status).toBe(200)
  expect(body).toMatchObject({ success: true, total: 2, connections: 0, nextCursor: false })
  expect(body.results.map((one: { current: boolean }) => one.current).sort()).toEqual([false, true])
  expect(JSON.stringify(body)).not.toContain(second.slice(0, 12))
  const page = (await user.call('GET', '/sessions?limit=1', undefined, first)).body
  expect(page.results).toHaveLength(1)
  const rest = (await user.call('GET', `/sessions?limit=1&next=${page.nextCursor}`, undefined, first)).body
  expect([page.results[0].id, rest.results[0].id].sort()).toEqual(
    body.results.map((one: { id: string }) => one.id).sort(),
  )
})

test('one is ended at once, and the log says so', async () => {
  const user = await account(service, 'ending')
  const own = await user.token()
  const other = await user.token()
  const { results } = (await user.call('GET', '/sessions', undefined, own)).body
  const { id } = results.find((one: { current: boolean }) => !one.current)
  expect((await user.call('DELETE', `/sessions/${id}`, undefined, own)).body).toEqual({ success: true })
  expect((await user.call('GET', '/mailboxes', undefined, other)).status).toBe(403)
  expect((await user.call('GET', '/mailboxes', undefined, own)).status).toBe(200)
  expect((await user.call('DELETE', `/sessions/${id}`, undefined, own)).body.code).toBe('SessionNotFound')
  const log = (await user.call('GET', '/authlog?action=session%20ended')).body
  expect(log.results).toMatchObject([
    { action: 'session ended', result: 'success', by: { role: 'user', user: user.id } },
  ])
})

test('all others are ended, mail programs too, and the own one stays', async () => {
  const user = await account(service, 'alone')
  const own = await user.token()
  const others = [await user.token(), await user.token()]
  const imap = await Client.login(service.at('imap'), 'alone')
  expect((await user.call('GET', '/sessions', undefined, own)).body).toMatchObject({ total: 3, connections: 1 })
  expect((await user.call('DELETE', '/sessions', undefined, own)).body).toEqual({ success: true, ended: 2 })
  expect(await imap.line()).toBe('* BYE Ended by the owner of the account')
  for (const other of others) expect((await user.call('GET', '/mailboxes', undefined, other)).status).toBe(403)
  expect((await user.call('GET', '/sessions', undefined, own)).body).toMatchObject({ total: 1, connections: 0 })
  const again = await Client.login(service.at('imap'), 'alone')
  expect((await user.call('DELETE', '/sessions')).body).toEqual({ success: true, ended: 1 })
  expect(await again.line()).toBe('* BYE Ended by an operator')
})

test('of before a change of the password are none', async () => {
  const user = await account(service, 'changed')
  await user.token()
  expect((await user.call('GET', '/sessions')).body.total).toBe(1)
  await user.call('PUT', '', { password: 'quite another one' })
  expect((await user.call('GET', '/sessions')).body.total).toBe(0)
})

test('are nobody else’s', async () => {
  const user = await account(service, 'one')
  const other = await account(service, 'two')
  const token = await other.token()
  await user.token()
  const { id } = (await user.call('GET', '/sessions')).body.results[0]
  for (const [method, path] of [
    ['GET', ''],
    ['DELETE', ''],
    ['DELETE', `/${id}`],
  ] as const) {
    expect((await user.call(method, `/sessions${path}`, undefined, token)).status).toBe(403)
  }
  expect((await other.call('DELETE', `/sessions/${id}`, undefined, token)).body.code).toBe('SessionNotFound')
})

scenarios(target, [
  { name: 'of nobody', url: '/users/0123456789abcdef01234567/sessions', status: 404, has: ['UserNotFound'] },
  {
    name: 'a cursor of another list',
    url: async () =>
      `/users/${await service.user('cursor')}/sessions?next=${Buffer.from('[[1],1]').toString('base64url')}`,
    status: 400,
    has: ['cursor'],
  },
])
