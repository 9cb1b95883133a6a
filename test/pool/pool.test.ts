import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { now, shiftClock } from '#lib/clock.ts'
import { Fault, type FaultCode } from '#lib/fault.ts'
import { limits } from '#lib/limits.ts'
import { makeLog } from '#lib/log.ts'
import { makeMetrics } from '#lib/metrics.ts'
import { passingRounds } from '#lib/secret/form.ts'
import { makePools, Pool, type Pools } from '#pool'

interface Tasks {
  echo: { input: unknown; value: unknown }
  where: { input: null; value: number }
  time: { input: null; value: number }
  given: { input: null; value: unknown }
  refuse: { input: null; value: never }
  fail: { input: null; value: never }
  spin: { input: null; value: never }
  rest: { input: number; value: number }
  toil: { input: number; value: number }
  shared: { input: unknown; value: unknown }
  die: { input: null; value: never }
  hoard: { input: null; value: never }
}

const log = makeLog('silent')
const metrics = makeMetrics('test')
let pool: Pool<Tasks>

const make = (
  changes: {
    threads?: number
    queueLengthMax?: number
    perKeyMax?: number
    heapMib?: number
    concurrency?: number
    sharing?: boolean
    perKeyRunningMax?: number
    ownTime?: boolean
    perKeyFault?: FaultCode
    startMs?: number
    file?: URL
  } = {},
) =>
  new Pool<Tasks>({
    name: 'test',
    file: new URL('./worker.ts', import.meta.url),
    threads: 1,
    queueLengthMax: 100,
    deadlineMs: 10_000,
    given: { path: 'here' },
    log,
    metrics,
    ...changes,
  })

beforeEach(() => {
  pool = make()
})

afterEach(() => pool.close())

const code = (promise: Promise<unknown>) =>
  promise.then(
    () => 'ok',
    error => (error instanceof Fault ? error.code : String(error)),
  )

describe('a pool', () => {
  test('runs tasks by name and gives what they give', async () => {
    expect(await pool.run('echo', { a: [1, 'ä', new Uint8Array(2)] })).toEqual({ a: [1, 'ä', new Uint8Array(2)] })
    expect(await pool.run('given', null)).toEqual({ path: 'here' })
  })

  test('a thread has the clock of who started it, also when it is moved on meanwhile', async () => {
    const day = 86_400_000
    const before = Number(await pool.run('time', null))
    shiftClock(3 * day)
    try {
      expect(now() - before).toBeGreaterThan(2 * day)
      expect(Math.abs(Number(await pool.run('time', null)) - now())).toBeLessThan(day / 2)
    } finally {
      shiftClock(0)
    }
  })

  test('carries faults as faults and mistakes as mistakes', async () => {
    const fault = await pool.run('refuse', null).catch(error => error)
    expect(fault).toBeInstanceOf(Fault)
    expect(fault).toMatchObject({ code: 'HashError', details: { field: 'why' } })
    await expect(pool.run('fail', null)).rejects.toThrow('our own mistake')
    expect(await pool.run('echo', 1)).toBe(1)
  })

  test('kills a thread that runs past its deadline and answers again', async () => {
    const before = await pool.run('where', null)
    const late = code(pool.run('spin', null, { deadlineMs: 100 }))
    const waiting = pool.run('where', null)
    expect(await late).toBe('TimedOut')
    expect(await waiting).not.toBe(before)
    expect(await code(pool.run('spin', null, { deadlineMs: 50 }))).toBe('TimedOut')
    expect(await pool.run('echo', 2)).toBe(2)
  })

  test('where its time is that of the processor, a thread may wait for one, up to a bound', async () => {
    await pool.close()
    pool = make({ ownTime: true })
    const first = await pool.run('where', null)
    expect(await pool.run('rest', 1000, { deadlineMs: 500 })).toBe(1000)
    expect(await pool.run('where', null)).toBe(first)
    expect(await code(pool.run('rest', 600_000, { deadlineMs: 20 }))).toBe('TimedOut')
    expect(await code(pool.run('spin', null, { deadlineMs: 50 }))).toBe('TimedOut')
    expect(await pool.run('echo', 2)).toBe(2)
  })

  test('does not count the start of a thread against the first task', async () => {
    expect(await pool.run('echo', 'soon', { deadlineMs: 2000 })).toBe('soon')
  })

  test('who waits for a thread that does not come up is asked to come back, as with all that takes too long', async () => {
    await pool.close()
    pool = make({
      startMs: 20,
      file: new URL('data:text/javascript,await new Promise(() => setInterval(() => {}, 1000))'),
    })
    expect(await code(pool.run('echo', 1))).toBe('TimedOut')
  })

  test('refuses what waits past its deadline without touching the thread', async () => {
    const before = await pool.run('where', null)
    const busy = pool.run('rest', 300)
    expect(await code(pool.run('echo', 1, { deadlineMs: 30 }))).toBe('TimedOut')
    expect(await busy).toBe(300)
    expect(await pool.run('where', null)).toBe(before)
  })

  test('refuses at once when its queue is full, and takes again when there is room', async () => {
    await pool.close()
    pool = make({ queueLengthMax: 2 })
    const first = pool.run('rest', 100)
    const second = pool.run('echo', 2)
    const third = pool.run('echo', 3)
    expect(pool.waiting).toBe(2)
    expect(await code(pool.run('echo', 4))).toBe('Overloaded')
    expect(await Promise.all([first, second, third])).toEqual([100, 2, 3])
    expect(await pool.run('echo', 5)).toBe(5)
  })

  test('bounds one key before the others', async () => {
    await pool.close()
    pool = make({ perKeyMax: 1 })
    const running = pool.run('rest', 50, { turnKey: 'a' })
    const waiting = pool.run('echo', 1, { turnKey: 'a' })
    expect(await code(pool.run('echo', 2, { turnKey: 'a' }))).toBe('Overloaded')
    expect(await pool.run('echo', 3, { turnKey: 'b' })).toBe(3)
    await Promise.all([running, waiting])
  })

  test('lets keys take turns', async () => {
    const order: string[] = []
    const run = (turnKey: string, name: string) => pool.run('echo', name, { turnKey }).then(() => order.push(name))
    const tasks = [run('x', 'x0'), run('a', 'a1'), run('a', 'a2'), run('a', 'a3'), run('b', 'b1'), run('c', 'c1')]
    await Promise.all(tasks)
    expect(order).toEqual(['x0', 'a1', 'b1', 'c1', 'a2', 'a3'])
  })

  test('a caller who leaves is not waited for', async () => {
    const gone = new AbortController()
    const busy = pool.run('rest', 100)
    const left = pool.run('echo', 1, { signal: gone.signal })
    gone.abort(new Error('gone'))
    await expect(left).rejects.toThrow('gone')
    expect(pool.waiting).toBe(0)
    await expect(pool.run('echo', 1, { signal: gone.signal })).rejects.toThrow('gone')
    expect(await busy).toBe(100)
  })

  test('a caller who leaves a running task costs no thread', async () => {
    const before = await pool.run('where', null)
    const gone = new AbortController()
    const left = pool.run('rest', 50, { signal: gone.signal })
    gone.abort(new Error('gone'))
    await expect(left).rejects.toThrow('gone')
    expect(await pool.run('where', null)).toBe(before)
  })

  test('tasks that wait share a thread; one that never ends takes them along, and the pool answers again', async () => {
    await pool.close()
    pool = make({ concurrency: 4 })
    const first = await pool.run('where', null)
    const order: number[] = []
    const resting = [300, 200, 100].map(ms => pool.run('rest', ms).then(rested => order.push(rested)))
    await Promise.all(resting)
    expect(order).toEqual([100, 200, 300])
    expect(await pool.run('where', null)).toBe(first)
    const other = code(pool.run('rest', 60_000))
    expect(await code(pool.run('spin', null, { deadlineMs: 100 }))).toBe('TimedOut')
    expect(await other).toBe('TimedOut')
    expect(await pool.run('echo', 1)).toBe(1)
    expect(await pool.run('where', null)).not.toBe(first)
  })

  test('tasks of different keys come along together on one thread, those of one key one after the other', async () => {
    await pool.close()
    pool = make({ concurrency: 3, sharing: true, perKeyRunningMax: 1 })
    const order: string[] = []
    const run = (turnKey: string, ms: number) =>
      pool.run('toil', ms, { turnKey }).then(() => order.push(`${turnKey} ${ms}`))
    await Promise.all([run('a', 600), run('a', 601), run('a', 602), run('b', 50), run('c', 50)])
    expect(order.slice(2)).toEqual(['a 600', 'a 601', 'a 602'])
    expect(new Set(order.slice(0, 2))).toEqual(new Set(['b 50', 'c 50']))
  })

  test('a task that nobody waits for any more ends, and one past its deadline takes nobody along', async () => {
    await pool.close()
    pool = make({ concurrency: 2, sharing: true, perKeyRunningMax: 1 })
    const gone = new AbortController()
    const left = code(pool.run('toil', 600_000, { turnKey: 'a', signal: gone.signal }))
    const other = pool.run('toil', 500, { turnKey: 'b' })
    setTimeout(() => gone.abort('gone'), 100)
    expect(await left).toBe('gone')
    // Its place is free again, though it asked for ten minutes.
    expect(await pool.run('shared', 2, { turnKey: 'a' })).toBe(2)
    expect(await code(pool.run('toil', 600_000, { turnKey: 'a', deadlineMs: 100 }))).toBe('TimedOut')
    expect(await other).toBe(500)
    expect(await pool.run('shared', 3, { turnKey: 'a' })).toBe(3)
  })

  test('a key with too many waiting is refused in its own words', async () => {
    await pool.close()
    pool = make({ concurrency: 2, sharing: true, perKeyRunningMax: 1, perKeyMax: 1, perKeyFault: 'TooManyReads' })
    const [running, waiting] = [pool.run('toil', 100, { turnKey: 'a' }), pool.run('toil', 1, { turnKey: 'a' })]
    expect(await code(pool.run('shared', 1, { turnKey: 'a' }))).toBe('TooManyReads')
    expect(await pool.run('shared', 2, { turnKey: 'b' })).toBe(2)
    expect(await Promise.all([running, waiting])).toEqual([100, 1])
  })

  test('a thread that dies fails its task alone', async () => {
    expect(await code(pool.run('die', null))).not.toBe('ok')
    expect(await pool.run('echo', 1)).toBe(1)
  })

  test('a thread that takes all memory is replaced', async () => {
    await pool.close()
    pool = make({ heapMib: 32 })
    expect(await code(pool.run('hoard', null))).toBe('TimedOut')
    expect(await pool.run('echo', 1)).toBe(1)
  })

  test('closing refuses what waits and kills what runs', async () => {
    const running = code(pool.run('spin', null))
    const waiting = code(pool.run('echo', 1))
    await pool.close()
    expect(await Promise.all([running, waiting])).toEqual(['Stopping', 'Stopping'])
    expect(await code(pool.run('echo', 1))).toBe('Stopping')
  })
})

describe('the pools of the service', () => {
  let pools: Pools
  beforeEach(() => {
    pools = makePools({
      ...{ log, metrics, recall: true },
      threads: { passwordThreads: 1, patternThreads: 1, readThreads: 1 },
      reads: { file: new URL('./worker.ts', import.meta.url), given: { file: 'a path' } },
    })
  })
  afterEach(() => pools.close())

  test('a password is hashed, verified and then recognised', async () => {
    const stored = await pools.passwords.hash('secret')
    expect(stored).toMatch(/^\$pbkdf2-sha256\$i=100000\$[A-Za-z0-9+/]{22}\$[A-Za-z0-9+/]{43}$/)
    expect(pools.passwords.recalls('secret', stored)).toBe(false)
    expect(await pools.passwords.verify('wrong', stored)).toBe(false)
    expect(pools.passwords.recalls('wrong', stored)).toBe(false)
    expect(await pools.passwords.verify('secret', stored)).toBe(true)
    expect(pools.passwords.recalls('secret', stored)).toBe(true)
    expect(pools.passwords.recalls('secret', await pools.passwords.hash('secret'))).toBe(false)
    expect(await pools.passwords.verify('secret', stored)).toBe(true)
  })

  test('where nothing is kept a hash has fewer rounds, which are weak for a service that stays', async () => {
    const brief = makePools({ log, metrics, recall: true, rounds: passingRounds })
    const stored = await brief.passwords.hash('secret')
    expect(stored).toMatch(/^\$pbkdf2-sha256\$i=1000\$/)
    expect(brief.passwords.isWeak(stored)).toBe(false)
    expect(pools.passwords.isWeak(stored)).toBe(true)
    expect(pools.passwords.isWeak(await pools.passwords.hash('secret'))).toBe(false)
    for (const { passwords } of [brief, pools]) {
      expect(await passwords.verify('secret', stored)).toBe(true)
      expect(await passwords.verify('wrong', stored)).toBe(false)
    }
    await brief.close()
  })

  test('nobody has a password: no, for null, empty and far too long ones', async () => {
    expect(await pools.passwords.verify('secret', null)).toBe(false)
    expect(await pools.passwords.verify('secret', '')).toBe(false)
    const stored = await pools.passwords.hash('x')
    expect(await pools.passwords.verify('x'.repeat(limits.password.lengthMax * 4 + 1), stored)).toBe(false)
    expect(await code(pools.passwords.verify('secret', '{SSHA}abc'))).toBe('HashError')
  })

  test('the same question asked at once is answered once, also when the one who asked first leaves', async () => {
    const stored = await pools.passwords.hash('secret')
    const busy = pools.passwords.verify('busy', stored)
    const gone = new AbortController()
    const answers = [
      code(pools.passwords.verify('secret', stored, { signal: gone.signal })),
      ...Array.from({ length: 20 }, () => pools.passwords.verify('secret', stored)),
    ]
    gone.abort('gone')
    expect(await Promise.all(answers)).toEqual(['gone', ...new Array(20).fill(true)])
    const last = new AbortController()
    const other = pools.passwords.hash('other')
    const alone = code(pools.passwords.verify('nobody waits', stored, { signal: last.signal }))
    last.abort('gone')
    expect(await alone).toBe('gone')
    await Promise.all([busy, other])
  })

  test('nothing is recognised when that is switched off', async () => {
    const strict = makePools({ log, recall: false, threads: { passwordThreads: 1, patternThreads: 1, readThreads: 1 } })
    const stored = await strict.passwords.hash('secret')
    expect(await strict.passwords.verify('secret', stored)).toBe(true)
    expect(strict.passwords.recalls('secret', stored)).toBe(false)
    expect(strict.reads).toBeUndefined()
    await strict.close()
  })

  test('patterns match, bad ones are named, hostile ones die and the next ones are answered', async () => {
    const task = {
      patterns: [
        { source: '^re: ', flags: 'i' },
        { source: 'ü', flags: 'u' },
      ],
      texts: ['RE: x', 'für'],
    }
    expect(await pools.patterns.run(task)).toEqual([
      [true, false],
      [false, true],
    ])
    const bad = [
      { source: '(', flags: '' },
      { source: 'a', flags: 'g' },
      { source: 'a'.repeat(2000), flags: '' },
    ]
    for (const pattern of bad) {
      expect(await code(pools.patterns.run({ patterns: [pattern], texts: ['a'] }))).toBe('InputValidationError')
    }
    const hostile = { patterns: [{ source: '^(a+)+$', flags: '' }], texts: [`${'a'.repeat(60)}b`] }
    const [late, next] = [code(pools.patterns.run(hostile, { deadlineMs: 100 })), pools.patterns.run(task)]
    expect(await late).toBe('TimedOut')
    expect(await next).toEqual(await pools.patterns.run(task))
  })

  test('a storm of logins holds up no other pool', async () => {
    const stored = await pools.passwords.hash('secret')
    const others = async () => {
      await pools.patterns.run({ patterns: [{ source: 'a', flags: '' }], texts: ['a'] })
      return pools.reads?.run('shared', 1)
    }
    // Threads that have to start would have it a matter of the machine who comes first.
    await others()
    let left = 200
    const storm = Array.from({ length: left }, (_, index) =>
      code(pools.passwords.verify(`guess ${index}`, stored)).then(() => {
        left -= 1
      }),
    )
    expect(await others()).toBe(1)
    expect(left).toBeGreaterThan(0)
    await pools.close()
    await Promise.all(storm)
  })

  test('long reads get what the caller gives them', async () => {
    expect(await pools.reads?.run('given', null)).toEqual({ file: 'a path' })
  })
})
