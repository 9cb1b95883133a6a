// A dry run of filters over a folder: what would match and what would happen, and that nothing does.

import { beforeAll, describe, expect, test } from 'vitest'
import { limits } from '#lib/limits.ts'
import { type Body, useTeal } from '../../../running.ts'
import { scenarios } from '../../scenario.ts'
import { type Account, account, mail } from '../mail-world.ts'

const service = useTeal()
let user: Account
let other: Account

beforeAll(async () => {
  user = await account(service, 'previewed')
  other = await account(service, 'elsewhere')
  for (const [subject, text] of [
    ['Invoice 1', 'to be paid'],
    ['Hello', 'how are you'],
    ['Invoice 2', 'to be paid soon'],
    ['Invoice 3', 'paid'],
  ] as const) {
    await user.put('INBOX', mail(subject, text, { unseen: true }))
  }
})

const target = () => ({ url: service.teal.url, token: service.teal.rootToken })
const at = () => `/users/${user.id}/filters/preview`
const subjects = (json: Body) => json.results.map((one: Body) => one.message.subject)

async function post(form: object): Promise<Body> {
  const { status, body } = await user.call('POST', '/filters/preview', form)
  expect(body).toMatchObject({ success: true })
  expect(status).toBe(200)
  return body
}

describe('a dry run', () => {
  test('says which messages match, newest first, what would happen, and changes nothing', async () => {
    const Archive = user.box('Trash')
    const form = { mailbox: user.box('INBOX'), query: { subject: 'invoice' }, action: { seen: true, mailbox: Archive } }
    const found = await post(form)
    expect(subjects(found)).toEqual(['Invoice 3', 'Invoice 2', 'Invoice 1'])
    expect(found).toMatchObject({ total: 4, examined: 4, nextCursor: false })
    expect(found.results[0]).toMatchObject({
      message: { mailbox: user.box('INBOX'), seen: false },
      action: { seen: true, mailbox: Archive },
      filters: [{ id: expect.any(String) }],
      timedOut: [],
    })
    const { body } = await user.call('GET', `/mailboxes/${user.box('INBOX')}/messages?unseen=true`)
    expect(body.total).toBe(4)
  })

  test('takes a saved filter, or all that are in force, together', async () => {
    const one = await user.call('POST', '/filters', { name: 'paid', query: { text: 'paid' }, action: { flag: true } })
    const two = await user.call('POST', '/filters', { query: { subject: 'invoice 2' }, action: { seen: true } })
    await user.call('POST', '/filters', { query: { subject: 'hello' }, action: { delete: true }, disabled: true })
    const mailbox = user.box('INBOX')
    expect(subjects(await post({ mailbox, filter: two.body.id }))).toEqual(['Invoice 2'])
    const all = await post({ mailbox })
    expect(subjects(all)).toEqual(['Invoice 3', 'Invoice 2', 'Invoice 1'])
    expect(all.results[1]).toMatchObject({
      filters: [{ id: one.body.id, name: 'paid' }, { id: two.body.id }],
      action: { flag: true, seen: true },
    })
  })

  test('goes on where it stopped, in pages of matches and after so many messages', async () => {
    const form = { mailbox: user.box('INBOX'), query: { subject: 'invoice' }, action: {}, limit: 1 }
    const found: string[] = []
    let next: string | undefined
    for (let calls = 0; calls < 10; calls += 1) {
      const page = await post({ ...form, ...(next !== undefined && { next }) })
      found.push(...subjects(page))
      if (page.nextCursor === false) break
      next = page.nextCursor
    }
    expect(found).toEqual(['Invoice 3', 'Invoice 2', 'Invoice 1'])
    const bounds = limits.filter as { previewMessages: number }
    const usual = bounds.previewMessages
    bounds.previewMessages = 2
    try {
      const first = await post({ mailbox: user.box('INBOX'), query: { subject: 'invoice 1' }, action: {} })
      expect(first).toMatchObject({ examined: 2, results: [], nextCursor: expect.any(String) })
      const rest = await post({
        ...{ mailbox: user.box('INBOX'), query: { subject: 'invoice 1' }, action: {} },
        next: first.nextCursor,
      })
      expect(subjects(rest)).toEqual(['Invoice 1'])
    } finally {
      bounds.previewMessages = usual
    }
  })
})

scenarios(target, [
  {
    name: 'an empty folder has nothing to show',
    method: 'POST',
    url: () => at(),
    body: {
      get mailbox() {
        return user.box('Junk')
      },
      query: { subject: 'x' },
    },
    status: 200,
    json: { total: 0, examined: 0, nextCursor: false, results: [] },
  },
  {
    name: 'a folder of somebody else is none',
    method: 'POST',
    url: () => at(),
    body: {
      get mailbox() {
        return other.box('INBOX')
      },
    },
    status: 404,
    has: ['NoSuchMailbox'],
  },
  {
    name: 'a filter that is not there',
    method: 'POST',
    url: () => at(),
    body: {
      get mailbox() {
        return user.box('INBOX')
      },
      filter: '0123456789abcdef01234567',
    },
    status: 404,
    has: ['FilterNotFound'],
  },
  {
    name: 'a cursor of another list',
    method: 'POST',
    url: () => at(),
    body: {
      get mailbox() {
        return user.box('INBOX')
      },
      next: Buffer.from('[["a"],1]').toString('base64url'),
    },
    status: 400,
    has: ['not a cursor of this list'],
  },
  {
    name: 'a folder is required',
    method: 'POST',
    url: () => at(),
    body: { query: { subject: 'x' } },
    status: 400,
    has: ['InputValidationError'],
  },
])
