// A page and its total are of one moment, whatever is committed between the two.

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { counted } from '#store/engine/counted.ts'
import { migrate } from '#store/engine/schema.ts'
import { openForWriting } from '#store/engine/sqlite/handle.ts'
import { openReader } from '#store/engine/sqlite/reader.ts'
import { pagedCounted } from '../../../src/http/cursor.ts'

test('what expires between counting and reading is in both or in neither', async () => {
  const root = mkdtempSync(join(tmpdir(), 'teal-counted-'))
  const file = join(root, 'teal.db')
  const writer = openForWriting(file)
  migrate(writer)
  const read = openReader(file)
  onTestFinished(() => {
    read.close()
    writer.close()
    rmSync(root, { recursive: true, force: true })
  })
  const add = writer.prepare('INSERT INTO archive_tally ("user", total) VALUES (?, 1)')
  for (const user of [1, 2, 3]) add.run(user)

  const list = () => read.all<{ user: number }>('SELECT "user" FROM archive_tally ORDER BY "user"')
  const page = () =>
    pagedCounted(
      { limit: 10 },
      {
        key: ['number'],
        boundary: (row: { user: number }) => [row.user],
        fetch: () =>
          counted(
            read,
            async () => {
              const total = (await list()).length
              writer.exec('DELETE FROM archive_tally WHERE "user" = (SELECT min("user") FROM archive_tally)')
              return total
            },
            async () => await list(),
          ),
      },
    )
  expect(await page()).toMatchObject({ total: 3, rows: [{ user: 1 }, { user: 2 }, { user: 3 }] })
  expect(await page()).toMatchObject({ total: 2, rows: [{ user: 2 }, { user: 3 }], nextCursor: false })
})
