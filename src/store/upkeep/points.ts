// Backups of several moments in one folder: each a whole backup of its own (backup.ts), whose files it shares with those before it.
//
// A point costs the database and what is new since the point before: files are named by their content, and links where they are
// the same. It has its name, its moment in UTC, once it is whole; one that broke off is used by the next. Beyond the number
// that is kept the oldest go. What has another name in the folder is left alone.

import { existsSync, readFileSync } from 'node:fs'
import { link, mkdir, readdir, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { Fault } from '#lib/fault.ts'
import { syncPath } from '#lib/lasting.ts'
import { isPlace } from '../bodies/files.ts'
import { type BackupResult, copyInto, lockFolder, openFolder, pointForm } from './backup.ts'

export interface Point {
  /** Of its folder: `20261123T080000Z`. */
  readonly name: string
  readonly folder: string
  /** ISO 8601. */
  readonly created: string
  /** The how many-th it is; 0 for one of old. */
  readonly serial: number
}

const unfinished = 'unfinished'
const dropping = 'dropping'

/**
 * The points of a folder, the newest first; none where there is no such folder. They come in the order in which they were taken, which is
 * not that of their names where the clock was wrong meanwhile.
 */
export async function listPoints(folder: string): Promise<Point[]> {
  if (!existsSync(folder)) return []
  const names = (await readdir(folder)).filter(name => pointForm.test(name)).toSorted()
  const points = names.toReversed().flatMap(name => {
    const path = join(folder, name)
    const about = aboutOf(path)
    return about === undefined ? [] : [{ name, folder: path, ...about }]
  })
  return points.sort((one, other) => other.serial - one.serial)
}

/** Names in a folder that points have, of which none is a backup any more: what says so is gone or damaged. */
export async function lostPoints(folder: string): Promise<string[]> {
  if (!existsSync(folder)) return []
  const names = (await readdir(folder)).filter(name => pointForm.test(name)).toSorted()
  return names.filter(name => aboutOf(join(folder, name)) === undefined)
}

/** When the backup in a folder was taken; undefined where there is none that is whole. */
export function createdOf(folder: string): string | undefined {
  return aboutOf(folder)?.created
}

function aboutOf(folder: string): Pick<Point, 'created' | 'serial'> | undefined {
  try {
    const note = JSON.parse(readFileSync(join(folder, 'backup.json'), 'utf8')) as Record<string, unknown>
    const { created, serial } = note
    return typeof created === 'string' ? { created, serial: typeof serial === 'number' ? serial : 0 } : undefined
  } catch {
    return undefined
  }
}

export interface PointResult extends BackupResult {
  readonly point: string
  /** Names of points that were one too many. */
  readonly dropped: readonly string[]
}

/**
 * Takes a point and drops those beyond `keep`.
 *
 * @throws Fault BackupInvalid where somebody else takes one there, or the folder holds another kind of backup or is the service's own
 */
export async function takePoint(
  dataDir: string,
  folder: string,
  how: { readonly at: Date; readonly keep: number; readonly gently: boolean; say?(text: string): void },
): Promise<PointResult> {
  const { at, keep, gently, say = () => {} } = how
  openFolder(folder, dataDir)
  if (existsSync(join(folder, 'backup.json'))) {
    throw new Fault('BackupInvalid', {
      text: `${folder} holds a backup of one moment: name another folder for several`,
    })
  }
  const release = lockFolder(folder)
  try {
    const fresh = join(folder, unfinished)
    await rm(join(folder, dropping), { recursive: true, force: true })
    const [newest] = await listPoints(folder)
    if (newest !== undefined) await share(join(newest.folder, 'blobs'), join(fresh, 'blobs'))
    const serial = (newest?.serial ?? 0) + 1
    const result = await copyInto(dataDir, fresh, { at, gently, say, serial })
    const name = `${at.toISOString().replace(/[-:]|\.\d+/g, '')}`
    const path = join(folder, name)
    if (existsSync(path)) throw new Fault('BackupInvalid', { text: `${path} is there already` })
    await rename(fresh, path)
    syncPath(folder)
    const dropped = (await listPoints(folder)).slice(keep)
    for (const one of dropped) {
      // It loses its name first: one that is half gone is no point.
      await rename(one.folder, join(folder, dropping))
      await rm(join(folder, dropping), { recursive: true, force: true })
    }
    return { ...result, point: path, dropped: dropped.map(one => one.name) }
  } finally {
    release()
  }
}

/** Has the files of one folder in another, too; where the file system knows no links the backup copies them anew. */
async function share(from: string, to: string): Promise<void> {
  if (!existsSync(from)) return
  for (const name of await readdir(from)) {
    if (!isPlace(name)) continue
    await mkdir(join(to, name), { recursive: true, mode: 0o700 })
    for (const file of await readdir(join(from, name))) {
      // Of a copy that broke off, as they once were made.
      if (file.endsWith('.new')) continue
      try {
        await link(join(from, name, file), join(to, name, file))
      } catch (error) {
        const { code = '' } = error as NodeJS.ErrnoException
        if (code === 'EEXIST' || code === 'ENOENT') continue
        if (code === 'EPERM' || code === 'ENOTSUP' || code === 'EMLINK' || code === 'EXDEV') return
        throw error
      }
    }
  }
}
