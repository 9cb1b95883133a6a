import {
  closeSync,
  cpSync,
  existsSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { now, shiftClock } from '#lib/clock.ts'
import { Fault } from '#lib/fault.ts'
import { makeLog } from '#lib/log.ts'
import { Cache } from '#store/folder/cache.ts'

let base: string
let dir: string
let cache: Cache

const log = makeLog('silent')
const reopen = async (entriesMax?: number) => {
  await cache.close()
  cache = Cache.open({ dir, log, ...(entriesMax === undefined ? {} : { entriesMax }) })
}

beforeEach(async () => {
  base = mkdtempSync(join(tmpdir(), 'teal-cache-'))
  dir = join(base, 'cache')
  cache = Cache.open({ dir, log })
})

afterEach(async () => {
  shiftClock(0)
  await cache.close()
  rmSync(base, { recursive: true, force: true })
})

describe('counters', () => {
  test('a window begins with the first addition and is not extended', () => {
    expect(cache.counted('fail', 'anna')).toEqual({ used: 0, ttlMs: 0 })
    cache.count('fail', 'anna', 120_000)
    shiftClock(100_000)
    const later = cache.count('fail', 'anna', 120_000)
    expect(later.used).toBe(2)
    expect(later.ttlMs).toBeLessThanOrEqual(20_000)
    shiftClock(120_001)
    expect(cache.counted('fail', 'anna').used).toBe(0)
    expect(cache.count('fail', 'anna', 120_000)).toEqual({ used: 1, ttlMs: 120_000 })
    // What is given back was counted in a window that is over.
    expect(cache.count('fail', 'anna', 120_000, -2)).toMatchObject({ used: 0 })
  })

  test('every addition of one turn counts', () => {
    for (let index = 0; index < 100; index++) cache.count('fail', 'anna', 60_000)
    expect(cache.counted('fail', 'anna').used).toBe(100)
    expect(cache.counted('fail', 'bert').used).toBe(0)
    expect(cache.counted('other', 'anna').used).toBe(0)
    cache.remove('fail', 'anna')
    expect(cache.counted('fail', 'anna').used).toBe(0)
  })

  test('what was counted while the clock was ahead lasts no longer than it would have', async () => {
    shiftClock(730 * 86_400_000)
    cache.count('fail', 'anna', 120_000, 10)
    await cache.flush()
    shiftClock(0)
    await reopen()
    expect(cache.counted('fail', 'anna')).toEqual({ used: 10, ttlMs: 120_000 })
    expect(cache.counts('', 10)).toEqual([['fail:anna', 10, 120_000]])
    shiftClock(120_001)
    expect(cache.counted('fail', 'anna').used).toBe(0)
  })

  test('spending is all or nothing', () => {
    expect(cache.spend('sent', 'anna', 86_400_000, 10, 7)).toMatchObject({ allowed: true, used: 7 })
    expect(cache.spend('sent', 'anna', 86_400_000, 10, 4)).toMatchObject({ allowed: false, used: 7 })
    expect(cache.spend('sent', 'anna', 86_400_000, 10, 3)).toMatchObject({ allowed: true, used: 10 })
    expect(cache.counted('sent', 'anna').ttlMs).toBeGreaterThan(86_000_000)
  })
})

describe('kept values', () => {
  test('are taken once', () => {
    cache.keep('nonce', 'abc', { user: 'x', methods: ['totp'] }, 600_000)
    expect(cache.look('nonce', 'abc')?.value).toEqual({ user: 'x', methods: ['totp'] })
    expect(cache.take('nonce', 'abc')?.value).toEqual({ user: 'x', methods: ['totp'] })
    expect(cache.take('nonce', 'abc')).toBeUndefined()
  })

  test('are taken once when they come from the disk', async () => {
    cache.keep('nonce', 'abc', [1, null, 'ä'], 600_000)
    await reopen()
    expect(cache.take('nonce', 'abc')?.value).toEqual([1, null, 'ä'])
    expect(cache.take('nonce', 'abc')).toBeUndefined()
    await reopen()
    expect(cache.look('nonce', 'abc')).toBeUndefined()
  })

  test('can be put back with the time that is left', () => {
    cache.keep('nonce', 'abc', 1, 600_000)
    shiftClock(400_000)
    const kept = cache.take('nonce', 'abc')
    expect(kept?.ttlMs).toBeLessThanOrEqual(200_000)
    cache.keep('nonce', 'abc', 1, kept?.ttlMs ?? 0)
    shiftClock(600_001)
    expect(cache.look('nonce', 'abc')).toBeUndefined()
  })

  test('a mark is set once until its time is over', () => {
    expect(cache.mark('autoreply', 'anna to bert', 1000)).toBe(true)
    expect(cache.mark('autoreply', 'anna to bert', 1000)).toBe(false)
    shiftClock(1001)
    expect(cache.mark('autoreply', 'anna to bert', 1000)).toBe(true)
  })

  test('names of any length and content are told apart', async () => {
    const long = 'n'.repeat(10_000)
    const odd = '\0\ud800 "ü'
    cache.keep('name', long, 1, 60_000)
    cache.keep('name', `${long}x`, 2, 60_000)
    cache.keep('name', odd, 3, 60_000)
    cache.keep('name', '', 4, 60_000)
    await cache.flush()
    const values = [long, `${long}x`, odd, ''].map(id => cache.look('name', id)?.value)
    expect(values).toEqual([1, 2, 3, 4])
  })
})

describe('on the disk', () => {
  test('counters survive a restart with what is left of their window', async () => {
    cache.count('fail', 'anna', 120_000)
    cache.count('fail', 'anna', 120_000)
    await reopen()
    const { used, ttlMs } = cache.counted('fail', 'anna')
    expect(used).toBe(2)
    expect(ttlMs).toBeGreaterThan(60_000)
    expect(ttlMs).toBeLessThanOrEqual(120_000)
  })

  test('a deleted folder is an empty cache', async () => {
    cache.count('fail', 'anna', 120_000)
    await cache.close()
    rmSync(dir, { recursive: true })
    cache = Cache.open({ dir, log })
    expect(cache.counted('fail', 'anna').used).toBe(0)
    cache.count('fail', 'anna', 120_000)
    await reopen()
    expect(cache.counted('fail', 'anna').used).toBe(1)
  })

  test('what is over is swept out, and its index with it', async () => {
    for (let index = 0; index < 50; index++) cache.keep('short', String(index), index, 1000)
    cache.keep('long', 'x', 1, 100_000)
    cache.keep('short', '7', 7, 100_000)
    await cache.flush()
    expect(cache.size).toBe(51)
    shiftClock(2000)
    cache.sweep()
    await cache.flush()
    expect(cache.size).toBe(2)
    expect(cache.look('short', '7')?.value).toBe(7)
    shiftClock(200_000)
    cache.sweep()
    await cache.flush()
    expect(cache.size).toBe(0)
  })

  test('there are never more entries than allowed, and those that end first go', async () => {
    await reopen(100)
    for (let index = 0; index < 500; index++) cache.keep('k', String(index), index, 10_000 + index * 1000)
    await cache.flush()
    expect(cache.size).toBe(100)
    expect(cache.look('k', '399')).toBeUndefined()
    expect(cache.look('k', '400')?.value).toBe(400)
  })

  test('what strangers fill has no count of failed logins forgotten', async () => {
    await reopen(100)
    for (let index = 0; index < 12; index++) cache.count('password', 'anna', 120_000)
    cache.keep('nonce', 'n', 'a login', 600_000)
    const kinds = ['greylist', 'unknown recipients', 'organization messages', 'network messages', 'greylist passed']
    for (const kind of kinds) for (let index = 0; index < 150; index++) cache.count(kind, String(index), 3_600_000)
    await cache.flush()
    expect(cache.size).toBe(100)
    expect(cache.counted('password', 'anna').used).toBe(12)
    expect(cache.look('nonce', 'n')?.value).toBe('a login')
    // Who has come twice is asked to come once more last.
    expect(cache.counted('greylist', '0').used).toBe(0)
    expect(cache.counted('greylist passed', '99').used).toBe(1)
  })

  test('health is really written and read', async () => {
    cache.ping()
    await cache.check()
    await cache.flush()
    expect(cache.size).toBe(0)
    await cache.close()
    expect(() => cache.ping()).toThrow(Fault)
    await expect(cache.check()).rejects.toThrow(Fault)
  })

  test('behaves like a map, whatever is written meanwhile', async () => {
    const seed = now()
    let state = seed
    const random = (below: number) => {
      state = (state * 1_103_515_245 + 12_345) % 2_147_483_648
      return state % below
    }
    const model = new Map<string, number>()
    for (let step = 0; step < 4000; step++) {
      const id = `k${random(40)}`
      const action = random(10)
      if (action < 5) {
        cache.keep('m', id, step, 3_600_000 + random(1000))
        model.set(id, step)
      } else if (action < 7) {
        expect(cache.take('m', id)?.value, `seed ${seed}, step ${step}`).toBe(model.get(id))
        model.delete(id)
      } else expect(cache.look('m', id)?.value, `seed ${seed}, step ${step}`).toBe(model.get(id))
      if (random(20) === 0) await new Promise(resolve => setImmediate(resolve))
      if (random(200) === 0) await cache.flush()
      if (random(500) === 0) await reopen()
    }
    await cache.flush()
    expect(cache.size).toBe(model.size)
    expect(existsSync(`${dir}.broken`)).toBe(false)
  })
})

describe('a broken folder is put aside and made anew', () => {
  const spoil: Readonly<Record<string, (file: string) => void>> = {
    'cut in half': file => truncateSync(file, statSync(file).size >> 1),
    'cut to a page': file => truncateSync(file, 4096),
    'written over': file => writeFileSync(file, Buffer.alloc(100_000, 'junk')),
    'garbage inside': file => {
      const { size } = statSync(file)
      const bytes = Buffer.alloc(size, 0x5a)
      writeFileSync(file, Buffer.concat([readHead(file), bytes]).subarray(0, size))
    },
  }
  const readHead = (file: string) => {
    const bytes = Buffer.alloc(8192)
    const handle = openSync(file, 'r')
    readSync(handle, bytes, 0, 8192, 0)
    closeSync(handle)
    return bytes
  }

  for (const [how, change] of Object.entries(spoil)) {
    test(how, async () => {
      for (let index = 0; index < 2000; index++) cache.keep('k', String(index), index, 100_000)
      await cache.close()
      change(join(dir, 'data.mdb'))
      cache = Cache.open({ dir, log })
      expect(cache.look('k', '5')).toBeUndefined()
      cache.keep('k', 'new', 1, 100_000)
      await reopen()
      expect(cache.look('k', 'new')?.value).toBe(1)
      expect(readdirSync(base).sort()).toEqual(['cache', 'cache.broken'])
    })
  }

  for (const how of ['cut in half', 'cut to a page', 'written over']) {
    test(`${how} after a crash`, async () => {
      for (let index = 0; index < 2000; index++) cache.keep('k', String(index), index, 100_000)
      await cache.close()
      rmSync(join(dir, 'closed'))
      spoil[how]?.(join(dir, 'data.mdb'))
      cache = Cache.open({ dir, log })
      expect(cache.look('k', '5')).toBeUndefined()
      expect(existsSync(`${dir}.broken`)).toBe(true)
    })
  }

  test('a crash alone loses nothing that was flushed', async () => {
    for (let index = 0; index < 2000; index++) cache.keep('k', String(index), index, 100_000)
    await cache.flush()
    const copy = join(base, 'copy')
    cpSync(dir, copy, { recursive: true })
    const second = Cache.open({ dir: copy, log })
    expect(second.look('k', '1999')?.value).toBe(1999)
    expect(second.size).toBe(2000)
    await second.close()
    expect(existsSync(`${copy}.broken`)).toBe(false)
  })

  test('an opening that ended the process is not tried again', async () => {
    cache.keep('k', '1', 1, 100_000)
    await cache.close()
    writeFileSync(join(dir, 'opening'), '')
    cache = Cache.open({ dir, log })
    expect(cache.look('k', '1')).toBeUndefined()
    expect(existsSync(`${dir}.broken`)).toBe(true)
  })
})
