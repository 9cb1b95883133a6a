// The truth after a round, held against the journal: what clients find at any node, what was told and sent, and what the
// consistency checker says.

import { expect } from 'vitest'
import { openWhole } from '#store/engine/open.ts'
import { verifyStore } from '#store/upkeep/verify.ts'
import type { Sink } from '../../jobs/mail-sink.ts'
import type { Subscriber } from '../../jobs/outbox.ts'
import { Imap } from './clients.ts'
import type { Account, Journal, Mail } from './journal.ts'
import type { Load } from './load.ts'
import { fetched } from './stay.ts'
import type { World } from './world.ts'

export interface Truth {
  readonly world: World
  readonly journal: Journal
  readonly load: Load
  readonly hook: Subscriber
  readonly sink: Sink
}

/** Looks at everything; what is wrong is put down in the journal. */
export async function lookAtAll(truth: Truth): Promise<void> {
  const { journal } = truth
  for (const account of journal.accounts) await lookAt(truth, account)
  await told(truth)
  await sent(truth)
  await verified(truth)
}

async function lookAt({ world, journal, load }: Truth, account: Account): Promise<void> {
  const { found } = journal
  const lists = new Map<string, string[]>()
  const flagsOf = new Map<string, string[]>()
  const places = new Map<string, string[]>()
  const node = world.nodes[Math.floor(load.random() * world.nodes.length)]
  const imap = await Imap.login(await load.node(node), account.name)
  await imap.make('Moved')
  for (const folder of ['INBOX', 'Moved']) {
    const selected = (await imap.ok(`select ${folder}`)).join(' ')
    const validity = /UIDVALIDITY (\d+)/.exec(selected)?.[1] ?? ''
    const next = Number(/UIDNEXT (\d+)/.exec(selected)?.[1])
    const highest = Math.max(0, ...account.uids(folder).keys())
    if (next <= highest) found.push(`${account.name} ${folder}: next uid is ${next}, ${highest} was given`)
    const lines: string[] = []
    for (const line of await imap.ok('uid fetch 1:* (flags envelope)')) {
      const [, flags = '', uid] = fetched(line)
      const mid = /"<([^"@]+)@example.org>"\)/.exec(line)?.[1]
      if (uid === undefined) continue
      const sorted = flags
        .split(' ')
        .filter(flag => flag !== '\\Recent')
        .sort()
      lines.push(`${uid} ${sorted.join(' ')}`)
      if (mid === undefined) continue
      account.saw(folder, validity, Number(uid), mid)
      flagsOf.set(mid, sorted)
      places.set(mid, [...(places.get(mid) ?? []), folder])
    }
    lists.set(folder, lines)
  }
  imap.close()
  for (const mail of account.mails.values()) found.push(...wrongOf(account, mail, places.get(mail.mid) ?? []))
  for (const mid of places.keys()) if (!account.mails.has(mid)) found.push(`${account.name}: ${mid} is nobody's`)
  for (const mail of account.mails.values()) found.push(...wrongFlags(account, mail, flagsOf.get(mail.mid)))
  rising(account, found)
  const inbox = lists.get('INBOX') ?? []
  await counted({ world, load, found }, account, inbox)
  for (const stay of load.stays.filter(one => one.account === account)) {
    const { lines, exists } = await stay.truth()
    const [extra, missing] = [lines.filter(one => !inbox.includes(one)), inbox.filter(one => !lines.includes(one))]
    if (extra.length + missing.length > 0 || exists !== inbox.length) {
      found.push(
        `${stay.name} believes in ${exists} of ${inbox.length}, has ${extra.join(', ')}, misses ${missing.join(', ')}`,
      )
    }
  }
  await wrongRows(world, account, found)
}

function wrongOf({ name }: Account, { mid, acked, doubts, places }: Mail, there: readonly string[]): string[] {
  const what = `${name}: ${mid} (${acked === undefined ? 'not ' : ''}acknowledged, ${doubts} doubts)`
  if (doubts === 0 && acked !== undefined) {
    const place = there[0] ?? 'gone'
    const right = there.length <= 1 && places.has(place)
    return right ? [] : [`${what} is in ${there.join(' and ') || 'no folder'}, not ${[...places].join(' or ')}`]
  }
  const [least, most] = acked === undefined ? [0, doubts] : [1, 1 + doubts]
  return there.length >= least && there.length <= most ? [] : [`${what} is there ${there.length} times`]
}

function wrongFlags({ name }: Account, { mid, flags }: Mail, there: readonly string[] | undefined): string[] {
  if (there === undefined) return []
  const wrong = [...flags].filter(([flag, on]) => on !== undefined && there.includes(flag) !== on)
  return wrong.map(([flag, on]) => `${name}: ${mid} ${on ? 'lacks' : 'has'} ${flag}`)
}

/** What was acknowledged before something else was begun has the lower number. */
function rising(account: Account, found: string[]): void {
  const { name, mails } = account
  let first = Number.POSITIVE_INFINITY
  let whose = ''
  for (const [uid, mid] of [...account.uids('INBOX')].sort(([one], [other]) => other - one)) {
    const mail = mails.get(mid)
    if (mail?.acked === undefined || mail.doubts > 0) continue
    if (first < mail.began) found.push(`${name}: ${mid} has uid ${uid}, below that of ${whose}, which was there before`)
    if (mail.acked < first) [first, whose] = [mail.acked, mid]
  }
}

/** Every node counts the same. */
async function counted(
  { world, load, found }: { world: World; load: Load; found: string[] },
  account: Account,
  inbox: readonly string[],
): Promise<void> {
  const unseen = inbox.filter(line => !line.includes('\\Seen')).length
  for (const node of world.nodes) {
    const imap = await Imap.login(await load.node(node), account.name)
    const status = (await imap.ok('status INBOX (messages unseen)')).find(line => line.startsWith('* STATUS')) ?? ''
    imap.close()
    const wanted = `(MESSAGES ${inbox.length} UNSEEN ${unseen})`
    if (!status.includes(wanted)) found.push(`${account.name} at ${node.name}: ${status}, not ${wanted}`)
  }
}

async function wrongRows(world: World, account: Account, found: string[]): Promise<void> {
  const rows = await world.asked<{ path: string; id: string }>(
    `SELECT m.path, m.id FROM mailbox m JOIN "user" u ON u.num = m."user" WHERE u.id = '${account.id}'`,
  )
  const ids = new Map(rows.map(({ path, id }) => [path, id]))
  for (const folder of account.folders.values()) {
    folder.id ??= ids.get(folder.path)
    const state = ids.has(folder.path) ? 'there' : 'gone'
    if (!folder.states.has(state)) found.push(`${account.name}: folder ${folder.path} is ${state}`)
  }
  const [user] = await world.asked<{ name: string }>(`SELECT name FROM "user" WHERE id = '${account.id}'`)
  if (!account.names.includes(user?.name ?? '')) {
    found.push(`${account.name}: the field is ${user?.name}, not ${account.names.join(' or ')}`)
  }
}

/** Every delivery and every folder was told of, at least once. */
async function told({ world, journal, hook }: Truth): Promise<void> {
  const missing = async () => {
    const heard = new Set(
      hook.taken.map(({ body }) => `${body.ev ?? body.event} ${body.user} ${body.message ?? body.path}`),
    )
    return journal.accounts.flatMap(account => {
      const mails = [...account.uids('INBOX')].filter(([, mid]) => account.mails.get(mid)?.kind === 'delivered')
      const wanted = mails.map(([uid]) => `message.received ${account.id} ${uid}`)
      const made = [...account.folders.values()].filter(({ id }) => id !== undefined)
      wanted.push(...made.map(({ path }) => `mailbox.created ${account.id} ${path}`))
      wanted.push(
        ...made.filter(({ states }) => !states.has('there')).map(({ path }) => `mailbox.deleted ${account.id} ${path}`),
      )
      return wanted.filter(one => !heard.has(one))
    })
  }
  await expect.poll(missing, { timeout: 60_000, interval: 200 }).toEqual([])
  const rest = 'SELECT (SELECT count(*) FROM event)::int + (SELECT count(*) FROM delivery)::int AS n'
  await expect.poll(async () => (await world.asked<{ n: number }>(rest))[0]?.n, { timeout: 60_000 }).toBe(0)
}

/** What was accepted has left: once where nothing ended between the attempt and its record. */
async function sent({ journal, sink }: Truth): Promise<void> {
  const counts = () => {
    const all = new Map<string, number>()
    for (const { raw } of sink.messages) {
      const mid = /^Message-ID: <([^@>]+)@/im.exec(raw)?.[1] ?? ''
      all.set(mid, (all.get(mid) ?? 0) + 1)
    }
    return all
  }
  const missing = () => {
    const all = counts()
    return [...journal.queued].filter(([mid, { acked }]) => acked && !all.has(mid)).map(([mid]) => mid)
  }
  await expect.poll(missing, { timeout: 60_000, interval: 200 }).toEqual([])
  for (const [mid, count] of counts()) {
    const one = journal.queued.get(mid)
    if (one?.calm && one.doubts === 0 && count > 1) journal.found.push(`${mid} left ${count} times`)
    if (count > 1) journal.count('sent again')
  }
}

async function verified({ world, journal }: Truth): Promise<void> {
  const read = openWhole(world.url)
  try {
    const check = () => verifyStore(read, { dataDir: `${world.folder}/a` }, true)
    // What runs in the background ends first.
    await expect.poll(check, { timeout: 20_000, interval: 1000 }).toEqual([])
  } catch (error) {
    journal.found.push(`the checker: ${error instanceof Error ? error.message : error}`)
  } finally {
    read.close()
  }
}
