// Debian's Chromium, installed where it is missing and this is root, and driven through playwright-core.

import { type Browser, chromium } from 'playwright-core'
import { installed } from '../../bench/peer/install.ts'

const program = '/usr/bin/chromium'

let shared: Promise<Browser> | undefined

/** The one browser of the files that a process runs one after the other; it ends with the process. */
export function sharedChromium(): Promise<Browser> {
  shared ??= startChromium()
  return shared
}

/** Starts a browser that talks to nobody but the page of the test. */
export async function startChromium(): Promise<Browser> {
  installed('chromium', ['chromium'])
  return chromium.launch({
    executablePath: program,
    headless: true,
    args: [
      ...['--headless', '--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run'],
      ...['--disable-background-networking', '--disable-component-update', '--disable-sync'],
    ],
  })
}
