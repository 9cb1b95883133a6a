// Mail into a running service, and waiting for what happens in the background.

import { sleep } from '#lib/clock.ts'
import { deliver, openLmtp } from '../../dialogue.ts'
import type { Running } from '../../running.ts'

/** Delivers a message over LMTP and returns the answer for each recipient. */
export async function send(running: Running, to: string | readonly string[], message: string): Promise<string[]> {
  const lmtp = await openLmtp(running.at('lmtp'))
  try {
    const recipients = typeof to === 'string' ? [to] : to
    return await deliver(lmtp, 'sender@example.org', recipients, Buffer.from(message.replace(/\r?\n/g, '\r\n')))
  } finally {
    lmtp.close()
  }
}

/** What `read` gives once it is `good`; fails after ten seconds with what it gave last. */
export async function eventually<T>(read: () => T | Promise<T>, good: (found: T) => boolean): Promise<T> {
  for (let tries = 0; ; tries++) {
    const found = await read()
    if (good(found)) return found
    if (tries > 500) throw new Error(`waited in vain: ${JSON.stringify(found)}`)
    await sleep(20)
  }
}
