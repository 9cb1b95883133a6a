// Deleted messages: kept for some time, listed, brought back, and gone in the end.

import { afterEach, expect, test } from 'vitest'
import { shiftClock, sleep } from '#lib/clock.ts'
import { limits } from '#lib/limits.ts'
import { useTeal } from '../../../running.ts'
import { type Account, account, mail } from '../mail-world.ts'

const service = useTeal()

afterEach(() => shiftClock(0))

async function archived(user: Account): Promise<{ id: number; subject: string; mailbox: string; thread: string }[]> {
  const { body } = await user.call('GET', '/archived/messages')
  expect(body.total).toBe(body.results.length)
  return body.results
}

test('what is deleted is archived, does not count, and comes back where it was', async () => {
  const user = await account(service, 'keeper')
  const made = await user.call('POST', '/mailboxes', { path: 'Box' })
  const id = await user.put('Box', mail('precious', 'x', { flagged: true, metaData: { a: 1 } }))
  const before = (await user.call('GET', `/mailboxes/${made.body.id}/messages/${id}`)).body
  const used = async () => (await service.call('GET', `/users/${user.id}`)).body.limits.quota.used
  expect(await used()).toBe(before.size)
  await user.call('DELETE', `/mailboxes/${made.body.id}/messages/${id}`)
  expect(await used()).toBe(0)
  const [kept] = await archived(user)
  expect(kept).toMatchObject({ subject: 'precious', mailbox: made.body.id, thread: before.thread })
  const back = await user.call('POST', `/archived/messages/${kept?.id}/restore`, {})
  expect(back.body).toMatchObject({ success: true, mailbox: made.body.id })
  const after = (await user.call('GET', `/mailboxes/${made.body.id}/messages/${back.body.id}`)).body
  expect(after).toMatchObject({ thread: before.thread, idate: before.idate, flagged: true, metaData: { a: 1 } })
  expect(await used()).toBe(before.size)
  expect(await archived(user)).toEqual([])
  const twice = await user.call('POST', `/archived/messages/${kept?.id}/restore`, {})
  expect(twice).toMatchObject({ status: 404, body: { code: 'ArchivedMessageNotFound' } })
})

test('a deleted mailbox is archived with its messages, which come back to one of that path or to INBOX', async () => {
  const user = await account(service, 'folders')
  for (const path of ['Gone', 'Again']) {
    const { body } = await user.call('POST', '/mailboxes', { path })
    await user.put(path, mail(path, 'x'))
    await user.call('DELETE', `/mailboxes/${body.id}`)
  }
  const again = await user.call('POST', '/mailboxes', { path: 'Again' })
  for (const { id, subject } of await archived(user)) {
    const { body } = await user.call('POST', `/archived/messages/${id}/restore`, {})
    expect([subject, body.mailbox]).toEqual([subject, subject === 'Gone' ? user.box('INBOX') : again.body.id])
  }
  const named = await user.put('INBOX', mail('named', 'x'))
  await user.call('DELETE', `/mailboxes/${user.box('INBOX')}/messages/${named}`)
  const [last] = await archived(user)
  const to = await user.call('POST', `/archived/messages/${last?.id}/restore`, { mailbox: user.box('Trash') })
  expect(to.body).toMatchObject({ mailbox: user.box('Trash'), id: 1 })
})

test('drafts are not archived', async () => {
  const user = await account(service, 'drafts')
  const id = await user.put('Drafts', { ...mail('draft', 'x'), draft: true })
  await user.call('DELETE', `/mailboxes/${user.box('Drafts')}/messages/${id}`)
  expect(await archived(user)).toEqual([])
})

test('what was deleted in a period comes back by a task', async () => {
  const user = await account(service, 'range')
  const box = user.box('INBOX')
  for (let at = 0; at < 3; at++) await user.put('INBOX', mail(`m${at}`, 'x'))
  await user.call('DELETE', `/mailboxes/${box}/messages/1`)
  await sleep(5)
  const start = new Date().toISOString()
  await user.call('DELETE', `/mailboxes/${box}/messages/2,3`.replace('2,3', '2'))
  await user.call('DELETE', `/mailboxes/${box}/messages/3`)
  const end = new Date().toISOString()
  const { body } = await user.call('POST', '/archived/restore', { start, end })
  expect((await user.done(body.task)).result).toEqual({ restored: 2 })
  expect((await archived(user)).map(row => row.subject)).toEqual(['m0'])
  expect((await user.call('POST', '/archived/restore', { start: end, end: start })).status).toBe(400)
})

test('a full account gets nothing back', async () => {
  const user = await account(service, 'full', { quota: 3000 })
  await user.put('INBOX', mail('big', 'x'.repeat(1800)))
  await user.call('DELETE', `/mailboxes/${user.box('INBOX')}/messages/1`)
  await user.put('INBOX', mail('other', 'x'.repeat(1800)))
  const [kept] = await archived(user)
  const back = await user.call('POST', `/archived/messages/${kept?.id}/restore`, {})
  expect(back).toMatchObject({ status: 400, body: { code: 'OverQuotaError' } })
  expect(await archived(user)).toHaveLength(1)
})

test('nobody sees or takes what another one deleted', async () => {
  const owner = await account(service, 'owner')
  const thief = await account(service, 'thief')
  const token = await thief.token()
  await owner.put('INBOX', mail('secret', 'x'))
  await owner.call('DELETE', `/mailboxes/${owner.box('INBOX')}/messages/1`)
  const [kept] = await archived(owner)
  expect((await owner.call('GET', '/archived/messages', undefined, token)).status).toBe(403)
  expect((await owner.call('POST', `/archived/messages/${kept?.id}/restore`, {}, token)).status).toBe(403)
  const through = await thief.call('POST', `/archived/messages/${kept?.id}/restore`, {}, token)
  expect(through).toMatchObject({ status: 404, body: { code: 'ArchivedMessageNotFound' } })
})

test('messages and archived messages go when their time is over', async () => {
  const user = await account(service, 'old')
  const box = user.box('INBOX')
  await user.put('INBOX', mail('expires', 'x'))
  await user.put('INBOX', mail('stays', 'x'))
  const soon = new Date(Date.now() + 60_000).toISOString()
  await user.call('PUT', `/mailboxes/${box}/messages/1`, { expires: soon })
  const until = async (done: () => Promise<boolean>) => {
    for (let tries = 0; tries < 700 && !(await done()); tries++) await sleep(25)
    expect(await done()).toBe(true)
  }
  shiftClock(limits.expiry.roundMs + 120_000)
  await until(async () => (await user.call('GET', `/mailboxes/${box}`)).body.total === 1)
  expect((await archived(user)).map(row => row.subject)).toEqual(['expires'])
  await service.call('POST', '/settings/const:archive:time', { value: 1000 })
  await user.call('DELETE', `/mailboxes/${box}/messages/2`)
  expect(await archived(user)).toHaveLength(2)
  shiftClock(3 * limits.expiry.roundMs)
  await until(async () => (await archived(user)).length === 1)
  await service.call('DELETE', '/settings/const:archive:time')
}, 60_000)

test('a list says when each was deleted and until when it is kept; a span of time goes to a folder that is named', async () => {
  const user = await account(service, 'spanned')
  for (const subject of ['one', 'two']) {
    const id = await user.put('INBOX', mail(subject, 'x'))
    await user.call('DELETE', `/mailboxes/${user.box('INBOX')}/messages/${id}`)
  }
  const { body } = await user.call('GET', '/archived/messages')
  for (const { archived: at, expires } of body.results) {
    expect(Math.abs(Date.now() - Date.parse(at))).toBeLessThan(600_000)
    expect(Date.parse(expires)).toBeGreaterThan(Date.parse(at))
  }
  const span = { start: new Date(0).toISOString(), end: new Date(Date.now() + 60_000).toISOString() }
  const unknown = await user.call('POST', '/archived/restore', { ...span, mailbox: '0'.repeat(24) })
  expect(unknown).toMatchObject({ status: 404, body: { code: 'NoSuchMailbox' } })
  const box = (await user.call('POST', '/mailboxes', { path: 'Back' })).body.id
  const { task } = (await user.call('POST', '/archived/restore', { ...span, mailbox: box })).body
  await expect.poll(async () => (await user.call('GET', `/tasks/${task}`)).body.state, { timeout: 20_000 }).toBe('done')
  const back = (await user.call('GET', `/mailboxes/${box}/messages`)).body.results
  expect(back.map((one: { subject: string }) => one.subject).toSorted()).toEqual(['one', 'two'])
})
