// Debian's Chromium, installed where it is missing and this is root, and driven through playwright-core.
//
// Twice: its shell, which is the same engine without a surface of its own, so that a window of it opens in a third less of processor time,
// and the whole program, which besides shows PDF and tells on the desktop.

import { type Browser, chromium } from 'playwright-core'
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
