import { describe, expect, test } from 'vitest'
import { limits } from '#lib/limits.ts'
import { jsonAt } from '#store/engine/dialect.ts'
import { useTeal } from '../../../running.ts'
import { eventually, send } from '../mail.ts'

// Without deliveries, events gather where they can be looked at.
const running = useTeal({ webhooks: { enabled: false } })
const { call, user } = running

async function tokenOf(id: string): Promise<string> {
  return (await running.teal.core.access.issue(id, 1)).token
}

async function refusal(method: string, path: string, body?: unknown, token?: string): Promise<[number, string]> {
  const answer = await call(method, path, body, token)
  return [answer.status, answer.body.code]
}

const nobody = '5f0000000000000000000000'

describe('addresses of a user', () => {
  test('are added, shown, renamed, made the main one and taken away', async () => {
    const id = await user('addr')
    const form = {
      address: 'Se.cond@Example.com',
      name: 'Second',
      tags: ['T'],
      metaData: { a: 1 },
      internalData: { b: 2 },
    }
    const { body } = await call('POST', `/users/${id}/addresses`, form)
    expect(body).toEqual({ success: true, id: expect.stringMatching(/^[0-9a-f]{24}$/) })
    const path = `/users/${id}/addresses/${body.id}`
    const shown = {
      id: body.id,
      name: 'Second',
      address: 'Se.cond@example.com',
      main: false,
      created: expect.stringMatching(/Z$/),
      tags: ['T'],
    }
    expect((await call('GET', path)).body).toEqual({
      success: true,
      ...shown,
      metaData: { a: 1 },
      internalData: { b: 2 },
    })
    expect((await call('GET', `/users/${id}/addresses`)).body.results[1]).toEqual(shown)

    expect((await call('PUT', path, { address: 'third@example.com', name: '', metaData: { c: 3 } })).body.success).toBe(
      true,
    )
    expect((await call('PUT', path, { main: true })).body.success).toBe(true)
    expect((await call('GET', `/users/${id}`)).body.address).toBe('third@example.com')
    expect((await call('PUT', path, { address: 'fourth@example.com' })).body.success).toBe(true)
    expect((await call('GET', `/users/${id}`)).body.address).toBe('fourth@example.com')
    expect(await refusal('PUT', path, { main: false })).toEqual([400, 'InputValidationError'])
    expect(await refusal('DELETE', path)).toEqual([400, 'NotPermitted'])

    const [first] = (await call('GET', `/users/${id}/addresses`)).body.results
    expect((await call('DELETE', `/users/${id}/addresses/${first.id}`)).body).toEqual({ success: true })
    expect(await refusal('GET', `/users/${id}/addresses/${first.id}`)).toEqual([404, 'AddressNotFound'])
    expect(await refusal('PUT', `/users/${id}/addresses/${first.id}`, { name: 'x' })).toEqual([404, 'AddressNotFound'])
    expect(await refusal('DELETE', `/users/${id}/addresses/${first.id}`)).toEqual([404, 'AddressNotFound'])
  })

  test('are unique without dots and case, also in a race', async () => {
    const [one, two] = [await user('uniq1'), await user('uniq2')]
    const made = await Promise.all(
      ['r.ace@example.com', 'RACE@example.com', 'ra.ce@EXAMPLE.com', 'race@example.com'].map((address, index) =>
        call('POST', `/users/${index % 2 === 0 ? one : two}/addresses`, { address }),
      ),
    )
    expect(made.map(answer => answer.status).sort()).toEqual([200, 400, 400, 400])
    expect(new Set(made.map(answer => answer.body.code))).toEqual(new Set([undefined, 'AddressExistsError']))
    expect(await refusal('POST', '/addresses/forwarded', { address: 'r.a.ce@example.com' })).toEqual([
      400,
      'AddressExistsError',
    ])
  })

  test('refuse labels, wildcards that were not meant and strangers', async () => {
    const id = await user('strict')
    const path = `/users/${id}/addresses`
    expect(await refusal('POST', path, { address: 'a+b@example.com' })).toEqual([400, 'InputValidationError'])
    expect(await refusal('POST', path, { address: '*@strict.example' })).toEqual([400, 'WildcardNotPermitted'])
    for (const address of ['**@x.example', 'a*b@x.example', '*@*', `*${'x'.repeat(33)}@x.example`]) {
      expect(await refusal('POST', path, { address, allowWildcard: true })).toEqual([400, 'InputValidationError'])
    }
    expect(await refusal('POST', `/users/${nobody}/addresses`, { address: 'a@example.com' })).toEqual([
      404,
      'UserNotFound',
    ])
    const { body } = await call('POST', path, { address: '*@strict.example', allowWildcard: true })
    expect(await refusal('PUT', `${path}/${body.id}`, { main: true })).toEqual([400, 'WildcardNotPermitted'])
    expect(await refusal('PUT', `${path}/${body.id}`, { address: 'x@strict.example' })).toEqual([
      400,
      'ChangeNotAllowed',
    ])
  })

  test('do not become wildcards by another name, and wildcards stay what they are', async () => {
    const id = await user('rename')
    const [main] = (await call('GET', `/users/${id}/addresses`)).body.results
    const wild = (await call('POST', `/users/${id}/addresses`, { address: '*@rename.example', allowWildcard: true }))
      .body
    const plain = { address: 'f@rename.example', targets: ['x@example.net'] }
    const forwarded = (await call('POST', '/addresses/forwarded', plain)).body
    const all = { address: '*@f.rename.example', allowWildcard: true }
    const forwardedAll = (await call('POST', '/addresses/forwarded', all)).body
    for (const path of [`/users/${id}/addresses/${main.id}`, `/addresses/forwarded/${forwarded.id}`]) {
      expect(await refusal('PUT', path, { address: '*@other.example' })).toEqual([400, 'WildcardNotPermitted'])
    }
    for (const path of [`/users/${id}/addresses/${wild.id}`, `/addresses/forwarded/${forwardedAll.id}`]) {
      expect(await refusal('PUT', path, { address: '*@other.example' })).toEqual([400, 'ChangeNotAllowed'])
      expect(await refusal('PUT', path, { address: 'x@other.example' })).toEqual([400, 'ChangeNotAllowed'])
    }
    const same = { address: '*@rename.example', name: 'Whoever' }
    expect((await call('PUT', `/users/${id}/addresses/${wild.id}`, same)).status).toBe(200)
    expect((await call('GET', `/users/${id}`)).body.address).toBe('rename@example.com')
  })

  test('are one where DNS takes their domains for one', async () => {
    const id = await user('wide')
    for (const address of ['wide@ｅｘａｍｐｌｅ.com', 'wide@Éxample.com', 'wide@\u0065\u0301xample.com']) {
      await call('POST', `/users/${id}/addresses`, { address })
    }
    const shown = (await call('GET', `/users/${id}/addresses`)).body.results
    expect(shown.map((one: { address: string }) => one.address)).toEqual(['wide@example.com', 'wide@éxample.com'])
    expect(await refusal('POST', `/users/${id}/addresses`, { address: 'wide@ｅｘａｍｐｌｅ.com' })).toEqual([
      400,
      'AddressExistsError',
    ])
    const alias = { alias: 'ｅｘａｍｐｌｅ.com', domain: 'example.com' }
    expect(await refusal('POST', '/domainaliases', alias)).toEqual([400, 'InputValidationError'])
  })

  test('a user claims neither catch-alls nor hidden data', async () => {
    const id = await user('claimer')
    const token = await tokenOf(id)
    const path = '/users/me/addresses'
    const wild = { address: '*@claimed.example', allowWildcard: true }
    expect(await refusal('POST', path, wild, token)).toEqual([400, 'WildcardNotPermitted'])
    const form = { address: 'mine@example.com', internalData: { x: 1 } }
    const { body } = await call('POST', path, form, token)
    expect(body.success).toBe(true)
    const shown = (await call('GET', `/users/${id}/addresses/${body.id}`)).body
    expect(shown.internalData).toEqual({})
    expect((await call('GET', `${path}/${body.id}`, undefined, token)).body).not.toHaveProperty('internalData')
    const [other] = (await call('GET', `/users/${await user('owner')}/addresses`)).body.results
    expect(await refusal('DELETE', `${path}/${other.id}`, undefined, token)).toEqual([404, 'AddressNotFound'])
    expect(await refusal('PUT', `${path}/${other.id}`, { name: 'x' }, token)).toEqual([404, 'AddressNotFound'])
    const own = `${path}/${body.id}`
    expect(await refusal('PUT', own, { address: '*@example.com' }, token)).toEqual([400, 'WildcardNotPermitted'])
    const all = (await call('GET', '/addresses', undefined, token)).body
    expect(all.total).toBe(2)
    expect(all.results.every((one: { user: string }) => one.user === id)).toBe(true)
  })

  test('a user gives itself only so many, in domains it is in, and none that speaks for the domain', async () => {
    const id = await user('grabber')
    const token = await tokenOf(id)
    const path = '/users/me/addresses'
    const { body } = await call('POST', path, { address: 'grab.two@example.com' }, token)
    for (const address of ['ceo@bank.example', 'x@sub.example.com', 'Post.Master@example.com', 'admin@example.com']) {
      expect(await refusal('POST', path, { address }, token)).toEqual([400, 'NotPermitted'])
      expect(await refusal('PUT', `${path}/${body.id}`, { address }, token)).toEqual([400, 'NotPermitted'])
    }
    expect((await call('PUT', `${path}/${body.id}`, { address: 'Grab2@example.com' }, token)).status).toBe(200)
    await call('POST', `/users/${id}/addresses`, { address: 'x@second.example' })
    expect((await call('POST', path, { address: 'y@second.example' }, token)).status).toBe(200)
    expect((await call('POST', `/users/${id}/addresses`, { address: 'abuse@second.example' })).status).toBe(200)
    await user('named', { username: 'login.name@example.com', emptyAddress: true, address: undefined })
    expect(await refusal('POST', path, { address: 'loginname@example.com' }, token)).toEqual([
      400,
      'AddressExistsError',
    ])
    let made = 5
    const more = (as?: string) => call('POST', `/users/${id}/addresses`, { address: `grab-${made}@example.com` }, as)
    for (; made < limits.user.ownAddressesMax; made++) expect((await more(token)).status).toBe(200)
    const refused = await more(token)
    expect([refused.status, refused.body.code]).toEqual([403, 'TooMany'])
    expect((await more()).status).toBe(200)
  })
})

describe('forwarded addresses', () => {
  test('are made with everything, changed, listed and deleted', async () => {
    const targets = ['one@example.net', 'smtp://relay.example.net:25', 'https://hook.example.net/x']
    const form = {
      address: 'For.ward@example.com',
      name: 'Forward',
      targets,
      forwards: 5,
      autoreply: { status: true, start: '2026-01-02T03:04:05.000Z', end: false, subject: 'Away', text: ' text ' },
      tags: ['Tag'],
      metaData: { a: 1 },
      internalData: { b: 2 },
    }
    const { body } = await call('POST', '/addresses/forwarded', form)
    const path = `/addresses/forwarded/${body.id}`
    expect((await call('GET', path)).body).toEqual({
      success: true,
      id: body.id,
      address: 'For.ward@example.com',
      name: 'Forward',
      targets,
      limits: { forwards: { allowed: 5, used: 0, ttl: false } },
      autoreply: form.autoreply,
      forwardedDisabled: false,
      created: expect.stringMatching(/Z$/),
      tags: ['Tag'],
      metaData: { a: 1 },
      internalData: { b: 2 },
    })
    await call('PUT', `/addresses/forwarded/${body.id}`, {
      metaData: { c: 3 },
      forwardedDisabled: true,
      targets: ['two@example.net'],
    })
    const changed = (await call('GET', path)).body
    expect(changed).toMatchObject({ metaData: { c: 3 }, forwardedDisabled: true, targets: ['two@example.net'] })
    const listed = (await call('GET', '/addresses?forward=TWO@&metaData=true&internalData=1')).body
    expect(listed.results).toEqual([
      {
        id: body.id,
        name: 'Forward',
        address: 'For.ward@example.com',
        forwarded: true,
        forwardedDisabled: true,
        targets: ['two@example.net'],
        tags: ['Tag'],
        metaData: { c: 3 },
        internalData: { b: 2 },
      },
    ])
    expect(await refusal('PUT', path, { targets: ['forward@example.com'] })).toEqual([400, 'InputValidationError'])
    expect((await call('DELETE', path)).body).toEqual({ success: true })
    for (const method of ['GET', 'PUT', 'DELETE']) {
      expect(await refusal(method, path, method === 'PUT' ? {} : undefined)).toEqual([404, 'AddressNotFound'])
    }
    const { read } = running.teal.core
    const names = await read.all<{ name: string; body: string }>(
      `SELECT name, body FROM event WHERE name LIKE 'address.forwarded.%' AND ${jsonAt('body', 'address')} = ? ORDER BY num`,
      body.id,
    )
    const told = { address: body.id, value: 'For.ward@example.com' }
    expect(names.map(row => [row.name, JSON.parse(row.body)])).toEqual([
      ['address.forwarded.created', told],
      ['address.forwarded.deleted', told],
    ])
  })

  test('an address of a user is none', async () => {
    const id = await user('nofwd')
    const [own] = (await call('GET', `/users/${id}/addresses`)).body.results
    expect(await refusal('GET', `/addresses/forwarded/${own.id}`)).toEqual([404, 'AddressNotFound'])
    expect(await refusal('DELETE', `/addresses/forwarded/${own.id}`)).toEqual([404, 'AddressNotFound'])
    expect(await refusal('POST', '/addresses/forwarded', { address: 'x@example.com', targets: ['no'] })).toEqual([
      400,
      'InputValidationError',
    ])
  })
})

describe('resolution', () => {
  test('is exact, by alias domain, and by wildcards with the longer part first', async () => {
    const id = await user('res', { address: 'first.last@res.example' })
    await call('POST', '/domainaliases', { alias: 'jõgeva.öö', domain: 'res.example' })
    for (const address of ['*@res.example', '*-x@res.example', 'pre*@res.example', 'every@*']) {
      await call('POST', `/users/${id}/addresses`, { address, allowWildcard: true })
    }
    const resolve = async (address: string, wildcards = true) =>
      (await call('GET', `/addresses/resolve/${encodeURIComponent(address)}?allowWildcard=${wildcards}`)).body.address
    expect(await resolve('FirstLast+tag@RES.example')).toBe('first.last@res.example')
    expect(await resolve('firstlast@xn--jgeva-dua.xn--ndaa', false)).toBe('first.last@res.example')
    expect(await resolve('some-x@res.example')).toBe('*-x@res.example')
    expect(await resolve('prefixed@res.example')).toBe('pre*@res.example')
    expect(await resolve('any@res.example')).toBe('*@res.example')
    expect(await resolve('any@jõgeva.öö')).toBe('*@res.example')
    expect(await resolve('every@elsewhere.example')).toBe('every@*')
    expect(await resolve('every@jõgeva.öö')).toBe('*@res.example')
    expect(await refusal('GET', '/addresses/resolve/any@res.example')).toEqual([404, 'AddressNotFound'])
    const { body: found } = await call('GET', '/addresses/resolve/firstlast@res.example')
    expect((await call('GET', `/addresses/resolve/${found.id}`)).body).toEqual(found)
    expect(await refusal('GET', `/addresses/resolve/${id}`)).toEqual([404, 'AddressNotFound'])

    const replies = await send(
      running,
      ['firstlast@xn--jgeva-dua.xn--ndaa', 'other@res.example', 'x@else.example'],
      'a: b\n\nx\n',
    )
    expect(replies.map(reply => reply.slice(0, 3))).toEqual(['250', '250', '550'])
    const login = await running.teal.core.credentials.authentication.authenticate({
      username: 'first.last@jõgeva.öö',
      password: 'secret of res',
      scope: 'imap',
      protocol: 'IMAP',
      session: '',
      ip: '127.0.0.1',
    } as never)
    expect(login.user).toBe(id)
  })
})

describe('a domain gets another name', () => {
  test('in every address, alias and main address', async () => {
    const id = await user('dom', { address: 'a.b@old.example' })
    await call('POST', `/users/${id}/addresses`, { address: '*@old.example', allowWildcard: true })
    const other = await user('dom2', { address: 'second@stays.example' })
    await call('POST', `/users/${other}/addresses`, { address: 'side@old.example' })
    await call('POST', '/addresses/forwarded', { address: 'fwd@old.example', targets: ['x@example.net'] })
    await call('POST', '/domainaliases', { alias: 'alias.example', domain: 'old.example' })
    const rename = { oldDomain: 'OLD.example', newDomain: 'new.example' }
    expect((await call('PUT', '/addresses/renameDomain', rename)).body).toEqual({
      success: true,
      modifiedAddresses: 4,
      modifiedUsers: 1,
      modifiedDkim: 0,
      modifiedAliases: 1,
    })
    expect((await call('GET', `/users/${id}`)).body.address).toBe('a.b@new.example')
    const found = (await call('GET', '/addresses?query=new.example')).body.results
    expect(found.map((one: { address: string }) => one.address).sort()).toEqual([
      '*@new.example',
      'a.b@new.example',
      'fwd@new.example',
      'side@new.example',
    ])
    expect((await call('GET', '/addresses/resolve/side@alias.example')).body.user).toBe(other)
    const { read } = running.teal.core
    const row = await read.one<{ body: string }>("SELECT body FROM event WHERE name = 'address.domain.renamed'")
    expect(JSON.parse(row?.body ?? '')).toEqual({ previous: 'old.example', current: 'new.example' })
    expect((await call('PUT', '/addresses/renameDomain', rename)).body.modifiedAddresses).toBe(0)
  })

  test('but not where an address is taken, and then nowhere', async () => {
    const id = await user('clash', { address: 'one@from.example' })
    await call('POST', `/users/${id}/addresses`, { address: 'two@from.example' })
    await user('clash2', { address: 'two@to.example' })
    const rename = { oldDomain: 'from.example', newDomain: 'to.example' }
    expect(await refusal('PUT', '/addresses/renameDomain', rename)).toEqual([400, 'AddressExistsError'])
    expect((await call('GET', `/users/${id}`)).body.address).toBe('one@from.example')
    const same = { oldDomain: 'from.example', newDomain: 'FROM.example' }
    expect(await refusal('PUT', '/addresses/renameDomain', same)).toEqual([400, 'InputValidationError'])
  })
})

test('the list of all is filtered and paged by address without dots', async () => {
  const id = await user('lister', { address: 'b.b@list.example' })
  await call('POST', `/users/${id}/addresses`, { address: 'a@list.example', tags: ['Blue'] })
  await call('POST', `/users/${id}/addresses`, { address: 'c@list.example', tags: ['blue', 'red'] })
  const list = async (query: string) => (await call('GET', `/addresses?query=LIST.example&${query}`)).body
  const names = (body: { results: { address: string }[] }) => body.results.map(one => one.address[0]).join('')
  expect(names(await list(''))).toBe('abc')
  expect(names(await list('tags=BLUE'))).toBe('ac')
  expect(names(await list('requiredTags=blue,RED'))).toBe('c')
  const first = await list('limit=2')
  const second = await list(`limit=2&next=${first.nextCursor}`)
  expect([names(first), names(second), second.page]).toEqual(['ab', 'c', 2])
  expect(names(await list(`limit=2&previous=${second.previousCursor}`))).toBe('ab')
  expect((await list('limit=-1')).code).toBe('InputValidationError')
})

test('tags and letters beyond ASCII are found in any case', async () => {
  const form = { name: 'Õie Ärimees', address: 'Õnne@letters.example', tags: [' ÄRI ', 'Plain'] }
  const id = await user('letters', { ...form, addTagsToAddress: true })
  for (const query of ['query=Õie', 'query=õIE ä', 'query=ÕNNE', 'tags=äri', 'requiredTags=PLAIN,Äri']) {
    const users = (await call('GET', `/users?${query}`)).body.results
    expect([query, users.map((one: { id: string }) => one.id)]).toEqual([query, [id]])
  }
  for (const query of ['query=ÕNNE@', 'tags=äri,none', 'requiredTags=ÄRI']) {
    const found = (await call('GET', `/addresses?${query}`)).body.results
    expect([query, found.map((one: { address: string }) => one.address)]).toEqual([query, ['Õnne@letters.example']])
  }
  expect((await call('GET', `/users/${id}`)).body.tags).toEqual(['ÄRI', 'Plain'])
})

test('the address register learns senders, not lists, and completes', async () => {
  const id = await user('reg')
  const to = 'reg@example.com'
  await send(running, to, 'From: Ann Example <ann@friends.example>\nSubject: hi\n\nx\n')
  await send(running, to, 'From: Bob <bob@jõgeva.example>\nSubject: hi 2\n\nx\n')
  await send(running, to, 'From: List <list@lists.example>\nList-Id: <a.lists.example>\n\nx\n')
  await send(running, to, 'From: Robot <no-reply@robots.example>\n\nx\n')
  const search = async (query: string) =>
    (await call('GET', `/users/${id}/addressregister?query=${encodeURIComponent(query)}`)).body.results
  const found = await eventually(
    () => search('example'),
    rows => rows.length > 0,
  )
  expect(found).toEqual([
    { id: expect.any(String), name: 'Bob', address: 'bob@jõgeva.example' },
    { id: expect.any(String), name: 'Ann Example', address: 'ann@friends.example' },
  ])
  expect(await search('ann ex')).toHaveLength(1)
  expect(await search('xample, no name begins so')).toEqual([])
  expect(await search('%')).toEqual([])
  const path = `/users/${id}/addressregister/${found[1].id}`
  expect((await call('PUT', path, { disabled: false, name: 'Anna' })).body).toEqual({ success: true })
  expect((await search('anna'))[0].name).toBe('Anna')
  expect((await call('PUT', path, { disabled: true })).body).toEqual({ success: true })
  expect(await search('friends')).toEqual([])
  expect(await call('PUT', `/users/${id}/addressregister/${nobody}`, { disabled: true })).toEqual({
    status: 200,
    body: { success: false, error: expect.any(String), code: 'AddressNotFound' },
  })
  expect(await refusal('GET', `/users/${id}/addressregister`)).toEqual([400, 'InputValidationError'])
})

test('the address register learns from uploads at once: senders, and recipients of what lies in Sent', async () => {
  const id = await user('regup')
  const { results } = (await call('GET', `/users/${id}/mailboxes`)).body
  const folder = (path: string) => results.find((one: { path: string }) => one.path === path).id
  const upload = (path: string, more: object) =>
    call('POST', `/users/${id}/mailboxes/${folder(path)}/messages`, { subject: 'x', text: 'x', ...more })
  const from = (address: string) => ({ from: { name: 'Some One', address } })
  await upload('INBOX', from('inbox@up.example'))
  await upload('Junk', from('junk@up.example'))
  await upload('INBOX', { ...from('draft@up.example'), draft: true })
  await upload('Sent Mail', { ...from('regup@example.com'), to: [{ address: 'sent@up.example' }] })
  const found = (await call('GET', `/users/${id}/addressregister?query=up.example`)).body.results
  expect(found.map((one: { address: string }) => one.address).sort()).toEqual(['inbox@up.example', 'sent@up.example'])
})
