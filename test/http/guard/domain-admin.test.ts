// Whoever looks after a domain: what may be done with its accounts, and that nothing of any other domain can be seen or
// changed, by any endpoint there is.

import { beforeAll, describe, expect, test } from 'vitest'
import { sleep } from '#lib/clock.ts'
import { type Body, useTeal } from '../../running.ts'
import { send } from '../api/mail.ts'

const running = useTeal({ outbound: { enabled: false } })
const { call } = running

const own = 'apple.example'
const foreign = 'zebra.example'
let admin = ''
/** Of the account that looks after the domain, and one that belongs to no account. */
let token = ''
let bound = ''
let theirs: Awaited<ReturnType<typeof world>>

async function account(name: string, domain: string, more: object = {}): Promise<string> {
  const form = { username: `${name}@${domain}`, password: `secret of ${name}`, name: `${name} of ${domain}`, ...more }
  const { body } = await call('POST', '/users', form)
  expect(body).toMatchObject({ success: true })
  return body.id
}

async function login(username: string, password: string): Promise<string> {
  const { body } = await call('POST', '/authenticate', { username, password, token: true })
  expect(body).toMatchObject({ success: true })
  return body.token
}

/** One of everything in a domain; ids by the names that paths and bodies give them. */
async function world(domain: string) {
  const user = await account('zoe', domain)
  const done = async (method: string, path: string, body?: object) => {
    const answer = await call(method, path, body)
    expect(answer.body, `${method} ${path}`).toMatchObject({ success: true })
    return answer.body
  }
  await call('PUT', `/domains/${domain}`, { description: `All of ${domain}`, maxUsers: 9 })
  const address = (await done('POST', `/users/${user}/addresses`, { address: `second@${domain}` })).id
  const forwarded = (
    await done('POST', '/addresses/forwarded', { address: `on@${domain}`, targets: [`x@far.${domain}`] })
  ).id
  const alias = (await done('POST', '/domainaliases', { alias: `also.${domain}`, domain })).id
  const dkim = (await done('POST', '/dkim', { domain, selector: 'zebra' })).id
  await send(running, `zoe@${domain}`, `Subject: zebra letter\n\nHello\n`)
  const { results } = await done('GET', `/users/${user}/mailboxes`)
  const mailbox = results.find((one: Body) => one.path === 'INBOX').id
  const filter = (await done('POST', `/users/${user}/filters`, { query: { subject: 'zebra' }, action: { seen: true } }))
    .id
  const asp = (await done('POST', `/users/${user}/asps`, { description: 'zebra', scopes: ['imap'] })).id
  const { message } = await done('POST', `/users/${user}/submit`, {
    to: [{ address: `x@far.${domain}` }],
    text: 'zebra',
  })
  const storage = (await done('POST', `/users/${user}/storage`, { filename: 'zebra.txt', content: 'zebra' })).id
  return { user, address, forwarded, alias, dkim, mailbox, filter, asp, queueId: message.queueId, storage }
}

beforeAll(async () => {
  admin = await account('alice', own)
  theirs = await world(foreign)
  const limits = { maxUsers: 6, maxForwards: 3, quota: 9000, defaultQuota: 1000, defaultLimits: { recipients: 20 } }
  await call('PUT', `/domains/${own}`, { admins: [admin], ...limits })
  await call('PUT', `/users/${admin}`, { quota: 1000 })
  token = await login(`alice@${own}`, 'secret of alice')
  bound = (await call('POST', '/tokens', { role: 'domain', domains: [own], label: 'A panel' })).body.token
})

const as = (text: string) => (method: string, path: string, body?: unknown) => call(method, path, body, text)

describe.each([
  ['an account that looks after a domain', () => as(token)],
  ['a token that is bound to a domain', () => as(bound)],
])('%s', (_, given) => {
  const to = (method: string, path: string, body?: unknown) => given()(method, path, body)
  const refusal = async (method: string, path: string, body?: unknown) => {
    const answer = await to(method, path, body)
    return [answer.status, answer.body.code]
  }
  const name = () => (_.startsWith('a token') ? 'carl' : 'dora')

  test('makes, lists, changes, suspends and deletes its accounts', async () => {
    const made = await to('POST', '/users', { username: `${name()}@${own}`, password: 'long enough', name: 'Carl' })
    expect(made.body).toMatchObject({ success: true })
    const path = `/users/${made.body.id}`
    expect((await to('GET', path)).body).toMatchObject({ name: 'Carl', limits: { quota: { allowed: 1000 } } })
    expect((await to('GET', path)).body).not.toHaveProperty('internalData')
    const listed = (await to('GET', '/users')).body
    expect(listed.results.map((one: Body) => one.address).sort()).toEqual([`alice@${own}`, `${name()}@${own}`].sort())
    expect(listed.total).toBe(2)
    expect((await to('GET', '/users?query=zoe')).body.results).toEqual([])
    expect((await to('GET', `/users/resolve/${name()}@${own}`)).body.id).toBe(made.body.id)
    expect(
      (await to('PUT', path, { name: 'Other', suspended: true, password: 'another one', quota: 500 })).status,
    ).toBe(200)
    const { body } = await call('GET', path)
    expect(body).toMatchObject({ name: 'Other', suspended: true, limits: { quota: { allowed: 500 } } })
    const address = (await to('POST', `${path}/addresses`, { address: `postmaster@${own}` })).body.id
    expect((await to('PUT', `${path}/addresses/${address}`, { name: 'The office' })).status).toBe(200)
    expect((await to('DELETE', `${path}/addresses/${address}`)).status).toBe(200)
    expect((await to('DELETE', path)).status).toBe(200)
  })

  test('makes forwards, aliases below its domain and keys, and sees its figures', async () => {
    const forwarded = (await to('POST', '/addresses/forwarded', { address: `info@${own}`, targets: ['x@far.example'] }))
      .body.id
    expect((await to('PUT', `/addresses/forwarded/${forwarded}`, { targets: ['y@far.example'] })).status).toBe(200)
    expect((await to('GET', `/addresses/forwarded/${forwarded}`)).body.targets).toEqual(['y@far.example'])
    const { results } = (await to('GET', '/addresses')).body
    expect(results.map((one: Body) => one.address).sort()).toEqual([`alice@${own}`, `info@${own}`])
    expect((await to('GET', `/addresses/resolve/info@${own}`)).body.id).toBe(forwarded)
    const alias = (await to('POST', '/domainaliases', { alias: `www.${own}`, domain: own })).body.id
    expect((await to('GET', '/domainaliases')).body).toMatchObject({ total: 1, results: [{ id: alias }] })
    const dkim = (await to('POST', '/dkim', { domain: own, selector: 's1' })).body.id
    expect((await to('GET', '/dkim')).body).toMatchObject({ total: 1, results: [{ id: dkim }] })
    const shown = (await to('GET', `/domains/${own}`)).body
    expect(shown).toMatchObject({ users: 1, forwards: 1, aliases: 1, maxUsers: 6, quotaGiven: 1000 })
    expect((await to('GET', '/domains')).body).toMatchObject({ total: 1, results: [{ name: own }] })
    expect((await to('PUT', `/domains/${own}`, { catchAll: { user: admin } })).body.catchAll.user).toBe(admin)
    expect((await to('PUT', `/domains/${own}`, { catchAll: false })).body.catchAll).toBe(false)
    expect((await to('DELETE', `/dkim/${dkim}`)).status).toBe(200)
    expect((await to('DELETE', `/domainaliases/${alias}`)).status).toBe(200)
    expect((await to('DELETE', `/addresses/forwarded/${forwarded}`)).status).toBe(200)
  })

  test('cannot raise what the domain has, nor give an account more than the domain gives', async () => {
    const limits = ['maxUsers', 'maxAddresses', 'maxForwards', 'quota', 'defaultQuota']
    for (const field of limits) expect((await to('PUT', `/domains/${own}`, { [field]: 0 })).status, field).toBe(403)
    for (const field of [{ disabled: false }, { admins: [] }, { defaultLimits: { recipients: 9 } }, { tags: ['x'] }])
      expect((await to('PUT', `/domains/${own}`, field)).status).toBe(403)
    const form = { username: `${name()}@${own}`, password: 'long enough' }
    expect(await refusal('POST', '/users', { ...form, quota: 9001 })).toEqual([403, 'DomainLimit'])
    expect(await refusal('POST', '/users', { ...form, recipients: 21 })).toEqual([403, 'DomainLimit'])
    const id = (await to('POST', '/users', { ...form, quota: 0, recipients: 0 })).body.id
    // What stands for the service's own becomes the domain's.
    expect((await call('GET', `/users/${id}`)).body.limits).toMatchObject({
      quota: { allowed: 1000 },
      recipients: { allowed: 20 },
    })
    expect(await refusal('PUT', `/users/${id}`, { quota: 8001 })).toEqual([403, 'DomainLimit'])
    expect(await refusal('PUT', `/users/${id}`, { imapMaxConnections: 1_000_000 })).toEqual([403, 'DomainLimit'])
    expect((await to('PUT', `/users/${id}`, { quota: 8000 })).status).toBe(200)
    for (const withheld of [
      { targets: ['x@far.example'] },
      { mtaRelay: 'smtp://relay.example' },
      { fromWhitelist: ['*'] },
    ])
      expect((await to('PUT', `/users/${id}`, withheld)).status).toBe(403)
    for (const withheld of [{ disable2fa: true }, { tags: ['trusted'] }, { internalData: {} }, { pubKey: 'x' }])
      expect((await to('PUT', `/users/${id}`, withheld)).status).toBe(403)
    await to('DELETE', `/users/${id}`)
  })

  test('cannot make anything of a name that is not of the domain', async () => {
    const password = 'long enough'
    const forms = [
      { username: `new@${foreign}`, password },
      { username: `new@${own}`, password, address: `new@${foreign}` },
      { username: `new@${foreign}`, password, address: `new@${own}` },
      { username: 'plain', password, address: `plain@${own}` },
      { username: 'plain', password },
      { username: `new@sub.${own}`, password },
    ]
    for (const form of forms) expect(await refusal('POST', '/users', form)).toEqual([403, 'MissingPrivileges'])
    const path = `/users/${await account('paul', own, { quota: 10 })}`
    for (const address of [`x@${foreign}`, 'x@new.example', 'x@*'])
      expect((await to('POST', `${path}/addresses`, { address, allowWildcard: true })).status).toBe(403)
    for (const alias of ['gmail.example', `also.${foreign}`, `more.${foreign}`, own])
      expect((await to('POST', '/domainaliases', { alias, domain: own })).status).toBe(403)
    expect((await to('POST', '/domainaliases', { alias: `x.${own}`, domain: foreign })).status).toBe(403)
    expect((await to('POST', '/domains', { name: 'mine.example' })).status).toBe(403)
    expect((await to('PUT', '/addresses/renameDomain', { oldDomain: own, newDomain: 'mine.example' })).status).toBe(403)
    expect((await to('PUT', `/domains/${own}`, { catchAll: { user: theirs.user } })).status).toBe(403)
    await call('DELETE', path)
  })

  test('reaches no account that reaches beyond the domain, and nobody’s mail', async () => {
    const wide = await account('wide', own, { quota: 10 })
    await call('POST', `/users/${wide}/addresses`, { address: `wide@${foreign}` })
    const other = await account('other', own, { quota: 10 })
    await call('PUT', `/domains/${foreign}`, { admins: [other] })
    for (const id of [wide, other]) {
      expect((await to('PUT', `/users/${id}`, { password: 'taken over' })).status).toBe(403)
      expect((await to('DELETE', `/users/${id}`)).status).toBe(403)
    }
    const { results } = (await to('GET', `/users/${wide}/addresses`)).body
    expect(results.map((one: Body) => one.address)).toEqual([`wide@${own}`])
    await call('PUT', `/domains/${foreign}`, { admins: [] })
    for (const path of [
      'mailboxes',
      'filters',
      'autoreply',
      'asps',
      'storage',
      'search',
      'outbound',
      'contacts',
      'sessions',
    ])
      expect((await to('GET', `/users/${other}/${path}`)).status, path).toBe(403)
    for (const id of [wide, other]) await call('DELETE', `/users/${id}`)
  })
})

test('whoever looks after a domain is to the own account a user like others', async () => {
  expect((await as(token)('PUT', '/users/me', { quota: 9000, name: 'Alice' })).status).toBe(200)
  expect((await call('GET', `/users/${admin}`)).body).toMatchObject({
    name: 'Alice',
    limits: { quota: { allowed: 1000 } },
  })
  expect((await as(token)('DELETE', '/users/me')).status).toBe(403)
  expect((await as(token)('GET', '/users/me/mailboxes')).status).toBe(200)
})

test('whoever no longer looks after a domain has no rights from the next call on, nor who acts as that account', async () => {
  const second = await account('second', own, { quota: 10 })
  await call('PUT', `/domains/${own}`, { admins: [admin, second] })
  const other = await login(`second@${own}`, 'secret of second')
  expect((await as(other)('GET', `/domains/${own}`)).status).toBe(200)
  const acting = (await call('POST', `/users/${second}/impersonate`, {})).body.token
  expect((await as(acting)('GET', `/domains/${own}`)).status).toBe(403)
  await call('PUT', `/domains/${own}`, { admins: [admin] })
  expect((await as(other)('GET', `/domains/${own}`)).status).toBe(403)
  expect((await as(other)('GET', '/users')).body.total).toBe(1)
  await call('DELETE', `/users/${second}`)
})

test('a token is bound to domains exactly where its role asks for it', async () => {
  expect((await call('POST', '/tokens', { role: 'domain' })).status).toBe(400)
  expect((await call('POST', '/tokens', { role: 'manager', domains: [own] })).status).toBe(400)
  expect((await as(bound)('GET', '/tokens')).status).toBe(403)
  const { results } = (await call('GET', '/tokens')).body
  expect(results.find((one: Body) => one.role === 'domain').domains).toEqual([own])
})

// Every endpoint there is, with the things of another domain.

type Schema = Body

function sample(schema: Schema, key: string): unknown {
  const known: Record<string, unknown> = {
    ...{
      user: theirs.user,
      users: [theirs.user],
      username: `new@${foreign}`,
      address: `x@${foreign}`,
      domain: foreign,
    },
    ...{
      alias: `new.${foreign}`,
      oldDomain: foreign,
      newDomain: `new.${foreign}`,
      name: foreign,
      email: `x@${foreign}`,
    },
    ...{ targets: [`x@${foreign}`], to: [{ address: `x@${foreign}` }], from: { address: `zoe@${foreign}` } },
    ...{ mailbox: theirs.mailbox, target: theirs.mailbox, moveTo: theirs.mailbox, message: '1', id: theirs.address },
    ...{
      token: '123456',
      url: 'https://hook.example/',
      path: 'Zebra',
      password: 'long enough',
      role: 'user',
      selector: 's2',
    },
    ...{
      start: '2026-01-01T00:00:00Z',
      end: '2026-02-01T00:00:00Z',
      expires: '2100-01-01T00:00:00Z',
      type: ['user.created'],
    },
  }
  if (schema.enum !== undefined) return schema.enum[0]
  const options = schema.anyOf ?? schema.oneOf
  if (key in known && schema.type !== 'boolean') {
    const value = known[key]
    if (schema.type === undefined || (schema.type === 'array') === Array.isArray(value)) return value
  }
  if (options !== undefined) return sample(options[0], key)
  if (schema.type === 'object') return filled(schema)
  if (schema.type === 'array') return [sample(schema.items ?? { type: 'string' }, key)]
  if (schema.type === 'boolean') return true
  if (schema.type === 'integer' || schema.type === 'number') return schema.minimum ?? 1
  const [, digits] = /^\^\[0-9a-fA-F\]\{(\d+)/.exec(schema.pattern ?? '') ?? []
  if (digits !== undefined) return theirs.user.repeat(6).slice(0, Number(digits))
  const formats: Record<string, string> = { 'date-time': '2026-01-01T00:00:00Z', uri: 'https://page.example' }
  return formats[schema.format ?? ''] ?? 'x'
}

function filled(schema: Schema): Record<string, unknown> {
  const entries = Object.entries(schema.properties ?? {})
  const required = new Set<string>(schema.required ?? [])
  return Object.fromEntries(entries.filter(([key]) => required.has(key)).map(([key, one]) => [key, sample(one, key)]))
}

/** Rows of everything that an endpoint could have changed, but what a call writes by itself. */
function picture(): string {
  const { read } = running.teal.core
  const tables = [
    'user',
    'address',
    'domain',
    'domain_admin',
    'domainalias',
    'domainaccess',
    'dkim',
    'mailbox',
    'message',
  ]
  const more = [
    'filter',
    'asp',
    'autoreply',
    'file',
    'outbound',
    'outbound_target',
    'webhook',
    'setting',
    'audit',
    'task',
  ]
  return JSON.stringify([...tables, ...more].map(table => read.all(`SELECT * FROM "${table}"`)))
}

/** The picture once what was begun before has come to its end: on a busy machine that takes a while. */
async function settledPicture(): Promise<string> {
  let before = ''
  for (let tries = 0, same = 0; same < 10; tries++) {
    const now = picture()
    same = now === before ? same + 1 : 0
    before = now
    if (tries > 1000) throw new Error('the store does not come to rest')
    await sleep(50)
  }
  return before
}

/** In the answer to a call that lists what is the caller's own nothing else may be; a key may have any letters by chance. */
const others = { test: (words: string) => /zebra|zoe/i.test(words.replaceAll(/[A-Za-z0-9+/]{64,}={0,2}/g, '')) }

test.each([
  ['an account that looks after a domain', () => token],
  ['a token that is bound to a domain', () => bound],
])('%s sees and changes nothing of another one by any endpoint', async (_, text) => {
  const { body: document } = await call('GET', '/openapi.json')
  const inPath: Record<string, string> = {
    ...{ user: theirs.user, mailbox: theirs.mailbox, message: '1', alias: theirs.alias, dkim: theirs.dkim },
    ...{
      address: theirs.address,
      filter: theirs.filter,
      asp: theirs.asp,
      queueId: theirs.queueId,
      file: theirs.storage,
    },
    ...{ domain: foreign, username: `zoe@${foreign}`, id: theirs.forwarded },
  }
  const byPath: Record<string, string> = {
    '/domainaccess/{domain}': `/domainaccess/${theirs.address}`,
    '/webhooks/{webhook}/deliveries/{delivery}/replay': `/webhooks/${theirs.user}/deliveries/${theirs.user}:1/replay`,
    '/addresses/resolve/{address}': `/addresses/resolve/second@${foreign}`,
    '/addresses/forwarded/{address}': `/addresses/forwarded/${theirs.forwarded}`,
    '/addresses/forwarded/{id}': `/addresses/forwarded/${theirs.forwarded}`,
    '/domainaliases/resolve/{alias}': `/domainaliases/resolve/also.${foreign}`,
  }
  const before = await settledPicture()
  const seen: string[] = []
  const wrong: string[] = []
  for (const [path, methods] of Object.entries<Body>(document.paths)) {
    for (const [method, about] of Object.entries<Body>(methods)) {
      // The first ends the token that is tried, others are for strangers.
      if ((method === 'delete' && path === '/authenticate') || about.security?.length === 0) continue
      const given = byPath[path] ?? path.replace(/\{(\w+)\}/g, (_match, name: string) => inPath[name] ?? theirs.user)
      const asked = new URLSearchParams()
      for (const one of about.parameters ?? []) {
        if (one.in === 'query' && one.required === true) asked.set(one.name, String(sample(one.schema, one.name)))
      }
      const content = about.requestBody?.content ?? {}
      const schema = content['application/json']?.schema
      const init: RequestInit = { method: method.toUpperCase(), headers: { 'x-access-token': text() } }
      if (schema !== undefined) {
        init.headers = { ...init.headers, 'content-type': 'application/json' } as Record<string, string>
        init.body = JSON.stringify(filled(schema))
      }
      const query = asked.size === 0 ? '' : `?${asked}`
      const answer = await running.raw(method.toUpperCase(), given + query, init)
      const name = `${method.toUpperCase()} ${path}`
      const words = await answer.text()
      seen.push(name)
      const refused = answer.status === 403 || answer.status === 404
      const told = answer.status === 200 && !path.includes('{') && !others.test(words)
      if (!refused && !told) wrong.push(`${name}: ${answer.status} ${words.slice(0, 200)}`)
      if (refused && others.test(words)) wrong.push(`${name} tells: ${words.slice(0, 200)}`)
      if (picture() !== before) throw new Error(`${name} changed something`)
    }
  }
  expect(wrong).toEqual([])
  expect(seen.length).toBeGreaterThan(150)
})
