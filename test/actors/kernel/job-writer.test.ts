// What jobs write with: queues, and nothing an actor keeps a state of.

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { loadConfig } from '#config'
import { type Core, openCore } from '#core'
import { makeLog } from '#lib/log.ts'
import { taskInsert } from '#store/accounts/task.ts'
import { usageAdd } from '#store/accounts/users.ts'
import { metaPut } from '#store/engine/meta.ts'
import { operation } from '#store/engine/write.ts'
import { checkStore } from '#store/upkeep/check.ts'

let dir: string
let core: Core

beforeEach(async () => {
  dir = mkdtempSync(join(tmpdir(), 'teal-job-writer-'))
  core = await openCore(loadConfig({ flags: { dataDir: dir, hostname: 'localhost' } }), makeLog('silent'))
})

afterEach(async () => {
  expect(await checkStore(core.read)).toEqual([])
  await core.close()
  rmSync(dir, { recursive: true, force: true })
})

test('rows of a queue are written, and nothing of a unit that names another table is', async () => {
  const task = (id: string) => operation(taskInsert, { id, kind: 'none', user: null, due: 1, input: {}, created: 1 })
  const tasks = async () => (await core.read.all<{ id: string }>('SELECT id FROM task')).map(({ id }) => id)
  await core.jobWriter.submit({ operations: [task('a')], bytes: 100 })
  expect(await tasks()).toEqual(['a'])
  const usage = operation(usageAdd, { user: 1, storage: 5, modseq: 1 })
  expect(() => core.jobWriter.submit({ operations: [task('b'), usage], bytes: 100 })).toThrow('not for a job to write')
  expect(() => core.jobWriter.write(metaPut, { key: 'a', value: 1 })).toThrow('meta.put is not for a job to write')
  expect(await tasks()).toEqual(['a'])
})
