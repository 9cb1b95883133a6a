import { expect, test } from 'vitest'
import { useTeal } from '../running.ts'

const service = useTeal()

test('a user is made, read, listed, changed and found', async () => {
  const id = await service.user('anna', { name: 'Anna', tags: ['one'] })
  const got = await service.call('GET', `/users/${id}`)
  expect(got).toMatchObject({ status: 200, body: { success: true, username: 'anna', address: 'anna@example.com' } })
  expect((await service.call('GET', '/users/resolve/an.na')).body).toEqual({ success: true, id })
  expect((await service.call('PUT', `/users/${id}`, { name: 'Anna B' })).body).toEqual({ success: true })
  expect((await service.call('GET', '/users?query=anna')).body).toMatchObject({
    total: 1,
    results: [{ id, name: 'Anna B' }],
  })
  const folders = await service.call('GET', `/users/${id}/mailboxes?counters=true`)
  expect(folders.body.results.map((one: { path: string }) => one.path)).toEqual([
    'INBOX',
    'Drafts',
    'Junk',
    'Sent Mail',
    'Trash',
  ])
})

test('two accounts cannot have one name or one address', async () => {
  await service.user('bert')
  const again = { username: 'b.ert', password: 'another secret', address: 'other@example.com' }
  expect(await service.call('POST', '/users', again)).toMatchObject({ status: 400, body: { code: 'UserExistsError' } })
  const taken = { username: 'berta', password: 'another secret', address: 'b.ert@example.com' }
  expect(await service.call('POST', '/users', taken)).toMatchObject({
    status: 400,
    body: { code: 'AddressExistsError' },
  })
})
