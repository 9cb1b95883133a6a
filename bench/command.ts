// A command of the program run to its end: how long it took, and the most memory it held.
//
// It runs as anybody would run it, with settings from the environment; one that fails ends the measure.

import { type ChildProcess, spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

export interface CommandResult {
  readonly out: string
  readonly seconds: number
  /** The most memory that was resident, bytes. */
  readonly peak: number
}

const running = new Set<ChildProcess>()
const main = fileURLToPath(new URL('../dist/main.js', import.meta.url))

process.on('exit', () => {
  for (const child of running) child.kill('SIGKILL')
})

/** How often memory is looked at, milliseconds; the operating system itself keeps the peak. */
const lookMs = 50

/** Runs a command over `dataDir`. @throws Error where it ends with anything but 0 */
export async function runCommand(words: readonly string[], dataDir: string): Promise<CommandResult> {
  const env = { PATH: process.env.PATH ?? '', TEAL_DATA_DIR: dataDir, TEAL_LOG_LEVEL: 'error' }
  const began = performance.now()
  const child = spawn(process.execPath, [main, ...words], { env, stdio: ['ignore', 'pipe', 'pipe'] })
  running.add(child)
  let out = ''
  let err = ''
  let peak = 0
  child.stdout.on('data', chunk => {
    out += chunk
  })
  child.stderr.on('data', chunk => {
    err = `${err}${chunk}`.slice(-4000)
  })
  const look = setInterval(() => {
    peak = Math.max(peak, peakBytes(child.pid ?? 0))
  }, lookMs)
  const code = await new Promise(resolve => child.once('close', resolve))
  clearInterval(look)
  running.delete(child)
  if (code !== 0) throw new Error(`${words.join(' ')} ended with code ${code}: ${err}`)
  return { out, seconds: (performance.now() - began) / 1000, peak }
}

/** The most memory a process had resident since it began, bytes; 0 where it has ended. */
export function peakBytes(pid: number): number {
  try {
    return Number(/^VmHWM:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? 0) * 1024
  } catch {
    return 0
  }
}
