// Mail that its owner brings along: from a file, and from an account on another server.

import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { advanceClock } from '#lib/clock.ts'
import { limits } from '#lib/limits.ts'
import { startTeal, type Teal } from '#service'
import { findTask } from '#store/accounts/task.ts'
import { accessTo, type Body, threads, useTeal } from '../../../running.ts'
import { scenarios } from '../../scenario.ts'
import { type Account, account, mail } from '../mail-world.ts'

const service = useTeal({ network: { allowPrivate: ['127.0.0.0/8', '::1/128'] } })
let strict: Teal | undefined
let user: Account

beforeAll(async () => {
  user = await account(service, 'bringing')
  strict = await startTeal({ threads }, { strict: true })
})

afterAll(async () => {
  expect(await strict?.check()).toEqual([])
  await strict?.close()
})

const target = () => ({ url: service.teal.url, token: service.teal.rootToken })

async function bring(to: Account, body: string | Buffer, query = ''): Promise<{ status: number; body: Body }> {
  const answer = await service.raw('POST', `/users/${to.id}/import/file${query}`, {
    headers: { 'content-type': 'application/octet-stream' },
    body: Buffer.from(body),
  })
  return { status: answer.status, body: await answer.json() }
}

async function listed(to: Account, mailbox: string): Promise<Body[]> {
  return (await to.call('GET', `/mailboxes/${mailbox}/messages?order=asc`)).body.results
}

const mbox = `From a@example.org Sat Feb  3 04:05:06 2001
Status: RO
X-Status: AF
Subject: first

>From the start
>>From deeper

From b@example.org Sun Feb  4 04:05:06 2001
Subject: second

x

From b@example.org Sun Feb  4 04:05:06 2001
Subject: second

x

From c@example.org Sun Feb  4 04:05:06 2001

`

describe('a file', () => {
  test('is taken in with flags and dates, and brought again changes nothing', async () => {
    const first = await bring(user, mbox)
    expect(first).toEqual({
      status: 200,
      body: { success: true, imported: 3, known: 0, skipped: 1, failed: 0 },
    })
    const again = await bring(user, mbox)
    expect(again.body).toMatchObject({ imported: 0, known: 3 })
    const rows = await listed(user, user.box('INBOX'))
    expect(rows).toMatchObject([
      { subject: 'first', seen: true, flagged: true, answered: true, idate: '2001-02-03T04:05:06.000Z' },
      { subject: 'second', seen: false },
      { subject: 'second' },
    ])
    const place = `/users/${user.id}/mailboxes/${user.box('INBOX')}/messages/${rows[0].id}/message.eml`
    const source = await (await service.raw('GET', place)).text()
    expect(source).toBe('Subject: first\r\n\r\nFrom the start\r\n>From deeper\r\n')
  })

  test('that its program has written flags into meanwhile is known again, and keywords come along', async () => {
    const to = await account(service, 'reader')
    const of = (status: string, more = '') =>
      `From a@example.org Sat Feb  3 04:05:06 2001\n${status}Subject: kept\n${more}Message-ID: <1@x>\n\nStatus: x\n`
    const internal = `From MAILER-DAEMON Sat Feb  3 04:05:06 2001\nSubject: DON'T DELETE THIS MESSAGE -- FOLDER INTERNAL DATA\nX-IMAP: 1 2\n\nx\n\n`
    const first = await bring(to, internal + of('Status: O\nX-Keywords: project $Label1\n'))
    expect(first.body).toMatchObject({ imported: 1, skipped: 1 })
    for (const later of [of('Status: RO\nX-Status: F\n'), of('', 'X-UID: 7\nX-IMAPbase: 1 2\n 3\nContent-Length: 9\n')])
      expect((await bring(to, later)).body).toMatchObject({ imported: 0, known: 1 })
    expect((await bring(to, of('').replace('Status: x', 'Status: y'))).body).toMatchObject({ imported: 1 })
    const exported = await (await service.raw('GET', `/users/${to.id}/export.mbox`)).text()
    expect(exported).toContain('X-Keywords: project $Label1\n')
  })

  test('lies in the order in which it was brought, though the first of it is much work', async () => {
    const other = await account(service, 'ordered')
    const parts = Array.from({ length: 900 }, (_, at) => `--x\nContent-Type: text/plain; name="${at}"\n\n${at}\n`)
    const heavy = `Subject: heavy\nContent-Type: multipart/mixed; boundary=x\n\n${parts.join('')}--x--\n`
    const letters = [heavy, ...Array.from({ length: 5 }, (_, at) => `Subject: light ${at}\n\nx\n`)]
    const file = letters.map(letter => `From a@example.org Sat Feb  3 04:05:06 2001\n${letter}\n`).join('')
    expect((await bring(other, file)).body).toMatchObject({ imported: 6 })
    const subjects = (await listed(other, other.box('INBOX'))).map(({ subject }: Body) => subject)
    expect(subjects).toEqual(['heavy', 'light 0', 'light 1', 'light 2', 'light 3', 'light 4'])
  })

  test('of a single message goes where it is wanted', async () => {
    const { body } = await bring(
      user,
      'Subject: alone\r\nDate: Sat, 3 Feb 2001 04:05:06 +0000\r\n\r\nFrom me\r\n',
      `?mailbox=${user.box('Junk')}`,
    )
    expect(body).toMatchObject({ imported: 1 })
    expect(await listed(user, user.box('Junk'))).toMatchObject([
      { subject: 'alone', idate: '2001-02-03T04:05:06.000Z' },
    ])
  })

  test('that was exported here comes back as it was, folders and all', async () => {
    const from = await account(service, 'leaver')
    const path = 'Pläne/Größe'
    const box = (await from.call('POST', '/mailboxes', { path })).body.id
    // Line ends of what may have binary parts are put right later than those of others.
    const kept = 'Subject: kept\r\n\r\nFrom x, in binary\r\n'
    await from.call('POST', `/mailboxes/${box}/messages`, { raw: kept, flagged: true })
    await from.put('INBOX', { raw: 'Subject: new\r\n\r\n>From y\r\n', unseen: true })
    const exported = Buffer.from(await (await service.raw('GET', `/users/${from.id}/export.mbox`)).arrayBuffer())
    const to = await account(service, 'comer')
    expect((await bring(to, exported, '?folders=true')).body).toMatchObject({ imported: 2, failed: 0 })
    const boxes = (await to.call('GET', '/mailboxes')).body.results
    const found = boxes.find((one: Body) => one.path === path)
    const [message] = await listed(to, found.id)
    expect(message).toMatchObject({ subject: 'kept', flagged: true, seen: true })
    const back = `/users/${to.id}/mailboxes/${found.id}/messages/${message?.id}/message.eml`
    expect(await (await service.raw('GET', back)).text()).toBe(kept)
    expect(await listed(to, to.box('INBOX'))).toMatchObject([{ subject: 'new', seen: false }])
    const again = Buffer.from(await (await service.raw('GET', `/users/${to.id}/export.mbox`)).arrayBuffer())
    expect(again.toString().split('\n').slice(1)).toEqual(
      expect.arrayContaining(
        exported
          .toString()
          .split('\n')
          .slice(1)
          .filter(line => !line.startsWith('From ')),
      ),
    )
  })

  test('meets the quota, and what fits is there', async () => {
    const small = await account(service, 'small', { quota: 3000 })
    const one = (n: number) => `From x Sat Feb  3 04:05:06 2001\nSubject: ${n}\n\n${'x'.repeat(900)}\n\n`
    const { status, body } = await bring(small, [1, 2, 3, 4, 5].map(one).join(''))
    expect(status).toBe(400)
    expect(body.code).toBe('OverQuotaError')
    expect((await listed(small, small.box('INBOX'))).length).toBeGreaterThan(0)
    expect((await listed(small, small.box('INBOX'))).length).toBeLessThan(5)
  })

  test('of rubbish hinders nobody', async () => {
    const rubbish = Buffer.concat([
      Buffer.from('From \0\n'),
      Buffer.alloc(200_000, 0xff),
      Buffer.from('\nFrom \n\n\nFrom x\n'),
    ])
    expect((await bring(user, rubbish)).status).toBe(200)
    expect((await bring(user, '')).body).toMatchObject({ imported: 0, skipped: 1 })
  })
})

describe('an account elsewhere', () => {
  const form = (name: string, more: object = {}) => {
    const { host, port } = service.at('imap')
    return { host, port, security: 'none', login: name, password: `secret of ${name}`, ...more }
  }

  test('is fetched by a task, with folders and flags; again it brings what is missing', async () => {
    const there = await account(service, 'there')
    await there.put('INBOX', mail('one', 'x', { flagged: true }))
    await there.put('Sent Mail', mail('sent', 'y'))
    const box = (await there.call('POST', '/mailboxes', { path: 'Work/Ürgent' })).body.id
    await there.call('POST', `/mailboxes/${box}/messages`, mail('deep', 'z', { unseen: true }))
    const here = await account(service, 'here')
    const start = await here.call('POST', '/import/imap', form('there'))
    expect(start.body).toMatchObject({ success: true, task: expect.stringMatching(/^[0-9a-f]{24}$/) })
    const done = await here.done(start.body.task)
    expect(done).toMatchObject({
      kind: 'mail.import',
      state: 'done',
      result: { imported: 3, known: 0, found: 3, failed: 0 },
    })
    const boxes = (await here.call('GET', '/mailboxes')).body.results
    const deep = boxes.find((one: Body) => one.path === 'Work/Ürgent')
    expect(await listed(here, deep.id)).toMatchObject([{ subject: 'deep', seen: false }])
    expect(await listed(here, here.box('INBOX'))).toMatchObject([{ subject: 'one', flagged: true, seen: true }])
    expect(await listed(here, here.box('Sent Mail'))).toMatchObject([{ subject: 'sent' }])
    await there.put('INBOX', mail('two', 'x'))
    const again = await here.done((await here.call('POST', '/import/imap', form('there'))).body.task)
    expect(again.result).toMatchObject({ imported: 1, known: 3 })
  })

  test('is refused with a wrong password, which is nowhere: not in the answer, not in the store', async () => {
    const password = 'Tell-Nobody-9f2c'
    const start = await user.call('POST', '/import/imap', form('there', { password }))
    const waiting = await findTask(service.teal.core.read, start.body.task)
    expect(JSON.stringify(waiting)).not.toContain(password)
    const done = await user.done(start.body.task)
    expect(done).toMatchObject({ state: 'failed', result: { code: 'SourceRefused' } })
    const row = await findTask(service.teal.core.read, start.body.task)
    expect(row?.input).not.toHaveProperty('secret')
    expect(JSON.stringify([start.body, done, row])).not.toContain(password)
    // Pages of SQLite's file may hold what no row does.
    const { dataDir, store } = service.teal.config
    for (const file of store.url === '' ? ['teal.db', 'teal.db-wal'] : []) {
      expect(readFileSync(join(dataDir, file)).includes(password)).toBe(false)
    }
  })

  test('inside the network is out of reach unless the operator says so, and in clear only there', async () => {
    const other = accessTo(() => strict as Teal)
    const guarded = await account(other, 'guarded')
    for (const host of ['127.0.0.1', 'localhost', '[::1]', '169.254.169.254', '10.0.0.1']) {
      const start = await guarded.call('POST', '/import/imap', form('there', { host, security: 'tls' }))
      expect(await guarded.done(start.body.task), host).toMatchObject({
        state: 'failed',
        result: { code: 'SourceUnreachable', error: 'The other server could not be reached (blocked)' },
      })
    }
    const clear = await user.call('POST', '/import/imap', form('there', { host: '9.9.9.9' }))
    expect((await user.done(clear.body.task)).result).toMatchObject({ code: 'SourceInsecure' })
  })

  test('is stopped by its owner while it runs', async () => {
    const slow = await account(service, 'slow')
    const silent = createServer(() => {}).listen(0, '127.0.0.1')
    await once(silent, 'listening')
    const { port } = silent.address() as AddressInfo
    try {
      const start = await slow.call('POST', '/import/imap', form('slow', { port, host: '127.0.0.1' }))
      const connected = once(silent, 'connection')
      await connected
      const other = await account(service, 'nosy')
      expect((await other.call('DELETE', `/tasks/${start.body.task}`)).status).toBe(404)
      const stopped = await slow.call('DELETE', `/tasks/${start.body.task}`)
      expect(stopped.body).toEqual({ success: true, stopped: true })
      expect(await slow.done(start.body.task)).toMatchObject({ state: 'failed', result: { code: 'TaskStopped' } })
      const again = await slow.call('DELETE', `/tasks/${start.body.task}`)
      expect(again.body).toEqual({ success: true, stopped: false })
      const [socket] = await connected
      socket.destroy()
    } finally {
      silent.close()
    }
  })

  test('fills no more than the quota', async () => {
    const rich = await account(service, 'rich')
    for (let n = 0; n < 4; n += 1) await rich.put('INBOX', mail(`n${n}`, 'x'.repeat(1500)))
    const poor = await account(service, 'poor', { quota: 5000 })
    const done = await poor.done((await poor.call('POST', '/import/imap', form('rich'))).body.task)
    expect(done).toMatchObject({ state: 'failed', result: { code: 'OverQuotaError', imported: expect.any(Number) } })
    expect(done.result.imported).toBeGreaterThan(0)
  })

  test('from servers that hardly answer lets others have its place after a while, and counts on when its turn comes', async () => {
    const slow = [await account(service, 'sticky'), await account(service, 'stuck')]
    for (const one of slow) {
      for (const path of ['Drafts', 'INBOX', 'Sent Mail']) {
        for (const n of [1, 2]) await one.put(path, mail(`${path} ${n}`, 'x'))
      }
    }
    const into = [await account(service, 'patient'), await account(service, 'lasting')]
    const next = await account(service, 'next')
    const lines = await Promise.all(slow.map(() => slowLine(service.at('imap').port, 3)))
    try {
      const starts = await Promise.all(
        lines.map((line, at) => into[at]?.call('POST', '/import/imap', form(at ? 'stuck' : 'sticky', line.place))),
      )
      await Promise.all(lines.map(line => line.stalled))
      const waiting = (await next.call('POST', '/import/imap', form('there'))).body.task
      expect((await next.call('GET', `/tasks/${waiting}`)).body).toMatchObject({ state: 'queued' })
      advanceClock(limits.transfer.sourceTurnMs)
      expect(await next.done(waiting)).toMatchObject({ state: 'done', result: { failed: 0 } })
      for (const line of lines) line.open()
      for (const [at, to] of into.entries()) {
        expect(await to.done(starts[at]?.body.task)).toMatchObject({
          state: 'done',
          result: { found: 6, imported: 6, known: 0, failed: 0, skipped: 0 },
        })
        expect(await listed(to, to.box('INBOX'))).toHaveLength(2)
      }
    } finally {
      for (const line of lines) line.close()
    }
  })
})

/** A way to a server that passes on so many messages, and then nothing until it is opened. */
async function slowLine(port: number, messages: number) {
  let open = false
  let left = messages
  const stalled = Promise.withResolvers<void>()
  const held: (() => void)[] = []
  const sockets = new Set<Socket>()
  const server = createServer(client => {
    const there = connect(port, '127.0.0.1')
    for (const socket of [client, there]) socket.on('error', () => socket.destroy()) && sockets.add(socket)
    // What is compressed cannot be counted.
    there.on('data', chunk => client.write(chunk.toString('latin1').replace('COMPRESS=DEFLATE', 'X'), 'latin1'))
    there.on('close', () => client.destroy())
    client.on('close', () => there.destroy())
    client.on('data', chunk => {
      if (/FETCH.*BODY\.PEEK\[\]/s.test(chunk.toString('latin1')) && !open && left-- <= 0) {
        held.push(() => there.write(chunk))
        stalled.resolve()
      } else there.write(chunk)
    })
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const close = () => {
    for (const socket of sockets) socket.destroy()
    server.close()
  }
  const place = { host: '127.0.0.1', port: (server.address() as AddressInfo).port }
  const release = () => {
    open = true
    for (const pass of held) pass()
  }
  return { place, stalled: stalled.promise, open: release, close }
}

scenarios(target, [
  {
    name: 'a file into a folder of nobody',
    method: 'POST',
    url: () => `/users/${user.id}/import/file?mailbox=0123456789abcdef01234567`,
    headers: { 'content-type': 'application/octet-stream' },
    body: 'Subject: x\r\n\r\n',
    status: 404,
    has: ['NoSuchMailbox'],
  },
  {
    name: 'a host that is none',
    method: 'POST',
    url: () => `/users/${user.id}/import/imap`,
    body: { host: 'a/b@c', login: 'x', password: 'y' },
    status: 400,
    has: ['InputValidationError', 'host'],
  },
  {
    name: 'a task that is nobody’s',
    method: 'DELETE',
    url: () => `/users/${user.id}/tasks/0123456789abcdef01234567`,
    status: 404,
    has: ['TaskNotFound'],
  },
])
