// The program's own files: its version, its threads and its page. Sources and what is built of them lie alike, so that both are found
// from here in one way (deploy/bundle.ts); nothing else may ask where the program lies.

import { readFileSync } from 'node:fs'

/** Told in greetings, /health and the metrics. */
export const version: string = ownVersion()

export type ThreadName =
  | 'backup'
  | 'body'
  | 'checkpoint'
  | 'front'
  | 'key'
  | 'mail-source'
  | 'password'
  | 'pattern'
  | 'postgres-writer'
  | 'query'
  | 'seal'
  | 'spam'
  | 'verify'
  | 'writer'

/** How this file and the threads end: .ts among the sources, else as the bundle has it. */
const suffix = /\.[a-z]+$/.exec(new URL(import.meta.url).pathname)?.[0] ?? ''

/** The file a thread starts from. */
export function threadFile(name: ThreadName): URL {
  return new URL(`../../workers/${name}${suffix}`, import.meta.url)
}

/** A file of the web application as it was built; sources have it from the last build. */
export function pageFile(name: string): URL {
  return new URL(`../../${suffix === '.ts' ? 'dist/' : ''}web/${name}`, import.meta.url)
}

/** Options every thread is started with: what the program itself was told to import first. */
export const threadOptions: readonly string[] = imported(process.execArgv)

function imported(options: readonly string[]): string[] {
  return options.flatMap((option, at) => {
    if (option.startsWith('--import=')) return [option]
    return option === '--import' ? [option, options[at + 1] ?? ''] : []
  })
}

function ownVersion(): string {
  const text = readFileSync(new URL('../../package.json', import.meta.url), 'utf8')
  return (JSON.parse(text) as { version: string }).version
}
