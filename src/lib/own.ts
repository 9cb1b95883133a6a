// The program's own files: its version and its threads, whether it runs from the source tree or from the one executable
// that `npm run build` makes. A bundle says so by two constants that the bundler puts in; nothing else may ask where the
// program lies.

import { readFileSync } from 'node:fs'
import { Worker } from 'node:worker_threads'

declare const TEAL_VERSION: string
declare const TEAL_FOLDER: string

const bundled = typeof TEAL_VERSION === 'string'

/** Told in greetings, /health and the metrics. */
export const version: string = bundled ? TEAL_VERSION : sourceVersion()

export type ThreadName = 'body' | 'checkpoint' | 'key' | 'password' | 'pattern' | 'query' | 'seal' | 'verify' | 'writer'

/** The file a thread starts from. */
export function threadFile(name: ThreadName): URL {
  if (bundled) return new URL(`file://${TEAL_FOLDER}/${name}.cjs`)
  return new URL(`../../workers/${name}.ts`, import.meta.url)
}

/**
 * Options every thread is started with: what the program itself was told to import first, and before that the file that
 * spares it to take the types off its modules.
 */
export const threadOptions: readonly string[] | undefined = bundled
  ? undefined
  : ['--import', new URL('./stripped.js', import.meta.url).href, ...imported(process.execArgv)]

/** Starts one of the threads outside of the pools. */
export function startThread(name: ThreadName, workerData: unknown): Worker {
  const execArgv = threadOptions === undefined ? {} : { execArgv: [...threadOptions] }
  return new Worker(threadFile(name), { workerData, ...execArgv })
}

function imported(options: readonly string[]): string[] {
  return options.flatMap((option, at) => {
    if (option.startsWith('--import=')) return [option]
    return option === '--import' ? [option, options[at + 1] ?? ''] : []
  })
}

function sourceVersion(): string {
  const text = readFileSync(new URL('../../package.json', import.meta.url), 'utf8')
  return (JSON.parse(text) as { version: string }).version
}
