// A whole service as a node, in a process of its own, for tests that kill it: says where it listens. Told a number of milliseconds its
// clock goes on by them, told anything else it closes.

import process from 'node:process'
import { advanceClock } from '#lib/clock.ts'
import { startTeal } from '#service'

export interface Up {
  readonly url: string
  readonly rootToken: string
  readonly listeners: Record<string, { host: string; port: number }>
}

const [, , dataDir = '', url = '', nats = '', node = '', more = '{}'] = process.argv
const teal = await startTeal({ ...JSON.parse(more), dataDir, store: { url }, cluster: { nats, node } })
process.send?.({ url: teal.url, rootToken: teal.rootToken, listeners: teal.listeners })
process.on('message', message => {
  if (typeof message === 'number') advanceClock(message)
  else void teal.close().then(() => process.disconnect())
})
