// Ports for peers: a free one, and waiting until somebody greets on it.

import { createServer } from 'node:net'
import { sleep } from '#lib/clock.ts'
import { openLines, type Target } from '../load/line.ts'

/** A port of loopback that nobody uses at this moment. */
export function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer()
    server.once('error', reject)
    server.listen(0, '127.0.0.1', () => {
      const address = server.address()
      const port = typeof address === 'object' && address !== null ? address.port : 0
      server.close(() => resolve(port))
    })
  })
}

/** Waits until the peer greets. Throws after ten seconds without. */
export async function greeting(target: Target, name: string): Promise<void> {
  for (let attempt = 0; attempt < 100; attempt++) {
    const greeted = await new Promise<boolean>(resolve => {
      openLines(
        target,
        (_, client) => {
          resolve(true)
          client.end()
        },
        () => resolve(false),
      )
    })
    if (greeted) return
    await sleep(100)
  }
  throw new Error(`${name} did not greet`)
}
