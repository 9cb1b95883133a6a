// The web application's files over HTTP: compressed, kept by browsers or asked for anew, and on the port for strangers with its session alone.

import { readFileSync } from 'node:fs'
import { request as ask } from 'node:https'
import { brotliDecompressSync, gunzipSync } from 'node:zlib'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startTeal, type Teal } from '#service'
import { clientTypes } from '../../deploy/client.ts'
import { front } from './front.ts'

let teal: Teal
beforeAll(async () => {
  const config = {
    hostname: 'mx.example.com',
    api: { port: 0, front },
    web: { enabled: true, port: 0, api: false },
  } as const
  teal = await startTeal(config, { strict: true })
})
afterAll(() => teal.close())

interface Answer {
  readonly status: number
  readonly headers: Record<string, string | undefined>
  readonly body: Buffer
}

/** Over the port for strangers. */
function stranger(path: string, headers: Record<string, string> = {}, method = 'GET', body = ''): Promise<Answer> {
  const { host, port } = teal.listeners.web ?? { host: '', port: 0 }
  return new Promise((resolve, reject) => {
    const sent = { 'content-type': 'application/json', ...headers }
    const request = ask(
      { host, port, path, method, agent: false, rejectUnauthorized: false, headers: sent },
      response => {
        const parts: Buffer[] = []
        response.on('data', part => parts.push(part))
        response.on('end', () => {
          const all = Object.fromEntries(Object.entries(response.headers).map(([name, value]) => [name, String(value)]))
          resolve({ status: response.statusCode ?? 0, headers: all, body: Buffer.concat(parts) })
        })
      },
    )
    request.on('error', reject)
    request.end(body)
  })
}

const html = { accept: 'text/html,*/*' }

test('the page is there for people at / and at every place of its own; programs get the documentation', async () => {
  const page = await stranger('/', html)
  expect(page.status).toBe(200)
  expect(page.headers['content-security-policy']).toMatch(/^default-src 'none'; script-src 'self'; style-src 'self';/)
  expect(page.headers['content-security-policy']).not.toMatch(/unsafe|\*/)
  expect(page.headers).toMatchObject({
    'cache-control': 'no-cache',
    'x-content-type-options': 'nosniff',
    'referrer-policy': 'no-referrer',
  })
  for (const path of ['/app', '/app/account', '/app/account/filters', '/app/a/b/c', '/app/a/b/c/d', '/app/a/b/c/d/e'])
    expect([path, (await stranger(path)).body.equals(page.body)]).toEqual([path, true])
  expect((await stranger('/app/a/b/c/d/e/f')).status).toBe(404)
  const plain = await (await fetch(teal.url)).text()
  expect(plain).toBe(await (await fetch(`${teal.url}/docs`)).text())
})

test('files are compressed as the browser can read them, kept for good, and not sent twice', async () => {
  const page = (await stranger('/', html)).body.toString()
  const names = [...page.matchAll(/\/assets\/[\w.-]+/g)].map(match => match[0])
  expect(names).toHaveLength(4)
  for (const name of names) {
    const plain = await stranger(name)
    expect(plain.headers['cache-control']).toBe('public, max-age=31536000, immutable')
    expect(plain.headers['content-encoding']).toBeUndefined()
    const brotli = await stranger(name, { 'accept-encoding': 'gzip, br' })
    expect(brotli.headers).toMatchObject({ 'content-encoding': 'br', vary: 'Accept-Encoding' })
    expect(brotliDecompressSync(brotli.body).equals(plain.body)).toBe(true)
    const gzip = await stranger(name, { 'accept-encoding': 'gzip;q=0.5, br;q=0' })
    expect(gzip.headers['content-encoding']).toBe('gzip')
    expect(gunzipSync(gzip.body).equals(plain.body)).toBe(true)
    const tags = [plain, brotli, gzip].map(answer => answer.headers.etag ?? '')
    expect(new Set(tags).size).toBe(3)
    const again = await stranger(name, { 'accept-encoding': 'br', 'if-none-match': `W/"x", ${tags[1]}` })
    expect([again.status, again.body.length]).toEqual([304, 0])
  }
  for (const name of [
    'manifest.json',
    'index.en.html',
    'dev.html',
    'worker.js',
    'main.js',
    '..%2Fmanifest.json',
    '..%2F..%2Fpackage.json',
    'constructor',
  ])
    expect([name, (await stranger(`/assets/${name}`)).status]).toEqual([name, 404])
})

test('the page comes in the language that the browser asks for, and asks for its texts at once', async () => {
  const languages = [
    ['de-AT,de;q=0.9,en;q=0.8', 'de'],
    ['en;q=0.2, ar;q=0.7', 'ar'],
    ['fr, de;q=0, xx-garbage;;q=, *;q=0.1', 'en'],
    ['', 'en'],
  ] as const
  for (const [asked, given] of languages) {
    const page = await stranger('/app', { ...html, 'accept-language': asked })
    expect([asked, /<html lang="(..)"/.exec(page.body.toString())?.[1]]).toEqual([asked, given])
    expect(page.headers.vary).toBe('Accept-Encoding, Accept-Language, Cookie, Sec-Fetch-Site')
    const [, early = ''] = /<link rel="modulepreload" href="([^"]+)">/.exec(page.body.toString()) ?? []
    expect(early).toMatch(new RegExp(`^/assets/${given}-`))
    expect((await stranger(early)).headers['content-type']).toMatch(/^text\/javascript/)
  }
})

test('it comes with the form to sign in, which sends nothing by itself, where the browser has no session', async () => {
  for (const cookie of ['', '__Host-teal=', 'other=1; teal-kept=0123', 'steal=1']) {
    const page = (await stranger('/app', { ...html, cookie })).body.toString()
    expect([cookie, /<form [^>]*method="dialog"/.test(page)]).toEqual([cookie, true])
    expect(page).toMatch(/<button disabled type="submit"/)
  }
  for (const cookie of ['__Host-teal=0123', 'a=b; teal=0123', 'a=b;__Host-teal=0123; c=d']) {
    const page = (await stranger('/app', { ...html, cookie })).body.toString()
    expect([cookie, page.includes('<form')]).toEqual([cookie, false])
  }
  const [entry, index] = await Promise.all(['', 'teal=1'].map(cookie => stranger('/app', { ...html, cookie })))
  expect(entry?.headers.etag).not.toBe(index?.headers.etag)
  const again = await stranger('/app', { ...html, cookie: 'teal=1', 'if-none-match': entry?.headers.etag ?? '' })
  expect(again.status).toBe(200)
})

test('no page that led to it keeps a hold of it, but for the empty form of who typed its address', async () => {
  const cases = [
    ['', 'none', undefined],
    ['', '', 'same-origin'],
    ['', 'cross-site', 'same-origin'],
    ['', 'same-site', 'same-origin'],
    ['', 'same-origin', 'same-origin'],
    ['teal=1', 'none', 'same-origin'],
    ['teal=1', 'cross-site', 'same-origin'],
  ] as const
  const tags = new Map<string | undefined, string>()
  for (const [cookie, site, policy] of cases) {
    const page = await stranger('/app', { ...html, cookie, 'sec-fetch-site': site })
    expect([cookie, site, page.headers['cross-origin-opener-policy']]).toEqual([cookie, site, policy])
    if (cookie === '') tags.set(policy, page.headers.etag ?? '')
  }
  // What a browser kept of one is not taken for the other.
  const kept = { ...html, 'sec-fetch-site': 'cross-site', 'if-none-match': tags.get(undefined) ?? '' }
  expect((await stranger('/app', kept)).status).toBe(200)
  expect((await stranger('/app', { ...kept, 'if-none-match': tags.get('same-origin') ?? '' })).status).toBe(304)
})

test('the worker that keeps the page knows every file that it names, and may ask this service alone', async () => {
  const page = (await stranger('/app', html)).body.toString()
  const worker = await stranger('/worker.js')
  expect(worker.headers).toMatchObject({
    'cache-control': 'no-cache',
    'content-type': 'text/javascript; charset=utf-8',
    'content-security-policy': "default-src 'none'; connect-src 'self'",
  })
  const known = new Set(worker.body.toString().match(/\/assets\/[\w.-]+/g))
  for (const [name] of page.matchAll(/\/assets\/[\w.-]+/g)) expect([name, known.has(name)]).toEqual([name, true])
  for (const name of known) expect([name, (await stranger(name)).status]).toEqual([name, 200])
  expect([...known].some(name => name.includes('/dev-'))).toBe(false)
})

test('on the port for strangers the session of the page opens the API, and a token does not', async () => {
  await fetch(`${teal.url}/users`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-access-token': teal.rootToken },
    body: JSON.stringify({ username: 'anna', password: 'secret of anna', address: 'anna@example.com' }),
  })
  const { port } = teal.listeners.web ?? { port: 0 }
  const own = {
    host: `mx.example.com:${port}`,
    origin: `https://mx.example.com:${port}`,
    'sec-fetch-site': 'same-origin',
    'x-teal-page': '1',
  }
  const entered = await stranger(
    '/session',
    own,
    'POST',
    JSON.stringify({ username: 'anna', password: 'secret of anna' }),
  )
  expect(entered.status).toBe(200)
  const [cookie = ''] = (entered.headers['set-cookie'] ?? '').split(';')
  expect(entered.headers['set-cookie']).toMatch(
    /^__Host-teal=[0-9a-f]{40}; Path=\/; HttpOnly; SameSite=Strict; Secure$/,
  )
  const planted = cookie.replace('__Host-', '')
  expect((await stranger('/users/me', { ...own, cookie: planted })).status).toBe(404)
  const token = cookie.slice(cookie.indexOf('=') + 1)
  expect(JSON.parse(String((await stranger('/users/me', { ...own, cookie })).body))).toMatchObject({ username: 'anna' })
  const foreign = { 'sec-fetch-site': 'cross-site', cookie }
  for (const [path, headers] of [
    ['/users/me', { 'x-access-token': token }],
    ['/users/me', { authorization: `Bearer ${token}` }],
    [`/users/me?accessToken=${token}`, {}],
    ['/users/me', foreign],
    ['/openapi.json', { ...own, cookie }],
    ['/nothing', { ...own, cookie }],
  ] as const)
    expect([path, (await stranger(path, headers)).status]).toEqual([path, 404])
  expect((await stranger('/users/me', own, 'PATCH')).status).toBe(404)
  // A token beside the cookie is not looked at.
  const both = { ...own, cookie, 'x-access-token': teal.rootToken }
  expect((await stranger('/settings', both)).status).toBe(403)
  expect((await stranger(`/users/me?accessToken=${teal.rootToken}`, { ...own, cookie })).status).toBe(200)
})

test('web/base/api.ts is what node deploy/client.ts writes', async () => {
  const document = await (await fetch(`${teal.url}/openapi.json`)).json()
  expect(readFileSync('web/base/api.ts', 'utf8')).toBe(clientTypes(document as never))
  expect(await teal.check()).toEqual([])
})
