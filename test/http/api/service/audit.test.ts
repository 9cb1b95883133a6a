// Audits: copies of what was there and of what comes, as a file that mail programs read.

import { describe, expect, test } from 'vitest'
import { endAudits } from '#actors/admin/audit.ts'
import { prepare } from '#actors/delivery/prepare.ts'
import { appendMessage } from '#actors/mailbox/append.ts'
import { expungeMessages } from '#actors/mailbox/message.ts'
import { now, sleep } from '#lib/clock.ts'
import { readMbox } from '#mail/exchange/mbox.ts'
import { deliver, openLmtp } from '../../../dialogue.ts'
import { type Body, useTeal } from '../../../running.ts'

const service = useTeal()

async function tokens() {
  const { access } = service.teal.core
  return {
    audit: (await access.provision('audit', 'audit')).token,
    client: (await access.provision('auditclient', 'auditclient')).token,
  }
}

async function lmtp(to: string, message: string) {
  const session = await openLmtp(service.at('lmtp'))
  await deliver(session, 'sender@example.org', [to], Buffer.from(message))
  session.close()
}

async function settled(id: string, token: string, audited: number): Promise<Body> {
  for (;;) {
    const { body } = await service.call('GET', `/audit/${id}`, undefined, token)
    if (body.import.status === 'imported' && body.audited >= audited) return body
    expect(body.import.status).not.toBe('failed')
    await sleep(20)
  }
}

async function mboxOf(id: string, token: string): Promise<{ text: string; messages: string[] }> {
  const answer = await service.raw('GET', `/audit/${id}/export.mbox`, { headers: { 'x-access-token': token } })
  expect(answer.status).toBe(200)
  expect(answer.headers.get('content-disposition')).toBe('attachment; filename=export.mbox')
  const bytes = Buffer.from(await answer.arrayBuffer())
  const messages: string[] = []
  async function* whole() {
    // In odd pieces, so that lines are cut.
    for (let at = 0; at < bytes.length; at += 37) yield bytes.subarray(at, at + 37)
  }
  for await (const { message } of readMbox(whole(), 1e9)) messages.push(String(message))
  return { text: bytes.toString(), messages }
}

const expires = () => new Date(now() + 3_600_000).toISOString()

describe('an audit', () => {
  test('copies what is there and what comes, and outlives what is deleted', async () => {
    const { audit, client } = await tokens()
    const user = await service.user('watched')
    const body = 'From me to you\r\n>From the start\r\n>>From deeper\r\nfine\r\n'
    await lmtp('watched@example.com', `Subject: first\r\nStatus: RO\r\nX-Status: A\r\n B\r\n\r\n${body}`)
    const form = { user, expires: expires(), notes: 'case 1', meta: { by: 'me' } }
    const { body: created } = await service.call('POST', '/audit', form, audit)
    expect(created.success).toBe(true)
    const copied = await settled(created.id, audit, 1)
    expect(copied).toMatchObject({ user, notes: 'case 1', meta: { by: 'me' }, start: null, end: null, deleted: false })
    expect(copied.import).toEqual({ status: 'imported', copied: 1, failed: 0 })
    await lmtp('watched@example.com', 'Subject: second\r\n\r\nlater')
    const later = await settled(created.id, audit, 2)
    expect(later.import.copied).toBe(1)
    const { results } = (await service.call('GET', `/users/${user}/mailboxes`)).body
    const inbox = results.find((one: Body) => one.path === 'INBOX').id
    const { handle } = { handle: service.teal.core.system.handle(user) }
    await handle.run(expungeMessages, { mailbox: inbox, uids: [[1, 2]], marked: false, archive: false })
    const { text, messages } = await mboxOf(created.id, client)
    expect(messages).toHaveLength(2)
    expect(messages[0]).toContain(body.replaceAll('\r', ''))
    expect(messages[0]?.startsWith('X-Export-Mailbox: INBOX\n')).toBe(true)
    expect(messages[0]).not.toMatch(/^(X-)?Status:/m)
    expect(messages[0]).not.toMatch(/^ B$/m)
    expect(text).toMatch(/^From sender@example\.org \w{3} \w{3} [ \d]\d \d\d:\d\d:\d\d \d{4}\n/)
    expect(text).toContain('\n>From me to you\n>>From the start\n>>>From deeper\n')
    expect(text).not.toContain('\r')
  })

  test('gets what rules of the account throw away, and nothing of it stays where there is none', async () => {
    const { audit, client } = await tokens()
    const user = await service.user('thrower')
    const query = { subject: 'unwanted' }
    await service.call('POST', `/users/${user}/filters`, { query, action: { delete: true } })
    const bodies = () => service.teal.core.read.one('SELECT count(*) AS n FROM body')
    const before = await bodies()
    const large = 'x'.repeat(300_000)
    await lmtp('thrower@example.com', `Subject: unwanted before\r\n\r\n${large}\r\n`)
    expect(await bodies()).toEqual(before)
    const { body } = await service.call('POST', '/audit', { user, expires: expires() }, audit)
    await settled(body.id, audit, 0)
    await lmtp('thrower@example.com', `Subject: unwanted one\r\n\r\n${large}\r\n`)
    await lmtp('thrower@example.com', 'Subject: wanted\r\n\r\nx\r\n')
    expect(await settled(body.id, audit, 2)).toMatchObject({ audited: 2 })
    const { messages } = await mboxOf(body.id, client)
    expect(messages.map(one => /^Subject: (.*)$/m.exec(one)?.[1])).toEqual(['unwanted one', 'wanted'])
    const folders = (await service.call('GET', `/users/${user}/mailboxes?counters=true`)).body.results as Body[]
    expect(folders.reduce((sum: number, one: Body) => sum + one.total, 0)).toBe(1)
  })

  test('keeps to its span, marks drafts, and says who sent nothing', async () => {
    const { audit } = await tokens()
    const user = await service.user('spanned')
    const { core } = service.teal
    for (const [year, flags] of [
      [2001, 0],
      [2002, 16],
      [2003, 0],
    ] as const) {
      const received = await core.bodies.receive(Buffer.from(`Subject: of ${year}\r\n\r\n${year}\r\n`))
      const prepared = await prepare(received, core.sequence)
      await core.system.handle(user).run(appendMessage, {
        ...{ prepared, to: 'INBOX', prefix: '', flags, keywords: [], idate: Date.UTC(year, 0, 1) },
        ...{ meta: { source: 'test' }, once: false, limited: false },
      })
      await received.discard()
    }
    const form = { user, expires: expires(), start: '2001-06-01', end: '2002-06-01' }
    const { body: created } = await service.call('POST', '/audit', form, audit)
    await settled(created.id, audit, 1)
    await lmtp('spanned@example.com', 'Subject: out of the span\r\n\r\nnow')
    const { text, messages } = await mboxOf(created.id, audit)
    expect(messages).toEqual(['X-Export-Mailbox: INBOX\nX-Export-Draft: Yes\nSubject: of 2002\n\n2002\n'])
    expect(text.startsWith('From MAILER-DAEMON Tue Jan  1 00:00:00 2002\n')).toBe(true)
  })

  test('ends when its time is over; the record stays', async () => {
    const { audit } = await tokens()
    const user = await service.user('ended')
    await lmtp('ended@example.com', 'Subject: x\r\n\r\ny')
    const { body: created } = await service.call('POST', '/audit', { user, expires: expires() }, audit)
    await settled(created.id, audit, 1)
    await endAudits(service.teal.core.system, now() + 7_200_000, new AbortController().signal)
    const { body } = await service.call('GET', `/audit/${created.id}`, undefined, audit)
    expect(body).toMatchObject({ deleted: true, audited: 1, deletedTime: expect.any(String) })
    await lmtp('ended@example.com', 'Subject: after\r\n\r\ny')
    expect((await mboxOf(created.id, audit)).messages).toEqual([])
  })

  test('is for those who may', async () => {
    const { audit, client } = await tokens()
    const form = { user: '507f1f77bcf86cd799439011', expires: expires() }
    expect((await service.call('POST', '/audit', form, client)).status).toBe(403)
    expect((await service.call('POST', '/audit', form)).status).toBe(403)
    expect((await service.call('POST', '/audit', form, audit)).body.success).toBe(true)
    const past = { ...form, expires: '2001-01-01' }
    expect((await service.call('POST', '/audit', past, audit)).body.code).toBe('InputValidationError')
    const unknown = await service.call('GET', '/audit/507f1f77bcf86cd799439011', undefined, client)
    expect(unknown.body.code).toBe('AuditNotFoundError')
  })
})
