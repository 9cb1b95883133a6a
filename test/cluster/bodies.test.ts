// Nodes and the store of their large parts: it is the same for all, and who would look elsewhere is refused before it serves anybody.

import { randomBytes } from 'node:crypto'
import { cpSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, inject, onTestFinished, test } from 'vitest'
import { startTeal, type Teal } from '#service'
import { deliver, openLmtp } from '../dialogue.ts'
import { bodiesAt } from '../postgres/carry.ts'
import { makeDatabase } from '../postgres/cluster.ts'
import { type S3, startS3 } from '../postgres/s3.ts'
import { accessTo } from '../running.ts'
import { type Nats, startNats } from './nats.ts'

const folder = mkdtempSync(join(tmpdir(), 'teal-nodes-'))
let nats: Nats
let s3: S3
let url: string

beforeAll(async () => {
  nats = await startNats()
  s3 = await startS3()
  url = await makeDatabase(inject('postgres'), 'template0')
})

afterAll(async () => {
  await s3.close()
  await nats.stop()
  rmSync(folder, { recursive: true, force: true })
})

/** @param bucket its address, none where large parts stay in the database */
async function start(node: string, bucket?: string): Promise<Teal> {
  const bodies = bucket === undefined ? {} : { bodies: bodiesAt(bucket) }
  const options = { dataDir: join(folder, node), store: { url }, cluster: { nats: nats.url, node }, ...bodies }
  const teal = await startTeal(options, { strict: true })
  onTestFinished(() => teal.close())
  return teal
}

test('a node starts where it looks for large parts as the others do, and not otherwise', async () => {
  const bucket = `${s3.url}/teal`
  const a = await start('a', bucket)
  mkdirSync(join(folder, 'b'))
  cpSync(join(folder, 'a', 'keys'), join(folder, 'b', 'keys'), { recursive: true })
  const refused = { code: 'DataDirectoryInUse', message: expect.stringContaining('another bodies.url') }
  await expect(start('b')).rejects.toMatchObject(refused)
  await expect(start('b', `${s3.url}/other`)).rejects.toMatchObject(refused)
  const b = await start('b', bucket)
  const [atA, atB] = [accessTo(() => a), accessTo(() => b)]
  const id = await atA.user('anna')
  const text = randomBytes(300_000).toString('base64').replace(/.{76}/g, '$&\r\n')
  const head = 'Subject: large\r\nContent-Type: application/octet-stream\r\nContent-Transfer-Encoding: base64\r\n\r\n'
  const lmtp = await openLmtp(atB.at('lmtp'))
  const [reply] = await deliver(lmtp, 'x@example.org', ['anna@example.com'], Buffer.from(`${head}${text}\r\n`))
  lmtp.close()
  expect(reply).toMatch(/^250/)
  const { body } = await atA.call('GET', `/users/${id}/mailboxes`)
  const path = `/users/${id}/mailboxes/${body.results[0].id}/messages/1/message.eml`
  for (const node of [atA, atB]) expect(await (await node.raw('GET', path)).text()).toContain(text)
  expect(await a.check()).toEqual([])
})
