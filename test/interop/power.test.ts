// The power goes: what was answered is on disk, whatever the disk makes of what it was not told to keep.
//
// A service at work is recorded call by call (power/recorder.c), cut off at random places of the journal, and started on
// what a disk may hold then (power/disk.ts): nothing but what was synced, or any of the rest, torn and out of order.

import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { sleep } from '#lib/clock.ts'
import { databaseFile } from '#store/folder/place.ts'
import { installed } from '../../bench/peer/install.ts'
import { type Child, childEnvironment, runTeal } from '../child.ts'
import { Random } from '../fuzz/random.ts'
import { Disk, type Loss, readTree, type Tree } from './power/disk.ts'
import { type Entry, readJournal } from './power/journal.ts'
import { Deeds, Load, startRecorded, users } from './power/load.ts'
import { type Cut, dataPath, type Found, secretsOf } from './power/revive.ts'
import { folder, good } from './programs.ts'

const seed = Number(process.env.SEED ?? Math.floor(performance.timeOrigin) % 1_000_000)
/** How often the power goes: in each of both ways of running, and elsewhere in each run. `CUTS=10` looks at ten times as many places. */
const often = Number(process.env.CUTS ?? 1)
const cuts = { first: 8 * often, firstAnswers: 2 * often, work: 12 * often, answers: 12 * often, verified: 2 }
const losses: readonly Loss[] = ['none', 'some', 'order', 'all']
const random = new Random(seed)
const place = folder()
const root = join(place.path, 'root')
const dataDir = join(root, dataPath)
const backup = join(root, 'backup')
const journal = join(place.path, 'journal')
const recorder = join(place.path, 'recorder.so')
const env = { LD_PRELOAD: recorder, RECORD_ROOT: root, RECORD_JOURNAL: journal }
const children: ChildProcess[] = []
const services: Child[] = []

let entries: Entry[] = []
let deeds = new Deeds([])
let sums: ReadonlyMap<string, string> = new Map()
let uids: ReadonlyMap<string, number> = new Map()
let secrets: Record<string, string> = {}

beforeAll(async () => {
  installed('gcc', ['gcc', 'libc6-dev'])
  const source = join(import.meta.dirname, 'power/recorder.c')
  await good('gcc', ['-shared', '-fPIC', '-O1', '-Wall', '-Werror', '-o', recorder, source, '-ldl', '-lpthread'])
  mkdirSync(root)
  await record()
  entries = readJournal(journal)
  deeds = new Deeds(entries)
})

afterAll(async () => {
  for (const service of services) await service.end('SIGKILL')
  for (const child of children) child.disconnect()
  place.remove()
})

async function start(): Promise<Child> {
  const service = await startRecorded(dataDir, env)
  services.push(service)
  return service
}

/** First start, work, a backup, an orderly end amid work, kill -9, more work. */
async function record(): Promise<void> {
  const load = new Load(journal, root, () => random.next())
  let service = await start()
  load.mark('ready')
  secrets = secretsOf(dataDir)
  await load.users(service)
  const work = [load.lmtp(service, 40), load.lmtp(service, 40), load.http(service, 30)]
  await Promise.all([...work, load.imap(service, 30), load.submissions(service, 12), takeBackup(load)])
  // The log goes back into the database, and is begun anew.
  for (let waited = 0; databaseBytes() < copiedBytes && waited < 100; waited++) await load.lmtp(service, 8)
  await load.lmtp(service, 8)
  const cutOff = [load.lmtp(service, 1000), load.imap(service, 1000), load.http(service, 1000)]
  const ended = Promise.allSettled(cutOff)
  await sleep(150)
  expect(await service.end('SIGTERM')).toBe(0)
  await ended
  service = await start()
  await load.lmtp(service, 12)
  await sleep(100)
  await service.end('SIGKILL')
  service = await start()
  await Promise.all([load.lmtp(service, 12), load.http(service, 6), load.imap(service, 6)])
  expect(await service.end('SIGTERM')).toBe(0)
  load.close()
  sums = load.sums
  uids = load.uids
}

/** The database grows only when the log is copied into it. */
const databaseBytes = () => statSync(databaseFile(dataDir)).size
const copiedBytes = 4 * 1024 * 1024

async function takeBackup(load: Load): Promise<void> {
  const { code, err } = await runTeal(['backup', backup], childEnvironment(dataDir, env))
  expect(code, err).toBe(0)
  load.mark('backup')
}

test('the journal holds everything', () => {
  const disk = new Disk(entries)
  expect([...disk.mapped].filter(path => !/-shm$|\/lock\.mdb$/.test(path))).toEqual([])
  const there = comparable(readTree(root))
  const told = comparable(disk.live())
  expect([...told.keys()].sort()).toEqual([...there.keys()].sort())
  for (const [path, bytes] of there) expect(told.get(path)?.equals(bytes), path).toBe(true)
  const kinds = new Set(entries.map(({ kind }) => kind))
  for (const kind of 'cdulrwtsmk') expect(kinds, kind).toContain(kind)
  expect(restarts()).toBeGreaterThan(0)
})

test(`a first start that is cut off is done by the next one (seed ${seed})`, async () => {
  const last = deeds.at(`user ${users[0]}`)
  const during = entries.filter(({ end }) => end <= last)
  const told = during.filter(({ end }) => end === last || end === deeds.at('ready'))
  const all = [...places(during, cuts.first), ...places(told, cuts.firstAnswers)]
  const found = await reviveAll(all, ({ until }, { secrets: now, users: known }) => {
    const faults: string[] = []
    if (until >= deeds.at('ready')) {
      for (const [name, text] of Object.entries(secrets)) if (now[name] !== text) faults.push(`${name} is another`)
    }
    if (until >= last && !known.includes(users[0] ?? '')) faults.push('the first account is gone')
    return faults
  })
  expect(found).toEqual([])
})

test(`what was answered is there, once and as it was, and nothing else (seed ${seed})`, async () => {
  const from = deeds.at('ready')
  const working = entries.filter(({ end }) => end > from)
  const answers = working.filter(({ kind, data }) => kind === 'k' && !data.toString().startsWith('ask'))
  const found = await reviveAll([...places(working, cuts.work), ...places(answers, cuts.answers)], compare)
  expect(found).toEqual([])
})

test('`teal verify` says so, of the backup too', async () => {
  const from = deeds.at('backup')
  const later = entries.filter(({ end }) => end > from)
  for (const cut of places(later, cuts.verified)) {
    const kept = { ...cut, keep: true }
    expect(await reviveAll([kept], compare)).toEqual([])
    const data = childEnvironment(join(cut.folder, dataPath))
    expect(await runTeal(['verify'], data)).toMatchObject({ code: 0 })
    const restored = join(cut.folder, 'restored')
    const from = join(cut.folder, 'backup')
    expect(await runTeal(['restore', from], childEnvironment(restored))).toMatchObject({ code: 0 })
    expect(await runTeal(['verify'], childEnvironment(restored))).toMatchObject({ code: 0 })
    const keys = Object.entries(secretsOf(restored))
    expect(keys.map(([name]) => name)).toContain('keys/seal')
    for (const [name, text] of keys) expect(text, name).toBe(secrets[name])
  }
})

/** What does not last and is not recorded: sockets, what is mapped into memory. */
function comparable({ files }: Tree): Map<string, Buffer> {
  return new Map([...files].filter(([path]) => !/-shm$|\/lock\.mdb$/.test(path)))
}

/** How often the write-ahead log was begun anew while the service was at work: it had gone back into the database. */
function restarts(): number {
  let count = 0
  const logs = new Map<number, boolean>()
  for (const { kind, ino, at, path } of entries) {
    if (kind === 'c') {
      if (path.endsWith('.db-wal')) logs.set(ino, false)
      else logs.delete(ino)
    } else if (kind === 'w' && at === 0 && logs.has(ino)) {
      if (logs.get(ino) === true) count += 1
      logs.set(ino, true)
    }
  }
  return count
}

/** Cuts at places drawn evenly, each way of losing in turn. */
function places(among: readonly Entry[], count: number): Cut[] {
  return Array.from({ length: count }, (_, at) => {
    const index = Math.floor(((at + random.next()) / count) * among.length)
    const until = among[index]?.end ?? 0
    const loss = losses[at % losses.length] as Loss
    return { journal, until, loss, seed: random.below(2 ** 31), folder: join(place.path, `cut-${until}-${at}`) }
  })
}

/** Brings all of them up, two at a time; what is wrong with them, each with its cut. */
async function reviveAll(all: readonly Cut[], judge: (cut: Cut, found: Found) => string[]): Promise<string[]> {
  const waiting = [...all]
  const wrong: string[] = []
  const worker = async () => {
    let child = startReviver()
    for (let cut = waiting.shift(); cut !== undefined; cut = waiting.shift()) {
      const found = await ask(child, cut)
      const faults = found.problems.length > 0 ? found.problems : judge(cut, found)
      const about = `cut at ${cut.until}, ${cut.loss}, seed ${cut.seed}, ${deeds.answered(cut.until)} answers`
      if (faults.length > 0) wrong.push(`${about}: ${faults.slice(0, 4).join('; ')}`)
      if (child.exitCode !== null || child.signalCode !== null) child = startReviver()
    }
  }
  await Promise.all([worker(), worker()])
  return wrong
}

/** Of a machine that was started anew, as far as the cache can tell. */
function startReviver(): ChildProcess {
  const env = { ...process.env, LMDB_RESTORE: 'safe' }
  const child = fork(join(import.meta.dirname, 'power/revive.ts'), { env, execArgv: [] })
  children.push(child)
  return child
}

async function ask(child: ChildProcess, cut: Cut): Promise<Found> {
  const stop = new AbortController()
  const { signal } = stop
  const ended = once(child, 'exit', { signal }).then(([code, signal]): Found => {
    const problems = [`the process ended with ${code ?? signal}`]
    return { problems, messages: [], queue: [], files: [], users: [], secrets: {} }
  })
  const answer = once(child, 'message', { signal }).then(([found]) => found as Found)
  child.send(cut)
  try {
    return await Promise.race([answer, ended])
  } finally {
    stop.abort()
    await Promise.allSettled([answer, ended])
  }
}

function compare({ until }: Cut, found: Found): string[] {
  const faults: string[] = []
  const judge = (what: string, name: string, must: boolean | undefined, there: boolean) => {
    if (must !== undefined && must !== there) faults.push(`${what} ${name} is ${there ? '' : 'not '}there`)
  }
  const messages = new Map(found.messages.map(one => [one[0], one]))
  const queue = new Map(found.queue)
  const files = new Map(found.files)
  const sent = new Set(deeds.names('send'))
  for (const [name, sum] of [...found.messages, ...found.files]) {
    if (!sent.has(name) && sums.get(name) !== sum) faults.push(`${name} has other bytes`)
  }
  for (const name of queue.keys()) if (!sent.has(name)) faults.push(`nobody sent ${name}`)
  const each = [messages.size, queue.size, files.size]
  const all = [found.messages.length, found.queue.length, found.files.length]
  if (each.join() !== all.join()) faults.push('something is there twice')
  for (const name of deeds.names('put')) {
    const dropped = deeds.state('drop', name, until)
    const must = dropped === false ? deeds.state('put', name, until) : dropped === true ? false : undefined
    judge('message', name, must, messages.has(name))
    const [, , flag, uid] = messages.get(name) ?? []
    if (flag !== undefined) judge('flag of', name, deeds.state('flag', name, until), flag)
    const answered = deeds.state('put', name, until) === true && uids.has(name)
    if (uid !== undefined && answered && uid !== uids.get(name)) faults.push(`${name} has the uid ${uid}`)
  }
  for (const name of deeds.names('send')) {
    const must = deeds.state('send', name, until)
    judge('submission', name, must, queue.get(name) === 2)
    judge('copy of', name, must, messages.has(name))
  }
  for (const name of deeds.names('file')) judge('file', name, deeds.state('file', name, until), files.has(name))
  for (const name of users) {
    judge('account', name, until >= deeds.at(`user ${name}`) ? true : undefined, found.users.includes(name))
  }
  for (const [name, text] of Object.entries(secrets)) {
    if (found.secrets[name] !== text) faults.push(`${name} is another`)
  }
  return faults
}
