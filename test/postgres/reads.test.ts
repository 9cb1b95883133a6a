// A folder that a service has filled is moved to PostgreSQL: rows, every text that was asked meanwhile, the long reads of the
// pool and the checker have the same answers there.

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest'
import { Pace } from '#lib/pace.ts'
import { parseQuery } from '#mail/query/language.ts'
import { startTeal, type Teal } from '#service'
import { pageAddresses } from '#store/accounts/address.ts'
import { pageUsers } from '#store/accounts/users.ts'
import { BodyFiles } from '#store/bodies/files.ts'
import { inRow } from '#store/bodies/lying.ts'
import { readBody } from '#store/bodies/read.ts'
import { pageDomains } from '#store/domains/domain-list.ts'
import { fillPostgres } from '#store/engine/postgres/filling.ts'
import { textColumns, textInsertion } from '#store/engine/postgres/full-text.ts'
import { openPostgresReader } from '#store/engine/postgres/reader.ts'
import { type Client, connect } from '#store/engine/postgres/session.ts'
import type { Reader } from '#store/engine/reader.ts'
import { openReader } from '#store/engine/sqlite/reader.ts'
import { databaseFile } from '#store/folder/place.ts'
import { sortMessages, threadMessages } from '#store/search/arrange.ts'
import { SearchCache } from '#store/search/cache.ts'
import { searchAll } from '#store/search/search.ts'
import { indexTexts, type SearchScope } from '#store/search/texts.ts'
import { type Change, differences, moveRows } from '#store/upkeep/move.ts'
import { accessTo } from '../running.ts'
import { type Asked, noting, rowsFor } from './asked.ts'
import { makeDatabase } from './cluster.ts'
import { fill } from './filled.ts'

const dataDir = mkdtempSync(join(tmpdir(), 'teal-moved-'))
/** Large parts are files there, and rows here. */
const laid: Change = (table, row) => (table === 'part' ? inRow(row, new BodyFiles(dataDir)) : row)
let asked: readonly Asked[]
let lite: Reader
let other: Reader
let client: Client

beforeAll(async () => {
  const teal: Teal = await startTeal({ dataDir }, { strict: true })
  const noted = noting(teal.core.read)
  await fill(accessTo(() => teal))
  expect(await teal.check()).toEqual([])
  await teal.close()
  asked = noted.asked
  lite = openReader(databaseFile(dataDir))
  const url = await makeDatabase(inject('postgres'))
  client = await connect({ url })
  other = openPostgresReader({ url })
  const filling = await fillPostgres({ url })
  await moveRows(lite, filling, laid)
  await filling.finish()
  await filling.close()
  await index()
})

afterAll(async () => {
  lite.close()
  other.close()
  await client.end()
  rmSync(dataDir, { recursive: true, force: true })
})

/** Everything of both engines, to be looked into. */
function scopes(): [SearchScope, SearchScope] {
  const files = new BodyFiles(dataDir)
  return [lite, other].map(read => ({ read, open: (body: number) => readBody(read, files, body) })) as unknown as [
    SearchScope,
    SearchScope,
  ]
}

/** What a writer does when it has time. */
async function index(): Promise<void> {
  const docs = await lite.all<{ user: number; body: number; indexed: number }>(
    'SELECT "user", body, indexed FROM search_doc',
  )
  const [scope] = scopes()
  for (const { user, body, indexed } of docs) {
    const [found] = await indexTexts(scope, [body], new Pace())
    const { grams, words } = textColumns(user, found?.text ?? '')
    if (indexed > 0) await client.query(textInsertion, [user, body, grams, words])
    await client.query('UPDATE search_doc SET indexed = $1 WHERE "user" = $2 AND body = $3', [indexed, user, body])
  }
}

test('every row is there as it was', async () => {
  expect(await differences(lite, other, [laid, laid])).toEqual([])
  expect((await lite.one<{ n: number }>('SELECT count(*) AS n FROM message'))?.n).toBeGreaterThan(100)
})

test('every text that the service asked has the same answer', async () => {
  const texts = new Set(asked.map(({ text }) => text))
  expect(texts.size).toBeGreaterThan(150)
  const wrong: unknown[] = []
  for (const question of asked) {
    // What a file alone has, and what a point of time decides.
    if (/PRAGMA/.test(question.text)) continue
    const [one, two] = await Promise.allSettled([rowsFor(lite, question), rowsFor(other, question)])
    const same = one.status === 'fulfilled' && two.status === 'fulfilled' && isSame(shown(one.value), shown(two.value))
    if (!same) wrong.push({ ...question, one, two })
  }
  expect(wrong).toEqual([])
})

/** Without what a text takes where it is stored, which is each engine's own (a NUL is written out where none may be). */
function shown(rows: readonly unknown[]): unknown[] {
  const bare = (row: unknown) => ({ ...(row as object), bytes: typeof (row as { bytes?: unknown }).bytes })
  return rows.map(row => (Array.isArray(row) ? row : bare(row)))
}

function isSame(one: unknown, two: unknown): boolean {
  try {
    expect(two).toEqual(one)
    return true
  } catch {
    return false
  }
}

describe('long reads', () => {
  const both = async (task: (read: Reader, scope: SearchScope) => Promise<unknown>) => {
    const [one, two] = scopes()
    expect(await task(other, two)).toEqual(await task(lite, one))
    return await task(other, two)
  }
  const nobody = { query: '', forward: '', tags: [] as string[], requiredTags: [] as string[], only: null }

  test.each([
    ['all', {}],
    ['a part of a name', { query: 'ÄNN' }],
    ['a tag', { tags: ['Blau'] }],
    ['a needed tag', { requiredTags: ['ÖFFENTLICH'] }],
    ['a target', { forward: 'elsewhere.example' }],
    ['domains', { domains: ['example.com', 'straße.example'] }],
    ['no domain', { domains: [] }],
  ])('list accounts and addresses by %s', async (_, filter) => {
    const page = { ...nobody, ...filter }
    for (const direction of ['forward', 'back'] as const) {
      const task = { page, direction, boundary: null, count: 3 }
      await both(read => pageUsers(read, task))
      await both(read => pageAddresses(read, task))
    }
  })

  test('list domains', async () => {
    for (const query of ['', 'example', '_', '%'])
      await both(read =>
        pageDomains(read, { query, only: null, defaultQuota: 1000, direction: 'forward', boundary: null, count: 50 }),
      )
  })

  test.each(['lorem', 'ipsum dolor', 'abc', 'größe', '日本', 'attached words', 'nothing has this', "it's", 'a\\b'])(
    'search for %s',
    async text => {
      const users = await lite.all<{ num: number }>('SELECT num FROM "user"')
      for (const { num: user } of users) {
        const query = parseQuery(text)
        if (query !== null) await both((_, scope) => searchAll(scope, new SearchCache(), { user, query }, new Pace()))
      }
    },
  )

  test('sort and thread a folder', async () => {
    const [folder] = await lite.all<{ mailbox: number }>(
      'SELECT mailbox FROM message GROUP BY mailbox ORDER BY count(*) DESC LIMIT 1',
    )
    const { mailbox = 0 } = folder ?? {}
    const uids = Uint32Array.from(
      (await lite.arrays<[number]>('SELECT uid FROM message WHERE mailbox = ? ORDER BY uid', mailbox)).flat(),
    )
    for (const by of ['SUBJECT', 'FROM', 'SIZE', 'DATE'] as const) {
      await both(read => sortMessages(read, { mailbox, uids, keys: [{ by, reverse: false }] }, new Pace()))
    }
    await both(read => threadMessages(read, { mailbox, uids, algorithm: 'REFERENCES' }, new Pace()))
  })
})
