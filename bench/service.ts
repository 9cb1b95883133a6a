// The measured service: a child process in a folder of its own, on free ports, with users to deliver to.
//
// It is started exactly as anybody would start it (`serve`, settings from the environment), found through run.json and
// spoken to with the root token; `loopDelay` comes from the probe that is loaded beside it.

import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { sleep } from '#lib/clock.ts'
import { startChild } from './child.ts'
import type { Target } from './load/line.ts'
import type { LoopDelay, Probed } from './probe.ts'

export interface Service {
  readonly pid: number
  readonly dataDir: string
  readonly token: string
  /** Milliseconds from the start of the process to its first answer over HTTP. */
  readonly startMs: number
  listener(name: string): Target
  /** Calls the API as root and gives the JSON it answers; throws on any status but 200. */
  call(method: string, path: string, body?: object): Promise<Record<string, unknown>>
  /** How late the main loop ran since the last call; with `work` also what it did in one go, from then on. */
  loopDelay(work?: 'work'): Promise<LoopDelay>
  /** Collects the garbage of its main thread. */
  collect(): Promise<void>
  /** The same, and how many bytes that thread holds then. */
  held(): Promise<number>
  /** Stops it; the folder stays. */
  stop(): Promise<void>
}

interface RunFile {
  readonly pid: number
  readonly listeners: Readonly<Record<string, Target>>
}

/** A folder for one section's data, on the disk that is measured. */
export function makeFolder(): string {
  return mkdtempSync(join(process.env.BENCH_DIR ?? tmpdir(), 'teal-bench-'))
}

export function removeFolder(folder: string): void {
  rmSync(folder, { recursive: true, force: true })
}

const handicapFiles = { single: './single.ts', slow: './slow.ts' } as const

/**
 * Starts the service over `dataDir`, which may hold what an earlier one wrote. `env` adds to its settings, `handicaps` make it
 * slower: `single` every write a transaction of its own, `slow` each sync slow. `options` are the engine's,
 * `main` what is started: this version, or the file of another one.
 */
export async function startService(
  dataDir: string,
  env: Readonly<Record<string, string>> = {},
  handicaps: readonly (keyof typeof handicapFiles)[] = [],
  options: readonly string[] = [],
  main = 'dist/main.js',
): Promise<Service> {
  const before = ['./probe.ts', ...handicaps.map(name => handicapFiles[name])]
  const loaded = before.flatMap(name => ['--import', fileURLToPath(new URL(name, import.meta.url))])
  const execArgv = [...options, ...loaded]
  const ports = ['API', 'SMTP', 'LMTP', 'SUBMISSION', 'SUBMISSIONS', 'IMAP', 'IMAPS', 'POP3', 'POP3S']
  const free = Object.fromEntries(ports.map(name => [`TEAL_${name}_PORT`, '0']))
  const settings = { TEAL_DATA_DIR: dataDir, TEAL_HOSTNAME: 'bench.test', TEAL_LOG_LEVEL: 'error', ...free, ...env }
  rmSync(join(dataDir, 'run.json'), { force: true })
  const started = performance.now()
  const child = startChild(main, ['serve'], { execArgv, env: settings })
  const run = await Promise.race([waitForRun(dataDir, child.pid), child.broken])
  const token = readFileSync(join(dataDir, 'root-token'), 'utf8').trim()
  const listener = (name: string): Target => {
    const found = run.listeners[name]
    if (found === undefined) throw new Error(`the service has no listener ${name}`)
    return found
  }
  const api = listener('api')
  const call: Service['call'] = async (method, path, body) => {
    const response = await fetch(`http://${api.host}:${api.port}${path}`, {
      method,
      headers: { 'X-Access-Token': token, 'Content-Type': 'application/json' },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    })
    const text = await response.text()
    if (response.status !== 200) throw new Error(`${method} ${path}: ${response.status} ${text.slice(0, 300)}`)
    return JSON.parse(text) as Record<string, unknown>
  }
  await call('GET', '/health')
  return {
    pid: child.pid,
    dataDir,
    token,
    startMs: performance.now() - started,
    listener,
    call,
    loopDelay: async work => (await child.ask({ work: work === 'work' })) as LoopDelay,
    collect: async () => {
      await child.ask({ collect: true })
    },
    held: async () => ((await child.ask({ collect: true })) as Probed).held,
    stop: async () => {
      const code = await child.stop(20_000)
      if (code !== 0) throw new Error(`the service stopped with code ${code}`)
    },
  }
}

async function waitForRun(dataDir: string, pid: number): Promise<RunFile> {
  for (;;) {
    try {
      const run = JSON.parse(readFileSync(join(dataDir, 'run.json'), 'utf8')) as RunFile
      if (run.pid === pid) return run
    } catch (error) {
      if (!(error instanceof Error) || !('code' in error) || error.code !== 'ENOENT') throw error
    }
    await sleep(5)
  }
}

export interface User {
  readonly id: string
  readonly name: string
  readonly password: string
  readonly address: string
}

/** Makes `count` users u0000@bench.test, u0001@bench.test and so on, each with a main password. */
export async function makeUsers(service: Service, count: number): Promise<User[]> {
  const users: User[] = []
  for (let from = 0; from < count; from += 20) {
    const numbers = Array.from({ length: Math.min(20, count - from) }, (_, index) => from + index)
    users.push(...(await Promise.all(numbers.map(number => makeUser(service, number)))))
  }
  return users
}

async function makeUser(service: Service, number: number): Promise<User> {
  const name = `u${String(number).padStart(4, '0')}`
  const user = { name, password: `pass-of-${name}`, address: `${name}@bench.test` }
  const fields = { username: name, password: user.password, address: user.address, quota: 2 ** 40 }
  const { id } = await service.call('POST', '/users', fields)
  return { ...user, id: String(id) }
}
