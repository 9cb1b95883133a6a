// Hosts that never come to the point, or answer what they were not asked: what is made with them ends, and no message counts as theirs.

import { once } from 'node:events'
import type { Socket } from 'node:net'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { NotConnected, RelaySessions } from '#jobs/relay/sessions.ts'
import type { MailFailed } from '#jobs/relay/smtp-client.ts'
import { limits } from '#lib/limits.ts'
import { Outward } from '#net/outward/outward.ts'
import { type OddHost, startOddHost } from './odd-host.ts'

let host: OddHost
let sessions: RelaySessions
let stop: AbortController

beforeEach(async () => {
  host = await startOddHost('127.0.0.1')
  stop = new AbortController()
  sessions = new RelaySessions(new Outward({ allowPrivate: ['127.0.0.0/8'] }))
})
afterEach(async () => {
  stop.abort()
  sessions.close()
  vi.useRealTimers()
  await host.close()
})

/** Sends a message to the host. */
function send(length = 1) {
  const { connectMs, replyMs: idleMs } = limits.outbound
  const helo = 'our.test'
  const route = { host: '127.0.0.1', port: host.port, tls: 'opportunistic', helo, connectMs, idleMs } as const
  const envelope = { from: 'a@our.test', to: ['b@there.test'] }
  const message = Buffer.from(`Subject: x\r\n\r\n${'y\r\n'.repeat(length)}`)
  return sessions.send(route, envelope, () => message, stop.signal)
}

async function failureOf(sending: Promise<unknown>): Promise<unknown> {
  const error = await sending.then(
    () => 'sent',
    (reason: unknown) => reason,
  )
  return error instanceof NotConnected ? error.failed : error
}

test('a host that says its answer a byte at a time before any message is given up', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  let dribbling: Socket | undefined
  const asked = new Promise<void>(resolve => {
    host.answer = (line, socket) => {
      if (!/^EHLO/.test(line)) return undefined
      dribbling = socket
      resolve()
      return '250-'
    }
  })
  const failure = failureOf(send())
  await asked
  const over = once(dribbling as Socket, 'close')
  for (let minutes = 0; minutes < limits.outbound.sessionMs / limits.time.minute; minutes++) {
    dribbling?.write('x')
    await vi.advanceTimersByTimeAsync(limits.time.minute)
  }
  const known = await Promise.race([failure, new Promise(resolve => setImmediate(resolve, 'still there'))])
  expect(known).toMatchObject({ failure: 'timeout', status: null, doubtful: false })
  await over
})

describe('a host that answers what it was not asked', () => {
  const nothing: Partial<MailFailed> = { failure: 'protocol', status: null, doubtful: false }

  test('behind a message has that one, and gets the next in a session of its own', async () => {
    host.answer = line => (line === '.' ? '250 one\r\n550 two\r\n' : undefined)
    for (let count = 1; count <= 3; count++) {
      expect(await send()).toMatchObject({ response: '250 one', refused: [] })
      expect(host.messages).toHaveLength(count)
    }
    expect(host.commands.filter(line => /^EHLO/.test(line))).toHaveLength(3)
  })

  test('behind a message that it closes is no such host', async () => {
    host.answer = line => (line === '.' ? '250 one\r\n421 4.7.0 enough\r\n' : undefined)
    expect(await send()).toMatchObject({ response: '250 one' })
    expect(await send()).toMatchObject({ response: '250 one' })
  })

  test.each([
    ['with the greeting', /^$/, '220 odd\r\n250 a\r\n250 b\r\n250 c\r\n354 d\r\n250 e\r\n'],
    ['with EHLO', /^EHLO/, '250 odd\r\n250 a\r\n250 b\r\n354 c\r\n250 d\r\n'],
    ['with RCPT', /^RCPT/, '250 yes\r\n550 no\r\n'],
    ['with DATA', /^DATA/, '354 go on\r\n250 taken\r\n'],
  ])('%s has no message', async (_, verb, reply) => {
    host.answer = line => (verb.test(line) ? reply : line === '.' ? '550 5.7.1 never\r\n' : undefined)
    expect(await failureOf(send())).toMatchObject(nothing)
    expect(host.messages).toEqual([])
  })

  test('in the middle of a message has not taken it', async () => {
    host.answer = (line, socket) => {
      if (!/^DATA/.test(line)) return undefined
      socket.pause()
      setImmediate(() => socket.write('250 taken\r\n'))
      return '354 go on\r\n'
    }
    expect(await failureOf(send(10_000_000))).toMatchObject({ failure: 'protocol', status: null })
  })

  test('does not take lines of a message for commands: DATA that is answered as they are is followed by none', async () => {
    host.answer = line => (/^DATA/.test(line) ? '250 ok\r\n' : undefined)
    expect(await failureOf(send())).toMatchObject(nothing)
    expect(host.messages).toEqual([])
  })
})
