// Machines of a small internet inside this one: each has its own network, names of users, files under /etc, /var and /opt,
// processes and host name, and all hang on one switch.
//
// A machine lives as long as its first process, which reads from a pipe of the test: when the test ends, however it ends, the
// kernel ends every process of the machine and takes its network away. Nothing of the machine around is changed.

import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { sleep } from '#lib/clock.ts'
import { good, needPrograms, type Output, run } from '../programs.ts'

export interface Machine {
  readonly name: string
  readonly address: string
  /** Runs a command to its end; what it printed comes back whatever its exit code. */
  run(words: readonly string[], options?: RunOptions): Promise<Output>
  /** The same; an exit code other than 0 is an error. */
  good(words: readonly string[], options?: RunOptions): Promise<string>
  /** Starts what goes on running; its output is kept. */
  start(words: readonly string[], env?: Record<string, string>): Program
  /** Runs a command on a terminal, and answers each question that it asks in order. */
  talk(words: readonly string[], answers: readonly (readonly [RegExp, string])[]): Promise<Output>
  /** Where a file of the machine is reached from outside. */
  path(file: string): string
  write(file: string, text: string, mode?: number): void
  read(file: string): string
  close(): void
}

export interface Program {
  readonly process: ChildProcess
  output(): string
}

export interface RunOptions {
  readonly env?: Record<string, string>
  readonly input?: string
  readonly ms?: number
}

export interface Switch {
  /** A machine with an address of a /16 that all of the switch are in (44.128.0.0/16 is nobody's). */
  machine(name: string, address: string): Promise<Machine>
  close(): void
}

/** Everything under these is the machine's own to change. */
const own = ['etc', 'var', 'opt', 'run', 'usr/local']

/** Where the machine has the sources: root's folders are closed to other users. */
export const program = '/opt/teal'

/** What a service of the machine around has there is none of the machine's. */
const begin = (name: string) => `
set -e
read pid rest < /proc/self/stat
mount -t tmpfs -o mode=755 tmpfs /mnt
for d in ${own.join(' ')}; do
  u=/mnt/$(echo $d | tr / -); mkdir $u $u.work
  mount -t overlay overlay -o lowerdir=/$d,upperdir=$u,workdir=$u.work /$d
done
rm -rf /etc/teal /var/lib/teal
mkdir -p ${program}; mount --bind "$0" ${program}
touch /opt/node; mount --bind "$1" /opt/node
mount -t tmpfs -o mode=1777 tmpfs /tmp
mount -t tmpfs -o mode=1777 tmpfs /dev/shm
mount -t proc proc /proc
hostname ${name}
ip link set lo up
echo "ready $pid"
exec cat
`

const isolated = ['--net', '--mount', '--uts', '--ipc', '--pid', '--fork', '--kill-child', '--propagation', 'private']

/** @throws Error where this may not be done, as a sentence with what to do */
export async function openSwitch(): Promise<Switch> {
  needPrograms('ip', 'unshare', 'curl')
  const held: ChildProcess[] = []
  const hold = async (name: string): Promise<number> => {
    const child = spawn('unshare', [...isolated, 'sh', '-c', begin(name), process.cwd(), process.execPath])
    held.push(child)
    let text = ''
    for (const stream of [child.stdout, child.stderr]) {
      stream.on('data', chunk => {
        text += chunk
      })
    }
    while (child.exitCode === null && !text.includes('ready')) await sleep(10)
    const pid = Number(/ready (\d+)/.exec(text)?.[1])
    if (pid > 0) return pid
    const what = 'A machine of its own cannot be made here: run this as root, with CAP_SYS_ADMIN and CAP_NET_ADMIN'
    throw new Error(`${what} (in a container: --privileged).\n${text}`)
  }
  const close = () => {
    for (const child of held) child.stdin?.destroy()
    for (const child of held) child.kill('SIGKILL')
  }
  try {
    const middle = await hold('switch')
    const wire = (...words: string[]) => good('nsenter', ['-t', String(middle), '-n', 'ip', ...words])
    await wire('link', 'add', 'switch', 'type', 'bridge')
    await wire('link', 'set', 'switch', 'up')
    let count = 0
    const machine = async (name: string, address: string) => {
      const pid = await hold(name)
      const port = `port${++count}`
      await wire('link', 'add', port, 'type', 'veth', 'peer', 'name', 'eth0', 'netns', String(pid))
      await wire('link', 'set', port, 'master', 'switch', 'up')
      const made = machineOf(name, address, pid, held.at(-1) as ChildProcess)
      await made.good(['ip', 'address', 'add', `${address}/16`, 'dev', 'eth0'])
      await made.good(['ip', 'link', 'set', 'eth0', 'up'])
      await made.good(['ip', 'route', 'add', 'default', 'dev', 'eth0'])
      return made
    }
    return { machine, close }
  } catch (error) {
    close()
    throw error
  }
}

function machineOf(name: string, address: string, pid: number, holder: ChildProcess): Machine {
  const enter = ['-t', String(pid), '-n', '-m', '-u', '-i', '-p', '--']
  const path = (file: string) => `/proc/${pid}/root${file}`
  const machine: Machine = {
    ...{ name, address, path },
    run: (words, options) => run('nsenter', [...enter, ...words], options),
    good: (words, options) => good('nsenter', [...enter, ...words], options),
    start(words, env = {}) {
      const child = spawn('nsenter', [...enter, ...words], {
        env: { ...process.env, LC_ALL: 'C.UTF-8', ...env },
        stdio: ['ignore', 'pipe', 'pipe'],
      })
      let text = ''
      for (const stream of [child.stdout, child.stderr]) {
        stream.on('data', chunk => {
          text += chunk
        })
      }
      return { process: child, output: () => text }
    },
    async talk(words, answers) {
      const child = spawn('nsenter', [...enter, 'script', '-qec', words.join(' '), '/dev/null'])
      const ended = once(child, 'close') as Promise<[number]>
      const left = [...answers]
      let text = ''
      let from = 0
      child.stdout.on('data', chunk => {
        text += chunk
        const [question, answer] = left[0] ?? []
        const found = question?.exec(text.slice(from))
        if (found === null || found === undefined) return
        from += found.index + found[0].length
        left.shift()
        child.stdin.write(`${answer}\r`)
      })
      const [code] = await ended
      if (left.length > 0) throw new Error(`${left[0]?.[0]} was not asked:\n${text}`)
      return { code, text: text.replaceAll('\r\n', '\n') }
    },
    write(file, text, mode = 0o644) {
      mkdirSync(dirname(path(file)), { recursive: true })
      writeFileSync(path(file), text)
      chmodSync(path(file), mode)
    },
    read: file => readFileSync(path(file), 'utf8'),
    close() {
      holder.stdin?.destroy()
      holder.kill('SIGKILL')
    },
  }
  return machine
}

/**
 * Waits until something is so; what it knows goes into the report where it never is. It looks ever less often: to look is a program
 * that starts, and what is waited for needs the processor, too.
 */
export async function until<Value>(
  what: string,
  look: () => Promise<Value | undefined | false>,
  told: () => string = () => '',
  seconds = 120,
): Promise<Value> {
  for (let waited = 0, pause = 50; waited < seconds * 1000; waited += pause, pause = Math.min(pause * 1.2, 1000)) {
    const found = await look()
    if (found !== undefined && found !== false) return found
    await sleep(pause)
  }
  throw new Error(`${what}: not in ${seconds} seconds\n${told()}`)
}

/** Waits until a port of a machine answers. */
export async function listening(machine: Machine, port: number, told?: () => string): Promise<void> {
  const look = ['sh', '-c', `exec ss -ltnH 'sport = :${port}'`]
  await until(`${machine.name}: port ${port}`, async () => (await machine.run(look)).text.trim() !== '', told)
}
