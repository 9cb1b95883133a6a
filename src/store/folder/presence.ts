// Whether a data directory holds what its database speaks of, looked at before anything in it is used or removed.
//
// A database that is missing beside mail or keys is a lost disk, a forgotten mount or a restore that broke off, never a new
// service: one that began anew there would refuse mail for every account for good, and take all bodies for rubbish. The same
// holds the other way round for keys that rows are sealed with, and for a folder of bodies that is empty. Nothing here
// writes.

import { existsSync, readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { Fault } from '#lib/fault.ts'
import { jsonAt } from '../engine/dialect.ts'
import type { Reader } from '../engine/reader.ts'
import { blobsDir, databaseFile, hasObjects, keyFile, keysDir, type Place, rootTokenFile } from './place.ts'

/**
 * Whether the directory may be that of a new service: no database, and nothing else that one leaves behind. What is behind an
 * address its engine knows, and may be empty where the directory is.
 *
 * @throws Fault DataMissing where the database is missing beside what belongs to one
 */
export function mayBeNew({ dataDir, store }: Place): boolean {
  // Before the database is looked for: whoever makes one makes it first.
  const traces = tracesOf(dataDir)
  if (store.url !== '') return traces.length === 0 && bytesOf(databaseFile(dataDir)) === 0
  if (bytesOf(databaseFile(dataDir)) > 0) return false
  if (traces.length === 0) return true
  throw databaseMissing(dataDir, traces)
}

/** What is said where the database is not there, or holds nothing. */
export function databaseMissing(dataDir: string, traces = tracesOf(dataDir)): Fault {
  const file = databaseFile(dataDir)
  const state = existsSync(file) ? 'is empty' : 'is missing'
  return new Fault('DataMissing', {
    text:
      `The database ${file} ${state}, but the directory holds ${traces.join(', ')} of a service that was here before. ` +
      'Nothing was started or changed. If a disk is not mounted, mount it; otherwise move the directory away and bring a ' +
      `backup back with \`teal restore <backup> --data-dir ${dataDir}\` (a restore that broke off is run again as it was). ` +
      'To begin anew, start with an empty directory.',
  })
}

/** @throws Fault DataMissing where rows are sealed with a key whose file is not there */
export async function requireKeys(read: Reader, dataDir: string, configured: KeysConfigured): Promise<void> {
  const [problem] = await missingKeys(read, dataDir, configured)
  if (problem !== undefined) {
    throw new Fault('DataMissing', {
      text: `${problem} Bring the folder keys back from a backup; nothing was started.`,
    })
  }
}

/** Keys that the configuration holds in place of files. */
export interface KeysConfigured {
  readonly totp: boolean
}

/** Key files that are missing though rows are sealed with them, as sentences. */
export async function missingKeys(read: Reader, dataDir: string, configured: KeysConfigured): Promise<string[]> {
  const missing: string[] = []
  for (const [name, { what, query }] of Object.entries(sealedWith)) {
    const file = keyFile(dataDir, name)
    if (existsSync(file) || (name === 'totp' && configured.totp)) continue
    if ((await read.one(query)) !== undefined) {
      missing.push(`The key ${file} is missing, which ${what} are sealed with.`)
    }
  }
  return missing
}

/** What lies sealed in rows, by the name of its key; any number of rows, of which the first will do. */
const sealedWith = {
  seal: {
    what: 'private keys and secrets',
    query: `SELECT 1 FROM certificate WHERE key LIKE '$wd01$%' UNION ALL SELECT 1 FROM dkim WHERE key LIKE '$wd01$%'
      UNION ALL SELECT 1 FROM signing_key WHERE key LIKE '$wd01$%'
      UNION ALL SELECT 1 FROM acme_account WHERE key LIKE '$wd01$%'
      UNION ALL SELECT 1 FROM acme_order WHERE key LIKE '$wd01$%'
      UNION ALL SELECT 1 FROM webhook WHERE secret LIKE '$wd01$%'
      UNION ALL SELECT 1 FROM endpoint WHERE url LIKE '%$wd01$%@%'
      UNION ALL SELECT 1 FROM outbound WHERE ${jsonAt('options', 'relay')} LIKE '%$wd01$%@%'
      UNION ALL SELECT 1 FROM outbound_target WHERE value LIKE '%$wd01$%@%'
      UNION ALL SELECT 1 FROM filter WHERE ${jsonAt('action', 'targets')} LIKE '%$wd01$%@%'
      UNION ALL SELECT 1 FROM address WHERE ${jsonAt('forward', 'targets')} LIKE '%$wd01$%@%'
      UNION ALL SELECT 1 FROM "user" WHERE ${jsonAt('options', 'targets')} LIKE '%$wd01$%@%'
        OR ${jsonAt('options', 'mtaRelay')} LIKE '%$wd01$%@%' LIMIT 1`,
  },
  totp: {
    what: 'the seeds of one-time codes',
    query: `SELECT 1 FROM "user" WHERE ${jsonAt('options', 'totp')} LIKE '%"$wd01$%' LIMIT 1`,
  },
} as const

/** @throws Fault DataMissing where the database names files of bodies and the folder for them has none, or objects of nowhere */
export async function requireFiles(read: Reader, place: Place): Promise<void> {
  const { dataDir, store } = place
  if (hasObjects(place)) return
  if (store.url === '' && hasBodyFiles(dataDir)) return
  const found = await read.one<{ n: number }>('SELECT count(*) AS n FROM part WHERE file = 1')
  const n = found?.n ?? 0
  if (n === 0) return
  if (store.url !== '') {
    const text = `The database names ${n} objects of a store, but bodies.url is not set. Nothing was started.`
    throw new Fault('DataMissing', { text })
  }
  throw new Fault('DataMissing', {
    text:
      `${blobsDir(dataDir)} holds no files, but the database names ${n}: is a disk not mounted? ` +
      'Nothing was started. Mount it, or bring the folder back from a backup.',
  })
}

/**
 * Whether a database without tables is one whose making was cut off: nothing of a service lies beside it, since all of that is
 * made after it. What its log holds was looked at when it was opened, and was no tables either.
 */
export function isUnfinished(dataDir: string): boolean {
  return bytesOf(databaseFile(dataDir)) > 0 && lastingTracesOf(dataDir).length === 0
}

/** What a service leaves beside its database, in words. */
function tracesOf(dataDir: string): string[] {
  const traces = lastingTracesOf(dataDir)
  if (bytesOf(`${databaseFile(dataDir)}-wal`) > 0) traces.push('changes that were not copied back yet (teal.db-wal)')
  return traces
}

/** What is made after the database, and belongs to it. */
function lastingTracesOf(dataDir: string): string[] {
  const traces: string[] = []
  if (hasBodyFiles(dataDir)) traces.push('stored mail (blobs)')
  if (listed(keysDir(dataDir)).some(name => !name.includes('.'))) traces.push('keys (keys)')
  if (existsSync(rootTokenFile(dataDir))) traces.push('the first token (root-token)')
  return traces
}

/** Whether there is any file of a body. */
function hasBodyFiles(dataDir: string): boolean {
  const blobs = blobsDir(dataDir)
  return listed(blobs).some(name => /^[0-9a-f]{2}$/.test(name) && listed(join(blobs, name)).length > 0)
}

function listed(folder: string): string[] {
  try {
    return readdirSync(folder)
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'ENOENT' || code === 'ENOTDIR') return []
    throw error
  }
}

function bytesOf(file: string): number {
  return statSync(file, { throwIfNoEntry: false })?.size ?? 0
}
