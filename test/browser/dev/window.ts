// The page of `teal dev` in a real browser, and everything that is wrong by itself: a violation of the policy by the page, an error in
// the console, a request to another host, a dialog, a window that a mail opened.
//
// One service for the tests of a file; each test has a window of its own, with nothing remembered, and an empty list.

import { createServer, type Server } from 'node:net'
import type { Browser, BrowserContext, Page } from 'playwright-core'
import { afterAll, afterEach, beforeAll, beforeEach, expect } from 'vitest'
import { type Dev, startDev } from '#dev/dev.ts'
import { deliver, writeDraft } from '#testing/sending.ts'
import { keepProcess, sharedChromium } from '../chromium.ts'

export interface DevPage {
  readonly dev: Dev
  readonly browser: Browser
  readonly page: Page
  /** Where nobody may be led: what arrives there fails the test. */
  readonly elsewhere: string
  send(draft: object, to?: string): Promise<void>
  subjects(): Promise<string[]>
  /** Fails with what a further window does. */
  watch(page: Page): void
  /** What the console says of answers of this status is provoked. */
  expectStatus(status: number): void
}

export function useDevPage(): DevPage {
  let browser: Browser
  let dev: Dev
  let context: BrowserContext
  let page: Page
  let elsewhere: Server
  let wrong: string[]
  let reached = 0

  beforeAll(async () => {
    elsewhere = createServer(socket => {
      reached += 1
      socket.destroy()
    }).listen(0, '127.0.0.1')
    dev = await startDev({ ports: { smtp: 0, http: 0, imap: 0, pop3: 0 } })
    browser = await sharedChromium()
    context = await browser.newContext({ viewport: { width: 1200, height: 760 } })
    await keepProcess(context, new URL(dev.url).hostname)
  })
  afterAll(async () => {
    await context?.close()
    elsewhere.close()
    await dev?.close()
  })
  beforeEach(async () => {
    wrong = []
    page = await context.newPage()
    watch(page)
    await page.goto(dev.url)
    await page.locator('#live.on').waitFor()
  })
  afterEach(async () => {
    expect(wrong).toEqual([])
    expect(reached).toBe(0)
    expect(await dev.host.teal.check()).toEqual([])
    await page.evaluate('localStorage.clear()')
    await page.close()
    await fetch(`${dev.url}/dev/v1/mails`, { method: 'DELETE' })
  })
  function watch(one: Page): void {
    one.on('console', message => {
      // That is what keeps the frame of a mail from doing what it tries.
      const inFrame = message.location().url.includes('/html')
      if (['error', 'warning'].includes(message.type()) && !inFrame) wrong.push(`console: ${message.text()}`)
    })
    one.on('pageerror', error => wrong.push(`error: ${error.message}`))
    one.on('dialog', dialog => {
      wrong.push(`dialog: ${dialog.message()}`)
      void dialog.dismiss()
    })
    one.on('request', request => {
      if (!/^(data:|about:|cid:)/.test(request.url()) && !request.url().startsWith(`${dev.url}/`))
        wrong.push(`request: ${request.url()}`)
    })
    // What its policy keeps from leaving was still asked for by the mail.
    one.on('requestfailed', request => {
      if (request.failure()?.errorText === 'csp') wrong = wrong.filter(text => text !== `request: ${request.url()}`)
    })
    one.on('popup', () => wrong.push('popup'))
  }
  return {
    get dev() {
      return dev
    },
    get browser() {
      return browser
    },
    get page() {
      return page
    },
    get elsewhere() {
      return `http://127.0.0.1:${(elsewhere.address() as { port: number }).port}`
    },
    async send(draft, to = 'anna@example.com') {
      const at = { host: '127.0.0.1', port: dev.ports.smtp ?? 0 }
      await deliver(at, { from: 'app@example.com', to: [to] }, await writeDraft({ to, ...draft }))
    },
    subjects: () => page.locator('#list .subject').allTextContents(),
    watch,
    expectStatus: status => {
      wrong = wrong.filter(text => !text.includes(`status of ${status}`))
    },
  }
}
