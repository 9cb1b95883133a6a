// What teaches the classifier, by whatever way a user says it: moved over IMAP, copied and deleted as older programs do, and back; what is
// thrown away, read or deleted over POP3 teaches nothing. Where another filter is to decide alone nothing is learned, and what was learned
// before waits for being switched on again.

import { mkdtempSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { ConfigPart } from '#config'
import { startTeal, type Teal } from '#service'
import { Dialogue, deliver, openLmtp } from '../dialogue.ts'
import { Client } from '../imap/client.ts'
import { accessTo, type Body } from '../running.ts'

let teal: Teal
const service = accessTo(() => teal)

beforeAll(async () => {
  teal = await startTeal({ auth: { cleartext: 'always' } }, { strict: true })
})
afterAll(async () => {
  expect(await teal.check()).toEqual([])
  await teal.close()
})

let count = 0
const each = 12

function offer(): Buffer {
  count += 1
  return Buffer.from(
    `From: Best pills <win${count}@shop.example>\r\nSubject: CHEAP pills ${count}!!!\r\nMessage-ID: <m${count}@t>\r\n\r\n` +
      `Buy pills now at http://shop${count}.example/buy and save money\r\n`,
  )
}

function letter(): Buffer {
  count += 1
  return Buffer.from(
    `From: Ann <ann@work.example>\r\nSubject: Re: garden ${count}\r\nMessage-ID: <m${count}@t>\r\n\r\n` +
      'About the garden: shall we meet on Tuesday, as you said?\r\n',
  )
}

async function bring(to: typeof service, user: string, messages: readonly Buffer[]): Promise<void> {
  const lmtp = await openLmtp(to.at('lmtp'))
  for (const message of messages) await deliver(lmtp, 'x@example.net', [`${user}@example.com`], message)
  lmtp.close()
}

const many = (make: () => Buffer) => Array.from({ length: each }, make)

/** What the account has taught by now. */
async function taught(of: Teal, id: string) {
  const rows = await of.core.read.all<{ spam: number; waits: number }>(
    'SELECT k.spam, k.waits FROM spam_mark k JOIN "user" u ON u.num = k."user" WHERE u.id = ?',
    id,
  )
  const said = (spam: number) => rows.filter(one => one.spam === spam && one.waits === 0).length
  return { spam: said(1), ham: said(0), waiting: rows.filter(({ waits }) => waits === 1).length }
}

/** The classifier's part for an offer that comes now; on a busy machine it may come too late for one. */
async function classified(id: string, user: string) {
  for (;;) {
    await bring(service, user, [offer()])
    for (const path of ['INBOX', 'Junk']) {
      const box = (await service.call('GET', `/users/${id}/mailboxes/resolve?path=${path}`)).body.id
      const list = `/users/${id}/mailboxes/${box}/messages`
      const rows: Body[] = (await service.call('GET', list)).body.results
      const row = rows.find(({ messageId }) => messageId === `<m${count}@t>`)
      if (row === undefined) continue
      const { spam } = (await service.call('GET', `${list}/${row.id}`)).body
      const part = spam?.parts.find(({ name }: Body) => name === 'classifier')
      if (part !== undefined) return part
    }
  }
}

test('moves over IMAP, as programs do them', async () => {
  const id = await service.user('mover')
  await bring(service, 'mover', many(offer))
  const imap = await Client.login(service.at('imap'), 'mover', 'INBOX')
  await imap.ok('UID MOVE 1:* Junk')
  await expect.poll(() => taught(teal, id)).toEqual({ spam: each, ham: 0, waiting: 0 })
  // An older program copies, marks as deleted and expunges.
  await bring(service, 'mover', many(letter))
  await imap.ok('NOOP')
  await imap.ok('COPY 1:* Junk')
  await imap.ok('STORE 1:* +FLAGS.SILENT (\\Deleted)')
  await imap.ok('EXPUNGE')
  await expect.poll(() => taught(teal, id)).toEqual({ spam: 2 * each, ham: 0, waiting: 0 })
  await imap.ok('SELECT Junk')
  await imap.ok(`MOVE ${each + 1}:${2 * each} INBOX`)
  await expect.poll(() => taught(teal, id)).toEqual({ spam: each, ham: each, waiting: 0 })
  expect((await classified(id, 'mover')).info).toContain(`learned ${each} spam, ${each} ham`)
  // What is thrown away was spam, and stays it.
  await imap.ok('MOVE 1:* Trash')
  imap.close()
  expect(await taught(teal, id)).toEqual({ spam: each, ham: each, waiting: 0 })
})

test('what is read and deleted over POP3 teaches nothing, nor what a filter or an upload puts into Junk', async () => {
  const id = await service.user('reader')
  await bring(service, 'reader', many(letter))
  const pop = await Dialogue.open(service.at('pop3'))
  await pop.reply()
  for (const line of ['USER reader', 'PASS secret of reader', 'DELE 1', 'QUIT'])
    expect(await pop.ask(line)).toMatch(/^\+OK/)
  pop.close()
  await service.call('POST', `/users/${id}/filters`, { query: { subject: 'CHEAP' }, action: { spam: true } })
  await bring(service, 'reader', many(offer))
  const imap = await Client.login(service.at('imap'), 'reader', 'Junk')
  const message = offer()
  await imap.ok(`APPEND Junk {${message.length}+}\r\n${message.toString('latin1')}`)
  expect((await imap.ok('STATUS Junk (MESSAGES)')).join(' ')).toContain(`MESSAGES ${each + 1}`)
  imap.close()
  expect(await taught(teal, id)).toEqual({ spam: 0, ham: 0, waiting: 0 })
})

/** Whether the thread for it runs, as metrics tell. */
async function isLearning(of: typeof service): Promise<boolean> {
  return /thread_cpu_seconds_total\{thread="spam"\}/.test(await (await of.raw('GET', '/metrics')).text())
}

describe('a service on the same data', () => {
  const dataDir = mkdtempSync(join(tmpdir(), 'teal-moves-'))
  afterAll(() => rm(dataDir, { recursive: true, force: true }))
  let id = ''

  /** Runs with these settings for as long as `use` takes. */
  async function running(
    spam: NonNullable<ConfigPart['spam']>,
    use: (of: typeof service, teal: Teal) => Promise<void>,
  ): Promise<void> {
    const one = await startTeal({ dataDir, auth: { cleartext: 'always' }, spam }, { strict: true })
    try {
      await use(
        accessTo(() => one),
        one,
      )
      expect(await one.check()).toEqual([])
    } finally {
      await one.close()
    }
  }

  /** Brings some of each kind, and moves spam into Junk, and letters in and out of it. */
  async function move(of: typeof service): Promise<void> {
    await bring(of, 'mover', [...many(offer), ...many(letter)])
    const imap = await Client.login(of.at('imap'), 'mover', 'INBOX')
    const [found = ''] = (await imap.ok('SEARCH UNDELETED')).filter(line => line.startsWith('* SEARCH'))
    const last = Number(found.split(' ').at(-1))
    await imap.ok(`MOVE ${last - 2 * each + 1}:${last} Junk`)
    await imap.ok('SELECT Junk')
    const [kept = ''] = (await imap.ok('SEARCH SUBJECT garden')).filter(line => line.startsWith('* SEARCH'))
    await imap.ok(`MOVE ${kept.replace('* SEARCH ', '').trim().replaceAll(' ', ',')} INBOX`)
    imap.close()
  }

  /** The score of an offer that comes now. */
  async function scored(of: typeof service): Promise<Body> {
    await bring(of, 'mover', [offer()])
    const box = (await of.call('GET', `/users/${id}/mailboxes/resolve?path=INBOX`)).body.id
    const [row] = (await of.call('GET', `/users/${id}/mailboxes/${box}/messages`)).body.results
    expect(row.messageId).toBe(`<m${count}@t>`)
    return (await of.call('GET', `/users/${id}/mailboxes/${box}/messages/${row.id}`)).body.spam
  }

  test('that is switched off keeps nothing of what users move, runs no thread and says nothing', async () => {
    await running({}, async (of, teal) => {
      id = await of.user('mover')
      await move(of)
      await expect.poll(() => taught(teal, id)).toEqual({ spam: each, ham: each, waiting: 0 })
      expect(await isLearning(of)).toBe(true)
    })
    await running({ classifier: false }, async (of, teal) => {
      await move(of)
      expect(await scored(of)).toBeUndefined()
      expect(await taught(teal, id)).toEqual({ spam: each, ham: each, waiting: 0 })
      expect(await isLearning(of)).toBe(false)
    })
  })

  test('that is switched on again goes on with what it had learned', async () => {
    await running({}, async (of, teal) => {
      const part = async () => (await scored(of))?.parts.find(({ name }: Body) => name === 'classifier')?.info
      await expect.poll(part).toContain(`learned ${each} spam, ${each} ham`)
      await move(of)
      await expect.poll(() => taught(teal, id)).toEqual({ spam: 2 * each, ham: 2 * each, waiting: 0 })
    })
  })

  test('that has rspamd learn instead tells it of each move, and keeps nothing', async () => {
    const told: string[] = []
    const rspamd = createServer((request, response) => {
      told.push(String(request.url))
      request.resume().on('end', () => response.end('{}'))
    })
    await new Promise<void>(resolve => rspamd.listen(0, '127.0.0.1', resolve))
    const { port } = rspamd.address() as AddressInfo
    await running({ classifier: false, rspamdController: `http://127.0.0.1:${port}` }, async (of, teal) => {
      await bring(of, 'mover', many(offer))
      const imap = await Client.login(of.at('imap'), 'mover', 'INBOX')
      await imap.ok(`COPY *:* Junk`)
      await expect.poll(() => told).toEqual(['/learnspam'])
      await imap.ok('SELECT Junk')
      await imap.ok(`MOVE *:* INBOX`)
      await expect.poll(() => told).toEqual(['/learnspam', '/learnham'])
      imap.close()
      await expect.poll(() => taught(teal, id)).toEqual({ spam: 2 * each, ham: 2 * each, waiting: 0 })
      expect(await isLearning(of)).toBe(false)
    })
    rspamd.close()
  })
})
