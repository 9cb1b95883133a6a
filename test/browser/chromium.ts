// Debian's Chromium, installed where it is missing and this is root, and driven through playwright-core.
//
// Twice: its shell, which is the same engine without a surface of its own, so that a window of it opens in a third less of processor time,
// and the whole program, which besides shows PDF.

import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type Browser, type BrowserContext, chromium, type Page } from 'playwright-core'
import { installed } from '../../bench/peer/install.ts'

/** What Debian's package and its program are called. */
const names = { shell: 'chromium-headless-shell', whole: 'chromium' } as const

export type Kind = keyof typeof names

const shared = new Map<Kind, Promise<Browser>>()

/** The one browser of its kind of the files that a process runs one after the other; it ends with the process. */
export function sharedChromium(kind: Kind = 'shell'): Promise<Browser> {
  const browser = shared.get(kind) ?? startChromium(kind)
  shared.set(kind, browser)
  return browser
}

/** Starts a browser that talks to nobody but the page of the test. */
export async function startChromium(kind: Kind): Promise<Browser> {
  // Both before the first test, since that takes longer than a test may.
  for (const name of Object.values(names)) installed(name, [name])
  return chromium.launch({
    executablePath: `/usr/bin/${names[kind]}`,
    headless: true,
    args: [
      ...['--headless', '--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run'],
      ...['--disable-background-networking', '--disable-component-update', '--disable-sync'],
      // Windows share what draws them where they may: starting one for each takes time.
      '--renderer-process-limit=1',
    ],
  })
}

let empty: Promise<Server> | undefined
const keepers = new WeakMap<BrowserContext, Page>()

/**
 * Opens an empty page that stays: with the last page of a site ends the process that draws it, and all that it has compiled. It is of the
 * same site (a host, whatever the port), of no origin that a test knows, and nobody tells it anything.
 */
export async function keepProcess(context: BrowserContext, host: string): Promise<void> {
  empty ??= startEmpty()
  const keeper = await context.newPage()
  keepers.set(context, keeper)
  await keeper.goto(`http://${host}:${((await empty).address() as AddressInfo).port}/`)
}

async function startEmpty(): Promise<Server> {
  const server = createServer((_request, response) => response.end()).listen(0, '127.0.0.1')
  await once(server, 'listening')
  // It ends with the process.
  return server.unref()
}

/** Pages that are open, without the one that keeps their process. */
export function pagesOf(context: BrowserContext): Page[] {
  return context.pages().filter(page => page !== keepers.get(context))
}
