// Sessions as mail programs have them, and single commands again and again, asked of Teal and of Dovecot in turn.
//
// Both run at the same time, one idle while the other is asked, so that a figure and the one beside it are seconds apart. Each
// measure has a round that does not count and then rounds in which the sides change places. Beside the rates stands what a command
// costs the server in processor time, all of its threads and processes together.

import { runLoad, treeCpuSeconds } from '../child.ts'
import { ImapLoad } from '../load/imap.ts'
import type { Target } from '../load/line.ts'
import { letter, type MixName } from '../load/mix.ts'
import type { Account } from '../load/others.ts'
import { dovecotPassword, withDovecot } from '../peer/dovecot.ts'
import { type Plan, threadsOf } from '../plan.ts'
import type { Row } from '../row.ts'
import { makeFolder, makeUsers, removeFolder, startService } from '../service.ts'

interface Measure {
  readonly mix: MixName
  readonly connections: number
  /** Accounts that these connections share; the rest of the connections log in to them again. */
  readonly accounts: number
  /** Of Dovecot's rate. */
  readonly least?: number
}

const measures: readonly Measure[] = [
  { mix: 'short sessions', connections: 8, accounts: 8, least: 1.5 },
  { mix: 'staying sessions', connections: 12, accounts: 8, least: 1.2 },
  { mix: 'mostly reading', connections: 12, accounts: 8, least: 1.2 },
  { mix: 'phones on one account', connections: 6, accounts: 1 },
  { mix: 'STORE one by one', connections: 1, accounts: 1, least: 0.6 },
  { mix: 'STORE 1:*', connections: 1, accounts: 1, least: 0.5 },
  { mix: 'APPEND one by one', connections: 1, accounts: 1, least: 1.3 },
  { mix: 'bodies one by one', connections: 1, accounts: 1, least: 1 },
  { mix: 'FETCH of flags of one', connections: 1, accounts: 1 },
  { mix: 'FETCH 1:* FLAGS', connections: 1, accounts: 1, least: 1.2 },
  { mix: 'FETCH 1:* of header fields', connections: 1, accounts: 1, least: 1 },
  { mix: 'SEARCH UNSEEN', connections: 1, accounts: 1, least: 1 },
  { mix: 'NOOP', connections: 1, accounts: 1 },
  { mix: 'IDLE and DONE', connections: 1, accounts: 1 },
]

interface Side {
  readonly at: Target
  readonly pid: number
  /** The first is for what single clients do. */
  readonly accounts: readonly Account[]
}

interface Sum {
  done: number
  seconds: number
  processor: number
  failed: number
  error: string
}

const usersMax = 9

export async function mixes(plan: Plan): Promise<Row[]> {
  const quick = plan.ms < 3000
  const large = quick ? 1000 : 3000
  const small = quick ? 200 : 500
  const folder = makeFolder()
  try {
    const service = await startService(folder, { TEAL_IMAP_MAX_CONNECTIONS: '2000', ...threadsOf(plan) })
    const accounts = await makeUsers(service, usersMax)
    const teal: Side = { at: service.listener('imap'), pid: service.pid, accounts }
    const options = { imap: true, reuse: true }
    const rows = await withDovecot(
      usersMax,
      async ({ imap, pid, addresses }) => {
        const names = addresses.map(name => ({ name, password: dovecotPassword }))
        const dovecot: Side = { at: imap, pid, accounts: names }
        for (const side of [teal, dovecot]) await fill(side, large, small)
        const rows: Row[] = []
        for (const measure of chosen(plan)) {
          const messages = measure.accounts === 1 && measure.connections === 1 ? large : small
          rows.push(...(await contest(measure, [teal, dovecot], messages, plan.ms / 3)))
        }
        return rows
      },
      options,
    )
    await service.stop()
    return rows
  } finally {
    removeFolder(folder)
  }
}

function chosen({ mixes }: Plan): readonly Measure[] {
  return mixes === undefined ? measures : measures.filter(({ mix }) => mixes.includes(mix))
}

async function fill({ at, accounts }: Side, large: number, small: number): Promise<void> {
  for (const [index, { name, password }] of accounts.entries()) {
    const client = await ImapLoad.open(at, name, password)
    await client.run('CREATE Archive')
    await client.run('CREATE Appended')
    const count = index === 0 ? large : small
    for (let serial = 0; serial < count; serial++) {
      const bytes = letter(serial, serial % 10 === 0 ? 30_000 : 5000)
      await client.run(`APPEND INBOX ${serial % 3 === 0 ? '' : '(\\Seen) '}{${bytes.length}+}`, bytes)
    }
    client.close()
  }
}

async function contest(measure: Measure, sides: readonly Side[], messages: number, ms: number): Promise<Row[]> {
  const sums = sides.map((): Sum => ({ done: 0, seconds: 0, processor: 0, failed: 0, error: '' }))
  for (const side of sides) await once(measure, side, messages, ms, 0)
  for (let round = 1; round <= rounds; round++) {
    const order = round % 2 === 1 ? [0, 1] : [1, 0]
    for (const index of order) {
      const side = sides[index]
      const sum = sums[index]
      if (side === undefined || sum === undefined) continue
      const before = treeCpuSeconds(side.pid)
      const result = await once(measure, side, messages, ms, round)
      sum.processor += treeCpuSeconds(side.pid) - before
      sum.done += result.done
      sum.seconds += result.seconds
      sum.failed += result.failed
      sum.error = Object.keys(result.errors)[0] ?? sum.error
    }
  }
  const [own, other] = sums
  return own === undefined || other === undefined ? [] : rowsOf(measure, own, other)
}

const rounds = 4

function once({ mix, connections, accounts }: Measure, side: Side, messages: number, ms: number, seed: number) {
  const first = connections === 1 ? 0 : 1
  const job = { mix, connections, messages, ms, seed, accounts: side.accounts.slice(first, first + accounts) }
  return runLoad({ kind: 'mix', ...job, ...side.at })
}

function rowsOf({ mix, least }: Measure, own: Sum, other: Sum): Row[] {
  const rate = ({ done, seconds }: Sum) => done / seconds
  const cost = ({ done, processor }: Sum) => (processor / done) * 1e6
  const failures = [own, other]
    .filter(({ failed }) => failed > 0)
    .map(({ failed, error }) => `${failed} failed: ${error}`)
    .join('; ')
  const bound = { name: 'Dovecot', value: rate(other) }
  const wanted = least === undefined ? {} : { wanted: { least } }
  return [
    { what: mix, figure: rate(own), unit: '/s', bound, ...wanted, ...(failures === '' ? {} : { note: failures }) },
    {
      what: '  processor time of a command',
      figure: cost(own),
      unit: 'µs',
      bound: { name: 'Dovecot', value: cost(other) },
    },
  ]
}
