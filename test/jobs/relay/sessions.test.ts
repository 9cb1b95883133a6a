// Hosts that never come to the point: what is made with them ends, whatever they say meanwhile.

import { once } from 'node:events'
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { NotConnected, RelaySessions } from '#jobs/relay/sessions.ts'
import { limits } from '#lib/limits.ts'
import { Outward } from '#net/outward/outward.ts'

let host: Server
let sessions: RelaySessions
let stop: AbortController

beforeEach(async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  host = createServer()
  stop = new AbortController()
  await new Promise<void>(resolve => host.listen(0, '127.0.0.1', resolve))
  sessions = new RelaySessions(new Outward({ allowPrivate: ['127.0.0.0/8'] }))
})
afterEach(async () => {
  stop.abort()
  sessions.close()
  vi.useRealTimers()
  await new Promise(resolve => host.close(resolve))
})

/** Sends a message to the host. */
function send(): Promise<unknown> {
  const { port } = host.address() as AddressInfo
  const { connectMs, replyMs: idleMs } = limits.outbound
  const route = { host: '127.0.0.1', port, tls: 'opportunistic', helo: 'our.test', connectMs, idleMs } as const
  const envelope = { from: 'a@our.test', to: ['b@there.test'] }
  return sessions.send(route, envelope, () => Buffer.from('Subject: x\r\n\r\ny\r\n'), stop.signal)
}

test('a host that says its answer a byte at a time before any message is given up', async () => {
  const connected = once(host, 'connection')
  const came = send().catch((error: unknown) => error)
  const [socket] = (await connected) as [Socket]
  const over = once(socket, 'close')
  socket.write('220 slow\r\n')
  await once(socket, 'data')
  for (let minutes = 0; minutes < limits.outbound.sessionMs / limits.time.minute; minutes++) {
    socket.write(minutes === 0 ? '250-' : 'x')
    await vi.advanceTimersByTimeAsync(limits.time.minute)
  }
  const error = await Promise.race([came, new Promise(resolve => setImmediate(resolve, 'still there'))])
  expect(error).toBeInstanceOf(NotConnected)
  expect((error as NotConnected).failed).toMatchObject({ failure: 'timeout', status: null, doubtful: false })
  await over
})
