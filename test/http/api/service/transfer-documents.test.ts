// An account that leaves: its documents are what another service with the same container has, field by field, and taken in
// again elsewhere they make the same account.

import { BSON, ObjectId } from 'bson'
import { Unpackr } from 'msgpackr'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { decodeBase32, stepMs, totpCode } from '#lib/secret/totp.ts'
import { startTeal, type Teal } from '#service'
import { accessTo, type Body, threads, useTeal } from '../../../running.ts'
import { eventually } from '../mail.ts'

const from = useTeal()
let other: Teal | undefined
const to = accessTo(() => {
  if (other === undefined) throw new Error('the other service is not up')
  return other
})
let user = ''
let asp = ''
let seed = ''
let mailbox = ''
let inbox = ''
let bytes: Buffer
let records: [kind: number, data: Body][] = []

const settings = {
  ...{ name: 'Lea Ving', tags: ['Pro', 'ünï'], quota: 5_000_000_000, language: 'et', retention: 86_400_000 },
  ...{ targets: ['copy@example.net', 'smtp://mx.example.net:25', 'https://hook.example.net/in'], spamLevel: 35 },
  ...{ recipients: 12, forwards: 13, filters: 14, imapMaxUpload: 15, imapMaxDownload: 16, pop3MaxDownload: 17 },
  ...{ pop3MaxMessages: 18, imapMaxConnections: 19, receivedMax: 20, fromWhitelist: ['*@example.net'] },
  ...{ disabledScopes: ['pop3'], uploadSentMessages: true, encryptForwarded: true },
  ...{ mtaRelay: 'smtps://who:secret@relay.example.net:465', metaData: { plan: 'a' }, internalData: { id: 7 } },
  featureFlags: { indexing: true },
}

beforeAll(async () => {
  other = await startTeal({ threads }, { strict: true })
  user = await from.user('Lea.Ving', settings)
  await ok('POST', `/users/${user}/addresses`, {
    ...{ address: 'Se.Cond@bücher.example', name: 'Second', tags: ['Two'], metaData: { a: 1 } },
  })
  mailbox = (await ok('POST', `/users/${user}/mailboxes`, { path: 'Work/Ürgent', retention: 5000 })).id
  await ok('POST', `/users/${user}/filters`, {
    ...{ name: 'to work', metaData: { order: 1 }, disabled: true },
    query: { from: 'boss', subject: 'now', listId: 'l', text: 'a b', ha: true, size: -500 },
    action: { mailbox, seen: true, flag: false, spam: false, targets: ['copy@example.net'] },
  })
  await ok('POST', `/users/${user}/filters`, { query: { ha: false, to: 'me' }, action: { delete: true } })
  await ok('PUT', `/users/${user}/autoreply`, {
    ...{ status: true, name: 'Lea', subject: 'Away', text: 'I am away', html: '<p>away</p>' },
    ...{ start: '2026-01-01T00:00:00.000Z', end: '2030-01-01T00:00:00.000Z' },
  })
  asp = (await ok('POST', `/users/${user}/asps`, { description: 'phone', scopes: ['imap'], ttl: 3600 })).password
  await ok('POST', `/users/${user}/password/reset`, {})
  seed = (await ok('POST', `/users/${user}/2fa/totp/setup`, { issuer: 'T' })).seed
  await ok('POST', `/users/${user}/2fa/totp/enable`, { token: code() })
  const { results } = await ok('GET', `/users/${user}/mailboxes`)
  inbox = results.find((one: Body) => one.path === 'INBOX').id
  const pal = { name: 'Pen Pal', address: 'Pen.Pal@example.net' }
  await ok('POST', `/users/${user}/mailboxes/${inbox}/messages`, { from: pal, text: 'x' })
  await eventually(
    async () => (await ok('GET', `/users/${user}/addressregister?query=pen`)).results,
    found => found.length > 0,
  )
  const { token } = await from.teal.core.access.provision('export', 'export')
  const answer = await from.raw('GET', `/data/export?users=${user}`, { headers: { 'x-access-token': token } })
  expect(answer.status).toBe(200)
  bytes = Buffer.from(await answer.arrayBuffer())
  records = [...readRecords(bytes)]
})

afterAll(async () => {
  expect(await other?.check()).toEqual([])
  await other?.close()
})

async function ok(method: string, path: string, form?: object): Promise<Body> {
  const { status, body } = await from.call(method, path, form)
  expect([path, status, body.success]).toEqual([path, 200, true])
  return body
}

const code = (ahead = 0) => totpCode(decodeBase32(seed) ?? Buffer.alloc(0), Math.floor(Date.now() / stepMs) + ahead)

/** The container as its description says, without our own reader. */
function* readRecords(whole: Buffer): Generator<[number, Body]> {
  const unpackr = new Unpackr({ useRecords: false, mapsAsObjects: true })
  expect(whole.subarray(0, 3).toString('hex')).toBe('090682')
  for (let at = 3; at < whole.length; ) {
    const length = whole.readUInt32LE(at)
    yield unpackr.unpack(whole.subarray(at + 4, at + 4 + length))
    at += 4 + length
  }
}

/** The documents of a collection. */
function documents(name: string): Body[] {
  return records
    .filter(([kind, data]) => kind === 2 && `${data.client}.${data.collection}` === name)
    .map(([, data]) => BSON.deserialize(data.entry))
}

const hash = expect.stringMatching(/^\$pbkdf2-sha256\$/)
const anId = expect.any(ObjectId)
const aDate = expect.any(Date)
const target = (type: string, value: string) => ({ id: anId, type, value })

test('the container: a header that names it, then entries of documents in their order, and nothing behind', () => {
  const [header, ...rest] = records
  expect(header).toEqual([1, { type: 'wildduck_data_export', users: [user], created: aDate }])
  expect(Object.keys(header?.[1])).toEqual(['type', 'users', 'created'])
  for (const [kind, data] of rest) {
    expect([kind, Object.keys(data)]).toEqual([2, ['client', 'collection', 'entry']])
    expect(data.entry).toBeInstanceOf(Uint8Array)
  }
  const order = rest.map(([, data]) => `${data.client}.${data.collection}`)
  expect([...new Set(order)]).toEqual([
    ...['users.users', 'users.addresses', 'users.asps'],
    ...['database.addressregister', 'database.autoreplies', 'database.filters', 'database.mailboxes'],
  ])
})

test('the document of the account', () => {
  const { targets, metaData, internalData, ...plain } = settings
  expect(documents('users.users')).toEqual([
    {
      ...plain,
      ...{ _id: new ObjectId(user), username: 'lea.ving', unameview: 'leaving', address: 'Lea.Ving@example.com' },
      ...{ password: hash, authVersion: expect.any(Number), storageUsed: 0, tagsview: ['pro', 'ünï'] },
      ...{ activated: true, disabled: false, suspended: false, autoreply: true, enabled2fa: ['totp'], seed },
      ...{ created: aDate, metaData: JSON.stringify(metaData), internalData: JSON.stringify(internalData) },
      tempPassword: { password: hash, created: aDate, validAfter: aDate, expires: aDate },
      targets: [
        target('mail', 'copy@example.net'),
        target('relay', 'smtp://mx.example.net:25'),
        target('http', 'https://hook.example.net/in'),
      ],
    },
  ])
})

test('the documents of what belongs to it', () => {
  const own = { _id: anId, user: new ObjectId(user) }
  expect(documents('users.addresses')).toEqual([
    {
      ...{ ...own, address: 'Lea.Ving@example.com', addrview: 'leaving@example.com', name: '' },
      ...{ tags: [], tagsview: [], created: aDate },
    },
    {
      ...{ ...own, address: 'Se.Cond@bücher.example', addrview: 'second@bücher.example', name: 'Second' },
      ...{ tags: ['Two'], tagsview: ['two'], created: aDate, metaData: '{"a":1}' },
    },
  ])
  expect(documents('users.asps')).toEqual([
    {
      ...{ ...own, description: 'phone', scopes: ['imap'], password: expect.stringMatching(/^\$/) },
      ...{ prefix: expect.stringMatching(/^1?[0-9a-f]$/), ttl: 3600, expires: aDate, created: aDate },
    },
  ])
  expect(documents('database.addressregister')).toEqual([
    {
      ...{ ...own, address: 'Pen.Pal@example.net', addrview: 'penpal@example.net', name: 'Pen Pal' },
      ...{ updated: aDate, disabled: false },
    },
  ])
  expect(documents('database.autoreplies')).toEqual([
    {
      ...{ ...own, status: true, name: 'Lea', subject: 'Away', text: 'I am away', html: '<p>away</p>' },
      ...{ start: new Date('2026-01-01'), end: new Date('2030-01-01'), created: aDate },
    },
  ])
  expect(documents('database.filters')).toEqual([
    {
      ...{ ...own, name: 'to work', disabled: true, metaData: '{"order":1}', created: aDate },
      query: { headers: { from: 'boss', subject: 'now', listId: 'l' }, text: 'a b', ha: 1, size: -500 },
      action: {
        ...{ seen: true, flag: false, spam: false, mailbox: new ObjectId(mailbox) },
        targets: [target('mail', 'copy@example.net')],
      },
    },
    { ...own, disabled: false, created: aDate, query: { headers: { to: 'me' }, ha: -1 }, action: { delete: true } },
  ])
  const folders = documents('database.mailboxes')
  expect(folders.find(one => one.path === 'Work/Ürgent')).toEqual({
    ...{ ...own, _id: new ObjectId(mailbox), path: 'Work/Ürgent', uidValidity: expect.any(Number), uidNext: 1 },
    ...{ modifyIndex: 1, subscribed: true, hidden: false, encryptMessages: false, retention: 5000, flags: [] },
  })
  expect(folders.find(one => one.path === 'INBOX')._id).toEqual(new ObjectId(inbox))
  expect(folders.filter(one => one.specialUse).map(one => one.specialUse)).toContain('\\Trash')
})

test('taken in by another service they make the same account', async () => {
  const { token } = (await other?.core.access.provision('export', 'export')) ?? { token: '' }
  const headers = { 'x-access-token': token, 'content-type': 'application/octet-stream' }
  const answer = await to.raw('POST', '/data/import', { headers, body: new Uint8Array(bytes) })
  const entries = records.length - 1
  expect(await answer.json()).toEqual({ result: { entries, imported: entries, failed: 0, existing: 0 } })
  const changing = /"(created|storageUsed|used|updated|lastLogin|total|unseen|size|modifyIndex|uidNext)":[^,}]+/g
  const seen = async (at: typeof to, path: string) => {
    const { body } = await at.call('GET', `/users/${user}${path}`)
    return JSON.stringify(body).replaceAll(changing, '')
  }
  const filters = (await to.call('GET', `/users/${user}/filters`)).body.results
  expect(filters).toHaveLength(2)
  const paths = ['', '/addresses', '/mailboxes', '/autoreply', '/asps', '/addressregister?query=pen', '/filters']
  for (const path of [...paths, ...filters.map((one: Body) => `/filters/${one.id}`)]) {
    expect([path, await seen(to, path)]).toEqual([path, await seen(from, path)])
  }
  const enter = { username: 'lea.ving', password: 'secret of Lea.Ving', token: true }
  const { body: entered } = await to.call('POST', '/authenticate', enter)
  expect(entered).toMatchObject({ success: true, id: user, require2fa: ['totp'] })
  const checked = { token: code(1), totpNonce: entered.totpNonce }
  expect((await to.call('POST', `/users/${user}/2fa/totp/check`, checked)).body).toMatchObject({ success: true })
  const mail = { username: 'lea.ving', password: asp, scope: 'imap' }
  expect((await to.call('POST', '/authenticate', mail)).body).toMatchObject({ success: true, id: user })
})

test('our own rows come when they are asked for, with their end', async () => {
  const { token } = await from.teal.core.access.provision('export two', 'export')
  const bad = await from.raw('GET', '/data/export?form=other', { headers: { 'x-access-token': token } })
  const refused: Body = await bad.json()
  expect([bad.status, refused.code]).toEqual([400, 'InputValidationError'])
  const rows = await from.raw('POST', '/data/export', {
    headers: { 'x-access-token': token, 'content-type': 'application/json' },
    body: JSON.stringify({ users: [user], form: 'rows' }),
  })
  const own = [...readRecords(Buffer.from(await rows.arrayBuffer()))]
  expect(own[0]?.[1]).toMatchObject({ type: 'teal_data_export', version: 1 })
  expect(own.at(-1)?.[0]).toBe(3)
})
