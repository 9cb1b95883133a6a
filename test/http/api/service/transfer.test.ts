// Accounts that leave one service and come to another.

import { createHash } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Binary, BSON, Long, ObjectId } from 'bson'
import { Packr } from 'msgpackr'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { ContainerWriter, kinds, readContainer } from '#lib/bytes/container.ts'
import { startTeal, type Teal } from '#service'
import { Client } from '../../../imap/client.ts'
import { accessTo, type Body, threads, useTeal } from '../../../running.ts'
import { eventually } from '../mail.ts'

const from = useTeal()
let other: Teal | undefined
const to = accessTo(() => {
  if (other === undefined) throw new Error('the other service is not up')
  return other
})
let roleToken = ''
let otherToken = ''

beforeAll(async () => {
  other = await startTeal({ threads }, { strict: true })
  roleToken = (await from.teal.core.access.provision('export', 'export')).token
  otherToken = (await other.core.access.provision('export', 'export')).token
})

afterAll(async () => {
  expect(await other?.check()).toEqual([])
  await other?.close()
})

async function exported(query = ''): Promise<Buffer> {
  const address = `/data/export?form=rows${query}`
  const answer = await from.raw('GET', address, { headers: { 'x-access-token': roleToken } })
  expect(answer.status).toBe(200)
  return Buffer.from(await answer.arrayBuffer())
}

async function imported(bytes: Uint8Array, type = 'application/octet-stream'): Promise<{ status: number; body: Body }> {
  const headers = { 'x-access-token': otherToken, ...(type !== '' && { 'content-type': type }) }
  const answer = await to.raw('POST', '/data/import', { headers, body: Buffer.from(bytes) })
  return { status: answer.status, body: await answer.json() }
}

/** The same export with other entries. */
async function rewritten(
  bytes: Buffer,
  change: (collection: unknown, entry: Record<string, unknown>) => Record<string, unknown>,
): Promise<Buffer> {
  const writer = new ContainerWriter()
  const pieces: Buffer[] = []
  async function* chunks() {
    yield bytes
  }
  for await (const { kind, data } of readContainer(chunks())) {
    if (kind === kinds.end) continue
    const { collection } = data
    const entry = kind === kinds.entry ? { entry: change(collection, data.entry as Record<string, unknown>) } : {}
    pieces.push(writer.record(kind, { ...data, ...entry }))
  }
  return Buffer.concat([...pieces, writer.end()])
}

describe('an export', () => {
  let bytes: Buffer
  let user = ''

  test('of an account holds everything but mail', async () => {
    user = await from.user('mover', { name: 'Mo Ver', tags: ['pro'], quota: 5_000_000 })
    await from.call('POST', `/users/${user}/addresses`, { address: 'second@example.com' })
    await from.call('POST', `/users/${user}/mailboxes`, { path: 'Work/Ürgent' })
    const { body: boxes } = await from.call('GET', `/users/${user}/mailboxes`)
    const mailbox = boxes.results.find((one: Body) => one.path === 'Work/Ürgent').id
    const filter = { name: 'to work', query: { from: 'boss' }, action: { mailbox } }
    expect((await from.call('POST', `/users/${user}/filters`, filter)).body.success).toBe(true)
    const reply = { status: true, subject: 'Away', text: 'I am away' }
    expect((await from.call('PUT', `/users/${user}/autoreply`, reply)).body.success).toBe(true)
    await from.call('POST', `/users/${user}/asps`, { description: 'phone', scopes: ['imap'] })
    const gone = { address: 'gone@far.test', reason: 'left' }
    expect((await from.call('POST', `/users/${user}/suppressions`, gone)).body.success).toBe(true)
    const client = await Client.login(from.at('imap'), 'mover')
    for (const command of ['CREATE', 'SUBSCRIBE', 'DELETE']) await client.ok(`${command} left`)
    client.close()
    bytes = await exported()
    expect(bytes.subarray(0, 3)).toEqual(Buffer.from([0x09, 0x06, 0x82]))
  })

  test('moves to another service, ids, hashes and folders included', async () => {
    const { status, body } = await imported(bytes)
    expect(body).toEqual({
      result: { entries: expect.any(Number), imported: expect.any(Number), failed: 0, existing: 0 },
    })
    expect(status).toBe(200)
    expect(body.result.imported).toBe(body.result.entries)
    const { body: there } = await to.call('GET', `/users/${user}`)
    expect(there).toMatchObject({ username: 'mover', name: 'Mo Ver', address: 'mover@example.com', tags: ['pro'] })
    const login = await to.call('POST', '/authenticate', { username: 'mover', password: 'secret of mover' })
    expect(login.body).toMatchObject({ success: true, id: user })
    const { body: addresses } = await to.call('GET', `/users/${user}/addresses`)
    expect(addresses.results.map((one: Body) => one.address).sort()).toEqual([
      'mover@example.com',
      'second@example.com',
    ])
    const { body: boxes } = await to.call('GET', `/users/${user}/mailboxes`)
    const work = boxes.results.find((one: Body) => one.path === 'Work/Ürgent')
    const { body: filters } = await to.call('GET', `/users/${user}/filters`)
    expect(filters.results).toHaveLength(1)
    const { body: filter } = await to.call('GET', `/users/${user}/filters/${filters.results[0].id}`)
    expect(filter.action.mailbox).toBe(work.id)
    const { body: reply } = await to.call('GET', `/users/${user}/autoreply`)
    expect(reply).toMatchObject({ status: true, subject: 'Away', text: 'I am away' })
    const { body: asps } = await to.call('GET', `/users/${user}/asps`)
    expect(asps.results).toMatchObject([{ description: 'phone', scopes: ['imap'] }])
    const { body: gone } = await to.call('GET', `/users/${user}/suppressions`)
    expect(gone.results).toMatchObject([{ address: 'gone@far.test', source: 'manual', response: 'left' }])
    const refused = await to.call('POST', `/users/${user}/submit`, { to: [{ address: 'gone@far.test' }], text: 'x' })
    expect(refused.body.code).toBe('RecipientSuppressed')
    const client = await Client.login(to.at('imap'), 'mover')
    expect(await client.ok('LSUB "" left')).toEqual(['* LSUB (\\NonExistent \\Noselect) "/" "left"'])
    client.close()
  })

  test('taken in again changes nothing', async () => {
    const { body } = await imported(bytes)
    expect(body.result).toMatchObject({ imported: 0, failed: 0, existing: body.result.entries })
  })

  test('with rows that are not as they should be brings the others', async () => {
    const good = await from.user('row.good')
    const bad = await from.user('row.bad')
    const half = await from.user('row.half', { retention: 5 })
    const filter = { query: { from: 'x' }, action: { seen: true } }
    for (const id of [good, half]) {
      expect((await from.call('POST', `/users/${id}/filters`, filter)).status).toBe(200)
      await from.call('PUT', `/users/${id}/autoreply`, { status: true, end: '2030-01-01' })
    }
    const whole = await exported(`&users=${bad}&users=${half}&users=${good}`)
    const changed = (part: string, options: string) =>
      rewritten(whole, (collection, entry) => {
        if (collection === 'user' && entry.id === bad) return { ...entry, options }
        const isHalf = entry.user === half && collection === part
        if (!isHalf) return entry
        const wrong = { filter: { action: '{"targets":5}' }, autoreply: { ends: 8.64e15 } }
        return { ...entry, ...wrong[part as keyof typeof wrong], ...(part === 'mailbox' && { retention: 2 ** 53 - 1 }) }
      })
    const wrongs = ['no json', 'null', '{"enabled2fa":5}', '{"totp":{"seed":5}}', '{"targets":[7]}', '{"lastLogin":-1}']
    for (const wrong of wrongs) {
      const { status, body } = await imported(await changed('none', wrong))
      expect([wrong, status]).toEqual([wrong, 200])
      expect(body.result.failed).toBeGreaterThan(0)
      expect((await to.call('GET', `/users/${bad}`)).status).toBe(404)
      expect((await to.call('GET', `/users/${good}/filters`)).body.results).toHaveLength(1)
    }
    for (const part of ['filter', 'autoreply', 'mailbox']) {
      await to.call('DELETE', `/users/${half}`)
      await eventually(
        async () => (await to.call('GET', `/users/${half}/restore`)).status,
        status => status === 404,
      )
      expect((await imported(await changed(part, '{}'))).status).toBe(200)
      for (const path of ['filters', 'autoreply', 'mailboxes']) {
        expect([part, path, (await to.call('GET', `/users/${half}/${path}`)).status]).toEqual([part, path, 200])
      }
    }
    expect((await to.call('GET', '/filters')).status).toBe(200)
  })

  test('brings what the API takes at its edges: fractions, and moments before 1970', async () => {
    const id = await from.user('edges', { retention: 86_400_000.5 })
    await from.call('POST', `/users/${id}/filters`, { query: { size: 1.5 }, action: { seen: true } })
    await from.call('PUT', `/users/${id}/autoreply`, { status: true, start: '0000-01-01', subject: 'Edge' })
    const { body } = await imported(await exported(`&users=${id}`))
    expect(body.result).toMatchObject({ failed: 0, imported: body.result.entries })
    const { results } = (await to.call('GET', `/users/${id}/mailboxes`)).body
    expect(results[0]).toMatchObject({ path: 'INBOX', retention: 86_400_001 })
    const reply = (await to.call('GET', `/users/${id}/autoreply`)).body
    expect(reply).toMatchObject({ subject: 'Edge', start: '0000-01-01T00:00:00.000Z' })
  })

  test('may be limited to accounts and to tags', async () => {
    await from.user('stays')
    const all = (await exported()).length
    expect((await exported(`&users=${user}`)).length).toBeLessThan(all)
    expect((await exported('&tags=pro')).length).toBeLessThan(all)
    const answer = await from.raw('POST', '/data/export', {
      headers: { 'x-access-token': roleToken, 'content-type': 'application/json' },
      body: JSON.stringify({ users: [user] }),
    })
    expect(Buffer.from(await answer.arrayBuffer()).length).toBeLessThan(all)
  })

  test.each<[string, (whole: Buffer) => Buffer, string?]>([
    ['cut short', (whole: Buffer) => whole.subarray(0, -1)],
    ['without its end', (whole: Buffer) => whole.subarray(0, whole.lastIndexOf('counts') - 20)],
    ['changed', (whole: Buffer) => Buffer.from(whole.toString('latin1').replace('mover', 'moved'), 'latin1')],
    ['foreign', () => Buffer.from('PK\x03\x04 something else entirely'), 'INVALID_SEQUENCE'],
    ['of something else', () => new ContainerWriter().record(kinds.header, { type: 'songs' }), 'INVALID_DATA'],
    ['without a beginning', () => new ContainerWriter().record(kinds.entry, { collection: 'user' }), 'INVALID_DATA'],
    ['empty', () => Buffer.alloc(0)],
    ['longer than it says', (whole: Buffer) => Buffer.concat([whole, Buffer.from([1, 0, 0, 0, 0xc0])])],
    ['with a record of no sane length', (whole: Buffer) => Buffer.concat([whole, Buffer.from('ffffffff00', 'hex')])],
  ])('that is %s is refused before anything is written', async (_, damage, code = 'ExportInvalid') => {
    const fresh = await from.user(`fresh${createHash('md5').update(_).digest('hex').slice(0, 8)}`)
    const { status, body } = await imported(damage(await exported()))
    expect(status).toBe(400)
    expect(body.code).toBe(code)
    expect((await to.call('GET', `/users/${fresh}`)).status).toBe(404)
  })

  test('is for the role made for it', async () => {
    expect((await from.call('GET', '/data/export')).status).toBe(403)
    expect((await from.call('POST', '/data/export', {})).status).toBe(403)
    const answer = await from.raw('POST', '/data/import', {
      body: 'x',
      headers: { 'content-type': 'application/octet-stream' },
    })
    expect(answer.status).toBe(403)
  })

  test('of another content type is refused', async () => {
    const { body } = await imported(Buffer.from('{}'), 'application/json')
    expect(body.code).toBe('UnsupportedMediaType')
  })
})

describe('an export of documents', () => {
  const packr = new Packr({ useRecords: false })
  const record = (kind: number, data: object) => {
    const body = packr.pack([kind, data])
    const length = Buffer.alloc(4)
    length.writeUInt32LE(body.length)
    return Buffer.concat([length, body])
  }
  const entry = (client: string, collection: string, document: object) =>
    record(2, { client, collection, entry: Buffer.from(BSON.serialize(document)) })
  const user = new ObjectId()
  const mailbox = new ObjectId()
  const hash = '$2a$10$N9qo8uLOickgx2ZMRZoMyeIjZAgcfl7p92ldGxad68LJZdL17lhWy'
  const container = (...records: Buffer[]) =>
    Buffer.concat([
      Buffer.from([9, 6, 0x82]),
      record(1, { type: 'wildduck_data_export', created: new Date() }),
      ...records,
    ])

  test('moves over with hashes and seeds; what is unknown is counted', async () => {
    const bytes = container(
      entry('users', 'users', {
        _id: user,
        username: 'old.timer',
        name: 'Old Timer',
        address: 'old.timer@example.org',
        password: hash,
        authVersion: 3,
        enabled2fa: ['totp', 'webauthn'],
        seed: 'JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP',
        quota: Long.fromNumber(7_000_000),
        tags: ['gold'],
        targets: [{ id: new ObjectId(), type: 'mail', value: 'copy@example.net' }],
        created: new Date(1_600_000_000_000),
        metaData: '{"plan":"a"}',
        ...{ language: 'de', spamLevel: 20, retention: 86_400_000, recipients: 12, receivedMax: 7 },
        ...{ fromWhitelist: ['old@example.net'], disabledScopes: ['pop3'], uploadSentMessages: true },
        ...{ require2faEnabled: true, featureFlags: { indexing: true, odd: 'yes' } },
      }),
      entry('users', 'addresses', { _id: new ObjectId(), user, address: 'old.timer@example.org', created: new Date() }),
      entry('users', 'asps', {
        _id: new ObjectId(),
        user,
        description: 'laptop',
        scopes: ['*'],
        password: hash,
        created: new Date(),
      }),
      entry('database', 'mailboxes', { _id: mailbox, user, path: 'INBOX', subscribed: true }),
      entry('database', 'mailboxes', { _id: new ObjectId(), user, path: 'Weg', specialUse: '\\Trash', retention: 5 }),
      entry('database', 'filters', {
        _id: new ObjectId(),
        user,
        query: { headers: { from: 'x' }, text: '' },
        action: { mailbox, seen: true },
        created: new Date(),
      }),
      entry('database', 'autoreplies', { _id: new ObjectId(), user, status: true, subject: 'S', text: 'T' }),
      entry('database', 'addressregister', { _id: new ObjectId(), user, address: 'a@example.net', name: 'A' }),
      entry('database', 'attachments', { _id: new Binary(Buffer.alloc(4)) }),
    )
    const { body } = await imported(bytes, '')
    expect(body).toEqual({ result: { entries: 9, imported: 8, failed: 1, existing: 0 } })
    const { body: there } = await to.call('GET', `/users/${user}`)
    expect(there).toMatchObject({
      username: 'old.timer',
      address: 'old.timer@example.org',
      enabled2fa: ['totp'],
      targets: ['copy@example.net'],
      tags: ['gold'],
      metaData: { plan: 'a' },
    })
    expect(there.limits).toMatchObject({
      ...{ quota: { allowed: 7_000_000 }, recipients: { allowed: 12 }, received: { allowed: 7 } },
    })
    expect(there).toMatchObject({ language: 'de', spamLevel: 20, retention: 86_400_000, uploadSentMessages: true })
    expect(there).toMatchObject({ fromWhitelist: ['old@example.net'], disabledScopes: ['pop3'] })
    expect(there).toMatchObject({ require2faEnabled: true, featureFlags: { indexing: true } })
    const { body: reply } = await to.call('GET', `/users/${user}/autoreply`)
    expect(reply).toMatchObject({ status: true, subject: 'S', text: 'T' })
    const { body: asps } = await to.call('GET', `/users/${user}/asps`)
    expect(asps.results).toMatchObject([{ description: 'laptop', scopes: ['imap', 'pop3', 'smtp'] }])
    const { body: boxes } = await to.call('GET', `/users/${user}/mailboxes`)
    expect(boxes.results.find((one: Body) => one.path === 'Weg')).toMatchObject({ specialUse: '\\Trash', retention: 5 })
    const { body: filters } = await to.call('GET', `/users/${user}/filters`)
    expect(filters.results).toHaveLength(1)
    expect((await imported(bytes)).body.result).toMatchObject({ imported: 0, failed: 1, existing: 8 })
  })

  test('brings once what it has twice in other letters, and what comes after it', async () => {
    const [first, second] = [new ObjectId(), new ObjectId()]
    const account = (id: ObjectId, name: string) => {
      const address = `${name}@example.org`
      return entry('users', 'users', { _id: id, username: name, address, password: hash, created: new Date() })
    }
    const of = (id: ObjectId, client: string, collection: string, document: object) =>
      entry(client, collection, { _id: new ObjectId(), user: id, created: new Date(), ...document })
    const bytes = container(
      account(first, 'twice'),
      of(first, 'users', 'addresses', { address: 'twice@example.org' }),
      of(first, 'users', 'addresses', { address: 'Twice@Example.org' }),
      of(first, 'database', 'addressregister', { address: 'a@example.net', name: 'A', updated: new Date(5) }),
      of(first, 'database', 'addressregister', { address: 'A@EXAMPLE.net', name: 'B', updated: new Date(6) }),
      of(first, 'database', 'autoreplies', { status: true, subject: 'One' }),
      of(first, 'database', 'autoreplies', { status: true, subject: 'Two' }),
      account(second, 'afterwards'),
      of(second, 'users', 'addresses', { address: 'afterwards@example.org' }),
    )
    const { body } = await imported(bytes)
    expect(body).toEqual({ result: { entries: 9, imported: 6, failed: 0, existing: 3 } })
    expect((await to.call('GET', `/users/${first}`)).body).toMatchObject({ address: 'twice@example.org' })
    expect((await to.call('GET', `/users/${first}/autoreply`)).body.subject).toBe('One')
    expect((await to.call('GET', `/users/${second}`)).body).toMatchObject({ address: 'afterwards@example.org' })
  })

  test('cut short within a record is refused', async () => {
    const whole = container(entry('users', 'users', { _id: new ObjectId(), username: 'cutoff' }))
    expect((await imported(whole.subarray(0, -3))).body.code).toBe('ExportInvalid')
  })
})

test('a scratch file of an import does not stay', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'teal-spool-'))
  rmSync(folder, { recursive: true })
  const { readdirSync } = await import('node:fs')
  expect(readdirSync(join(other?.config.dataDir ?? folder, 'tmp'))).toEqual([])
})

test('passwords in URLs move to a service with other keys', async () => {
  const relay = (password: string) => `smtp://me:${password}@relay.test`
  const user = await from.user('relays', { mtaRelay: relay('one-5ecret'), targets: [relay('two-5ecret')] })
  await from.call('POST', `/users/${user}/filters`, {
    query: { from: 'a' },
    action: { targets: [relay('three-5ecret')] },
  })
  expect((await imported(await exported(`&users=${user}`))).body.result).toMatchObject({ failed: 0 })
  const { read, system } = to.teal.core
  const stored = (
    await read.arrays<[string, string, string]>(
      `SELECT u.options ->> '$.mtaRelay', u.options ->> '$.targets[0]', f.action ->> '$.targets[0]'
     FROM user u JOIN filter f ON f.user = u.num WHERE u.id = ?`,
      user,
    )
  )[0]
  const opened = await Promise.all((stored ?? []).map(url => system.secrets.open(url)))
  expect(opened).toEqual(['one', 'two', 'three'].map(name => relay(`${name}-5ecret`)))
  expect(stored?.join()).not.toContain('5ecret')
})
