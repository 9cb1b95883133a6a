// Pictures of a database that are taken at once: each sees what was committed when it began, and their handles are kept for the
// next ones as long as so many are wanted.

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { limits } from '#lib/limits.ts'
import { type Handle, openForWriting } from '#store/engine/sqlite/handle.ts'
import { openReader } from '#store/engine/sqlite/reader.ts'

/** How often the library has the file open, and had: descriptors say less, the engine keeps those of closed handles. */
const counted = { open: 0, ever: 0 }
let folder: string
let file: string
let handle: Handle

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'teal-reader-'))
  file = join(folder, 'database')
  handle = openForWriting(file)
  handle.exec('CREATE TABLE thing (id INTEGER PRIMARY KEY)')
  const { pragma, close } = Database.prototype
  vi.spyOn(Database.prototype, 'pragma').mockImplementation(function (this: Handle, ...given) {
    // Every handle that reads begins with it.
    if (given[0] === 'query_only = ON') {
      counted.open += 1
      counted.ever += 1
    }
    return pragma.apply(this, given)
  })
  vi.spyOn(Database.prototype, 'close').mockImplementation(function (this: Handle) {
    counted.open -= 1
    return close.call(this)
  })
  vi.useFakeTimers()
})

afterEach(() => {
  vi.useRealTimers()
  vi.restoreAllMocks()
  handle.close()
  rmSync(folder, { recursive: true })
})

test('as many handles as are wanted at once are kept, a while longer than that, and few beyond it', async () => {
  const own = counted.open
  const read = openReader(file)
  const atOnce = (count: number) =>
    Promise.all(
      Array.from({ length: count }, () =>
        read.snapshot(async picture => {
          const before = await picture.one<{ count: number }>('SELECT count(*) AS count FROM thing')
          handle.prepare('INSERT INTO thing DEFAULT VALUES').run()
          const after = await picture.one<{ count: number }>('SELECT count(*) AS count FROM thing')
          return [before, after]
        }),
      ),
    )
  for (const [before, after] of await atOnce(12)) expect(after).toEqual(before)
  expect(counted.open).toBe(own + 13)
  const { ever } = counted
  for (let round = 0; round < 5; round++) {
    vi.advanceTimersByTime(limits.reader.pictureMs)
    await atOnce(12)
    expect(counted).toEqual({ open: own + 13, ever })
  }
  await atOnce(limits.reader.picturesMax + 5)
  expect(counted.open).toBe(own + 1 + limits.reader.picturesMax)
  vi.advanceTimersByTime(3 * limits.reader.pictureMs)
  expect(counted.open).toBe(own + 3)
  await atOnce(12)
  read.close()
  expect(counted.open).toBe(own)
})
