// Domains as things of their own over HTTP: what is said of one, what is known of one that nobody made, limits that hold
// however many come at once, and what accounts get from theirs.

import { describe, expect, test } from 'vitest'
import { useTeal } from '../../../running.ts'
import { send } from '../mail.ts'

const running = useTeal()
const { call, user } = running

async function refusal(method: string, path: string, body?: unknown): Promise<[number, string]> {
  const answer = await call(method, path, body)
  return [answer.status, answer.body.code]
}

const account = (name: string, domain: string, more: object = {}) =>
  call('POST', '/users', { username: `${name}@${domain}`, password: 'long enough', ...more })

const plain = {
  ...{ description: '', tags: [], disabled: false, disabledReason: '', maxUsers: 0, maxAddresses: 0, maxForwards: 0 },
  ...{ quota: 0, defaultQuota: 0, defaultLimits: {}, catchAll: false, admins: [] },
}

describe('a domain', () => {
  test('is made in unicode with what is said of it, shown, changed in part and forgotten', async () => {
    const admin = await user('keeper')
    const form = {
      description: 'A customer',
      tags: ['Gold'],
      maxUsers: 3,
      quota: 1000,
      defaultQuota: 10,
      admins: [admin],
    }
    const limits = { recipients: 7, forwards: 0 }
    const made = await call('POST', '/domains', { name: 'XN--JGEVA-dua.Example', ...form, defaultLimits: limits })
    const shown = {
      ...{ ...plain, ...form, name: 'jõgeva.example', defaultLimits: { recipients: 7 } },
      admins: [{ id: admin, username: 'keeper', address: 'keeper@example.com' }],
      ...{ users: 0, addresses: 0, forwards: 0, aliases: 0, quotaGiven: 0, storageUsed: 0 },
    }
    expect(made.body).toEqual({ success: true, created: expect.stringMatching(/Z$/), ...shown })
    const path = `/domains/${encodeURIComponent('jõgeva.example')}`
    expect((await call('GET', path)).body).toEqual(made.body)
    expect((await call('GET', '/domains/xn--jgeva-dua.example')).body).toEqual(made.body)
    expect(await refusal('POST', '/domains', { name: 'jõgeva.example' })).toEqual([400, 'DomainExists'])
    const changed = await call('PUT', path, { maxUsers: 0, defaultLimits: { filters: 2 }, admins: [] })
    const after = { maxUsers: 0, defaultLimits: { recipients: 7, filters: 2 }, admins: [] }
    expect(changed.body).toEqual({ ...made.body, ...after })
    expect((await call('DELETE', path)).body).toEqual({ success: true })
    expect(await refusal('GET', path)).toEqual([404, 'DomainNotFound'])
    expect(await refusal('DELETE', path)).toEqual([404, 'DomainNotFound'])
    expect(await refusal('PUT', path, { maxUsers: 1 })).toEqual([404, 'DomainNotFound'])
  })

  test('is refused where what is said of it cannot be', async () => {
    expect(await refusal('POST', '/domains', { name: 'nothing' })).toEqual([400, 'InputValidationError'])
    const nobody = { name: 'refused.example', admins: ['5f0000000000000000000000'] }
    expect(await refusal('POST', '/domains', nobody)).toEqual([400, 'InputValidationError'])
    expect(await refusal('POST', '/domains', { name: 'refused.example', maxUsers: -1 })).toEqual([
      400,
      'InputValidationError',
    ])
    const both = { name: 'refused.example', catchAll: { user: '5f0000000000000000000000', targets: ['a@b.example'] } }
    expect(await refusal('POST', '/domains', both)).toEqual([400, 'InputValidationError'])
    await call('POST', '/domainaliases', { alias: 'other.refused.example', domain: 'example.com' })
    expect(await refusal('POST', '/domains', { name: 'other.refused.example' })).toEqual([400, 'AliasExists'])
    expect(await refusal('GET', '/domains/refused.example')).toEqual([404, 'DomainNotFound'])
  })

  test('that nobody made is there with what lies in it, and becomes one that was made when it is changed', async () => {
    await account('one', 'derived.example', { quota: 500 })
    await call('POST', '/addresses/forwarded', { address: 'f@derived.example', targets: ['x@far.example'] })
    await call('POST', '/domainaliases', { alias: 'also.example', domain: 'derived.example' })
    await send(running, 'one@derived.example', 'Subject: x\n\nHello\n')
    const shown = (await call('GET', '/domains/derived.example')).body
    const held = { users: 1, addresses: 1, forwards: 1, aliases: 1, quotaGiven: 500 }
    expect(shown).toEqual({
      ...{ success: true, ...plain, name: 'derived.example', created: false, ...held },
      storageUsed: expect.any(Number),
    })
    expect(shown.storageUsed).toBeGreaterThan(20)
    expect(await refusal('DELETE', '/domains/derived.example')).toEqual([400, 'DomainInUse'])
    const changed = (await call('PUT', '/domains/derived.example', { description: 'Ours' })).body
    expect(changed).toEqual({ ...shown, description: 'Ours', created: expect.stringMatching(/Z$/) })
    expect((await call('DELETE', '/domains/derived.example?force=true')).body).toEqual({ success: true })
    // Nothing of it went but what was said of it.
    expect((await call('GET', '/domains/derived.example')).body).toEqual(shown)
  })

  test('is listed by name, page by page, also those that nobody made, and by a part of the name', async () => {
    for (const name of ['c.paged.example', 'a.paged.example']) await call('POST', '/domains', { name, maxUsers: 9 })
    await account('x', 'b.paged.example')
    const page = async (query: string) => (await call('GET', `/domains?query=paged&limit=2&${query}`)).body
    const first = await page('')
    expect(first).toMatchObject({ query: 'paged', total: 3, page: 1, previousCursor: false })
    expect(first.results.map((one: { name: string }) => one.name)).toEqual(['a.paged.example', 'b.paged.example'])
    expect(first.results[1]).toMatchObject({ users: 1, created: false })
    const second = await page(`next=${first.nextCursor}`)
    expect(second.results.map((one: { name: string }) => one.name)).toEqual(['c.paged.example'])
    expect((await page(`previous=${second.previousCursor}`)).results).toEqual(first.results)
    expect((await call('GET', '/domains?query=100%25')).body.results).toEqual([])
  })

  test('that is disabled and holds addresses is not forgotten in passing, nor renamed', async () => {
    await account('x', 'shut.example')
    await call('PUT', '/domains/shut.example', { disabled: true, disabledReason: 'Not paid' })
    expect(await refusal('DELETE', '/domains/shut.example?force=true')).toEqual([400, 'NotPermitted'])
    const rename = { oldDomain: 'shut.example', newDomain: 'open.example' }
    expect(await refusal('PUT', '/addresses/renameDomain', rename)).toEqual([400, 'NotPermitted'])
    expect((await call('GET', '/domains/shut.example')).body).toMatchObject({
      disabled: true,
      disabledReason: 'Not paid',
    })
    expect((await call('PUT', '/domains/shut.example', { disabled: false })).body.disabledReason).toBe('')
  })

  test('takes what was said of it to its new name', async () => {
    const admin = await user('mover')
    await account('x', 'before.example')
    await call('PUT', '/domains/before.example', { maxUsers: 4, admins: [admin] })
    await call('PUT', '/addresses/renameDomain', { oldDomain: 'before.example', newDomain: 'after.example' })
    expect((await call('GET', '/domains/after.example')).body).toMatchObject({
      maxUsers: 4,
      users: 1,
      admins: [{ id: admin }],
    })
    expect(await refusal('GET', '/domains/before.example')).toEqual([404, 'DomainNotFound'])
  })

  test('takes tokens that are bound to it along, and none of them opens one that is made anew', async () => {
    const bind = async (...domains: string[]) => (await call('POST', '/tokens', { role: 'domain', domains })).body
    const opens = async (token: string, name: string) =>
      (await call('GET', `/domains/${name}`, undefined, token)).status
    await account('x', 'sold.example')
    await call('POST', '/domains', { name: 'stays.example' })
    const [one, both] = [await bind('sold.example'), await bind('sold.example', 'stays.example')]
    const rename = { oldDomain: 'sold.example', newDomain: 'renamed.example' }
    expect((await call('PUT', '/addresses/renameDomain', rename)).status).toBe(200)
    await call('POST', '/domains', { name: 'sold.example' })
    for (const { token } of [one, both]) {
      expect([await opens(token, 'renamed.example'), await opens(token, 'sold.example')]).toEqual([200, 403])
    }
    expect((await call('DELETE', '/domains/renamed.example?force=true')).status).toBe(200)
    await call('POST', '/domains', { name: 'renamed.example' })
    expect(await opens(one.token, 'renamed.example')).toBe(403)
    expect([await opens(both.token, 'renamed.example'), await opens(both.token, 'stays.example')]).toEqual([403, 200])
    const { results } = (await call('GET', '/tokens')).body
    expect(results.some(({ id }: { id: string }) => id === one.id)).toBe(false)
    expect(results.find(({ id }: { id: string }) => id === both.id).domains).toEqual(['stays.example'])
  })

  test('is no longer looked after by an account that is gone', async () => {
    const admin = await user('leaver')
    await call('POST', '/domains', { name: 'left.example', admins: [admin] })
    await call('DELETE', `/users/${admin}`)
    expect((await call('GET', '/domains/left.example')).body.admins).toEqual([])
  })
})

describe('limits of a domain', () => {
  test('hold when twenty come at once, each of them', async () => {
    await call('POST', '/domains', { name: 'many.example', maxUsers: 3, maxAddresses: 5, maxForwards: 2 })
    const twenty = Array.from({ length: 20 }, (_, n) => n)
    const made = await Promise.all(twenty.map(n => account(`u${n}`, 'many.example')))
    const good = made.filter(one => one.status === 200)
    expect(good).toHaveLength(3)
    const refused = made.filter(one => one.status !== 200)
    expect(new Set(refused.map(one => `${one.status} ${one.body.code}`))).toEqual(new Set(['403 DomainLimit']))
    const id = good[0]?.body.id
    const address = (n: number) => call('POST', `/users/${id}/addresses`, { address: `more${n}@many.example` })
    expect((await Promise.all(twenty.map(address))).filter(one => one.status === 200)).toHaveLength(2)
    const forward = (n: number) =>
      call('POST', '/addresses/forwarded', { address: `f${n}@many.example`, targets: ['x@far.example'] })
    expect((await Promise.all(twenty.map(forward))).filter(one => one.status === 200)).toHaveLength(2)
    const shown = (await call('GET', '/domains/many.example')).body
    expect(shown).toMatchObject({ users: 3, addresses: 5, forwards: 2 })
    // What goes makes room.
    await call('DELETE', `/users/${good[1]?.body.id}?deleteAfter=2100-01-01T00:00:00Z`)
    expect((await account('again', 'many.example')).status).toBe(200)
    expect(await refusal('POST', `/users/${good[1]?.body.id}/restore`)).toEqual([403, 'DomainLimit'])
  })

  test('hold for bytes that are given, when accounts are made and when they get more, all at once', async () => {
    await call('POST', '/domains', { name: 'bytes.example', quota: 1000 })
    // One without a number of its own gets the service's, which is more.
    expect((await account('big', 'bytes.example')).body.code).toBe('DomainLimit')
    const made = await Promise.all([1, 2, 3, 4, 5, 6].map(n => account(`b${n}`, 'bytes.example', { quota: 250 })))
    const ids = made.filter(one => one.status === 200).map(one => one.body.id)
    expect(ids).toHaveLength(4)
    const more = (id: string, quota: number) => call('PUT', `/users/${id}`, { quota })
    expect((await more(ids[0], 251)).body.code).toBe('DomainLimit')
    expect((await more(ids[0], 0)).body.code).toBe('DomainLimit')
    expect((await more(ids[0], 150)).status).toBe(200)
    expect((await more(ids[1], 350)).status).toBe(200)
    expect((await call('GET', '/domains/bytes.example')).body).toMatchObject({ users: 4, quotaGiven: 1000 })
    // Below what is given: nothing is taken away, nothing more is given, and what is less is always taken.
    expect((await call('PUT', '/domains/bytes.example', { quota: 10 })).status).toBe(200)
    expect((await call('PUT', `/users/${ids[1]}`, { name: 'Other', quota: 340 })).status).toBe(200)
    expect((await more(ids[1], 341)).body.code).toBe('DomainLimit')
  })

  test('hold for whoever moves in by another main address, or another name of one', async () => {
    await call('POST', '/domains', { name: 'full.example', maxUsers: 1, maxAddresses: 1 })
    await account('first', 'full.example')
    const id = await user('wanderer')
    const main = { address: 'wanderer@full.example', main: true }
    expect(await refusal('POST', `/users/${id}/addresses`, main)).toEqual([403, 'DomainLimit'])
    const other = await call('POST', `/users/${id}/addresses`, { address: 'w2@example.com' })
    const renamed = await refusal('PUT', `/users/${id}/addresses/${other.body.id}`, { address: 'w2@full.example' })
    expect(renamed).toEqual([403, 'DomainLimit'])
    expect((await call('GET', `/users/${id}`)).body.address).toBe('wanderer@example.com')
  })
})

describe('defaults of a domain', () => {
  test('are what an account gets where its maker says nothing', async () => {
    const form = { name: 'given.example', defaultQuota: 4096, defaultLimits: { recipients: 5, filters: 3 } }
    await call('POST', '/domains', form)
    const silent = (await account('silent', 'given.example')).body.id
    expect((await call('GET', `/users/${silent}`)).body.limits).toMatchObject({
      quota: { allowed: 4096 },
      recipients: { allowed: 5 },
      filters: { allowed: 3 },
    })
    const said = (await account('said', 'given.example', { quota: 99, recipients: 50 })).body.id
    expect((await call('GET', `/users/${said}`)).body.limits).toMatchObject({
      quota: { allowed: 99 },
      recipients: { allowed: 50 },
      filters: { allowed: 3 },
    })
    expect(
      (await call('PUT', '/domains/given.example', { defaultQuota: 0, defaultLimits: { filters: 0 } })).body,
    ).toMatchObject({ defaultQuota: 0, defaultLimits: { recipients: 5 } })
  })
})

describe('who gets the rest of a domain', () => {
  test('is the address with a star, one thing in both places', async () => {
    const [first, second] = [await user('catcher'), await user('other')]
    await call('POST', '/domains', { name: 'caught.example', catchAll: { user: first } })
    const shown = async () => (await call('GET', '/domains/caught.example')).body.catchAll
    expect(await shown()).toMatchObject({ address: '*@caught.example', user: first })
    const answer = async () => (await send(running, 'anybody@caught.example', 'Subject: x\n\nHello\n'))[0]?.slice(0, 3)
    expect(await answer()).toBe('250')
    expect((await call('PUT', '/domains/caught.example', { catchAll: { user: second } })).body.catchAll.user).toBe(
      second,
    )
    const addresses = async (id: string) =>
      (await call('GET', `/users/${id}/addresses`)).body.results.map((one: { address: string }) => one.address)
    expect(await addresses(first)).toEqual(['catcher@example.com'])
    expect(await addresses(second)).toContain('*@caught.example')
    const targets = ['far@away.example', 'smtp://user:secret@relay.example']
    const forwarded = (await call('PUT', '/domains/caught.example', { catchAll: { targets } })).body.catchAll
    expect(forwarded.targets[0]).toBe('far@away.example')
    expect(forwarded.targets[1]).not.toContain('secret')
    expect(await addresses(second)).not.toContain('*@caught.example')
    // Passwords that were masked stay.
    expect((await call('PUT', '/domains/caught.example', { catchAll: { targets: forwarded.targets } })).status).toBe(
      200,
    )
    await call('PUT', '/domains/caught.example', { catchAll: false })
    expect(await shown()).toBe(false)
    expect(await answer()).toBe('550')
    await call('POST', `/users/${first}/addresses`, { address: '*@caught.example', allowWildcard: true })
    expect(await shown()).toMatchObject({ user: first })
  })

  test('stays who it was where the new one is nobody, or the domain is full', async () => {
    const id = await user('stays')
    await call('POST', '/domains', { name: 'kept.example', catchAll: { user: id }, maxForwards: 1 })
    await call('POST', '/addresses/forwarded', { address: 'f@kept.example', targets: ['x@far.example'] })
    const put = (catchAll: object) => refusal('PUT', '/domains/kept.example', { catchAll })
    expect(await put({ user: '5f0000000000000000000000' })).toEqual([404, 'UserNotFound'])
    expect(await put({ targets: ['y@far.example'] })).toEqual([403, 'DomainLimit'])
    expect((await call('GET', '/domains/kept.example')).body.catchAll.user).toBe(id)
  })
})
