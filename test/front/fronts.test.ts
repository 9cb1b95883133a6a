// Sessions on threads of their own: what holds over all of them, and what becomes of them when a thread is gone.

import { afterEach, describe, expect, test } from 'vitest'
import { now, shiftClock } from '#lib/clock.ts'
import { Dialogue, openLmtp, deliver as send } from '../dialogue.ts'
import { freePort } from '../free-port.ts'
import { useTeal } from '../running.ts'

const service = useTeal({ threads: 2, imap: { maxConnections: 4 } })
const open: Dialogue[] = []

afterEach(() => {
  for (const dialogue of open.splice(0)) dialogue.close()
})

/** Runs a command; its lines up to the tagged one. */
async function say(session: Dialogue, command: string): Promise<string[]> {
  session.send(`t ${command}\r\n`)
  return until(session, 't ')
}

async function until(session: Dialogue, start: string): Promise<string[]> {
  const lines: string[] = []
  for (;;) {
    const line = await session.line()
    lines.push(line)
    if (line.startsWith(start)) return lines
  }
}

/** A port that nobody listens on. */
/** An IMAP session that is logged in; the kernel says on which thread. */
async function session(name: string): Promise<Dialogue> {
  const dialogue = await Dialogue.open(service.at('imap'))
  open.push(dialogue)
  await dialogue.line()
  const answer = (await say(dialogue, `LOGIN ${name} "secret of ${name}"`)).at(-1) ?? ''
  if (!answer.startsWith('t OK')) throw new Error(answer)
  return dialogue
}

async function deliver(name: string, subject: string): Promise<string> {
  const lmtp = await openLmtp(service.at('lmtp'))
  open.push(lmtp)
  const message = Buffer.from(`Subject: ${subject}\r\n\r\nHello\r\n`)
  return (await send(lmtp, 'from@elsewhere.test', [`${name}@example.com`], message)).join()
}

test('what one session does every other one sees, whatever thread it is on', async () => {
  await service.user('anna')
  const sessions = [await session('anna'), await session('anna'), await session('anna')]
  for (const each of sessions) expect((await say(each, 'SELECT INBOX')).at(-1)).toMatch(/^t OK/)
  expect(await deliver('anna', 'one')).toMatch(/^250/)
  for (const each of sessions) expect(await say(each, 'NOOP')).toContain('* 1 EXISTS')
  const [first, ...others] = sessions as [Dialogue, ...Dialogue[]]
  expect((await say(first, 'STORE 1 +FLAGS (\\Flagged)')).at(-1)).toMatch(/^t OK/)
  for (const each of others) expect((await say(each, 'NOOP')).join('\n')).toMatch(/\* 1 FETCH .*\\Flagged/)
  expect((await say(first, 'MOVE 1 Trash')).at(-1)).toMatch(/^t OK/)
  for (const each of others) expect((await say(each, 'NOOP')).join('\n')).toMatch(/\* (1 EXPUNGE|VANISHED)/)
})

test('sessions of an account are counted together', async () => {
  await service.user('carl')
  for (let at = 0; at < 4; at++) await session('carl')
  await expect(session('carl')).rejects.toThrow('Too many sessions')
  open.pop()?.close()
  open.shift()?.close()
  await expect
    .poll(() =>
      session('carl').then(
        () => true,
        () => false,
      ),
    )
    .toBe(true)
})

test('what an account moves is counted over all threads, to the byte', async () => {
  const allowed = 20_000
  const user = await service.user('ewald', { imapMaxDownload: allowed })
  expect(await deliver('ewald', 'x'.repeat(900))).toMatch(/^250/)
  const sessions = [await session('ewald'), await session('ewald'), await session('ewald'), await session('ewald')]
  for (const each of sessions) await say(each, 'SELECT INBOX')
  const size = Number(/RFC822.SIZE (\d+)/.exec((await say(sessions[0] as Dialogue, 'FETCH 1 RFC822.SIZE')).join())?.[1])
  let moved = 0
  let answer = 't OK'
  for (let at = 0; answer.startsWith('t OK'); at++) {
    answer = (await say(sessions[at % 4] as Dialogue, 'FETCH 1 BODY.PEEK[]')).at(-1) ?? ''
    if (answer.startsWith('t OK')) moved += size
  }
  expect(answer).toMatch(/^t NO \[LIMIT\]/)
  // Below half each thread believes its own sum for a moment, so the other one may not know of that half yet.
  expect(moved).toBeGreaterThan(allowed)
  expect(moved).toBeLessThanOrEqual(1.5 * allowed + 2 * size)
  const used = async () => (await service.call('GET', `/users/${user}`)).body
  await expect.poll(used).toMatchObject({ limits: { imapDownload: { allowed, used: moved } } })
})

test('whoever is told that a password was changed finds no session of the old one', async () => {
  const user = await service.user('dora')
  const sessions = [await session('dora'), await session('dora'), await session('dora')]
  const { status } = await service.call('PUT', `/users/${user}`, { password: 'quite another secret' })
  expect(status).toBe(200)
  for (const each of sessions) {
    each.send('t LIST "" *\r\n')
    expect(await each.line()).toMatch(/^\* BYE/)
  }
})

test('a setting that was changed holds for the next command', async () => {
  const user = await service.user('emil')
  await deliver('emil', 'one')
  const reader = await session('emil')
  await say(reader, 'SELECT INBOX')
  expect((await say(reader, 'FETCH 1 BODY.PEEK[]')).at(-1)).toMatch(/^t OK/)
  await service.call('POST', '/settings/const:max:imap:download', { value: 1 })
  try {
    // Far from a limit a thread says what was moved some times a second.
    const moved = async () => (await service.call('GET', `/users/${user}`)).body.limits.imapDownload.used
    await expect.poll(moved).toBeGreaterThan(1)
    const late = await session('emil')
    await say(late, 'SELECT INBOX')
    expect((await say(late, 'FETCH 1 BODY.PEEK[]')).at(-1)).toMatch(/^t NO/)
  } finally {
    await service.call('POST', '/settings/const:max:imap:download', { value: 10 * 1024 ** 3 })
  }
})

test('counters of all threads are one', async () => {
  await service.user('frida')
  const logins = async () => {
    const text = await (await service.raw('GET', '/metrics')).text()
    return Number(/wildduck_commands_total\{service="imap",command="LOGIN",result="ok"\} (\d+)/.exec(text)?.[1] ?? 0)
  }
  const before = await logins()
  for (let at = 0; at < 4; at++) await session('frida')
  expect(await logins()).toBe(before + 4)
})

describe('a thread that is gone', () => {
  test('takes its sessions along and nothing else, and another takes its place', async () => {
    await service.user('gerd')
    const sessions = [await session('gerd'), await session('gerd'), await session('gerd'), await session('gerd')]
    for (const number of [0, 1]) {
      expect(await deliver('gerd', `before ${number}`)).toMatch(/^250/)
      await service.teal.fronts?.kill(number)
      // What comes to the port meanwhile is the other's.
      expect(await deliver('gerd', `after ${number}`)).toMatch(/^250/)
      await expect.poll(() => service.teal.fronts?.running, { timeout: 20_000 }).toBe(2)
    }
    for (const each of sessions) await expect(until(each, 't never')).rejects.toThrow('closed')
    const later = await session('gerd')
    expect((await say(later, 'STATUS INBOX (MESSAGES)')).join()).toContain('(MESSAGES 4)')
  })
})

test('a port that threads share is nobody else’s', async () => {
  const { startTeal } = await import('#service')
  const { port } = service.at('imap')
  for (const threads of [0, 2]) {
    await expect(startTeal({ threads, imap: { port } })).rejects.toMatchObject({ code: 'PortInUse' })
  }
})

test('two services that start at the same moment do not share a port', async () => {
  const { startTeal } = await import('#service')
  for (let round = 0; round < 2; round += 1) {
    const port = await freePort()
    const both = await Promise.allSettled([2, 2].map(threads => startTeal({ threads, imap: { port } })))
    const up = both.flatMap(one => (one.status === 'fulfilled' ? [one.value] : []))
    const failed = both.flatMap(one => (one.status === 'rejected' ? [one.reason] : []))
    for (const teal of up) await teal.close()
    expect(failed.length, `round ${round}`).toBeGreaterThanOrEqual(1)
    for (const reason of failed) {
      expect(reason).toMatchObject({ code: 'PortInUse', message: `Port ${port} on 127.0.0.1 is in use already` })
    }
  }
})

test('the clock of all threads is moved together', async () => {
  await service.user('timo')
  const day = 86_400_000
  shiftClock(400 * day)
  try {
    expect(await deliver('timo', 'from the future')).toMatch(/^250/)
    const reading = await session('timo')
    await say(reading, 'SELECT INBOX')
    const seen = (await say(reading, 'FETCH 1 (INTERNALDATE BODY.PEEK[HEADER.FIELDS (RECEIVED)])')).join('\n')
    const [, internal = ''] = /INTERNALDATE "([^"]+)"/.exec(seen) ?? []
    const [, received = ''] = /;\s*(\w{3}, \d.*)$/m.exec(seen) ?? []
    for (const at of [internal, received]) expect(Math.abs(Date.parse(at) - now())).toBeLessThan(day)
  } finally {
    shiftClock(0)
  }
})
