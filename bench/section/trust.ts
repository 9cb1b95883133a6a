// Mail that strangers bring, with everything looked at that can be (SPF, DKIM, ARC, DMARC, names and lists of who brings it, what was
// learned of spam) and with nothing, against a name server on loopback.
//
// What was learned of spam is asked, too: the first account moves messages into Junk, and half of them out again.
// Both services run at the same time and are asked in turn, the same number of messages each, so that a busy minute meets both. All messages
// are signed and come from a host that may send them: they pass, which is what costs most.

import { monotonic, sleep } from '#lib/clock.ts'
import { dnsTxt, makeSigningKey, publicPem } from '#mail/crypt/dkim.ts'
import { startNameServer } from '../../test/net/name-server.ts'
import { cpuSeconds, loadNote, runLoad } from '../child.ts'
import type { LoadResult, SigningKey } from '../load/job.ts'
import { type Plan, threadsOf } from '../plan.ts'
import type { Row } from '../row.ts'
import { makeFolder, makeUsers, removeFolder, type Service, startService } from '../service.ts'

const users = 20
const rounds = 5
const leastOfUnchecked = 0.8
const warmMessages = 10_000
/** Of each side and load: on a machine that others use ten thousand messages may take a quarter of an hour. */
const warmMsMax = 45_000
const learnMsMax = 60_000
/** Of each kind, once for an account and for what all share. */
const taught = 25
const domain = 'remote.test'

const loads = [
  { what: '2 KB', size: 2048, connections: 16 },
  { what: '50 KB', size: 51_200, connections: 16 },
] as const

interface Side {
  readonly service: Service
  readonly recipients: readonly string[]
  /** Id of the first of them. */
  readonly user: string
  readonly results: LoadResult[]
  cpu: number
  /** Processor seconds by thread. */
  threads: Record<string, number>
}

export async function trustSection(plan: Plan): Promise<Row[]> {
  const names = await startNameServer()
  const key = await makeSigningKey()
  const signing: SigningKey = {
    ...{ domain, selector: 'bench' },
    privateKey: key.export({ type: 'pkcs8', format: 'pem' }).toString(),
  }
  const record = dnsTxt(domain, signing.selector, publicPem(key))
  names.texts.set(record.name, [record.value])
  names.texts.set(domain, ['v=spf1 ip4:127.0.0.0/8 -all'])
  names.texts.set(`_dmarc.${domain}`, ['v=DMARC1; p=reject'])
  names.records.set('PTR 1.0.0.127.in-addr.arpa', ['bench.test'])
  names.records.set('A bench.test', ['127.0.0.1'])
  names.records.set(`MX ${domain}`, ['10 bench.test'])
  const folders = [makeFolder(), makeFolder()]
  const sides: Side[] = []
  try {
    const common = {
      ...{ TEAL_NETWORK_DNS_SERVERS: names.address, TEAL_SMTP_NETWORK_MESSAGES: '0' },
      ...threadsOf(plan),
    }
    const checked = {
      ...{ TEAL_SMTP_UNJUDGED: '192.0.2.0/24', TEAL_MAIL_CLASSIFICATION_HEADERS: 'true' },
      ...{ TEAL_SPAM_BLOCK_LISTS: 'block.test', TEAL_SPAM_ALLOW_LISTS: 'allow.test', TEAL_SPAM_URI_LISTS: 'uri.test' },
    }
    for (const [index, env] of [checked, { TEAL_SMTP_AUTHENTICATE: 'false' }].entries()) {
      const service = await startService(folders[index] ?? '', { ...common, ...env })
      const made = await makeUsers(service, users)
      const recipients = made.map(({ address }) => address)
      sides.push({ service, recipients, user: made[0]?.id ?? '', results: [], cpu: 0, threads: {} })
    }
    const rows: Row[] = []
    for (const load of loads) rows.push(...(await compare(plan, load, sides, signing)))
    return rows
  } finally {
    for (const { service } of sides) await service.stop()
    for (const folder of folders) removeFolder(folder)
    await names.close()
  }
}

async function compare(
  plan: Plan,
  load: (typeof loads)[number],
  sides: readonly Side[],
  key: SigningKey,
): Promise<Row[]> {
  const send = ({ service, recipients }: Side, seed: number) => {
    const { size, connections } = load
    return runLoad({
      ...{ kind: 'deliver', protocol: 'smtp', ...service.listener('smtp'), recipients, size, connections, key, seed },
      ms: plan.ms / 3,
    })
  }
  const warm: number[] = []
  for (const side of sides) {
    side.results.length = 0
    side.cpu = 0
    side.threads = {}
    // The code of a check runs on two threads, and costs half of what it does at first when each has had some thousand messages.
    const until = monotonic() + warmMsMax
    let taken = 0
    for (let turn = 0; taken < warmMessages && monotonic() < until; turn++) taken += (await send(side, 100 + turn)).done
    warm.push(taken)
  }
  if (sides[0] !== undefined) await teach(sides[0])
  const before = await passed(sides[0])
  for (let round = 1; round <= rounds; round++) {
    for (const side of round % 2 === 0 ? sides : sides.toReversed()) {
      const [from, threads] = [cpuSeconds(side.service.pid), await threadSeconds(side.service)]
      side.results.push(await send(side, round))
      side.cpu += cpuSeconds(side.service.pid) - from
      for (const [name, seconds] of Object.entries(await threadSeconds(side.service)))
        side.threads[name] = (side.threads[name] ?? 0) + seconds - (threads[name] ?? 0)
    }
  }
  const [all, none] = sides
  if (all === undefined || none === undefined) return []
  const done = ({ results }: Side) => results.reduce((sum, result) => sum + result.done, 0)
  const each = (side: Side) => (side.cpu * 1e6) / done(side)
  const of = (side: Side, thread: string) => {
    const named = Object.entries(side.threads).filter(([name]) => name === thread || name.startsWith(`${thread}-`))
    return (named.reduce((sum, [, seconds]) => sum + seconds, 0) * 1e6) / done(side)
  }
  const looked = (await passed(all)) - before
  if (looked < done(all))
    throw new Error(`${done(all)} messages came and ${looked} of them were found to be what they say`)
  const middle = median(all)
  return [
    {
      ...{ what: `SMTP ${load.what}, all checks`, figure: middle.rate, unit: '/s' },
      note: `${loadNote(middle)}; warm after ${warm.join(' and ')} messages`,
      bound: { name: 'without', value: median(none).rate },
      wanted: { least: leastOfUnchecked },
    },
    {
      ...{ what: '  processor time of one', figure: each(all), unit: 'us' },
      bound: { name: 'without', value: each(none) },
    },
    ...['front', 'main', 'writer', 'spam'].map(thread => ({
      what: `  of it ${thread}`,
      figure: of(all, thread),
      unit: 'us',
      note: `without ${of(none, thread).toFixed(0)}`,
    })),
  ]
}

function median({ results }: Side): LoadResult {
  const middle = results.toSorted((a, b) => a.rate - b.rate)[Math.floor(results.length / 2)]
  if (middle === undefined) throw new Error('nothing was measured')
  return middle
}

async function metricsOf({ listener, token }: Service): Promise<string> {
  const { host, port } = listener('api')
  return (await fetch(`http://${host}:${port}/metrics`, { headers: { 'X-Access-Token': token } })).text()
}

/** Processor time of threads as the service says it. */
async function threadSeconds(service: Service): Promise<Record<string, number>> {
  const found = (await metricsOf(service)).matchAll(/thread_cpu_seconds_total\{thread="([\w-]+)"\} ([0-9.e+-]+)/g)
  return Object.fromEntries([...found].map(([, name = '', seconds]) => [name, Number(seconds)]))
}

/** Has some messages learned, and sees on the way that they are signed where that is looked at. */
async function teach({ service, user }: Side): Promise<void> {
  const folder = async (path: string) =>
    String((await service.call('GET', `/users/${user}/mailboxes/resolve?path=${path}`)).id)
  const [inbox, junk] = [await folder('INBOX'), await folder('Junk')]
  const messages = `/users/${user}/mailboxes/${inbox}/messages`
  const listed = async (folder: string) => {
    const path = `/users/${user}/mailboxes/${folder}/messages`
    return (await service.call('GET', `${path}?limit=${2 * taught}`)).results as readonly { id: number }[]
  }
  const learnt = async () => {
    const until = monotonic() + learnMsMax
    while (!/spam_marks_waiting 0$/m.test(await metricsOf(service))) {
      if (monotonic() > until) throw new Error('what was moved into Junk is not learned')
      await sleep(50)
    }
  }
  const results = await listed(inbox)
  const shown = (await service.call('GET', `${messages}/${results[0]?.id}`)) as {
    verificationResults?: { dkim?: unknown }
  }
  const { dkim = domain } = shown.verificationResults ?? {}
  if (dkim !== domain) throw new Error('a signature was not found to be right')
  await service.call('PUT', messages, { message: results.map(({ id }) => id).join(','), moveTo: junk })
  await learnt()
  const back = (await listed(junk)).slice(0, taught).map(({ id }) => id)
  const bin = `/users/${user}/mailboxes/${junk}/messages`
  await service.call('PUT', bin, { message: back.join(','), moveTo: inbox })
  await learnt()
}

/** Messages that were looked at and passed. */
async function passed(side: Side | undefined): Promise<number> {
  if (side === undefined) return 0
  const text = await metricsOf(side.service)
  return Number(/verifications_total\{result="pass"\} (\d+)/.exec(text)?.[1] ?? 0)
}
