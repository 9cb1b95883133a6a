// Mail programs of Debian's that tests run against the service: installed where they are missing (as root), run with a
// deadline, their output kept for the report of a failure.

import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { sleep } from '#lib/clock.ts'
import { installed } from '../../bench/peer/install.ts'

export interface Output {
  readonly code: number
  readonly text: string
}

/** Makes sure that programs are there. */
export function needPrograms(programs: Readonly<Record<string, string>>): void {
  for (const [program, debian] of Object.entries(programs)) installed(program, [debian])
}

/** Runs a program to its end; what it printed comes back whatever its exit code. */
export function run(
  program: string,
  args: readonly string[],
  options: { env?: Record<string, string>; input?: string; ms?: number } = {},
): Promise<Output> {
  const { env = {}, input, ms = 60_000 } = options
  return new Promise((resolve, reject) => {
    const child = execFile(
      program,
      [...args],
      {
        env: { ...process.env, LC_ALL: 'C.UTF-8', ...env },
        timeout: ms,
        maxBuffer: 64 * 1024 * 1024,
        encoding: 'utf8',
      },
      (error, stdout, stderr) => {
        const code = error === null ? 0 : typeof error.code === 'number' ? error.code : -1
        if (error !== null && code === -1) reject(new Error(`${program}: ${error.message}\n${stdout}${stderr}`))
        else resolve({ code, text: stdout + stderr })
      },
    )
    if (input !== undefined) child.stdin?.end(input)
    else child.stdin?.end()
  })
}

/** The same; an exit code other than 0 is an error. */
export async function good(...parameters: Parameters<typeof run>): Promise<string> {
  const { code, text } = await run(...parameters)
  if (code !== 0) throw new Error(`${parameters[0]} ended with ${code}:\n${text}`)
  return text
}

/** A daemon that runs beside the tests, in a group of its own. `stop` asks it to end, and its workers with it, and waits until it has. */
export interface Daemon {
  readonly process: ChildProcess
  stop(): Promise<void>
}

/** Starts a daemon in the foreground, its output thrown away. */
export function daemon(program: string, args: readonly string[]): Daemon {
  const child = spawn(program, [...args], { stdio: 'ignore', detached: true })
  const running = () => child.exitCode === null && child.signalCode === null
  return {
    process: child,
    async stop() {
      if (child.pid === undefined || !running()) return
      const ended = once(child, 'exit')
      child.kill('SIGTERM')
      await Promise.race([ended, sleep(10_000)])
      try {
        process.kill(-child.pid, 'SIGKILL')
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error
      }
      await ended
    },
  }
}

/** A folder of its own for one program's files, removed by the returned function. */
export function folder(): { path: string; remove: () => void } {
  const path = mkdtempSync(join(tmpdir(), 'teal-interop-'))
  return { path, remove: () => rmSync(path, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 }) }
}
