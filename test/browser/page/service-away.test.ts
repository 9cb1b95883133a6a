// A service that goes away and comes back behind an open page, in a real browser: killed and started again, and replaced by a newer one,
// through something that stands before it.

import { mkdtempSync, rmSync } from 'node:fs'
import { request as ask, createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pipeline } from 'node:stream'
import type { BrowserContext, Page } from 'playwright-core'
import { afterEach, expect, test } from 'vitest'
import { startTeal, type Teal } from '#service'
import { account, mail } from '../../http/api/mail-world.ts'
import { accessTo } from '../../running.ts'
import { sharedChromium } from '../chromium.ts'
import { isKept } from './kept.ts'

const ends: (() => unknown)[] = []
afterEach(async () => {
  for (const end of ends.splice(0).toReversed()) await end()
})

const rows = (page: Page) => page.locator('.mail-row a')
const writer = (page: Page) => page.locator('.mail-writer')

async function start(dataDir: string): Promise<Teal> {
  const teal = await startTeal({ dataDir, api: { port: 0, accessControl: { enabled: true } } }, { strict: true })
  ends.push(() => teal.close())
  return teal
}

function folder(): string {
  const made = mkdtempSync(join(tmpdir(), 'teal-away-'))
  ends.push(() => rmSync(made, { recursive: true, force: true }))
  return made
}

/** What stands before a service: it may answer for it, or have it be a newer one. */
interface Before {
  readonly origin: string
  /** Where the service is; undefined: gone. */
  to: Teal | undefined
  /** What is done to texts of the page on their way. */
  change(path: string, text: string): string
}

async function standBefore(teal: Teal): Promise<Before> {
  const before: { to: Teal | undefined; change: Before['change'] } = { to: teal, change: (_, text) => text }
  const server: Server = createServer((request, response) => {
    const { to } = before
    if (to === undefined) {
      response.writeHead(502, { 'content-type': 'text/html' }).end('<h1>Bad gateway</h1>')
      return
    }
    const { url: path = '/', method, headers } = request
    const { 'accept-encoding': _, 'if-none-match': __, ...sent } = headers
    const onward = ask(to.url + path, { method, headers: sent }, answer => {
      const isText = path === '/worker.js' || path.startsWith('/app')
      const { 'content-length': length, ...given } = answer.headers
      if (!isText) {
        response.writeHead(answer.statusCode ?? 502, answer.headers)
        // What breaks off behind it breaks off before it.
        pipeline(answer, response, () => {})
        return
      }
      const parts: Buffer[] = []
      answer.on('data', part => parts.push(part))
      answer.on('end', () => {
        response.writeHead(answer.statusCode ?? 502, given)
        response.end(before.change(path, Buffer.concat(parts).toString()))
      })
    })
    onward.on('error', () => response.destroy())
    response.on('close', () => onward.destroy())
    request.pipe(onward)
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  ends.push(() => {
    server.closeAllConnections()
    server.close()
  })
  return Object.assign(before, { origin: `http://localhost:${(server.address() as AddressInfo).port}` })
}

async function enter(origin: string, name: string): Promise<{ page: Page; context: BrowserContext }> {
  const context = await (await sharedChromium()).newContext({ locale: 'en-GB' })
  ends.push(() => context.close())
  const headers = { 'x-teal-page': '1', origin }
  const data = { username: name, password: `secret of ${name}` }
  expect((await context.request.post(`${origin}/session`, { headers, data })).ok()).toBe(true)
  const page = await context.newPage()
  await page.goto(`${origin}/app/mail`)
  return { page, context }
}

test('a service that is killed and started again: the page comes up meanwhile, and what was written is sent once', async () => {
  const dataDir = folder()
  const teal = await start(dataDir)
  const before = await standBefore(teal)
  let now = teal
  const user = await account(
    accessTo(() => now),
    'patient',
  )
  await user.put('INBOX', mail('Before', 'x'))
  const { page } = await enter(before.origin, 'patient')
  await rows(page).filter({ hasText: 'Before' }).waitFor()
  await isKept(page, 'list ')
  before.to = undefined
  await teal.close()
  await page.locator('.mail-offline').waitFor()
  await page.reload()
  await rows(page).filter({ hasText: 'Before' }).waitFor()
  await page.locator('.mail-offline').waitFor()
  await page.getByRole('button', { name: 'New message' }).click()
  await writer(page).getByLabel('To', { exact: true }).fill('friend@example.net')
  await writer(page).getByLabel('Subject').fill('Written meanwhile')
  await writer(page).getByRole('button', { name: 'Send', exact: true }).click()
  await page.getByText('It will be sent').waitFor()
  now = await start(dataDir)
  await user.put('INBOX', mail('After', 'x'))
  before.to = now
  await rows(page).filter({ hasText: 'After' }).waitFor()
  await page.locator('.mail-offline').waitFor({ state: 'detached' })
  await expect.poll(async () => (await user.call('GET', '/outbound')).body.total).toBe(1)
  // It is live again, too.
  await user.put('INBOX', mail('Later still', 'x'))
  await rows(page).filter({ hasText: 'Later still' }).waitFor()
  expect((await user.call('GET', '/outbound')).body.total).toBe(1)
})

test('a newer page is shown at once and kept instead of the old one, whose open windows go on', async () => {
  const teal = await start(folder())
  const before = await standBefore(teal)
  const user = await account(
    accessTo(() => teal),
    'modern',
  )
  await user.put('INBOX', mail('Any', 'x'))
  const { page, context } = await enter(before.origin, 'modern')
  await rows(page).first().waitFor()
  await isKept(page, 'list ')
  const builds = () => page.evaluate<string[]>(`caches.keys()`)
  const [old = ''] = await builds()
  const build = old.slice(-12)
  before.change = (path, text) =>
    path === '/worker.js'
      ? text.replaceAll(build, 'abcdefabcdef')
      : text.replace('<title>', '<meta name="newer"><title>')
  const next = await context.newPage()
  await next.addInitScript(
    `window.served = new Promise(resolve => navigator.serviceWorker.addEventListener('controllerchange', () => resolve(), { once: true }))`,
  )
  await next.goto(`${before.origin}/app/mail`)
  // Asked for anew, whatever is kept.
  expect(await next.locator('meta[name=newer]').count()).toBe(1)
  // Its cache is there before all that belongs into it. The registration is not asked: a browser that is, at the wrong moment, waits on.
  await next.evaluate('window.served')
  expect(await builds()).toEqual([old, old.replace(build, 'abcdefabcdef')])
  await page.getByRole('link', { name: 'Contacts' }).click()
  await page.getByRole('heading', { level: 1, name: 'Contacts' }).waitFor()
  before.to = undefined
  await next.reload({ waitUntil: 'commit' })
  await rows(next).first().waitFor()
  expect(await next.locator('meta[name=newer]').count()).toBe(1)
})
