// A service that sends nothing away: mail for its own users arrives all the same, through every handle, and the rest waits.

import { beforeAll, expect, test } from 'vitest'
import { Dialogue, deliver, openLmtp, stuffed } from '../../dialogue.ts'
import { type Body, useTeal } from '../../running.ts'

const service = useTeal({ outbound: { enabled: false }, auth: { cleartext: 'always' } })
let anna = ''
let bert = ''

beforeAll(async () => {
  anna = await service.user('anna')
  bert = await service.user('bert')
  await service.call('POST', '/domainaliases', { domain: 'example.com', alias: 'grün.example' })
})

async function inbox(user: string): Promise<Body[]> {
  const box = (await service.call('GET', `/users/${user}/mailboxes/resolve?path=INBOX`)).body.id
  return (await service.call('GET', `/users/${user}/mailboxes/${box}/messages`)).body.results
}

/** Waits until a message with this subject has come. */
async function arrived(user: string, subject: string | RegExp): Promise<void> {
  const matches = (text: string) => (typeof subject === 'string' ? text === subject : subject.test(text))
  const found = async () => (await inbox(user)).filter(one => matches(one.subject)).length
  await expect.poll(found, { timeout: 10_000 }).toBe(1)
}

const submit = async (to: readonly string[], subject: string): Promise<string> => {
  const form = { to: to.map(address => ({ address })), subject, text: 'x' }
  const { body } = await service.call('POST', `/users/${anna}/submit`, form)
  return body.message.queueId
}

async function send(to: string, subject: string, from = 'bert@example.com'): Promise<void> {
  const lmtp = await openLmtp(service.at('lmtp'))
  const message = `From: ${from}\r\nTo: ${to}\r\nSubject: ${subject}\r\nMessage-ID: <${subject}@x.test>\r\n\r\nx\r\n`
  expect(await deliver(lmtp, from, [to], Buffer.from(message))).toEqual([expect.stringMatching(/^250/)])
  lmtp.close()
}

test('over HTTP, to an alias of the domain, too, while others wait', async () => {
  const id = await submit(['far@far.test', 'bert@example.com', 'b.e.r.t+x@grün.example'], 'http')
  const states = async () => {
    const { body } = await service.call('GET', `/users/${anna}/outbound/${id}`)
    return body.targets.map(({ state, attempts }: Body) => `${state} ${attempts}`)
  }
  await expect.poll(states, { timeout: 10_000 }).toEqual(['waiting 0', 'delivered 1', 'delivered 1'])
  await arrived(bert, 'http')
  expect((await service.call('GET', '/outbound')).body).toMatchObject({ waiting: 1, deferred: 0 })
})

test('a draft', async () => {
  const box = (await service.call('GET', `/users/${anna}/mailboxes/resolve?path=Drafts`)).body.id
  const path = `/users/${anna}/mailboxes/${box}/messages`
  const draft = { draft: true, to: [{ address: 'bert@example.com' }], subject: 'draft', text: 'x' }
  const { body } = await service.call('POST', path, draft)
  await service.call('POST', `${path}/${body.message.id}/submit`, {})
  await arrived(bert, 'draft')
})

test('by submission, with the report its sender asks for', async () => {
  const wire = await Dialogue.open(service.at('submission'))
  await wire.reply()
  await wire.ask('EHLO there')
  await wire.ask(`AUTH PLAIN ${Buffer.from('\0anna\0secret of anna').toString('base64')}`)
  await wire.ask('MAIL FROM:<anna@example.com>')
  await wire.ask('RCPT TO:<bert@example.com> NOTIFY=SUCCESS')
  await wire.ask('DATA')
  wire.send(stuffed(Buffer.from('From: anna@example.com\r\nSubject: smtp\r\n\r\nx\r\n')))
  expect(await wire.reply()).toMatch(/^250/)
  wire.close()
  await arrived(bert, 'smtp')
  await arrived(anna, 'Delivered')
})

test('forwarded by a filter, by an address that only forwards, and by hand', async () => {
  const via = await service.user('via')
  await service.call('POST', `/users/${via}/filters`, { query: {}, action: { targets: ['bert@example.com'] } })
  await send('via@example.com', 'filter')
  await arrived(bert, 'filter')
  await service.call('POST', '/addresses/forwarded', { address: 'desk@example.com', targets: ['bert@example.com'] })
  await send('desk@example.com', 'desk', 'x@far.test')
  await arrived(bert, 'desk')
  const box = (await service.call('GET', `/users/${via}/mailboxes/resolve?path=INBOX`)).body.id
  const path = `/users/${via}/mailboxes/${box}/messages/1/forward`
  expect((await service.call('POST', path, { addresses: ['anna@example.com'] })).status).toBe(200)
  await arrived(anna, 'filter')
})

test('an autoreply', async () => {
  const away = await service.user('away')
  await service.call('PUT', `/users/${away}/autoreply`, { status: true, text: 'x', subject: 'gone' })
  await send('away@example.com', 'auto')
  await arrived(bert, 'Auto: gone')
})

test('a report of what failed here', async () => {
  const closed = await service.user('closed')
  await service.call('PUT', `/users/${closed}`, { disabled: true })
  await submit(['closed@example.com'], 'bounce')
  await arrived(anna, 'Delivery has failed')
})
