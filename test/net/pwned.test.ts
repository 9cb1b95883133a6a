import { createHash } from 'node:crypto'
import { createServer, type RequestListener, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { limits } from '#lib/limits.ts'
import { Pwned, type PwnedMode } from '#net/outward/pwned.ts'

const sha1 = (text: string) => createHash('sha1').update(text).digest('hex').toUpperCase()
const breached = new Map([
  [sha1('password'), 9_659_365],
  [sha1('pässwörd'), 3],
])

/** Speaks the range protocol: hashes with that prefix, and padding with a count of 0. */
const range: RequestListener = (request, response) => {
  const prefix = /^\/base\/range\/([0-9A-F]{5})$/.exec(request.url ?? '')?.[1]
  if (prefix === undefined || request.headers['add-padding'] !== 'true') return response.writeHead(400).end()
  const found = [...breached].filter(([hash]) => hash.startsWith(prefix)).map(([hash, n]) => `${hash.slice(5)}:${n}`)
  const padding = Array.from({ length: 800 }, (_, index) => `${sha1(`pad ${index}`).slice(5)}:0`)
  response.end([...found, ...padding, `${sha1('padded').slice(5)}:0`].join('\r\n'))
}

let server: Server
let answer: RequestListener
let asked: (string | undefined)[]
let url: string
const open: Pwned[] = []

const client = (type: PwnedMode, options: { enabled?: boolean; apiUrl?: string; timeout?: number } = {}) => {
  const pwned = new Pwned({ enabled: true, type, apiUrl: `${url}/base/`, timeout: 2000, ...options })
  open.push(pwned)
  return pwned
}

beforeEach(async () => {
  asked = []
  answer = range
  server = createServer((request, response) => {
    asked.push(request.url)
    answer(request, response)
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
})

afterEach(async () => {
  await Promise.all(open.splice(0).map(pwned => pwned.close()))
  server.closeAllConnections()
  await new Promise(resolve => server.close(resolve))
})

test('five digits are asked, padding does not count', async () => {
  const pwned = client('fail')
  expect(await pwned.lookup('password')).toEqual({ known: true, times: 9_659_365 })
  expect(asked).toEqual([`/base/range/${sha1('password').slice(0, 5)}`])
  expect(await pwned.lookup('pässwörd')).toEqual({ known: true, times: 3 })
  expect(await pwned.lookup('padded')).toEqual({ known: false, times: 0 })
  expect(await pwned.lookup('xkcd 936 is not in there')).toEqual({ known: false, times: 0 })
})

describe('modes', () => {
  const expected: Readonly<Record<PwnedMode, readonly [known: string, fresh: string, down: string]>> = {
    softfail: ['tell', 'fine', 'fine'],
    fail: ['refuse', 'fine', 'fine'],
    hardfail: ['refuse', 'fine', 'refuse'],
    none: ['fine', 'fine', 'fine'],
  }
  for (const [mode, [known, fresh, down]] of Object.entries(expected)) {
    test(mode, async () => {
      const pwned = client(mode as PwnedMode)
      expect(await pwned.judge('password')).toBe(known)
      expect(await pwned.judge('a fresh one')).toBe(fresh)
      answer = (_, response) => response.writeHead(503).end()
      expect(await pwned.judge('password')).toBe(down)
      expect(asked).toHaveLength(mode === 'none' ? 0 : 3)
    })
  }

  test('switched off asks nobody', async () => {
    const pwned = client('hardfail', { enabled: false })
    expect(await pwned.judge('password')).toBe('fine')
    await pwned.refuseKnown('password')
    expect(asked).toEqual([])
  })

  test('setting a known password is refused, and nothing else', async () => {
    const pwned = client('hardfail')
    await expect(pwned.refuseKnown('password')).rejects.toMatchObject({ code: 'InsecurePasswordError', status: 403 })
    await pwned.refuseKnown('a fresh one')
    answer = (_, response) => response.writeHead(500).end()
    await pwned.refuseKnown('password')
  })
})

describe('nobody answers', () => {
  const answers: Readonly<Record<string, RequestListener>> = {
    'an error': (_, response) => response.writeHead(429).end('later'),
    'a page': (_, response) => response.end('<html>'),
    'a redirect': (_, response) => response.writeHead(302, { location: '/elsewhere' }).end(),
    'a closed connection': request => request.socket.destroy(),
    silence: () => {},
    'half an answer': (_, response) => response.write('0018A45C4D1DEF81644B54AB7F969B88D65:1\r\n'),
    'too much': (_, response) =>
      response.end('0018A45C4D1DEF81644B54AB7F969B88D65:1\r\n'.repeat(limits.pwned.answerBytesMax / 30)),
  }
  for (const [what, listener] of Object.entries(answers)) {
    test(what, async () => {
      answer = listener
      const result = await client('fail', { timeout: 200 }).lookup('password')
      expect(result).toHaveProperty('unanswered')
      expect(asked).toHaveLength(1)
    })
  }

  test('no server at all', async () => {
    const pwned = client('fail', { apiUrl: 'http://127.0.0.1:1' })
    expect(await pwned.lookup('password')).toHaveProperty('unanswered')
  })

  test('more lookups at once than allowed count as unanswered', async () => {
    answer = () => {}
    const pwned = client('fail', { timeout: 300 })
    const all = Array.from({ length: limits.pwned.inFlightMax }, () => pwned.lookup('password'))
    expect(await pwned.lookup('password')).toMatchObject({ unanswered: { code: 'Overloaded' } })
    await Promise.all(all)
    answer = range
    await expect.poll(() => pwned.lookup('password')).toMatchObject({ known: true })
  })
})
