// A whole service as a node, in a process of its own, for tests that kill it: says where it listens. Told to close it closes.
//
// It is the service as it was built, which takes a fifth of the processor that its sources take to be up. Only one whose clock a test
// moves ({ "clocked": true }) is of the sources: told a number of milliseconds its clock goes on by them.

import { resolve } from 'node:path'
import process from 'node:process'
import { pathToFileURL } from 'node:url'

export interface Up {
  readonly url: string
  readonly rootToken: string
  readonly listeners: Record<string, { host: string; port: number }>
}

interface Program {
  startTeal(options: object): Promise<Up & { close(): Promise<void> }>
  advanceClock?(ms: number): void
}

async function fromSources(): Promise<Program> {
  const [{ startTeal }, { advanceClock }] = await Promise.all([import('#service'), import('#lib/clock.ts')])
  return { startTeal: startTeal as Program['startTeal'], advanceClock }
}

const [, , dataDir = '', url = '', nats = '', node = '', more = '{}'] = process.argv
const { clocked = false, ...options } = JSON.parse(more)
const program: Program = clocked ? await fromSources() : await import(pathToFileURL(resolve('dist/index.js')).href)
// As the program has it that is started by its command line; in a library it would be Node's own.
const front = { api: { port: 0, front: 'auto', ...options.api } }
const teal = await program.startTeal({ ...options, ...front, dataDir, store: { url }, cluster: { nats, node } })
process.send?.({ url: teal.url, rootToken: teal.rootToken, listeners: teal.listeners } satisfies Up)
process.on('message', told => {
  if (typeof told === 'number') program.advanceClock?.(told)
  else void teal.close().then(() => process.disconnect())
})
