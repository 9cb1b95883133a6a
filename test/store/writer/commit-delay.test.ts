import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import { openReader } from '#store/engine/sqlite/reader.ts'
import { databaseFile } from '#store/folder/place.ts'
import { checkStore } from '#store/upkeep/check.ts'
import { CommitDelay } from '#store/writer/commit-delay.ts'
import { startChild } from '../../child.ts'
import { deliver, openLmtp } from '../../dialogue.ts'

const dir = mkdtempSync(join(tmpdir(), 'teal-company-'))
afterAll(() => rmSync(dir, { recursive: true, force: true }))

const here = (units: number, bytes = units * 1000) => ({ units, bytes, other: false })

/** What the writer would do after commits of `ms` each with `units`, while `waiting` had come at the end of the last. */
function experienced(
  units: number,
  waiting: number,
  ms: number,
  { commits = 4, bytes = units * 1000 } = {},
): CommitDelay {
  const commitDelay = new CommitDelay()
  for (let n = 0; n < commits; n++) commitDelay.committed(batch(units, bytes), ms, 0, () => here(waiting))
  return commitDelay
}

const batch = (count: number, bytes = count * 1000) => ({ upTo: 0, units: Array(count).fill(null), bytes })

describe('who is waited for', () => {
  test.each<[string, CommitDelay, ReturnType<typeof here>, number]>([
    ['nobody, where syncs are quick', experienced(8, 8, 1), here(8), 0],
    ['those who were answered, a sync at most', experienced(8, 8, 10), here(8), 10],
    ['nobody more when all are back', experienced(8, 8, 10), here(16), 0],
    ['nobody, by somebody alone', experienced(1, 0, 10), here(1), 0],
    ['nobody, where much was written', experienced(8, 8, 10, { bytes: 1e6 }), here(8), 0],
    ['nobody, where much has come', experienced(8, 8, 10), here(8, 1e6), 0],
    ['nobody, when something else has come', experienced(8, 8, 10), { ...here(8), other: true }, 0],
    ['nobody, as long as little is known of the disk', experienced(8, 8, 10, { commits: 3 }), here(8), 0],
  ])('%s', (_, commitDelay, arrivals, ms) => {
    expect(commitDelay.wait(0, () => arrivals)).toBe(ms)
  })

  test('a quick sync among slow ones is no slow disk', () => {
    const commitDelay = experienced(8, 8, 10, { commits: 3 })
    for (const ms of [1, 10, 10, 10]) commitDelay.committed(batch(8), ms, 0, () => here(8))
    expect(commitDelay.wait(0, () => here(8))).toBe(0)
  })

  test('a sync that took much longer than the one before is not worth as long a wait', () => {
    const commitDelay = experienced(8, 8, 10)
    commitDelay.committed(batch(8), 1000, 0, () => here(8))
    expect(commitDelay.wait(0, () => here(8))).toBe(10)
  })

  test('who did not come back is not waited for again for a while', () => {
    const commitDelay = experienced(8, 8, 10)
    expect(commitDelay.wait(4, () => here(9))).toBe(6)
    expect(commitDelay.wait(10, () => here(9))).toBe(0)
    let commits = 0
    do {
      commitDelay.committed(batch(8), 10, 100, () => here(8))
      commits += 1
    } while (commitDelay.wait(100, () => here(8)) === 0)
    expect(commits).toBe(17)
  })

  test('a wait that brought most of them is worth the next', () => {
    const commitDelay = experienced(8, 8, 10)
    expect(commitDelay.wait(4, () => here(9))).toBe(6)
    expect(commitDelay.wait(10, () => here(13))).toBe(0)
    commitDelay.committed(batch(13), 10, 100, () => here(3))
    expect(commitDelay.wait(100, () => here(3))).toBe(10)
  })
})

test('on a slow disk those who send at once share a sync', async () => {
  const options = `--import ${new URL('../../../bench/slow.ts?by=40', import.meta.url)}`
  const service = await startChild(dir, { NODE_OPTIONS: options })
  const headers = { 'x-access-token': service.token, 'content-type': 'application/json' }
  const user = { username: 'u', password: 'a long secret', address: 'u@example.com' }
  const made = await fetch(`${service.url}/users`, { method: 'POST', headers, body: JSON.stringify(user) })
  expect(made.status).toBe(200)
  const figures = async () => {
    const text = await (await fetch(`${service.url}/metrics`, { headers })).text()
    const figure = (name: string) => Number(new RegExp(`^\\w+_writer_${name} (\\S+)`, 'm').exec(text)?.[1])
    const [units, commits] = [figure('batch_units_sum'), figure('batch_units_count')]
    return { units, commits }
  }
  const before = await figures()
  const lmtp = service.listeners.lmtp as { host: string; port: number }
  const send = async () => {
    const session = await openLmtp(lmtp)
    for (let n = 0; n < 10; n++) {
      const [reply] = await deliver(
        session,
        'sender@example.net',
        [user.address],
        Buffer.from('Subject: hello\r\n\r\nyou\r\n'),
      )
      expect(reply).toMatch(/^250 /)
    }
  }
  await Promise.all([send(), send(), send(), send()])
  const { units, commits } = await figures()
  // That they share syncs at all; how many share one is measured by the bench (delivery, on a slow disk).
  expect(commits - before.commits).toBeLessThan(units - before.units)
  expect(await service.end('SIGTERM')).toBe(0)
  const read = openReader(databaseFile(dir))
  expect(await checkStore(read)).toEqual([])
  expect((await read.one<{ n: number }>('SELECT count(*) AS n FROM message'))?.n).toBe(40)
  read.close()
})
