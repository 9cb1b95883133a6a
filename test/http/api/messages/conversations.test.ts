// Folders as lists of conversations over HTTP: total, rows and counts that agree, while mail comes and goes.

import { expect, test } from 'vitest'
import { useTeal } from '../../../running.ts'
import { type Account, account, mail } from '../mail-world.ts'

const service = useTeal()

let made = 0

/** Puts a letter of a thread into a folder. */
function letter(user: Account, path: string, thread: string, day: number, more: Record<string, unknown> = {}) {
  made += 1
  const headers = [
    { key: 'Message-ID', value: `<${made}.${thread}@x.example>` },
    { key: 'References', value: `<root.${thread}@x.example>` },
  ]
  const date = new Date(Date.UTC(2024, 0, day)).toISOString()
  return user.put(path, mail(thread, `${thread} of day ${day}`, { headers, date, ...more }))
}

async function listed(user: Account, query = '') {
  const path = `/mailboxes/${user.box('INBOX')}/messages?collapseThreads=true&threadCounters=true&${query}`
  const { status, body } = await user.call('GET', path)
  expect(status).toBe(200)
  return body
}

const names = (body: { results: { subject: string }[] }) => body.results.map(row => row.subject)

test('a conversation is one row that says how many letters it has and which of them lie here', async () => {
  const user = await account(service, 'talker')
  const first = await letter(user, 'INBOX', 'trip', 1)
  const second = await letter(user, 'INBOX', 'trip', 3, { unseen: true, flagged: true })
  await letter(user, 'Sent Mail', 'trip', 2)
  await letter(user, 'Trash', 'trip', 4, { unseen: true })
  await letter(user, 'INBOX', 'bill', 2)
  const body = await listed(user)
  expect(body).toMatchObject({
    total: 2,
    results: [
      { subject: 'trip', id: second, conversation: { total: 3, unseen: 1, flagged: 1, here: 2 } },
      { subject: 'bill', conversation: { total: 1, unseen: 0, flagged: 0, here: 1 } },
    ],
  })
  expect(body.results[0].conversation.messages).toEqual([second, first])
  const { body: plain } = await user.call('GET', `/mailboxes/${user.box('INBOX')}/messages?threadCounters=true`)
  expect(plain.results[0]).not.toHaveProperty('conversation')
})

test('what comes, goes and is read is in the next list', async () => {
  const user = await account(service, 'changer')
  const put = (thread: string, day: number, more = {}) => letter(user, 'INBOX', thread, day, more)
  const path = `/mailboxes/${user.box('INBOX')}/messages`
  await put('one', 1)
  const two = await put('two', 2, { unseen: true })
  expect(names(await listed(user))).toEqual(['two', 'one'])
  await put('one', 5)
  await put('old', 0)
  expect(names(await listed(user))).toEqual(['one', 'two', 'old'])
  expect(names(await listed(user, 'order=asc'))).toEqual(['old', 'one', 'two'])
  expect(await listed(user, 'unseen=true')).toMatchObject({ total: 1, results: [{ subject: 'two' }] })
  await user.call('PUT', `${path}/${two}`, { seen: true })
  expect(await listed(user, 'unseen=true')).toMatchObject({ total: 0, results: [] })
  expect((await listed(user)).results[1].conversation).toMatchObject({ unseen: 0 })
  await user.call('DELETE', `${path}/${two}`)
  expect(await listed(user)).toMatchObject({ total: 2, results: [{ subject: 'one' }, { subject: 'old' }] })
  await user.call('DELETE', path)
  expect(await listed(user)).toMatchObject({ total: 0, results: [] })
  await put('again', 9)
  expect(await listed(user)).toMatchObject({ total: 1, results: [{ subject: 'again' }] })
})

test('conversations are paged and jumped to by their number', async () => {
  const user = await account(service, 'pager')
  for (let n = 0; n < 7; n += 1) for (const day of [n, 20 - n]) await letter(user, 'INBOX', `c${n}`, day)
  const all = ['c0', 'c1', 'c2', 'c3', 'c4', 'c5', 'c6']
  const page = await listed(user, 'limit=2')
  expect([names(page), page.total, page.previousCursor]).toEqual([['c0', 'c1'], 7, false])
  const next = await listed(user, `limit=2&next=${page.nextCursor}`)
  expect(names(next)).toEqual(['c2', 'c3'])
  expect(names(await listed(user, `limit=2&previous=${next.previousCursor}`))).toEqual(['c0', 'c1'])
  for (let skip = 0; skip <= 8; skip += 1) {
    expect(names(await listed(user, `limit=3&skip=${skip}`))).toEqual(all.slice(skip, skip + 3))
  }
  const far = await listed(user, 'limit=2&skip=4')
  expect(names(await listed(user, `limit=2&next=${far.nextCursor}`))).toEqual(['c6'])
  expect(names(await listed(user, `limit=2&previous=${far.previousCursor}`))).toEqual(['c2', 'c3'])
})

test('rows and total agree while letters come and go', async () => {
  const user = await account(service, 'busy')
  const path = `/mailboxes/${user.box('INBOX')}/messages`
  let done = false
  const changing = (async () => {
    for (let n = 0; n < 60; n += 1) {
      const uid = await letter(user, 'INBOX', `b${n % 5}`, n)
      if (n % 2 === 1) await user.call('DELETE', `${path}/${uid}`)
    }
    done = true
  })()
  while (!done) {
    const body = await listed(user, 'limit=250')
    expect(body.results.length).toBe(body.total)
    for (const row of body.results) expect(row.conversation.messages).toContain(row.id)
  }
  await changing
})

test('what a search finds is jumped to by number', async () => {
  const user = await account(service, 'finder')
  for (let n = 0; n < 7; n += 1) await letter(user, 'INBOX', `s${n}`, n)
  const find = async (query: string) => (await user.call('GET', `/search?q=day&order=desc&${query}`)).body
  const far = await find('limit=2&skip=3')
  expect([names(far), far.total]).toEqual([['s3', 's2'], 7])
  expect(names(await find(`limit=2&next=${far.nextCursor}`))).toEqual(['s1', 's0'])
  expect(names(await find(`limit=2&previous=${far.previousCursor}`))).toEqual(['s5', 's4'])
  expect(names(await find('skip=9'))).toEqual([])
})
