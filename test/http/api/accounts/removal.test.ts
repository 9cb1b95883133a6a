import { expect, test } from 'vitest'
import { removeStep } from '#actors/user/removal.ts'
import { taskDelay } from '#store/accounts/task.ts'
import { useTeal } from '../../../running.ts'
import { eventually, send } from '../mail.ts'

// Without deliveries, events gather where they can be looked at.
const running = useTeal({ webhooks: { enabled: false } })
const { call, user } = running

const soon = () => new Date(Date.now() + 3_600_000).toISOString()

async function task(id: string): Promise<{ state: string; result: Record<string, unknown> }> {
  const row = await running.teal.core.read.one<{ state: string; result: string }>('SELECT * FROM task WHERE id = ?', id)
  return { state: row?.state ?? 'gone', result: JSON.parse(row?.result ?? '{}') }
}

async function events(name: string, id: string): Promise<Record<string, unknown>[]> {
  const { read } = running.teal.core
  const text = 'SELECT body FROM event WHERE name = ? AND user = ? ORDER BY num'
  return (await read.all<{ body: string }>(text, name, id)).map(row => JSON.parse(row.body))
}

/** An account with something of every kind. */
async function furnished(name: string): Promise<string> {
  const id = await user(name, { tags: ['Kept'] })
  await call('POST', `/users/${id}/addresses`, { address: `${name}.two@example.com` })
  await call('POST', `/users/${id}/mailboxes`, { path: 'Own' })
  for (let n = 0; n < 3; n++) {
    await send(running, `${name}@example.com`, `From: a@example.org\nSubject: ${n}\n\ntext ${n}\n`)
  }
  await call('POST', `/users/${id}/storage`, { content: 'a file' })
  await call('POST', '/webhooks', { type: ['*'], user: id, url: 'https://hook.example.net/x' })
  await running.teal.core.access.issue(id, 1)
  return id
}

test('a deleted user frees name and addresses at once and can come back', async () => {
  const id = await furnished('back')
  const after = soon()
  const { status, body } = await call('DELETE', `/users/${id}?deleteAfter=${after}`)
  const deleted = { user: id, addresses: { deleted: 2 }, deleteAfter: after, task: expect.any(String) }
  expect([status, body]).toEqual([200, { success: true, code: 'TaskScheduled', ...deleted }])
  expect(await events('user.delete.started', id)).toEqual([{ user: id, result: deleted }])
  for (const path of [`/users/${id}`, `/users/${id}/addresses`, `/users/${id}/mailboxes`, `/users/${id}/storage`]) {
    expect((await call('GET', path)).body.code).toBe('UserNotFound')
  }
  expect((await call('GET', '/users/resolve/back')).status).toBe(404)
  const info = await call('GET', `/users/${id}/restore`)
  expect(info.body).toEqual({
    success: true,
    user: id,
    username: 'back',
    storageUsed: expect.any(Number),
    tags: ['Kept'],
    deleted: expect.stringMatching(/Z$/),
    recoverableAddresses: ['back@example.com', 'back.two@example.com'],
  })
  expect(info.body.storageUsed).toBeGreaterThan(100)

  const restored = await call('POST', `/users/${id}/restore`, {})
  const result = { user: id, task: body.task, addresses: { recovered: 2, main: 'back@example.com' } }
  expect(restored.body).toEqual({ success: true, code: 'TaskCancelled', ...result })
  expect(await events('user.delete.cancelled', id)).toEqual([{ user: id, result }])
  expect((await task(body.task)).state).toBe('gone')
  const shown = (await call('GET', `/users/${id}`)).body
  expect(shown).toMatchObject({ username: 'back', address: 'back@example.com' })
  expect(shown.limits.quota.used).toBe(info.body.storageUsed)
  expect((await call('GET', `/users/${id}/storage`)).body.total).toBe(1)
  expect((await call('POST', `/users/${id}/restore`, {})).body.code).toBe('AccountFound')
  const log = (await call('GET', `/users/${id}/authlog`)).body.results
  expect(log.map((one: { action: string }) => one.action).slice(0, 2)).toEqual(['restore user', 'delete user'])
})

test('tokens of before are over, also where the account comes back', async () => {
  const id = await user('again')
  const login = { username: 'again', password: 'secret of again', token: true }
  const { token } = (await call('POST', '/authenticate', login)).body
  expect((await call('GET', '/users/me', undefined, token)).body.id).toBe(id)
  await call('DELETE', `/users/${id}?deleteAfter=${soon()}`)
  expect((await call('GET', '/users/me', undefined, token)).body.code).toBe('InvalidToken')
  expect((await call('POST', `/users/${id}/restore`, {})).status).toBe(200)
  expect((await call('GET', '/users/me', undefined, token)).body.code).toBe('InvalidToken')
  expect((await call('POST', '/authenticate', login)).status).toBe(200)
})

test('a date of a year that clients cannot read is refused before anything happens', async () => {
  const id = await user('eternal')
  for (const date of ['+275760-09-13T00:00:00.000Z', '8640000000000000', '253402300800000']) {
    const { status, body } = await call('DELETE', `/users/${id}?deleteAfter=${encodeURIComponent(date)}`)
    expect([status, Object.keys(body.details)]).toEqual([400, ['deleteAfter']])
  }
  expect((await call('GET', `/users/${id}`)).status).toBe(200)
  const last = '9999-12-31T23:59:59.999Z'
  expect((await call('DELETE', `/users/${id}?deleteAfter=${last}`)).body.deleteAfter).toBe(last)
})

test('what others took meanwhile does not come back', async () => {
  const id = await furnished('partly')
  await call('DELETE', `/users/${id}?deleteAfter=${soon()}`)
  await user('taker', { address: 'partly@example.com' })
  expect((await call('GET', `/users/${id}/restore`)).body.recoverableAddresses).toEqual(['partly.two@example.com'])
  const { body } = await call('POST', `/users/${id}/restore`, {})
  expect(body.addresses).toEqual({ recovered: 1, main: 'partly.two@example.com' })

  await call('DELETE', `/users/${id}?deleteAfter=${soon()}`)
  await user('par.tly', { address: 'third@example.com' })
  const refused = await call('POST', `/users/${id}/restore`, {})
  expect([refused.status, refused.body.code]).toEqual([400, 'UserExistsError'])
})

test('without a date everything goes in the background, counted by kind', async () => {
  const id = await furnished('gone')
  const { body } = await call('DELETE', `/users/${id}`)
  await user('gone')
  await eventually(
    () => task(body.task),
    found => found.state === 'done',
  )
  const counts = {
    mailboxes: { deleted: 6 },
    messages: { deleted: 3 },
    files: { deleted: 1 },
    webhooks: { deleted: 1 },
    tokens: { deleted: 1 },
    asps: { deleted: 0 },
    filters: { deleted: 0 },
    autoreplies: { deleted: 0 },
    addressregister: { deleted: expect.any(Number) },
  }
  expect((await task(body.task)).result).toEqual(counts)
  expect(await events('user.delete.completed', id)).toEqual([
    { user: id, result: { user: id, task: body.task, ...counts } },
  ])
  const { read } = running.teal.core
  expect(await read.one('SELECT 1 FROM user WHERE id = ?', id)).toBeUndefined()
  expect((await call('GET', `/users/${id}/restore`)).body.code).toBe('AccountNotFound')
  expect((await call('POST', `/users/${id}/restore`, {})).body.code).toBe('AccountNotFound')
  expect((await call('DELETE', `/users/${id}`)).body.code).toBe('UserNotFound')
  expect((await call('GET', `/webhooks?user=${id}`)).body.total).toBe(0)
})

test('deleting again moves the date', async () => {
  const id = await furnished('moved')
  const first = (await call('DELETE', `/users/${id}?deleteAfter=${soon()}`)).body
  const later = new Date(Date.now() + 7_200_000).toISOString()
  const second = (await call('DELETE', `/users/${id}?deleteAfter=${later}`)).body
  expect(second).toMatchObject({ task: first.task, deleteAfter: later, addresses: { deleted: 0 } })
  const third = (await call('DELETE', `/users/${id}?deleteAfter=false`)).body
  expect(third.task).toBe(first.task)
  await eventually(
    () => task(first.task),
    found => found.state === 'done',
  )
  expect(await events('user.delete.completed', id)).toHaveLength(1)
})

test('a name or an id that is nobody is told so', async () => {
  for (const [method, path, code] of [
    ['DELETE', '/users/5f0000000000000000000000', 'UserNotFound'],
    ['GET', '/users/5f0000000000000000000000/restore', 'AccountNotFound'],
    ['POST', '/users/5f0000000000000000000000/restore', 'AccountNotFound'],
  ] as const) {
    const { status, body } = await call(method, path, method === 'POST' ? {} : undefined)
    expect([status, body.code]).toEqual([404, code])
  }
  expect((await call('DELETE', '/users/me')).status).toBe(400)
})

test('once its data are going, an account does not come back', async () => {
  const id = await furnished('going')
  const { task: name } = (await call('DELETE', `/users/${id}?deleteAfter=${soon()}`)).body
  const step = { task: name, lease: Date.now() + 60_000, counts: {} }
  expect(await running.teal.core.system.handle(id).run(removeStep, step)).toMatchObject({ done: false })
  const { status, body } = await call('POST', `/users/${id}/restore`, {})
  expect([status, body.code]).toEqual([400, 'DeleteInProgress'])
  await call('DELETE', `/users/${id}`)
  await running.teal.core.writer.write(taskDelay, { id: name, due: 0, at: 0 })
  await eventually(
    () => task(name),
    found => found.state === 'done',
  )
})
