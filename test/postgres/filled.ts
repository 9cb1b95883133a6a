// A service with something of everything in it: accounts, domains, folders, messages in all states, rules, contacts, a queue.

import { expect } from 'vitest'
import { type Account, account, mail } from '../http/api/mail-world.ts'
import type { Running } from '../running.ts'

/** Fills it through its API, and asks for what can be listed. */
export async function fill(service: Running): Promise<void> {
  await domains(service)
  const anna = await account(service, 'anna', { name: 'Änne Über', tags: ['Blau', 'öffentlich'] })
  const bert = await account(service, 'bert', { name: "Bert O'Neil \\ %_", targets: ['far@elsewhere.example'] })
  const cleo = await account(service, 'cleo', { address: 'cleo@straße.example', tags: ['blau'] })
  for (const [at, user] of [anna, bert, cleo].entries()) {
    await rules(user, at)
    await messages(user, 20 + 20 * at)
  }
  await addresses(service, anna.id)
  await changes(anna, bert)
  await sending(anna)
  await service.indexed()
  for (const user of [anna, bert, cleo]) await listings(service, user)
}

async function domains({ call }: Running): Promise<void> {
  await call('POST', '/domains', { name: 'straße.example', description: 'süß', maxUsers: 5, tags: ['x'] })
  await call('POST', '/domainaliases', { alias: 'alias_one.example', domain: 'example.com' })
  await call('POST', '/domainaliases', { alias: 'alias-two.example', domain: 'straße.example' })
  await call('POST', '/dkim', { domain: 'example.com', selector: 'sel' })
  await call('POST', '/webhooks', { type: ['message.*'], url: 'http://127.0.0.1:9/hook' })
  await call('POST', '/domainaccess/blau/block', { domain: 'spam.example' })
  await call('POST', '/tokens', { role: 'user', label: 'x' })
}

async function rules(user: Account, at: number): Promise<void> {
  const action = { flag: true, ...(at === 1 && { targets: ['on@elsewhere.example'] }) }
  await user.call('POST', '/filters', { name: 'ä', query: { subject: 'größe' }, action, metaData: { a: 'x' } })
  await user.call('PUT', '/autoreply', { status: at === 2, subject: 'away', text: 'I am away', name: 'me' })
  await user.call('POST', '/asps', { description: 'phone', scopes: ['imap'] })
  const card = { name: `Friend ${at} Ü`, emails: [{ value: `friend${at}@example.net` }], groups: ['Zoo', 'ähnlich'] }
  await user.call('POST', '/contacts', card)
  await user.call('POST', '/mailboxes', { path: 'Box/Größe', retention: 86_400_000.5 })
  await user.call('POST', '/storage', { filename: 'a_%.txt', content: 'Zm9v', encoding: 'base64' })
}

async function messages(user: Account, count: number): Promise<void> {
  const words = ['lorem', 'ipsum dolor', 'größe', '日本語の手紙', "it's a\\b", 'abc\u0001d', 'attached words']
  for (let at = 0; at < count; at++) {
    const text = `${words[at % words.length]} ${'sentence '.repeat(at % 9)}${at}`
    const more = { unseen: at % 3 > 0, flagged: at % 5 === 0, metaData: { at, nul: at % 7 === 0 ? '\u0000' : '' } }
    const attachments = [{ filename: `${at}.bin`, content: Buffer.alloc(at * 900, at).toString('base64') }]
    const form = mail(`Re: topic ${at % 6}`, text, { ...more, ...(at % 6 === 0 && { attachments }) })
    await user.put(at % 4 === 0 ? 'Box/Größe' : 'INBOX', form)
  }
  expect((await user.call('GET', '/mailboxes')).status).toBe(200)
}

async function addresses({ call }: Running, user: string): Promise<void> {
  await call('POST', `/users/${user}/addresses`, { address: 'zweite.adresse@straße.example', tags: ['blau'] })
  await call('POST', `/users/${user}/addresses`, { address: 'an*@example.com' })
  await call('POST', '/addresses/forwarded', {
    address: 'on@example.com',
    targets: ['a@elsewhere.example', 'b@x.test'],
  })
}

async function changes(anna: Account, bert: Account): Promise<void> {
  const inbox = anna.box('INBOX')
  await anna.call('PUT', `/mailboxes/${inbox}/messages/1:4`, { seen: true })
  await anna.call('PUT', `/mailboxes/${inbox}/messages/5:6`, { moveTo: anna.box('Trash') })
  await anna.call('PUT', `/mailboxes/${inbox}/messages/7`, { moveTo: anna.box('Junk') })
  await anna.call('DELETE', `/mailboxes/${inbox}/messages/2`)
  await bert.call('DELETE', `/mailboxes/${bert.box('INBOX')}/messages/3`)
  await bert.call('DELETE', `/mailboxes/${bert.box('Sent Mail')}`)
}

async function sending(user: Account): Promise<void> {
  const to = [{ address: 'bert@example.com' }, { address: 'out@far.invalid' }]
  await user.call('POST', '/submit', { to, subject: 'sent on', text: 'lorem', sendTime: '2099-01-01T00:00:00Z' })
  await user.call('POST', '/submit', { to: [to[0]], subject: 'größe', text: 'attached words' })
}

/** What lists there are, in both directions and with what they can be narrowed by. */
async function listings({ call }: Running, user: Account): Promise<void> {
  const lists = ['/mailboxes', '/filters', '/autoreply', '/asps', '/contacts', '/contacts/groups', '/storage']
  const more = [
    '/addresses',
    '/archived/messages',
    '/authlog',
    '/tokens',
    '/addressregister?query=f',
    '/search?q=lorem',
  ]
  for (const path of [...lists, ...more, '/search?unseen=true&limit=3', '/contacts?query=Ü'])
    await user.call('GET', path)
  const inbox = `/mailboxes/${user.box('INBOX')}/messages`
  for (const query of ['', '?order=asc&limit=2', '?unseen=true', '?metaData=true&threadCounters=true&page=2&limit=5']) {
    await user.call('GET', inbox + query)
  }
  for (const message of [1, 8, 9]) await user.call('GET', `${inbox}/${message}`)
  const all = [
    '/users',
    '/addresses',
    '/filters',
    '/domains',
    '/domainaliases',
    '/dkim',
    '/webhooks',
    '/domainaccess/blau/block',
  ]
  for (const path of [...all, '/certs', '/tokens', '/queue', '/users?query=anna', '/filters?forward=else'])
    await call('GET', path)
}
