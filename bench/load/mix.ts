// Sessions of mail programs, made up by a seed: what one does from its login to its end, one command after the other.
//
// A deed never waits for a clock: whoever was answered asks for the next thing, so a rate says what the server and this
// generator manage together on their cores. A refusal (NO) is an answer, for somebody else may have taken the message; a
// connection that ends or a command that makes no sense is a failure.

import { monotonic } from '#lib/clock.ts'
import { ImapLoad } from './imap.ts'
import { type LoadResult, percentile } from './job.ts'
import type { Target } from './line.ts'
import type { Account } from './others.ts'

export interface MixJob extends Target {
  readonly kind: 'mix'
  readonly mix: MixName
  /** Each has `messages` messages with uids from 1 in INBOX, and a folder Archive. */
  readonly accounts: readonly Account[]
  readonly messages: number
  readonly connections: number
  readonly ms: number
  readonly seed: number
}

/** What a session has at hand. */
interface Hand {
  readonly job: MixJob
  readonly account: Account
  /** A whole number from 0 to below `below`. */
  random(below: number): number
  /** A uid that was there at first. */
  uid(): number
  /** Carries out a command, which counts. */
  ask(client: ImapLoad, command: string, bytes?: Buffer): Promise<string>
  /** IDLE, ended once the server waits. */
  idle(client: ImapLoad): Promise<void>
}

interface Mix {
  /** Logs in once, or each time. */
  readonly stays: boolean
  /** Before the first of `acts` of a session that stays. */
  readonly begin?: string
  /** What is done and how often, of a hundred. */
  readonly acts: readonly (readonly [number, (client: ImapLoad, hand: Hand) => Promise<unknown>])[]
}

const listed =
  'FROM TO CC SUBJECT DATE MESSAGE-ID REFERENCES IN-REPLY-TO CONTENT-TYPE LIST-ID REPLY-TO SENDER X-PRIORITY IMPORTANCE'
const lines = `UID FLAGS RFC822.SIZE INTERNALDATE BODY.PEEK[HEADER.FIELDS (${listed})]`

type Act = Mix['acts'][number][1]

const noop: Act = (client, { ask }) => ask(client, 'NOOP')
const idle: Act = (client, hand) => hand.idle(client)
const body: Act = (client, { ask, uid }) => ask(client, `UID FETCH ${uid()} (UID BODY.PEEK[])`)
const text: Act = (client, { ask, uid }) => ask(client, `UID FETCH ${uid()} (UID FLAGS BODY.PEEK[HEADER] BODY.PEEK[1])`)
const flagsOfOne: Act = (client, { ask, uid }) => ask(client, `UID FETCH ${uid()} (UID FLAGS)`)
const unseen: Act = (client, { ask }) => ask(client, 'UID SEARCH UNSEEN')
const status: Act = (client, { ask }) => ask(client, 'STATUS Archive (MESSAGES UNSEEN UIDNEXT)')
const store: Act = (client, { ask, uid, random }) =>
  ask(client, `UID STORE ${uid()} ${random(2) === 0 ? '+' : '-'}FLAGS (${random(2) === 0 ? '\\Seen' : '\\Flagged'})`)
const page: Act = (client, { ask, random, job }) => {
  const from = 1 + random(Math.max(1, job.messages - 40))
  return ask(client, `UID FETCH ${from}:${from + 39} (${lines})`)
}
const envelopes: Act = (client, { ask, random, job }) => {
  const from = 1 + random(Math.max(1, job.messages - 20))
  return ask(client, `UID FETCH ${from}:${from + 19} (UID FLAGS ENVELOPE BODYSTRUCTURE)`)
}
const file: Act = (client, { ask, uid }) => ask(client, `UID MOVE ${uid()} Archive`)
const copy: Act = (client, { ask, uid }) => ask(client, `UID COPY ${uid()} Archive`)
const remove: Act = async (client, { ask, uid }) => {
  const gone = uid()
  await ask(client, `UID STORE ${gone} +FLAGS.SILENT (\\Deleted)`)
  await ask(client, `UID EXPUNGE ${gone}`)
}
const draft: Act = (client, { ask, random }) => {
  const bytes = letter(random(1_000_000), 2000)
  return ask(client, `APPEND INBOX (\\Draft) {${bytes.length}+}`, bytes)
}

/** A program that has seen the account for the first time. */
const firstSync: Act = async (client, { ask, random, job }) => {
  await ask(client, 'LIST "" "*"')
  await ask(client, 'SELECT INBOX')
  await ask(client, `UID FETCH 1:* (${lines})`)
  const from = 1 + random(Math.max(1, job.messages - 10))
  await ask(client, `UID FETCH ${from}:${from + 9} (UID BODY.PEEK[])`)
}

/** One that knows it as it stood some changes ago. */
const dailySync: Act = async (client, { ask, uid, job }) => {
  await ask(client, 'ENABLE QRESYNC')
  const counted = await ask(client, 'STATUS INBOX (UIDVALIDITY HIGHESTMODSEQ UIDNEXT)')
  const validity = /UIDVALIDITY (\d+)/.exec(counted)?.[1]
  const highest = Number(/HIGHESTMODSEQ (\d+)/.exec(counted)?.[1])
  await ask(client, `SELECT INBOX (QRESYNC (${validity} ${Math.max(1, highest - 20)} 1:${job.messages}))`)
  await ask(client, `UID FETCH ${job.messages - 5}:* (${lines})`)
  await ask(client, 'STATUS Archive (MESSAGES UNSEEN UIDNEXT HIGHESTMODSEQ)')
  await ask(client, `UID FETCH ${uid()} (UID BODY.PEEK[])`)
  await ask(client, `UID STORE ${uid()} +FLAGS (\\Seen)`)
}

/** One thing again and again. */
const only = (act: Act, begin = 'SELECT INBOX'): Mix => ({ stays: true, begin, acts: [[100, act]] })
const always =
  (command: string): Act =>
  (client, { ask }) =>
    ask(client, command)
const sign = ({ random }: Hand) => (random(2) === 0 ? '+' : '-')

const mixes = {
  'short sessions': {
    stays: false,
    acts: [
      [10, firstSync],
      [90, dailySync],
    ],
  },
  'staying sessions': {
    stays: true,
    begin: 'SELECT INBOX',
    acts: [
      ...([
        [20, idle],
        [10, noop],
        [10, page],
        [5, envelopes],
        [20, body],
        [10, text],
      ] as const),
      ...([
        [12, store],
        [3, unseen],
        [3, status],
        [2, draft],
        [3, file],
        [1, copy],
        [1, remove],
      ] as const),
    ],
  },
  'mostly reading': {
    stays: true,
    begin: 'SELECT INBOX',
    acts: [
      ...([
        [35, body],
        [20, text],
        [10, page],
        [10, envelopes],
        [10, flagsOfOne],
      ] as const),
      ...([
        [5, unseen],
        [5, noop],
        [5, store],
      ] as const),
    ],
  },
  'phones on one account': {
    stays: true,
    begin: 'SELECT INBOX (CONDSTORE)',
    acts: [
      [35, idle],
      [20, store],
      [20, body],
      [10, flagsOfOne],
      [10, noop],
      [5, draft],
    ],
  },
  'STORE one by one': only((client, hand) =>
    hand.ask(client, `UID STORE ${hand.uid()} ${sign(hand)}FLAGS (\\Flagged)`),
  ),
  'STORE 1:*': only((client, hand) => hand.ask(client, `UID STORE 1:* ${sign(hand)}FLAGS (\\Flagged)`)),
  'APPEND one by one': only((client, { ask, random }) => {
    const bytes = letter(random(1_000_000), 5000)
    return ask(client, `APPEND Appended {${bytes.length}+}`, bytes)
  }, 'NOOP'),
  'FETCH of flags of one': only(flagsOfOne),
  'bodies one by one': only(body),
  'FETCH 1:* FLAGS': only(always('UID FETCH 1:* (FLAGS)')),
  'FETCH 1:* of header fields': only(always(`UID FETCH 1:* (${lines})`)),
  'SEARCH UNSEEN': only(unseen),
  NOOP: only(noop),
  'IDLE and DONE': only(idle),
} satisfies Readonly<Record<string, Mix>>

export type MixName = keyof typeof mixes

/** Runs sessions until the time is over. */
export async function mix(job: MixJob): Promise<LoadResult> {
  const cpu = process.cpuUsage()
  const times: number[] = []
  const errors: Record<string, number> = {}
  const started = monotonic()
  const until = started + job.ms
  let failed = 0
  await Promise.all(
    Array.from({ length: job.connections }, async (_, index) => {
      const hand = handOf(job, index, times)
      while (monotonic() < until) {
        try {
          await session(mixes[job.mix], hand, until)
        } catch (error) {
          failed += 1
          const reason = error instanceof Error ? error.message.slice(0, 120) : String(error)
          errors[reason] = (errors[reason] ?? 0) + 1
        }
      }
    }),
  )
  const seconds = (monotonic() - started) / 1000
  const { user, system } = process.cpuUsage(cpu)
  const sorted = times.toSorted((one, other) => one - other)
  return {
    ...{ done: times.length, failed, errors, seconds, rate: times.length / seconds, bytes: 0 },
    ...{ p50: percentile(sorted, 50), p99: percentile(sorted, 99), worst: sorted.at(-1) ?? 0 },
    cpuSeconds: (user + system) / 1e6,
  }
}

async function session(mix: Mix, hand: Hand, until: number): Promise<void> {
  const { job, account } = hand
  const client = await ImapLoad.open(job, account.name, account.password)
  try {
    if (mix.begin !== undefined) await client.run(mix.begin)
    do {
      await chosen(mix, hand.random(100))(client, hand)
    } while (mix.stays && monotonic() < until)
    // A program says goodbye; one whose time is over is cut off.
    if (!mix.stays) await hand.ask(client, 'LOGOUT')
  } finally {
    client.close()
  }
}

/** What lies at a place of a hundred. */
function chosen({ acts }: Mix, place: number): Act {
  let left = place
  for (const [share, act] of acts) {
    left -= share
    if (left < 0) return act
  }
  throw new Error('the shares of a mix make a hundred')
}

function handOf(job: MixJob, index: number, times: number[]): Hand {
  let state = (job.seed * 7919 + index * 104_729 + 1) % 2_147_483_647
  const random = (below: number) => {
    state = (state * 48_271) % 2_147_483_647
    return state % below
  }
  const account = job.accounts[index % job.accounts.length]
  if (account === undefined) throw new Error('a mix needs an account')
  return {
    ...{ job, account, random },
    uid: () => 1 + random(job.messages),
    ask: async (client, command, bytes) => {
      const { ms, tail } = await client.ask(command, bytes)
      times.push(ms)
      return tail
    },
    idle: async client => {
      const since = monotonic()
      await client.idle()
      await client.done()
      times.push(monotonic() - since)
    },
  }
}

/** A message of about `bytes` bytes of plain text with some header. */
export function letter(serial: number, bytes: number): Buffer {
  let body =
    `Return-Path: <sender${serial % 100}@remote.test>\r\nReceived: from mx.remote.test by mx.bench.test; Sat, 21 Nov 2026 10:00:00 +0000\r\n` +
    `From: "Bench ${serial % 100}" <sender${serial % 100}@remote.test>\r\nTo: user@bench.test\r\n` +
    `Subject: subj${serial % 100} of the day\r\nDate: Sat, 21 Nov 2026 10:00:00 +0000\r\n` +
    `Message-ID: <${serial}.mix@remote.test>\r\nMIME-Version: 1.0\r\nContent-Type: text/plain; charset=utf-8\r\n` +
    'List-Id: <list.remote.test>\r\nDKIM-Signature: v=1; a=rsa-sha256; d=remote.test; s=s1; h=from:to:subject;\r\n' +
    ` bh=${'b'.repeat(43)}=; b=${'c'.repeat(300)}\r\n\r\n`
  let state = serial + 1
  while (body.length < bytes) {
    for (let word = 0; word < 9; word++) {
      state = (state * 1_103_515_245 + 12_345) % 2_147_483_648
      body += `${(state % 40_000).toString(36)}en `
    }
    body += '\r\n'
  }
  return Buffer.from(body, 'latin1')
}
