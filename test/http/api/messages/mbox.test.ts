// Mail as an mbox file: what stands in it, that it can be read again, and that it ends with its client.

import { beforeAll, describe, expect, test } from 'vitest'
import { readMbox } from '#mail/exchange/mbox.ts'
import { useTeal } from '../../../running.ts'
import { scenarios } from '../../scenario.ts'
import { type Account, account } from '../mail-world.ts'

const service = useTeal()
let user: Account
let other: Account

const first = 'Subject: first\r\nStatus: RO\r\n\r\nFrom me\r\n>From you\r\nbyte \xff\r\n'

beforeAll(async () => {
  user = await account(service, 'leaving')
  other = await account(service, 'staying')
  const place = `/users/${user.id}/mailboxes/${user.box('INBOX')}/messages?unseen=true`
  const headers = { 'content-type': 'message/rfc822' }
  const put = await service.raw('POST', place, { headers, body: Buffer.from(first, 'latin1') })
  expect(put.status).toBe(200)
  await user.put('INBOX', { raw: 'Subject: second\r\n\r\nno line end', flagged: true })
  await user.call('POST', '/mailboxes', { path: 'Archive' })
  await user.put('Archive', { raw: 'Subject: kept\r\n\r\nin the archive\r\n', date: '2001-02-03T04:05:06Z' })
  await user.put('Drafts', { raw: 'Subject: not yet\r\n\r\n', draft: true })
})

const target = () => ({ url: service.teal.url, token: service.teal.rootToken })

async function exported(query = ''): Promise<{ text: string; messages: string[] }> {
  const answer = await service.raw('GET', `/users/${user.id}/export.mbox${query}`)
  expect(answer.status).toBe(200)
  const bytes = Buffer.from(await answer.arrayBuffer())
  const messages: string[] = []
  async function* whole() {
    for (let at = 0; at < bytes.length; at += 41) yield bytes.subarray(at, at + 41)
  }
  for await (const { message } of readMbox(whole(), 1e9)) messages.push(String(message?.toString('latin1')))
  return { text: bytes.toString('latin1'), messages }
}

describe('an mbox file', () => {
  test('of a folder has the bytes of its messages, quoted, with flags and path', async () => {
    const { text, messages } = await exported(`?mailbox=${user.box('INBOX')}`)
    expect(messages).toEqual([
      'Status: O\nX-Export-Mailbox: INBOX\nSubject: first\n\nFrom me\n>From you\nbyte \xff\n',
      'Status: RO\nX-Status: F\nX-Export-Mailbox: INBOX\nSubject: second\n\nno line end\n',
    ])
    expect(text).toContain('\n>From me\n>>From you\n')
    expect(text).not.toContain('\r')
  })

  test('of everything has every folder, drafts and dates', async () => {
    const { text, messages } = await exported()
    expect(messages.map(message => /^Subject: (.*)$/m.exec(message)?.[1]).sort()).toEqual([
      ...['first', 'kept', 'not yet', 'second'],
    ])
    expect(text).toMatch(/^From \S+ Sat Feb {2}3 04:05:06 2001$/m)
    expect(messages.find(message => message.includes('not yet'))).toContain('X-Status: T\nX-Export-Mailbox: Drafts\n')
  })

  test('ends with its client', async () => {
    const large = `Subject: large\r\n\r\n${`${'x'.repeat(70)}\r\n`.repeat(20_000)}`
    const path = (await user.call('POST', '/mailboxes', { path: 'Large' })).body.id
    for (let n = 0; n < 8; n += 1)
      await user.call('POST', `/mailboxes/${path}/messages`, { raw: `X-N: ${n}\r\n${large}` })
    const leave = new AbortController()
    const answer = await service.raw('GET', `/users/${user.id}/export.mbox?mailbox=${path}`, { signal: leave.signal })
    const reader = answer.body?.getReader()
    expect((await reader?.read())?.value?.length).toBeGreaterThan(0)
    leave.abort()
    await expect(reader?.read()).rejects.toThrow()
    expect((await user.call('DELETE', `/mailboxes/${path}`)).body).toMatchObject({ success: true })
  })

  test('is for the owner alone', async () => {
    const token = await other.token()
    const answer = await service.raw('GET', `/users/${user.id}/export.mbox`, { headers: { 'x-access-token': token } })
    expect(answer.status).toBe(403)
    const own = await service.raw('GET', `/users/${other.id}/export.mbox`, { headers: { 'x-access-token': token } })
    expect(own.status).toBe(200)
    expect(await own.text()).toBe('')
  })
})

scenarios(target, [
  {
    name: 'a folder of somebody else',
    url: () => `/users/${user.id}/export.mbox?mailbox=${other.box('INBOX')}`,
    status: 404,
    has: ['NoSuchMailbox'],
  },
  { name: 'nobody', url: '/users/0123456789abcdef01234567/export.mbox', status: 404, has: ['UserNotFound'] },
])
