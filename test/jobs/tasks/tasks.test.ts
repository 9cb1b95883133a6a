import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { loadConfig } from '#config'
import { type Core, openCore } from '#core'
import { type TaskHandler, Tasks } from '#jobs/tasks/tasks.ts'
import { now, shiftClock, sleep } from '#lib/clock.ts'
import { Fault } from '#lib/fault.ts'
import { newId } from '#lib/id.ts'
import { limits } from '#lib/limits.ts'
import { makeLog } from '#lib/log.ts'
import { countTasks, taskInsert, taskSettle } from '#store/accounts/task.ts'
import { operation } from '#store/engine/write.ts'
import { checkStore } from '#store/upkeep/check.ts'

let core: Core
let dataDir: string
let tasks: Tasks

function makeTasks(handlers: Record<string, TaskHandler>): Tasks {
  const { read, jobWriter: writer } = core
  const made = new Tasks({ read, writer, log: makeLog('silent') })
  for (const [kind, handler] of Object.entries(handlers)) made.handle(kind, handler)
  return made
}

/** The state of a task once it is one of these. */
async function until(id: string, ...states: string[]) {
  for (let tries = 0; tries < 400; tries++) {
    const task = await tasks.find(id)
    if (task !== undefined && states.includes(task.state)) return task
    await sleep(20)
  }
  throw new Error('the task does not get there')
}

const log: string[] = []
let failures = 0

beforeAll(async () => {
  dataDir = mkdtempSync(join(tmpdir(), 'teal-tasks-'))
  core = await openCore(loadConfig({ flags: { dataDir, hostname: 'localhost' } }), makeLog('silent'))
  tasks = makeTasks({
    'test.work': async (task, { progress }) => {
      log.push(`begin ${task.input.name}`)
      await progress({ half: true })
      await sleep(30)
      log.push(`end ${task.input.name}`)
      return { name: task.input.name }
    },
    'test.refused': () => Promise.reject(new Fault('NoSuchMailbox')),
    'test.broken': async () => {
      failures += 1
      if (failures < 3) throw new Error('not yet')
      return { failures }
    },
  })
})

afterAll(async () => {
  shiftClock(0)
  await tasks.close()
  expect(await checkStore(core.read)).toEqual([])
  await core.close()
  rmSync(dataDir, { recursive: true, force: true })
})

test('tasks of one account run one after the other and leave their result', async () => {
  const ids = []
  for (const name of ['a', 'b', 'c']) ids.push((await tasks.add({ kind: 'test.work', user: 'u1', input: { name } })).id)
  for (const id of ids) expect((await until(id, 'done')).attempts).toBe(1)
  expect(log.slice(0, 6)).toEqual(['begin a', 'end a', 'begin b', 'end b', 'begin c', 'end c'])
})

test('the same task that still waits is not added twice', async () => {
  const later = Date.now() + 3_600_000
  const task = { kind: 'test.work', user: 'u2', input: { name: 'once' }, due: later }
  const first = await tasks.add(task)
  expect(await tasks.add(task)).toEqual({ id: first.id, existing: true })
  expect(await tasks.cancel(first.id)).toBe(true)
  expect(await tasks.find(first.id)).toBeUndefined()
  expect(await tasks.cancel(first.id)).toBe(false)
})

test('a refusal that cannot pass ends a task, an error is tried again', async () => {
  const refused = await tasks.add({ kind: 'test.refused', user: null, input: {} })
  expect((await until(refused.id, 'failed')).result).toMatchObject({ code: 'NoSuchMailbox' })
  const unknown = await tasks.add({ kind: 'test.unknown', user: null, input: {} })
  expect((await until(unknown.id, 'failed')).result).toMatchObject({ code: 'TaskUnknown' })
  const broken = await tasks.add({ kind: 'test.broken', user: null, input: {} })
  for (let round = 1; round < 3; round++) {
    while (failures < round) await sleep(10)
    await sleep(50)
    shiftClock(round * limits.task.retryMs * 3)
    tasks.kick()
  }
  expect(await until(broken.id, 'done')).toMatchObject({ attempts: 3, result: { failures: 3 } })
  shiftClock(0)
})

test('what was asked for or failed while the clock was ahead waits no longer than it would have', async () => {
  const day = 24 * 3_600_000
  shiftClock(day)
  failures = 0
  const broken = await tasks.add({ kind: 'test.broken', user: null, input: { ahead: true } })
  const chosen = await tasks.add({ kind: 'test.work', user: 'u9', input: { name: 'z' }, due: now() + day })
  await expect.poll(async () => (await tasks.find(broken.id))?.result).toMatchObject({ code: 'InternalError' })
  const asked = (await tasks.find(chosen.id))?.due
  shiftClock(0)
  tasks.kick()
  await expect.poll(async () => (await tasks.find(broken.id))?.due).toBeLessThan(now() + day / 2)
  expect((await tasks.find(chosen.id))?.due).toBe(asked)
  expect(await tasks.cancel(broken.id)).toBe(true)
  expect(await tasks.cancel(chosen.id)).toBe(true)
})

test('a task may be put off, and is done when its time has come', async () => {
  const { id } = await tasks.add({ kind: 'test.work', user: 'u3', input: { name: 'd' }, due: Date.now() + 3_600_000 })
  expect(await tasks.delay(id, Date.now())).toBe(true)
  await until(id, 'done')
  expect(await tasks.delay(id, Date.now())).toBe(false)
})

test("who has many tasks waiting keeps nobody else's from their turn, and gets no more than so many", async () => {
  let go = () => {}
  const held = new Promise<void>(resolve => {
    go = resolve
  })
  tasks.handle('test.held', () => held.then(() => ({})))
  const crowd = Array.from({ length: limits.task.aheadMax + 1 }, (_, name) => ({
    ...{ id: newId(), kind: 'test.held', user: 'u4', due: 1, input: { name }, created: 1 },
  }))
  await Promise.all(crowd.map(row => core.jobWriter.write(taskInsert, row)))
  try {
    const other = await tasks.add({ kind: 'test.work', user: 'u5', input: { name: 'e' } })
    await until(other.id, 'done')
    await expect(tasks.add({ kind: 'test.held', user: 'u4', input: {} })).rejects.toMatchObject({ code: 'TooMany' })
  } finally {
    go()
  }
})

test('of an account the newest results are kept', async () => {
  const user = 'u6'
  const old = Array.from({ length: limits.task.keptMax + 5 }, () => newId())
  const settled = { state: 'done' as const, due: 1, attempts: 1, result: '{}', input: null, at: Date.now() }
  const operations = old.flatMap(id => [
    operation(taskInsert, { ...{ id, kind: 'test.work', user, due: Date.now() + 1e6 }, input: {}, created: 1 }),
    operation(taskSettle, { id, ...settled }),
  ])
  await core.jobWriter.submit({ operations, bytes: 1000 })
  const { id } = await tasks.add({ kind: 'test.work', user, input: { name: 'f' } })
  await until(id, 'done')
  expect(await countTasks(core.read, user)).toBe(limits.task.keptMax)
  expect(await Promise.all([old[5], old[6]].map(one => tasks.find(one as string)))).toEqual([
    undefined,
    expect.anything(),
  ])
})
