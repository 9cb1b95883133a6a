// Filters: what rules cost a delivery, how fast they match by themselves, and what a hostile expression does to others.
//
// `node bench/filters.ts [--quick]`. Matching is held against a bare loop of String.includes and RegExp.test over the same
// texts; deliveries to accounts with 100 rules, 20 of them expressions, against the same accounts without; hostile mail
// goes to an account with 400 expressions that never end, and what counts is the p99 of the others.

import { connect } from 'node:net'
import { pathToFileURL } from 'node:url'
import { monotonic } from '#lib/clock.ts'
import { FilterMail, type FilterRule, Matcher } from '#mail/filter/filter.ts'
import { Header } from '#mail/header/header.ts'
import { cpuSeconds, loadNote, runLoad } from './child.ts'
import type { LoadResult } from './load/job.ts'
import type { Target } from './load/line.ts'
import { type Dovecot, withDovecot } from './peer/dovecot.ts'
import { sieveScript } from './peer/sieve.ts'
import { fullPlan, type Plan, quickPlan } from './plan.ts'
import { formatRows, type Row } from './row.ts'
import { makeFolder, makeUsers, removeFolder, type Service, startService, type User } from './service.ts'

const people = 40
const rulesEach = 100
const patternsEach = 20
const rounds = 3
const connections = 16
const hostileFilters = 400
/** Wished for: of the same deliveries without rules, and times the peer. */
const rulesLeast = 0.7
const timesPeer = 3

/** Rules as people write them: most look at sender, subject or list, a fifth are expressions. */
function ruleQueries(): Record<string, string>[] {
  return Array.from({ length: rulesEach }, (_, at): Record<string, string> => {
    if (at < patternsEach) return { subject: expressions[at % expressions.length]?.replaceAll('N', String(at)) ?? '' }
    if (at % 4 === 0) return { from: `sender${at}@shop.example.com` }
    if (at % 4 === 1) return { subject: `weekly newsletter ${at}` }
    if (at % 4 === 2) return { listId: `list${at}.example.org` }
    return { to: `alias${at}@bench.test` }
  })
}

const expressions = [
  '/^\\[project-N\\] build #\\d+ (failed|fixed)/i',
  '/invoice[- ]?N\\d{3}/i',
  '/\\bN\\d{2}-\\d{4}\\b/',
  '/^(re|fwd?): .*ticket-N/i',
  '/(?:alarm|urgent)! host N/',
]

export async function filtersSection(plan: Plan): Promise<Row[]> {
  const rows = matchingRows(plan)
  if (!plan.peers) return [...rows, ...(await serviceRows(plan))]
  const sieve = sieveScript(ruleQueries())
  return [...rows, ...(await withDovecot(people, dovecot => serviceRows(plan, dovecot), { sieve }))]
}

function matchingRows(plan: Plan): Row[] {
  const mails = Array.from({ length: 50 }, (_, at) => mailAt(at))
  const texts: Row[] = []
  const plainRules = ruleQueries().slice(patternsEach)
  const rules = (queries: readonly Record<string, string>[]): FilterRule[] =>
    queries.map((query, at) => ({ id: String(at), query, action: {} }))
  const matcher = new Matcher(rules(plainRules))
  const views = mails.map(mail => view(mail))
  const needles = plainRules.map(query => Object.entries(query)[0] as ['from', string])
  const own = rate(plan, () => views.forEach(one => void matcher.screen(one)), views.length * plainRules.length)
  const fresh = rate(plan, () => mails.forEach(one => void matcher.screen(view(one))), views.length * plainRules.length)
  const pairs = views.flatMap(one => needles.map(([field, needle]) => [one.lower(field), needle] as const))
  const bare = rate(
    plan,
    () => {
      for (const [text, needle] of pairs) found += text.includes(needle) ? 1 : 0
    },
    pairs.length,
  )
  texts.push({
    what: `filters, ${plainRules.length} substring rules`,
    figure: own,
    unit: 'rules/s',
    bound: { name: 'String.includes', value: bare },
    wanted: { least: 0.5 },
    note: `${Math.round(fresh)} rules/s with the header of each message decoded anew`,
  })
  for (const count of [1, patternsEach]) {
    const queries = ruleQueries().slice(0, count)
    const patterned = new Matcher(rules(queries))
    const bareExpressions = queries.map(({ subject = '' }) => {
      const end = subject.lastIndexOf('/')
      return new RegExp(subject.slice(1, end), subject.slice(end + 1))
    })
    const subjects = views.map(one => one.values('subject')[0] ?? '')
    const figure = rate(plan, () => views.forEach(one => void patterned.screen(one)), views.length * count)
    const bound = rate(
      plan,
      () => {
        for (const subject of subjects) {
          for (const expression of bareExpressions) found += expression.test(subject) ? 1 : 0
        }
      },
      views.length * count,
    )
    texts.push({
      what: `filters, ${count} expression${count === 1 ? '' : 's'}`,
      ...{ figure, unit: 'rules/s', bound: { name: 'RegExp.test', value: bound } },
      note: `${found} found by the bounds`,
    })
  }
  return texts
}

/** So that nothing is left out as needless. */
let found = 0

function rate(plan: Plan, task: () => void, operations: number): number {
  for (let at = 0; at < 50; at++) task()
  const until = monotonic() + plan.ms / 10
  const since = monotonic()
  let done = 0
  while (monotonic() < until) {
    task()
    done += operations
  }
  return (done * 1000) / (monotonic() - since)
}

function mailAt(at: number): Header {
  const lines = [
    `From: "Somebody Number ${at}" <person${at}@remote.example.net>`,
    `To: "User" <u${at}@bench.test>, other${at}@bench.test`,
    `Subject: Notes on the meeting of day ${at} and what we said there about ticket-${at} 4711-2026`,
    `List-ID: "A list" <announce${at}.lists.example.org>`,
    `Message-ID: <${at}@remote.example.net>`,
  ]
  return new Header(Buffer.from(`${lines.join('\r\n')}\r\n\r\n`))
}

function view(header: Header): FilterMail {
  return new FilterMail({ header, size: 2048, hasAttachment: () => false }, 'me@bench.test')
}

async function serviceRows(plan: Plan, dovecot?: Dovecot): Promise<Row[]> {
  const folder = makeFolder()
  const service = await startService(folder)
  try {
    const users = await makeUsers(service, 2 * people + 1)
    const without = users.slice(0, people)
    const withRules = users.slice(people, 2 * people)
    const hostile = users.at(-1) as User
    for (const user of withRules) await addRules(service, user, ruleQueries())
    const never = Array.from({ length: hostileFilters }, (_, at) => ({ subject: `/^(a+)+${at}$/` }))
    await addRules(service, hostile, never)
    await load(service, users, plan.ms / 6)
    return [
      ...(await ruleRows(service, plan, { without, withRules, dovecot })),
      ...(await hostileRows(service, plan, without, hostile)),
    ]
  } finally {
    await service.stop()
    removeFolder(folder)
  }
}

async function addRules(service: Service, user: User, queries: readonly object[]): Promise<void> {
  for (const query of queries)
    await service.call('POST', `/users/${user.id}/filters`, { query, action: { flag: true } })
}

function load(service: Service, users: readonly User[], ms: number): Promise<LoadResult> {
  return loadAt(service.listener('lmtp'), users, { ms })
}

function loadAt(
  target: Target,
  users: readonly { readonly address: string }[],
  bounds: { ms?: number; count?: number },
): Promise<LoadResult> {
  const recipients = users.map(({ address }) => address)
  return runLoad({
    kind: 'deliver',
    protocol: 'lmtp',
    ...target,
    recipients,
    size: 2048,
    seed: 1,
    connections,
    ...bounds,
  })
}

interface Contenders {
  readonly without: readonly User[]
  readonly withRules: readonly User[]
  /** Every user of it has the same rules as a Sieve script. */
  readonly dovecot: Dovecot | undefined
}

async function ruleRows(service: Service, plan: Plan, contenders: Contenders): Promise<Row[]> {
  const { without, withRules, dovecot } = contenders
  const sieved = (dovecot?.addresses ?? []).map(address => ({ address }))
  const bare: LoadResult[] = []
  const ruled: LoadResult[] = []
  const peers: LoadResult[] = []
  let [bareCpu, ruledCpu] = [0, 0]
  if (dovecot !== undefined) await loadAt(dovecot.lmtp, sieved, { count: people })
  for (let round = 0; round < rounds; round++) {
    if (dovecot !== undefined) peers.push(await loadAt(dovecot.lmtp, sieved, { ms: plan.ms / 2 }))
    const before = cpuSeconds(service.pid)
    bare.push(await load(service, without, plan.ms / 2))
    const between = cpuSeconds(service.pid)
    ruled.push(await load(service, withRules, plan.ms / 2))
    bareCpu += between - before
    ruledCpu += cpuSeconds(service.pid) - between
  }
  const own = median(ruled)
  const each = `${perMessage(ruledCpu, ruled)} ms CPU each, ${perMessage(bareCpu, bare)} without rules`
  const row = {
    what: `filters, deliveries to accounts with ${rulesEach} rules, ${patternsEach} of them expressions`,
    ...{ figure: own.rate, unit: '/s' },
  }
  const quiet = { name: 'no rules', value: median(bare).rate }
  const rows: Row[] = [{ ...row, bound: quiet, wanted: { least: rulesLeast }, note: `${loadNote(own)}; ${each}` }]
  if (peers.length === 0) return rows
  const peer = median(peers)
  const bound = { name: 'Dovecot with Sieve', value: peer.rate }
  return [...rows, { ...row, bound, wanted: { least: timesPeer }, note: `Dovecot ${loadNote(peer)}` }]
}

function perMessage(seconds: number, results: readonly LoadResult[]): string {
  return ((seconds * 1000) / results.reduce((sum, { done }) => sum + done, 0)).toFixed(2)
}

async function hostileRows(service: Service, plan: Plan, others: readonly User[], hostile: User): Promise<Row[]> {
  const quiet: LoadResult[] = []
  const stormy: LoadResult[] = []
  let sent = 0
  for (let round = 0; round < rounds; round++) {
    quiet.push(await load(service, others, plan.ms / 2))
    const storm = openStorm(service.listener('lmtp'), hostile.address)
    stormy.push(await load(service, others, plan.ms / 2))
    sent += await storm.stop()
  }
  const { body } = { body: await service.call('GET', `/users/${hostile.id}/mailboxes?counters=true`) }
  const [inbox] = body.results as { total: number }[]
  const failed = [...quiet, ...stormy].reduce((sum, result) => sum + result.failed, 0)
  return [
    {
      what: 'filters, p99 of others while expressions that never end are met without pause',
      figure: median(stormy).p99,
      unit: 'ms',
      bound: { name: 'quiet', value: median(quiet).p99 },
      wanted: { most: 2 },
      note: `${sent} hostile messages, ${inbox?.total ?? 0} in their mailbox; ${failed} others failed`,
    },
  ]
}

/** Hostile messages one after the other on two connections, until stopped; resolves with how many were taken. */
function openStorm(target: Target, address: string): { stop(): Promise<number> } {
  let taken = 0
  let stopping = false
  const run = Math.random().toString(36).slice(2)
  const message = (n: number) =>
    `From: a@remote.test\r\nMessage-ID: <${run}.${n}@remote.test>\r\nSubject: ${'a'.repeat(60)}!\r\n\r\nx\r\n.\r\n`
  const ended = [0, 1].map(
    () =>
      new Promise<void>(resolve => {
        const socket = connect(target.port, target.host)
        let step = 0
        socket.setEncoding('latin1')
        socket.on('close', () => resolve())
        socket.on('error', () => resolve())
        socket.on('data', (text: string) => {
          for (const line of text.split('\r\n')) {
            if (line === '' || line[3] === '-') continue
            step += 1
            if (step === 1) socket.write('LHLO bench.test\r\n')
            else if (step % 4 === 2) {
              if (step > 2) taken += 1
              if (stopping) return socket.end('QUIT\r\n')
              socket.write(`MAIL FROM:<a@remote.test>\r\nRCPT TO:<${address}>\r\nDATA\r\n`)
            } else if (step % 4 === 1) socket.write(message(Math.floor(Math.random() * 1e12)))
          }
        })
      }),
  )
  return {
    stop: async () => {
      stopping = true
      await Promise.all(ended)
      return taken
    },
  }
}

function median(results: readonly LoadResult[]): LoadResult {
  return results.toSorted((a, b) => a.rate - b.rate)[Math.floor(results.length / 2)] as LoadResult
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  const rows = await filtersSection(process.argv.includes('--quick') ? quickPlan : fullPlan)
  process.stdout.write(`${formatRows(rows)}\n`)
}
