// Contacts over HTTP: adding, finding, changing, groups, vCard in and out, and completing their addresses.

import { beforeAll, describe, expect, test } from 'vitest'
import { limits } from '#lib/limits.ts'
import { type Body, useTeal } from '../../../running.ts'
import { scenarios } from '../../scenario.ts'
import { type Account, account } from '../mail-world.ts'

const service = useTeal()
let user: Account

beforeAll(async () => {
  user = await account(service, 'keeper')
})

const target = () => ({ url: service.teal.url, token: service.teal.rootToken })

async function add(to: Account, form: object): Promise<string> {
  const { body } = await to.call('POST', '/contacts', form)
  expect(body).toMatchObject({ success: true })
  return body.id
}

async function bring(to: Account, text: string): Promise<Body> {
  const headers = { 'content-type': 'text/vcard' }
  return (await service.raw('POST', `/users/${to.id}/contacts.vcf`, { headers, body: text })).json()
}

describe('contacts', () => {
  test('are added, found, changed and deleted with the token of their owner', async () => {
    const token = await user.token()
    const form = {
      ...{ given: 'Jane', family: 'Doe', emails: [{ value: 'jane@x.example', kind: 'home' }] },
      ...{ phones: [{ value: '+1 555' }], groups: ['Friends'], note: 'met in\nBerlin' },
    }
    const made = await user.call('POST', '/contacts', form, token)
    const { id } = made.body
    const shown = (await user.call('GET', `/contacts/${id}`, undefined, token)).body
    expect(shown).toMatchObject({ ...form, name: 'Jane Doe', phones: [{ value: '+1 555', kind: '' }], success: true })
    await user.call('PUT', `/contacts/${id}`, { groups: ['Friends', 'Work'], name: 'Janet' }, token)
    for (const query of ['janet', 'X.EXAMPLE', '555', 'work']) {
      const found = (await user.call('GET', `/contacts?query=${query}`, undefined, token)).body
      expect(found, query).toMatchObject({ total: 1, results: [{ id, name: 'Janet', note: 'met in\nBerlin' }] })
    }
    expect((await user.call('GET', '/contacts?query=nobody')).body.total).toBe(0)
    const completed = await user.call('GET', '/addressregister?query=jane@x')
    expect(completed.body.results).toMatchObject([{ name: 'Jane Doe', address: 'jane@x.example' }])
    expect((await user.call('DELETE', `/contacts/${id}`, undefined, token)).body).toEqual({ success: true })
    expect((await user.call('GET', `/contacts/${id}`)).body.code).toBe('ContactNotFound')
  })

  test('are listed by name in pages, and by group', async () => {
    const many = await account(service, 'sociable')
    for (const name of ['beta', 'Alpha', 'Émile', 'gamma']) {
      await add(many, { name, groups: name === 'beta' ? ['b'] : ['a', 'b'] })
    }
    const names: string[] = []
    let next: string | false = ''
    while (next !== false) {
      const page: Body = (await many.call('GET', `/contacts?limit=3${next && `&next=${next}`}`)).body
      names.push(...page.results.map((one: Body) => one.name))
      next = page.nextCursor
    }
    expect(names).toEqual(['Alpha', 'beta', 'gamma', 'Émile'])
    expect((await many.call('GET', '/contactgroups')).body.results).toEqual([
      { name: 'a', contacts: 3 },
      { name: 'b', contacts: 4 },
    ])
    expect((await many.call('GET', '/contacts?group=a')).body.total).toBe(3)
  })

  test('come and go as vCards; a card that is known is replaced', async () => {
    const from = await account(service, 'cards')
    const card = (name: string) => `BEGIN:VCARD\r\nVERSION:3.0\r\nUID:u1\r\nFN:${name}\r\nX-OWN:kept\r\nEND:VCARD\r\n`
    expect(await bring(from, card('First'))).toMatchObject({ imported: 1, replaced: 0 })
    expect(await bring(from, card('Second'))).toMatchObject({ imported: 0, replaced: 1 })
    const many = Array.from({ length: 250 }, (_, n) => `BEGIN:VCARD\nUID:m${n}\nFN:N${n}\nEND:VCARD\n`).join('')
    expect(await bring(from, many)).toMatchObject({ imported: 250, replaced: 0 })
    const answer = await service.raw('GET', `/users/${from.id}/contacts.vcf?version=3.0`)
    expect(answer.headers.get('content-type')).toBe('text/vcard; charset=utf-8')
    const text = await answer.text()
    expect(text.match(/BEGIN:VCARD/g)).toHaveLength(251)
    expect(text).toContain('FN:Second')
    expect(text).toContain('X-OWN:kept')
    const to = await account(service, 'receiver')
    expect(await bring(to, text)).toMatchObject({ imported: 251 })
  })

  test('are as many as there may be and no more', async () => {
    const bounds = limits.contact as { contactsMax: number }
    const usual = bounds.contactsMax
    const full = await account(service, 'full')
    await add(full, { name: 'one' })
    bounds.contactsMax = 1
    try {
      expect((await full.call('POST', '/contacts', { name: 'two' })).body.code).toBe('TooMany')
    } finally {
      bounds.contactsMax = usual
    }
  })

  test('go with their account, and come along in an export', async () => {
    const leaving = await account(service, 'gone')
    await add(leaving, { name: 'Somebody Special' })
    const token = (await service.teal.core.access.provision('export', 'export')).token
    const headers = { 'x-access-token': token }
    const exported = await service.raw('GET', `/data/export?form=rows&users=${leaving.id}`, { headers })
    expect(Buffer.from(await exported.arrayBuffer()).includes('Somebody Special')).toBe(true)
    expect((await leaving.call('DELETE', '')).body).toMatchObject({ success: true })
  })
})

scenarios(target, [
  {
    name: 'a contact needs something to show it by',
    method: 'POST',
    url: () => `/users/${user.id}/contacts`,
    body: { note: 'who?' },
    status: 400,
    has: ['InputValidationError'],
  },
  {
    name: 'an address must be one',
    method: 'POST',
    url: () => `/users/${user.id}/contacts`,
    body: { name: 'x', emails: [{ value: 'nobody' }] },
    status: 400,
    has: ['email'],
  },
  {
    name: 'a contact of nobody is not changed',
    method: 'PUT',
    url: () => `/users/${user.id}/contacts/0123456789abcdef01234567`,
    body: { name: 'x' },
    status: 404,
    has: ['ContactNotFound'],
  },
  {
    name: 'nor deleted',
    method: 'DELETE',
    url: () => `/users/${user.id}/contacts/0123456789abcdef01234567`,
    status: 404,
    has: ['ContactNotFound'],
  },
  {
    name: 'rubbish brings nothing',
    method: 'POST',
    url: () => `/users/${user.id}/contacts.vcf`,
    headers: { 'content-type': 'text/vcard' },
    body: '\0\0\0 BEGIN',
    status: 200,
    json: { imported: 0, replaced: 0 },
  },
])
