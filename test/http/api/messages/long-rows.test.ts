// Messages that have a thousand attachments to be told of: a page of them is cut before it is too long for one answer, and
// who goes on by the cursors sees every message once, forwards and back.

import { beforeAll, describe, expect, test } from 'vitest'
import { limits } from '#lib/limits.ts'
import { Client } from '../../../imap/client.ts'
import { type Body, useTeal } from '../../../running.ts'

const service = useTeal()
const count = 12
let user = ''
let inbox = ''

const name = 'n'.repeat(200)
const part = (at: number) =>
  `--x\r\nContent-Type: application/pdf\r\nContent-Disposition: attachment; filename="${name}${at}"\r\n\r\nx\r\n`
const parts = Array.from({ length: limits.mime.partsMax - 10 }, (_, at) => part(at)).join('')
const message = (at: number) =>
  `Subject: long ${at}\r\nMIME-Version: 1.0\r\nContent-Type: multipart/mixed; boundary=x\r\n\r\n${parts}--x--\r\n`

beforeAll(async () => {
  user = await service.user('anna')
  const client = await Client.login(service.at('imap'), 'anna', 'INBOX')
  for (let at = 0; at < count; at++) {
    const text = message(at)
    await client.ok(`APPEND INBOX {${Buffer.byteLength(text)}+}\r\n${text}`)
  }
  client.close()
  const { body } = await service.call('GET', `/users/${user}/mailboxes`)
  inbox = body.results.find((one: { path: string }) => one.path === 'INBOX').id
})

async function page(path: string, cursor: string): Promise<Body> {
  const { status, body } = await service.call('GET', `${path}${path.includes('?') ? '&' : '?'}limit=250${cursor}`)
  expect(status).toBe(200)
  return body
}

test('a page of them is printed as any other answer, also where it is compressed', async () => {
  const path = `/users/${user}/mailboxes/${inbox}/messages?limit=3`
  const plain = await service.raw('GET', path, { headers: { 'accept-encoding': 'identity' } })
  const text = await plain.text()
  expect(text).toBe(`${JSON.stringify(JSON.parse(text), null, 2)}\n`)
  expect(plain.headers.get('content-length')).toBe(String(Buffer.byteLength(text)))
  const packed = await service.raw('GET', path, { headers: { 'accept-encoding': 'gzip', 'x-teal-page': '1' } })
  expect(packed.headers.get('content-encoding')).toBe('gzip')
  expect(await packed.text()).toBe(text)
})

describe.each([
  ['a folder', () => `/users/${user}/mailboxes/${inbox}/messages`],
  ['a search', () => `/users/${user}/search?query=long`],
  ['a search in order of dates', () => `/users/${user}/search?query=long&order=asc`],
  ['the archive', () => `/users/${user}/archived/messages`],
])('pages of %s', (what, path) => {
  beforeAll(async () => {
    if (what !== 'the archive') return
    await service.call('DELETE', `/users/${user}/mailboxes/${inbox}/messages`)
  })

  test('hold every message once, in the same order there and back', async () => {
    const there: string[][] = []
    let shown = await page(path(), '')
    expect(shown.total).toBe(count)
    for (;;) {
      there.push(shown.results.map((row: { subject: string }) => row.subject))
      expect(shown.results.length).toBeGreaterThan(0)
      if (shown.nextCursor === false) break
      shown = await page(path(), `&next=${shown.nextCursor}`)
    }
    expect(there.length).toBeGreaterThan(1)
    expect(new Set(there.flat()).size).toBe(count)
    expect(there.flat()).toHaveLength(count)
    const back: string[][] = [there.at(-1) ?? []]
    while (shown.previousCursor !== false) {
      shown = await page(path(), `&previous=${shown.previousCursor}`)
      back.unshift(shown.results.map((row: { subject: string }) => row.subject))
    }
    expect(back.flat()).toEqual(there.flat())
  })
})
