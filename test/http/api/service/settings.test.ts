import { expect, test } from 'vitest'
import { useTeal } from '../../../running.ts'

const running = useTeal()
const { call, user } = running

test('every setting is listed with type and default, sorted by key', async () => {
  const { settings } = (await call('GET', '/settings')).body
  const keys = settings.map((one: { key: string }) => one.key)
  expect(keys).toEqual(keys.toSorted())
  expect(settings.find((one: { key: string }) => one.key === 'const:archive:time')).toEqual({
    key: 'const:archive:time',
    value: 2_160_000_000,
    name: expect.any(String),
    description: expect.any(String),
    default: 2_160_000_000,
    type: 'duration',
    custom: false,
  })
  const filtered = (await call('GET', '/settings?filter=MAX:IMAP')).body
  expect(filtered.filter).toBe('MAX:IMAP')
  expect(filtered.settings.map((one: { key: string }) => one.key)).toEqual([
    'const:max:imap:download',
    'const:max:imap:upload',
  ])
})

test('a change is in force at once and can be taken back', async () => {
  const id = await user('limited')
  const key = 'const:max:mailboxes'
  expect((await call('POST', `/settings/${key}`, { value: 6 })).body).toEqual({ success: true, key })
  expect((await call('GET', `/settings/${key}`)).body).toEqual({ success: true, key, value: 6 })
  expect((await call('POST', `/users/${id}/mailboxes`, { path: 'Sixth' })).status).toBe(200)
  const refused = await call('POST', `/users/${id}/mailboxes`, { path: 'Seventh' })
  expect([refused.status, refused.body.code]).toEqual([400, 'DisallowedMailboxMethod'])
  const custom = (await call('GET', `/settings?filter=${key}`)).body.settings
  expect(custom).toMatchObject([{ value: 6, default: 1500, custom: true }])
  expect((await call('DELETE', `/settings/${key}`)).body).toEqual({ success: true, key, value: 1500 })
  expect((await call('POST', `/users/${id}/mailboxes`, { path: 'Seventh' })).status).toBe(200)
})

test('values are taken in the forms people write', async () => {
  const put = async (key: string, value: unknown) => {
    await call('POST', `/settings/${key}`, { value })
    const read = (await call('GET', `/settings/${key}`)).body.value
    await call('DELETE', `/settings/${key}`)
    return read
  }
  expect(await put('const:autoreply:interval', '2h')).toBe(7_200_000)
  expect(await put('const:max:storage', '2GB')).toBe(2 * 1024 ** 3)
  expect(await put('const:max:filters', '12')).toBe(12)
  expect(await put('const:max:filters', 12.9)).toBe(12)
  expect(await put('const:domaincache:enabled', 'yes')).toBe(true)
  expect(await put('const:sender:defer_times', '1m, 2h')).toBe('1m, 2h')
})

test.each([
  ['const:max:filters', 'many'],
  ['const:max:filters', -1],
  ['const:max:filters', '5h'],
  ['const:max:filters', true],
  ['const:domaincache:enabled', 'perhaps'],
  ['const:sender:defer_times', 'soon'],
  ['const:sender:defer_times', 5],
  ['const:max:filters', undefined],
  ['const:max:filters', { a: 1 }],
  ['const:unknown', 1],
])('%s is not set to %j', async (key, value) => {
  const { status, body } = await call('POST', `/settings/${key}`, { value })
  expect([status, body.code]).toEqual([400, 'InputValidationError'])
})

test('an unknown key is answered in words', async () => {
  const { status, body } = await call('GET', '/settings/const:unknown')
  expect([status, body]).toEqual([200, { success: false, key: 'const:unknown', error: expect.any(String) }])
  expect((await call('DELETE', '/settings/const:unknown')).status).toBe(400)
})
