// SMTP in to the mailbox on 16 connections: the service by itself, and Postfix handing to Dovecot where peers are asked for.
//
// The same number of messages of the same bytes goes to each in turn. The clock stops when the last message is in its
// mailbox: for the service that is its 250, for Postfix it is later than that, since it queues first.

import { monotonic, sleep } from '#lib/clock.ts'
import { cpuSeconds, loadNote, runLoad } from '../child.ts'
import type { LoadResult } from '../load/job.ts'
import type { Target } from '../load/line.ts'
import { type Dovecot, withDovecot } from '../peer/dovecot.ts'
import { withPostfix } from '../peer/postfix.ts'
import type { Plan } from '../plan.ts'
import type { Row } from '../row.ts'
import { makeFolder, makeUsers, removeFolder, startService } from '../service.ts'

const users = 20
const connections = 16
const rounds = 3
const timesPeer = 4
const size = 2048
const waitMsMax = 120_000

interface Round {
  /** Messages a second, until the last one was in its mailbox. */
  readonly rate: number
  readonly load: LoadResult
}

export async function smtpSection(plan: Plan): Promise<Row[]> {
  if (!plan.peers) return compare(plan)
  return withDovecot(users, dovecot =>
    withPostfix(dovecot.lmtp, dovecot.addresses, smtp => compare(plan, { smtp, dovecot })),
  )
}

async function compare(plan: Plan, peer?: { smtp: Target; dovecot: Dovecot }): Promise<Row[]> {
  const folder = makeFolder()
  const service = await startService(folder)
  try {
    const addresses = (await makeUsers(service, users)).map(({ address }) => address)
    const count = Math.ceil(plan.ms / 3)
    const own: Round[] = []
    const peers: Round[] = []
    const smtp = service.listener('smtp')
    await send(smtp, addresses, count)
    if (peer !== undefined) await toDovecot(peer, users)
    const before = cpuSeconds(service.pid)
    for (let round = 0; round < rounds; round++) {
      if (peer !== undefined) peers.push(await toDovecot(peer, count))
      const load = await send(smtp, addresses, count)
      own.push({ rate: load.rate, load })
    }
    const cpuMs = ((cpuSeconds(service.pid) - before) * 1000) / (rounds * count)
    const middle = median(own)
    const row = { what: `SMTP 2 KB to the mailbox, ${connections} connections`, figure: middle.rate, unit: '/s' }
    const note = `${loadNote(middle.load)}; ${cpuMs.toFixed(2)} ms CPU each`
    if (peer === undefined) return [{ ...row, note }]
    const other = median(peers)
    const bound = { name: 'Postfix to Dovecot', value: other.rate }
    const taken = `Postfix took ${Math.round(other.load.rate)} a second`
    return [{ ...row, bound, wanted: { least: timesPeer }, note: `${note}; ${taken}` }]
  } finally {
    await service.stop()
    removeFolder(folder)
  }
}

/** Through Postfix, until Dovecot has them all. */
async function toDovecot({ smtp, dovecot }: { smtp: Target; dovecot: Dovecot }, count: number): Promise<Round> {
  const wanted = dovecot.stored() + count
  const since = monotonic()
  const load = await send(smtp, dovecot.addresses, count)
  while (dovecot.stored() < wanted) {
    if (monotonic() - since > waitMsMax) throw new Error(`Dovecot has ${dovecot.stored()} messages, not ${wanted}`)
    await sleep(20)
  }
  return { rate: count / ((monotonic() - since) / 1000), load }
}

function send(target: Target, recipients: readonly string[], count: number): Promise<LoadResult> {
  return runLoad({ kind: 'deliver', protocol: 'smtp', ...target, recipients, size, seed: 1, connections, count })
}

function median(rounds: readonly Round[]): Round {
  const middle = rounds.toSorted((a, b) => a.rate - b.rate)[Math.floor(rounds.length / 2)]
  if (middle === undefined) throw new Error('nothing was measured')
  return middle
}
