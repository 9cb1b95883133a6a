// Brings a service up on what a disk held after it lost its power, and tells what is there: a process of its own, since
// that a start kills the process would be a finding too. It is told a cut of a journal and answers with what it found.

import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { flagged } from '#mail/flags.ts'
import type { Teal } from '#service'
import { startThreadsAsDelivered } from '../../delivered.ts'
import { deliver, openLmtp } from '../../dialogue.ts'
import { Random } from '../../fuzz/random.ts'
import { Disk, type Loss, type Tree, writeTree } from './disk.ts'
import { type Entry, readJournal } from './journal.ts'
import { sumOf } from './load.ts'

startThreadsAsDelivered()
const { startTeal } = await import('#service')

/** As many as the service had that lost its power. */
const threads = Number(process.env.TEAL_TEST_THREADS ?? 0)

export interface Cut {
  readonly journal: string
  /** The place in the journal where the power went. */
  readonly until: number
  readonly loss: Loss
  readonly seed: number
  /** Where to put what is left; removed afterwards unless it is to be kept. */
  readonly folder: string
  readonly keep?: boolean
}

export interface Found {
  /** What is wrong, as sentences. */
  readonly problems: readonly string[]
  /** Name, hash, flag and uid of each message. */
  readonly messages: readonly (readonly [name: string, sum: string, flagged: boolean, uid: number])[]
  /** Name and number of recipients of what waits to be sent. */
  readonly queue: readonly (readonly [name: string, targets: number])[]
  readonly files: readonly (readonly [name: string, sum: string])[]
  readonly users: readonly string[]
  /** The root token, the keys and the own certificate. */
  readonly secrets: Readonly<Record<string, string>>
}

/** Where the data directory lies below the root of a recording. */
export const dataPath = 'var/lib/data'

/** Contents of the files that a service makes once and for all. */
export function secretsOf(dataDir: string): Record<string, string> {
  const names = ['root-token', ...['keys', 'tls'].flatMap(folder => paths(dataDir, folder))]
  return Object.fromEntries(names.map(name => [name, readFileSync(join(dataDir, name), 'utf8')]))
}

function paths(dataDir: string, folder: string): string[] {
  if (!existsSync(join(dataDir, folder))) return []
  return readdirSync(join(dataDir, folder))
    .filter(name => /^(srs|loop|seal|totp|self-signed\.(key|crt))$/.test(name))
    .map(name => join(folder, name))
    .sort()
}

const journals = new Map<string, Entry[]>()

async function revive({ journal, until, loss, seed, folder, keep = false }: Cut): Promise<Found> {
  const entries = journals.get(journal) ?? readJournal(journal)
  journals.set(journal, entries)
  const numbers = new Random(seed)
  const random = () => numbers.next()
  const disk = new Disk(entries, until)
  writeTree(withGarbage(disk.after(loss, random), disk.mapped, random), folder)
  const dataDir = join(folder, dataPath)
  mkdirSync(dataDir, { recursive: true })
  try {
    const teal = await startTeal({ dataDir, threads, outbound: { enabled: false } })
    try {
      return await look(teal, dataDir)
    } finally {
      await teal.close()
    }
  } finally {
    if (!keep) rmSync(folder, { recursive: true, force: true })
  }
}

/** What was mapped into memory holds anything. */
function withGarbage({ folders, files }: Tree, mapped: ReadonlySet<string>, random: () => number): Tree {
  const changed = new Map(files)
  for (const path of mapped) {
    const bytes = files.get(path)
    if (bytes === undefined || !path.endsWith('-shm')) continue
    const length = Math.floor(random() * 9) * 4096
    changed.set(path, Buffer.from(Uint8Array.from({ length }, () => Math.floor(random() * 256))))
  }
  return { folders, files: changed }
}

async function look(teal: Teal, dataDir: string): Promise<Found> {
  const problems = await teal.check()
  const nothing = { messages: [], queue: [], files: [], users: [], secrets: {} }
  if (problems.length > 0) return { problems, ...nothing }
  const { read, bodies } = teal.core
  const bytesOf = async (body: number) => Buffer.from(await (await bodies.open(body, false)).read())
  const nameOf = (bytes: Buffer) => /^Subject: (\w+)/m.exec(bytes.toString('latin1', 0, 4096))?.[1] ?? ''
  const messages: [string, string, boolean, number][] = []
  const rows = await read.all<{ body: number; flags: number; uid: number }>('SELECT body, flags, uid FROM message')
  for (const { body, flags, uid } of rows) {
    const bytes = await bytesOf(body)
    messages.push([nameOf(bytes), sumOf(bytes), (flags & flagged) !== 0, uid])
  }
  const queue: [string, number][] = []
  for (const { num, body } of await read.all<{ num: number; body: number }>('SELECT num, body FROM outbound')) {
    const bytes = await bytesOf(body)
    const name = nameOf(bytes)
    const targets = await read.all('SELECT 1 FROM outbound_target WHERE message = ?', num)
    const text = bytes.toString('latin1').split(`text of ${name}`).length - 1
    if (text !== 50 && text !== 5000) problems.push(`${name} waits to be sent with ${text} of its lines`)
    queue.push([name, targets.length])
  }
  const files: [string, string][] = []
  for (const { filename, body } of await read.all<{ filename: string; body: number }>(
    'SELECT filename, body FROM file',
  )) {
    files.push([filename, sumOf(await bytesOf(body))])
  }
  const users = (await read.all<{ username: string }>('SELECT username FROM user')).map(({ username }) => username)
  await useIt(teal, users, problems)
  return { problems, messages, queue, files, users, secrets: secretsOf(dataDir) }
}

/** It goes on as if nothing had happened. */
async function useIt(teal: Teal, users: readonly string[], problems: string[]): Promise<void> {
  const headers = { 'x-access-token': teal.rootToken }
  const { status } = await fetch(`${teal.url}/users`, { headers })
  if (status !== 200) problems.push(`the root token is answered with ${status}`)
  if (!users.includes('u0')) return
  const lmtp = await openLmtp(teal.listeners.lmtp as { host: string; port: number })
  const message = Buffer.from(`Subject: again\r\n\r\n${'again '.repeat(100)}\r\n`)
  const [reply] = await deliver(lmtp, 'a@example.net', ['u0@example.com'], message)
  lmtp.close()
  if (reply?.startsWith('250') !== true) problems.push(`mail is answered with ${reply}`)
}

process.on('message', (cut: Cut) => {
  revive(cut)
    .then(found => process.send?.(found))
    .catch(error => process.send?.({ problems: [`it does not start: ${error?.stack ?? error}`] }))
})
