// A whole service as a node in a process of its own, for the chaos suite: its log goes to a file, its clock may be moved (machine-clock.ts).
//
// It is the service as it was built, which is up in a fifth of the time that its sources take.

import { resolve } from 'node:path'
import process from 'node:process'
import { pathToFileURL } from 'node:url'

/** What it is told at its start. */
export interface Given {
  readonly dataDir: string
  readonly store: string
  readonly nats: string
  readonly node: string
  readonly log: string
  readonly relay: string
}

/** What it says when it is up. */
export interface Up {
  readonly url: string
  readonly rootToken: string
  readonly listeners: Record<string, { host: string; port: number }>
}

const given = JSON.parse(process.argv[2] ?? '') as Given
interface Built {
  startTeal(options: object): Promise<Up & { close(): Promise<void> }>
}

const { startTeal } = (await import(pathToFileURL(resolve('dist/index.js')).href)) as Built
const teal = await startTeal({
  dataDir: given.dataDir,
  store: { url: given.store },
  cluster: { nats: given.nats, node: given.node },
  log: { level: 'info', file: given.log, format: 'json' },
  outbound: { relay: given.relay },
  mail: { defaultDomain: 'example.com' },
  network: { allowPrivate: ['127.0.0.0/8'] },
})
process.send?.({ url: teal.url, rootToken: teal.rootToken, listeners: teal.listeners } satisfies Up)
process.on('message', told => {
  if (told === 'close') void teal.close().then(() => process.disconnect())
})
