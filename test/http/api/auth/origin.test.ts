// From where a call comes: users are where their connection is, whatever they state; who speaks for others is believed.

import { describe, expect, test } from 'vitest'
import { useTeal } from '../../../running.ts'

const service = useTeal()
const { call } = service

let number = 0
async function fresh() {
  const name = `origin${++number}`
  const id = await service.user(name)
  const password = `secret of ${name}`
  const { token } = (await call('POST', '/authenticate', { username: name, password, token: true })).body
  return { name, id, password, token: token as string }
}
const log = async (id: string) => (await call('GET', `/users/${id}/authlog`)).body.results
const stated = { ip: '192.0.2.1', sess: 'forged' }

describe('the token of a user', () => {
  test.each([
    ['PUT', '', { existingPassword: true, password: 'quite another one' }, 'password change'],
    ['POST', '/asps', { description: 'x' }, 'create asp'],
    ['PUT', '/2fa/custom', {}, 'enable 2fa custom'],
    ['POST', '/filters', { name: 'x', query: { from: 'x' }, action: { seen: true } }, 'filter added'],
  ])('%s …%s is logged where it comes from', async (method, path, body, action) => {
    const user = await fresh()
    const form = 'existingPassword' in body ? { ...body, existingPassword: user.password } : body
    expect((await call(method, `/users/me${path}`, { ...form, ...stated }, user.token)).status).toBe(200)
    const entry = (await log(user.id)).find((one: { action: string }) => one.action === action)
    expect(entry).toMatchObject({ ip: '127.0.0.1', sess: expect.stringMatching(/^[0-9a-f]{24}$/) })
  })

  test('has its wrong passwords counted where it comes from, in the query as in the body', async () => {
    const user = await fresh()
    const login = (password: string, ip: string) => call('POST', '/authenticate', { username: user.name, password, ip })
    for (const ip of ['192.0.2.1', '127.0.0.1']) expect((await login(user.password, ip)).status).toBe(200)
    const guess = () =>
      call('PUT', '/users/me?ip=192.0.2.1&sess=x', { name: 'x', existingPassword: 'wrong' }, user.token)
    for (let at = 0; at < 12; at++) expect((await guess()).body.code).toBe('AuthFail')
    expect((await guess()).body.code).toBe('RateLimitedError')
    expect((await login(user.password, '127.0.0.1')).body.code).toBe('RateLimitedError')
    expect((await login(user.password, '192.0.2.1')).status).toBe(200)
  })

  test('may state both where nothing is logged, without being refused', async () => {
    const user = await fresh()
    expect((await call('GET', '/users/me?ip=192.0.2.1&sess=x', undefined, user.token)).status).toBe(200)
  })
})

test('whoever speaks for others is believed', async () => {
  const user = await fresh()
  const { token } = await service.teal.core.access.provision('web mail', 'webmail')
  const body = { description: 'x', ...stated }
  expect((await call('POST', `/users/${user.id}/asps`, body, token)).status).toBe(200)
  const entry = (await log(user.id)).find((one: { action: string }) => one.action === 'create asp')
  expect(entry).toMatchObject(stated)
})
