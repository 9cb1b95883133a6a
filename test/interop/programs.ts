// Mail programs of Debian's that tests run against the service: installed where they are missing (as root), run with a
// deadline, their output kept for the report of a failure.

import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { sleep } from '#lib/clock.ts'
import { installed, isThere } from '../../bench/peer/install.ts'

export interface Output {
  readonly code: number
  readonly text: string
}

/** Each program that a suite needs, with Debian's package of it. */
const debian = {
  '../lib/dovecot/imap': 'dovecot-imapd',
  '../lib/dovecot/lmtp': 'dovecot-lmtpd',
  '../lib/python3/dist-packages/nacl/__init__.py': 'python3-nacl',
  chromium: 'chromium',
  'chromium-headless-shell': 'chromium-headless-shell',
  clamd: 'clamav-daemon',
  curl: 'curl',
  dkimsign: 'python3-dkim',
  dovecot: 'dovecot-core',
  'fail2ban-regex': 'fail2ban',
  faketime: 'faketime',
  fetchmail: 'fetchmail',
  fish: 'fish',
  gcc: 'gcc',
  haproxy: 'haproxy',
  interimap: 'interimap',
  ip: 'iproute2',
  'ldns-signzone': 'ldnsutils',
  man: 'man-db',
  mbsync: 'isync',
  mutt: 'mutt',
  'nats-server': 'nats-server',
  pgbouncer: 'pgbouncer',
  nsd: 'nsd',
  offlineimap: 'offlineimap3',
  openssl: 'openssl',
  pebble: 'pebble',
  pg_createcluster: 'postgresql',
  postfix: 'postfix',
  promtool: 'prometheus',
  python3: 'python3',
  restic: 'restic',
  rspamd: 'rspamd',
  script: 'bsdutils',
  unbound: 'unbound',
  unshare: 'util-linux',
  zsh: 'zsh',
} as const

/** All packages, for who installs them before they are needed. */
export const packages: readonly string[] = [...Object.values(debian), 'libc6-dev']

/** Makes sure that programs are there. */
export function needPrograms(...names: readonly (keyof typeof debian)[]): void {
  const [first] = names.filter(name => !isThere(name))
  if (first !== undefined) installed(first, [...new Set(names.map(name => debian[name]))])
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
