// What is thrown away is not synced; everything else is, also a folder whose name begins the same.

import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { expect, test } from 'vitest'
import { isPassing, makeFolder } from '#lib/lasting.ts'
import { makeLog } from '#lib/log.ts'
import { openForWriting } from '#store/engine/sqlite/handle.ts'
import { Cache } from '#store/folder/cache.ts'
import { makeTemporary } from '#store/folder/temporary.ts'

/** 2: each commit is synced; 0: none. */
function synchronous(folder: string): number {
  const handle = openForWriting(join(folder, 'teal.db'))
  try {
    return Number(handle.pragma('synchronous', { simple: true }))
  } finally {
    handle.close()
  }
}

test('a folder that is thrown away is not synced, and keeps no cache; one that somebody named is, beside it as well', async () => {
  const { dataDir, remove } = await makeTemporary()
  const beside = `${dataDir}-2`
  const named = mkdtempSync(join(tmpdir(), 'named-'))
  makeFolder(beside)
  expect([dataDir, join(dataDir, 'keys/seal'), beside, named, dirname(dataDir)].map(isPassing)).toEqual([
    true,
    true,
    false,
    false,
    false,
  ])
  expect([synchronous(dataDir), synchronous(beside), synchronous(named)]).toEqual([0, 2, 2])
  const log = makeLog('silent')
  for (const folder of [dataDir, named]) {
    const cache = Cache.open({ dir: join(folder, 'cache'), log })
    cache.keep('nonce', 'a', 'kept', 60_000)
    expect(cache.take('nonce', 'a')?.value).toBe('kept')
    await cache.close()
    expect(readdirSync(folder).includes('cache')).toBe(folder === named)
  }
  await remove()
  expect(isPassing(dataDir)).toBe(false)
  for (const folder of [beside, named]) rmSync(folder, { recursive: true })
})
