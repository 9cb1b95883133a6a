// What is wrong with a backup or with the stored data is told, and nothing is made of it.

import { randomBytes } from 'node:crypto'
import { cpSync, existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { FaultCode } from '#lib/fault.ts'
import { startTeal } from '#service'
import { migrations } from '#store/engine/schema.ts'
import { openForWriting } from '#store/engine/sqlite/handle.ts'
import { databaseFile } from '#store/folder/place.ts'
import { backupDatabase, restoreBackup, takeBackup } from '#store/upkeep/backup.ts'
import { takePoint } from '#store/upkeep/points.ts'
import { childEnvironment, runTeal } from '../../child.ts'
import { deliver, openLmtp } from '../../dialogue.ts'

const root = mkdtempSync(join(tmpdir(), 'teal-backup-'))
const dataDir = join(root, 'data')
const folder = join(root, 'backup')
const quiet = () => undefined
const refused = (code: FaultCode) => expect.objectContaining({ code })
const env = childEnvironment(dataDir)

beforeAll(async () => {
  const made = await runTeal(['user', 'add', 'kept', '--generate', '--json', '--create'], env)
  expect(made.code, made.err).toBe(0)
  await takeBackup(dataDir, folder, new Date(0), quiet)
})
afterAll(() => rmSync(root, { recursive: true, force: true }))

test('a folder that is no backup is neither read nor written', async () => {
  const foreign = join(root, 'foreign')
  mkdirSync(foreign)
  writeFileSync(join(foreign, 'letter.txt'), 'Dear reader')
  await expect(backupDatabase(foreign)).rejects.toEqual(refused('BackupInvalid'))
  await expect(takeBackup(dataDir, foreign, new Date(0), quiet)).rejects.toEqual(refused('BackupInvalid'))
  await expect(restoreBackup(foreign, join(root, 'none'), quiet)).rejects.toEqual(refused('BackupInvalid'))
  expect(readdirSync(foreign)).toEqual(['letter.txt'])
})

test('a backup whose database was changed is not restored', async () => {
  const copy = join(root, 'changed')
  const { database } = await takeBackup(dataDir, copy, new Date(0), quiet)
  writeFileSync(join(copy, database), 'x', { flag: 'a' })
  const target = join(root, 'restored')
  await expect(restoreBackup(copy, target, quiet)).rejects.toEqual(refused('BackupInvalid'))
  await restoreBackup(folder, target, quiet)
})

test('a key that was changed, or is missing, is told and keeps the backup from being restored', async () => {
  const [source, copy] = [join(root, 'with-token'), join(root, 'keys-changed')]
  cpSync(dataDir, source, { recursive: true })
  writeFileSync(join(source, 'root-token'), 'a token')
  await takeBackup(source, copy, new Date(0), quiet)
  const files = [join(copy, 'root-token'), ...readdirSync(join(copy, 'keys')).map(name => join(copy, 'keys', name))]
  expect(files.length).toBeGreaterThan(1)
  for (const file of files) {
    const before = readFileSync(file)
    for (const spoil of [() => writeFileSync(file, `${before}x`), () => rmSync(file)]) {
      spoil()
      expect(await runTeal(['verify', '--backup', copy], env)).toMatchObject({ code: 1 })
      await expect(restoreBackup(copy, join(root, 'spoiled'), quiet)).rejects.toEqual(refused('BackupInvalid'))
      writeFileSync(file, before)
    }
  }
  expect(await runTeal(['verify', '--backup', copy], env)).toMatchObject({ code: 0 })
})

test('what is not there, or cannot be read, is not told as damaged', async () => {
  const copy = join(root, 'unread')
  const { database } = await takeBackup(dataDir, copy, new Date(0), quiet)
  const told = () =>
    restoreBackup(copy, join(root, 'unread-target'), quiet).then(String, (error: Error) => error.message)
  for (const [name, what] of [
    [database, 'database'],
    [`keys/${readdirSync(join(copy, 'keys'))[0]}`, 'key'],
  ] as const) {
    const path = join(copy, name)
    const whole = readFileSync(path)
    rmSync(path)
    expect(await told()).toMatch(`The ${what} of the backup cannot be read: ${path}: it is not there`)
    mkdirSync(path)
    expect(await told()).toMatch(`The ${what} of the backup cannot be read: ${path}: it is a folder`)
    rmSync(path, { recursive: true })
    writeFileSync(path, whole)
  }
  const several = join(root, 'several')
  const { point } = await takePoint(dataDir, several, { at: new Date(0), keep: 2, gently: false })
  await expect(backupDatabase(several)).rejects.toThrow(`backups of 1 moments: name one of them, such as ${point}`)
  rmSync(join(copy, 'backup.json'))
  mkdirSync(join(copy, 'backup.json'))
  expect(await told()).toMatch(`The backup cannot be read: ${join(copy, 'backup.json')}: it is a folder`)
})

test('what broke off leaves no copy behind, and two at once do not meet', async () => {
  const twice = join(root, 'twice')
  await takeBackup(dataDir, twice, new Date(0), quiet)
  for (const end of ['', '-journal']) writeFileSync(join(twice, `teal-0123456789abcdef01234567.db${end}`), 'half')
  const both = await Promise.allSettled([
    takeBackup(dataDir, twice, new Date(1), quiet),
    takeBackup(dataDir, twice, new Date(2), quiet),
  ])
  expect(both.map(one => one.status).toSorted()).toEqual(['fulfilled', 'rejected'])
  expect(both.find(one => one.status === 'rejected')).toMatchObject({ reason: { code: 'BackupInvalid' } })
  expect(readdirSync(twice).filter(name => name.startsWith('teal-'))).toHaveLength(1)
  expect(await runTeal(['verify', '--backup', twice], env)).toMatchObject({ code: 0 })
})

test.each([
  ['an earlier version is checked and restored', -1],
  ['a later version is refused before anything is written', 1],
])('a backup of %s', async (_, by) => {
  const [source, copy, target] = ['source', 'copy', 'target'].map(name => join(root, `${name}${by}`)) as [
    string,
    string,
    string,
  ]
  mkdirSync(join(source, 'blobs'), { recursive: true })
  const database = openForWriting(databaseFile(source))
  for (const step of migrations.slice(0, by < 0 ? 20 : migrations.length)) database.exec(step)
  database.pragma(`user_version = ${by < 0 ? 20 : migrations.length + by}`)
  database.close()
  await takeBackup(source, copy, new Date(0), quiet)
  const checked = await runTeal(['verify', '--backup', copy], env)
  if (by < 0) {
    expect(checked).toMatchObject({ code: 0, err: expect.stringContaining('earlier version') })
    await restoreBackup(copy, target, quiet)
    const teal = await startTeal({ dataDir: target })
    expect(await teal.check()).toEqual([])
    await teal.close()
  } else {
    expect(checked).toMatchObject({ code: 1, err: expect.stringContaining('newer version') })
    await expect(restoreBackup(copy, target, quiet)).rejects.toEqual(refused('DatabaseTooNew'))
    expect(existsSync(target)).toBe(false)
  }
})

test('verify names what is wrong with the stored data', async () => {
  const well = await runTeal(['verify', '--json'], env)
  expect([well.code, JSON.parse(well.out)]).toEqual([0, { ok: true, problems: [] }])
  const database = openForWriting(databaseFile(dataDir))
  database.exec('UPDATE usage SET storage = storage + 1')
  database.close()
  const { code, out, err } = await runTeal(['verify', '--json'], env)
  expect(JSON.parse(out)).toEqual({ ok: false, code: 'StoreDamaged', problems: [expect.any(String)] })
  expect(code).toBe(1)
  expect(err).toContain('1 problem was found')
})

test('a backup of which a file or a key is not as it was is not restored, and what is whole comes back when asked for', async () => {
  const store = join(root, 'large')
  const teal = await startTeal({ dataDir: store, threads: 0 })
  const user = { username: 'anna', password: 'a long secret', address: 'anna@example.com' }
  const headers = { 'x-access-token': teal.rootToken, 'content-type': 'application/json' }
  await fetch(`${teal.url}/users`, { method: 'POST', headers, body: JSON.stringify(user) })
  const lmtp = await openLmtp(teal.listeners.lmtp as { host: string; port: number })
  const noise = randomBytes(700_000).toString('base64').replace(/.{76}/g, '$&\r\n')
  const message = Buffer.from(`Subject: large\r\n\r\n${noise}\r\n`)
  expect(await deliver(lmtp, 'a@example.org', [user.address], message)).toEqual([expect.stringMatching(/^250 /)])
  lmtp.close()
  const { uidNext } = (await teal.core.read.one<{ uidNext: number }>('SELECT max(uid_next) AS uidNext FROM tally')) ?? {
    uidNext: 0,
  }
  const backup = join(root, 'large-backup')
  await takeBackup(store, backup, new Date(0), quiet)
  await teal.close()
  const [name = ''] = readdirSync(join(backup, 'blobs'), { recursive: true, encoding: 'utf8' }).filter(one =>
    one.includes('/'),
  )
  const file = join(backup, 'blobs', name)
  const whole = readFileSync(file)
  // A copy of its own: the backup shares its files with the store.
  rmSync(file)
  writeFileSync(file, Buffer.concat([whole.subarray(0, 1000), Buffer.from('x'), whole.subarray(1001)]))
  const target = join(root, 'large-restored')
  await expect(restoreBackup(backup, target, quiet)).rejects.toEqual(refused('BackupInvalid'))
  expect(existsSync(target)).toBe(false)
  expect((await restoreBackup(backup, join(root, 'half'), quiet, { lenient: true })).damaged).toEqual([
    expect.stringContaining('part'),
  ])
  writeFileSync(file, whole)
  const key = join(backup, 'keys/seal')
  const text = readFileSync(key, 'utf8')
  writeFileSync(
    key,
    text.replace(/^./, one => (one === '0' ? '1' : '0')),
  )
  await expect(restoreBackup(backup, target, quiet)).rejects.toEqual(refused('BackupInvalid'))
  writeFileSync(key, text)
  mkdirSync(target)
  writeFileSync(join(target, 'teal.db-wal'), 'left by a lost database')
  await restoreBackup(backup, target, quiet)
  expect(existsSync(join(target, 'teal.db-wal'))).toBe(false)
  const restored = await startTeal({ dataDir: target, threads: 0 })
  expect(await restored.check()).toEqual([])
  const [next] = (await restored.core.read.arrays<[number]>('SELECT min(uid_next) FROM tally'))[0] ?? [0]
  expect(next).toBeGreaterThan(uidNext)
  await restored.close()
})
