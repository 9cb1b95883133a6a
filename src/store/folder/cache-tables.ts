// The cache's tables on the disk: LMDB, in a folder of its own.

import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Database, open } from 'lmdb'
import { breathe } from '#lib/clock.ts'
import { limits } from '#lib/limits.ts'
import { guarded } from './cache-folder.ts'
import type { Entry, Tables } from './cache-memory.ts'

/** The engine maps files into memory: where the disk has no room for them, touching them would end the process. */
export function requireRoom(dir: string): void {
  mkdirSync(dir, { recursive: true, mode: 0o700 })
  const probe = join(dir, 'probe')
  try {
    writeFileSync(probe, Buffer.alloc(limits.cache.roomBytesMin, 1), { mode: 0o600, flush: true })
  } finally {
    rmSync(probe, { force: true })
  }
}

/** Opens the file, or makes it. @throws where it is broken */
export function openTables(dir: string): Tables {
  mkdirSync(dir, { recursive: true, mode: 0o700 })
  return guarded(dir, () => {
    // What the engine puts together by itself has a promise of its own that nobody could hear where the disk fails.
    const root = open({ path: dir, maxDbs: 4, eventTurnBatching: false })
    const entries: Database<Entry, string> = root.openDB('entries', {})
    const ends: Database<number, [number, string]> = root.openDB('ends', {})
    walk(entries, ends)
    return { root, entries, ends, lasting: true, count: () => entryCount(entries) }
  })
}

/** Touches what there is, within reason, so that a broken page is met here and not in the middle of a login. */
function walk(entries: Database<Entry, string>, ends: Database<number, [number, string]>): void {
  const limit = limits.cache.walkEntriesMax
  for (const { value } of entries.getRange({ limit })) {
    if (typeof value[0] !== 'number') throw new Error('an entry has another form')
  }
  for (const key of ends.getKeys({ limit })) if (!Array.isArray(key)) throw new Error('an end has another form')
}

function entryCount(entries: Database<Entry, string>): number {
  const { entryCount: count } = entries.getStats() as { entryCount: number }
  return count
}

/** Resolves when all are on disk. The engine says why a commit failed with a promise of its own, which is heard too. */
export async function settled(writes: readonly Promise<boolean>[]): Promise<void> {
  const heard = writes.map(write =>
    write.catch(async (error: { commitError?: Promise<never> }) => {
      await Promise.race([error.commitError, breathe()])
      throw error
    }),
  )
  const results = await Promise.allSettled(heard)
  for (const result of results) if (result.status === 'rejected') throw result.reason
}
