// `teal move` with large parts in an S3-compatible store: files become objects and objects files, each compared with what it was.

import { cpSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, inject, test } from 'vitest'
import { commandLine } from '#cli/program.ts'
import { loadConfig, settingsInForce } from '#config'
import { startTeal, type Teal } from '#service'
import { accessTo, type Running } from '../running.ts'
import { dropDatabase, makeDatabase } from './cluster.ts'
import { accessKey, type S3, secretKey, startS3 } from './s3.ts'

const folders = mkdtempSync(join(tmpdir(), 'teal-move-'))
const first = join(folders, 'first')
const back = join(folders, 'back')
/** Packed it is more than lies in rows, the second less than what is a file of its own. */
const texts = [3_000_000, 600_000].map((size, at) => {
  const words = Array.from({ length: size / 8 }, (_, word) =>
    ((word * 2654435761 + at) >>> 0).toString(16).padStart(8, '0'),
  )
  return Buffer.from(words.join('')).toString('base64').replace(/.{76}/g, '$&\r\n')
})
const letter = (id: string, text = '') =>
  `Message-ID: <${id}@example.com>\r\nSubject: ${id}\r\nMIME-Version: 1.0\r\nContent-Type: application/octet-stream\r\n` +
  `Content-Transfer-Encoding: base64\r\n\r\n${text}\r\n`
const all = ['one', 'two'].map((id, at) => letter(id, texts[at]))
let url: string
let s3: S3

beforeAll(async () => {
  s3 = await startS3()
  url = await makeDatabase(inject('postgres'))
  await served(first, false, async running => {
    await running.user('anna')
    for (const body of all) {
      const headers = { 'content-type': 'message/rfc822' }
      expect((await running.raw('POST', await inbox(running), { headers, body })).status).toBe(200)
    }
  })
})

afterAll(async () => {
  await s3.close()
  await dropDatabase(url)
  rmSync(folders, { recursive: true, force: true })
})

const bodies = () => ({ url: s3.url, accessKey, secretKey })

async function served(dataDir: string, there: boolean, task: (running: Running) => Promise<void>): Promise<void> {
  const place = there ? { store: { url }, bodies: bodies() } : {}
  const teal: Teal = await startTeal({ dataDir, ...place }, { strict: true })
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

async function hasAll(running: Running): Promise<void> {
  const place = await inbox(running)
  for (const [at, text] of all.entries()) {
    const source = await running.raw('GET', `${place}/${at + 1}/message.eml`)
    expect((await source.text()) === text).toBe(true)
  }
}

async function move(...args: string[]): Promise<void> {
  const set = Object.entries(bodies()).flatMap(([key, value]) => ['--set', `bodies.${key}=${value}`])
  await (await commandLine()).parseAsync(['move', '--json', ...args, '--set', `store.url=${url}`, ...set], {
    from: 'user',
  })
}

test('files become objects', async () => {
  await move('--to', '--data-dir', first)
  expect(s3.names()).toHaveLength(2)
  await served(first, true, hasAll)
  // Who does not know where they are serves nobody, and leaves everything as it is.
  const without = startTeal({ dataDir: first, store: { url } })
  await expect(without).rejects.toMatchObject({ code: 'DataMissing', message: expect.stringContaining('bodies.url') })
})

test('objects become files', async () => {
  cpSync(join(first, 'keys'), join(back, 'keys'), { recursive: true })
  cpSync(join(first, 'root-token'), join(back, 'root-token'))
  const away = (await commandLine()).parseAsync(
    ['move', '--json', '--from', url, '--data-dir', join(folders, 'none')],
    {
      from: 'user',
    },
  )
  await expect(away).rejects.toMatchObject({ code: 'DataMissing' })
  await move('--from', '--data-dir', back)
  expect(readdirSync(join(back, 'blobs')).length).toBeGreaterThan(0)
  await served(back, false, hasAll)
  expect(s3.names()).toHaveLength(2)
})

test('keys are shown nowhere, and what makes no sense is refused', () => {
  const store = { url: 'postgres://db.example.com/mail' }
  const good = { url: 's3://mail/teal', accessKey, secretKey }
  const shown = settingsInForce(loadConfig({ flags: { store, bodies: good } }))
  expect(JSON.stringify(shown)).not.toContain(secretKey)
  expect(shown.find(({ name }) => name === 'bodies.url')?.value).toBe("'s3://mail/teal'")
  for (const bodies of [
    { ...good, url: 'https://key:secret@s3.example.com/mail' },
    { ...good, url: 'https://s3.example.com/' },
    { ...good, url: 's3://mail/a b' },
    { ...good, url: 'https://s3.example.com/mail?x=1' },
    { ...good, secretKey: '' },
  ]) {
    expect(() => loadConfig({ flags: { store, bodies } })).toThrow(/bodies\./)
  }
  expect(() => loadConfig({ flags: { bodies: good } })).toThrow(/bodies\.url/)
})
