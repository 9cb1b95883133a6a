// Logins: cold ones against bare hashing on all processors, warm ones against a bare server that parses the same JSON.
//
// A cold login is the first of a user since the service started, so its password is hashed; a warm one repeats it. The
// bound is measured before and after and the mean counts, because it uses the very processors the service needs.

import { bareHashes } from '../bound.ts'
import { loadNote, runLoad, startChild } from '../child.ts'
import type { DeliverJob, LoadResult } from '../load/job.ts'
import type { Target } from '../load/line.ts'
import type { Plan } from '../plan.ts'
import type { Row } from '../row.ts'
import { makeFolder, makeUsers, removeFolder, type Service, startService, type User } from '../service.ts'

const connections = 64
const shareOfHashes = 0.95
const shareOfBare = 0.5
const loopDelayMs = 20
const shareOfQuiet = 3
const shareOfMail = 0.3
const mailLogins = 3000

export async function loginSection(plan: Plan): Promise<Row[]> {
  const folder = makeFolder()
  try {
    const first = await startService(folder)
    const users = await makeUsers(first, plan.coldLogins)
    await first.stop()
    const service = await startService(folder)
    const rows = [...(await coldLogins(plan, service, users)), ...(await warmLogins(plan, service, users))]
    rows.push(...(await guessedAt(plan, service, users)), ...(await keyWork(service, users)))
    for (const protocol of ['imap', 'pop3'] as const) rows.push(await warmMailLogins(plan, service, users, protocol))
    await service.stop()
    return rows
  } finally {
    removeFolder(folder)
  }
}

async function coldLogins(plan: Plan, service: Service, users: readonly User[]): Promise<Row[]> {
  const before = await bareHashes(plan.ms / 2)
  await service.loopDelay()
  const result = await runLoad({ ...login(service.listener('api'), service, users), count: users.length })
  const delay = await service.loopDelay()
  const bound = (before + (await bareHashes(plan.ms / 2))) / 2
  return [
    {
      what: `cold logins over HTTP, ${connections} connections`,
      figure: result.rate,
      unit: '/s',
      bound: { name: 'bare pbkdf2', value: bound },
      wanted: { least: shareOfHashes },
      note: loadNote(result),
    },
    { what: '  loop delay p99', figure: delay.p99, unit: 'ms', wanted: { most: loopDelayMs } },
  ]
}

async function warmLogins(plan: Plan, service: Service, users: readonly User[]): Promise<Row[]> {
  const some = users.slice(0, 50)
  await runLoad({ ...login(service.listener('api'), service, some), count: some.length })
  const before = await bareLogins(plan, service, some)
  const result = await runLoad({ ...login(service.listener('api'), service, some), ms: plan.ms })
  const after = await bareLogins(plan, service, some)
  return [
    {
      what: `warm logins over HTTP, ${connections} connections`,
      figure: result.rate,
      unit: '/s',
      bound: { name: 'bare uWS with JSON', value: (before.rate + after.rate) / 2 },
      wanted: { least: shareOfBare },
      note: loadNote(result),
    },
  ]
}

/** One user logs in and gets mail while many connections guess at another's password without pause. */
async function guessedAt(plan: Plan, service: Service, users: readonly User[]): Promise<Row[]> {
  const [other] = users
  const victim = users.at(-2)
  if (victim === undefined || other === undefined) throw new Error('two users are needed')
  const api = service.listener('api')
  const owner = { ...login(api, service, [other]), connections: 1, ms: plan.ms }
  const mail = {
    ...{
      kind: 'deliver' as const,
      protocol: 'lmtp' as const,
      ...service.listener('lmtp'),
      recipients: [other.address],
    },
    ...{ size: 2000, seed: 1, connections: 1, ms: plan.ms },
  } satisfies DeliverJob
  await runLoad({ ...owner, ms: 500 })
  const quiet = await runLoad(owner)
  const quietMail = await runLoad(mail)
  const bodies = Array.from({ length: 200 }, (_, n) =>
    JSON.stringify({ username: victim.name, password: `guess ${n}` }),
  )
  const guesses = { ...login(api, service, []), bodies, status: 403, connections, ms: 2 * plan.ms + 1500 } as const
  await service.loopDelay()
  const guessing = runLoad(guesses)
  await runLoad({ ...owner, ms: 500 })
  const besides = await runLoad(owner)
  const besidesMail = await runLoad(mail)
  const delay = await service.loopDelay()
  const guessed = await guessing
  return [
    {
      what: `warm login p99 while ${connections} connections guess at another account`,
      figure: besides.p99,
      unit: 'ms',
      bound: { name: 'the same in quiet', value: quiet.p99 },
      wanted: { most: shareOfQuiet },
      note: `${Math.round(guessed.rate)} guesses/s answered; ${loadNote(besides)}`,
    },
    {
      what: '  deliveries meanwhile, 1 connection',
      figure: besidesMail.rate,
      unit: '/s',
      bound: { name: 'the same in quiet', value: quietMail.rate },
      wanted: { least: shareOfMail },
      note: loadNote(besidesMail),
    },
    { what: '  loop delay p99', figure: delay.p99, unit: 'ms', wanted: { most: loopDelayMs } },
  ]
}

/** Signing profiles and drawing codes: what it costs the loop. */
async function keyWork(service: Service, users: readonly User[]): Promise<Row[]> {
  const user = users.at(-1)
  if (user === undefined) throw new Error('a user is needed')
  const headers = { 'X-Access-Token': service.token, 'Content-Type': 'application/json' }
  const request = {
    kind: 'request',
    ...service.listener('api'),
    method: 'POST',
    headers,
    status: 200,
    connections: 8,
  } as const
  const profiles = {
    ...{ ...request, path: `/users/${user.id}/asps`, count: 40 },
    bodies: [JSON.stringify({ description: 'Phone', generateMobileconfig: true })],
  }
  const codes = {
    ...{ ...request, path: `/users/${user.id}/2fa/totp/setup`, count: 200 },
    bodies: [JSON.stringify({ issuer: 'Teal' })],
  }
  await service.loopDelay()
  const signed = await runLoad(profiles)
  const drawn = await runLoad(codes)
  const delay = await service.loopDelay()
  return [
    { what: 'profiles signed, 8 connections', figure: signed.rate, unit: '/s', note: loadNote(signed) },
    { what: 'one-time codes set up, 8 connections', figure: drawn.rate, unit: '/s', note: loadNote(drawn) },
    { what: '  loop delay p99', figure: delay.p99, unit: 'ms', wanted: { most: loopDelayMs } },
  ]
}

async function warmMailLogins(plan: Plan, service: Service, users: readonly User[], protocol: 'imap' | 'pop3') {
  const some = users.slice(0, 50).map(({ address, password }) => ({ name: address, password }))
  const job = { kind: 'login', protocol, ...service.listener(protocol), users: some, connections: 16 } as const
  await runLoad({ ...job, count: some.length })
  const result = await runLoad({ ...job, ms: plan.ms })
  const row: Row = {
    what: `warm logins over ${protocol.toUpperCase()}, 16 connections`,
    figure: result.rate,
    unit: '/s',
    note: loadNote(result),
  }
  return protocol === 'imap' ? { ...row, wanted: { least: mailLogins } } : row
}

async function bareLogins(plan: Plan, service: Service, users: readonly User[]): Promise<LoadResult> {
  const bare = startChild('bench/bare/http.ts', [], {})
  const { port } = (await bare.ask({ bytes: 250 })) as { port: number }
  const result = await runLoad({ ...login({ host: '127.0.0.1', port }, service, users), ms: plan.ms })
  await bare.stop(1000)
  return result
}

function login(target: Target, service: Service, users: readonly User[]) {
  const bodies = users.map(({ name, password }) => JSON.stringify({ username: name, password }))
  const headers = { 'X-Access-Token': service.token, 'Content-Type': 'application/json' }
  const request = { method: 'POST', path: '/authenticate', headers, bodies, status: 200, connections } as const
  return { kind: 'request', ...target, ...request } as const
}
