// When the engine optimizes what runs: after 3,000 calls of a function in each thread by itself, which suits a page or a loop.
//
// What a service does for a message runs through some thousand functions once or twice each, in several threads, so that by
// the engine's own measure it took 15,000 messages until one cost what it costs (bench/NOTES.md, Mail of strangers).

import { setFlagsFromString } from 'node:v8'

/** Calls before a function is optimized, and without anything new in what it meets. */
const calls = { least: 300, settled: 100 } as const

/** For all threads of this process, also those that run. For a process that is a service and nothing else. */
export function optimizeEarly(): void {
  // Another engine may not know them, and says so on its error output.
  if (!process.versions.v8.startsWith('12.')) return
  setFlagsFromString(`--invocation-count-for-turbofan=${calls.least}`)
  setFlagsFromString(`--minimum-invocations-after-ic-update=${calls.settled}`)
}
