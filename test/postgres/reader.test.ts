// The reader of PostgreSQL by itself: rows in pieces, pictures that do not change, what happens when the server is gone, slow or
// full, and that values come back as they went.

import { mkdtempSync, rmSync } from 'node:fs'
import { createServer, connect as dial } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest'
import { fold } from '#mail/text/fold.ts'
import { folded, greatest, jsonAt, least, mayFoldToAscii, whole } from '#store/engine/dialect.ts'
import { openWhole } from '#store/engine/open.ts'
import { openPostgresReader } from '#store/engine/postgres/reader.ts'
import { type Client, connect } from '#store/engine/postgres/session.ts'
import type { Reader } from '#store/engine/reader.ts'
import { makeDatabase } from './cluster.ts'

const socket = '.s.PGSQL.5432'

let url: string
let read: Reader
let client: Client

beforeAll(async () => {
  url = await makeDatabase(inject('postgres'))
  read = openPostgresReader({ url })
  client = await connect({ url })
  await client.query('CREATE TABLE thing (id bigint PRIMARY KEY, name text COLLATE "C", data bytea)')
})

afterAll(async () => {
  read.close()
  await client.end()
})

const counting = 'SELECT i FROM generate_series(1, 5000) AS i'

test('who goes through all of a database has as long as that takes, and the plans of the server', async () => {
  const whole = openWhole(url)
  const set = (name: string) => `SELECT current_setting('${name}') AS set`
  const settings = ['statement_timeout', 'enable_seqscan', 'enable_hashjoin', 'enable_mergejoin', 'plan_cache_mode']
  const found = async (from: Reader) =>
    await Promise.all(settings.map(async name => (await from.one<{ set: string }>(set(name)))?.set))
  const plain = await found(whole)
  expect(plain).toEqual(['0', 'on', 'on', 'on', 'auto'])
  expect((await found(read)).filter((one, at) => one === plain[at])).toEqual([])
  whole.close()
  const ends = ['idle_in_transaction_session_timeout', 'idle_session_timeout', 'lock_timeout']
  await client.query(ends.map(name => `ALTER DATABASE ${client.database} SET ${name} = '1h'`).join(';'))
  const later = openPostgresReader({ url })
  const ending = await Promise.all(ends.map(async name => (await later.one<{ set: string }>(set(name)))?.set))
  expect(ending).toEqual(ends.map(() => '0'))
  later.close()
})

test('text is folded as it is here', async () => {
  for (const text of ['ÄÖÜ A\u0308', 'ΟΔΟΣ ΟΔΟΣΑ οδος σ', '5 \u00b5G', "it's", 'ＡＢ ﬁ ｶﾞ ½ \ufdfa… KIRMIZI ışık']) {
    expect(await read.one(`SELECT ${folded('?')} AS text`, text)).toEqual({ text: fold(text) })
  }
  const may = async (text: string) =>
    (await read.one<{ may: number }>(`SELECT ${mayFoldToAscii('?')} AS may`, text))?.may
  expect(await Promise.all(['plain grüße 東京', 'ＡＢ', 'ﬁ', '\u{1d400}'].map(may))).toEqual([0, 1, 1, 1])
})

describe('rows one after the other', () => {
  test('come all of them, in order, however many', async () => {
    const rows: number[] = []
    await read.eachArray<[number]>(([i]) => void rows.push(i), counting)
    expect(rows).toEqual(Array.from({ length: 5000 }, (_, at) => at + 1))
  })

  test('end when nobody wants more, and the connection serves the next', async () => {
    for (let turn = 0; turn < 20; turn++) {
      let seen = 0
      await read.each<{ i: number }>(({ i }) => ++seen === 1500 || i > 1500, counting)
      expect(seen).toBe(1500)
    }
  })

  test('end with what is thrown', async () => {
    const thrown = read.each(() => {
      throw new Error('enough')
    }, counting)
    await expect(thrown).rejects.toThrow('enough')
    expect(await read.one('SELECT 1 AS a')).toEqual({ a: 1 })
  })

  test('come to many at once', async () => {
    const sums = Array.from({ length: 40 }, async () => {
      let sum = 0
      await read.eachArray<[number]>(([i]) => {
        sum += i
      }, counting)
      return sum
    })
    expect(new Set(await Promise.all(sums))).toEqual(new Set([12_502_500]))
  })
})

test('what is counted may be long', async () => {
  const long = Array.from({ length: 4000 }, (_, at) => String.fromCodePoint(0x4e00 + ((at * 7919) % 20_000))).join('')
  const insertion = `INSERT INTO report_count VALUES ('tls', 1, 'a.example', $1, 1)`
  await client.query(insertion, [long])
  await expect(client.query(insertion, [long])).rejects.toMatchObject({ code: '23505', constraint: 'report_count_key' })
  await client.query('DELETE FROM report_count')
})

test('nothing can be written through it', async () => {
  const writing = 'INSERT INTO thing VALUES (9)'
  // Where a standby was promoted meanwhile, whoever writes is to try again.
  const refused = { code: 'StorageUnavailable', cause: { code: '25006' } }
  await expect(read.one(writing)).rejects.toMatchObject(refused)
  await expect(read.snapshot(picture => picture.one(writing))).rejects.toMatchObject(refused)
})

test.each(['25P03', '25P04'])('a transaction that the server ends (%s) is to be tried again', async code => {
  await client.query(`CREATE OR REPLACE FUNCTION ended() RETURNS int LANGUAGE plpgsql AS $$
    BEGIN RAISE EXCEPTION 'terminating connection due to transaction timeout' USING ERRCODE = '${code}'; END $$`)
  await expect(read.one('SELECT ended()')).rejects.toMatchObject({ code: 'StorageUnavailable', cause: { code } })
})

describe('a picture', () => {
  test('does not change, also for what is read in pieces', async () => {
    await client.query(`INSERT INTO thing VALUES (1, 'a', NULL)`)
    await read.snapshot(async picture => {
      expect(await picture.all('SELECT id FROM thing')).toHaveLength(1)
      await client.query(`INSERT INTO thing VALUES (2, 'b', NULL)`)
      let rows = 0
      await picture.each(() => void rows++, 'SELECT id FROM thing')
      expect(rows).toBe(1)
      expect(await read.all('SELECT id FROM thing')).toHaveLength(2)
    })
    expect(await read.all('SELECT id FROM thing')).toHaveLength(2)
  })

  test('answers many at once, and pieces between them', async () => {
    for (let turn = 0; turn < 20; turn++) {
      const sums = await read.snapshot(picture =>
        Promise.all(
          Array.from({ length: 30 }, async (_, at) => {
            let sum = 0
            const add = ([i]: [number]) => {
              sum += i
              return turn % 2 > 0 && sum > 3_000_000
            }
            if (at % 5 === 0) await picture.eachArray<[number]>(add, counting)
            else for (const [i] of await picture.arrays<[number]>('SELECT ?', at)) sum += i
            return sum
          }),
        ),
      )
      for (const [at, sum] of sums.entries()) {
        if (at % 5 > 0) expect(sum).toBe(at)
        else expect(sum).toBeGreaterThan(3_000_000)
      }
    }
  })
})

describe('a fault', () => {
  test('of a text fails it alone', async () => {
    const asked = [read.one('SELECT 1 AS a'), read.one('SELECT nothing'), read.one('SELECT 2 AS a')]
    const [one, two, three] = await Promise.allSettled(asked)
    expect([one, three]).toMatchObject([{ value: { a: 1 } }, { value: { a: 2 } }])
    expect(two).toMatchObject({ status: 'rejected', reason: { code: '42703' } })
  })

  test('of the connection is temporary, and a new one is made', async () => {
    const end = `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
      WHERE datname = current_database() AND pid <> pg_backend_pid()`
    await Promise.all([read.one('SELECT 1'), read.each(() => true, counting), read.snapshot(one => one.prove())])
    const slow = [read.one('SELECT pg_sleep(60)'), read.snapshot(one => one.one('SELECT pg_sleep(60)'))]
    const asleep = `SELECT pid FROM pg_stat_activity WHERE query LIKE '%pg_sleep%' AND state = 'active' AND pid <> pg_backend_pid()`
    const own = await connect({ url })
    await expect.poll(async () => (await own.query(asleep)).rowCount).toBe(2)
    const failed = Promise.allSettled(slow)
    await own.query(end)
    await own.end()
    expect(await failed).toMatchObject([0, 1].map(() => ({ reason: { code: 'StorageUnavailable' } })))
    // What lay there unused may be met on the way to its end.
    await expect.poll(async () => (await read.one<{ a: number }>('SELECT 1 AS a').catch(() => undefined))?.a).toBe(1)
    await expect.poll(() => read.snapshot(one => one.one('SELECT 1 AS a')).catch(() => undefined)).toEqual({ a: 1 })
    client = await connect({ url })
  })

  test('of the address is temporary as well', async () => {
    const none = openPostgresReader({ url: 'postgres://teal@127.0.0.1:1/none' })
    await expect(none.prove()).rejects.toMatchObject({ code: 'StorageUnavailable' })
    await expect(none.snapshot(one => one.prove())).rejects.toMatchObject({ code: 'StorageUnavailable' })
    none.close()
  })

  test.each([
    { refuses: 'has no room for more connections', role: 'few', refuse: 'CONNECTION LIMIT 2', code: '53300' },
    { refuses: 'lets its user in no more', role: 'changed', refuse: 'NOLOGIN', code: '28000' },
  ])('of a server that $refuses is not felt while there are some', async ({ role, refuse, code }) => {
    await client.query(`CREATE ROLE ${role} LOGIN; GRANT pg_read_all_data TO ${role}`)
    const address = new URL(url)
    address.username = role
    const few = openPostgresReader({ url: address.href })
    await few.prove()
    await few.snapshot(one => one.prove())
    await client.query(`ALTER ROLE ${role} ${refuse}`)
    const numbers = Array.from({ length: 30 }, (_, at) => at)
    const asked = (from: Reader, at: number) => from.one<{ a: number }>('SELECT ? AS a', at)
    const told = Promise.all(numbers.flatMap(at => [asked(few, at), few.snapshot(one => asked(one, at))]))
    expect((await told).map(row => row?.a)).toEqual(numbers.flatMap(at => [at, at]))
    await expect(connect({ url: address.href })).rejects.toMatchObject({ cause: { code } })
    few.close()
    await expect.poll(() => client.query(`DROP ROLE ${role}`).catch(() => false)).toBeTruthy()
  })

  test('of a server that was full is not felt when the only connection has come back before the refusal', async () => {
    await client.query('CREATE ROLE single LOGIN CONNECTION LIMIT 1; GRANT pg_read_all_data TO single')
    // The second connection reaches the server late.
    const late = Promise.withResolvers<void>()
    const folder = mkdtempSync(join(tmpdir(), 'teal-late-'))
    let met = 0
    const proxy = createServer(near => {
      const first = met === 0
      met += 1
      const far = dial(join(inject('postgres'), socket))
      for (const side of [near, far]) side.on('error', () => {})
      near.on('close', () => far.destroy())
      far.on('close', () => near.destroy())
      far.pipe(near)
      void (first ? Promise.resolve() : late.promise).then(() => near.pipe(far))
    })
    await new Promise<void>(done => proxy.listen(join(folder, socket), done))
    const address = new URL(url)
    address.username = 'single'
    address.searchParams.set('host', folder)
    const single = openPostgresReader({ url: address.href })
    const asked = (at: number) => single.snapshot(one => one.one<{ a: number }>('SELECT ? AS a', at))
    expect(await asked(1)).toEqual({ a: 1 })
    const first = asked(2)
    const second = asked(3)
    expect(await first).toEqual({ a: 2 })
    await expect.poll(() => met).toBe(2)
    late.resolve()
    expect(await second).toEqual({ a: 3 })
    single.close()
    await expect.poll(() => client.query('DROP ROLE single').catch(() => false)).toBeTruthy()
    proxy.close()
    rmSync(folder, { recursive: true, force: true })
  })

  test('of a statement that takes too long ends it', async () => {
    const short = openPostgresReader({ url, statementMs: 200 })
    await expect(short.one('SELECT pg_sleep(60)')).rejects.toMatchObject({ code: 'TimedOut' })
    await expect(short.each(() => {}, 'SELECT pg_sleep(60)')).rejects.toMatchObject({ code: 'TimedOut' })
    expect(await short.one('SELECT 1 AS a')).toEqual({ a: 1 })
    short.close()
  })
})

describe('values', () => {
  const halves = ['\\ud800', '\\\\ud800', '\\ud83d\\ude00', '\x03d800', '\\u0001\\u0003d800', '\\\\u0001\\u0001']
  const texts = [
    '',
    'a\0b',
    '\x01',
    '\x01\x01\x02',
    '\\u0000',
    '\\\\u0001',
    JSON.stringify('\0\x01'),
    'größe 日本 🎈',
    ...halves,
  ]

  test.each(texts)('text %j comes back as it went', async text => {
    expect(await read.arrays('SELECT ?, ?', text, text.length)).toEqual([[text, text.length]])
  })

  test.each(['\ud800', 'a\0\x01\ud83d\ude00\udfff', '\\ud800 \\u0000', '\x01\x03d800'])(
    'text %j is found in JSON',
    async x => {
      expect(await read.arrays(`SELECT ${jsonAt('?', 'x')}`, JSON.stringify({ x }))).toEqual([[x]])
    },
  )

  test('lists are ordered byte by byte', async () => {
    const list = ['b', 'a\0', 'ä', 'A', 'a', 'a\x01', 'a\0\0', 'a\x02', 'ab', '\u{10000}', '\uffff']
    const given = JSON.stringify(list)
    const rows = await read.arrays<[string]>('SELECT value FROM list_rows(?) ORDER BY value', given)
    const bytewise = (JSON.parse(given) as string[]).sort((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)))
    expect(rows.flat()).toEqual(bytewise)
  })

  test('numbers are exact, and have no end', async () => {
    const numbers = [0, -1, 2 ** 53 - 1, 1.5]
    expect(await read.arrays('SELECT ?, ?, ?, ?', ...numbers)).toEqual([numbers])
    expect(await read.arrays('SELECT ? > 5, ? < 5', Infinity, -Infinity)).toEqual([[1, 1]])
  })

  test('bytes come back as they went', async () => {
    const bytes = Buffer.from(Array.from({ length: 256 }, (_, at) => at))
    expect(await read.one('SELECT ? AS data', bytes)).toEqual({ data: bytes })
  })

  test('may be called, and named twice', async () => {
    const rows = await read.all('SELECT @a AS "a", @b AS b WHERE @b IS NULL OR @a = @b', { a: 5e12, b: null })
    expect(rows).toEqual([{ a: 5e12, b: null }])
    await expect(read.one('SELECT @c', { a: 1 })).rejects.toThrow('no value is called c')
  })

  test('are compared as SQLite does', async () => {
    const text = `SELECT ${greatest('?', '3')} AS a, ${greatest('?', '3')} AS b, ${least('?', '3')} AS c,
      ${jsonAt('?', 'x')} AS d, ${whole('?')} AS e, 'Ä' LIKE 'ä' AS f, 'A?@b' LIKE 'a?%' AS g, 'a\\b' LIKE ? AS h`
    const given = [5, null, 5, '{"x":{"y":[1]}}', 2.9, 'A\\%']
    expect(await read.one(text, ...given)).toEqual({ a: 5, b: null, c: 3, d: '{"y":[1]}', e: 2, f: 0, g: 1, h: 1 })
  })
})
