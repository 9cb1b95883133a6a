// `teal bodies`: large parts go from the database to a bucket and come back, also while services read them; what breaks off goes on
// where it was, what is damaged stays, and who does not know the bucket is refused.

import { randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, expect, inject, test } from 'vitest'
import { startTeal, type Teal } from '#service'
import { objectName } from '#store/bodies/objects/parts.ts'
import { deliver, openLmtp } from '../dialogue.ts'
import { accessTo } from '../running.ts'
import { bodiesAt, carry } from './carry.ts'
import { dropDatabase, makeDatabase } from './cluster.ts'
import { type S3, startS3 } from './s3.ts'

const folder = mkdtempSync(join(tmpdir(), 'teal-carried-'))
let s3: S3
let url: string
let teal: Teal | undefined
const running = accessTo(() => teal as Teal)
/** What anna has, by its number, and where it is. */
const letters: string[] = []
let inbox: string

beforeAll(async () => {
  s3 = await startS3()
  url = await makeDatabase(inject('postgres'))
  await start(false)
  const id = await running.user('anna')
  const { body } = await running.call('GET', `/users/${id}/mailboxes`)
  inbox = `/users/${id}/mailboxes/${body.results[0].id}/messages`
  for (const size of [300_000, 400_000, 2_500_000, 600_000, 5000, 700_000]) await receive(size)
})

afterEach(async () => {
  s3.trouble = {}
  if (teal !== undefined) expect(await teal.check()).toEqual([])
})

afterAll(async () => {
  await stop()
  await dropDatabase(url)
  await s3.close()
  rmSync(folder, { recursive: true, force: true })
})

async function start(withBucket: boolean): Promise<void> {
  const options = {
    dataDir: join(folder, 'a'),
    store: { url },
    ...(withBucket && { bodies: bodiesAt(`${s3.url}/teal`) }),
  }
  teal = await startTeal(options, { strict: true })
}

async function stop(): Promise<void> {
  await teal?.close()
  teal = undefined
}

async function receive(size: number): Promise<void> {
  const text = randomBytes(size).toString('base64').replace(/.{76}/g, '$&\r\n')
  const name = `letter${letters.length}`
  const message =
    `Message-ID: <${name}@example.com>\r\nSubject: ${name}\r\nMIME-Version: 1.0\r\nContent-Type: application/octet-stream\r\n` +
    `Content-Transfer-Encoding: base64\r\n\r\n${text}\r\n`
  const lmtp = await openLmtp(running.at('lmtp'))
  const [reply] = await deliver(lmtp, 'x@example.org', ['anna@example.com'], Buffer.from(message))
  lmtp.close()
  expect(reply).toMatch(/^250/)
  letters.push(message)
}

/** Reads all letters, byte for byte. */
async function readAll(): Promise<void> {
  for (const [at, letter] of letters.entries()) {
    const source = await running.raw('GET', `${inbox}/${at + 1}/message.eml`)
    expect((await source.text()).endsWith(letter)).toBe(true)
  }
}

const carried = (to: string, prefix = 'teal') =>
  carry(to, { dataDir: join(folder, 'a'), url, bodies: `${s3.url}/${prefix}` })

const inRows = async (): Promise<number> =>
  (await running.teal.core.read.all('SELECT num FROM part WHERE file = 0 AND stored > 262144')).length
const inObjects = async (): Promise<number> =>
  (await running.teal.core.read.all('SELECT num FROM part WHERE file = 1')).length

test('a service that does not know the bucket refuses it, and nothing is changed', async () => {
  await expect(carried('bucket')).rejects.toMatchObject({
    code: 'DataDirectoryInUse',
    message: expect.stringContaining('bodies.url'),
  })
  await expect(carried('elsewhere')).rejects.toMatchObject({ code: 'InputValidationError' })
  expect(s3.names()).toEqual([])
  expect(await inRows()).toBe(5)
  await readAll()
})

test('it breaks off where the store does, goes on, and nobody who reads meanwhile notices', async () => {
  await stop()
  await start(true)
  // A bucket that the service does not look into.
  await expect(carried('bucket', 'other')).rejects.toMatchObject({ code: 'DataDirectoryInUse' })
  let puts = 0
  s3.trouble = {
    onPut() {
      puts += 1
      if (puts === 2) s3.trouble = { refuse: { methods: ['PUT'], status: 403, code: 'AccessDenied' } }
    },
  }
  await expect(carried('bucket')).rejects.toMatchObject({ code: 'StorageUnavailable' })
  s3.trouble = {}
  const there = await inObjects()
  expect(there).toBeGreaterThan(0)
  expect(there).toBeLessThan(5)
  await readAll()

  // Slowly, so that readers are in the middle of what is carried.
  s3.trouble = { slow: 30 }
  let reading = true
  const rounds = (async () => {
    let count = 0
    for (; reading; count++) await readAll()
    return count
  })()
  await carried('bucket')
  reading = false
  expect(await rounds).toBeGreaterThan(0)
  expect([await inRows(), await inObjects()]).toEqual([0, 5])
  // Whoever comes later is there already.
  await receive(800_000)
  expect([await inRows(), await inObjects()]).toEqual([0, 6])
  await readAll()
})

test('a letter that is half read when its pieces move is read to its end, either way', async () => {
  const { core } = running.teal
  const [row] = await core.read.all<{ body: number }>('SELECT body FROM message WHERE size > 3000000')
  for (const to of ['database', 'bucket']) {
    const body = await core.bodies.open(row?.body ?? 0)
    const pieces: Buffer[] = []
    for await (const piece of body.stream()) {
      if (pieces.length === 3) {
        await carried(to)
        // Whoever reads finds it where it is now, also where nothing is left of where it was.
        if (to === 'database') for (const name of s3.names()) s3.change(name, () => undefined)
      }
      pieces.push(piece)
    }
    expect(letters.some(letter => Buffer.concat(pieces).toString('latin1') === letter)).toBe(true)
  }
})

test('what is damaged stays where it was, and is named', async () => {
  const rows = await running.teal.core.read.all<{ hash: Buffer; data: Buffer }>(
    'SELECT hash, data FROM part WHERE file = 1 ORDER BY num',
  )
  const damages = [
    (bytes: Buffer) => Buffer.from(bytes).fill(7, 1000, 1010),
    (bytes: Buffer) => bytes.subarray(0, 1000),
    () => undefined,
  ]
  const undo = damages.map((damage, at) => {
    const { hash, data } = rows[at] as (typeof rows)[number]
    return s3.change(`teal/${objectName(hash, data)}`, damage)
  })
  expect(await carried('database')).toBe(1)
  expect(await inObjects()).toBe(damages.length)
  for (const one of undo) one()
  expect(await carried('database')).toBe(0)
  expect([await inRows(), await inObjects()]).toEqual([rows.length, 0])
  await readAll()
})

test('all comes back, and is served without the bucket; objects that nobody names go after their days', async () => {
  await receive(900_000)
  await stop()
  await carried('database')
  expect(s3.names().length).toBeGreaterThan(0)
  await start(false)
  expect([await inRows(), await inObjects()]).toEqual([7, 0])
  await readAll()
  await stop()
  await start(true)
  s3.age(2 * 24 * 60 * 60 * 1000)
  await stop()
  await start(true)
  await expect.poll(() => s3.names()).toEqual([])
  await readAll()
})
