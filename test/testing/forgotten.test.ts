// What went from a folder is remembered one by one for some time, and the last of it for ever: who comes from before that is
// told of all that is not there, and nobody is told anything that is not so.

import { connect } from 'node:net'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { limits } from '#lib/limits.ts'
import { startTesting } from '#testing/testing.ts'
import type { Inbox, Testing } from '../../src/testing.d.ts'
import { EventReader } from '../http/api/stream.ts'

const day = 86_400_000
const many = limits.mailbox.expungedKept + 50
let mail: Testing

beforeAll(async () => {
  mail = await startTesting()
})
afterAll(async () => {
  expect(await mail.check()).toEqual([])
  await mail.close()
})

/** Says lines to an inbox's IMAP server and gives all that it says until the last one is answered. */
async function said(inbox: Inbox, ...lines: string[]): Promise<string> {
  const socket = connect(inbox.imap.port, inbox.imap.host)
  let text = ''
  socket.setEncoding('latin1').on('data', chunk => {
    text += chunk
  })
  for (const line of [`LOGIN ${inbox.user} "${inbox.password}"`, ...lines, 'LOGOUT']) {
    const from = text.length
    socket.write(`a ${line}\r\n`)
    await expect.poll(() => /^a (OK|NO|BAD)/m.test(text.slice(from))).toBe(true)
  }
  socket.destroy()
  return text
}

/** A session that has said so much; it says one thing more when it is asked, and what it hears to its end or an answer comes back. */
async function held(inbox: Inbox, first: readonly string[], last: string): Promise<() => Promise<string>> {
  const socket = connect(inbox.imap.port, inbox.imap.host)
  let text = ''
  socket.setEncoding('latin1').on('data', chunk => {
    text += chunk
  })
  const ask = async (line: string) => {
    text = ''
    socket.write(`a ${line}\r\n`)
    await expect.poll(() => /^a (OK|NO|BAD)|^\* BYE/m.test(text)).toBe(true)
  }
  for (const line of [`LOGIN ${inbox.user} "${inbox.password}"`, ...first]) await ask(line)
  return async () => {
    await ask(last)
    socket.destroy()
    return text
  }
}

const ask = (path: string) => fetch(mail.url + path, { headers: { 'x-access-token': mail.rootToken } })

const number = (text: string, name: string) => Number(new RegExp(`${name} (\\d+)`).exec(text)?.[1])

test('a client that was away for longer is told of all that is not there', async () => {
  const inbox = await mail.inbox('away')
  const messages = Array.from({ length: many }, (_, at) => `Subject: ${at}\r\n\r\ntext\r\n`)
  await inbox.seed({ messages })
  const taken = (uids: string) => said(inbox, 'SELECT INBOX', `UID STORE ${uids} +FLAGS.SILENT (\\Deleted)`, 'EXPUNGE')
  const highest = async () => number(await said(inbox, 'ENABLE QRESYNC', 'SELECT INBOX'), 'HIGHESTMODSEQ')
  // Uids 2 and 5 stay.
  await taken('1')
  const first = await highest()
  // Told of nothing from here on. The first two know their list of messages, which says which is the first unseen.
  const live = await Promise.all([
    held(inbox, ['SELECT INBOX'], 'NOOP'),
    held(inbox, ['ENABLE QRESYNC', 'SELECT INBOX'], 'UID FETCH 2 (UID)'),
    held(inbox, ['ENABLE IMAP4rev2', 'SELECT INBOX'], 'NOOP'),
    held(inbox, ['ENABLE IMAP4rev2', 'SELECT INBOX'], 'FETCH 30 (UID)'),
  ])
  await taken('3:4')
  await taken('6:40')
  const middle = await highest()
  await taken(`41:${many}`)
  const last = await highest()
  const validity = number(await said(inbox, 'SELECT INBOX'), 'UIDVALIDITY')
  const since = (modseq: number, more = '') =>
    said(inbox, 'ENABLE QRESYNC', `SELECT INBOX (QRESYNC (${validity} ${modseq}${more}))`)
  const exact = `* VANISHED (EARLIER) 3:4,6:${many}\r\n`
  expect(await since(first)).toContain(exact)

  await mail.clock.advance(20 * day)
  expect(await since(first)).toContain(exact)
  await mail.clock.advance(20 * day)
  await expect.poll(() => since(first)).toContain(`* VANISHED (EARLIER) 1,3:4,6:${many}\r\n`)
  for (const asked of live) expect(await asked()).toMatch(/^(?:\* \d+ FETCH .*\r\n)?\* BYE [^\r\n]+\r\n$/)
  expect(await since(first, ' 1:2,4:9,50')).toContain('* VANISHED (EARLIER) 1,4,6:9,50\r\n')
  expect(await since(middle)).toContain(`* VANISHED (EARLIER) 41:${many}\r\n`)
  expect(await since(last)).not.toContain('VANISHED')
  const fetch10 = `UID FETCH 1:10 (FLAGS) (CHANGEDSINCE ${first} VANISHED)`
  const fetched = await said(inbox, 'ENABLE QRESYNC', 'SELECT INBOX', fetch10)
  expect(fetched).toContain('* VANISHED (EARLIER) 1,3:4,6:10\r\n')

  const { id } = (await (await ask(`/users/resolve/${inbox.user}`)).json()) as { id: string }
  const told = async (after: number) => {
    const event = after.toString(16).padStart(24, '0')
    const reader = await EventReader.open(`${mail.url}/users/${id}/updates`, mail.rootToken, event)
    await reader.until(() => reader.told.length > 0)
    reader.close()
    return reader.told[0]?.data.command
  }
  expect(await told(first)).toBe('RESYNC')
  await inbox.seed({ messages: ['Subject: new\r\n\r\ntext\r\n'] })
  expect(await told(last)).toBe('EXISTS')
})

test('of a folder that is gone nothing stays, however much went from it', async () => {
  const inbox = await mail.inbox('folder')
  const messages = Array.from({ length: limits.mailbox.forgetRows + 10 }, (_, at) => ({
    mail: `Subject: ${at}\r\n\r\ntext\r\n`,
    folder: 'Box',
  }))
  await inbox.seed({ messages })
  await said(inbox, 'SELECT Box', 'STORE 1:* +FLAGS.SILENT (\\Deleted)', 'EXPUNGE', 'DELETE Box')
  // Folders that had something to forget.
  const done = async () =>
    Number(/loop_items_total\{loop="forgetting",result="done"\} (\d+)/.exec(await (await ask('/metrics')).text())?.[1])
  const before = await done()
  await mail.clock.advance(day)
  await expect.poll(done).toBe(before + 1)
  await mail.clock.advance(day)
  expect(await done()).toBe(before + 1)
})
