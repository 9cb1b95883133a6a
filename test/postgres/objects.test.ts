// Large parts in an S3-compatible store beside the database: there before anybody is told that a message is, read in ranges, gone
// some time after the last row that named them, and a store that is away is a matter of the moment.

import { randomBytes } from 'node:crypto'
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, expect, inject, test } from 'vitest'
import { startTeal, type Teal } from '#service'
import { type Child, startChild } from '../child.ts'
import { deliver, openLmtp } from '../dialogue.ts'
import { append, Client } from '../imap/client.ts'
import { accessTo } from '../running.ts'
import { dropDatabase, makeDatabase } from './cluster.ts'
import { accessKey, type S3, secretKey, startS3 } from './s3.ts'

const folder = mkdtempSync(join(tmpdir(), 'teal-objects-'))
let s3: S3
let url: string
let teal: Teal
const running = accessTo(() => teal)
const day = 24 * 60 * 60 * 1000

beforeAll(async () => {
  s3 = await startS3()
  url = await makeDatabase(inject('postgres'))
  mkdirSync(join(folder, 'a'))
  await start()
})

afterEach(async () => {
  s3.trouble = {}
  expect(await teal.check()).toEqual([])
})

afterAll(async () => {
  await teal?.close()
  await dropDatabase(url)
  await s3.close()
  rmSync(folder, { recursive: true, force: true })
})

const bodies = () => ({ url: `${s3.url}/teal`, accessKey, secretKey, keepDays: 1 })

async function start(): Promise<void> {
  teal = await startTeal({ dataDir: join(folder, 'a'), store: { url }, bodies: bodies() }, { strict: true })
}

async function restart(): Promise<void> {
  await teal.close()
  await start()
}

/** A letter with one attachment that does not pack. */
function letter(subject: string, content: Buffer): Buffer {
  const text = content.toString('base64').replace(/.{76}/g, '$&\r\n')
  return Buffer.from(
    `Message-ID: <${subject}@example.com>\r\nSubject: ${subject}\r\nMIME-Version: 1.0\r\n` +
      'Content-Type: application/octet-stream; name=a.bin\r\nContent-Disposition: attachment; filename=a.bin\r\n' +
      `Content-Transfer-Encoding: base64\r\n\r\n${text}\r\n`,
  )
}

async function receive(to: string, message: Buffer, at = running.at('lmtp')): Promise<string> {
  const lmtp = await openLmtp(at)
  const [reply = ''] = await deliver(lmtp, 'x@example.org', [`${to}@example.com`], message)
  lmtp.close()
  return reply
}

async function inbox(name: string): Promise<string> {
  const id = await running.user(name)
  const { body } = await running.call('GET', `/users/${id}/mailboxes`)
  return `/users/${id}/mailboxes/${body.results[0].id}/messages`
}

/** A part of a message, by IMAP. */
async function fetched(client: Client, what: string): Promise<string> {
  const lines = await client.ok(`FETCH ${what}`)
  const line = lines.find(one => one.includes(' FETCH (')) ?? ''
  return line.slice(line.indexOf('\r\n') + 2, line.lastIndexOf(')'))
}

test.each([
  ['anna', 300_000],
  ['berta', 20_000_000],
])('%s: a part of %i bytes comes whole and in ranges, is copied, and goes when nobody has it', async (name, size) => {
  const place = await inbox(name)
  const before = s3.names().length
  const content = randomBytes(size)
  const message = letter(name, content)
  expect(await receive(name, message)).toMatch(/^250/)
  expect(s3.names().length).toBe(before + 1)
  // The same again is there already.
  expect(await receive(name, letter(`${name}2`, content))).toMatch(/^250/)
  expect(s3.names().length).toBe(before + 1)
  const text = message.toString('latin1')
  const body = text.slice(text.indexOf('\r\n\r\n') + 4)

  const client = await Client.login(running.at('imap'), name, 'INBOX')
  expect((await fetched(client, '1 BODY.PEEK[]')).endsWith(body)).toBe(true)
  // By parts, and from the middle.
  const middle = Math.floor(body.length * 0.7)
  expect(await fetched(client, `2 BODY.PEEK[1]<${middle}.1000>`)).toBe(body.slice(middle, middle + 1000))
  expect(await (await running.raw('GET', `${place}/1/message.eml`)).text()).toContain(body)
  const { body: shown } = await running.call('GET', `${place}/1`)
  const file = await running.raw('GET', `${place}/1/attachments/${shown.attachments[0].id}`)
  expect(Buffer.from(await file.arrayBuffer()).equals(content)).toBe(true)

  // What is flagged as a draft is not kept for a while when it goes.
  await client.ok('COPY 1 Drafts')
  for (const box of ['INBOX', 'Drafts']) {
    await client.ok(`SELECT ${box}`)
    await client.ok('STORE 1:* +FLAGS (\\Deleted \\Draft)')
  }
  await client.ok('EXPUNGE')
  s3.age(2 * day)
  await restart()
  const again = await Client.login(running.at('imap'), name, 'INBOX')
  expect(await fetched(again, `2 BODY.PEEK[1]<${middle}.1000>`)).toBe(body.slice(middle, middle + 1000))
  expect(s3.names().length).toBe(before + 1)
  await again.ok('EXPUNGE')
  expect(s3.names().length).toBe(before + 1)
  const rows = () => running.teal.core.read.all('SELECT num FROM part')
  await expect.poll(async () => (await rows()).length).toBe(0)
  s3.age(2 * day)
  await restart()
  await expect.poll(() => s3.names().length).toBe(before)
})

test('a store that is away is a matter of the moment, for who delivers and for who reads', async () => {
  const place = await inbox('carla')
  const content = randomBytes(400_000)
  expect(await receive('carla', letter('first', content))).toMatch(/^250/)
  const client = await Client.login(running.at('imap'), 'carla', 'INBOX')
  const small = Buffer.from('Subject: small\r\n\r\nsmall\r\n')
  const source = `${place}/1/message.eml`

  const away = async () => {
    expect(await receive('carla', letter('late', randomBytes(400_000)))).toMatch(/^4/)
    // What is small, or there already, needs no store.
    expect(await receive('carla', small)).toMatch(/^250/)
    expect(await receive('carla', letter('again', content))).toMatch(/^250/)
    expect(await client.ask('FETCH 1 BODY.PEEK[]')).toMatchObject({
      status: 'NO',
      text: expect.stringContaining('[UNAVAILABLE]'),
    })
    expect(await client.ask(append('INBOX', letter('appended', randomBytes(400_000))))).toMatchObject({
      status: 'NO',
      text: expect.stringContaining('[UNAVAILABLE]'),
    })
    expect((await running.raw('GET', source)).status).toBe(503)
  }
  await s3.down()
  await away()
  await s3.up()
  for (const [status, code] of [
    [503, 'SlowDown'],
    [403, 'InvalidAccessKeyId'],
    [404, 'NoSuchBucket'],
  ] as const) {
    s3.trouble = { refuse: { methods: ['GET', 'HEAD', 'PUT'], status, code } }
    await away()
  }
  s3.trouble = { dies: 'PUT' }
  expect(await receive('carla', letter('cut', randomBytes(400_000)))).toMatch(/^4/)
  s3.trouble = { slow: 300 }
  expect(await receive('carla', letter('slow', randomBytes(400_000)))).toMatch(/^250/)
  expect(await (await running.raw('GET', source)).text()).toContain('Subject: first')
  // What was announced is not told to be whole.
  s3.trouble = { dies: 'GET' }
  const other = await Client.login(running.at('imap'), 'carla', 'INBOX')
  await expect(other.ask('FETCH 1 BODY.PEEK[]')).rejects.toThrow('closed')
  s3.trouble = {}
  expect((await fetched(client, '1 BODY.PEEK[]')).length).toBeGreaterThan(500_000)
  expect(await teal.check()).toEqual([])
})

test('the checker names what is not there, or not as long as it was', async () => {
  await inbox('dora')
  const known = new Set(s3.names())
  expect(await receive('dora', letter('dora', randomBytes(400_000)))).toMatch(/^250/)
  const [name = ''] = s3.names().filter(one => !known.has(one))
  const changes: [(bytes: Buffer) => Buffer | undefined, RegExp][] = [
    [bytes => bytes.subarray(1), /its object has \d+ bytes where \d+ were stored/],
    [bytes => Buffer.from(bytes).fill(7, 1000, 1010), /unpack|another hash/],
    [() => undefined, /its object [\w/-]+ is missing/],
  ]
  for (const [change, says] of changes) {
    const undo = s3.change(name, change)
    expect((await teal.check()).join()).toMatch(says)
    undo()
  }
})

test('who is killed before the row is there leaves an object that goes, and a message that comes again', async () => {
  await inbox('emma')
  const known = new Set(s3.names())
  await teal.close()
  const service: Child = await startChild(join(folder, 'a'), {
    TEAL_STORE_URL: url,
    TEAL_BODIES_URL: bodies().url,
    TEAL_BODIES_ACCESS_KEY: accessKey,
    TEAL_BODIES_SECRET_KEY: secretKey,
  })
  const message = letter('emma', randomBytes(400_000))
  const killed = new Promise<void>(done => {
    s3.trouble = {
      async onPut() {
        s3.trouble = {}
        await service.end('SIGKILL')
        done()
      },
    }
  })
  const sent = receive('emma', message, service.listeners.lmtp)
  await expect(sent).rejects.toThrow('closed')
  await killed
  expect(service.output()).not.toContain(secretKey)
  expect(s3.names().filter(name => !known.has(name))).toHaveLength(1)
  await start()
  expect(await receive('emma', message)).toMatch(/^250/)
  const client = await Client.login(running.at('imap'), 'emma', 'INBOX')
  expect((await client.ok('STATUS INBOX (MESSAGES)')).join()).toContain('MESSAGES 1')
  expect(s3.names().filter(name => !known.has(name))).toHaveLength(2)
  // A day is too young: whoever made it might still name it.
  await restart()
  s3.age(2 * day)
  await restart()
  await expect.poll(() => s3.names().filter(name => !known.has(name)).length).toBe(1)
  expect(
    (await fetched(await Client.login(running.at('imap'), 'emma', 'INBOX'), '1 BODY.PEEK[]')).length,
  ).toBeGreaterThan(5e5)
})
