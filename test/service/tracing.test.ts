// Traces of a service that runs, at a collector: a span a message, a span a call, nothing secret, and nobody who waits for it.

import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { deliver, openLmtp } from '../dialogue.ts'
import { accessTo, type Body, startOnEngine } from '../running.ts'

interface Seen {
  readonly headers: Record<string, unknown>
  readonly text: string
}

const seen: Seen[] = []
let answer: 'take' | 'silence' = 'take'
let collector: Server
let endpoint = ''
beforeAll(async () => {
  collector = createServer((request, response) => {
    let text = ''
    request.on('data', chunk => {
      text += chunk
    })
    request.on('end', () => {
      if (request.url === '/v1/traces' && answer === 'take') {
        seen.push({ headers: request.headers, text })
        response.setHeader('content-type', 'application/json')
        response.end('{}')
      }
    })
  })
  await new Promise<void>(resolve => collector.listen(0, '127.0.0.1', resolve))
  endpoint = `http://127.0.0.1:${(collector.address() as AddressInfo).port}/v1/traces`
})
afterAll(() => {
  collector.closeAllConnections()
  collector.close()
})

/** Spans that came, with their attributes as an object. */
function spans(): Body[] {
  return seen
    .flatMap(({ text }) => JSON.parse(text).resourceSpans)
    .flatMap((one: Body) => one.scopeSpans)
    .flatMap((one: Body) => one.spans)
    .map((span: Body) => ({ ...span, attributes: plain(span.attributes) }))
}

function plain(pairs: readonly { readonly key: string; readonly value: object }[]): object {
  return Object.fromEntries(pairs.map(({ key, value }) => [key, Object.values(value)[0]]))
}

const threads = Number(process.env.TEAL_TEST_THREADS ?? 0)

test('calls and messages come to the collector, and nothing secret with them', async () => {
  const tracing = { endpoint, authorization: 'Bearer of-the-collector' }
  const teal = await startOnEngine({ threads, tracing, auth: { cleartext: 'always' } }, { strict: true })
  const service = accessTo(() => teal)
  const traceId = '0af7651916cd43dd8448eb211c80319c'
  const traceparent = `00-${traceId}-b7ad6b7169203331-01`
  const id = await service.user('anna')
  await service.raw('GET', `/users/${id}?accessToken=${teal.rootToken}`, { headers: { traceparent } })
  const strange = { traceparent: `00-${'d'.repeat(32)}-b7ad6b7169203331-01`, 'x-access-token': 'wrong-token-here' }
  await service.raw('GET', '/users', { headers: strange })
  const unsampled = `00-${'e'.repeat(32)}-b7ad6b7169203331-00`
  await service.raw('GET', '/users', { headers: { traceparent: unsampled } })
  const lmtp = await openLmtp(service.at('lmtp'))
  const mail = Buffer.from('From: x@example.org\r\nMessage-ID: <one@example.org>\r\nSubject: hush\r\n\r\nwords\r\n')
  expect((await deliver(lmtp, 'x@example.org', ['anna@example.com'], mail))[0]).toMatch(/^250/)
  lmtp.close()
  const letter = { to: [{ address: 'anna@example.com' }], subject: 'hush', text: 'words' }
  const { queueId } = (await service.call('POST', `/users/${id}/submit`, letter)).body.message
  await expect
    .poll(async () => (await service.call('GET', `/users/${id}/mailboxes?counters=true`)).body.results[0].total)
    .toBe(2)
  expect(await teal.check()).toEqual([])
  await teal.close()
  const all = spans()
  expect(all.find(one => one.name === 'send outbound')).toMatchObject({
    ...{ kind: 3, status: {} },
    attributes: {
      ...{ 'messaging.operation.type': 'send', 'teal.queue.id': queueId, 'teal.reply.code': '250' },
      ...{ 'teal.recipients': '1', 'teal.recipients.delivered': '1', 'teal.recipients.failed': '0' },
    },
  })
  const call = all.find(one => one.traceId === traceId)
  expect(call).toMatchObject({
    ...{ name: 'GET /users/:user', kind: 2, parentSpanId: 'b7ad6b7169203331', status: {} },
    attributes: {
      ...{ 'http.request.method': 'GET', 'http.route': '/users/:user', 'http.response.status_code': '200' },
      ...{ 'url.scheme': 'http', 'client.address': '127.0.0.1' },
    },
  })
  expect(BigInt(call.endTimeUnixNano) >= BigInt(call.startTimeUnixNano)).toBe(true)
  const refused = all.find(one => one.attributes['http.response.status_code'] === '403')
  expect(refused.traceId).not.toBe('d'.repeat(32))
  expect(refused.attributes).toMatchObject({ 'error.type': '403' })
  expect(all.some(one => one.traceId === 'e'.repeat(32))).toBe(false)
  const message = all.find(one => one.name === 'receive lmtp')
  expect(message.attributes).toMatchObject({
    ...{ 'messaging.operation.type': 'receive', 'messaging.message.id': '<one@example.org>' },
    ...{ 'messaging.message.body.size': String(mail.length), 'network.protocol.name': 'lmtp' },
    ...{ 'client.address': '127.0.0.1', 'teal.recipients': '1', 'teal.recipients.refused': '0' },
  })
  const text = seen.map(one => one.text).join()
  expect(text).toContain('"service.name"')
  expect(text).not.toMatch(/hush|words|wrong-token-here|secret of|anna@example|x@example|accessToken/)
  expect(text).not.toContain(teal.rootToken)
  for (const { headers } of seen) {
    expect(headers).toMatchObject({ authorization: 'Bearer of-the-collector', 'content-type': 'application/json' })
  }
})

test('a collector that never answers keeps nobody waiting, and what it does not take is counted', async () => {
  answer = 'silence'
  const teal = await startOnEngine({ threads, tracing: { endpoint } }, { strict: true })
  const service = accessTo(() => teal)
  for (let at = 0; at < 600; at++) await service.call('GET', '/healthz', undefined, null)
  expect((await service.call('GET', '/health')).status).toBe(200)
  const metrics = await (await service.raw('GET', '/metrics')).text()
  expect(metrics).toContain('_trace_spans_total')
  expect(await teal.check()).toEqual([])
  await teal.close()
  answer = 'take'
})

test('a collector that is not there', async () => {
  const teal = await startOnEngine({ threads, tracing: { endpoint: 'http://127.0.0.1:9/v1/traces' } }, { strict: true })
  const service = accessTo(() => teal)
  for (let at = 0; at < 600; at++) await service.call('GET', '/healthz', undefined, null)
  const dropped = async () => {
    const text = await (await service.raw('GET', '/metrics')).text()
    return Number(/_trace_spans_total\{result="dropped"\} (\d+)/.exec(text)?.[1] ?? 0)
  }
  await expect.poll(dropped).toBeGreaterThan(0)
  expect(await teal.check()).toEqual([])
  await teal.close()
})
