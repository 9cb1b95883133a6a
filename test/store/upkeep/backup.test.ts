// Backups of a store that is served, and what is refused as one.

import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import { startTeal, type Teal } from '#service'
import { openForWriting } from '#store/engine/sqlite/handle.ts'
import { backupDatabase, restoreBackup, takeBackup } from '#store/upkeep/backup.ts'
import { takePoint } from '#store/upkeep/points.ts'
import { childEnvironment, runTeal } from '../../child.ts'
import { deliver, openLmtp } from '../../dialogue.ts'
import { Client } from '../../imap/client.ts'
import { accessTo, useTeal } from '../../running.ts'

const service = useTeal()
const root = mkdtempSync(join(tmpdir(), 'teal-backup-'))
const quiet = () => {}

afterAll(() => rmSync(root, { recursive: true, force: true }))

test('a backup taken while mail comes in is one moment of the store, and is restored as that', async () => {
  const id = await service.user('backed')
  // What counts against a quota and keeps bodies without being mail in a folder.
  const sendTime = new Date(Date.now() + 3_600_000).toISOString()
  const letter = { to: [{ address: 'b@example.net' }], subject: 'Later', text: 'later', sendTime }
  const sent = (await service.call('POST', `/users/${id}/submit`, letter)).body.message
  expect(sent.queueId).toMatch(/./)
  await service.call('POST', `/users/${id}/storage`, { filename: 'a.txt', content: 'text' })
  const gone = await service.call('DELETE', `/users/${id}/mailboxes/${sent.mailbox}/messages/${sent.id}`)
  expect(gone.body).toMatchObject({ success: true })
  const lmtp = await openLmtp(service.at('lmtp'))
  let going = true
  const coming = (async () => {
    for (let at = 0; going; at++) {
      await deliver(lmtp, 'a@example.org', ['backed@example.com'], Buffer.from(`Subject: ${at}\r\n\r\n${at}\r\n`))
    }
  })()
  const folder = join(root, 'taken')
  const { dataDir } = service.teal.config
  await takeBackup(dataDir, folder, new Date(0), quiet)
  await takeBackup(dataDir, folder, new Date(0), quiet)
  going = false
  await coming
  lmtp.close()
  expect(readdirSync(folder).filter(name => name.endsWith('.db'))).toHaveLength(1)
  const restored = join(root, 'restored')
  await restoreBackup(folder, restored, quiet)
  expect(await runTeal(['verify', '--json'], childEnvironment(restored))).toMatchObject({
    code: 0,
    out: '{"ok":true,"problems":[]}\n',
  })
})

test('a store that is damaged is named by verify', async () => {
  const restored = join(root, 'restored')
  const handle = openForWriting(join(restored, 'teal.db'))
  handle.exec('UPDATE tally SET total = total + 1 WHERE mailbox = (SELECT min(mailbox) FROM tally)')
  handle.close()
  const { code, out } = await runTeal(['verify', '--json'], childEnvironment(restored))
  expect(code).toBe(1)
  expect(JSON.parse(out)).toMatchObject({
    ok: false,
    code: 'StoreDamaged',
    problems: [expect.stringContaining('counters')],
  })
})

test('what is no backup is refused', async () => {
  const foreign = join(root, 'foreign')
  mkdirSync(foreign)
  writeFileSync(join(foreign, 'thesis.txt'), 'mine')
  const refused = expect.objectContaining({ code: 'BackupInvalid' })
  await expect(takeBackup(service.teal.config.dataDir, foreign, new Date(0), quiet)).rejects.toEqual(refused)
  await expect(restoreBackup(foreign, join(root, 'never'), quiet)).rejects.toEqual(refused)
  await expect(backupDatabase(foreign)).rejects.toEqual(refused)
  writeFileSync(join(foreign, 'backup.json'), '{"database":"../../etc/passwd"}')
  await expect(backupDatabase(foreign)).rejects.toEqual(refused)
  expect(readdirSync(foreign).sort()).toEqual(['backup.json', 'thesis.txt'])
})

test('a folder that cannot be had is refused as what it is, and the service’s own ones are none', async () => {
  const { dataDir } = service.teal.config
  const file = join(root, 'file')
  writeFileSync(file, '')
  symlinkSync(dataDir, join(root, 'link'))
  const own = [dataDir, join(dataDir, 'blobs'), join(dataDir, 'tmp', 'new', 'er'), join(root, 'link', 'keys')]
  for (const folder of own) {
    await expect(takeBackup(dataDir, folder, new Date(0), quiet)).rejects.toThrow(/where the service itself keeps/)
    await expect(takePoint(dataDir, folder, { at: new Date(0), keep: 1, gently: false })).rejects.toThrow(
      /itself keeps/,
    )
  }
  expect(existsSync(join(dataDir, 'tmp', 'new'))).toBe(false)
  await expect(takeBackup(dataDir, file, new Date(0), quiet)).rejects.toThrow(/^EEXIST/)
  // Node makes several folders at once without end there.
  await expect(takeBackup(dataDir, '/proc/teal-backup/x', new Date(0), quiet)).rejects.toThrow(/^ENOENT/)
  const { err } = await runTeal(['backup', join(file, 'x')], childEnvironment(dataDir))
  expect(err).toBe(`teal: ${join(file, 'x')}: a file stands where a folder should (ENOTDIR)\n`)
})

test('every part of the store that has rules has them checked', () => {
  const store = join(import.meta.dirname, '../../../src/store')
  const parts = readdirSync(store, { recursive: true, encoding: 'utf8' })
    .filter(name => name.endsWith('.ts'))
    .filter(name => /^checkParts\.push\(/m.test(readFileSync(join(store, name), 'utf8')))
  const checked = readFileSync(join(store, 'upkeep/verify.ts'), 'utf8')
  expect(parts.length).toBeGreaterThan(0)
  for (const name of parts)
    expect(checked).toContain(`'${name.replace(/^(?!upkeep\/)/, '../').replace('upkeep/', './')}'`)
})

describe('an older backup that is brought back', () => {
  /** Letters of a folder by their uids, as a client sees them. */
  async function seen(teal: Teal): Promise<{ validity: number; letters: string[] }> {
    const client = await Client.login(accessTo(() => teal).at('imap'), 'again')
    const validity = Number(/UIDVALIDITY (\d+)/.exec((await client.ok('SELECT INBOX')).join('\n'))?.[1])
    const lines = await client.ok('UID FETCH 1:* (UID BODY.PEEK[HEADER.FIELDS (SUBJECT)])')
    client.close()
    const letters = lines.map(line => `${/UID (\d+)/.exec(line)?.[1]} ${/Subject: (\w+)/.exec(line)?.[1]}`)
    return { validity, letters }
  }

  async function receive(teal: Teal, subject: string): Promise<void> {
    const lmtp = await openLmtp(accessTo(() => teal).at('lmtp'))
    await deliver(lmtp, 'a@example.org', ['again@example.com'], Buffer.from(`Subject: ${subject}\r\n\r\n.\r\n`))
    lmtp.close()
  }

  test.each([
    ['gives no number that was seen to other mail', false],
    ['leaves clients what they have where nothing came after it', true],
  ])('%s', async (_, same) => {
    const [data, folder, back] = ['data', 'backup', 'back'].map(name => join(root, `${name} ${same}`)) as [
      string,
      string,
      string,
    ]
    const before = await startTeal({ dataDir: data })
    await accessTo(() => before).user('again')
    await receive(before, 'one')
    await takeBackup(data, folder, new Date(0), quiet)
    if (!same) await receive(before, 'lost')
    const { validity } = await seen(before)
    await before.close()
    await restoreBackup(folder, back, quiet, { same })
    const after = await startTeal({ dataDir: back })
    await receive(after, 'other')
    const found = await seen(after)
    expect(found.letters).toEqual(['1 one', expect.stringMatching(/^1\d{6} other$/)])
    if (same) expect(found.validity).toBe(validity)
    else expect(found.validity).toBeGreaterThan(validity)
    expect(await after.check()).toEqual([])
    await after.close()
  })
})
