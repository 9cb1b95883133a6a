// Mailpit's common calls, by the shapes that its documentation has.

import { expect, test } from 'vitest'
import { useDev } from './running.ts'

const on = useDev({ max: 5 })

test('messages are listed, newest first, and read in all their parts', async () => {
  await on.send({ to: 'first@example.com', subject: 'First', text: 'x' }, 'first@example.com')
  const draft = {
    ...{ from: 'App <app@example.com>', to: 'Ann <ann@example.com>', cc: 'bob@example.com', subject: 'Grüße' },
    ...{ text: 'Hello  there', html: '<p>Hello <img src="cid:logo"></p>', headers: { 'X-Trace': 'abc' } },
    attachments: [
      { filename: 'a.txt', content: 'attached' },
      { filename: 'logo.png', content: 'PNG', cid: 'logo' } as object,
    ],
  }
  await on.send(draft as never, 'ann@example.com')
  const { body: page } = await on.call('GET', '/api/v1/messages?limit=1')
  expect(page).toMatchObject({
    total: 2,
    unread: 2,
    count: 1,
    messages_count: 2,
    messages_unread: 2,
    start: 0,
    tags: [],
  })
  const [line] = page.messages
  expect(line).toMatchObject({
    ...{ Read: false, From: { Name: 'App', Address: 'app@example.com' }, Subject: 'Grüße', Attachments: 1 },
    ...{ To: [{ Name: 'Ann', Address: 'ann@example.com' }], Cc: [{ Name: '', Address: 'bob@example.com' }], Bcc: [] },
    ...{ Tags: [], Snippet: 'Hello there', Created: expect.stringMatching(/^\d{4}-\d\d-\d\dT/) },
  })
  const { body } = await on.call('GET', `/api/v1/message/${line.ID}`)
  expect(body).toMatchObject({
    ...{ ID: line.ID, ReturnPath: 'app@example.com', Text: 'Hello  there', HTML: expect.stringContaining('cid:logo') },
    Attachments: [{ FileName: 'a.txt', ContentType: 'text/plain', Size: 8, Checksums: { MD5: expect.any(String) } }],
    Inline: [{ FileName: 'logo.png', ContentID: 'logo', ContentType: 'image/png' }],
  })
  expect(body.MessageID).not.toMatch(/[<>]/)
  expect((await on.call('GET', `/api/v1/message/${line.ID}/part/${body.Attachments[0].PartID}`)).body).toBe('attached')
  expect((await on.call('GET', `/api/v1/message/${line.ID}/headers`)).body).toMatchObject({ 'X-Trace': ['abc'] })
  expect((await on.call('GET', `/api/v1/message/${line.ID}/raw`)).body).toMatch(/^X-Trace: abc\r$/m)
  expect((await on.call('GET', '/api/v1/message/latest')).body.ID).toBe(line.ID)
  expect((await on.call('GET', '/view/latest.txt')).body).toBe('Hello  there')
  expect((await on.call('GET', '/view/latest.html')).body).toContain('data:image/png;base64,')
  expect((await on.call('GET', '/api/v1/messages')).body).toMatchObject({ unread: 1 })
  expect((await on.call('GET', '/api/v1/message/nothing')).status).toBe(404)
})

test.each([
  ['Grüße', 1],
  ['"hello  there"', 1],
  ['from:app subject:grüße', 1],
  ['!subject:first', 1],
  ['-is:read', 1],
  ['is:read', 1],
  ['has:attachment', 1],
  ['to:ann@example.com cc:bob', 1],
  ['addressed:bob', 1],
  ['bcc:first', 0],
  ['after:2020-01-01 before:2020-01-02', 0],
  ['larger:1M', 0],
  ['tag:x', 0],
  ['text:there', 1],
  ['file:a.txt', 1],
  ['is:tagged', 0],
  ['example.com', 2],
])('the search %s finds %i', async (query, count) => {
  const { status, body } = await on.call('GET', `/api/v1/search?query=${encodeURIComponent(query)}`)
  expect([status, body.messages_count, body.messages.length]).toEqual([200, count, count])
})

test('messages are marked and deleted, by id, by search, and all of them', async () => {
  const { messages } = (await on.call('GET', '/api/v1/messages')).body
  const ids = messages.map(({ ID }: { ID: string }) => ID)
  expect(await on.call('PUT', '/api/v1/messages', { IDs: ids, Read: true })).toEqual({ status: 200, body: 'ok' })
  expect((await on.call('GET', '/api/v1/info')).body).toMatchObject({ Messages: 2, Unread: 0 })
  await on.call('PUT', '/api/v1/messages', { Read: false })
  expect((await on.call('GET', '/api/v1/messages')).body.unread).toBe(2)
  expect((await on.call('DELETE', '/api/v1/search?query=subject:first')).body).toBe('ok')
  expect((await on.call('GET', '/api/v1/messages')).body.total).toBe(1)
  expect((await on.call('GET', '/api/v1/search?query=')).status).toBe(400)
  expect((await on.call('DELETE', '/api/v1/messages', { IDs: ['nothing'] })).body).toBe('ok')
  expect((await on.call('GET', '/api/v1/messages')).body.total).toBe(1)
  expect((await on.call('DELETE', '/api/v1/messages')).body).toBe('ok')
  expect((await on.call('GET', '/api/v1/messages')).body).toMatchObject({ total: 0, messages: [] })
})

test('what is sent over the API arrives under the id that is told', async () => {
  const mail = {
    ...{
      From: { Email: 'a@example.com', Name: 'A "quoted"' },
      To: [{ Email: 'b@example.com' }],
      Bcc: ['c@example.com'],
    },
    ...{ Subject: 'Sent', Text: 'x', Attachments: [{ Filename: 'a.txt', Content: 'aGVsbG8=' }] },
  }
  const { ID } = (await on.call('POST', '/api/v1/send', mail)).body
  const { body } = await on.call('GET', `/api/v1/message/${ID}`)
  expect(body).toMatchObject({ Subject: 'Sent', Bcc: [{ Address: 'c@example.com' }], Attachments: [{ Size: 5 }] })
  expect((await on.call('POST', '/api/v1/send', {})).body.Error).toContain('From')
})

test('tags are listed, set, renamed and deleted', async () => {
  const to = 'tags+Shop@example.com'
  await on.send({ to, subject: 'Tagged', text: 'x', headers: { 'X-Tags': 'one, Two <3' } }, to)
  const tags = async () => (await on.call('GET', '/api/v1/tags')).body
  const { messages } = (await on.call('GET', '/api/v1/search?query=tag:shop')).body
  const { ID } = messages[0]
  expect(messages[0].Tags).toEqual(['one', 'Shop', 'Two 3'])
  expect(await tags()).toEqual(['one', 'Shop', 'Two 3'])
  await on.call('PUT', '/api/v1/tags/SHOP', { Name: 'Store' })
  await on.call('DELETE', '/api/v1/tags/one')
  expect((await on.call('GET', `/api/v1/message/${ID}`)).body.Tags).toEqual(['Store', 'Two 3'])
  await on.call('PUT', '/api/v1/tags', { IDs: [ID], Tags: ['three'] })
  expect((await on.call('GET', '/api/v1/info')).body.Tags).toEqual({ three: 1 })
  expect((await on.call('GET', '/api/v1/search?query=is:tagged')).body.messages_count).toBe(1)
})

test('chaos strikes and ends; links are tried', async () => {
  expect((await on.call('GET', '/api/v1/chaos')).body.Sender).toEqual({ ErrorCode: 451, Probability: 0 })
  const chaos = { Recipient: { ErrorCode: 550, Probability: 100 } }
  expect((await on.call('PUT', '/api/v1/chaos', chaos)).body.Recipient).toEqual(chaos.Recipient)
  await expect(on.send({ subject: 'x' }, 'chaos@example.com')).rejects.toThrow('550')
  expect((await on.call('PUT', '/api/v1/chaos', { Recipient: { ErrorCode: 200, Probability: 1 } })).status).toBe(400)
  expect((await on.call('PUT', '/api/v1/chaos', {})).body.Recipient.Probability).toBe(0)
  await on.send({ subject: 'x', text: `${on.dev.url}/livez ${on.dev.url}/nothing` }, 'chaos@example.com')
  const { body } = await on.call('GET', '/api/v1/message/latest/link-check')
  expect(body.Errors).toBe(1)
  expect(body.Links.map(({ StatusCode }: { StatusCode: number }) => StatusCode)).toEqual([200, 404])
  expect((await on.call('POST', '/api/v1/message/latest/release', { To: ['a@example.com'] })).status).toBe(409)
})

test('no more are kept than were asked for', async () => {
  for (let number = 0; number < 7; number++) {
    await on.send({ to: 'many@example.com', subject: `Mail ${number}` }, 'many@example.com')
  }
  const { messages } = (await on.call('GET', '/api/v1/messages')).body
  expect(messages.map(({ Subject }: { Subject: string }) => Subject)).toEqual(
    ['6', '5', '4', '3', '2'].map(n => `Mail ${n}`),
  )
})
