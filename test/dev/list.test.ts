// The list of what arrived: pages of it, searched, marked, tagged, forgotten; a mail that is released, and a webhook that is told.

import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, test } from 'vitest'
import { startDev } from '#dev/dev.ts'
import { useDev } from './running.ts'

const next = useDev()
const told: { subject: string; tags: string[] }[] = []
let heard: () => void = () => {}
const hook = createServer((request, response) => {
  const pieces: Buffer[] = []
  request.on('data', piece => pieces.push(piece))
  request.on('end', () => {
    told.push(JSON.parse(Buffer.concat(pieces).toString()))
    response.end()
    heard()
  })
})
await new Promise<void>(resolve => hook.listen(0, '127.0.0.1', resolve))
hook.unref()
const on = useDev({
  webhook: `http://127.0.0.1:${(hook.address() as AddressInfo).port}/`,
  max: 8,
})

const subjects = (lines: { subject: string }[]) => lines.map(({ subject }) => subject)

test('the list comes in pages, with what was counted of all of it', async () => {
  for (const number of [1, 2, 3, 4, 5, 6, 7, 8, 9, 10])
    await on.send({ subject: `Mail ${number}`, text: `Body ${number}` }, 'many@example.com')
  const { body } = await on.call('GET', '/dev/v1/lines?start=1&limit=2')
  expect(body).toMatchObject({ total: 8, unread: 8, found: 8, start: 1, tags: [] })
  expect(subjects(body.lines)).toEqual(['Mail 9', 'Mail 8'])
  expect(body.lines[0]).toMatchObject({
    snippet: 'Body 9',
    read: false,
    tags: [],
    envelope: { to: ['many@example.com'] },
  })
  const found = (await on.call('GET', '/dev/v1/lines?query=text:%22body%207%22')).body
  expect([found.total, found.found, subjects(found.lines)]).toEqual([8, 1, ['Mail 7']])
  expect((await on.call('GET', '/dev/v1/lines?start=-1')).status).toBe(400)
})

test('a page of it keeps to lines that are looked at, and says where one is', async () => {
  const { lines } = (await on.call('GET', '/dev/v1/lines')).body
  const ids: string[] = lines.map(({ id }: { id: string }) => id)
  const near = (first: number, was: number) => `near=${ids.slice(first, first + 3).join()}&was=${was}`
  const moved = (await on.call('GET', `/dev/v1/lines?start=1&limit=2&${near(4, 2)}&place=${ids[7]}`)).body
  expect([moved.start, subjects(moved.lines), moved.place]).toEqual([3, ['Mail 7', 'Mail 6'], 7])
  const gone = `near=nobody,${ids[1]}&was=5&place=nobody`
  const back = (await on.call('GET', `/dev/v1/lines?start=2&limit=1&${gone}`)).body
  expect([back.start, back.place]).toEqual([0, null])
  const other = (await on.call('GET', `/dev/v1/lines?query=subject:%22mail%207%22&place=${ids[0]}`)).body
  expect([other.found, other.place]).toEqual([1, -1])
  expect((await on.call('GET', '/dev/v1/lines?near=nobody&was=7&start=3')).body.start).toBe(3)
  expect((await on.call('GET', '/dev/v1/lines?near=a&was=x')).status).toBe(400)
})

test('some are marked, tagged and forgotten, by their ids or by a search', async () => {
  const { lines } = (await on.call('GET', '/dev/v1/lines?limit=3')).body
  const ids = lines.map(({ id }: { id: string }) => id)
  await on.call('PUT', '/dev/v1/mails', { ids: ids.slice(0, 2), read: true, tags: ['Later', 'later', 'a/b'] })
  const { body } = await on.call('GET', '/dev/v1/lines?query=tag:later')
  expect([body.unread, body.found, body.lines[0].tags, body.tags]).toEqual([
    ...[6, 2, ['ab', 'Later']],
    [
      { name: 'ab', count: 2 },
      { name: 'Later', count: 2 },
    ],
  ])
  expect((await on.call('GET', `/dev/v1/mails/${ids[0]}`)).body).toMatchObject({ read: true, tags: ['ab', 'Later'] })
  await on.call('PUT', '/dev/v1/mails', { query: 'tag:later', tags: [] })
  expect((await on.call('GET', '/dev/v1/lines')).body.tags).toEqual([])
  await on.call('DELETE', '/dev/v1/mails', { ids: [ids[0]] })
  await on.call('DELETE', '/dev/v1/mails', { query: 'subject:"mail 3"' })
  expect(subjects((await on.call('GET', '/dev/v1/lines')).body.lines)).toEqual(
    ['9', '8', '7', '6', '5', '4'].map(number => `Mail ${number}`),
  )
  for (const body of [{ ids: 'x' }, { query: ' ' }, { ids: [1] }])
    expect((await on.call('DELETE', '/dev/v1/mails', body)).status).toBe(400)
  await on.call('DELETE', '/dev/v1/mails')
  expect((await on.call('GET', '/dev/v1/lines')).body).toMatchObject({ total: 0, found: 0, lines: [] })
})

test('the webhook is told of each mail, in order, with its tags', async () => {
  told.length = 0
  const both = new Promise<void>(resolve => {
    heard = () => told.length === 2 && resolve()
  })
  await on.send({ subject: 'One', text: 'x', headers: { 'X-Tags': 'hook' } }, 'a@example.com')
  await on.send({ subject: 'Two', text: 'x' }, 'a@example.com')
  await both
  expect(told).toMatchObject([
    { subject: 'One', tags: ['hook'] },
    { subject: 'Two', tags: [] },
  ])
})

test('pictures and texts are looked at, other attachments are not, and none of them does anything', async () => {
  const attachments = [
    { filename: 'a.png', content: 'PNG', contentType: 'image/png' },
    { filename: 'a.html', content: '<script>1</script>', contentType: 'text/html' },
    { filename: 'a.svg', content: '<svg/>', contentType: 'image/svg+xml' },
  ]
  await on.send({ subject: 'Files', text: 'x', attachments }, 'a@example.com')
  const answers = await Promise.all(
    attachments.map((_, at) => fetch(`${on.dev.url}/dev/v1/mails/latest/attachments/${at}/preview`)),
  )
  expect(answers.map(({ status, headers }) => [status, headers.get('content-type')])).toEqual([
    [200, 'image/png'],
    [200, 'text/plain; charset=utf-8'],
    [415, 'application/json'],
  ])
  expect(answers.every(({ headers }) => headers.get('content-security-policy')?.includes('sandbox') === true)).toBe(
    true,
  )
})

test('a mail is released to whom it may go, byte for byte, and to nobody else', async () => {
  const url = `smtp://127.0.0.1:${next.dev.ports.smtp}`
  const dev = await startDev({
    ports: { smtp: 0, http: 0, imap: 0, pop3: 0 },
    release: { url, to: ['example.com', 'one@elsewhere.example'] },
  })
  const call = async (path: string, body?: unknown) => {
    const init = body === undefined ? {} : { method: 'POST', body: JSON.stringify(body) }
    const answer = await fetch(`${dev.url}/dev/v1${path}`, init)
    return { status: answer.status, body: JSON.parse(await answer.text()) }
  }
  try {
    expect((await call('/info')).body.release).toEqual({
      server: url.slice('smtp://'.length),
      to: ['example.com', 'one@elsewhere.example'],
    })
    await call('/mails', { from: 'app@example.net', to: 'caught@example.org', subject: 'Caught', text: 'As it was' })
    expect(
      (await call('/mails/latest/release', { to: ['anna@example.com', 'x@elsewhere.example'] })).body,
    ).toMatchObject({
      ...{ code: 'NotAllowed', refused: ['x@elsewhere.example'] },
    })
    for (const to of [undefined, [], ['anna'], 'anna@example.com', ['a@example.com> SIZE=1']])
      expect((await call('/mails/latest/release', { to })).status).toBe(400)
    expect((await next.call('GET', '/dev/v1/lines')).body.total).toBe(0)
    const to = ['anna@example.com', 'ONE@elsewhere.example']
    expect((await call('/mails/latest/release', { to })).status).toBe(200)
    const mail = (await next.call('GET', '/dev/v1/wait')).body
    expect(mail).toMatchObject({ subject: 'Caught', text: 'As it was', envelope: { from: 'app@example.net', to } })
    const raw = (await next.call('GET', '/dev/v1/mails/latest/raw')).body
    expect(raw).not.toMatch(/^(?:Return-Path|Delivered-To):/im)
    const { id } = (await next.call('POST', '/dev/v1/failures', { at: 'rcpt', reply: '550 5.1.1 Nobody' })).body
    expect((await call('/mails/latest/release', { to })).body).toMatchObject({
      code: 'NotReleased',
      message: '550 5.1.1 Nobody',
    })
    await next.call('DELETE', `/dev/v1/failures/${id}`)
    expect((await on.call('POST', '/dev/v1/mails/latest/release', { to })).body.code).toBe('NoRelease')
  } finally {
    await dev.close()
  }
})

test.each([
  ['no URL', { release: { url: 'mail.example.com', to: ['*'] } }],
  ['another protocol', { release: { url: 'http://mail.example.com', to: ['*'] } }],
  ['nobody to go to', { release: { url: 'smtp://mail.example.com', to: [] } }],
  ['a webhook that is none', { webhook: 'file:///etc/passwd' }],
])('settings that cannot be are refused: %s', async (_, options) => {
  await expect(startDev({ ports: { smtp: 0, http: 0, imap: 0, pop3: 0 }, ...options })).rejects.toMatchObject({
    code: 'ConfigInvalid',
  })
})
