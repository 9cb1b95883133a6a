// A PostgreSQL of the test run's own: one cluster in a temporary folder on a socket there, made when the run begins, with a
// template that has the tables. Each test file asks for a database of its own.
//
// It never runs as root, which the server refuses; nothing is synced unless `durable` is asked for.

import { execFileSync, spawn } from 'node:child_process'
import { chmodSync, existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'

export interface Cluster {
  /** Address of a database of this cluster. */
  url(database: string): string
  readonly folder: string
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

/** Makes and starts one. */
export async function startCluster({ durable = false } = {}): Promise<Cluster> {
  const programs = serverPrograms()
  if (programs === undefined) throw new Error('PostgreSQL is not installed (apt-get install postgresql)')
  const folder = mkdtempSync(join(tmpdir(), 'teal-postgres-'))
  chmodSync(folder, 0o777)
  const data = join(folder, 'data')
  const make = ['-D', data, '-U', 'teal', '--auth=trust', '--encoding=UTF8', '--locale=C', '--no-sync']
  run(join(programs, 'initdb'), make)
  const settings = {
    listen_addresses: '',
    unix_socket_directories: folder,
    max_connections: '200',
    shared_buffers: '64MB',
    ...(!durable && { fsync: 'off', synchronous_commit: 'off', full_page_writes: 'off' }),
  }
  const given = Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`])
  const [program, args] = asOther(join(programs, 'postgres'), ['-D', data, ...given])
  const server = spawn(program, args, { stdio: 'ignore', cwd: folder })
  const gone = new Promise<void>(resolve => server.once('exit', () => resolve()))
  const url = (database: string) => urlIn(folder, database)
  await answering(url('postgres'))
  return {
    url,
    folder,
    async stop() {
      // Fast shutdown: the server's own processes end with it.
      run(join(programs, 'pg_ctl'), ['-D', data, '-m', 'fast', '-w', 'stop'])
      await gone
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

let number = 0

/** A database of this test's own, as `template` is. */
export async function makeDatabase(folder: string, template = 'teal_template'): Promise<string> {
  number += 1
  const name = `t${process.pid}_${number}`
  const client = new pg.Client(urlIn(folder, 'postgres'))
  await client.connect()
  await client.query(`CREATE DATABASE ${name} TEMPLATE ${template}`)
  await client.end()
  return urlIn(folder, name)
}

function asOther(program: string, args: readonly string[]): [string, string[]] {
  if (process.getuid?.() !== 0) return [program, [...args]]
  return ['runuser', ['-u', 'nobody', '--', program, ...args]]
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
