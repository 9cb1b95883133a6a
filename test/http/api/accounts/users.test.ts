import { describe, expect, test } from 'vitest'
import { limits } from '#lib/limits.ts'
import { useTeal } from '../../../running.ts'
import { send } from '../mail.ts'

// Without deliveries, events gather where they can be looked at.
const running = useTeal({ webhooks: { enabled: false } })
const { call, user, raw } = running

/** A token of an account whose password was never changed. */
async function tokenOf(id: string): Promise<string> {
  return (await running.teal.core.access.issue(id, 1)).token
}

describe('create', () => {
  test('takes every field and shows it again', async () => {
    const form = {
      username: 'Full.Name',
      password: 'a long password',
      address: 'Full.Name+label@Example.COM',
      name: 'Full Name',
      language: 'et',
      retention: 86_400_000,
      targets: ['other@example.net', 'smtp://relay.example.net:25', 'https://hook.example.net/in'],
      mtaRelay: 'smtps://user:pass@relay.example.net',
      spamLevel: 30,
      quota: 5_000_000,
      recipients: 11,
      forwards: 12,
      filters: 13,
      imapMaxUpload: 14,
      imapMaxDownload: 15,
      pop3MaxDownload: 16,
      pop3MaxMessages: 17,
      imapMaxConnections: 18,
      receivedMax: 19,
      fromWhitelist: ['*@example.org'],
      tags: ['One', 'two'],
      addTagsToAddress: true,
      disabledScopes: ['pop3'],
      metaData: { a: 1 },
      internalData: '{"b":2}',
      encryptForwarded: false,
      featureFlags: { indexing: true },
      require2faEnabled: true,
      uploadSentMessages: true,
    }
    const { body } = await call('POST', '/users', form)
    expect(body).toEqual({ success: true, id: expect.stringMatching(/^[0-9a-f]{24}$/) })
    const shown = (await call('GET', `/users/${body.id}`)).body
    expect(shown).toMatchObject({
      username: 'full.name',
      name: 'Full Name',
      address: 'Full.Name@example.com',
      language: 'et',
      retention: 86_400_000,
      targets: form.targets,
      mtaRelay: 'smtps://user:***@relay.example.net',
      spamLevel: 30,
      fromWhitelist: ['*@example.org'],
      tags: ['One', 'two'],
      disabledScopes: ['pop3'],
      metaData: { a: 1 },
      internalData: { b: 2 },
      featureFlags: { indexing: true },
      require2faEnabled: true,
      uploadSentMessages: true,
      hasPasswordSet: true,
      activated: true,
      disabled: false,
      suspended: false,
      limits: {
        quota: { allowed: 5_000_000, used: 0 },
        recipients: { allowed: 11, used: 0, ttl: false },
        forwards: { allowed: 12, used: 0, ttl: false },
        filters: { allowed: 13, used: 0 },
        imapUpload: { allowed: 14, used: 0, ttl: false },
        imapDownload: { allowed: 15, used: 0, ttl: false },
        pop3Download: { allowed: 16, used: 0, ttl: false },
        pop3MaxMessages: { allowed: 17 },
        imapMaxConnections: { allowed: 18, used: 0 },
        received: { allowed: 19, used: 0, ttl: false },
      },
    })
    const addresses = (await call('GET', `/users/${body.id}/addresses`)).body.results
    expect(addresses).toMatchObject([{ address: 'Full.Name@example.com', main: true, tags: ['One', 'two'] }])
    const folders = (await call('GET', `/users/${body.id}/mailboxes`)).body.results
    const junk = folders.find((one: { specialUse: string }) => one.specialUse === '\\Junk')
    expect(junk.path).toBe('Rämpspost')
    expect(junk.retention).toBe(86_400_000)
  })

  test('honours names of special folders and refuses two alike', async () => {
    const id = await user('folders', { mailboxes: { sent: 'Gone', trash: 'Bin/Old' } })
    const paths = (await call('GET', `/users/${id}/mailboxes`)).body.results.map((one: { path: string }) => one.path)
    expect(paths).toEqual(['INBOX', 'Bin/Old', 'Drafts', 'Gone', 'Junk'])
    const twice = { username: 'twice', password: 'secret', mailboxes: { sent: 'Same', trash: 'Same' } }
    const { status, body } = await call('POST', '/users', twice)
    expect([status, body.code]).toEqual([400, 'InputValidationError'])
    expect(body.details).toHaveProperty('mailboxes')
  })

  test('makes an address from the name, or none', async () => {
    const plain = await call('POST', '/users', { username: 'plain', password: false })
    expect((await call('GET', `/users/${plain.body.id}`)).body.address).toMatch(/^plain@./)
    const mail = await call('POST', '/users', { username: 'as.mail@example.org', password: false })
    expect((await call('GET', `/users/${mail.body.id}`)).body.address).toBe('as.mail@example.org')
    const none = await call('POST', '/users', { username: 'nomail', password: false, emptyAddress: true })
    const shown = (await call('GET', `/users/${none.body.id}`)).body
    expect([shown.address, shown.hasPasswordSet]).toEqual(['', false])
  })

  test('lets exactly one of many have a name, dots or not, or an address', async () => {
    const names = ['race', 'r.ace', 'ra.ce', 'rac.e', 'r.a.c.e']
    const made = await Promise.all(
      names.map((username, index) =>
        call('POST', '/users', { username, password: false, address: `race${index}@example.com` }),
      ),
    )
    expect(made.filter(one => one.status === 200)).toHaveLength(1)
    for (const { status, body } of made.filter(one => one.status !== 200)) {
      expect([status, body.code]).toEqual([400, 'UserExistsError'])
      expect(names).toContain(body.username)
    }
    const same = await Promise.all(
      [1, 2, 3, 4].map(n =>
        call('POST', '/users', { username: `same${n}`, password: false, address: 'sa.me@example.com' }),
      ),
    )
    expect(same.map(one => one.status).sort()).toEqual([200, 400, 400, 400])
    expect(same.find(one => one.status === 400)?.body.code).toBe('AddressExistsError')
  })

  test.each([
    ['username', { username: 'ömyuser2' }],
    ['username', { username: 'a..b' }],
    ['password', {}],
    ['address', { address: 'nobody' }],
    ['address', { address: '*@example.com' }],
    ['targets,0', { targets: ['ftp://x'] }],
    ['spamLevel', { spamLevel: 101 }],
    ['quota', { quota: -1 }],
    ['mailboxes,sent', { mailboxes: { sent: 'a//b' } }],
    ['disabledScopes,0', { disabledScopes: ['master'] }],
    ['tags,0', { tags: [' '] }],
    ['fromWhitelist,0', { fromWhitelist: [''] }],
    ['retention', { retention: Number.MAX_SAFE_INTEGER }],
    ['metaData', { metaData: 'no json' }],
    ['color', { color: 'red' }],
  ])('names %s when it is bad', async (field, more) => {
    const password = field === 'password' ? {} : { password: 'secret' }
    const { status, body } = await call('POST', '/users', { username: 'bad', ...password, ...more })
    expect([status, body.code]).toEqual([400, 'InputValidationError'])
    expect(Object.keys(body.details)).toEqual([field])
  })
})

test('what is said twice counts once', async () => {
  const form = { tags: ['B', 'a', 'b', 'A'], disabledScopes: ['smtp', 'imap', 'smtp', 'imap'] }
  const id = await user('twofold', { ...form, targets: ['w@twice.example', 'y@twice.example', 'w@twice.example'] })
  expect((await call('GET', `/users/${id}`)).body).toMatchObject({
    tags: ['B', 'a'],
    disabledScopes: ['smtp', 'imap'],
    targets: ['w@twice.example', 'y@twice.example'],
  })
})

describe('no password', () => {
  test('is an empty text as well as false, when made and when changed', async () => {
    const id = await user('open', { password: '' })
    const has = async () => (await call('GET', `/users/${id}`)).body.hasPasswordSet
    const enter = async () => (await call('POST', '/authenticate', { username: 'open', password: 'set' })).body.code
    expect(await has()).toBe(false)
    await call('PUT', `/users/${id}`, { password: 'set' })
    expect([await has(), await enter()]).toEqual([true, undefined])
    await call('PUT', `/users/${id}`, { password: '' })
    expect([await has(), await enter()]).toEqual([false, 'AuthFailed'])
  })

  test('needs none to confirm a change', async () => {
    const id = await user('bare', { password: false })
    const form = { existingPassword: 'there is none', password: 'first one' }
    expect((await call('PUT', '/users/me', form, await tokenOf(id))).status).toBe(200)
    expect((await call('POST', '/authenticate', { username: 'bare', password: 'first one' })).status).toBe(200)
  })
})

describe('list and resolve', () => {
  test('filters by name, tags and targets, and pages back and forth', async () => {
    await user('list1', { tags: ['Blue', 'red'], targets: ['x@example.net'] })
    await user('list2', { tags: ['blue'] })
    await user('list3', { name: 'Findme Person' })
    const names = async (query: string) =>
      (await call('GET', `/users?${query}`)).body.results.map((one: { username: string }) => one.username)
    expect(await names('tags=BLUE,green')).toEqual(['list1', 'list2'])
    expect(await names('requiredTags=blue,RED')).toEqual(['list1'])
    expect(await names('forward=X@example')).toEqual(['list1'])
    expect(await names('query=findme')).toEqual(['list3'])
    expect(await names('query=list')).toEqual(['list1', 'list2', 'list3'])
    const [one] = (await call('GET', '/users?query=list1')).body.results
    expect(one.quota).toEqual((await call('GET', `/users/${one.id}`)).body.limits.quota)
    const first = (await call('GET', '/users?query=list&limit=2')).body
    expect(first).toMatchObject({ total: 3, page: 1, previousCursor: false })
    const second = (await call('GET', `/users?query=list&limit=2&next=${first.nextCursor}`)).body
    expect(second).toMatchObject({ page: 2, nextCursor: false, results: [{ username: 'list3' }] })
    const back = (await call('GET', `/users?query=list&limit=2&previous=${second.previousCursor}`)).body
    expect(back.results).toEqual(first.results)
    const found = (await call('GET', '/users/resolve/LI.ST1')).body
    expect(found).toEqual({ success: true, id: first.results[0].id })
    expect((await call('GET', '/users/resolve/unheard')).body.code).toBe('UserNotFound')
  })
})

describe('change', () => {
  test('changes what is given and nothing else', async () => {
    const id = await user('change', { uploadSentMessages: true, tags: ['a'] })
    const { body } = await call('PUT', `/users/${id}`, { name: 'New', quota: 7, metaData: { x: 1 }, tags: ['b'] })
    expect(body).toEqual({ success: true })
    const shown = (await call('GET', `/users/${id}`)).body
    expect(shown).toMatchObject({ name: 'New', uploadSentMessages: true, tags: ['b'], metaData: { x: 1 } })
    expect(shown.limits.quota.allowed).toBe(7)
    await call('PUT', `/users/${id}`, { mtaRelay: 'smtp://relay.example.net' })
    expect((await call('GET', `/users/${id}`)).body.mtaRelay).toBe('smtp://relay.example.net')
    await call('PUT', `/users/${id}`, { mtaRelay: false, targets: [] })
    expect((await call('GET', `/users/${id}`)).body).not.toHaveProperty('mtaRelay')
    const unknown = await call('PUT', '/users/5f0000000000000000000000', { name: 'x' })
    expect([unknown.status, unknown.body.code]).toEqual([404, 'UserNotFound'])
  })

  test('a user changes the own name, not the own limits', async () => {
    const id = await user('self')
    const token = await tokenOf(id)
    const form = { name: 'Mine', quota: 1_000_000_000_000, tags: ['vip'], disabled: true }
    expect((await call('PUT', '/users/me', form, token)).status).toBe(200)
    const shown = (await call('GET', `/users/${id}`)).body
    expect(shown).toMatchObject({ name: 'Mine', tags: [], disabled: false })
    expect(shown.limits.quota.allowed).not.toBe(form.quota)
    const own = (await call('GET', '/users/me', undefined, token)).body
    expect(own).not.toHaveProperty('internalData')
    expect((await call('GET', '/users', undefined, token)).body).toMatchObject({ total: 1, results: [{ id }] })
  })

  test('a new password ends every other token and is an event', async () => {
    const id = await user('changer')
    const [mine, other] = [await tokenOf(id), await tokenOf(id)]
    const wrong = await call('PUT', '/users/me', { existingPassword: 'no', password: 'next one' }, mine)
    expect([wrong.status, wrong.body.code]).toEqual([403, 'AuthFail'])
    const form = { existingPassword: 'secret of changer', password: 'next one' }
    expect((await call('PUT', '/users/me', form, mine)).status).toBe(200)
    expect((await call('GET', `/users/${id}`, undefined, mine)).status).toBe(200)
    expect((await call('GET', `/users/${id}`, undefined, other)).status).toBe(403)
  })

  test('another user is out of reach', async () => {
    const victim = await user('victim')
    const token = await tokenOf(await user('attacker'))
    for (const [method, path, body] of [
      ['GET', `/users/${victim}`, undefined],
      ['PUT', `/users/${victim}`, { name: 'x' }],
      ['PUT', `/users/${victim}/logout`, {}],
      ['POST', `/users/${victim}/quota/reset`, {}],
      ['DELETE', `/users/${victim}`, undefined],
      ['GET', `/users/${victim}/restore`, undefined],
      ['GET', `/users/${victim}/addresses`, undefined],
      ['POST', `/users/${victim}/addresses`, { address: 'x@example.com' }],
      ['GET', `/users/${victim}/mailboxes`, undefined],
      ['POST', `/users/${victim}/mailboxes`, { path: 'x' }],
      ['GET', `/users/${victim}/storage`, undefined],
      ['POST', `/users/${victim}/storage`, { content: 'x' }],
      ['GET', `/users/${victim}/updates`, undefined],
      ['GET', `/users/${victim}/addressregister?query=x`, undefined],
      ['POST', '/quota/reset', {}],
      ['POST', '/users', { username: 'made', password: 'secret' }],
      ['GET', '/settings', undefined],
      ['GET', '/addresses/resolve/victim@example.com', undefined],
      ['POST', '/addresses/forwarded', { address: 'f@example.com' }],
      ['PUT', '/addresses/renameDomain', { oldDomain: 'a.com', newDomain: 'b.com' }],
      ['GET', '/domainaliases', undefined],
      ['GET', '/domainaccess/x/allow', undefined],
    ] as const) {
      const { status, body: answer } = await call(method, path, body, token)
      expect([path, status, answer.code]).toEqual([path, 403, 'MissingPrivileges'])
    }
  })
})

test('a retention as long as can be still has an end that is a date', async () => {
  const id = await user('keeper', { retention: limits.user.retentionMsMax })
  await send(running, 'keeper@example.com', 'Subject: kept\n\nx\n')
  const inbox = (await call('GET', `/users/${id}/mailboxes/resolve?path=INBOX`)).body
  expect(inbox.retention).toBe(limits.user.retentionMsMax)
  const message = await call('GET', `/users/${id}/mailboxes/${inbox.id}/messages/1`)
  expect(message.body.expires).toMatch(/^[34]\d{3}-/)
  const longer = { path: 'x', retention: limits.user.retentionMsMax + 1 }
  expect((await call('POST', `/users/${id}/mailboxes`, longer)).body.details).toHaveProperty('retention')
  expect((await call('PUT', `/users/${id}/mailboxes/${inbox.id}`, longer)).body.details).toHaveProperty('retention')
})

test('new forwarding targets are in the log, those there already are not told again', async () => {
  const id = await user('teller', { targets: ['one@example.net'] })
  await call('PUT', `/users/${id}`, { targets: ['one@example.net', 'https://two.example.net/x'], sess: 's1' })
  const entries = (await call('GET', `/users/${id}/authlog?action=user%20forward%20added`)).body.results
  expect(entries).toMatchObject([
    { target: 'https://two.example.net/x', sess: 's1', protocol: 'API', events: 1 },
    { target: 'one@example.net', events: 1 },
  ])
})

test('what lets an account in, where its mail goes and who changed that are in the log, without a secret', async () => {
  const { body: made } = await call('POST', '/tokens', { role: 'webmail', label: 'desk' })
  const id = await user('changed')
  for (const body of [
    {
      mtaRelay: 'smtps://u:hush@relay.example.net',
      suspended: true,
      ip: '192.0.2.7',
      disabledScopes: ['smtp', 'pop3'],
    },
    // As it was shown: nothing changes.
    { mtaRelay: 'smtps://u:***@relay.example.net', suspended: true },
    { mtaRelay: false, suspended: false, disabled: true, fromWhitelist: ['*@example.org'] },
    { disabled: false, targets: ['one@example.net'], pubKey: '' },
    { targets: [], name: 'of no interest' },
  ]) {
    expect((await call('PUT', `/users/${id}`, body, made.token)).body).toEqual({ success: true })
  }
  const { body: address } = await call('POST', `/users/${id}/addresses`, { address: 'also@example.com', main: true })
  await call('PUT', `/users/${id}/addresses/${address.id}`, { address: 'renamed@example.com' })
  const first = (await call('GET', `/users/${id}/addresses`)).body.results.find((one: { main: boolean }) => !one.main)
  await call('DELETE', `/users/${id}/addresses/${first.id}`)
  const { results } = (await call('GET', `/users/${id}/authlog?limit=50`)).body
  const told = results.map((one: { action: string; target?: string }) => `${one.action} ${one.target ?? ''}`.trim())
  expect(told.reverse()).toEqual([
    'account created',
    'account suspended',
    'scopes disabled pop3, smtp',
    'mta relay changed smtps://u:***@relay.example.net',
    'account disabled',
    'account resumed',
    'mta relay removed smtps://u:***@relay.example.net',
    'from whitelist changed',
    'account enabled',
    'user forward added one@example.net',
    'user forward removed one@example.net',
    'address added also@example.com',
    'main address changed also@example.com',
    'address removed also@example.com',
    'address added renamed@example.com',
    'address removed changed@example.com',
  ])
  const by = { role: 'webmail', token: made.id, label: 'desk', ip: '127.0.0.1' }
  expect(results.find((one: { action: string }) => one.action === 'account suspended')).toMatchObject({
    by,
    ip: '192.0.2.7',
  })
  const { body: login } = await call('POST', '/authenticate', {
    username: 'changed',
    password: 'secret of changed',
    token: true,
  })
  const shown = await call('GET', `/users/${id}/authlog?action=mta%20relay%20removed`, undefined, login.token)
  expect(shown.body.results[0].by).toEqual({ role: 'webmail', token: made.id, label: 'desk' })
})

describe('sessions and storage', () => {
  test('logout is told to whoever listens', async () => {
    const id = await user('listener')
    const stream = await raw('GET', `/users/${id}/updates`)
    const reader = stream.body?.pipeThrough(new TextDecoderStream()).getReader()
    expect((await call('PUT', `/users/${id}/logout`, { reason: 'time to go' })).body).toEqual({ success: true })
    let text = ''
    for (let part = await reader?.read(); part?.done === false; part = await reader?.read()) text += part.value
    expect(text).toContain('"command": "LOGOUT"')
    expect(text).toContain('"reason": "time to go"')
    const { results } = (await call('GET', `/users/${id}/authlog?action=logout`)).body
    expect(results).toMatchObject([{ action: 'logout', result: 'success', protocol: 'API' }])
    expect((await call('PUT', '/users/5f0000000000000000000000/logout', {})).body.code).toBe('UserNotFound')
  })

  test('counts anew what one user stores, and what all do as a task', async () => {
    const id = await user('counted')
    await call('POST', `/users/${id}/storage`, { content: 'x'.repeat(1000) })
    const { body } = await call('POST', `/users/${id}/quota/reset`, {})
    expect(body).toEqual({ success: true, storageUsed: 1000, previousStorageUsed: 1000 })
    const all = await call('POST', '/quota/reset', {})
    expect(all.body).toEqual({ success: true, task: expect.stringMatching(/^[0-9a-f]{24}$/) })
    expect((await call('POST', '/users/5f0000000000000000000000/quota/reset', {})).body.code).toBe('UserNotFound')
  })

  test('an own limit of received messages holds, is shown, and starts again when it is changed', async () => {
    const id = await user('storm', { receivedMax: 2 })
    const received = async () => (await call('GET', `/users/${id}`)).body.limits.received
    const replies: string[] = []
    for (let n = 0; n < 3; n++) replies.push(...(await send(running, 'storm@example.com', `a: ${n}\n\nx${n}\n`)))
    expect(replies.map(reply => reply.slice(0, 3))).toEqual(['250', '250', '451'])
    expect(replies[2]).toContain('4.2.1')
    expect(await received()).toEqual({ allowed: 2, used: 2, ttl: expect.any(Number) })
    await expect(running.teal.core.delivery.recipient('storm@example.com')).rejects.toMatchObject({
      code: 'DeliveryRateExceeded',
    })
    await call('PUT', `/users/${id}`, { receivedMax: 5 })
    expect(await received()).toEqual({ allowed: 5, used: 0, ttl: false })
    // Sessions that all have heard of room before any of them brought its message.
    const rest = Array.from({ length: 8 }, (_, n) => send(running, 'storm@example.com', `a: 1${n}\n\ny${n}\n`))
    const answers = (await Promise.all(rest)).flat().map(reply => reply.slice(0, 3))
    expect(answers.filter(code => code === '250')).toHaveLength(5)
    expect(answers.filter(code => code === '451')).toHaveLength(3)
    expect(await received()).toMatchObject({ used: 5 })
  })
})
