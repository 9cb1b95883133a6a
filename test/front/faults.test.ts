// Front threads that hang, run out of memory, are killed in the middle of commands or fall behind: another takes the place,
// their sessions end and nothing else does, and nothing that was answered is lost, also when the service stops meanwhile.

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, describe, expect, inject, test } from 'vitest'
import { sleep } from '#lib/clock.ts'
import { limits } from '#lib/limits.ts'
import { startTeal } from '#service'
import { Dialogue, openLmtp, deliver as send } from '../dialogue.ts'
import { EventReader } from '../http/api/stream.ts'
import { accessTo, type Running, useTeal } from '../running.ts'

/** HTTP lives on the threads, too. */
const front = 'node:http'
const patience = { timeout: 40_000, interval: 20 }
const most = limits.front as { -readonly [Name in keyof typeof limits.front]: number }
const usual = { ...limits.front }
/** How threads end. To PostgreSQL all is one: connections that are gone; a thread that works without end takes a core from all others. */
const ways = inject('postgres') === undefined ? (['hang', 'memory', 'kill'] as const) : (['kill'] as const)
const open: Dialogue[] = []

beforeAll(() => {
  Object.assign(most, { pulseMs: 250, missedMax: 24, heapMib: 192, noticesMax: 16, noticesTold: 4, closeMs: 4000 })
})

afterEach(() => {
  for (const dialogue of open.splice(0)) dialogue.close()
})

afterAll(() => void Object.assign(most, usual))

async function session(service: Running, name: string): Promise<Dialogue> {
  const dialogue = await Dialogue.open(service.at('imap'))
  open.push(dialogue)
  await dialogue.line()
  dialogue.send(`t LOGIN ${name} "secret of ${name}"\r\n`)
  const answer = (await until(dialogue, /^t /)).at(-1) ?? ''
  if (!answer.startsWith('t OK')) throw new Error(answer)
  return dialogue
}

async function say(dialogue: Dialogue, command: string): Promise<string[]> {
  dialogue.send(`t ${command}\r\n`)
  return until(dialogue, /^t /)
}

async function until(dialogue: Dialogue, end: RegExp): Promise<string[]> {
  const lines: string[] = []
  for (;;) {
    const line = await dialogue.line()
    lines.push(line)
    if (end.test(line)) return lines
  }
}

/** Asks again where the connection ended with its thread, or nobody was there for a moment. */
async function patiently<Answer>(ask: () => Promise<Answer>): Promise<Answer> {
  for (let tries = 0; ; tries++) {
    try {
      const answer = await ask()
      if ((answer as { status?: number }).status !== 503) return answer
    } catch (error) {
      if (tries > 100) throw error
    }
    await sleep(100)
  }
}

async function inboxOf(service: Running, user: string): Promise<string> {
  const { body } = await patiently(() => service.call('GET', `/users/${user}/mailboxes?specialUse=true`))
  return body.results.find((each: { path: string }) => each.path === 'INBOX').id
}

/** Where messages of an account's inbox are made. @throws where the service cannot say so now */
async function placeOf(service: Running, name: string): Promise<string> {
  const { body: user } = await service.call('GET', `/users/resolve/${name}`)
  const { body } = await service.call('GET', `/users/${user.id}/mailboxes?specialUse=true`)
  const inbox = body.results.find((each: { path: string }) => each.path === 'INBOX').id
  return `/users/${user.id}/mailboxes/${inbox}/messages`
}

/** Ids of a mailbox' messages by what they are called. */
async function subjects(service: Running, user: string): Promise<string[]> {
  const inbox = await inboxOf(service, user)
  const all: string[] = []
  let next = ''
  do {
    const path = `/users/${user}/mailboxes/${inbox}/messages?limit=250${next && `&next=${next}`}`
    const page = await patiently(() => service.call('GET', path))
    all.push(...page.body.results.map((each: { subject: string }) => each.subject))
    next = page.body.nextCursor || ''
  } while (next !== '')
  return all
}

/** Six of them are at it anyway whenever a thread ends; without a pause they would keep the machine busy for as long as it takes to be missed. */
const betweenMs = 20

/** Somebody who stores messages one after the other until told to stop, on one connection after the other. */
class Storing {
  readonly answered: string[] = []
  #stopped = false
  readonly #done: Promise<void>

  constructor(service: Running, name: string, how: 'lmtp' | 'append' | 'http', label: string) {
    this.#done = how === 'http' ? this.#upload(service, name, label) : this.#run(service, name, how, label)
  }

  async stop(): Promise<void> {
    this.#stopped = true
    for (const dialogue of open.splice(0)) dialogue.close()
    await this.#done
  }

  async #upload(service: Running, name: string, label: string): Promise<void> {
    let place: string | undefined
    for (let at = 1; !this.#stopped; at++) {
      const subject = `${label} ${at}`
      const body = `Subject: ${subject}\r\nMessage-ID: <${label}.${at}@x.test>\r\n\r\n${'x'.repeat(300_000)}\r\n`
      try {
        place ??= await placeOf(service, name)
        const headers = { 'content-type': 'message/rfc822', connection: 'close' }
        const answer = await service.raw('POST', place, { headers, body, signal: AbortSignal.timeout(10_000) })
        if (((await answer.json()) as { success?: boolean }).success === true) this.answered.push(subject)
      } catch {
        // The next one.
      }
      await sleep(betweenMs)
    }
  }

  async #run(service: Running, name: string, how: 'lmtp' | 'append', label: string): Promise<void> {
    for (let at = 0; !this.#stopped; ) {
      try {
        const dialogue = how === 'append' ? await session(service, name) : await openLmtp(service.at('lmtp'))
        open.push(dialogue)
        for (; !this.#stopped; ) {
          at += 1
          const subject = `${label} ${at}`
          const message = Buffer.from(
            `Subject: ${subject}\r\nMessage-ID: <${label}.${at}@x.test>\r\n\r\n${'x'.repeat(3000)}\r\n`,
          )
          if (how === 'append') {
            dialogue.send(`t APPEND INBOX {${message.length}+}\r\n`)
            dialogue.send(message)
            dialogue.send('\r\n')
            if ((await until(dialogue, /^t /)).at(-1)?.startsWith('t OK')) this.answered.push(subject)
          } else {
            const [reply] = await send(dialogue, 'from@elsewhere.test', [`${name}@example.com`], message)
            if (reply?.startsWith('250')) this.answered.push(subject)
          }
          await sleep(betweenMs)
        }
      } catch {
        await sleep(betweenMs)
      }
    }
  }
}

function storingAll(service: Running, name: string): Storing[] {
  const kinds = ['lmtp', 'append', 'lmtp', 'append', 'http', 'http'] as const
  return kinds.map((kind, at) => new Storing(service, name, kind, 'abcdef'.charAt(at)))
}

describe('with two', () => {
  const service = useTeal({ threads: 2, api: { port: 0, front } })

  test.for(ways)('one that ends by %s in the middle of commands loses nothing', async how => {
    const user = await service.user(how)
    const waiting = [await session(service, how), await session(service, how), await session(service, how)]
    for (const each of waiting) {
      await say(each, 'SELECT INBOX')
      each.send('i IDLE\r\n')
      await until(each, /^\+/)
    }
    const storing = storingAll(service, how)
    for (const number of [0, 1]) {
      const enough = storing.flatMap(each => each.answered).length + 10
      await expect.poll(() => storing.flatMap(each => each.answered).length, patience).toBeGreaterThan(enough)
      const { fronts } = service.teal
      if (how === 'kill') await fronts?.kill(number)
      else fronts?.suffer(number, how)
      await expect.poll(() => fronts?.running, patience).toBe(1)
      await expect.poll(() => fronts?.running, patience).toBe(2)
    }
    for (const each of storing) await each.stop()
    // Both are others now.
    for (const each of waiting) await expect(until(each, /^never/)).rejects.toThrow('closed')
    const found = await subjects(service, user)
    expect(new Set(found).size).toBe(found.length)
    expect(found).toEqual(expect.arrayContaining(storing.flatMap(each => each.answered)))
  })

  test('counters of one that is gone stay in the sum, and each says what it uses', async () => {
    await service.user('cora')
    const text = () => patiently(async () => (await service.raw('GET', '/metrics')).text())
    const logins = async () =>
      Number(/wildduck_commands_total\{service="imap",command="LOGIN",result="ok"\} (\d+)/.exec(await text())?.[1] ?? 0)
    for (let at = 0; at < 6; at++) await session(service, 'cora')
    // Some that came to an end before may still be at it.
    let before = 0
    await expect
      .poll(async () => {
        const last = before
        before = await logins()
        return before === last
      }, patience)
      .toBe(true)
    expect(before).toBeGreaterThanOrEqual(6)
    await service.teal.fronts?.kill(0)
    expect(await logins()).toBe(before)
    await expect.poll(() => service.teal.fronts?.running, patience).toBe(2)
    expect(await logins()).toBe(before)
    const said = await text()
    for (const thread of ['front-0', 'front-1']) {
      expect(said).toMatch(new RegExp(`wildduck_thread_heap_bytes\\{thread="${thread}"\\} [1-9]`))
      expect(said).toContain(`wildduck_thread_loop_delay_seconds{thread="${thread}"}`)
    }
    expect(said).toContain('# TYPE wildduck_thread_cpu_seconds_total counter')
    for (const thread of ['main', 'writer', 'front-0', 'front-1']) {
      expect(said).toMatch(new RegExp(`wildduck_thread_cpu_seconds_total\\{thread="${thread}"\\} \\d`))
    }
  })

  test('a stream of changes ends with its thread, and goes on where it was on another', async () => {
    const user = await service.user('ines')
    const place = `/users/${user}/mailboxes/${await inboxOf(service, user)}/messages`
    const put = (subject: string) =>
      patiently(() => service.call('POST', place, { raw: `Subject: ${subject}\r\n\r\n` }))
    const follow = (last?: string) =>
      patiently(() => EventReader.open(`${service.teal.url}/users/${user}/updates`, service.teal.rootToken, last))
    const reader = await follow()
    expect((await put('one')).status).toBe(200)
    await reader.until(() => reader.commands().includes('EXISTS'))
    const last = reader.told.at(-1)?.id
    for (const number of [0, 1]) {
      await service.teal.fronts?.kill(number)
      await expect.poll(() => service.teal.fronts?.running, patience).toBe(2)
    }
    await expect.poll(() => reader.ended).toBe(true)
    expect((await put('two')).status).toBe(200)
    const later = await follow(last)
    await later.until(() => later.commands().includes('EXISTS'))
    expect(later.told.filter(({ data }) => data.command === 'EXISTS').map(({ data }) => data.uid)).toEqual([2])
    later.close()
  })

  test('one that hangs keeps nobody from the metrics', async () => {
    service.teal.fronts?.suffer(0, { stallMs: 2600 })
    expect((await patiently(() => service.raw('GET', '/metrics'))).status).toBe(200)
    await expect.poll(() => service.teal.fronts?.running, patience).toBe(2)
  })
})

describe('with one', () => {
  const service = useTeal({ threads: 1, api: { port: 0, front } })

  test('what comes while there is none is asked to come back, and is served when there is one', async () => {
    await service.user('otto')
    const { fronts } = service.teal
    const greetings = new Set<string>()
    const greeted = async (listener: 'imap' | 'lmtp' | 'pop3') => {
      const dialogue = await Dialogue.open(service.at(listener))
      open.push(dialogue)
      return dialogue.line().catch(() => 'closed')
    }
    const gone = fronts?.kill(0)
    await gone
    await expect.poll(() => fronts?.running).toBe(0)
    await expect.poll(() => greeted('imap').catch(() => 'refused')).toBe('* BYE [UNAVAILABLE] Try again in a moment')
    const asked = () => service.raw('GET', '/healthz', { headers: { connection: 'close' } })
    const told = await asked()
    expect([told.status, told.headers.get('retry-after'), await told.json()]).toMatchObject([
      503,
      '1',
      { code: 'Overloaded' },
    ])
    expect(await greeted('pop3')).toMatch(/^-ERR \[SYS\/TEMP\]/)
    expect(await greeted('lmtp')).toMatch(/^421 4\.3\.2 /)
    await expect.poll(() => fronts?.running, patience).toBe(1)
    await expect.poll(() => greeted('imap').catch(() => 'refused'), patience).toMatch(/^\* OK/)
    for (let at = 0; at < 20; at++) greetings.add((await greeted('lmtp')).slice(0, 3))
    expect([...greetings]).toEqual(['220'])
    await expect.poll(async () => (await asked()).status, patience).toBe(200)
  })
})

describe('with one, and HTTP on the main thread', () => {
  const service = useTeal({ threads: 1 })

  test.each([2000, 20])(
    'one that falls behind for %i ms is told what happened to folders, and its sessions show the truth',
    async stallMs => {
      const name = `lena-${stallMs}`
      const user = await service.user(name)
      const { body } = await service.call('GET', `/users/${user}/mailboxes`)
      const inbox = body.results.find((each: { path: string }) => each.path === 'INBOX').id
      const put = async (count: number) => {
        for (let at = 0; at < count; at++) {
          const message = { raw: `Subject: ${at}\r\n\r\nHello\r\n` }
          expect((await service.call('POST', `/users/${user}/mailboxes/${inbox}/messages`, message)).status).toBe(200)
        }
      }
      await put(3)
      const waiting = await session(service, name)
      await say(waiting, 'SELECT INBOX')
      waiting.send('i IDLE\r\n')
      await until(waiting, /^\+/)
      service.teal.fronts?.suffer(0, { stallMs })
      await put(60)
      for (let at = 0; at < 40; at++) {
        const flags = { seen: true, flagged: at % 2 === 0 }
        await service.call('PUT', `/users/${user}/mailboxes/${inbox}/messages/${1 + (at % 3)}`, flags)
      }
      await service.call('DELETE', `/users/${user}/mailboxes/${inbox}/messages/2`)
      waiting.send('DONE\r\n')
      let told = (await until(waiting, /^i OK/)).join('\n')
      const heard = async () => {
        told += (await say(waiting, 'NOOP')).join('\n')
        return told
      }
      await expect.poll(heard, patience).toMatch(/\* 2 EXPUNGE|\* VANISHED 2$/m)
      // Recent are they to the one who was told first.
      const listed = async (dialogue: Dialogue) =>
        (await say(dialogue, 'FETCH 1:* (UID FLAGS)'))
          .filter(line => line.startsWith('* '))
          .map(line => line.replace(/\\Recent ?/, ''))
      const truth = await listed(await reader())
      expect(await listed(waiting)).toEqual(truth)
      expect(truth).toHaveLength(62)

      async function reader(): Promise<Dialogue> {
        const dialogue = await session(service, name)
        await say(dialogue, 'EXAMINE INBOX')
        return dialogue
      }
    },
  )
})

describe('a stop', () => {
  test.for([...ways, 'nothing'] as const)('of a service with %s ends and keeps what it answered', async how => {
    const dataDir = mkdtempSync(join(tmpdir(), 'teal-fronts-'))
    try {
      let teal = await startTeal({ threads: 2, dataDir, api: { port: 0, front } })
      const service = accessTo(() => teal)
      const user = await service.user('stop')
      const storing = storingAll(service, 'stop')
      await expect.poll(() => storing.flatMap(each => each.answered).length, patience).toBeGreaterThan(10)
      if (how === 'kill') void teal.fronts?.kill(0)
      else if (how !== 'nothing') for (const number of [0, 1]) teal.fronts?.suffer(number, how)
      await teal.close()
      for (const each of storing) await each.stop()
      teal = await startTeal({ threads: 0, dataDir })
      expect(await teal.check()).toEqual([])
      const found = await subjects(service, user)
      expect(new Set(found).size).toBe(found.length)
      expect(found).toEqual(expect.arrayContaining(storing.flatMap(each => each.answered)))
      await teal.close()
    } finally {
      rmSync(dataDir, { recursive: true, force: true })
    }
  })
})
