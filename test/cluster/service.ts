// A whole service as a node, in a process of its own, for tests that kill it: says where it listens.

import process from 'node:process'
import { startTeal } from '#service'

export interface Up {
  readonly url: string
  readonly rootToken: string
  readonly listeners: Record<string, { host: string; port: number }>
}

const [, , dataDir = '', url = '', nats = '', node = '', more = '{}'] = process.argv
const teal = await startTeal({ ...JSON.parse(more), dataDir, store: { url }, cluster: { nats, node } })
process.send?.({ url: teal.url, rootToken: teal.rootToken, listeners: teal.listeners })
process.on('message', () => {
  void teal.close().then(() => process.disconnect())
})
