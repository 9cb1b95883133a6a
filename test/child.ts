// The service as a child process, started by its command line, for tests of starting, stopping and dying.

import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync } from 'node:fs'
import type { Config } from '#config'
import { sleep } from '#lib/clock.ts'
import { rootTokenFile, runFile } from '#store/folder/place.ts'

export interface Child {
  readonly process: ChildProcess
  readonly listeners: Record<string, { host: string; port: number }>
  /** Base address of the API. */
  readonly url: string
  readonly token: string
  /** Everything it printed so far. */
  output(): string
  /** Sends a signal and resolves with the exit code (null when the signal itself ended it). */
  end(signal: NodeJS.Signals): Promise<number | null>
}

const listeners = ['API', 'SMTP', 'LMTP', 'SUBMISSION', 'SUBMISSIONS', 'IMAP', 'IMAPS', 'POP3', 'POP3S']

/** Environment that puts every listener on a free port and everything else under `dataDir`; what is empty in `more` is left out. */
export function childEnvironment(dataDir: string, more: Record<string, string> = {}): Record<string, string> {
  const ports = Object.fromEntries(listeners.map(name => [`TEAL_${name}_PORT`, '0']))
  // The run of the tests may say how many threads have sessions; by itself none, so that what is killed on its way begins at once.
  const threads = { TEAL_THREADS: process.env.TEAL_TEST_THREADS ?? '0' }
  const fixed = { PATH: process.env.PATH ?? '', TEAL_DATA_DIR: dataDir, TEAL_LOG_LEVEL: 'warn' }
  const all = { ...fixed, ...threads, ...ports, ...more }
  return Object.fromEntries(Object.entries(all).filter(([, value]) => value !== ''))
}

/** Environment of a command beside a service in this process. */
export function environmentOf({ dataDir, store }: Config): Record<string, string> {
  return childEnvironment(dataDir, { TEAL_STORE_URL: store.url })
}

/** Where this run of the tests keeps what was compiled: to start the program then takes less of a processor. */
const compiled: Record<string, string> =
  process.env.NODE_COMPILE_CACHE === undefined ? {} : { NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE }

/** Runs a command of the program to its end, begun with the words of `through` where there are any. */
export async function runTeal(
  words: readonly string[],
  env: Record<string, string>,
  through: readonly string[] = [],
): Promise<{ code: number | null; out: string; err: string }> {
  const [program = '', ...rest] = [...through, process.execPath, 'dist/main.js', ...words]
  const child = spawn(program, rest, { env: { ...compiled, ...env }, stdio: ['ignore', 'pipe', 'pipe'] })
  let out = ''
  let err = ''
  child.stdout.on('data', chunk => {
    out += chunk
  })
  child.stderr.on('data', chunk => {
    err += chunk
  })
  const [code] = (await once(child, 'close')) as [number | null]
  return { code, out, err }
}

/**
 * Starts the service and waits until it says where its listeners are.
 *
 * @param descriptors how many files and sockets it may have open
 */
export async function startChild(
  dataDir: string,
  more: Record<string, string> = {},
  descriptors?: number,
): Promise<Child> {
  const env = { ...compiled, ...childEnvironment(dataDir, more) }
  const limit = descriptors === undefined ? '' : `ulimit -n ${descriptors}; `
  const words = ['-c', `${limit}exec "$0" "$@"`, process.execPath, 'dist/main.js', 'serve']
  const child = spawn('/bin/sh', words, { env, stdio: ['ignore', 'pipe', 'pipe'] })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', chunk => {
      output += chunk
    })
  }
  // One that was killed leaves its file behind.
  const isUp = () =>
    existsSync(runFile(dataDir)) && JSON.parse(readFileSync(runFile(dataDir), 'utf8')).pid === child.pid
  for (let waited = 0; !isUp(); waited++) {
    if (waited > 1000 || child.exitCode !== null) throw new Error(`the service did not start: ${output}`)
    await sleep(20)
  }
  const { listeners } = JSON.parse(readFileSync(runFile(dataDir), 'utf8')) as Pick<Child, 'listeners'>
  return {
    process: child,
    listeners,
    url: `http://127.0.0.1:${listeners.api?.port}`,
    token: readFileSync(rootTokenFile(dataDir), 'utf8').trim(),
    output: () => output,
    async end(signal) {
      if (child.exitCode !== null || child.signalCode !== null) return child.exitCode
      const ended = once(child, 'exit') as Promise<[number | null]>
      child.kill(signal)
      return (await ended)[0]
    },
  }
}
