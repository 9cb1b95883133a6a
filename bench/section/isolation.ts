// Nobody in another's way: what others feel while one asks for too much, for each way to do so.
//
// Others are one process that reads over HTTP, says NOOP, FETCHes, has mail delivered, and logs in with a password that is
// known and with one that has to be hashed. Quiet times lie between the attacks, in the same run; all of them together are
// what an attack is held against. Wished for: p99 at most twice the quiet one, or 20 ms. With two cores the attacker's own
// process takes part of them, which no service can mend. Everything is indexed before the first measure; with `--ground FOLDER` what
// was filled stays there for the next run, which works on a copy, so that a large folder is filled once for many short runs;
// with `--profile FOLDER` it is said what the longest pieces of work were.

import { execFileSync } from 'node:child_process'
import { cpSync, existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { loadConfig } from '#config'
import { openCore } from '#core'
import { sleep } from '#lib/clock.ts'
import { makeLog } from '#lib/log.ts'
import { openReader } from '#store/engine/sqlite/reader.ts'
import { databaseFile } from '#store/folder/place.ts'
import { startChild } from '../child.ts'
import { runCommand } from '../command.ts'
import { fill, folderOf } from '../fill.ts'
import type { AttackJob, AttackResult } from '../load/attack.ts'
import type { Target } from '../load/line.ts'
import { fixedMessages, stamp } from '../load/messages.ts'
import { type Deed, type DeedResult, deeds, type OthersJob, type OthersResult, spread } from '../load/others.ts'
import { type Plan, threadsOf } from '../plan.ts'
import type { Piece } from '../probe.ts'
import { profiling, readProfile } from '../profile.ts'
import type { Row } from '../row.ts'
import { makeFolder, makeUsers, removeFolder, type Service, startService, type User } from '../service.ts'

const timesQuiet = 2
const quietEnoughMs = 20
const readerMessages = 500
const partsMessages = 50
const learnedMost = 10_000
const parts = 1000
const fetchedTimes = 1899
const settleMs = 500
/** Pieces of work of which it is said what they were. */
const namedPieces = 5
/** After that a service has dropped what only its start needed, and is as it stays. */
const settledMs = 6000
/** A cold login and the rest after it take at least so long. */
const coldMs = 180
const startMs = 700
/** Another network than that of the others. */
const from = '127.66.6.6'

interface Ground {
  readonly service: Service
  readonly folder: string
  readonly attacker: User
  /** The attacker's large folder. */
  readonly inbox: string
  readonly names: readonly string[]
  readonly ms: number
}

interface Outcome {
  readonly others: OthersResult
  readonly attack: AttackResult
  readonly work: readonly Piece[]
}

/** Goes on for about the given time. */
type Attack = (ground: Ground) => Promise<AttackResult>

const attacks: Readonly<Record<string, Attack>> = {
  'fetch-many': byCommands(1, `FETCH 1:* (${'BODY.PEEK[1]<0.1> '.repeat(fetchedTimes).trim()})`),
  bodies: byCommands(4, 'FETCH 1:* BODY.PEEK[]'),
  structures: byCommands(4, 'FETCH 1:* BODYSTRUCTURE', 'Parts'),
  thread: byCommands(2, 'UID THREAD REFERENCES UTF-8 ALL', 'INBOX', 'UID THREAD ORDEREDSUBJECT UTF-8 ALL'),
  sort: byCommands(2, 'UID SORT (SUBJECT FROM) UTF-8 ALL', 'INBOX', 'UID SORT (TO SIZE) UTF-8 ALL'),
  search: byCommands(8, 'UID SEARCH BODY "zq"', 'INBOX', 'UID SEARCH TEXT "qz"'),
  store: byCommands(2, 'STORE 1:* +FLAGS.SILENT (\\Flagged)', 'INBOX', 'STORE 1:* -FLAGS.SILENT (\\Flagged)'),
  logins: ({ service, names, ms }) => run(job(service.listener('imap'), ms, 32, { by: 'logins', names })),
  codes: guessCodes,
  addresses: byMessages(`Message-ID: <ID@attack.test>\r\nTo: ${'a:'.repeat(30_000)}\r\n\r\nx\r\n`),
  'many-parts': byMessages(manyParts('ID')),
  patterns: hostilePatterns,
  import: importing,
  backup: backingUp,
  listing: listing,
  learning: learning,
}

const attackCount = Object.keys(attacks).length

/** What has to have been done before somebody is an attacker. */
const preparations: Readonly<Record<string, (ground: Ground) => Promise<void>>> = { learning: marking }

/** What takes longer than others, so many times. */
const lasting: Readonly<Record<string, number>> = { learning: 12 }

/** What is on disk before anybody attacks. */
interface Filled {
  readonly attacker: User
  readonly reader: User
  readonly boxes: { readonly attacker: string; readonly reader: string }
  /** Nobody knows their passwords yet. */
  readonly cold: readonly User[]
}

export async function isolationSection(plan: Plan): Promise<Row[]> {
  const names = plan.attacks ?? Object.keys(attacks)
  const folder = makeFolder()
  const dataDir = join(folder, 'data')
  const attackMs = plan.ms < 3000 ? 3500 : plan.ms
  const quietMs = attackMs / 3
  try {
    const strangers = Math.ceil(attackMs / coldMs) + Math.ceil(quietMs / coldMs)
    const { attacker, reader, boxes, cold: all } = await ground(plan, dataDir, strangers)
    const { profile } = plan
    const options = profile === undefined ? [] : profiling(profile)
    const service = await startService(dataDir, threadsOf(plan), [], options)
    await sleep(settledMs)
    const cold = all.slice()
    const place = { service, folder, attacker, inbox: boxes.attacker, ms: attackMs, names: cold.map(one => one.name) }
    const quiet: OthersResult[] = []
    const attacked = new Map<string, Outcome>()
    const watch = (ms: number) => {
      const strangers = cold.splice(0, Math.ceil(Math.min(ms, attackMs) / coldMs))
      return beside(service, reader, boxes.reader, strangers, ms)
    }
    for (const name of names) {
      const attack = attacks[name]
      if (attack === undefined) throw new Error(`no attack is called ${name}; there are ${Object.keys(attacks)}`)
      process.stderr.write(`  ${name} ...\n`)
      quiet.push(await watch(quietMs))
      await preparations[name]?.(place)
      const ms = attackMs * (lasting[name] ?? 1)
      const running = attack({ ...place, ms: ms + 2 * startMs }).catch(error => {
        return { done: 0, refused: 1, refusal: `it could not be made: ${error}` }
      })
      await sleep(startMs)
      await service.loopDelay('work')
      const others = await watch(ms)
      const { work } = await service.loopDelay('work')
      attacked.set(name, { others, work, attack: await running })
      await sleep(settleMs)
    }
    await service.stop()
    return rowsOf(quiet, attacked, profile === undefined ? undefined : readProfile(profile, service.pid))
  } finally {
    removeFolder(folder)
  }
}

/** Fills `dataDir`, or copies there what was filled before. */
async function ground(plan: Plan, dataDir: string, strangers: number): Promise<Filled> {
  const { ground: kept } = plan
  if (kept === undefined) return filled(dataDir, plan.attacked, (plan.attacks?.length ?? attackCount) * strangers)
  const told = join(kept, 'filled.json')
  if (!existsSync(told)) {
    // What was not filled to its end is of no use.
    removeFolder(join(kept, 'data'))
    const made = await filled(join(kept, 'data'), plan.attacked, attackCount * strangers)
    writeFileSync(`${told}.new`, JSON.stringify(made))
    renameSync(`${told}.new`, told)
  }
  cpSync(join(kept, 'data'), dataDir, { recursive: true })
  // The system would write it to the disk half a minute later, beside what is measured then.
  execFileSync('sync')
  return JSON.parse(readFileSync(told, 'utf8')) as Filled
}

async function filled(dataDir: string, messages: number, strangers: number): Promise<Filled> {
  mkdirSync(dataDir, { recursive: true })
  const first = await startService(dataDir)
  const [attacker, reader, ...cold] = await makeUsers(first, 2 + strangers)
  if (attacker === undefined || reader === undefined) throw new Error('no users')
  await first.stop()
  const boxes = await fillBoth(dataDir, attacker, reader, messages)
  const service = await startService(dataDir)
  await deliverParts(service, attacker)
  const read = openReader(databaseFile(dataDir))
  while ((await read.one('SELECT 1 FROM search_doc WHERE indexed = 0 LIMIT 1')) !== undefined) await sleep(settleMs)
  read.close()
  await service.stop()
  return { attacker, reader, boxes, cold }
}

/** @param doing names what was done in a piece of work */
function rowsOf(
  rounds: readonly OthersResult[],
  attacked: ReadonlyMap<string, Outcome>,
  doing: ((piece: Piece) => string) | undefined,
): Row[] {
  const rows: Row[] = []
  const quiet = new Map(deeds.map(deed => [deed, together(rounds.map(round => round[deed]))]))
  for (const [name, { others, attack, work }] of attacked) {
    for (const deed of deeds) rows.push(rowOf(name, deed, others[deed], quiet.get(deed)))
    const refusals = attack.refused === 0 ? '' : `, ${attack.refused} refused: ${attack.refusal.replace(/\s+/g, ' ')}`
    rows.push({
      what: `${name}: longest work of the main loop in one go`,
      figure: work[0]?.ms ?? 0,
      unit: 'ms',
      wanted: { most: quietEnoughMs },
      note: `processor time; the tenth longest ${(work[9]?.ms ?? 0).toFixed(1)}; attacker: ${attack.done} done${refusals}`,
    })
    if (doing === undefined) continue
    for (const piece of work.slice(0, namedPieces))
      rows.push({ what: `${name}: a long piece of work`, figure: piece.ms, unit: 'ms', note: doing(piece) })
  }
  return rows
}

function rowOf(name: string, deed: Deed, found: DeedResult, quiet: DeedResult | undefined): Row {
  const value = quiet?.p99 ?? 0
  const { p50, p99 } = spread(found.worked)
  const loop = `main loop meanwhile ${p50.toFixed(1)}, p99 ${p99.toFixed(1)}, quiet ${spread(quiet?.worked ?? []).p50.toFixed(1)}`
  const failures = found.failed === 0 ? '' : `; ${found.failed} FAILED: ${found.error}`
  return {
    what: `${name}: ${deed}, p99`,
    // Who never got through has waited for all of it.
    figure: found.done === 0 ? Number.POSITIVE_INFINITY : found.p99,
    unit: 'ms',
    bound: { name: 'quiet', value },
    wanted: { most: Math.max(timesQuiet, Math.round((quietEnoughMs / value) * 10) / 10) },
    note: `p50 ${found.p50.toFixed(1)}, quiet ${(quiet?.p50 ?? 0).toFixed(1)} ms; ${loop}; ${found.done} times${failures}`,
  }
}

function together(results: readonly DeedResult[]): DeedResult {
  const times = results.flatMap(result => result.times)
  const worked = results.flatMap(result => result.worked)
  const failed = results.reduce((sum, result) => sum + result.failed, 0)
  return { done: times.length, failed, ...spread(times), times, worked }
}

/** What others feel for so long. Each of `strangers` is used once. */
async function beside(
  service: Service,
  reader: User,
  inbox: string,
  strangers: readonly User[],
  ms: number,
): Promise<OthersResult> {
  const others: OthersJob = {
    ...{ kind: 'others', pid: service.pid, ms, reader, strangers, recipients: [reader.address] },
    ...{ imap: service.listener('imap'), lmtp: service.listener('lmtp'), api: service.listener('api') },
    headers: { 'X-Access-Token': service.token },
    path: `/users/${reader.id}/mailboxes/${inbox}/messages?limit=20`,
  }
  return (await inProcess(others)) as OthersResult
}

async function inProcess(asked: OthersJob | AttackJob): Promise<unknown> {
  const child = startChild('bench/load/main.ts', [], {})
  try {
    return await child.ask(asked)
  } finally {
    await child.stop(1000)
  }
}

function run(asked: AttackJob): Promise<AttackResult> {
  return inProcess(asked) as Promise<AttackResult>
}

function job<Form extends object>(at: Target, ms: number, connections: number, form: Form) {
  return { kind: 'attack', host: at.host, port: at.port, ms, connections, from, ...form } as const
}

function byCommands(connections: number, command: string, folder = 'INBOX', other = command): Attack {
  return ({ service, attacker, ms }) => {
    const form = { by: 'commands', account: attacker, folder, commands: [command, other] } as const
    return run(job(service.listener('imap'), ms, connections, form))
  }
}

function byMessages(message: string): Attack {
  return ({ service, attacker, ms }) =>
    run(job(service.listener('lmtp'), ms, 4, { by: 'messages', recipient: attacker.address, message }))
}

async function guessCodes({ service, attacker, ms }: Ground): Promise<AttackResult> {
  await service.call('POST', `/users/${attacker.id}/2fa/totp/setup`, {})
  const requests = Array.from({ length: 50 }, (_, at) =>
    request(service, 'POST', `/users/${attacker.id}/2fa/totp/check`, { token: String(100_000 + at) }),
  )
  return run(job(service.listener('api'), ms, 16, { by: 'requests', requests }))
}

function listing({ service, attacker, inbox, ms }: Ground): Promise<AttackResult> {
  const base = `/users/${attacker.id}`
  const paths = [
    `${base}/mailboxes/${inbox}/messages?limit=250&threadCounters=true`,
    `${base}/mailboxes/${inbox}/messages?limit=250&unseen=true`,
    `${base}/search?limit=250&query=zyzzogeton`,
  ]
  const requests = paths.map(path => request(service, 'GET', path))
  return run(job(service.listener('api'), ms, 8, { by: 'requests', requests }))
}

/** Moves so many messages into Junk, and half of them back. */
async function marking({ service, attacker, inbox }: Ground): Promise<void> {
  const base = `/users/${attacker.id}/mailboxes`
  const { results } = await service.call('GET', base)
  const junk = (results as { id: string; specialUse?: string }[]).find(one => one.specialUse === '\\Junk')?.id
  const move = (from: string, message: string, moveTo = '') =>
    service.call('PUT', `${base}/${from}/messages`, { message, moveTo })
  await move(inbox, `1:${learnedMost}`, junk)
  await move(String(junk), `1:${learnedMost / 2}`, inbox)
}

/** Lets them be learned. */
async function learning({ service, ms }: Ground): Promise<AttackResult> {
  const waiting = await marksWaiting(service)
  await sleep(ms)
  return { done: waiting - (await marksWaiting(service)), refused: 0, refusal: '' }
}

async function marksWaiting({ listener, token }: Service): Promise<number> {
  const { host, port } = listener('api')
  const answer = await fetch(`http://${host}:${port}/metrics`, { headers: { 'X-Access-Token': token } })
  return Number(/^\w*spam_marks_waiting (\d+)$/m.exec(await answer.text())?.[1])
}

function request(service: Service, method: string, path: string, body?: object): string {
  const content = body === undefined ? '' : JSON.stringify(body)
  const type = body === undefined ? '' : `Content-Type: application/json\r\nContent-Length: ${content.length}\r\n`
  return `${method} ${path} HTTP/1.1\r\nHost: bench.test\r\nX-Access-Token: ${service.token}\r\n${type}\r\n${content}`
}

async function hostilePatterns({ service, attacker, ms }: Ground): Promise<AttackResult> {
  for (let at = 0; at < 50; at++) {
    const query = { subject: `/^(a+)+${at}$/` }
    await service.call('POST', `/users/${attacker.id}/filters`, { query, action: { flag: true } })
  }
  const message = `Message-ID: <ID@attack.test>\r\nSubject: ${'a'.repeat(60)}!\r\n\r\nx\r\n`
  return run(job(service.listener('lmtp'), ms, 4, { by: 'messages', recipient: attacker.address, message }))
}

async function importing({ service, folder, attacker, ms }: Ground): Promise<AttackResult> {
  const maildir = join(folder, 'maildir')
  for (const part of ['cur', 'new', 'tmp']) mkdirSync(join(maildir, part), { recursive: true })
  const pool = fixedMessages(2048, 200, 1)
  // Some more than it takes in the time: an import that ends early would show nothing.
  for (let index = 0; index < ms * 2; index++) {
    const message = pool[index % pool.length]
    if (message !== undefined)
      writeFileSync(join(maildir, `cur/${1.7e9 + index}.M${index}.bench:2,S`), stamp(message, 'import'))
  }
  await runCommand(['import-maildir', `${attacker.name}:${maildir}`, '--json'], service.dataDir)
  return { done: 1, refused: 0, refusal: '' }
}

async function backingUp({ service, folder, ms }: Ground): Promise<AttackResult> {
  let done = 0
  for (const until = performance.now() + ms; performance.now() < until; done++) {
    const to = join(folder, `backup-${done}`)
    await runCommand(['backup', to], service.dataDir)
    removeFolder(to)
  }
  return { done, refused: 0, refusal: '' }
}

/** Puts the messages of both folders on disk, in a directory that nobody serves. */
async function fillBoth(dataDir: string, attacker: User, reader: User, count: number) {
  const config = loadConfig({ flags: { dataDir, hostname: 'bench.test', log: { level: 'error' } } })
  const core = await openCore(config, makeLog('error'))
  const boxes = {
    attacker: (await folderOf(core, attacker.id, 'INBOX')).id,
    reader: (await folderOf(core, reader.id, 'INBOX')).id,
  }
  await fill(core, reader.id, boxes.reader, readerMessages)
  await fill(core, attacker.id, boxes.attacker, count, readerMessages)
  await core.close()
  return boxes
}

async function deliverParts(service: Service, attacker: User): Promise<void> {
  const path = `/users/${attacker.id}/mailboxes`
  await service.call('POST', path, { path: 'Parts' })
  const { results } = await service.call('GET', path)
  const box = (results as { id: string; path: string }[]).find(one => one.path === 'Parts')?.id
  for (let at = 0; at < partsMessages; at++)
    await service.call('POST', `${path}/${box}/messages`, {
      raw: Buffer.from(manyParts(String(at))).toString('base64'),
    })
}

function manyParts(id: string): string {
  const head = `Message-ID: <${id}@attack.test>\r\nMIME-Version: 1.0\r\nContent-Type: multipart/mixed; boundary=b\r\n`
  return `${head}\r\n${'--b\r\nContent-Type: text/x; a=b\r\n\r\nx\r\n'.repeat(parts)}--b--\r\n`
}
