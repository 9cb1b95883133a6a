// Application passwords over HTTP, and the profiles made with them.

import * as pkijs from 'pkijs'
import { afterAll, afterEach, describe, expect, test } from 'vitest'
import { shiftClock } from '#lib/clock.ts'
import { aspSelector } from '#lib/secret/asp.ts'
import { useTeal } from '../../../running.ts'

const service = useTeal()
afterEach(() => shiftClock(0))
afterAll(() => shiftClock(0))

let number = 0
const fresh = async (more: Record<string, unknown> = {}) => {
  const name = `asp${++number}`
  return { name, id: await service.user(name, more), password: `secret of ${name}` }
}
const make = (id: string, body: object) => service.call('POST', `/users/${id}/asps`, body)
const login = (username: string, password: string, scope: string, more: object = {}) =>
  service.call('POST', '/authenticate', { username, password, scope, ...more })
const log = async (id: string) => (await service.call('GET', `/users/${id}/authlog`)).body.results

describe('application passwords', () => {
  test('are made, open their scopes and nothing else, and show their last use', async () => {
    const { name, id } = await fresh()
    const { status, body } = await make(id, { description: ' Phone ', scopes: ['imap', 'smtp'] })
    expect(status).toBe(200)
    expect(body).toEqual({ success: true, id: expect.stringMatching(/^[0-9a-f]{24}$/), password: expect.any(String) })
    expect(body.password).toMatch(/^[a-z]{16}$/)
    const before = await service.call('GET', `/users/${id}/asps/${body.id}`)
    expect(before.body).toMatchObject({ description: 'Phone', scopes: ['imap', 'smtp'], lastUse: {} })
    const entered = await login(name, body.password, 'imap', { ip: '192.0.2.4' })
    expect(entered.body).toEqual({ success: true, id, username: name, scope: 'imap', require2fa: false })
    expect((await login(name, body.password, 'smtp')).status).toBe(200)
    for (const [scope, code] of [
      ['pop3', 'InvalidAuthScope'],
      ['master', 'AuthFailed'],
    ] as const) {
      const refused = await login(name, body.password, scope)
      expect([refused.status, refused.body.code]).toEqual([403, code])
    }
    const { results } = (await service.call('GET', `/users/${id}/asps`)).body
    expect(results).toHaveLength(1)
    const entries = await log(id)
    expect(entries).toContainEqual(
      expect.objectContaining({ result: 'fail', source: 'asp', asp: body.id, aname: 'Phone', requiredScope: 'pop3' }),
    )
    expect(entries.map((entry: { id: string }) => entry.id)).toContain(results[0].lastUse.event)
    expect(results[0].lastUse.time).toMatch(/Z$/)
  })

  test('may be written in groups and in capitals', async () => {
    const { name, id } = await fresh()
    await make(id, { description: 'x', password: 'abcdefghijklmnop' })
    for (const written of ['abcd efgh ijkl mnop', ' ABCDEFGH\tIJKLMNOP ', 'abcdefghijklmnop']) {
      expect((await login(name, written, 'imap')).status).toBe(200)
    }
    expect((await login(name, 'abcdefghijklmno', 'imap')).body.code).toBe('AuthFailed')
  })

  test('open protocols where a second factor closes them to the main password', async () => {
    const { name, id, password } = await fresh()
    const { body } = await make(id, { description: 'x' })
    await service.call('PUT', `/users/${id}/2fa/custom`, {})
    expect((await login(name, password, 'imap')).body.code).toBe('InvalidAuthScope')
    for (const scope of ['imap', 'pop3', 'smtp']) expect((await login(name, body.password, scope)).status).toBe(200)
    await service.call('PUT', `/users/${id}`, { disabledScopes: ['smtp'] })
    expect((await login(name, body.password, 'smtp')).body.code).toBe('InvalidAuthScope')
    await service.call('PUT', `/users/${id}`, { suspended: true })
    expect((await login(name, body.password, 'imap')).body.code).toBe('AuthFailed')
  })

  test('that are also the main password count as that', async () => {
    const { name, id } = await fresh({ password: 'abcdefghijklmnop' })
    await make(id, { description: 'x', password: 'abcdefghijklmnop', scopes: ['imap'] })
    expect((await login(name, 'abcdefghijklmnop', 'pop3')).status).toBe(200)
    const entry = (await log(id)).find((one: { requiredScope: string }) => one.requiredScope === 'pop3')
    expect(entry).toMatchObject({ source: 'master', result: 'success' })
    expect(entry).not.toHaveProperty('asp')
  })

  test('with a life end unused, and live on while they are used', async () => {
    const { name, id } = await fresh()
    const short = (await make(id, { description: 'short', ttl: 60 })).body
    const used = (await make(id, { description: 'used', ttl: 60 })).body
    expect((await service.call('GET', `/users/${id}/asps`)).body.results).toEqual([])
    const all = (await service.call('GET', `/users/${id}/asps?showAll=true`)).body.results
    expect(all.map((one: { expires: string }) => typeof one.expires)).toEqual(['string', 'string'])
    shiftClock(50_000)
    expect((await login(name, used.password, 'imap')).status).toBe(200)
    await service.call('GET', `/users/${id}/authlog`)
    shiftClock(100_000)
    expect((await login(name, used.password, 'imap')).status).toBe(200)
    expect((await login(name, short.password, 'imap')).body.code).toBe('AuthFailed')
    expect((await service.call('GET', `/users/${id}/asps/${short.id}`)).body.code).toBe('AspNotFound')
  })

  test('are taken away for good', async () => {
    const { name, id } = await fresh()
    const { body } = await make(id, { description: 'x' })
    await login(name, body.password, 'imap')
    expect((await service.call('DELETE', `/users/${id}/asps/${body.id}`)).body).toEqual({ success: true })
    const again = await service.call('DELETE', `/users/${id}/asps/${body.id}`)
    expect([again.status, again.body.code]).toEqual([404, 'AspNotFound'])
    expect((await login(name, body.password, 'imap')).body.code).toBe('AuthFailed')
    const other = await fresh()
    const kept = (await make(other.id, { description: 'x' })).body.id
    expect((await service.call('DELETE', `/users/${id}/asps/${kept}`)).body.code).toBe('AspNotFound')
    expect((await service.call('GET', `/users/${'f'.repeat(24)}/asps`)).body.code).toBe('UserNotFound')
    const actions = (await log(id)).map((entry: { action: string; aname?: string }) => [entry.action, entry.aname])
    expect(actions).toContainEqual(['create asp', 'x'])
    expect(actions).toContainEqual(['delete asp', 'x'])
  })

  test.each([
    ['scopes', { description: 'x', scopes: ['master'] }],
    ['scopes', { description: 'x', scopes: [] }],
    ['scopes', { description: 'x', scopes: ['imap', 'caldav'] }],
    ['scopes', { description: 'x', scopes: 'master' }],
    ['password', { description: 'x', password: '0000000000000000' }],
    ['password', { description: 'x', password: 'short' }],
    ['ttl', { description: 'x', ttl: -1 }],
    ['ttl', { description: 'x', ttl: 'long' }],
    ['description', {}],
    ['description', { description: '   ' }],
    ['address', { description: 'x', address: 'none' }],
  ])('are refused with a word about %s for %o', async (field, body) => {
    const { id } = await fresh()
    const reply = await make(id, body)
    expect([reply.status, reply.body.code, Object.keys(reply.body.details)]).toEqual([
      400,
      'InputValidationError',
      [field],
    ])
  })

  test('are as many as the setting says, and few with one selector, since each of those is hashed', async () => {
    const { id } = await fresh()
    const selector = aspSelector('abcdefghijklmnop')
    const same: string[] = []
    const letters = 'abcdefghijklmnopqrstuvwxyz'
    for (const a of letters) {
      for (const b of letters) {
        const text = `aaaaaaaaaaaaaa${a}${b}`
        if (same.length < 5 && aspSelector(text) === selector) same.push(text)
      }
    }
    const statuses: number[] = []
    for (const password of same) statuses.push((await make(id, { description: 'x', password })).status)
    expect(statuses).toEqual([200, 200, 200, 200, 403])
    for (let at = 0; at < 46; at++) await make(id, { description: 'x' })
    const full = await make(id, { description: 'x' })
    expect([full.status, full.body.code, full.body.allowed]).toEqual([403, 'TooMany', 50])
  })
})

describe('a profile for phones', () => {
  test('is signed by the certificate and holds the password and the servers', async () => {
    const { name, id } = await fresh({ name: 'Anna <&>' })
    const { body } = await make(id, { description: 'Phone', generateMobileconfig: true })
    expect(body).toMatchObject({ name: 'Anna <&>', address: `${name}@example.com` })
    const info = pkijs.ContentInfo.fromBER(new Uint8Array(Buffer.from(body.mobileconfig, 'base64')).buffer)
    const signed = new pkijs.SignedData({ schema: info.content })
    expect(await signed.verify({ signer: 0, checkChain: false })).toBe(true)
    const text = Buffer.from(signed.encapContentInfo.eContent?.getValue() ?? new ArrayBuffer(0)).toString()
    expect(text).toContain(`<key>IncomingPassword</key><string>${body.password}</string>`)
    expect(text).toContain('<key>EmailAccountName</key><string>Anna &lt;&amp;&gt;</string>')
    expect(text).toContain('<key>IncomingMailServerPortNumber</key><integer>993</integer>')
    expect(text).toContain(`<string>teal.mail.${id}</string>`)
    expect((await login(name, body.password, 'smtp')).status).toBe(200)
  })

  test('needs scopes for reading and for sending, and an address of the account', async () => {
    const { id } = await fresh()
    const form = { description: 'x', generateMobileconfig: true }
    for (const scopes of [['imap'], ['smtp'], ['pop3', 'imap']]) {
      const refused = await make(id, { ...form, scopes })
      expect([refused.status, refused.body.code]).toEqual([400, 'InvalidAuthScope'])
    }
    expect((await make(id, { ...form, scopes: 'pop3,smtp' })).status).toBe(200)
    const foreign = await make(id, { ...form, address: 'someone@example.org' })
    expect([foreign.status, foreign.body.code]).toEqual([404, 'AddressNotFound'])
  })
})
