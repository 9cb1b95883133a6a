// Everything of an account as one archive: what is in it, what is not, for whom it is, and that what it says can be taken in again can.

import { beforeAll, describe, expect, test } from 'vitest'
import { unzip } from '../../../mail/exchange/unzip.ts'
import { type Body, useTeal } from '../../../running.ts'
import { scenarios } from '../../scenario.ts'
import { type Account, account, mail } from '../mail-world.ts'

const service = useTeal()
let user: Account
let token: string
let asp: string

beforeAll(async () => {
  user = await account(service, 'leaving', { name: 'Lea Ving', targets: ['smtp://me:Hush-77@relay.example:25'] })
  token = await user.token()
  await user.put('INBOX', mail('one', 'x', { flagged: true }))
  await user.call('POST', '/mailboxes', { path: 'Trips/Ürgent' })
  await user.put('Trips/Ürgent', { raw: 'Subject: kept\r\n\r\nx\r\n', date: '2001-02-03T04:05:06Z' })
  await user.call('POST', '/filters', {
    name: 'Shop',
    query: { from: 'shop@example.net' },
    action: { mailbox: user.box('Junk'), targets: ['smtp://me:Hush-77@relay.example:25'] },
  })
  await user.call('PUT', '/autoreply', { status: true, subject: 'Away', text: 'Until Monday' })
  for (let number = 0; number < 3; number += 1)
    await user.call('POST', '/contacts', { name: `Friend ${number}`, emails: [{ value: `f${number}@x.example` }] })
  const made = await user.call('POST', '/asps', { description: 'My phone', scopes: ['imap'] })
  asp = made.body.password
  for (const filename of ['plan.txt', 'Plan.txt', '../plan.txt'])
    await user.call('POST', '/storage', { filename, contentType: 'text/plain', content: `content of ${filename}` })
})

async function fetched(of = user.id, by = token): Promise<Response> {
  return service.raw('GET', `/users/${of}/export.zip`, { headers: { 'x-access-token': by } })
}

async function exported(): Promise<Map<string, string>> {
  const answer = await fetched()
  expect(answer.status).toBe(200)
  expect(answer.headers.get('content-disposition')).toBe('attachment; filename="leaving.zip"')
  const files = unzip(Buffer.from(await answer.arrayBuffer()))
  return new Map(files.map(({ name, bytes }) => [name, bytes.toString()]))
}

describe('everything', () => {
  test('is mail by folder with flags and dates, and each thing beside it', async () => {
    const files = await exported()
    const json = (name: string): Body => JSON.parse(files.get(name) ?? 'null')
    expect(files.get('README.txt')).toContain('Everything of the account leaving')
    expect(files.get('README.txt')).not.toContain('Left out')
    for (const name of files.keys()) {
      const [folder = ''] = name.split('/')
      if (name !== 'README.txt') expect(files.get('README.txt'), name).toContain(folder)
    }
    expect(files.get('mail/INBOX.mbox')).toMatch(
      /^From [\s\S]*X-Status: F\nX-Export-Mailbox: INBOX\n[\s\S]*Subject: one\n/,
    )
    expect(files.get('mail/Trips/Ürgent.mbox')).toMatch(/^From \S+ Sat Feb {2}3 04:05:06 2001\n/)
    expect(files.get('mail/Drafts.mbox')).toBe('')
    expect(json('account.json')).toMatchObject({ name: 'Lea Ving', username: 'leaving' })
    expect(json('addresses.json').results).toMatchObject([{ main: true }])
    expect(json('folders.json').results).toContainEqual(
      expect.objectContaining({ path: 'Trips/Ürgent', total: 1, id: expect.any(String) }),
    )
    expect(json('filters.json')).toMatchObject([{ name: 'Shop', query: { from: 'shop@example.net' } }])
    expect(json('autoreply.json')).toMatchObject({ status: true, subject: 'Away', text: 'Until Monday' })
    expect(files.get('contacts.vcf')?.match(/^FN:Friend \d\r$/gm)).toHaveLength(3)
    expect(json('correspondents.json').results).toContainEqual(expect.objectContaining({ address: 'f1@x.example' }))
    expect(json('application-passwords.json').results).toMatchObject([{ description: 'My phone', scopes: ['imap'] }])
    expect(json('security-keys.json')).toMatchObject({ credentials: [] })
    expect(
      files
        .get('log.jsonl')
        ?.split('\n')
        .map(line => line && JSON.parse(line).action),
    ).toContain('authentication')
    const stored = [...files].filter(([name]) => name.startsWith('files/'))
    expect(stored.map(([, content]) => content).sort()).toEqual(
      ['plan.txt', 'Plan.txt', '../plan.txt'].map(name => `content of ${name}`).sort(),
    )
    expect(new Set(stored.map(([name]) => name.toLowerCase())).size).toBe(3)
  })

  test('has no secret in it', async () => {
    const files = await exported()
    const text = [...files.values()].join('\n')
    for (const secret of ['secret of leaving', 'Hush-77', asp, asp.replaceAll(' ', ''), token, '$argon2', '$pbkdf2'])
      expect(text.includes(secret), secret).toBe(false)
  })

  test('is taken in again: mail with folders, flags and dates, filters, autoreply, contacts', async () => {
    const files = await exported()
    const there = await account(service, 'arriving')
    for (const [name, content] of files) {
      if (!name.startsWith('mail/')) continue
      const headers = { 'content-type': 'application/mbox' }
      const answer = await service.raw('POST', `/users/${there.id}/import/file?folders=true`, {
        headers,
        body: content,
      })
      expect(await answer.json()).toMatchObject({ success: true, failed: 0 })
    }
    const folders: Body[] = (await there.call('GET', '/mailboxes?counters=true')).body.results
    expect(folders.find(({ path }) => path === 'Trips/Ürgent')).toMatchObject({ total: 1 })
    const inbox = (await there.call('GET', `/mailboxes/${there.box('INBOX')}/messages`)).body.results
    expect(inbox).toMatchObject([{ subject: 'one', flagged: true }])
    const before: Body[] = JSON.parse(files.get('folders.json') ?? '').results
    const [{ id: _, created: __, ...filter }] = JSON.parse(files.get('filters.json') ?? '')
    const path = before.find(({ id }) => id === filter.action.mailbox)?.path
    const action = { mailbox: there.box(path) }
    expect((await there.call('POST', '/filters', { ...filter, action })).body).toMatchObject({ success: true })
    const { created: ___, ...reply } = JSON.parse(files.get('autoreply.json') ?? '')
    expect((await there.call('PUT', '/autoreply', reply)).body).toMatchObject({ success: true })
    const card = { headers: { 'content-type': 'text/vcard' }, body: files.get('contacts.vcf') }
    const brought = await service.raw('POST', `/users/${there.id}/contacts.vcf`, card)
    expect(await brought.json()).toMatchObject({ imported: 3 })
  })

  test('is for its owner; whoever may read less is told what is left out', async () => {
    const other = await account(service, 'staying')
    expect((await fetched(user.id, await other.token())).status).toBe(403)
    const reader = await service.teal.core.access.provision('reads mail', 'downloader')
    const files = unzip(Buffer.from(await (await fetched(user.id, reader.token)).arrayBuffer()))
    expect(files.map(({ name }) => name).filter(name => !name.startsWith('mail/'))).toEqual(['README.txt'])
    expect(String(files[0]?.bytes)).toContain('Left out, since whoever fetched this may not read it:')
    expect(String(files[0]?.bytes)).toContain('- GET /users/:user/filters\n')
  })

  test('ends with its client', async () => {
    const large = await account(service, 'large')
    const raw = `Subject: large\r\n\r\n${Array.from({ length: 30_000 }, (_, at) => `${at * 7919} ${at ** 3}\r\n`).join('')}`
    for (let number = 0; number < 6; number += 1) await large.put('INBOX', { raw: `X-N: ${number}\r\n${raw}` })
    const leave = new AbortController()
    const answer = await service.raw('GET', `/users/${large.id}/export.zip`, { signal: leave.signal })
    const reader = answer.body?.getReader()
    expect((await reader?.read())?.value?.length).toBeGreaterThan(0)
    leave.abort()
    await expect(
      (async () => {
        for (;;) if ((await reader?.read())?.done !== false) return
      })(),
    ).rejects.toThrow()
    expect((await large.call('DELETE', `/mailboxes/${large.box('INBOX')}/messages`)).body.success).toBe(true)
  })
})

scenarios(
  () => ({ url: service.teal.url, token: service.teal.rootToken }),
  [{ name: 'nobody', url: '/users/0123456789abcdef01234567/export.zip', status: 404, has: ['UserNotFound'] }],
)
