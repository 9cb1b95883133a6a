// Sending through submission: who may, as whom, and to whom.

import { describe, expect, test } from 'vitest'
import { Wire } from '../../../net/wire.ts'
import { useTeal } from '../../../running.ts'

const service = useTeal({ auth: { cleartext: 'never' }, outbound: { enabled: false } })

let number = 0
const fresh = async (more: Record<string, unknown> = {}) => {
  const name = `sender${++number}`
  return { name, id: await service.user(name, more), password: `secret of ${name}`, address: `${name}@example.com` }
}
type User = Awaited<ReturnType<typeof fresh>>

async function ask(wire: Wire, command: string): Promise<string> {
  wire.send(`${command}\r\n`)
  return (await wire.reply()).at(-1) ?? ''
}
const plain = (name: string, password: string) =>
  `AUTH PLAIN ${Buffer.from(`\0${name}\0${password}`).toString('base64')}`

/** A session that has said EHLO, over TLS from the start or by STARTTLS. */
async function session(kind: 'submission' | 'submissions' = 'submissions'): Promise<Wire> {
  const at = service.at(kind)
  const wire = kind === 'submissions' ? await Wire.openTls(at) : await Wire.open(at)
  await wire.reply()
  await ask(wire, 'EHLO test')
  if (kind === 'submissions') return wire
  expect(await ask(wire, 'STARTTLS')).toMatch(/^220 /)
  await wire.startTls()
  await ask(wire, 'EHLO test')
  return wire
}

async function loggedIn(user: User, kind?: 'submission' | 'submissions'): Promise<Wire> {
  const wire = await session(kind)
  expect(await ask(wire, plain(user.name, user.password))).toMatch(/^235 /)
  return wire
}

async function send(wire: Wire, from: string, to: readonly string[], header = from): Promise<string> {
  const replies = [await ask(wire, `MAIL FROM:<${from}>`)]
  for (const address of to) replies.push(await ask(wire, `RCPT TO:<${address}>`))
  const refused = replies.find(reply => !reply.startsWith('250'))
  if (refused !== undefined) return refused
  expect(await ask(wire, 'DATA')).toMatch(/^354 /)
  return ask(
    wire,
    `From: ${header}\r\nTo: ${to.join(', ')}\r\nSubject: hello\r\nMessage-ID: <${Math.abs(++number)}@t>\r\n\r\nHi\r\n.`,
  )
}

const inbox = async (user: User, special?: string) => {
  const { results } = (await service.call('GET', `/users/${user.id}/mailboxes`)).body
  const box = results.find((one: { path: string; specialUse?: string }) =>
    special === undefined ? one.path === 'INBOX' : one.specialUse === special,
  )
  return (await service.call('GET', `/users/${user.id}/mailboxes/${box.id}/messages`)).body.results
}

describe('submission', () => {
  test.each(['submission', 'submissions'] as const)('takes mail of a user over %s', async kind => {
    const [from, to] = [await fresh({ uploadSentMessages: true }), await fresh()]
    const wire = await loggedIn(from, kind)
    expect(await send(wire, from.address, [to.address])).toMatch(/^250 /)
    expect(await inbox(to)).toMatchObject([{ subject: 'hello', from: { address: from.address } }])
    expect(await inbox(from, '\\Sent')).toMatchObject([{ subject: 'hello', seen: true }])
  })

  test('takes no mail and no password before it is time', async () => {
    const user = await fresh()
    const wire = await Wire.open(service.at('submission'))
    await wire.reply()
    expect(await ask(wire, 'EHLO test')).toMatch(/^250/)
    expect(await ask(wire, plain(user.name, user.password))).toMatch(/^538 /)
    expect(await ask(wire, `MAIL FROM:<${user.address}>`)).toMatch(/^530 /)
  })

  test('knows the addresses of an account, aliases and labels too, and puts them in place of others', async () => {
    const [user, other] = [await fresh(), await fresh()]
    await service.call('POST', `/users/${user.id}/addresses`, { address: `more.${user.name}@example.com` })
    const wire = await loggedIn(user)
    const label = `${user.name}+tag@example.com`
    for (const own of [`more.${user.name}@example.com`, label]) {
      expect(await send(wire, own, [other.address])).toMatch(/^250 /)
    }
    for (const foreign of [other.address, 'someone@elsewhere.test']) {
      expect(await send(wire, foreign, [other.address])).toMatch(/^250 /)
    }
    const from = (await inbox(other)).map((message: { from: { address: string } }) => message.from.address)
    expect(from.toReversed()).toEqual([`more.${user.name}@example.com`, label, user.address, user.address])
  })

  test('refuses recipients of ours that nobody has, and queues those elsewhere', async () => {
    const user = await fresh()
    const wire = await loggedIn(user)
    expect(await send(wire, user.address, ['nobody-here@example.com'])).toMatch(/^550 5\.1\.1 /)
    await ask(wire, 'RSET')
    expect(await send(wire, user.address, [user.address, 'friend@elsewhere.test'])).toMatch(/^250 /)
    const queued = await service.teal.core.read.all<{ value: string; sender: string; user: string }>(
      'SELECT t.value, o.sender, o.user FROM outbound_target t JOIN outbound o ON o.num = t.message WHERE o.user = ?',
      user.id,
    )
    expect(queued).toEqual([{ value: 'friend@elsewhere.test', sender: user.address, user: user.id }])
    expect(await inbox(user)).toHaveLength(1)
    const { limits } = (await service.call('GET', `/users/${user.id}`)).body
    expect(limits.recipients.used).toBe(2)
  })

  test('stops at the daily number of recipients', async () => {
    const user = await fresh({ recipients: 2 })
    const wire = await loggedIn(user)
    expect(await send(wire, user.address, [user.address, user.address, user.address])).toMatch(/^454 4\.7\.0 /)
    await ask(wire, 'RSET')
    expect(await send(wire, user.address, [user.address, user.address])).toMatch(/^250 /)
    expect(await send(wire, user.address, [user.address])).toMatch(/^454 4\.7\.0 /)
  })

  test('asks the central authentication: scopes, application passwords, second factors, LOGIN', async () => {
    const user = await fresh()
    const imapOnly = (await service.call('POST', `/users/${user.id}/asps`, { description: 'x', scopes: ['imap'] })).body
      .password
    const smtp = (await service.call('POST', `/users/${user.id}/asps`, { description: 'x', scopes: ['smtp'] })).body
      .password
    await service.call('PUT', `/users/${user.id}/2fa/custom`, {})
    const wire = await session()
    expect(await ask(wire, plain(user.name, user.password))).toMatch(/^535 5\.7\.8 /)
    expect(await ask(wire, plain(user.address, imapOnly))).toMatch(/^535 5\.7\.8 /)
    expect(await ask(wire, 'AUTH LOGIN')).toBe('334 VXNlcm5hbWU6')
    expect(await ask(wire, Buffer.from(user.address).toString('base64'))).toMatch(/^334 /)
    expect(await ask(wire, Buffer.from(smtp).toString('base64'))).toMatch(/^235 /)
    const { results } = (await service.call('GET', `/users/${user.id}/authlog?action=authentication`)).body
    expect(results[0]).toMatchObject({ protocol: 'SMTP', requiredScope: 'smtp', source: 'asp', result: 'success' })
    expect(results[0].ip).toMatch(/^(127\.0\.0\.1|::1)$/)
  })

  test('says the same for a wrong password and for a name nobody has', async () => {
    const user = await fresh()
    const wire = await session()
    const wrong = await ask(wire, plain(user.name, 'wrong'))
    expect(wrong).toMatch(/^535 /)
    expect(await ask(wire, plain('nobody-there', 'wrong'))).toBe(wrong)
  })

  test('lets a session that began before its account was closed send no more', async () => {
    const user = await fresh()
    const wire = await loggedIn(user)
    await service.call('PUT', `/users/${user.id}`, { suspended: true })
    expect(await ask(wire, `MAIL FROM:<${user.address}>`)).toMatch(/^421 4\.7\.0 /)
  })

  test.each([
    'AUTH PLAIN AAAA',
    'AUTH PLAIN !!!',
    `AUTH PLAIN ${Buffer.from('a\0b\0c\0d').toString('base64')}`,
    'AUTH LOGIN =',
  ])('finds no sense in %s', async command => {
    expect(await ask(await session(), command)).toMatch(/^501 5\.5\.2 /)
  })
})
