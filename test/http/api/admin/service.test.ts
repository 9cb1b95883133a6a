// What an operator sees of the service itself: its log, what is in force and where it came from, its backups.

import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { sleep } from '#lib/clock.ts'
import { type Body, useTeal } from '../../../running.ts'
import { scenarios } from '../../scenario.ts'

const root = mkdtempSync(join(tmpdir(), 'teal-service-'))
const folder = join(root, 'points')
const service = useTeal({
  log: { level: 'info', file: join(root, 'teal.log'), format: 'json' },
  backup: { folder },
  auth: { totpSecret: 'a secret that is nowhere seen' },
  outbound: { relay: 'smtp://relay:hidden-word@192.0.2.1' },
})
const { call, raw } = service
const target = () => ({ url: service.teal.url, token: service.teal.rootToken })

afterAll(() => rmSync(root, { recursive: true, force: true }))

test('the last lines are found by level, event, user and text, page by page', async () => {
  await service.user('logged')
  for (let n = 0; n < 3; n++) {
    await call('POST', '/authenticate', { username: 'logged', password: `wrong ${n}`, ip: '192.0.2.9' })
  }
  service.teal.core.log.warn({ password: 'oh-so-secret', user: 'nobody' }, 'a look at "quotes"')
  const failed = (await call('GET', '/log?event=login-failed')).body
  expect(failed).toMatchObject({ success: true, more: false })
  expect(failed.results).toHaveLength(3)
  expect(failed.results[0]).toMatchObject({ level: 'info', event: 'login-failed', fields: { ip: '192.0.2.9' } })
  expect(failed.results[0].number).toBeGreaterThan(failed.results[1].number)
  const page = (await call('GET', '/log?event=login-failed&limit=2')).body
  expect([page.results.length, page.more]).toEqual([2, true])
  const rest = (await call('GET', `/log?event=login-failed&limit=2&before=${page.results[1].number}`)).body
  expect([rest.results.length, rest.more]).toEqual([1, false])
  const warned = (await call('GET', '/log?level=warn&text=A LOOK')).body.results
  expect(warned).toMatchObject([{ level: 'warn', msg: 'a look at "quotes"', fields: { password: '[masked]' } }])
  expect((await call('GET', '/log?user=nobody')).body.results).toHaveLength(1)
  expect((await call('GET', '/log?user=nobod')).body.results).toHaveLength(0)
  const all = JSON.stringify((await call('GET', '/log?limit=500')).body)
  for (const secret of ['oh-so-secret', 'wrong 1', service.teal.rootToken]) expect(all).not.toContain(secret)
})

test('calls that changed something, and exports, are lines that say who, what and about whom, and no value', async () => {
  const { body: made } = await call('POST', '/tokens', { role: 'manager', label: 'desk' })
  const id = await service.user('told')
  const form = { domain: 'told.example', selector: 's1' }
  const { body: key } = await call('POST', '/dkim', form, made.token)
  await call('PUT', `/users/${id}`, { mtaRelay: 'smtp://u:unseen-word@relay.example.net', ip: '192.0.2.8' }, made.token)
  await call('DELETE', `/dkim/${key.id}`, undefined, made.token)
  expect((await call('DELETE', `/dkim/${key.id}`, undefined, made.token)).status).toBe(404)
  const { token, id: exporter } = await service.teal.core.access.provision('', 'export', null)
  const headers = { 'x-access-token': token, 'content-type': 'application/json' }
  await (await raw('POST', '/data/export', { headers, body: JSON.stringify({ users: [id] }) })).arrayBuffer()
  for (const kind of ['mbox', 'zip']) await (await raw('GET', `/users/${id}/export.${kind}`)).arrayBuffer()
  await call('GET', `/users/${id}`)
  const { results } = (await call('GET', '/log?event=audit&limit=8')).body
  const by = `manager ${made.id} (desk)`
  const root = expect.stringMatching(/^root [0-9a-f]{24} \(/)
  expect(results.map((line: { fields: object }) => line.fields).reverse()).toEqual([
    expect.objectContaining({ by: root, action: 'POST /tokens', role: 'manager', id: made.id, ip: '127.0.0.1' }),
    expect.objectContaining({
      by: root,
      action: 'POST /users',
      username: 'told',
      id,
      fields: ['username', 'password', 'address'],
    }),
    { ip: '127.0.0.1', by, action: 'POST /dkim', ...form, id: key.id, fields: ['domain', 'selector'] },
    { ip: '127.0.0.1', by, for: '192.0.2.8', action: 'PUT /users/:user', user: id, fields: ['mtaRelay'] },
    { ip: '127.0.0.1', by, action: 'DELETE /dkim/:dkim', dkim: key.id },
    { ip: '127.0.0.1', by: `export ${exporter}`, action: 'POST /data/export', fields: ['users'] },
    { ip: '127.0.0.1', by: root, action: 'GET /users/:user/export.mbox', user: id },
    { ip: '127.0.0.1', by: root, action: 'GET /users/:user/export.zip', user: id },
  ])
  expect((await call('GET', '/log?text=unseen-word')).body.results).toHaveLength(0)
  const exported = (await call('GET', `/users/${id}/authlog?action=export`)).body.results
  expect(exported).toMatchObject([{ by: { role: 'root', ip: '127.0.0.1' } }])
})

test('new lines come as they are written', async () => {
  const abort = new AbortController()
  const answer = await raw('GET', '/log/live?text=come+along', { signal: abort.signal })
  expect(answer.headers.get('content-type')).toBe('text/event-stream')
  const reader = answer.body?.pipeThrough(new TextDecoderStream()).getReader()
  let seen = ''
  service.teal.core.log.info('stay behind')
  service.teal.core.log.info({ n: 7 }, 'come along')
  while (!seen.includes('come along')) {
    const { value = '', done } = (await reader?.read()) ?? { done: true }
    expect(done).toBe(false)
    seen += value
  }
  expect(seen).toMatch(/"n": 7/)
  expect(seen).not.toContain('stay behind')
  abort.abort()
})

test('so many read along and no more; who left makes room', async () => {
  const aborts = Array.from({ length: 10 }, () => new AbortController())
  for (const { signal } of aborts) expect((await raw('GET', '/log/live', { signal })).status).toBe(200)
  expect((await call('GET', '/log/live')).body.code).toBe('TooManySessions')
  for (const abort of aborts) abort.abort()
  for (let tries = 0; ; tries++) {
    const abort = new AbortController()
    const { status } = await raw('GET', '/log/live', { signal: abort.signal })
    abort.abort()
    if (status === 200) break
    expect(tries).toBeLessThan(200)
    await sleep(20)
  }
})

test('each value in force is told with where it came from, and no secret', async () => {
  const { results } = (await call('GET', '/configuration')).body
  const of = (key: string): Body => results.find((one: Body) => one.key === key)
  expect(of('backup.folder')).toMatchObject({ value: `'${folder}'`, source: 'flag', changeable: false })
  expect(of('mail.maxSize')).toMatchObject({ source: 'default', value: of('mail.maxSize').default })
  expect(of('const:max:filters')).toMatchObject({ source: 'default', value: '400', changeable: true })
  await call('POST', '/settings/const:max:filters', { value: 12 })
  const changed = (await call('GET', '/configuration?filter=MAX:FILTERS')).body.results
  expect(changed).toMatchObject([{ key: 'const:max:filters', source: 'database', value: '12', default: '400' }])
  expect(JSON.stringify(results)).not.toMatch(/a secret that is nowhere seen|hidden-word/)
  expect(of('outbound.relay').value).toContain('[masked]')
})

test('a backup is taken when somebody asks for one', async () => {
  const listed = async () => (await call('GET', '/backups')).body
  const settled = async (count: number) => {
    for (let tries = 0; tries < 600; tries++) {
      const found = await listed()
      expect(found.failed).toBeUndefined()
      if (found.results.length >= count && !found.running) return found
      await sleep(25)
    }
    throw new Error('no backup came')
  }
  const first = await settled(1)
  expect(first).toMatchObject({ enabled: true, every: expect.any(Number), keep: expect.any(Number) })
  await sleep(1100)
  expect((await call('POST', '/backups')).status).toBe(200)
  const { results } = await settled(2)
  expect(results[0].created > results[1].created).toBe(true)
  expect(readdirSync(folder).filter(name => /^\d/.test(name))).toHaveLength(2)
})

scenarios(target, [
  { name: 'a level that is none', url: '/log?level=loud', status: 400, json: { code: 'InputValidationError' } },
  { name: 'too many lines at once', url: '/log?limit=100000', status: 400 },
  {
    name: 'certificates say how fetching goes only where they are fetched here',
    url: '/certs',
    status: 200,
    lacks: [/fetching/],
  },
])

test.each([
  ['manager', '/log', 403],
  ['manager', '/log/live', 403],
  ['manager', '/backups', 403],
  ['manager', '/configuration', 403],
  ['settings', '/configuration', 200],
  ['settings', '/log', 403],
  ['webmail', '/log', 403],
])('%s asks for %s', async (role, path, status) => {
  const { token } = await service.teal.core.access.provision(role, role)
  expect((await call('GET', path, undefined, token)).status).toBe(status)
})
