// Filters over HTTP, and what they do to mail that comes in.

import { beforeAll, describe, expect, test } from 'vitest'
import { deliver, openLmtp } from '../../../dialogue.ts'
import { useTeal } from '../../../running.ts'

const service = useTeal()
let user = ''

beforeAll(async () => {
  user = await service.user('filtered')
})

const api = (method: string, path: string, body?: unknown) => service.call(method, `/users/${user}${path}`, body)

async function add(query: object, action: object, more: object = {}): Promise<string> {
  const { status, body } = await api('POST', '/filters', { query, action, ...more })
  expect(body).toMatchObject({ success: true })
  expect(status).toBe(200)
  return body.id
}

async function folder(path: string): Promise<string> {
  return (await api('POST', '/mailboxes', { path })).body.id
}

let count = 0

async function send(lines: readonly string[], text = 'Hello', to = 'filtered@example.com'): Promise<string> {
  count += 1
  const id = `<m${count}@remote.test>`
  const message = [...lines, `Message-ID: ${id}`, 'Date: Mon, 1 Jan 2024 10:00:00 +0000', '', text, ''].join('\r\n')
  const lmtp = await openLmtp(service.at('lmtp'))
  const [reply] = await deliver(lmtp, 'sender@remote.test', [to], Buffer.from(message))
  lmtp.close()
  expect(reply).toMatch(/^250/)
  return id
}

async function traceOf(id: string) {
  const { body } = await api('GET', `/filters/trace?messageId=${encodeURIComponent(id)}`)
  return body.results[0]
}

async function clear() {
  for (const { id } of (await api('GET', '/filters')).body.results) await api('DELETE', `/filters/${id}`)
}

describe('shapes', () => {
  test('a filter is shown to people and to programs', async () => {
    const mailbox = await folder('Lists')
    const targets = ['b@example.net', 'https://hook.example/in?x=1']
    const id = await add(
      { from: ' a   b ', listId: 'dev.example.org', ha: false, text: 'x, y', size: 5000 },
      { seen: true, flag: false, targets, mailbox },
      { name: 'Lists', metaData: { a: 1 } },
    )
    const { body } = await api('GET', '/filters?metaData=yes')
    expect(body.limits).toEqual({ allowed: 400, used: 1 })
    expect(body.results).toEqual([
      {
        id,
        name: 'Lists',
        query: [
          ['from', '(a b)'],
          ['listId', '(dev.example.org)'],
          ['no attachments'],
          ['text', '"x, y"'],
          ['larger', 5000],
        ],
        action: [
          ['mark as read'],
          ['do not flag it'],
          ['forward to', targets.join(', ')],
          ['move to folder', '"Lists"'],
        ],
        originalQuery: { from: 'a b', listId: 'dev.example.org', ha: false, text: 'x, y', size: 5000 },
        originalAction: { seen: true, flag: false, targets, mailbox },
        disabled: false,
        created: expect.any(String),
        metaData: { a: 1 },
      },
    ])
    const one = await api('GET', `/filters/${id}`)
    expect(one.body).toMatchObject({ success: true, id, action: { mailbox, targets }, metaData: { a: 1 } })
    const all = await service.call('GET', '/filters?forward=hook.example')
    expect(all.body).toMatchObject({ total: 1, results: [{ id, user, targets }] })
    await clear()
  })

  test('a filter and each target it sends mail on to are in the log of the account', async () => {
    const id = await service.user('logged')
    const made = { query: {}, action: { targets: ['one@example.net'] }, sess: 's1' }
    const { body } = await service.call('POST', `/users/${id}/filters`, made)
    await service.call('PUT', `/users/${id}/filters/${body.id}`, {
      action: { targets: ['one@example.net', 'two@example.net'] },
    })
    const log = (await service.call('GET', `/users/${id}/authlog`)).body.results
    const told = (entry: Record<string, unknown>) => [entry.action, entry.target, entry.filter, entry.sess]
    expect(log.slice(0, 3).map(told)).toEqual([
      ['filter forward added', 'two@example.net', body.id, undefined],
      ['filter forward added', 'one@example.net', body.id, 's1'],
      ['filter added', undefined, body.id, 's1'],
    ])
  })

  test('an update changes what is given and takes away what is empty', async () => {
    const id = await add({ from: 'a', subject: 'b' }, { seen: true, spam: true })
    expect(
      (await api('PUT', `/filters/${id}`, { query: { from: '' }, action: { seen: null, flag: true } })).status,
    ).toBe(200)
    expect((await api('GET', `/filters/${id}`)).body).toMatchObject({
      query: { subject: 'b' },
      action: { spam: true, flag: true },
    })
    const { body } = await api('GET', `/filters/${id}`)
    expect(body.query).toEqual({ subject: 'b' })
    expect(body.action).toEqual({ spam: true, flag: true })
    expect((await api('DELETE', `/filters/${id}`)).status).toBe(200)
    expect((await api('GET', `/filters/${id}`)).body.code).toBe('FilterNotFound')
    expect((await api('PUT', `/filters/${id}`, {})).status).toBe(200)
    expect((await api('PUT', `/filters/${id}`, { name: 'x' })).body.code).toBe('FilterNotFound')
  })

  test('null and empty values are ignored when a filter is made', async () => {
    const none = { from: '', to: null, size: 0, ha: null }
    const id = await add(none, { seen: null, mailbox: '', targets: '' })
    const { body } = await api('GET', `/filters/${id}`)
    expect([body.query, body.action]).toEqual([{}, {}])
    await clear()
  })

  test.each([null, ''])('%j takes away any condition and any action', async none => {
    const all = { from: 'a', to: 'b', subject: 'c', listId: 'd', text: 'e', ha: true, size: 1 }
    const { results } = (await api('GET', '/mailboxes')).body
    const done = { seen: true, flag: true, delete: true, spam: true, mailbox: results[0].id, targets: ['a@b.example'] }
    const id = await add(all, done)
    const gone = (fields: object) => Object.fromEntries(Object.keys(fields).map(key => [key, none]))
    expect((await api('PUT', `/filters/${id}`, { query: gone(all), action: gone(done) })).status).toBe(200)
    const { body } = await api('GET', `/filters/${id}`)
    expect([body.query, body.action]).toEqual([{}, {}])
    await clear()
  })

  test.each([
    [{ query: { subject: '/(/' }, action: {} }, 'query,subject', /position 1/],
    [{ query: { subject: '/a(b/' }, action: {} }, 'query,subject', /position 2/],
    [{ query: { subject: '/a**/' }, action: {} }, 'query,subject', /position/],
    [{ query: { text: `/${'a'.repeat(10_240)}/` }, action: {} }, 'query,text', /length/],
    [{ query: { from: 'x'.repeat(300) }, action: {} }, 'query,from', /length/],
    [{ query: { nope: 1 }, action: {} }, 'query,nope', /not allowed/],
    [{ query: {}, action: { targets: ['nonsense'] } }, 'action,targets,0', /address/],
    [{ query: {}, action: { targets: ['ftp://a.example/x'] } }, 'action,targets,0', /address/],
    [{ action: {} }, 'query', /required/],
  ])('bad input is refused with its place: %j', async (body, field, reason) => {
    const answer = await api('POST', '/filters', body)
    expect(answer.status).toBe(400)
    expect(answer.body.code).toBe('InputValidationError')
    expect(answer.body.details[field]).toMatch(reason)
  })

  test('a folder of nobody is refused, and the filter goes with its folder', async () => {
    const answer = await api('POST', '/filters', { query: {}, action: { mailbox: '0'.repeat(24) } })
    expect(answer).toMatchObject({ status: 404, body: { code: 'NoSuchMailbox' } })
    const mailbox = await folder('Gone')
    const id = await add({ subject: 'gone' }, { mailbox })
    await api('DELETE', `/mailboxes/${mailbox}`)
    expect((await api('GET', `/filters/${id}`)).status).toBe(404)
  })

  test('400 filters are taken and one more is not', async () => {
    const other = await service.user('many')
    for (let at = 0; at < 400; at++) {
      const { status } = await service.call('POST', `/users/${other}/filters`, {
        query: { from: `a${at}` },
        action: {},
      })
      expect(status).toBe(200)
    }
    const { status, body } = await service.call('POST', `/users/${other}/filters`, { query: {}, action: {} })
    expect(status).toBe(403)
    expect(body).toMatchObject({ code: 'TooMany', allowed: 400 })
  })

  test('filters of another account are not to be had', async () => {
    const id = await add({ from: 'a' }, {})
    const other = await service.user('stranger')
    for (const method of ['GET', 'PUT', 'DELETE']) {
      const body = method === 'PUT' ? { name: 'x' } : undefined
      expect((await service.call(method, `/users/${other}/filters/${id}`, body)).body.code).toBe('FilterNotFound')
    }
    await clear()
  })
})

describe('what they do', () => {
  test('move, mark, flag; the first value of an action wins', async () => {
    const mailbox = await folder('Invoices')
    const second = await folder('Second')
    const first = await add({ subject: 'INVOICE' }, { mailbox, seen: false }, { name: 'first' })
    const later = await add({ from: 'anna' }, { mailbox: second, seen: true, flag: true })
    const id = await send(['From: Anna <anna@remote.test>', 'To: filtered@example.com', 'Subject: Your  invoice'])
    expect(await traceOf(id)).toMatchObject({
      filters: [{ id: first, name: 'first' }, { id: later }],
      action: { mailbox, seen: false, flag: true },
      decided: { mailbox: first, flag: later },
      stored: 'Invoices',
      mailbox,
      message: 1,
    })
    const { body } = await api('GET', `/mailboxes/${mailbox}/messages`)
    expect(body.results[0]).toMatchObject({ seen: false, flagged: true })
    await clear()
  })

  test('junk, and deleted mail is accepted and gone', async () => {
    await add({ subject: 'spam' }, { spam: true })
    await add({ subject: 'drop' }, { delete: true })
    const junk = await send(['From: a@remote.test', 'Subject: spam'])
    const dropped = await send(['From: a@remote.test', 'Subject: drop'])
    expect(await traceOf(junk)).toMatchObject({ stored: 'Junk', verdict: { spam: true, by: 'filter' } })
    expect(await traceOf(dropped)).toMatchObject({ stored: null, mailbox: null, message: null })
    await clear()
  })

  test('an attachment, or none, is a condition of both values', async () => {
    await add({ ha: false }, { flag: true }, { name: 'without' })
    await add({ ha: true }, { seen: true }, { name: 'with' })
    const plain = await send(['From: a@remote.test', 'Subject: no file'])
    const type = 'Content-Type: multipart/mixed; boundary=b'
    const parts = '--b\r\n\r\ntext\r\n--b\r\nContent-Type: application/pdf\r\n\r\nx\r\n--b--'
    const filed = await send(['From: a@remote.test', 'Subject: file', 'MIME-Version: 1.0', type], parts)
    expect((await traceOf(plain)).filters).toEqual([expect.objectContaining({ name: 'without' })])
    expect((await traceOf(filed)).filters).toEqual([expect.objectContaining({ name: 'with' })])
    await clear()
  })

  test('expressions match, and one that never ends is noted and at last disabled', async () => {
    const good = await add({ subject: '/^build #\\d+ (ok|failed)$/i' }, { flag: true })
    const bad = await add({ subject: '/^(a+)+$/' }, { seen: true })
    const twice = await add({ subject: '/(?=b)build #(\\d)\\1/i' }, { flag: true })
    const matching = await send(['From: a@remote.test', 'Subject: Build #22 ok'])
    expect((await traceOf(matching)).filters.map(({ id }: { id: string }) => id)).toEqual([good, twice])
    const evil = `Subject: ${'a'.repeat(40)}!`
    const first = await traceOf(await send(['From: a@remote.test', evil]))
    expect(first).toMatchObject({ stored: 'INBOX', timedOut: ['/^(a+)+$/'] })
    expect((await api('GET', `/filters/${bad}`)).body.offences).toMatchObject({ count: 1, pattern: '/^(a+)+$/' })
    await send(['From: a@remote.test', evil])
    await send(['From: a@remote.test', evil])
    await expect.poll(async () => (await api('GET', `/filters/${bad}`)).body.disabled).toBe(true)
    expect(await traceOf(await send(['From: a@remote.test', evil]))).toMatchObject({ timedOut: [] })
    await clear()
  })

  test.each([
    ['no From', ['Subject: x']],
    ['ten From', [...Array.from({ length: 10 }, (_, at) => `From: a${at}@remote.test`), 'Subject: x']],
  ])('a message with %s is delivered', async (_, lines) => {
    await add({ from: 'a9@' }, { flag: true })
    await add({ text: 'nothing OR "there is"' }, { seen: true })
    expect(await traceOf(await send(lines, ''))).toMatchObject({ stored: 'INBOX' })
    await clear()
  })

  test('a filter is tried without storing anything', async () => {
    const id = await add({ subject: 'hello' }, { flag: true })
    const before = (await api('GET', '/mailboxes?counters=true')).body
    const raw = 'From: a@remote.test\nSubject: Hello there\n\nText\n'
    const all = await api('POST', '/filters/test', { raw })
    expect(all.body).toMatchObject({ success: true, matches: true, filters: [{ id }], action: { flag: true } })
    const empty = { raw, query: { text: 'nowhere' }, action: { seen: true } }
    const other = await service.call('POST', `/users/${user}/filters/test`, empty)
    expect(other.body).toMatchObject({ matches: false, filters: [] })
    expect((await api('GET', '/mailboxes?counters=true')).body).toEqual(before)
    await clear()
  })
})
