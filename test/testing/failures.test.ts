// What a test wants to go wrong goes wrong: at each step, for whom it is meant, as often as it is meant, and no more.

import { createTransport } from 'nodemailer'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { startTesting } from '#testing/testing.ts'
import type { Failure, Testing } from '../../src/testing.d.ts'
import { Dialogue } from '../dialogue.ts'

let mail: Testing
beforeAll(async () => {
  mail = await startTesting()
})
afterEach(async () => {
  expect(await mail.check()).toEqual([])
})
afterAll(() => mail.close())

/** What the application hears when it sends. */
async function sent(to: string, more: object = {}): Promise<string> {
  const transport = createTransport({ ...mail.smtp, ignoreTLS: true, ...more })
  try {
    await transport.sendMail({ from: 'app@example.com', to, subject: 'x', text: 'x' })
    return 'sent'
  } catch (error) {
    return (error as { response?: string; code?: string }).response ?? (error as { code: string }).code
  }
}

/** The line that answers, after what stands before it. */
async function ask(client: Dialogue, command: string, answer: RegExp): Promise<string> {
  client.send(`${command}\r\n`)
  for (;;) {
    const line = await client.line()
    if (answer.test(line)) return line
  }
}

describe('SMTP', () => {
  const steps: readonly (readonly [string, object])[] = [
    ['connect', {}],
    ['auth', { auth: { user: 'u', pass: 'p' } }],
    ['mail', {}],
    ['rcpt', {}],
    ['data', {}],
    ['end', {}],
  ]
  test.each(steps)('a reply at %s is what the application hears, once, and nothing arrives', async (at, more) => {
    const inbox = await mail.inbox()
    const failing = await mail.fail({ at, times: 1, reply: '421 4.3.2 Not now' })
    expect(await sent(inbox.address, more)).toBe('421 4.3.2 Not now')
    expect(await inbox.list()).toEqual([])
    expect(await failing.hits()).toBe(1)
    expect(await sent(inbox.address, more)).toBe('sent')
    await failing.stop()
  })

  test.each(steps)('a cut connection at %s', async (at, more) => {
    const inbox = await mail.inbox()
    const failing = await mail.fail({ at, times: 1, drop: true })
    expect(await sent(inbox.address, more)).toMatch(/^(ECONNECTION|ESOCKET|ECONNRESET|ETIMEDOUT|EPROTOCOL)$/)
    expect(await sent(inbox.address, more)).toBe('sent')
    await failing.stop()
  })

  test('one recipient of several is refused, by address', async () => {
    const [good, bad] = [await mail.inbox(), await mail.inbox()]
    const failing = await mail.fail({ at: 'rcpt', to: bad.address, reply: '550 5.1.1 Nobody' })
    const transport = createTransport({ ...mail.smtp, ignoreTLS: true })
    const told = await transport.sendMail({ from: 'a@example.com', to: [good.address, bad.address], text: 'x' })
    expect(told).toMatchObject({ accepted: [good.address], rejected: [bad.address] })
    expect((await good.wait()).envelope.to).toEqual([good.address])
    expect(await bad.list()).toEqual([])
    await failing.stop()
  })

  test('by chance means by a seed', async () => {
    const run = async (seed: number) => {
      const failing = await mail.fail({ at: 'mail', chance: 0.5, seed, reply: '451 4.3.0 Dice' })
      const heard: string[] = []
      for (let at = 0; at < 12; at++) heard.push(await sent('dice@example.com'))
      await failing.stop()
      return heard
    }
    const first = await run(7)
    expect(new Set(first)).toEqual(new Set(['sent', '451 4.3.0 Dice']))
    expect(await run(7)).toEqual(first)
    expect(await run(8)).not.toEqual(first)
  })

  test('a greylisted sender comes through when the time is over', async () => {
    const inbox = await mail.inbox()
    const failing = await mail.fail({ at: 'rcpt', to: inbox.address, greylist: 300_000 })
    expect(await sent(inbox.address)).toMatch(/^451 4\.7\.1/)
    expect(await sent(inbox.address)).toMatch(/^451 4\.7\.1/)
    await mail.clock.advance(300_000)
    expect(await sent(inbox.address)).toBe('sent')
    expect(await failing.hits()).toBe(2)
    await failing.stop()
  })

  test('a slow server is slow, and delivers', async () => {
    const inbox = await mail.inbox()
    const failing = await mail.fail({ at: 'connect', delay: 300 })
    expect(await sent(inbox.address, { greetingTimeout: 50 })).toBe('ETIMEDOUT')
    await failing.stop()
    const slow = await mail.fail({ at: 'end', delay: 20 })
    expect(await sent(inbox.address)).toBe('sent')
    expect(await slow.hits()).toBe(1)
    await slow.stop()
  })

  test('a full mailbox refuses, and takes again', async () => {
    const inbox = await mail.inbox()
    await inbox.full()
    expect(await sent(inbox.address)).toMatch(/552 5\.2\.2/)
    await inbox.full(false)
    expect(await sent(inbox.address)).toBe('sent')
  })

  test('a bounce comes later, to whoever sent, with what it is about', async () => {
    const [sender, gone] = [await mail.inbox('sender'), await mail.inbox('gone')]
    const bounce: Failure = { at: 'end', to: gone.address, bounce: '550 5.1.1 No such user', after: 60_000 }
    const failing = await mail.fail(bounce)
    await mail.send({ from: sender.address, to: gone.address, subject: 'Invoice', text: 'x' })
    expect((await gone.wait()).subject).toBe('Invoice')
    await sender.none({}, { within: 1 })
    await mail.clock.advance(60_000)
    const report = await sender.wait()
    expect(report.envelope.from).toBe('')
    expect(report.headers['content-type']?.[0]).toMatch(/report-type=delivery-status/)
    expect(report.raw.toString()).toContain(`Final-Recipient: rfc822; ${gone.address}`)
    expect(report.raw.toString()).toContain('No such user')
    await failing.stop()
  })
})

describe('the others', () => {
  test('IMAP: a command is refused, and a connection cut', async () => {
    const inbox = await mail.inbox()
    const failing = await mail.fail({ protocol: 'imap', at: 'SELECT', times: 1, reply: 'NO [INUSE] Somebody has it' })
    const client = await Dialogue.open(inbox.imap)
    await client.line()
    expect(await ask(client, `a login ${inbox.user} any`, /^a /m)).toMatch(/^a OK/m)
    expect(await ask(client, 'b select inbox', /^b /m)).toMatch(/^b NO \[INUSE\] Somebody has it/m)
    expect(await ask(client, 'c select inbox', /^c /m)).toMatch(/^c OK/m)
    const cut = await mail.fail({ protocol: 'imap', at: 'NOOP', drop: true })
    await expect(ask(client, 'd noop', /^d /)).rejects.toThrow('closed')
    await failing.stop()
    await cut.stop()
  })

  test('HTTP: a path is refused', async () => {
    const failing = await mail.fail({ protocol: 'http', at: '*', to: '/users', reply: '503 Busy' })
    const ask = () => fetch(`${mail.url}/users`, { headers: { 'x-access-token': mail.rootToken } })
    const refused = await ask()
    expect([refused.status, await refused.json()]).toEqual([
      503,
      { success: false, error: 'Busy', code: 'InternalError' },
    ])
    await failing.stop()
    expect((await ask()).status).toBe(200)
  })

  test('POP3: a login is refused', async () => {
    const inbox = await mail.inbox()
    const failing = await mail.fail({ protocol: 'pop3', at: 'PASS', times: 1, reply: '-ERR [IN-USE] Not now' })
    const client = await Dialogue.open(inbox.pop3)
    await client.line()
    await ask(client, `USER ${inbox.user}`, /^\+OK/m)
    expect(await ask(client, 'PASS x', /^[-+]/m)).toMatch(/-ERR \[IN-USE\] Not now/)
    await ask(client, `USER ${inbox.user}`, /^\+OK/m)
    expect(await ask(client, 'PASS x', /^[-+]/m)).toMatch(/\+OK/)
    await failing.stop()
  })

  test('a rule that could never strike is an error', async () => {
    const wrong = [
      { at: 'rctp', drop: true },
      { at: 'rcpt' },
      { at: 'rcpt', reply: 'no' },
      { at: 'rcpt', drop: true, time: 1 },
    ]
    for (const rule of wrong) await expect(mail.fail(rule as Failure)).rejects.toThrow(TypeError)
  })
})

test('retries come with the clock', async () => {
  const { sender, far } = { sender: await mail.inbox('sender'), far: 'somebody@far.example' }
  const failing = await mail.fail({ at: 'rcpt', to: far, times: 2, reply: '451 4.3.0 Later' })
  const head = { 'x-access-token': mail.rootToken, 'content-type': 'application/json' }
  const { results } = JSON.parse(
    await (await fetch(`${mail.url}/users?query=${sender.address}`, { headers: head })).text(),
  )
  const body = JSON.stringify({ to: [{ address: far }], subject: 'Retried', text: 'x' })
  const submitted = await fetch(`${mail.url}/users/${results[0].id}/submit`, { method: 'POST', headers: head, body })
  expect(submitted.status).toBe(200)
  const wanted = mail.all.wait({ to: far, subject: 'Retried' })
  for (const hits of [1, 2]) {
    await expect.poll(() => failing.hits()).toBe(hits)
    // The next attempt is noted a moment after this one failed.
    const next = async () => {
      await mail.clock.advance(3_600_000)
      return (await failing.hits()) > hits || (await mail.all.list({ to: far })).length > 0
    }
    await expect.poll(next).toBe(true)
  }
  expect((await wanted).subject).toBe('Retried')
})
