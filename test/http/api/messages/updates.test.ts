import { afterEach, describe, expect, test } from 'vitest'
import { createMailbox, deleteMailbox } from '#actors/mailbox/mailbox.ts'
import { type StreamStart, UpdateStream } from '#http/updates.ts'
import { numberId } from '#lib/id.ts'
import { limits } from '#lib/limits.ts'
import { findUser } from '#store/accounts/users.ts'
import { useTeal } from '../../../running.ts'
import { sendBytes } from '../../scenario.ts'
import { send } from '../mail.ts'
import { EventReader } from '../stream.ts'

const running = useTeal()
const { call, user } = running
const open: EventReader[] = []

afterEach(() => {
  for (const reader of open.splice(0)) reader.close()
})

async function listen(id: string, lastEventId?: string): Promise<EventReader> {
  const reader = await EventReader.open(`${running.teal.url}/users/${id}/updates`, running.teal.rootToken, lastEventId)
  open.push(reader)
  return reader
}

const hexId = expect.stringMatching(/^[0-9a-f]{24}$/)

async function inboxOf(id: string): Promise<string> {
  return (await call('GET', `/users/${id}/mailboxes/resolve?path=INBOX`)).body.id
}

const mail = (n: number) => `From: a@example.org\nSubject: ${n}\n\ntext ${n}\n`

/** One of everything, over the wire. What happens to messages waits until it was told with its counters, which say the last of a batch. */
async function live(name: string, id: string, reader: EventReader): Promise<string> {
  const inbox = await inboxOf(id)
  const told = (counters: number) =>
    reader.until(() => reader.told.filter(one => one.data.command === 'COUNTERS').length === counters)
  await send(running, `${name}@example.com`, mail(1))
  await told(1)
  await call('PUT', `/users/${id}/mailboxes/${inbox}/messages`, { message: '1:*', seen: true, flagged: true })
  await told(2)
  const box = (await call('POST', `/users/${id}/mailboxes`, { path: 'Box' })).body.id
  await call('PUT', `/users/${id}/mailboxes/${box}`, { path: 'Renamed' })
  await call('DELETE', `/users/${id}/mailboxes/${inbox}/messages/1`)
  await told(3)
  await call('DELETE', `/users/${id}/mailboxes/${box}`)
  return inbox
}

describe('a stream', () => {
  test('tells every change with its payload, counters after it', async () => {
    const id = await user('told')
    const reader = await listen(id)
    const inbox = await live('told', id, reader)
    await reader.until(() => reader.commands().at(-1) === 'DELETE')
    expect(reader.comments).toEqual(['idling 1'])
    expect(reader.retry).toBe(String(limits.updates.retryMs))
    const message = { uid: 1, message: hexId, thread: hexId, mailbox: inbox }
    const box = reader.told.find(one => one.data.command === 'CREATE')?.data.mailbox
    expect(reader.told.map(one => one.data)).toEqual([
      { command: 'EXISTS', ...message, idate: expect.stringMatching(/^\d{4}-.*Z$/) },
      { command: 'COUNTERS', mailbox: inbox, total: 1, unseen: 1 },
      { command: 'FETCH', ...message, flags: ['\\Seen', '\\Flagged'] },
      { command: 'COUNTERS', mailbox: inbox, total: 1, unseen: 0 },
      { command: 'CREATE', path: 'Box', mailbox: box },
      { command: 'RENAME', path: 'Renamed', mailbox: box },
      { command: 'EXPUNGE', ...message },
      { command: 'COUNTERS', mailbox: inbox, total: 0, unseen: 0 },
      { command: 'DROP', mailbox: box },
      { command: 'DELETE', mailbox: box },
    ])
    const [drop, ...told] = reader.told.toSorted((one, other) => (one.id ?? '').localeCompare(other.id ?? ''))
    expect([drop?.data.command, drop?.id]).toEqual(['DROP', undefined])
    expect(told.every(one => /^[0-9a-f]{24}$/.test(one.id ?? ''))).toBe(true)
    const ids = reader.told.flatMap(one => one.id ?? [])
    expect(ids).toEqual(ids.toSorted())
  })

  test('ends the chunk of each event at once, for clients that wait for that', async () => {
    const id = await user('chunked')
    const { url, rootToken } = running.teal
    const head = `GET /users/${id}/updates HTTP/1.1\r\nHost: x\r\nX-Access-Token: ${rootToken}\r\nLast-Event-ID: ${'f'.repeat(24)}\r\n\r\n`
    const came = await sendBytes({ url }, head)
    expect(came).toMatch(/"command": "RESYNC"[^\r]*\n\n\r\n/)
  })

  test('resumes after any event and loses nothing', async () => {
    const id = await user('resumed')
    const first = await listen(id)
    const inbox = await inboxOf(id)
    for (let n = 1; n <= 4; n++) await send(running, 'resumed@example.com', mail(n))
    await call('PUT', `/users/${id}/mailboxes/${inbox}/messages`, { message: '1:3', seen: true })
    await call('DELETE', `/users/${id}/mailboxes/${inbox}/messages/2`)
    await call('POST', `/users/${id}/mailboxes`, { path: 'New' })
    await first.until(() => first.commands().at(-1) === 'CREATE')
    for (const { id: known } of first.told) {
      const again = await listen(id, known)
      const since = first.told.filter(one => (one.id ?? '') > (known ?? ''))
      if (since.length === 0) continue
      await again.until(() => again.commands().includes('CREATE'))
      const of = (told: typeof since, command: string) =>
        new Set(told.filter(one => one.data.command === command).map(one => one.data.uid ?? one.data.mailbox))
      const gone = of(since, 'EXPUNGE')
      for (const command of ['EXISTS', 'FETCH', 'EXPUNGE', 'CREATE']) {
        const expected = [...of(since, command)].filter(uid => command === 'EXPUNGE' || !gone.has(uid))
        expect([...of(again.told, command)]).toEqual(expect.arrayContaining(expected))
      }
      again.close()
    }
    const last = first.told.at(-1)?.id
    const quiet = await listen(id, last)
    await send(running, 'resumed@example.com', mail(9))
    await quiet.until(() => quiet.told.length >= 2)
    expect(quiet.told[0]?.data).toMatchObject({ command: 'EXISTS', uid: 5 })
  })

  test('resumes within what is told from rows, and loses no message that has changed since it came', async () => {
    const id = await user('interrupted')
    const first = await listen(id)
    const inbox = await inboxOf(id)
    const change = (message: string) => call('PUT', `/users/${id}/mailboxes/${inbox}/messages`, { message, seen: true })
    for (let n = 1; n <= 2; n++) await send(running, 'interrupted@example.com', mail(n))
    await first.until(() => first.commands().length === 2)
    const known = first.told.at(-1)?.id
    await send(running, 'interrupted@example.com', mail(3))
    await change('1:2')
    await change('3')
    const replay = await listen(id, known)
    await replay.until(() => replay.commands().filter(command => command === 'FETCH').length === 3)
    replay.close()
    const replayed = [...replay.told]
    for (const [index, { id: seen }] of replayed.entries()) {
      const again = await listen(id, seen)
      await call('POST', `/users/${id}/mailboxes`, { path: `After ${index}` })
      await again.until(() => again.commands().includes('CREATE'))
      const told = [...replayed.slice(0, index + 1), ...again.told].map(one => one.data)
      expect(told, String(index)).toContainEqual(expect.objectContaining({ command: 'EXISTS', uid: 3 }))
      again.close()
    }
  })

  test('says where a replay is not possible', async () => {
    const id = await user('gap')
    for (const unknown of ['665f00000000000000000001', numberId(999_999), 'no id']) {
      const reader = await listen(id, unknown)
      await reader.until(() => reader.told.length > 0)
      expect(reader.told[0]).toMatchObject({
        event: 'error',
        id: hexId,
        data: { command: 'RESYNC', code: 'ReplayGap', error: expect.any(String) },
      })
      reader.close()
    }
    const bad = await call('GET', `/users/${id}/updates?Last-Event-ID=xyz`)
    expect([bad.status, bad.body.code]).toEqual([400, 'InputValidationError'])
    const nobody = await call('GET', '/users/5f0000000000000000000000/updates')
    expect([nobody.status, nobody.body.code]).toEqual([404, 'UserNotFound'])
  })

  test('ends when the account is closed', async () => {
    const id = await user('closed')
    const reader = await listen(id)
    await call('PUT', `/users/${id}`, { suspended: true })
    await reader.until(() => reader.ended)
    expect(reader.told.at(-1)).toEqual({
      id: undefined,
      event: undefined,
      data: { command: 'LOGOUT', reason: 'The account was suspended' },
    })
  })

  test('is refused to one account beyond its number', async () => {
    const id = await user('many')
    const most = Array.from({ length: limits.updates.streamsMax }, () => listen(id))
    await Promise.all(most)
    const more = await call('GET', `/users/${id}/updates`)
    expect([more.status, more.body.code]).toEqual([503, 'TooManySessions'])
    open.pop()?.close()
  })
})

/** A stream that nobody has taken anything of yet, and what its account is. */
async function opened(name: string) {
  const id = await user(name)
  const { system, read, credentials } = running.teal.core
  const handle = system.handle(id)
  const owner = await findUser(read, id)
  const abort = new AbortController()
  const hold: StreamStart['hold'] = onEnd =>
    credentials.grants.hold({ kind: 'token', user: id, token: null }, { ended: onEnd })
  const over = { ended: 0 }
  const ended = () => {
    over.ended++
  }
  const start = { handle, user: owner?.num ?? 0, known: null, signal: abort.signal, hold, ended }
  return { start, handle, abort, over }
}

const box = (path: string) => ({ path, hidden: false, retention: 0, encrypt: false, subscribed: true })

test('what happens from its opening on is told as it happened, whenever its first event is asked for', async () => {
  const { start, handle, abort, over } = await opened('prompt')
  const stream = await UpdateStream.open(start)
  const { id } = await handle.run(createMailbox, box('Short'))
  await handle.run(deleteMailbox, { id })
  const events = stream[Symbol.asyncIterator]()
  const told = [await events.next(), await events.next(), await events.next()]
  expect(told.map(one => one.value?.data)).toEqual([
    { command: 'CREATE', path: 'Short', mailbox: id },
    { command: 'DROP', mailbox: id },
    { command: 'DELETE', mailbox: id },
  ])
  abort.abort()
  await events.next()
  expect(over.ended).toBeGreaterThan(0)
})

test('one whose client has left before it was open, or took anything, holds no place', async () => {
  for (const before of [true, false]) {
    const { start, abort, over } = await opened(`left-${before}`)
    if (before) abort.abort()
    await UpdateStream.open(start)
    if (!before) abort.abort()
    expect(over.ended).toBeGreaterThan(0)
  }
})

test('a client that takes nothing for a while is told everything from rows', async () => {
  const { start, handle, abort } = await opened('slow')
  const events = (await UpdateStream.open(start))[Symbol.asyncIterator]()
  const first = events.next()
  const count = limits.updates.bufferLengthMax * 3
  const made: string[] = []
  for (let n = 0; n < count; n++) {
    made.push((await handle.run(createMailbox, box(`Box ${n}`))).id)
  }
  for (const gone of made.slice(0, 50)) await handle.run(deleteMailbox, { id: gone })
  const told = new Set<unknown>()
  let next = await first
  for (; next.done !== true; next = await events.next()) {
    const { command, mailbox } = next.value.data as { command: string; mailbox: string }
    told.add(`${command} ${mailbox}`)
    if (command === 'DELETE' && mailbox === made[49]) break
  }
  abort.abort()
  for (const [index, mailbox] of made.entries()) {
    expect(told.has(`${index < 50 ? 'DELETE' : 'CREATE'} ${mailbox}`)).toBe(true)
  }
})
