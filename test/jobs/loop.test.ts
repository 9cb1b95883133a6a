import assert from 'node:assert/strict'
import { expect, test } from 'vitest'
import { Loop, persist, type Work } from '#jobs/loop.ts'
import { now, shiftClock, sleep } from '#lib/clock.ts'
import { Fault } from '#lib/fault.ts'
import { makeLog } from '#lib/log.ts'
import { until } from './outbox.ts'

const log = makeLog('silent')

interface Job {
  readonly name: string
  due: number
}

/** Work over a plain list: what is claimed is taken off it. */
function workOn(jobs: Job[], run: (job: Job, signal: AbortSignal) => Promise<void>): Work<Job> & { claims: number[] } {
  const claims: number[] = []
  return {
    name: 'test',
    claims,
    async claim(room, at) {
      claims.push(room)
      await sleep(1)
      const due = jobs.filter(job => job.due <= at).slice(0, room)
      for (const job of due) jobs.splice(jobs.indexOf(job), 1)
      return due
    },
    run,
    next: () => jobs.reduce<number | null>((least, { due }) => Math.min(least ?? due, due), null),
  }
}

test('what is due runs after a kick, never more at once than allowed, and everything runs once', async () => {
  const jobs = Array.from({ length: 50 }, (_, index) => ({ name: String(index), due: 0 }))
  const done: string[] = []
  let running = 0
  let most = 0
  const work = workOn(jobs, async job => {
    running += 1
    most = Math.max(most, running)
    await sleep(2)
    running -= 1
    done.push(job.name)
  })
  const loop = new Loop(work, { inFlightMax: 7, log })
  for (let index = 0; index < 20; index++) loop.kick()
  await until('all jobs', () => done.length === 50)
  await loop.close()
  expect(new Set(done).size).toBe(50)
  expect(most).toBe(7)
  expect(Math.max(...work.claims)).toBe(7)
})

test('a job in the future runs when its time has come, without another kick', async () => {
  const started = now()
  let ran = 0
  const loop = new Loop(
    workOn([{ name: 'later', due: started + 60 }], async () => {
      ran = now()
    }),
    { inFlightMax: 1, log },
  )
  loop.kick()
  await until('the job', () => ran > 0)
  await loop.close()
  expect(ran - started).toBeGreaterThanOrEqual(60)
})

test('closing waits for what runs, cuts off what takes too long, and takes nothing new', async () => {
  const jobs = [
    { name: 'quick', due: 0 },
    { name: 'endless', due: 0 },
  ]
  const ended: string[] = []
  const loop = new Loop(
    workOn(jobs, async ({ name }, signal) => {
      await sleep(name === 'quick' ? 20 : 60_000, signal).catch(() => ended.push('cut'))
      ended.push(name)
    }),
    { inFlightMax: 5, log, drainMs: 60 },
  )
  loop.kick()
  await until('both', () => jobs.length === 0)
  await loop.close()
  expect(ended).toEqual(['quick', 'cut', 'endless'])
  jobs.push({ name: 'new', due: 0 })
  loop.kick()
  await sleep(20)
  expect(ended).toHaveLength(3)
})

test('a claim that fails is made again; a job that throws stops nothing', async () => {
  const jobs = [
    { name: 'bad', due: 0 },
    { name: 'good', due: 0 },
  ]
  const ran: string[] = []
  const work = workOn(jobs, async ({ name }) => {
    ran.push(name)
    if (name === 'bad') throw new Error('bad')
  })
  let failures = 1
  const flaky: Work<Job> = {
    ...work,
    claim: (room, at, under) =>
      failures-- > 0 ? Promise.reject(new Error('no storage')) : work.claim(room, at, under),
  }
  const loop = new Loop(flaky, { inFlightMax: 1, log })
  loop.kick()
  await until('both', () => ran.length === 2)
  await loop.close()
  expect(ran).toEqual(['bad', 'good'])
})

test('a result is written again until it is, or until nobody waits', async () => {
  let tries = 0
  const signal = new AbortController()
  const flaky = async () => {
    tries += 1
    if (tries === 1) throw new Fault('StorageUnavailable')
  }
  expect(await persist(flaky, signal.signal)).toBe(true)
  expect(tries).toBe(2)
  const never = persist(() => Promise.reject(new Fault('StorageUnavailable')), signal.signal)
  await sleep(5)
  signal.abort()
  expect(await never).toBe(false)
})

test('what would fail again in the same way is not tried again', async () => {
  let tries = 0
  const wrong = async () => {
    tries += 1
    assert.equal(1, 2, 'a defect of ours')
  }
  await expect(persist(wrong, new AbortController().signal)).rejects.toThrow('a defect of ours')
  expect(tries).toBe(1)
})

test('items that take long give their places to others, so many of them', async () => {
  const jobs = Array.from({ length: 30 }, (_, index) => ({ name: index < 20 ? 'slow' : 'quick', due: 0 }))
  const done: string[] = []
  let slow = 0
  let end = () => {}
  const ended = new Promise<void>(resolve => {
    end = resolve
  })
  const work = workOn(jobs, async ({ name }) => {
    if (name === 'slow') {
      slow += 1
      await ended
      slow -= 1
    }
    done.push(name)
  })
  const loop = new Loop(work, { inFlightMax: 5, late: { afterMs: 20, max: 8 }, log })
  loop.kick()
  // Five in their places and eight that gave theirs up: the others wait, and nobody passes them.
  await until('as many as may', () => slow === 13)
  await sleep(100)
  expect(slow).toBe(13)
  expect(done).toEqual([])
  end()
  await until('all of them', () => done.length === 30)
  await loop.close()

  const beside = [...Array.from({ length: 5 }, () => ({ name: 'slow', due: 0 })), { name: 'quick', due: 0 }]
  let free = () => {}
  const freed = new Promise<void>(resolve => {
    free = resolve
  })
  let passed = false
  const next = new Loop(
    workOn(beside, async ({ name }) => {
      if (name === 'slow') await freed
      else passed = true
    }),
    { inFlightMax: 5, late: { afterMs: 20, max: 8 }, log },
  )
  next.kick()
  await until('the quick one', () => passed)
  free()
  await next.close()
})

test('a clock that is put back is told before anything is claimed, once, and by how much', async () => {
  const told: number[] = []
  const work = { ...workOn([], async () => {}), clockBack: (ms: number) => void told.push(Math.round(ms / 1000)) }
  const turn = async (loop: Loop<Job>) => {
    const before = work.claims.length
    loop.kick()
    await until('a claim', () => work.claims.length > before)
  }
  shiftClock(7_200_000)
  const loop = new Loop(work, { inFlightMax: 1, log })
  try {
    await turn(loop)
    shiftClock(7_180_000)
    await turn(loop)
    expect(told).toEqual([0])
    shiftClock(0)
    await turn(loop)
    await turn(loop)
    expect(told).toEqual([0, 7200])
  } finally {
    shiftClock(0)
    await loop.close()
  }
})
