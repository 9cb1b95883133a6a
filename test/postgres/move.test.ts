// `teal move`: a folder's service goes on behind an address and comes back, with every message; what broke off goes on, what
// is another's is refused, and nobody serves half of it.

import { cpSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, inject, test } from 'vitest'
import { commandLine } from '#cli/program.ts'
import { loadConfig, settingsInForce } from '#config'
import { startTeal, type Teal } from '#service'
import { BodyFiles } from '#store/bodies/files.ts'
import { inRow } from '#store/bodies/lying.ts'
import { fillPostgres } from '#store/engine/postgres/filling.ts'
import { openReader } from '#store/engine/sqlite/reader.ts'
import { databaseFile } from '#store/folder/place.ts'
import { moveRows } from '#store/upkeep/move.ts'
import { accessTo, type Running } from '../running.ts'
import { makeDatabase } from './cluster.ts'

const folders = mkdtempSync(join(tmpdir(), 'teal-move-'))
const first = join(folders, 'first')
const back = join(folders, 'back')
/** More than lies in rows of a file. */
const large = Buffer.alloc(3_000_000, 'The quick brown fox.\r\n').toString('base64').replace(/.{76}/g, '$&\r\n')
const letter = (id: string, text: string) =>
  `Message-ID: <${id}@example.com>\r\nSubject: ${id}\r\nMIME-Version: 1.0\r\nContent-Type: application/octet-stream\r\n` +
  `Content-Transfer-Encoding: base64\r\n\r\n${text}\r\n`
let url: string

beforeAll(async () => {
  url = await makeDatabase(inject('postgres'))
  await served(first, '', async running => {
    await running.user('anna')
    await upload(running, 'large', large)
    await upload(running, 'small', 'aGVsbG8=')
  })
})

afterAll(() => rmSync(folders, { recursive: true, force: true }))

async function served(dataDir: string, address: string, task: (running: Running) => Promise<void>): Promise<void> {
  const teal: Teal = await startTeal({ dataDir, store: { url: address } }, { strict: true })
  try {
    await task(accessTo(() => teal))
    expect(await teal.check()).toEqual([])
  } finally {
    await teal.close()
  }
}

async function inbox({ call }: Running): Promise<string> {
  const { body: user } = await call('GET', '/users/resolve/anna')
  const { body } = await call('GET', `/users/${user.id}/mailboxes`)
  return `/users/${user.id}/mailboxes/${body.results[0].id}/messages`
}

async function upload(running: Running, id: string, text: string): Promise<void> {
  const answer = await running.raw('POST', await inbox(running), {
    headers: { 'content-type': 'message/rfc822' },
    body: letter(id, text),
  })
  expect(answer.status).toBe(200)
}

/** Subjects with how long each message is. */
async function letters(running: Running): Promise<Record<string, number>> {
  const place = await inbox(running)
  const { body } = await running.call('GET', `${place}?limit=250`)
  const found: Record<string, number> = {}
  for (const { id, subject } of body.results) {
    const source = await running.raw('GET', `${place}/${id}/message.eml`)
    found[subject] = (await source.text()).length
  }
  return found
}

const all = { large: letter('large', large).length, small: letter('small', 'aGVsbG8=').length }

async function move(...args: string[]): Promise<void> {
  await (await commandLine()).parseAsync(['move', '--json', ...args], { from: 'user' })
}

test('what broke off is served by nobody, and goes on where it was', async () => {
  const read = openReader(databaseFile(first))
  const filling = await fillPostgres({ url })
  let pieces = 0
  const files = new BodyFiles(first)
  const broken = moveRows(
    read,
    filling,
    (table, row) => (table === 'part' ? inRow(row, files) : row),
    () => {
      pieces += 1
      if (pieces === 5) throw new Error('broken off')
    },
  )
  await expect(broken).rejects.toThrow('broken off')
  await filling.close()
  read.close()
  await expect(startTeal({ dataDir: join(folders, 'none'), store: { url } })).rejects.toMatchObject({
    code: 'DataMissing',
    message: expect.stringContaining('teal move'),
  })
  await served(join(folders, 'other'), '', async () => {})
  await expect(move('--to', url, '--data-dir', join(folders, 'other'))).rejects.toMatchObject({ code: 'NotPermitted' })
  await move('--to', url, '--data-dir', first)
})

test('a service goes on there, and what is full is not moved into again', async () => {
  await served(first, url, async running => {
    expect(await letters(running)).toEqual(all)
    await upload(running, 'later', large.slice(0, 78 * 20_000))
    await expect(move('--from', url, '--data-dir', back)).rejects.toMatchObject({ code: 'DataDirectoryInUse' })
  })
  await expect(move('--to', url, '--data-dir', first)).rejects.toMatchObject({ code: 'NotPermitted' })
})

test('it comes back', async () => {
  cpSync(join(first, 'keys'), join(back, 'keys'), { recursive: true })
  cpSync(join(first, 'root-token'), join(back, 'root-token'))
  await move('--from', url, '--data-dir', back)
  await served(back, '', async running => {
    const later = letter('later', large.slice(0, 78 * 20_000)).length
    expect(await letters(running)).toEqual({ ...all, later })
  })
  await expect(move('--from', url, '--data-dir', back)).rejects.toMatchObject({ code: 'NotPermitted' })
})

test('its address is never shown with its password, and what knows files alone refuses', async () => {
  const address = 'postgres://teal:s3cret@db.example.com/mail'
  const config = loadConfig({ flags: { store: { url: address } } })
  expect(settingsInForce(config).find(({ name }) => name === 'store.url')?.value).toBe(
    "'postgres://teal:[masked]@db.example.com/mail'",
  )
  for (const url of ['postgres://db.example.com', `${address}?password=x`, 'mysql://db.example.com/mail']) {
    expect(() => loadConfig({ flags: { store: { url } } })).toThrow(/store\.url/)
  }
  expect(() => loadConfig({ flags: { store: { url: address }, backup: { folder: '/b' } } })).toThrow(/pg_dump/)
  const place = ['--data-dir', first, '--set', `store.url=${address}`]
  for (const args of [
    ['backup', join(folders, 'copy')],
    ['restore', join(folders, 'copy')],
    ['verify', '--repair'],
  ]) {
    const refused = await (await commandLine())
      .parseAsync([...args, ...place], { from: 'user' })
      .catch((error: unknown) => error)
    expect(refused).toMatchObject({ code: 'NotPermitted', message: expect.stringContaining('pg_dump') })
    expect(String(refused)).not.toContain('s3cret')
  }
})
