// The web application in a real browser against a real service, and everything that is wrong by itself: an error in the console, a
// violation of the policy, a request to another host, what axe finds.
//
// `usePage` starts one service for a file; `visit` opens a window that nobody has used, or that was emptied of all but the scripts it has
// compiled. Whatever a window did that it must not fails the test that used it. `look` runs axe over what is shown, light and wide, dark
// and narrow.

import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import type { BrowserContext, Page } from 'playwright-core'
import { afterEach, beforeAll, expect } from 'vitest'
import type { ConfigPart } from '#config'
import { within } from '#lib/clock.ts'
import { type Running, useTeal } from '../../running.ts'
import { type Kind, keepProcess, pagesOf, sharedChromium } from '../chromium.ts'

export interface Visit {
  /** Of the browser: `en`, `de`, `ar`. */
  readonly locale?: string
  readonly colorScheme?: 'light' | 'dark'
  readonly width?: number
  /** Signs in with the password of `running.user`. */
  readonly as?: string
  /** Signs in with the service's root token, or this one. */
  readonly token?: string
  /** In a browser that has nothing of the page yet. */
  readonly isFirst?: boolean
  /** In the whole browser, which shows PDF. */
  readonly kind?: Kind
}

export interface Pages {
  readonly service: Running
  /** `http://localhost:<port>`, where browsers trust as over TLS. */
  readonly origin: string
  /** Opens a window at a place, `/app/account`. */
  visit(path: string, visit?: Visit): Promise<Page>
  /** Messages of the console that this test provokes, as parts of their texts. */
  expectErrors(...texts: string[]): void
}

/** In ASCII alone: browsers take a script with anything else in it in twice the space and half again the time. */
const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8').replace(
  /[^\0-\x7f]/g,
  unit => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`,
)
const narrow = 320
const wide = 1280

export interface Use {
  /** With the worker that keeps the page (web/worker.ts): what is done without a network, through it or to it is not shown without. */
  readonly hasWorker?: boolean
}

/** To keep the page costs more than to open it: some sixty files, asked for and written, two seconds after each first place. */
const withoutWorker = 'delete Navigator.prototype.serviceWorker'

/** A service and a browser for the tests of a file. */
export function usePage(options: ConfigPart = {}, { hasWorker = false }: Use = {}): Pages {
  const service = useTeal({ api: { port: 0, accessControl: { enabled: true } }, ...options })
  let wrong: string[] = []
  let expected: string[] = []
  const open: Window[] = []
  beforeAll(() => sharedChromium())
  afterEach(async () => {
    await Promise.all(open.splice(0).map(window => leave(window, originOf())))
    const left = wrong.filter(one => !expected.some(text => one.includes(text)))
    wrong = []
    expected = []
    expect(left).toEqual([])
  })
  const originOf = () => `http://localhost:${service.at('api').port}`
  return {
    service,
    get origin() {
      return originOf()
    },
    expectErrors: (...texts) => {
      expected = texts
    },
    async visit(path, visit = {}) {
      const {
        locale = 'en-GB',
        colorScheme = 'light',
        width = wide,
        as,
        token,
        isFirst = false,
        kind = 'shell',
      } = visit
      const like = `${kind} ${locale} ${hasWorker}`
      const used = isFirst ? undefined : emptied.get(like)?.pop()
      const viewport = { width: wide, height: 800 }
      const browser = await sharedChromium(kind)
      const context = used ?? (await browser.newContext({ locale, viewport, acceptDownloads: true }))
      open.push({ context, like })
      if (used === undefined) {
        if (!hasWorker) await context.addInitScript(withoutWorker)
        await keepProcess(context, 'localhost')
      }
      const page = await context.newPage()
      await page.emulateMedia({ colorScheme })
      if (width !== wide) await page.setViewportSize({ width, height: 800 })
      watch(page, originOf(), text => wrong.push(text))
      if (as !== undefined) await enter(page, originOf(), { username: as, password: `secret of ${as}` })
      if (token !== undefined) await enter(page, originOf(), { accessToken: token })
      await page.goto(originOf() + path)
      await page.locator('h1').first().waitFor()
      return page
    },
  }
}

interface Window {
  readonly context: BrowserContext
  readonly like: string
}

/** Windows that wait for the next test, by their browser and language: what they compiled once is half of what opening one costs. */
const emptied = new Map<string, BrowserContext[]>()

/** How long a window may take to be emptied: under load now and then one does not answer its browser any more. */
const leaveMs = 30_000

/** Empties a window of everything it was told, or closes it where that is not to be had. */
async function leave({ context, like }: Window, origin: string): Promise<void> {
  const late = () => new Error('the window does not answer')
  try {
    await within(leaveMs, empty(context, origin), late)
    emptied.set(like, [...(emptied.get(like) ?? []), context])
  } catch {
    await within(leaveMs, context.close(), late).catch(() => {})
  }
}

async function empty(context: BrowserContext, origin: string): Promise<void> {
  const [page, ...others] = pagesOf(context)
  if (page === undefined) throw new Error('the window is closed')
  await Promise.all(others.map(other => other.close()))
  if (!(await wasCutOff(context, false))) throw new Error('the window does not answer')
  // What it shows asks nothing more, now that nobody is signed in.
  await page.goto('about:blank')
  await context.clearCookies()
  const cdp = await context.newCDPSession(page)
  const storageTypes = 'local_storage,indexeddb,cache_storage,service_workers'
  await cdp.send('Storage.clearDataForOrigin', { origin, storageTypes })
  await page.close()
}

/** How long a browser may take to say that a window is cut off. */
const cutOffMs = 10_000

/**
 * Cuts a window off, or lets it on again. Playwright tells the pages and then their workers, without a limit of its own: where one does not
 * answer, the pages have been told.
 */
export async function setOffline(context: BrowserContext, isOff: boolean): Promise<void> {
  await wasCutOff(context, isOff)
}

async function wasCutOff(context: BrowserContext, isOff: boolean): Promise<boolean> {
  const late = new Error('the browser does not say that it has')
  const told = async () => {
    await wakeWorkers(context)
    await context.setOffline(isOff)
  }
  try {
    await within(cutOffMs, told(), () => late)
    return true
  } catch (error) {
    if (error !== late) throw error
    return false
  }
}

/** A worker that has nothing to do is stopped, and answers nothing that it is told until it has. */
async function wakeWorkers(context: BrowserContext): Promise<void> {
  const [page] = pagesOf(context)
  const [worker] = context.serviceWorkers()
  if (page === undefined || worker === undefined) return
  // It ends with the page, as the one of `bringAxe`.
  const cdp = await context.newCDPSession(page)
  await cdp.send('ServiceWorker.enable')
  await cdp.send('ServiceWorker.startWorker', { scopeURL: new URL('/', worker.url()).href })
  await cdp.send('ServiceWorker.disable')
}

/** Signs in by the page's own call, so that not each test goes through the form. */
async function enter(page: Page, origin: string, data: Record<string, string>): Promise<void> {
  const headers = { 'x-teal-page': '1', origin }
  // A connection that was kept may be closed just now.
  const response = await page.context().request.post(`${origin}/session`, { headers, data, maxRetries: 3 })
  expect(await response.json()).toMatchObject({ signedIn: true })
}

function watch(page: Page, origin: string, tell: (text: string) => void): void {
  page.on('console', message => {
    if (['error', 'warning'].includes(message.type())) tell(`console: ${message.text()} ${message.location().url}`)
  })
  page.on('pageerror', error => tell(`error: ${error.stack ?? error.message}`))
  page.on('request', request => {
    const url = request.url()
    // What shows a PDF is an extension of the browser's own.
    if (!url.startsWith(`${origin}/`) && !/^(data|blob|about|chrome|chrome-extension):/.test(url))
      tell(`request: ${url}`)
  })
}

interface Finding {
  readonly id: string
  readonly nodes: readonly { readonly html: string; readonly failureSummary: string }[]
}

/** What depends on widths and colours is seen in the two that have neither in common. */
const looks = [
  { colorScheme: 'light', width: wide, isForAxe: true },
  { colorScheme: 'dark', width: narrow, isForAxe: true },
] as const

/** What does not depend on colours and widths: for the same page in another language. */
const glances = [
  { colorScheme: 'light', width: wide, isForAxe: true },
  { colorScheme: 'light', width: narrow, isForAxe: false },
] as const

/** Runs axe over what is shown, in one look, and sees that nothing is wider than a window, wide or narrow. */
export function glance(page: Page): Promise<void> {
  return look(page, glances)
}

/** As a script of its own, which a browser compiles once for all pages of a process, as it does not what a script evaluates. */
async function bringAxe(page: Page): Promise<void> {
  const cdp = await page.context().newCDPSession(page)
  // The session ends with the page: what ends one takes the page's authenticators and its connection's state with it.
  await cdp.send('Runtime.evaluate', { expression: axe })
}

interface Look {
  readonly colorScheme: 'light' | 'dark'
  readonly width: number
  /** Else it is only seen how wide it is. */
  readonly isForAxe: boolean
}

/** Frames have no axe, which nothing runs in; to find that out costs half a second each time. */
const how = { iframes: false, preload: false, selectors: false, resultTypes: ['violations'] }

/** What axe finds in what is shown now, as texts. */
async function findings(page: Page): Promise<string[]> {
  const found = await page.evaluate<readonly Finding[]>(
    `axe.run(document, ${JSON.stringify(how)}).then(found => found.violations)`,
  )
  return found.flatMap(({ id, nodes }) => nodes.map(node => `${id}: ${node.html} ${node.failureSummary}`))
}

/** Runs axe over what is shown, light and wide, dark and narrow, and sees that nothing is wider than the window. */
export async function look(page: Page, all: readonly Look[] = looks): Promise<void> {
  const before = page.viewportSize() ?? { width: wide, height: 800 }
  if (!(await page.evaluate<boolean>('"axe" in window'))) await bringAxe(page)
  for (const { colorScheme, width, isForAxe } of all) {
    await page.emulateMedia({ colorScheme })
    if (page.viewportSize()?.width !== width) await page.setViewportSize({ width, height: before.height })
    if (isForAxe) expect(await findings(page), `${colorScheme}, ${width} wide`).toEqual([])
    const over = await page.evaluate<number>(
      'document.documentElement.scrollWidth - document.documentElement.clientWidth',
    )
    expect(over, `too wide by, in a window of ${width}`).toBeLessThanOrEqual(0)
  }
  await page.emulateMedia({ colorScheme: 'light' })
  await page.setViewportSize(before)
}

const tabsMax = 250

/** Goes through what is shown with the keyboard alone: everything is reached, and seen to be reached. */
export async function tabThrough(page: Page, what = page.url()): Promise<void> {
  await page.evaluate(`
    globalThis.missed = new Set([...document.querySelectorAll('main :is(a[href], button, input, select, textarea, summary)')]
      .filter(one => !one.disabled && one.tabIndex >= 0 && one.getClientRects().length > 0 && one.type !== 'radio'))
    globalThis.unseen = []
    globalThis.heard = () => {
      missed.delete(document.activeElement)
      const { outlineStyle, boxShadow } = getComputedStyle(document.activeElement)
      if (document.activeElement !== document.body && outlineStyle === 'none' && boxShadow === 'none')
        unseen.push(document.activeElement.outerHTML)
      return missed.size
    }
  `)
  expect(await page.evaluate<number>('missed.size'), what).toBeGreaterThan(0)
  for (let presses = 0; presses < tabsMax; presses++) {
    await page.keyboard.press('Tab')
    if ((await page.evaluate<number>('heard()')) === 0) break
  }
  const left = await page.evaluate<string[]>('[...missed].map(one => one.outerHTML)')
  expect([what, left, await page.evaluate('unseen')]).toEqual([what, [], []])
}

/** Keeps pictures of a page where TEAL_TEST_SHOTS names a folder: for people to look at. */
export async function shoot(page: Page, name: string): Promise<void> {
  const folder = process.env.TEAL_TEST_SHOTS
  if (folder === undefined) return
  const before = page.viewportSize() ?? { width: wide, height: 800 }
  for (const colorScheme of ['light', 'dark'] as const) {
    for (const width of [wide, 390]) {
      await page.emulateMedia({ colorScheme })
      await page.setViewportSize({ width, height: 800 })
      await page.screenshot({ path: `${folder}/${name}-${colorScheme}-${width}.png`, fullPage: true })
    }
  }
  await page.emulateMedia({ colorScheme: 'light' })
  await page.setViewportSize(before)
}

/** Goes on as a link does, and waits until nothing is asked any more. */
export async function settled(page: Page, path: string): Promise<void> {
  await page.evaluate(
    `history.pushState(null, '', ${JSON.stringify(path)}); dispatchEvent(new PopStateEvent('popstate'))`,
  )
  await page.locator('h1').first().waitFor()
  await page.waitForLoadState('networkidle')
  await page.locator('.spinner').first().waitFor({ state: 'detached' })
}
