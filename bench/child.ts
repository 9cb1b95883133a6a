// Processes that a bench starts: each ends when the bench does, and only by its own process id.
//
// A child's environment is empty but for what it is given and the path, so that a setting of the person who measures
// does not change what is measured.

import { type ChildProcess, type ForkOptions, fork } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { sleep, within } from '#lib/clock.ts'
import type { Job, LoadResult } from './load/job.ts'
import type { MixJob } from './load/mix.ts'

const children = new Set<ChildProcess>()

process.on('exit', () => {
  for (const child of children) child.kill('SIGKILL')
})
// Whoever ends a bench ends what it started: a service that stayed behind would be in the next one's figures.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => process.exit(1))

export interface Child {
  readonly pid: number
  /** Sends a message and gives the next one that comes back. */
  ask(message: object): Promise<unknown>
  /** Asks it to stop with SIGTERM, kills it after `ms`, and gives its exit code (null when it was killed). */
  stop(ms: number): Promise<number | null>
  /** Rejects when the child ends before anybody stopped it, with the end of what it printed. */
  readonly broken: Promise<never>
}

/** Starts a file of this project, or of another version's folder, as a child with a message channel; what it prints is kept for the error. */
export function startChild(path: string, args: readonly string[], options: ForkOptions): Child {
  const file = resolve(fileURLToPath(new URL('..', import.meta.url)), path)
  const env = { PATH: process.env.PATH ?? '', HOME: process.env.HOME ?? '/', ...options.env }
  const child = fork(file, [...args], { ...options, env, stdio: ['ignore', 'pipe', 'pipe', 'ipc'] })
  children.add(child)
  let printed = ''
  const keep = (chunk: Buffer) => {
    printed = (printed + chunk.toString()).slice(-4000)
  }
  child.stdout?.on('data', keep)
  child.stderr?.on('data', keep)
  let stopping = false
  const ended = new Promise<number | null>(resolve => child.once('exit', resolve))
  const broken = ended.then(code => {
    children.delete(child)
    if (stopping) return new Promise<never>(() => {})
    throw new Error(`${path} ended with code ${code}:\n${printed}`)
  })
  broken.catch(() => {})
  return {
    pid: child.pid ?? 0,
    broken,
    ask: message => {
      const answer = new Promise<unknown>(resolve => child.once('message', resolve))
      child.send(message)
      return Promise.race([answer, broken])
    },
    stop: async ms => {
      stopping = true
      child.kill('SIGTERM')
      const late = new AbortController()
      const killed = sleep(ms, late.signal)
        .then(() => child.kill('SIGKILL'))
        .catch(() => {})
      const code = await ended
      late.abort()
      await killed
      return code
    },
  }
}

/** Runs one job in a load process of its own. Throws where nothing succeeded, or long after it should have ended. */
export async function runLoad(job: Job | MixJob): Promise<LoadResult> {
  const child = startChild('bench/load/main.ts', [], {})
  const what = `${job.kind} on ${job.connections} connections`
  const late = () => new Error(`${what} was still not done when its time was long over`)
  try {
    const result = (await within((job.ms ?? countMsMax) + lateMs, child.ask(job), late)) as LoadResult
    if (result.done === 0) throw new Error(`${what} reached nothing: ${Object.keys(result.errors).join(' / ')}`)
    return result
  } finally {
    await child.stop(1000)
  }
}

/** Time for a job that ends with its count. */
const countMsMax = 300_000
const lateMs = 30_000

/** Resident memory of a process, in bytes. */
export function residentBytes(pid: number): number {
  const match = /^VmRSS:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))
  return Number(match?.[1] ?? 0) * 1024
}

export interface Memory {
  /** Bytes of pages that are the process's alone. */
  readonly own: number
  /** Bytes of pages of files, its program among them. */
  readonly mapped: number
}

/** Resident memory of a process by what it is. */
export function memoryOf(pid: number): Memory {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8')
  const bytes = (name: string) => Number(new RegExp(`^${name}:\\s+(\\d+) kB`, 'm').exec(status)?.[1] ?? 0) * 1024
  return { own: bytes('RssAnon'), mapped: bytes('RssFile') + bytes('RssShmem') }
}

/** CPU seconds a process has used with all its threads. */
export function cpuSeconds(pid: number): number {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  return (Number(fields[11]) + Number(fields[12])) / 100
}

/** CPU seconds of a process with all its threads, and of those it started, gone ones included. */
export function treeCpuSeconds(pid: number): number {
  const processes = new Map<number, { parent: number; ticks: number }>()
  for (const name of readdirSync('/proc')) {
    if (!/^\d+$/.test(name)) continue
    const fields = statOf(name)
    // The last two are those of children that have been waited for.
    const ticks = fields.slice(11, 15).reduce((sum, field) => sum + Number(field), 0)
    processes.set(Number(name), { parent: Number(fields[1]), ticks })
  }
  const belongs = (one: number): boolean => one === pid || (one > 1 && belongs(processes.get(one)?.parent ?? 0))
  let sum = 0
  for (const [one, { ticks }] of processes) if (belongs(one)) sum += ticks
  return sum / 100
}

/** Fields behind the name of a process; none for one that is gone. */
function statOf(name: string): string[] {
  try {
    const stat = readFileSync(`/proc/${name}/stat`, 'utf8')
    return stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  } catch {
    return []
  }
}

/** Short text on what a load reached: percentiles and, where there were any, failures. */
export function loadNote(result: LoadResult): string {
  const failures = result.failed === 0 ? '' : `; ${result.failed} failed: ${Object.keys(result.errors).join(' / ')}`
  return `p50 ${result.p50.toFixed(1)} ms, p99 ${result.p99.toFixed(1)} ms${failures}`
}
