// Cursors of every paged list: what is none is refused, what is one gives a page, whatever somebody made up.

import { beforeAll, describe, expect, test } from 'vitest'
import { useTeal } from '../../running.ts'

const running = useTeal()
const { call, user } = running
const seed = Number(process.env.SEED ?? Math.floor(performance.timeOrigin) % 1_000_000)

const lists = [
  '/users',
  '/users?query=c',
  '/addresses',
  '/addresses?query=c',
  '/users/USER/storage',
  '/domainaliases',
  '/webhooks',
  '/filters',
  '/dkim',
  '/certs',
  '/users/USER/authlog',
  '/users/USER/tasks',
  '/users/USER/mailboxes/INBOX/messages',
  '/users/USER/archived/messages',
  '/users/USER/search?query=x',
]

let id = ''
let inbox = ''

beforeAll(async () => {
  id = await user('cursors')
  inbox = (await call('GET', `/users/${id}/mailboxes/resolve?path=INBOX`)).body.id
  for (const name of ['a', 'b', 'c']) {
    await user(`cursor${name}`)
    await call('POST', `/users/${id}/storage`, { content: name, filename: name })
    await call('POST', '/domainaliases', { alias: `${name}.cursors`, domain: 'example.com' })
  }
})

const encoded = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url')

const boundaries = [
  [],
  [''],
  [null],
  [{}],
  [1],
  ['x', 'y'],
  ['x', 1],
  [1, 2],
  [1, 'x'],
  [1e308, 1],
  [-1, -1],
  ['\u{10ffff}'],
  ["' OR 1=1 --"],
  ['%'],
  ['x'.repeat(500)],
  ['5f0000000000000000000000'],
  [1, 2, 3],
  ['a', 'b', 'c', 'd'],
  '__proto__',
  { length: 1 },
]

const forged = [
  ...['x', 'null', '%00', '!!!!', 'W10', 'e30', 'bnVsbA', 'MQ', 'a'.repeat(1024), 'a'.repeat(1025)],
  ...boundaries.flatMap(boundary => [1, 0, -1, 1e15, 'x', null].map(page => encoded([boundary, page]))),
]

describe('no cursor breaks a list', () => {
  test.each(lists)('%s', async list => {
    const path = list.replace('USER', id).replace('INBOX', inbox)
    const join = path.includes('?') ? '&' : '?'
    for (const cursor of [...forged, ...random(40)]) {
      for (const side of ['next', 'previous']) {
        const { status, body } = await call('GET', `${path}${join}limit=2&${side}=${encodeURIComponent(cursor)}`)
        const told = `${list} ${side}=${cursor} (seed ${seed}): ${JSON.stringify(body)}`
        expect([200, 400], told).toContain(status)
        const refused = { code: 'InputValidationError', error: expect.stringContaining('Invalid paging cursor') }
        if (status === 400) expect(body, told).toMatchObject(refused)
        else expect(body.results.length, told).toBeLessThanOrEqual(2)
      }
    }
    for (const query of ['next[a]=1', 'previous[]=a&previous[]=b', 'limit[a]=1']) {
      const { status, body } = await call('GET', `${path}${join}${query}`)
      expect([query, status, body.code]).toEqual([query, 400, 'InputValidationError'])
    }
  })
})

/** Random bytes, and cursors with one character changed. */
function random(count: number): string[] {
  const next = generator(seed)
  const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'
  const letter = () => alphabet[Math.floor(next() * alphabet.length)] ?? 'A'
  return Array.from({ length: count }, (_, index) => {
    if (index % 2 === 0) return Array.from({ length: 1 + Math.floor(next() * 60) }, letter).join('')
    const text = encoded([['a', '5f0000000000000000000000'].slice(0, 1 + (index % 2)), 2])
    const at = Math.floor(next() * text.length)
    return text.slice(0, at) + letter() + text.slice(at + 1)
  })
}

/** Small random numbers that a seed reproduces (mulberry32). */
function generator(start: number): () => number {
  let state = start
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296
  }
}
