// What rows leave behind in the full-text index of SQLite: a few that go have nothing written anew, many give their room back.
//
// Pages are looked at in the table that the engine keeps them in, which has them under new numbers when it writes them again.

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { addText, removeText, settleText } from '#store/engine/full-text.ts'
import { migrate } from '#store/engine/schema.ts'
import { openForWriting, statements } from '#store/engine/sqlite/handle.ts'

const root = mkdtempSync(join(tmpdir(), 'teal-text-'))
afterAll(() => rmSync(root, { recursive: true, force: true }))

test('a third of an account that goes has no page written anew, and all of it leaves none', () => {
  const handle = openForWriting(join(root, 'teal.db'))
  migrate(handle, true)
  settleText(handle)
  const sql = statements(handle)
  const pages = () =>
    sql('SELECT id FROM search_data WHERE length(block) > 1000')
      .all()
      .map(row => (row as { id: number }).id)
  const unit = handle.transaction((work: (body: number) => void, from: number, to: number) => {
    for (let body = from; body < to; body++) work(body)
  })
  unit(
    body => addText(sql, 1, body, `message ${body} ${(body * 7919).toString(36)} ${'lorem ipsum'.repeat(body % 50)}`),
    0,
    3000,
  )
  const before = pages()
  expect(before.length).toBeGreaterThan(20)
  for (let from = 0; from < 1000; from += 250) unit(body => removeText(sql, 1, body), from, from + 250)
  expect(pages()).toEqual(expect.arrayContaining(before))
  for (let from = 1000; from < 3000; from += 250) unit(body => removeText(sql, 1, body), from, from + 250)
  expect(pages()).toEqual([])
  handle.close()
})
