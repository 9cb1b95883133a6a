// kill -9 at random moments of storing and dropping: what was said to be on disk is there, byte for byte.

import { spawn } from 'node:child_process'
import { randomInt } from 'node:crypto'
import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { makeLog } from '#lib/log.ts'
import { makeMetrics } from '#lib/metrics.ts'
import { Bodies } from '#store/bodies/bodies.ts'
import { partSuspect, reapFiles } from '#store/bodies/writes.ts'
import { openForWriting, statements } from '#store/engine/sqlite/handle.ts'
import { openReader } from '#store/engine/sqlite/reader.ts'
import { localPlace } from '#store/folder/place.ts'
import { checkParts } from '#store/upkeep/check.ts'
import { Writer } from '#store/writer/writer.ts'
import { messageOf } from './blobs-victim.ts'

const victim = fileURLToPath(new URL('./blobs-victim.ts', import.meta.url))

/** Lets the victim work for some time, kills it, and returns what it said. */
function killed(dir: string, first: number, ms: number): Promise<string[]> {
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, [victim, dir, `${first}`], { stdio: ['ignore', 'pipe', 'pipe'] })
    let said = ''
    let complaint = ''
    child.stdout.on('data', data => {
      if (said === '') setTimeout(() => child.kill('SIGKILL'), ms)
      said += data
    })
    child.stderr.on('data', data => {
      complaint += data
    })
    child.on('close', (_code, signal) => {
      if (signal !== 'SIGKILL') return reject(new Error(complaint))
      resolve(said.split('\n').slice(0, -1))
    })
  })
}

/** What the next start does about rubbish, at once. */
async function tidyUp(dir: string): Promise<void> {
  const file = join(dir, 'teal.db')
  const writer = await Writer.open({ file, log: makeLog('silent'), metrics: makeMetrics('test') })
  await writer.close()
  const handle = openForWriting(file)
  const read = openReader(file)
  const sql = statements(handle)
  await new Bodies(localPlace(dir), read).sweep(async row => {
    const effects = { beforeCommit: () => {}, afterCommit: (task: () => void) => task(), onRollback: () => {} }
    partSuspect.run(sql, row, effects)
  })
  reapFiles(sql, 0)
  read.close()
  handle.close()
}

test('nothing acknowledged is lost, nothing dropped stays, no file is left over', async () => {
  const dir = mkdtempSync(join(tmpdir(), 'teal-crash-'))
  const stored = new Set<number>()
  const unsure = new Set<number>()
  let first = 1
  let seen = 0
  for (let round = 0; round < 6; round++) {
    const said = await killed(dir, first, randomInt(20, 400))
    for (const line of said) {
      const num = Number(line.slice(1))
      if (line.startsWith('~')) unsure.add(num)
      else unsure.delete(num)
      if (line.startsWith('+')) stored.add(num)
      if (line.startsWith('-')) stored.delete(num)
      first = Math.max(first, num + 1)
    }
    seen += said.length
    await tidyUp(dir)
    const read = openReader(join(dir, 'teal.db'))
    const bodies = new Bodies(localPlace(dir), read)
    const there = (await read.all<{ num: number }>('SELECT num FROM body')).map(({ num }) => num)
    expect([...stored].filter(num => !unsure.has(num) && !there.includes(num))).toEqual([])
    expect(there.filter(num => !stored.has(num) && !unsure.has(num))).toEqual([])
    for (const num of there)
      expect((await (await bodies.open(num)).read()).equals(messageOf(num)), `message ${num}`).toBe(true)
    expect(await bodies.verify({ hashes: true, strays: true })).toEqual([])
    for (const { query } of checkParts.flatMap(part => part.rules ?? [])) expect(await read.all(query)).toEqual([])
    expect(readdirSync(join(dir, 'tmp'))).toEqual([])
    read.close()
    for (const num of [...stored, ...unsure]) {
      if (there.includes(num)) stored.add(num)
      else stored.delete(num)
    }
    unsure.clear()
  }
  expect(seen).toBeGreaterThan(20)
  rmSync(dir, { recursive: true, force: true })
})
