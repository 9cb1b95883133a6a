// Whose a data directory is: nobody serves the directory of another user of the operating system, a command says how to go
// about it, and what is made is for its owner alone, whatever the umask and whatever folder was there.
//
// Root is asked to be nobody for one half; any other user tries what is root's, and cannot make a folder of another's.

import { spawnSync } from 'node:child_process'
import {
  chmodSync,
  chownSync,
  cpSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { childEnvironment, startChild } from '../child.ts'
import { deliver, openLmtp } from '../dialogue.ts'

const root = mkdtempSync(join(tmpdir(), 'teal-owner-'))
const nobody = 65_534
const isRoot = process.getuid?.() === 0
chmodSync(root, 0o755)
afterAll(() => rmSync(root, { recursive: true, force: true }))

function teal(words: readonly string[], dataDir: string, user?: number): { code: number | null; err: string } {
  const as = user === undefined ? {} : { uid: user, gid: user }
  const env = childEnvironment(dataDir)
  const { status, stderr, error } = spawnSync(process.execPath, ['dist/main.js', ...words], {
    ...{ ...as, env, encoding: 'utf8' },
  })
  if (error !== undefined) throw error
  return { code: status, err: stderr }
}

const oneSentence = /^teal: [^\n]+\n$/

/** What a service made, and copies of it. */
const made = join(root, 'made')
function folder(name: string): string {
  const dir = join(root, name)
  cpSync(made, dir, { recursive: true })
  return dir
}

beforeAll(async () => {
  const service = await startChild(made)
  await service.end('SIGTERM')
})

function everything(dir: string): string[] {
  const names = readdirSync(dir, { recursive: true, encoding: 'utf8' })
  return ['', ...names].map(name => join(dir, name))
}

const elsewhere = isRoot ? 'a service as nobody on the folder of root' : 'a service of a user on a folder of root'
test(`${elsewhere} is refused in one sentence, and leaves nothing`, () => {
  const dir = isRoot ? folder('of-root') : '/usr'
  const before = readdirSync(dir)
  const { code, err } = teal(['serve'], dir, isRoot ? nobody : undefined)
  expect([code, err]).toEqual([1, expect.stringMatching(oneSentence)])
  expect(err).toMatch(/belongs to root and this runs as \S+/)
  expect(readdirSync(dir)).toEqual(before)
})

if (isRoot) {
  const given = (words: readonly string[]) => {
    const dir = folder(`of-nobody-${words.join('')}`)
    for (const path of everything(dir)) chownSync(path, nobody, nobody)
    return dir
  }
  const isNobodys = (dir: string) => {
    for (const path of everything(dir)) expect([path, lstatSync(path).uid]).toEqual([path, nobody])
    expect(teal(['user', 'add', 'bert', '--generate'], dir, nobody)).toMatchObject({ code: 0 })
  }

  test.each(['user add anna --generate --create', 'serve'])(
    '%s by root in the folder of nobody is refused with the command to use, and leaves nothing',
    line => {
      const words = line.split(' ')
      const dir = given(words)
      const { code, err } = teal(words, dir)
      expect([code, err]).toEqual([1, expect.stringMatching(oneSentence)])
      expect(err).toMatch(/belongs to nobody and this runs as root: .*runuser -u nobody -- teal/)
      isNobodys(dir)
    },
  )

  test.each(['token create --role root', 'verify', 'verify --repair'])(
    '%s by root in the folder of nobody works, and leaves nothing of root',
    line => {
      const words = line.split(' ')
      const dir = given(words)
      expect(teal(words, dir)).toEqual({ code: 0, err: '' })
      isNobodys(dir)
    },
  )
} else {
  test('the half that needs root, a command of root in the folder of another, is not for this user', () => {
    expect(() => chownSync(root, nobody - 1, nobody - 1)).toThrow(/EPERM/)
  })
}

test('what is made under umask 022 in a folder that was there, open to all, is for its owner alone', async () => {
  const dir = join(root, 'open')
  mkdirSync(dir, { mode: 0o755 })
  const blobs = join(dir, 'blobs')
  mkdirSync(blobs, { mode: 0o755 })
  writeFileSync(join(dir, '.gitkeep'), '')
  const before = process.umask(0o022)
  try {
    const service = await startChild(dir)
    const response = await fetch(`${service.url}/users`, {
      method: 'POST',
      headers: { 'x-access-token': service.token, 'content-type': 'application/json' },
      body: JSON.stringify({ username: 'anna', password: 'a long secret', address: 'anna@example.com' }),
    })
    expect(response.status).toBe(200)
    const lmtp = await openLmtp(service.listeners.lmtp as { host: string; port: number })
    const large = Buffer.alloc(3_000_000, 'A line of text.\r\n')
    const message = Buffer.concat([Buffer.from('Subject: large\r\n\r\n'), large])
    expect(await deliver(lmtp, 'bea@example.net', ['anna@example.com'], message)).toEqual([
      expect.stringMatching(/^250 /),
    ])
    lmtp.close()
    for (const path of everything(dir)) {
      const found = lstatSync(path)
      const mode = (found.mode & 0o777).toString(8)
      expect([path, mode]).toEqual([path, found.isDirectory() ? '700' : '600'])
    }
    expect(await service.end('SIGTERM')).toBe(0)
  } finally {
    process.umask(before)
  }
})

test('anybody may pass through the folders that are made above a new data directory, and not enter it', async () => {
  const above = join(root, 'above')
  const dir = join(above, 'between', 'data')
  const before = process.umask(0o022)
  try {
    const service = await startChild(dir)
    const modes = [above, join(above, 'between'), dir].map(path => (lstatSync(path).mode & 0o777).toString(8))
    expect(modes).toEqual(['755', '755', '700'])
    expect(await service.end('SIGTERM')).toBe(0)
  } finally {
    process.umask(before)
  }
})
