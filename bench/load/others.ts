// What people beside an attack do, all at once in one process: each does one thing, rests, does it again.
//
// So little that it is no load of its own. A failure counts and is said; the connection is then made anew. What took longer
// than the measure counts with the time it has taken so far, so that who is not answered at all is not left out.

import { readFileSync } from 'node:fs'
import { monotonic, sleep } from '#lib/clock.ts'
import { ImapLoad } from './imap.ts'
import { percentile } from './job.ts'
import { openLines, type Target } from './line.ts'
import { fixedMessages, onTheWire, stamp } from './messages.ts'

export interface OthersJob {
  readonly kind: 'others'
  readonly ms: number
  readonly imap: Target
  readonly lmtp: Target
  readonly api: Target
  /** The service. */
  readonly pid: number
  readonly headers: Readonly<Record<string, string>>
  /** Whose mail is read, over HTTP at `path`. */
  readonly reader: Account
  readonly path: string
  readonly recipients: readonly string[]
  /** None of them has logged in since the service started. */
  readonly strangers: readonly Account[]
}

export interface Account {
  readonly name: string
  readonly password: string
}

export const deeds = ['API read', 'IMAP NOOP', 'IMAP FETCH', 'delivery', 'warm login', 'cold login'] as const
export type Deed = (typeof deeds)[number]

export interface DeedResult {
  /** How often it went well. */
  readonly done: number
  readonly failed: number
  readonly error?: string
  readonly p50: number
  readonly p99: number
  /** Every time, milliseconds. */
  readonly times: readonly number[]
  /** Processor time the service's main thread had meanwhile, milliseconds: tells more than times where the machine is busy. */
  readonly worked: readonly number[]
}

export type OthersResult = Readonly<Record<Deed, DeedResult>>

const restMs = 8
const coldRestMs = 120
const messageBytes = 2048
const fetchedMax = 100

/** Does a thing once, over a connection that it keeps or makes anew. */
type Doer = () => Promise<void>

export async function others(job: OthersJob): Promise<OthersResult> {
  const until = monotonic() + job.ms
  const doers: Record<Deed, Doer> = {
    'API read': reading(job),
    'IMAP NOOP': asking(job, () => 'NOOP'),
    'IMAP FETCH': asking(job, round => `UID FETCH ${1 + (round % fetchedMax)} (FLAGS ENVELOPE BODY.PEEK[])`),
    delivery: delivering(job),
    'warm login': loggingIn(job, () => job.reader),
    'cold login': loggingIn(job, round => job.strangers[round]),
  }
  const work = () => worked(job.pid)
  const results = await Promise.all(
    deeds.map(async deed => [deed, await repeat(deed, doers[deed], until, work)] as const),
  )
  return Object.fromEntries(results) as unknown as OthersResult
}

/** Processor time of a process's main thread, milliseconds; 0 where the system does not tell. */
function worked(pid: number): number {
  try {
    return Number(readFileSync(`/proc/${pid}/schedstat`, 'latin1').split(' ')[0]) / 1e6
  } catch {
    return 0
  }
}

async function repeat(deed: Deed, act: Doer, until: number, work: () => number): Promise<DeedResult> {
  const times: number[] = []
  const worked: number[] = []
  const result = { failed: 0, error: '' }
  // The first one makes the connection, which is what logins are measured by; a cold login is cold once.
  if (deed !== 'cold login') await act().catch(() => {})
  while (monotonic() < until) {
    const since = monotonic()
    const before = work()
    try {
      const left = until - since
      const late = sleep(left + 50).then(() => 'late' as const)
      const ended = await Promise.race([act().then(() => 'done' as const), late])
      times.push(monotonic() - since)
      worked.push(work() - before)
      if (ended === 'late') break
    } catch (error) {
      if (error instanceof NobodyLeft) break
      result.failed += 1
      result.error = error instanceof Error ? error.message.slice(0, 100) : String(error)
    }
    await sleep(deed === 'cold login' ? coldRestMs : restMs)
  }
  return { done: times.length, ...result, ...spread(times), times, worked }
}

export function spread(times: readonly number[]): { p50: number; p99: number } {
  const sorted = times.toSorted((one, other) => one - other)
  return { p50: percentile(sorted, 50), p99: percentile(sorted, 99) }
}

class NobodyLeft extends Error {}

function reading({ api, path, headers }: OthersJob): Doer {
  return async () => {
    const response = await fetch(`http://${api.host}:${api.port}${path}`, { headers })
    await response.arrayBuffer()
    if (response.status !== 200) throw new Error(`status ${response.status}`)
  }
}

function asking({ imap, reader }: OthersJob, command: (round: number) => string): Doer {
  let client: ImapLoad | undefined
  let round = 0
  return async () => {
    if (client === undefined) {
      const fresh = await ImapLoad.open(imap, reader.name, reader.password)
      await fresh.run('SELECT INBOX')
      client = fresh
    }
    try {
      await client.run(command(round++))
    } catch (error) {
      client.close()
      client = undefined
      throw error
    }
  }
}

function loggingIn({ imap }: OthersJob, who: (round: number) => Account | undefined): Doer {
  let round = 0
  return async () => {
    const account = who(round++)
    if (account === undefined) throw new NobodyLeft()
    const client = await ImapLoad.open(imap, account.name, account.password)
    client.close()
  }
}

function delivering({ lmtp, recipients }: OthersJob): Doer {
  const pool = fixedMessages(messageBytes, 50, 7)
  let count = 0
  let waiting: { resolve(line: string): void; reject(error: Error): void } | undefined
  let client: ReturnType<typeof openLines> | undefined
  const next = () => new Promise<string>((resolve, reject) => (waiting = { resolve, reject }))
  const expect = async (code: string) => {
    const line = await next()
    if (!line.startsWith(code)) throw new Error(line)
  }
  const open = async () => {
    client = openLines(
      lmtp,
      line => {
        if (line.charCodeAt(3) !== 0x2d) waiting?.resolve(line)
      },
      () => {
        client = undefined
        waiting?.reject(new Error('the connection closed'))
      },
    )
    await expect('220')
    client?.send('LHLO others.test\r\n')
    await expect('250')
  }
  return async () => {
    if (client === undefined) await open()
    const to = recipients[count % recipients.length]
    for (const [line, code] of [
      ['MAIL FROM:<sender@remote.test>', '250'],
      [`RCPT TO:<${to}>`, '250'],
      ['DATA', '354'],
    ] as const) {
      client?.send(`${line}\r\n`)
      await expect(code)
    }
    const message = pool[count++ % pool.length]
    if (message !== undefined) client?.sendBytes(onTheWire(stamp(message, process.pid.toString(36))))
    await expect('250')
  }
}
