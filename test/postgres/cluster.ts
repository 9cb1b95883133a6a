// A PostgreSQL of the test run's own: one cluster in a temporary folder on a socket there, made when the run begins, with a
// template that has the tables. Each test file asks for a database of its own.
//
// It never runs as root, which the server refuses; nothing is synced unless `durable` is asked for. What a run that was killed left
// behind the next one removes.

import { execFileSync, spawn } from 'node:child_process'
import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  statfsSync,
} from 'node:fs'
import type { Socket } from 'node:net'
import { freemem, tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import pg from 'pg'

export interface Cluster {
  /** Address of a database of this cluster. */
  url(database: string): string
  readonly folder: string
  /** Ends the server and all it has started as a crash does, and starts it again; `between` comes while there is none. */
  restart(between?: () => Promise<void>): Promise<void>
  stop(): Promise<void>
}

/** The folder with the server's programs; undefined where there is none. */
export function serverPrograms(): string | undefined {
  const root = '/usr/lib/postgresql'
  const versions = existsSync(root) ? readdirSync(root).sort((a, b) => Number(b) - Number(a)) : []
  return versions.map(version => join(root, version, 'bin')).find(folder => existsSync(join(folder, 'initdb')))
}

/** Address of a database of the cluster in that folder. */
export function urlIn(folder: string, database: string): string {
  return `postgres://teal@localhost/${database}?host=${encodeURIComponent(folder)}`
}

interface ClusterOptions {
  readonly durable?: boolean
  /** In memory, where the machine has a folder with room there. */
  readonly inMemory?: boolean
  /** Of the server, besides. */
  readonly settings?: Readonly<Record<string, string>>
  /** What it says it says in this language: `de`. */
  readonly language?: string
  /** A data directory that is there, below a folder of its own. */
  readonly data?: string
}

const memory = { folder: '/dev/shm', bytesMin: 4 * 1024 ** 3 } as const

/** In memory where that has room, else on disk. */
function roomyFolder(): string {
  if (!existsSync(memory.folder)) return tmpdir()
  const { bavail, bsize } = statfsSync(memory.folder)
  return Math.min(bavail * bsize, freemem()) < memory.bytesMin ? tmpdir() : memory.folder
}

/** Of a cluster's folder, before the number of the process that made it and what tells it from its others. */
const folderPrefix = 'teal-postgres-'

/** Removes clusters of this user whose makers have ended and did not stop them, and ends their servers. */
function removeLeft(): void {
  for (const parent of new Set([tmpdir(), ...(existsSync(memory.folder) ? [memory.folder] : [])])) {
    for (const name of readdirSync(parent).filter(each => each.startsWith(folderPrefix))) {
      const maker = Number(/^(\d+)-/.exec(name.slice(folderPrefix.length))?.[1])
      const folder = join(parent, name)
      if (Number.isNaN(maker) || isRunning(maker) || !isOwn(folder)) continue
      const server = serverOf(join(folder, 'data'))
      // It ends at once, with all it has started.
      if (server !== undefined) process.kill(server, 'SIGQUIT')
      rmSync(folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 })
    }
  }
}

function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch (error) {
    return (error as NodeJS.ErrnoException).code !== 'ESRCH'
  }
}

/** Another run may remove it meanwhile. */
function isOwn(folder: string): boolean {
  return lstatSync(folder, { throwIfNoEntry: false })?.uid === process.getuid?.()
}

/** The server that runs in that data directory; its number alone may be another's by now. */
function serverOf(data: string): number | undefined {
  try {
    const pid = Number(readFileSync(join(data, 'postmaster.pid'), 'utf8').split('\n')[0])
    return readlinkSync(`/proc/${pid}/cwd`) === data ? pid : undefined
  } catch {
    return undefined
  }
}

/** Makes and starts one. */
export async function startCluster({
  durable = false,
  inMemory = false,
  settings: more = {},
  language,
  data: there,
}: ClusterOptions = {}): Promise<Cluster> {
  const programs = serverPrograms()
  if (programs === undefined) throw new Error('PostgreSQL is not installed (apt-get install postgresql)')
  removeLeft()
  const parent = inMemory ? roomyFolder() : tmpdir()
  const folder = there === undefined ? mkdtempSync(join(parent, `${folderPrefix}${process.pid}-`)) : dirname(there)
  chmodSync(folder, 0o777)
  const data = there ?? join(folder, 'data')
  const make = ['-D', data, '-U', 'teal', '--auth=trust', '--encoding=UTF8', '--locale=C', '--no-sync']
  if (there === undefined) run(join(programs, 'initdb'), make)
  const settings = {
    listen_addresses: '',
    unix_socket_directories: folder,
    max_connections: '200',
    shared_buffers: '64MB',
    ...(!durable && { fsync: 'off', synchronous_commit: 'off', full_page_writes: 'off' }),
    // Translations are left aside where the locale is C by its name.
    ...(language !== undefined && { lc_messages: 'C.UTF-8' }),
    ...more,
  }
  const env = { ...process.env, ...(language !== undefined && { LANGUAGE: language }) }
  const given = Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`])
  const [program, args] = asOther(join(programs, 'postgres'), ['-D', data, ...given])
  const start = () => {
    const server = spawn(program, args, { stdio: 'ignore', cwd: folder, env })
    return { gone: new Promise<void>(resolve => server.once('exit', () => resolve())) }
  }
  let server = start()
  const url = (database: string) => urlIn(folder, database)
  await answering(url('postgres'))
  return {
    url,
    folder,
    async restart(between) {
      process.kill(Number(readFileSync(join(data, 'postmaster.pid'), 'utf8').split('\n')[0]), 'SIGKILL')
      await server.gone
      await between?.()
      // What the dead one has started has to notice first; until then a new one refuses.
      for (let answers = false; !answers; ) {
        server = start()
        answers = await Promise.race([server.gone.then(() => false), answering(url('postgres')).then(() => true)])
      }
    },
    async stop() {
      // Fast shutdown: the server's own processes end with it.
      run(join(programs, 'pg_ctl'), ['-D', data, '-m', 'fast', '-w', 'stop'])
      await server.gone
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

let number = 0

/** A connection of each cluster for its databases: to make one and to end it costs the server as much as to copy a database. */
const kept = new Map<string, Promise<pg.Client>>()
let ordered: Promise<void> = Promise.resolve()

/** Asks it, one after the other; it keeps no process and is gone with the cluster. */
function order(folder: string, text: string): Promise<void> {
  const done = ordered.then(() => ask(folder, text))
  ordered = done.catch(() => {})
  return done
}

async function ask(folder: string, text: string): Promise<void> {
  const connected = kept.get(folder) ?? keepConnection(folder)
  kept.set(folder, connected)
  const client = await connected
  const { stream } = (client as unknown as { connection: { stream: Socket } }).connection
  stream.ref()
  try {
    await client.query(text)
  } finally {
    stream.unref()
  }
}

async function keepConnection(folder: string): Promise<pg.Client> {
  const client = new pg.Client(urlIn(folder, 'postgres'))
  client.on('error', () => kept.delete(folder)).on('end', () => kept.delete(folder))
  try {
    await client.connect()
  } catch (error) {
    kept.delete(folder)
    throw error
  }
  return client
}

/** A database of this test's own, as `template` is. */
export async function makeDatabase(folder: string, template = 'teal_template'): Promise<string> {
  number += 1
  const name = `t${process.pid}_${number}`
  // Its files are copied: page for page through the log costs the server three times as much.
  await order(folder, `CREATE DATABASE ${name} TEMPLATE ${template} STRATEGY file_copy`)
  return urlIn(folder, name)
}

/** Takes such a database away. */
export async function dropDatabase(url: string): Promise<void> {
  const { pathname, searchParams } = new URL(url)
  await order(searchParams.get('host') ?? '', `DROP DATABASE ${pathname.slice(1)} WITH (FORCE)`)
}

function asOther(program: string, args: readonly string[]): [string, string[]] {
  if (process.getuid?.() !== 0) return [program, [...args]]
  return ['runuser', ['-u', 'nobody', '--', program, ...args]]
}

/** Runs a program of the server's, as who the server runs as. */
export function runProgram(name: string, args: readonly string[]): void {
  run(join(serverPrograms() ?? '', name), args)
}

function run(program: string, args: readonly string[]): void {
  const [name, all] = asOther(program, args)
  execFileSync(name, all, { stdio: ['ignore', 'ignore', 'pipe'], cwd: tmpdir() })
}

async function answering(url: string): Promise<void> {
  for (;;) {
    const client = new pg.Client(url)
    client.on('error', () => {})
    try {
      await client.connect()
      await client.end()
      return
    } catch {
      await new Promise(resolve => setTimeout(resolve, 50))
    }
  }
}
