// IMAP: what a mail program feels with a mailbox of 10,000 messages of 5 KB, appends, a mailbox of 100,000, logins,
// sessions that wait; and with `--peers` the same asked of Dovecot in the same run, with mixes of sessions (mixes.ts).
//
// Figures are times of one client, one command at a time, from the first byte sent to the tagged answer; "first" is the
// first run of a command on a service that has just started, "again" the best of the others. Memory is what all processes
// hold, shared pages counted by share. On the disk both sync what they answer for.

import { readdirSync, readFileSync } from 'node:fs'
import { sleep } from '#lib/clock.ts'
import { bareBodies } from '../bound.ts'
import { ImapLoad } from '../load/imap.ts'
import type { Target } from '../load/line.ts'
import { dovecotPassword, withDovecot } from '../peer/dovecot.ts'
import type { Plan } from '../plan.ts'
import type { Row } from '../row.ts'
import { makeFolder, makeUsers, removeFolder, startService } from '../service.ts'
import { mixes } from './mixes.ts'

const messageBytes = 5120
const connections = 16
const env = { TEAL_IMAP_MAX_CONNECTIONS: '2000' }
/** A word in one message of a hundred. */
const rare = 'zx42q'

interface Sizes {
  readonly messages: number
  readonly single: number
  readonly copies: number
  readonly repeats: number
  readonly idle: number
}

/** A server that is asked, whichever it is. */
interface Side {
  readonly at: Target
  readonly pid: number
  readonly user: Account
  /** Its INBOX stays empty. */
  readonly other: Account
  /** Takes away its garbage, where it has some: what waits is what is held. */
  readonly collect?: () => Promise<void>
}

interface Account {
  readonly name: string
  readonly password: string
}

/** What is measured: a figure for each, and what is wished for. */
interface Measure {
  readonly what: string
  readonly unit: string
  /** Of the figure. Times are for 10,000 messages. */
  readonly wanted?: { readonly least?: number; readonly most?: number }
  /** Of the figure beside Dovecot's. */
  readonly beside?: { readonly least?: number; readonly most?: number }
  readonly note?: string
}

type Figures = Map<string, number>

const faster = { most: 1 }
const measures: readonly Measure[] = [
  { what: 'APPEND of 5 KB, one by one', unit: '/s', wanted: { least: 900 }, beside: { least: 1 } },
  {
    what: `APPEND of 5 KB, ${connections} connections, one user`,
    unit: '/s',
    wanted: { least: 2500 },
    beside: { least: 1 },
  },
  { what: 'bodies of all, first', unit: 'ms', wanted: { most: 250 }, beside: { most: 1.4 } },
  { what: 'bodies of all, again', unit: 'ms', wanted: { most: 250 }, beside: faster },
  { what: 'flags of all, first', unit: 'ms', beside: { most: 1.5 } },
  { what: 'flags of all, again', unit: 'ms', wanted: { most: 20 }, beside: { most: 1.5 } },
  { what: 'envelopes, structures and flags of all, first', unit: 'ms', beside: faster },
  { what: 'envelopes, structures and flags of all, again', unit: 'ms', wanted: { most: 150 }, beside: faster },
  { what: 'SEARCH FROM, again', unit: 'ms', wanted: { most: 20 }, beside: faster },
  { what: 'SEARCH SUBJECT, again', unit: 'ms', wanted: { most: 20 }, beside: faster },
  { what: 'SEARCH BODY of a rare word, first', unit: 'ms', wanted: { most: 100 }, beside: faster },
  { what: 'SEARCH BODY of a rare word, again', unit: 'ms', wanted: { most: 100 }, beside: faster },
  { what: 'SEARCH TEXT of a rare word, again', unit: 'ms', beside: faster },
  { what: 'STORE of a flag on all, again', unit: 'ms', wanted: { most: 100 }, beside: { most: 1.5 } },
  { what: 'COPY of all', unit: '/s', beside: { least: 1 } },
  { what: 'SELECT of all copies', unit: 'ms', wanted: { most: 10 }, beside: faster, note: 'slowest of 5' },
  { what: 'logins, one after the other', unit: '/s', wanted: { least: 200 }, beside: { least: 1 } },
  { what: 'memory of a waiting session', unit: 'KB', wanted: { most: 25 }, beside: faster },
]

export async function imapSection(plan: Plan): Promise<Row[]> {
  if (plan.mixes !== undefined) return mixes(plan)
  const quick = plan.ms < 3000
  const sizes: Sizes = quick
    ? { messages: 1000, single: 100, copies: 1, repeats: 2, idle: 100 }
    : { messages: 10_000, single: 1000, copies: 10, repeats: 50, idle: 1000 }
  const folder = makeFolder()
  const figures: Figures = new Map()
  let bare = 0
  try {
    const first = await startService(folder, env)
    const [user, other] = await makeUsers(first, 2)
    if (user === undefined || other === undefined) throw new Error('no users')
    await appends({ at: first.listener('imap'), pid: first.pid, user, other }, sizes, figures)
    await sleep(quick ? 1000 : 15_000)
    await first.stop()
    bare = await bareBodies(folder, sizes.messages)
    const service = await startService(folder, env)
    const side = { at: service.listener('imap'), pid: service.pid, user, other }
    await commands(side, sizes, figures)
    await large(side, sizes, figures)
    await service.stop()
    // Anew, so that what earlier commands left to be cleaned up does not count.
    const fresh = await startService(folder, env)
    const collect = () => fresh.collect()
    await waiting({ at: fresh.listener('imap'), pid: fresh.pid, user, other, collect }, sizes.idle, figures)
    await fresh.stop()
  } finally {
    removeFolder(folder)
  }
  const peer = plan.peers ? await dovecot(sizes) : undefined
  return [...rowsOf(figures, peer, sizes, bare), ...(plan.peers ? await mixes(plan) : [])]
}

/** The same of Dovecot, with fewer waiting sessions: each is a process there. */
function dovecot(sizes: Sizes): Promise<Figures> {
  return withDovecot(
    2,
    async ({ imap, pid, addresses }) => {
      const [user = '', other = ''] = addresses
      const account = (name: string) => ({ name, password: dovecotPassword })
      const side = { at: imap, pid, user: account(user), other: account(other) }
      const figures: Figures = new Map()
      await appends(side, sizes, figures)
      await commands(side, sizes, figures)
      await large(side, sizes, figures)
      await waiting(side, Math.ceil(sizes.idle / 10), figures)
      return figures
    },
    { imap: true },
  )
}

function rowsOf(figures: Figures, peer: Figures | undefined, sizes: Sizes, bare: number): Row[] {
  const rows: Row[] = []
  const share = sizes.messages / 10_000
  for (const { what, unit, wanted, beside, note } of measures) {
    const figure = figures.get(what) ?? Number.NaN
    const most =
      unit === 'ms' && wanted?.most !== undefined && what !== 'SELECT of all copies'
        ? wanted.most * share
        : wanted?.most
    const wish = wanted === undefined ? {} : { wanted: most === undefined ? wanted : { most } }
    rows.push({ what, figure, unit, ...wish, ...(note === undefined ? {} : { note }) })
    if (what === 'bodies of all, first') {
      const bound = { name: 'rows and zstd alone', value: bare }
      rows.push({ what: '  the same in messages', figure: (sizes.messages / figure) * 1000, unit: '/s', bound })
    }
    const value = peer?.get(what)
    if (value === undefined) continue
    const bound = { name: 'Dovecot', value }
    rows.push({ what: `  beside Dovecot`, figure, unit, bound, ...(beside === undefined ? {} : { wanted: beside }) })
  }
  return rows
}

async function appends({ at, user, other }: Side, sizes: Sizes, figures: Figures): Promise<void> {
  let serial = 0
  const next = () => message(serial++)
  const append = (client: ImapLoad, bytes: Buffer, folder: string) =>
    client.run(`APPEND ${folder} {${messageBytes}+}`, bytes)
  const alone = await ImapLoad.open(at, other.name, other.password)
  // What lasts, not the first second of a process; and messages made before, since nothing else goes on meanwhile.
  await alone.run('CREATE Appended')
  for (let count = 0; count < 4 * sizes.single; count++) await append(alone, next(), 'Appended')
  const prepared = Array.from({ length: sizes.single }, next)
  const single = await timed(async () => {
    for (const bytes of prepared) await append(alone, bytes, 'Appended')
  })
  alone.close()
  figures.set('APPEND of 5 KB, one by one', (sizes.single / single) * 1000)
  serial = 0
  const clients = await Promise.all(
    Array.from({ length: connections }, () => ImapLoad.open(at, user.name, user.password)),
  )
  let left = sizes.messages
  const together = await timed(async () => {
    await Promise.all(
      clients.map(async client => {
        while (left-- > 0) await append(client, next(), 'INBOX')
      }),
    )
  })
  for (const client of clients) client.close()
  figures.set(`APPEND of 5 KB, ${connections} connections, one user`, (sizes.messages / together) * 1000)
}

/** A message of 5 KB of plain text; one in a hundred has the rare word, a sender and a subject of its own. */
function message(serial: number): Buffer {
  const kind = serial % 100
  let text =
    `From: "Bench" <sender${kind}@remote.test>\r\nTo: user@bench.test\r\nSubject: subj${kind} of the day\r\n` +
    `Date: Sat, 21 Nov 2026 10:00:00 +0000\r\nMessage-ID: <${serial}.${kind}@remote.test>\r\n\r\n`
  let state = serial + 1
  for (let line = 0; text.length < messageBytes - 80; line++) {
    if (line === 5 && kind === 42) text += `${rare} `
    for (let word = 0; word < 9; word++) {
      state = (state * 1_103_515_245 + 12_345) % 2_147_483_648
      text += `${(state % 40_000).toString(36)}en `
    }
    text += '\r\n'
  }
  return Buffer.from(`${text.padEnd(messageBytes - 2, 'x').slice(0, messageBytes - 2)}\r\n`, 'latin1')
}

async function commands({ at, user, other }: Side, sizes: Sizes, figures: Figures): Promise<void> {
  // Messages nobody has read since the start, of a service that has worked since: its code ran for somebody else's.
  const before = await ImapLoad.open(at, other.name, other.password)
  await before.run('SELECT Appended')
  await before.run('UID FETCH 1:* (BODY.PEEK[])')
  before.close()
  const client = await ImapLoad.open(at, user.name, user.password)
  await client.run('SELECT INBOX')
  // What a service does once it is asked for the first time, it does before somebody asks for all of it.
  await sleep(500)
  const measure = async (what: string, command: string, before?: string) => {
    const times: number[] = []
    for (let count = 0; count <= sizes.repeats; count++) {
      if (before !== undefined) await client.run(before)
      times.push((await client.run(command)).ms)
    }
    const [first = 0, ...others] = times
    figures.set(`${what}, first`, first)
    figures.set(`${what}, again`, Math.min(...others))
  }
  await measure('bodies of all', 'UID FETCH 1:* (BODY.PEEK[])')
  await measure('flags of all', 'UID FETCH 1:* (FLAGS)')
  await measure('envelopes, structures and flags of all', 'UID FETCH 1:* (FLAGS ENVELOPE BODYSTRUCTURE)')
  await measure('SEARCH FROM', 'UID SEARCH FROM sender42@')
  await measure('SEARCH SUBJECT', 'UID SEARCH SUBJECT subj42')
  await measure('SEARCH BODY of a rare word', `UID SEARCH BODY ${rare}`)
  await measure('SEARCH TEXT of a rare word', `UID SEARCH TEXT ${rare}`)
  const undo = 'UID STORE 1:* -FLAGS.SILENT (\\Flagged)'
  await measure('STORE of a flag on all', 'UID STORE 1:* +FLAGS (\\Flagged)', undo)
  client.close()
}

async function large({ at, user }: Side, sizes: Sizes, figures: Figures): Promise<void> {
  const client = await ImapLoad.open(at, user.name, user.password)
  await client.run('CREATE Large')
  await client.run('SELECT INBOX')
  let copying = 0
  for (let count = 0; count < sizes.copies; count++) copying += (await client.run('COPY 1:* Large')).ms
  figures.set('COPY of all', ((sizes.messages * sizes.copies) / copying) * 1000)
  await client.run('UNSELECT')
  const times: number[] = []
  for (let count = 0; count < 5; count++) times.push((await client.run('SELECT Large')).ms)
  figures.set('SELECT of all copies', Math.max(...times))
  client.close()
}

async function waiting({ at, pid, other, collect }: Side, count: number, figures: Figures): Promise<void> {
  const warm = await Promise.all(Array.from({ length: 20 }, () => ImapLoad.open(at, other.name, other.password)))
  for (const client of warm) await client.run('SELECT INBOX')
  await sleep(2000)
  await collect?.()
  const before = held(pid)
  const clients: ImapLoad[] = []
  let logins = 0
  while (clients.length < count) {
    logins += await timed(async () => {
      clients.push(await ImapLoad.open(at, other.name, other.password))
    })
    await clients.at(-1)?.run('SELECT INBOX')
    await clients.at(-1)?.idle()
  }
  figures.set('logins, one after the other', (count / logins) * 1000)
  await sleep(2000)
  await collect?.()
  figures.set('memory of a waiting session', (held(pid) - before) / count)
  for (const client of [...warm, ...clients]) client.close()
}

/** Memory of a process and those it started in KB, each shared page by its share. */
function held(pid: number): number {
  const parents = new Map<number, number>()
  for (const name of readdirSync('/proc')) {
    const status = /^\d+$/.test(name) ? fileOf(`/proc/${name}/status`) : ''
    parents.set(Number(name), Number(/^PPid:\s+(\d+)/m.exec(status)?.[1] ?? 0))
  }
  const belongs = (one: number): boolean => one === pid || (one > 1 && belongs(parents.get(one) ?? 0))
  let sum = 0
  for (const one of parents.keys()) {
    if (belongs(one)) sum += Number(/^Pss:\s+(\d+)/m.exec(fileOf(`/proc/${one}/smaps_rollup`))?.[1] ?? 0)
  }
  return sum
}

/** Empty for a process that is gone. */
function fileOf(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return ''
  }
}

async function timed(task: () => Promise<void>): Promise<number> {
  const started = performance.now()
  await task()
  return performance.now() - started
}
