// IMAP: what a mail program feels with a mailbox of 10,000 messages of 5 KB, appends, a mailbox of 100,000, sessions
// that wait.
//
// Figures are times of one client, one command at a time, from the first byte sent to the tagged answer; the first run
// of a command on a service that has just started stands beside the best of the others. Memory is what the whole
// process holds, shared pages counted by share.

import { readFileSync } from 'node:fs'
import { sleep } from '#lib/clock.ts'
import { ImapLoad } from '../load/imap.ts'
import type { Plan } from '../plan.ts'
import type { Row } from '../row.ts'
import { makeFolder, makeUsers, removeFolder, type Service, startService, type User } from '../service.ts'

const messageBytes = 5120
const connections = 16
const idleSessions = 1000
const env = { TEAL_IMAP_MAX_CONNECTIONS: '2000' }
/** A word in one message of a hundred. */
const rare = 'zx42q'

interface Sizes {
  readonly messages: number
  readonly single: number
  readonly copies: number
  readonly repeats: number
}

export async function imapSection(plan: Plan): Promise<Row[]> {
  const quick = plan.ms < 3000
  const sizes: Sizes = quick
    ? { messages: 1000, single: 100, copies: 1, repeats: 2 }
    : { messages: 10_000, single: 1000, copies: 10, repeats: 5 }
  const folder = makeFolder()
  try {
    const first = await startService(folder, env)
    const [user, other] = await makeUsers(first, 2)
    if (user === undefined || other === undefined) throw new Error('no users')
    const rows = await appends(first, user, other, sizes)
    await sleep(quick ? 1000 : 15_000)
    await first.stop()
    const service = await startService(folder, env)
    rows.push(...(await commands(service, user, sizes)))
    rows.push(...(await large(service, user, sizes)))
    rows.push(await idle(service, other))
    await service.stop()
    return rows
  } finally {
    removeFolder(folder)
  }
}

async function appends(service: Service, user: User, other: User, sizes: Sizes): Promise<Row[]> {
  const at = service.listener('imap')
  let serial = 0
  const next = () => message(serial++)
  const append = (client: ImapLoad) => client.run(`APPEND INBOX {${messageBytes}+}`, next())
  const alone = await ImapLoad.open(at, other.name, other.password)
  const single = await timed(async () => {
    for (let count = 0; count < sizes.single; count++) await append(alone)
  })
  alone.close()
  serial = 0
  const clients = await Promise.all(
    Array.from({ length: connections }, () => ImapLoad.open(at, user.name, user.password)),
  )
  let left = sizes.messages
  const together = await timed(async () => {
    await Promise.all(
      clients.map(async client => {
        while (left-- > 0) await append(client)
      }),
    )
  })
  for (const client of clients) client.close()
  return [
    { what: 'APPEND of 5 KB, one by one', figure: (sizes.single / single) * 1000, unit: '/s', wanted: { least: 900 } },
    {
      what: `APPEND of 5 KB, ${connections} connections, one user`,
      figure: (sizes.messages / together) * 1000,
      unit: '/s',
      wanted: { least: 2500 },
    },
  ]
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

async function commands(service: Service, user: User, sizes: Sizes): Promise<Row[]> {
  const client = await ImapLoad.open(service.listener('imap'), user.name, user.password)
  await client.run('SELECT INBOX')
  const share = sizes.messages / 10_000
  const rows: Row[] = []
  const measure = async (what: string, command: string, most: number, before?: string) => {
    const times: number[] = []
    for (let count = 0; count <= sizes.repeats; count++) {
      if (before !== undefined) await client.run(before)
      times.push((await client.run(command)).ms)
    }
    const [first = 0, ...others] = times
    const figure = Math.min(...others)
    rows.push({ what, figure, unit: 'ms', wanted: { most: most * share }, note: `first ${first.toFixed(0)} ms` })
  }
  await measure('bodies of all', 'UID FETCH 1:* (BODY.PEEK[])', 250)
  await measure('flags of all', 'UID FETCH 1:* (FLAGS)', 20)
  await measure('envelopes, structures and flags of all', 'UID FETCH 1:* (FLAGS ENVELOPE BODYSTRUCTURE)', 150)
  await measure('SEARCH FROM', 'UID SEARCH FROM sender42@', 20)
  await measure('SEARCH SUBJECT', 'UID SEARCH SUBJECT subj42', 20)
  await measure('SEARCH BODY of a rare word', `UID SEARCH BODY ${rare}`, 100)
  const undo = 'UID STORE 1:* -FLAGS.SILENT (\\Flagged)'
  await measure('STORE of a flag on all', 'UID STORE 1:* +FLAGS (\\Flagged)', 100, undo)
  client.close()
  return rows
}

async function large(service: Service, user: User, sizes: Sizes): Promise<Row[]> {
  const client = await ImapLoad.open(service.listener('imap'), user.name, user.password)
  await client.run('CREATE Large')
  await client.run('SELECT INBOX')
  let copying = 0
  for (let count = 0; count < sizes.copies; count++) copying += (await client.run('COPY 1:* Large')).ms
  await client.run('UNSELECT')
  const times: number[] = []
  for (let count = 0; count < 5; count++) times.push((await client.run('SELECT Large')).ms)
  client.close()
  const total = sizes.messages * sizes.copies
  return [
    { what: 'COPY', figure: (total / copying) * 1000, unit: '/s' },
    {
      what: `SELECT of ${total.toLocaleString('en-US')} messages`,
      figure: Math.max(...times),
      unit: 'ms',
      wanted: { most: 10 },
      note: 'slowest of 5',
    },
  ]
}

async function idle(service: Service, user: User): Promise<Row> {
  const clients: ImapLoad[] = []
  const warm = await ImapLoad.open(service.listener('imap'), user.name, user.password)
  await warm.run('SELECT INBOX')
  warm.close()
  await sleep(2000)
  const before = held(service.pid)
  while (clients.length < idleSessions) {
    const client = await ImapLoad.open(service.listener('imap'), user.name, user.password)
    await client.run('SELECT INBOX')
    await client.idle()
    clients.push(client)
  }
  await sleep(2000)
  const figure = (held(service.pid) - before) / idleSessions
  for (const client of clients) client.close()
  return { what: `memory of a waiting session, ${idleSessions} of them`, figure, unit: 'KB', wanted: { most: 25 } }
}

/** Memory of a process in KB, each shared page by its share. */
function held(pid: number): number {
  return Number(/^Pss:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/smaps_rollup`, 'utf8'))?.[1] ?? 0)
}

async function timed(task: () => Promise<void>): Promise<number> {
  const started = performance.now()
  await task()
  return performance.now() - started
}
