// Three nodes as processes of their own, on one PostgreSQL that syncs and one NATS, each through wires that a fault may
// stall: what the chaos suite does its harm to.

import { type ChildProcess, execFileSync, fork } from 'node:child_process'
import { once } from 'node:events'
import { appendFileSync, cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import pg from 'pg'
import { expect } from 'vitest'
import { type Cluster, startCluster } from '../../postgres/cluster.ts'
import { type Nats, startNats } from '../nats.ts'
import type { Given, Up } from './node.ts'
import { Wire } from './proxy.ts'

const database = 'chaos'

/** A node that comes, goes and is killed; clients ask it only while it is up, as a balancer sees to. */
export class ChaosNode {
  readonly name: string
  readonly postgres: Wire
  readonly nats: Wire
  readonly #given: Given
  #child: ChildProcess | undefined
  #up: Up | undefined
  #read = 0
  /** Whether a balancer would send anybody there. */
  reachable = true

  constructor(given: Given, postgres: Wire, nats: Wire) {
    this.name = given.node
    this.postgres = postgres
    this.nats = nats
    this.#given = given
  }

  /** Where clients find it; undefined where a balancer would send nobody there. */
  get up(): Up | undefined {
    return this.reachable ? this.#up : undefined
  }

  async start(): Promise<void> {
    mkdirSync(this.#given.dataDir, { recursive: true })
    const child = fork(resolve('test/cluster/chaos/node.ts'), [JSON.stringify(this.#given)], {
      execArgv: ['--import', pathToFileURL(resolve('test/cluster/chaos/machine-clock.ts')).href],
      silent: true,
    })
    child.stderr?.on('data', (chunk: Buffer) => appendFileSync(`${this.#given.log}.err`, chunk))
    this.#child = child
    const [up] = (await Promise.race([once(child, 'message'), once(child, 'exit')])) as [Up | number | null]
    if (up === null || typeof up === 'number') throw new Error(`node ${this.name} does not start:\n${this.#said()}`)
    this.#up = up
  }

  get runs(): boolean {
    return this.#child?.exitCode === null && this.#child.signalCode === null
  }

  signal(signal: NodeJS.Signals): void {
    this.#child?.kill(signal)
  }

  async kill(): Promise<void> {
    this.#up = undefined
    const gone = once(this.#child as ChildProcess, 'exit')
    this.signal('SIGKILL')
    await gone
  }

  /** Ends it as an operator does, after the balancer was told. */
  async stop(): Promise<void> {
    this.#up = undefined
    const gone = once(this.#child as ChildProcess, 'exit')
    this.#child?.send('close')
    await gone
  }

  shift(ms: number): void {
    this.#child?.send({ shift: ms })
  }

  /** Lines of its log that came since it was last asked. */
  news(): string[] {
    const text = existsSync(this.#given.log) ? readFileSync(this.#given.log, 'utf8') : ''
    const lines = text.slice(this.#read).split('\n')
    this.#read = text.length - (lines.at(-1)?.length ?? 0)
    return lines.slice(0, -1)
  }

  #said(): string {
    const file = `${this.#given.log}.err`
    const error = existsSync(file) ? readFileSync(file, 'utf8') : ''
    return [...this.news().slice(-5), error.slice(-2000)].join('\n')
  }
}

/** Room of the database, which may become scarce; where nobody may mount anything it is not. */
export interface Room {
  fill(): void
  free(): void
}

export class World {
  readonly folder: string
  readonly postgres: Cluster
  readonly nats: Nats
  readonly nodes: readonly ChaosNode[]
  readonly room: Room | undefined
  readonly #unmount: () => void

  private constructor(of: Pick<World, 'folder' | 'postgres' | 'nats' | 'nodes'>, disk: Disk | undefined) {
    this.folder = of.folder
    this.postgres = of.postgres
    this.nats = of.nats
    this.nodes = of.nodes
    this.room = disk
    this.#unmount = disk?.unmount ?? (() => {})
  }

  /** Starts the first node. */
  static async open(relay: string): Promise<World> {
    const folder = mkdtempSync(join(tmpdir(), 'teal-chaos-'))
    const [postgres, nats] = await Promise.all([startCluster({ durable: true }), startNats()])
    const disk = process.getuid?.() === 0 ? smallDisk(mkdtempSync(join(tmpdir(), 'teal-room-'))) : undefined
    const root = new pg.Client(postgres.url('postgres'))
    await root.connect()
    if (disk !== undefined) await root.query(`CREATE TABLESPACE room LOCATION '${disk.folder}'`)
    await root.query(`CREATE DATABASE ${database} ${disk === undefined ? '' : 'TABLESPACE room'}`)
    await root.end()
    const port = Number(new URL(nats.url).port)
    const nodes: ChaosNode[] = []
    for (const node of ['a', 'b', 'c']) {
      const toPostgres = await Wire.open(() => ({ path: join(postgres.folder, '.s.PGSQL.5432') }))
      const toNats = await Wire.open(() => ({ host: '127.0.0.1', port }))
      const store = `postgres://teal@127.0.0.1:${toPostgres.port}/${database}`
      const [dataDir, log] = [join(folder, node), join(folder, `${node}.log`)]
      const given = { dataDir, store, nats: `nats://127.0.0.1:${toNats.port}`, node, log, relay }
      nodes.push(new ChaosNode(given, toPostgres, toNats))
    }
    const world = new World({ folder, postgres, nats, nodes }, disk)
    await nodes[0]?.start()
    return world
  }

  /** Starts all but the first, which has made the tables and the keys. */
  async others(): Promise<void> {
    for (const node of this.nodes.slice(1)) {
      cpSync(join(this.folder, 'a', 'keys'), join(this.folder, node.name, 'keys'), { recursive: true })
      await node.start()
    }
  }

  /** Address of the database, past all wires. */
  get url(): string {
    return this.postgres.url(database)
  }

  async asked<Row extends object>(text: string): Promise<Row[]> {
    const client = new pg.Client(this.url)
    client.on('error', () => {})
    await client.connect()
    try {
      return (await client.query<Row>(text)).rows
    } finally {
      await client.end()
    }
  }

  /** Resolves when every node has its share, and nobody else anything. */
  async balanced(): Promise<void> {
    const shares = async () => {
      const rows = await this.asked<{ name: string; n: number }>(
        'SELECT coalesce(name, $$$$) AS name, count(*)::int AS n FROM lease LEFT JOIN node ON num = node GROUP BY 1 ORDER BY 1',
      )
      const spread = rows.map(({ n }) => n)
      return { names: rows.map(({ name }) => name), uneven: Math.max(...spread) - Math.min(...spread) > 2 }
    }
    const names = this.nodes.map(({ name }) => name)
    await expect.poll(shares, { timeout: 30_000 }).toEqual({ names, uneven: false })
  }

  /** Whatever was done is undone, also where a round broke off. */
  async heal(): Promise<void> {
    for (const node of this.nodes) {
      for (const wire of [node.postgres, node.nats]) {
        wire.delay = 0
        wire.goOn()
      }
      node.signal('SIGCONT')
      node.reachable = true
      if (!node.runs) await node.start()
    }
    this.room?.free()
  }

  async close(): Promise<void> {
    for (const node of this.nodes) {
      node.signal('SIGCONT')
      await node.kill().catch(() => {})
      await node.postgres.close()
      await node.nats.close()
    }
    await this.nats.stop()
    await this.postgres.stop()
    this.#unmount()
    rmSync(this.folder, { recursive: true, force: true })
  }
}

interface Disk extends Room {
  readonly folder: string
  unmount(): void
}

/** A file system in memory whose size changes: it is full when it may have no more than it has. */
function smallDisk(folder: string): Disk {
  execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=2g,mode=0700', 'tmpfs', folder])
  execFileSync('chown', ['nobody', folder])
  const sized = (size: string) => execFileSync('mount', ['-o', `remount,size=${size}`, folder])
  return {
    folder,
    fill() {
      const used = execFileSync('df', ['--output=used', '-k', folder]).toString().split('\n')[1]
      sized(`${Number(used) + 64}k`)
    },
    free: () => void sized('2g'),
    unmount() {
      execFileSync('umount', [folder])
      rmSync(folder, { recursive: true })
    },
  }
}
