// What a test would have to wait days for comes at once: the clock moves on and what is due is done.

import { afterAll, beforeAll, expect, test } from 'vitest'
import { startTesting } from '#testing/testing.ts'
import type { Inbox, Testing } from '../../src/testing.d.ts'

const day = 86_400_000
let mail: Testing

beforeAll(async () => {
  mail = await startTesting({ config: { api: { accessControl: { enabled: true, tokenTtl: '1d' } } } })
})
afterAll(async () => {
  expect(await mail.check()).toEqual([])
  await mail.close()
})

async function call(method: string, path: string, body?: object, token = mail.rootToken) {
  const headers = { 'x-access-token': token, 'content-type': 'application/json' }
  const answer = await fetch(mail.url + path, { method, headers, ...(body && { body: JSON.stringify(body) }) })
  return { status: answer.status, body: JSON.parse(await answer.text()) }
}

async function idOf({ user }: Inbox): Promise<string> {
  return (await call('GET', `/users/resolve/${user}`)).body.id
}

test('messages expire', async () => {
  const inbox = await mail.inbox('expiring')
  const user = await idOf(inbox)
  const { body: made } = await call('POST', `/users/${user}/mailboxes`, { path: 'Short', retention: 7 * day })
  await inbox.seed({ messages: [{ mail: { subject: 'Old' }, folder: 'Short' }] })
  const total = async () => (await call('GET', `/users/${user}/mailboxes/${made.id}`)).body.total
  await mail.clock.advance(6 * day)
  expect(await total()).toBe(1)
  await mail.clock.advance(2 * day)
  await expect.poll(total).toBe(0)
})

test('an autoreply begins, answers each sender once in a while, and ends', async () => {
  const [away, sender] = [await mail.inbox('away'), await mail.inbox('sender')]
  const at = (days: number) => new Date(mail.clock.now() + days * day).toISOString()
  const form = { status: true, subject: 'Away', text: 'Back soon', start: at(1), end: at(30) }
  expect((await call('PUT', `/users/${await idOf(away)}/autoreply`, form)).status).toBe(200)
  const write = () => mail.send({ from: sender.address, to: away.address, subject: 'Are you there?', text: 'x' })
  await write()
  await sender.none({}, { within: 50 })
  await mail.clock.advance(2 * day)
  await write()
  expect((await sender.wait()).subject).toMatch(/Away/)
  await write()
  await sender.none({}, { within: 50 })
  await mail.clock.advance(10 * day)
  await write()
  await sender.wait({ text: 'Back soon' })
  await mail.clock.advance(30 * day)
  await write()
  await sender.none({}, { within: 50 })
})

test('a token ends', async () => {
  const form = { username: 'bertha', password: 'correct horse' }
  const { body: made } = await call('POST', '/users', { ...form, address: 'bertha@example.com' })
  const { body: login } = await call('POST', '/authenticate', { ...form, scope: 'master', token: true })
  const seen = () => call('GET', `/users/${made.id}`, undefined, login.token)
  expect((await seen()).status).toBe(200)
  await mail.clock.advance(2 * day)
  expect((await seen()).status).toBe(403)
})
