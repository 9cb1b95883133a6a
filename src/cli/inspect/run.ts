// What the service that runs writes down of itself: which process it is, and where it listens.
//
// Many commands ask that first, so nothing else is loaded with it.

import { readFileSync } from 'node:fs'
import { runFile } from '#store/folder/place.ts'

export interface Run {
  readonly pid: number
  readonly version: string
  readonly listeners: Readonly<Record<string, { readonly host: string; readonly port: number }>>
}

/** What the service that runs says of itself; undefined where none does. */
export function readRun(dataDir: string): Run | undefined {
  try {
    const run = JSON.parse(readFileSync(runFile(dataDir), 'utf8')) as Run
    process.kill(run.pid, 0)
    return run
  } catch (error) {
    // It is there, and somebody else's.
    if ((error as NodeJS.ErrnoException).code !== 'EPERM') return undefined
    return JSON.parse(readFileSync(runFile(dataDir), 'utf8')) as Run
  }
}
