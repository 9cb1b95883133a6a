// What every listing and every limit takes, whoever computed it: a number of a page, and numbers with fractions.

import { expect, test } from 'vitest'
import { useTeal } from '../../running.ts'

const service = useTeal()

test('every listing takes `page` and is led by its cursors alone', async () => {
  const id = await service.user('paged')
  const { body } = await service.call('GET', `/users/${id}/mailboxes`)
  const mailbox = body.results[0].id
  const { body: document } = await service.call('GET', '/openapi.json')
  const values: Record<string, string> = { user: id, mailbox }
  const listings = Object.entries(document.paths as Record<string, { get?: { responses: Record<string, unknown> } }>)
    .filter(([, { get }]) => JSON.stringify(get?.responses['200'] ?? {}).includes('"results"'))
    .map(([path]) => path.replace(/\{(\w+)\}/g, (_, name: string) => values[name] ?? `{${name}}`))
  expect(listings.length).toBeGreaterThan(20)
  for (const path of listings) {
    const needs = path.includes('search') ? '&q=a' : ''
    const { body: answer } = await service.call('GET', `${path}?page=3${needs}`)
    expect([path, String(answer.error).includes('"page"')]).toEqual([path, false])
  }
  for (const path of ['/users', `/users/${id}/authlog`, `/users/${id}/filters`, `/users/${id}/asps`, '/filters']) {
    expect((await service.call('GET', `${path}?page=2`)).status).toBe(200)
  }
  expect((await service.call('GET', '/users?page=2')).body).toMatchObject({ page: 1 })
  expect((await service.call('GET', '/users?page=second')).status).toBe(400)
})

test('a list of messages answers whatever a client has glued to the number of its page', async () => {
  const id = await service.user('glued')
  const { body } = await service.call('GET', `/users/${id}/mailboxes`)
  const messages = `/users/${id}/mailboxes/${body.results[0].id}/messages`
  for (const subject of ['one', 'two', 'three']) await service.call('POST', messages, { subject, text: subject })
  const first = (await service.call('GET', `${messages}?limit=1`)).body
  const second = (await service.call('GET', `${messages}?limit=1&next=${first.nextCursor}`)).body
  const back = await service.call('GET', `${messages}?limit=1&page=100?order=desc&previous=${second.previousCursor}`)
  expect(back.body).toMatchObject({ success: true, page: 1, results: first.results })
  expect((await service.call('GET', `${messages}?page=`)).body).toMatchObject({ success: true, total: 3 })
  for (const path of ['search?query=one&page=second', 'archived/messages?page=second']) {
    expect((await service.call('GET', `/users/${id}/${path}`)).status).toBe(200)
  }
})

test('limits, quotas and page sizes with fractions are rounded down', async () => {
  const id = await service.user('fractions')
  const form = {
    quota: 1048576.9,
    recipients: 10.5,
    imapMaxUpload: 10485.76,
    pop3MaxMessages: '20.99',
    spamLevel: 49.5,
  }
  expect((await service.call('PUT', `/users/${id}`, form)).body).toMatchObject({ success: true })
  const { limits, spamLevel } = (await service.call('GET', `/users/${id}`)).body
  expect(limits.quota.allowed).toBe(1048576)
  expect(limits.recipients.allowed).toBe(10)
  expect(limits.imapUpload.allowed).toBe(10485)
  expect(limits.pop3MaxMessages.allowed).toBe(20)
  expect(spamLevel).toBe(49)
  expect((await service.call('GET', '/users?limit=1.9')).body.results).toHaveLength(1)
  expect((await service.call('GET', '/users?limit=0.9')).status).toBe(400)
  expect((await service.call('PUT', `/users/${id}`, { quota: -0.5 })).status).toBe(400)
  expect((await service.call('POST', '/settings/const:max:recipients', { value: 99.9 })).status).toBe(200)
  expect((await service.call('GET', '/settings/const:max:recipients')).body.value).toBe(99)
  expect((await service.call('POST', '/settings/const:max:storage', { value: '1.5GB' })).status).toBe(200)
  expect((await service.call('GET', '/settings/const:max:storage')).body.value).toBe(1.5 * 1024 ** 3)
  expect((await service.call('DELETE', '/settings/const:max:storage')).status).toBe(200)
  expect((await service.call('DELETE', '/settings/const:max:recipients')).status).toBe(200)
})
