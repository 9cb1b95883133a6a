// `teal verify --repair` mends what follows from something else, and names what it cannot.

import { randomBytes } from 'node:crypto'
import { cpSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { startTeal } from '#service'
import { openForWriting } from '#store/engine/sqlite/handle.ts'
import { databaseFile } from '#store/folder/place.ts'
import { childEnvironment, runTeal } from '../../child.ts'
import { accessTo } from '../../running.ts'
import { useWholeFolder } from '../../whole-folder.ts'

const noise = randomBytes(700_000).toString('base64').replace(/.{76}/g, '$&\r\n')
const { root, whole } = useWholeFolder(
  'repair',
  ['one', 'two', noise].map(text => `Subject: s\r\n\r\n${text}\r\n`),
)
let number = 0

/** A copy of the directory, its database changed by these statements. */
function copy(text = ''): string {
  const dir = join(root, `copy${++number}`)
  cpSync(whole, dir, { recursive: true })
  const handle = openForWriting(databaseFile(dir))
  // The engine would not let itself be damaged.
  handle.unsafeMode(true)
  handle.exec(text)
  handle.close()
  return dir
}

/** A copy of which the first page of a table or an index is destroyed. */
function damagedAt(name: string): string {
  const dir = copy()
  const handle = openForWriting(databaseFile(dir))
  const root = handle.prepare('SELECT rootpage FROM sqlite_schema WHERE name = ?').pluck().get(name) as number
  handle.pragma('journal_mode = DELETE')
  handle.close()
  const bytes = readFileSync(databaseFile(dir))
  bytes.fill(0xff, (root - 1) * 4096, root * 4096)
  writeFileSync(databaseFile(dir), bytes)
  return dir
}

const verify = (dir: string, ...words: string[]) => runTeal(['verify', ...words], childEnvironment(dir))

describe('mends', () => {
  test.each([
    ['the counters of a folder', 'UPDATE tally SET total = 9, unseen = 7, size = 5'],
    ['a folder without counters', 'DELETE FROM tally'],
    ['numbers that were given out', 'UPDATE tally SET uid_next = 1, modseq = 0'],
    ['what an account uses', 'UPDATE usage SET storage = 1'],
    ['an account without change numbers', 'DELETE FROM usage'],
    ['references to bodies and parts', 'UPDATE body SET refs = 9; UPDATE part SET refs = 0'],
    ['an index for searching that has lost rows', 'DELETE FROM search; DELETE FROM search_word'],
    ['bodies nobody has marked to be indexed', 'DELETE FROM search_doc'],
    [
      'rows whose owner is gone',
      `INSERT INTO imported VALUES (999, 'mbox', 'k'); INSERT INTO login VALUES (999, 1);
       INSERT INTO outline SELECT 999, envelope, bodystructure, summary, detail FROM outline LIMIT 1`,
    ],
  ])('%s', async (_, damage) => {
    const dir = copy(damage)
    const before = await verify(dir)
    expect([before.code, before.err]).toEqual([1, expect.stringContaining('--repair')])
    const mended = await verify(dir, '--repair', '--json')
    const { repaired, ...told } = JSON.parse(mended.out)
    expect(told).toEqual({ ok: true, problems: [] })
    expect(repaired.length).toBeGreaterThan(0)
    expect(mended.code).toBe(0)
    expect(await verify(dir)).toMatchObject({ code: 0, out: 'All is well.\n' })
    const teal = await startTeal({ dataDir: dir, threads: 0 })
    await accessTo(() => teal).indexed()
    expect(await teal.check()).toEqual([])
    await teal.close()
  })

  test('an index of the database of which a page is damaged', async () => {
    const dir = damagedAt('message_idate')
    const found = await verify(dir)
    expect([found.code, found.out], found.err).toEqual([1, expect.stringMatching(/sound|malformed/)])
    const { code, out } = await verify(dir, '--repair')
    expect([code, out]).toEqual([0, 'Repaired: indexes of the database: made anew\nAll is well.\n'])
  })

  test('files that no row names, by moving them', async () => {
    const dir = copy()
    const name = 'ab'.repeat(36)
    mkdirSync(join(dir, 'blobs/ab'), { recursive: true })
    writeFileSync(join(dir, 'blobs/ab', name.slice(2)), 'somebody wrote this')
    const { code, out } = await verify(dir, '--repair')
    expect([code, out]).toEqual([0, expect.stringMatching(/Repaired: files .* 1, moved to .*aside/)])
    expect(readFileSync(join(dir, 'blobs/aside', name), 'utf8')).toBe('somebody wrote this')
  })
})

describe('names what it cannot mend, and leaves it', () => {
  test.each<[string, (dir: string) => void, RegExp]>([
    [
      'a file that is gone',
      dir => {
        const [folder = ''] = readdirSync(join(dir, 'blobs'))
        const other = join(dir, 'blobs', folder === '00' ? '01' : '00')
        mkdirSync(other)
        writeFileSync(join(other, 'x'), '')
        rmSync(join(dir, 'blobs', folder), { recursive: true })
      },
      /part \d+: .*missing/,
    ],
    [
      'bytes of a file',
      dir => {
        const [folder = ''] = readdirSync(join(dir, 'blobs'))
        const [name = ''] = readdirSync(join(dir, 'blobs', folder))
        const path = join(dir, 'blobs', folder, name)
        const bytes = readFileSync(path)
        bytes[1000] = (bytes[1000] ?? 0) ^ 255
        writeFileSync(path, bytes)
      },
      /part \d+: /,
    ],
  ])('%s', async (_, damage, text) => {
    const dir = copy()
    damage(dir)
    const { code, out, err } = await verify(dir, '--repair')
    expect([code, out, err]).toEqual([
      1,
      expect.stringMatching(text),
      expect.stringMatching(/^teal: .*backup[^\n]*\n$/),
    ])
  })

  test('a message without its body', async () => {
    const dir = copy('DELETE FROM body WHERE num = 1')
    const { code, out } = await verify(dir, '--repair')
    expect([code, out]).toEqual([1, expect.stringContaining('every message has a body')])
  })

  test('a page of a table', async () => {
    const dir = damagedAt('message')
    for (const words of [[], ['--repair']]) {
      const { code, err, out } = await verify(dir, ...words)
      expect([code, `${out}${err}`]).toEqual([1, expect.stringMatching(/malformed/)])
      expect(`${out}${err}`).not.toMatch(/\n\s+at /)
    }
  })
})

test('a directory that is served is not repaired', async () => {
  const dir = copy()
  const teal = await startTeal({ dataDir: dir, threads: 0 })
  const { code, err } = await verify(dir, '--repair')
  expect([code, err]).toEqual([1, 'teal: Another process is using this data directory\n'])
  await teal.close()
})
