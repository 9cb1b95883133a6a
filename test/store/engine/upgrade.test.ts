// Databases of every schema there has been, brought up to this one.
//
// A database of an earlier schema is made by running the first migrations alone; what they make never changes once it was
// released, which the hashes in schema.json say. A new migration adds its hash there.

import { createHash } from 'node:crypto'
import { globSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join, resolve } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import { migrate, migrations } from '#store/engine/schema.ts'
import { type Handle, openForWriting } from '#store/engine/sqlite/handle.ts'
import { openReader } from '#store/engine/sqlite/reader.ts'
import { checkStore } from '#store/upkeep/check.ts'
import '#store/mailboxes/archive.ts'
import '#store/mailboxes/audits.ts'
import '#store/bodies/check.ts'
import '#store/accounts/task.ts'
import '#store/accounts/transfer.ts'

const root = mkdtempSync(join(tmpdir(), 'teal-upgrade-'))
const fixture = new URL('schema.json', import.meta.url)

afterAll(() => rmSync(root, { recursive: true, force: true }))

/** What a schema looks like, without the texts' spaces. */
function shapeOf(handle: Handle): string[] {
  const rows = handle.prepare("SELECT type, name, sql FROM sqlite_schema WHERE name NOT LIKE 'sqlite_%'").all() as {
    type: string
    name: string
    sql: string | null
  }[]
  return rows.map(({ type, name, sql }) => `${type} ${name} ${(sql ?? '').replace(/\s+/g, ' ')}`).sort()
}

/** A database with the first `count` migrations and a little in it. */
function older(count: number, name = `${count}`): string {
  const file = join(root, `${name}.db`)
  const handle = openForWriting(file)
  for (const step of migrations.slice(0, count)) handle.exec(step)
  handle.pragma(`user_version = ${count}`)
  if (count > 0) {
    handle.exec(`INSERT INTO user VALUES (1, '507f1f77bcf86cd799439011', 'old', 'old', 'Old', 'old@example.com', 'x', NULL,
      1, 0, 0, 1, 0, '[]', '{}', 1, NULL)`)
    handle.exec('INSERT INTO usage VALUES (1, 0, 1)')
    handle.exec(`INSERT INTO address (id, key, address, domain, user, name, tags, meta, internal, forward, created)
      VALUES ('507f1f77bcf86cd799439012', 'old@example.com', 'old@example.com',
      'example.com', '507f1f77bcf86cd799439011', '', '[]', NULL, NULL, NULL, 1)`)
    handle.exec(`INSERT INTO mailbox (num, id, user, path, uid_validity, subscribed, hidden, encrypt, retention, keywords,
      modseq, created, created_modseq, path_modseq)
      VALUES (1, '507f1f77bcf86cd799439013', 1, 'INBOX', 1, 1, 0, 0, 0, '[]', 1, 1, 1, 1)`)
    handle.exec('INSERT INTO tally (mailbox, uid_next, modseq, total, unseen, size) VALUES (1, 1, 1, 0, 0, 0)')
  }
  handle.close()
  return file
}

describe('a database', () => {
  const fresh = openForWriting(join(root, 'fresh.db'))
  migrate(fresh)
  const wanted = shapeOf(fresh)
  fresh.close()

  test.each(migrations.map((_, count) => count))('of schema %i becomes one of this', async count => {
    const file = older(count)
    const handle = openForWriting(file)
    migrate(handle)
    expect(handle.pragma('user_version', { simple: true })).toBe(migrations.length)
    expect(shapeOf(handle)).toEqual(wanted)
    migrate(handle)
    handle.close()
    const read = openReader(file)
    expect(await checkStore(read)).toEqual([])
    const users = count > 0 ? [{ username: 'old' }] : []
    expect(await read.all('SELECT username FROM user')).toEqual(users)
    read.close()
  })

  test('goes through the steps in the order of their files', async () => {
    const files = globSync('src/store/engine/migrations/*.ts').sort()
    const texts = await Promise.all(files.map(async file => Object.values((await import(resolve(file))) as object)))
    expect(texts).toEqual(migrations.map(text => [text]))
    expect(files.map(file => Number(basename(file).slice(0, 3)))).toEqual(migrations.map((_, at) => at + 1))
  })

  test('that was indexed by other rules has what changed indexed again, and nothing else', () => {
    const before = migrations.findIndex(step => step.includes('are indexed again'))
    const file = older(before, 'indexed')
    const handle = openForWriting(file)
    const structures = [
      '("TEXT" "PLAIN" NIL NIL NIL "7BIT" 1 1)',
      '(("MESSAGE" "RFC822" NIL NIL NIL "7BIT" 1) "MIXED")',
      '("TEXT" "HTML" NIL NIL NIL "7BIT" 1 1)',
      '("TEXT" "PLAIN" NIL NIL NIL "7BIT" 300000 1)',
    ]
    for (const [at, structure] of structures.entries()) {
      const body = at + 1
      const size = structure.includes('300000') ? 300_000 : 1
      handle.prepare("INSERT INTO body VALUES (?, 1, ?, 0, NULL, x'')").run(body, size)
      handle.prepare("INSERT INTO outline VALUES (?, '', ?, '{}', '{}')").run(body, structure)
      handle.prepare('INSERT INTO search_doc VALUES (?, 1, 1)').run(body)
      for (const table of ['search', 'search_word']) {
        handle.prepare(`INSERT INTO ${table} (rowid, text) VALUES ((1 << 32) | ?, 'abc')`).run(body)
      }
    }
    migrate(handle)
    const docs = handle.prepare('SELECT body, indexed FROM search_doc ORDER BY body').all()
    expect(docs).toEqual([
      { body: 1, indexed: 1 },
      { body: 2, indexed: 0 },
      { body: 3, indexed: 0 },
      { body: 4, indexed: 0 },
    ])
    for (const table of ['search', 'search_word']) {
      const rows = handle.prepare(`SELECT rowid & 4294967295 AS body FROM ${table} WHERE ${table} MATCH 'abc'`).all()
      expect(rows).toEqual([{ body: 1 }])
    }
    handle.close()
  })

  test('in which a search waited to be applied has it as a tree of today', () => {
    const before = migrations.findIndex(step => step.includes('as trees of'))
    const file = older(before, 'waiting')
    const handle = openForWriting(file)
    const query = {
      op: 'and',
      of: [
        { op: 'word', needle: '{"op":"seen"}' },
        { op: 'to', needle: 'ann' },
        { op: 'not', of: { op: 'phrase', needle: 'a "b"' } },
        { op: 'unseen' },
        { op: 'flagged' },
        { op: 'date', from: 1, to: 2 },
      ],
    }
    const input = JSON.stringify({ query, action: { seen: true } })
    handle.prepare("INSERT INTO task VALUES ('t', 'search.apply', 'u', 'queued', 1, 0, ?, '{}', 1, 1)").run(input)
    migrate(handle)
    const { input: after } = handle.prepare('SELECT input FROM task').get() as { input: string }
    expect(JSON.parse(after)).toEqual({
      query: {
        op: 'and',
        of: [
          { op: 'words', in: 'anywhere', needle: '{"op":"seen"}' },
          { op: 'words', in: 'recipients', needle: 'ann' },
          { op: 'not', of: { op: 'words', in: 'said', needle: 'a "b"' } },
          { op: 'not', of: { op: 'flag', bit: 1 } },
          { op: 'flag', bit: 4 },
          { op: 'date', from: 1, to: 2 },
        ],
      },
      action: { seen: true },
    })
    handle.close()
  })

  test('whose models of spam are of another form learns all of it again, and nothing twice', () => {
    const before = migrations.findIndex(step => step.includes('DELETE FROM spam_model'))
    const file = older(before, 'spam')
    const handle = openForWriting(file)
    handle.exec(`INSERT INTO spam_mark VALUES (1, 1, 1, 1, 0, 7, 1, x'01'), (1, 2, 0, NULL, 1, 8, 2, NULL)`)
    handle.exec(`INSERT INTO spam_model VALUES (0, 1, 1, 1, 0, x'00'), (1, 1, 1, 1, 0, x'00')`)
    migrate(handle)
    expect(handle.prepare('SELECT reference, spam, counted, waits, features FROM spam_mark').all()).toEqual([
      { reference: 1, spam: 1, counted: null, waits: 1, features: null },
      { reference: 2, spam: 0, counted: null, waits: 1, features: null },
    ])
    expect(handle.prepare('SELECT count(*) AS n FROM spam_model').get()).toEqual({ n: 0 })
    handle.close()
  })

  test('of a later program is refused and left as it is', () => {
    const file = join(root, 'later.db')
    const handle = openForWriting(file)
    migrate(handle)
    handle.pragma(`user_version = ${migrations.length + 1}`)
    expect(() => migrate(handle)).toThrow(expect.objectContaining({ code: 'DatabaseTooNew' }))
    expect(handle.pragma('user_version', { simple: true })).toBe(migrations.length + 1)
    handle.close()
  })

  test('whose migration breaks off stays of the schema before it', () => {
    const handle = openForWriting(join(root, 'broken.db'))
    handle.exec(migrations[0] ?? '')
    handle.pragma('user_version = 1')
    handle.exec('CREATE TABLE endpoint (in_the_way)')
    expect(() => migrate(handle)).toThrow()
    expect(handle.pragma('user_version', { simple: true })).toBe(1)
    handle.close()
  })
})

test('what was released never changes', () => {
  // Empty until the first release; from then on one hash for each migration of it, in order.
  const { released } = JSON.parse(readFileSync(fixture, 'utf8')) as { released: string[] }
  const hashes = migrations.map(text => createHash('sha256').update(text).digest('hex'))
  expect(hashes.slice(0, released.length)).toEqual(released)
})
