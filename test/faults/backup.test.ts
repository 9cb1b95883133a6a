// What is wrong with a backup or with the stored data is told, and nothing is made of it.

import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { FaultCode } from '#lib/fault.ts'
import { backupDatabase, restoreBackup, takeBackup } from '#store/backup.ts'
import { databaseFile } from '#store/place.ts'
import { openForWriting } from '#store/sqlite.ts'
import { childEnvironment, runTeal } from '../child.ts'

const root = mkdtempSync(join(tmpdir(), 'teal-backup-'))
const dataDir = join(root, 'data')
const folder = join(root, 'backup')
const quiet = () => undefined
const refused = (code: FaultCode) => expect.objectContaining({ code })
const env = childEnvironment(dataDir)

beforeAll(async () => {
  const made = await runTeal(['user', 'add', 'kept', '--generate', '--json'], env)
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
