// What leaves the service, over the wire: forwards, autoreplies, retries, reports, and what stays here.

import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { deliver, openLmtp } from '../../dialogue.ts'
import { useTeal } from '../../running.ts'
import { type Sink, startSink } from '../mail-sink.ts'

const sinkPort = 21_000 + (process.pid % 9000)
const service = useTeal({
  outbound: { relay: `smtp://127.0.0.1:${sinkPort}` },
  network: { allowPrivate: ['127.0.0.0/8'] },
  mail: { defaultDomain: 'example.com' },
})
let sink: Sink

beforeAll(async () => {
  sink = await startSink(sinkPort)
  await service.call('POST', '/settings/const:sender:defer_times', { value: '1s, 1s, 1s' })
})
afterAll(() => sink.close())

let count = 0

async function send(to: string, lines: readonly string[] = [], from = 'anna@remote.test', text = 'Hello') {
  count += 1
  const id = `<r${count}@remote.test>`
  const head = ['From: Anna <anna@remote.test>', `To: ${to}`, `Subject: Number ${count}`, ...lines]
  const message = [...head, `Message-ID: ${id}`, 'Date: Mon, 1 Jan 2024 10:00:00 +0000', '', text, ''].join('\r\n')
  const lmtp = await openLmtp(service.at('lmtp'))
  const [reply] = await deliver(lmtp, from, [to], Buffer.from(message))
  lmtp.close()
  return { id, reply: reply ?? '' }
}

async function traceOf(user: string, id: string) {
  const { body } = await service.call('GET', `/users/${user}/filters/trace?messageId=${encodeURIComponent(id)}`)
  return body.results[0]
}

function queued(user: string, id: string) {
  return service.call('GET', `/users/${user}/outbound/${id}`)
}

async function inboxOf(user: string): Promise<{ total: number }> {
  const { body } = await service.call('GET', `/users/${user}/mailboxes?counters=true`)
  return body.results[0]
}

function forwardTo(user: string, targets: readonly string[], query: object = {}) {
  return service.call('POST', `/users/${user}/filters`, { query, action: { targets } })
}

describe('forwarding', () => {
  test('goes out under a sender of ours, and what comes back finds who forwards', async () => {
    const user = await service.user('fwd')
    await forwardTo(user, ['friend@elsewhere.test'])
    const at = sink.messages.length
    const { id } = await send('fwd@example.com', ['Bcc: secret@remote.test'])
    const message = (await sink.received(at + 1))[at]
    expect(message?.to).toEqual(['friend@elsewhere.test'])
    expect(message?.from).toMatch(/^SRS0=[a-z2-7]+=[a-z2-7]{3,}=remote\.test=anna@example\.com$/)
    expect(message?.raw).toContain(id)
    expect(message?.raw).not.toMatch(/^Bcc:/im)
    expect(message?.raw).toMatch(/^X-Forward-Seen: [0-9a-f]{76}\r$/m)
    const trace = await traceOf(user, id)
    expect(trace.forward).toMatchObject({ targets: ['friend@elsewhere.test'] })
    await expect.poll(async () => (await queued(user, trace.forward.queueId)).body.targets[0].state).toBe('delivered')
    expect((await inboxOf(user)).total).toBe(1)
    expect((await send(message?.from ?? '', [], '')).reply).toMatch(/^250/)
    expect((await inboxOf(user)).total).toBe(2)
    expect(sink.messages.slice(at).some(({ to }) => to.includes('anna@remote.test'))).toBe(false)
    expect((await send('SRS0=aaaaaaaa=aa=remote.test=anna@example.com', [], '')).reply).toMatch(/^550/)
  })

  test('to itself is not done, and two that forward to each other stop', async () => {
    const one = await service.user('ping')
    const two = await service.user('pong')
    await forwardTo(one, ['ping@example.com', 'pong@example.com'])
    await forwardTo(two, ['ping@example.com'])
    const { id } = await send('ping@example.com')
    expect((await traceOf(one, id)).forward).toMatchObject({ targets: ['pong@example.com'] })
    await expect.poll(async () => (await inboxOf(two)).total).toBe(1)
    await expect.poll(async () => (await traceOf(one, id)).forward.reason ?? '').toBe('')
    const lone = await service.user('lone')
    await forwardTo(lone, ['lone@example.com'])
    const self = await send('lone@example.com')
    expect((await traceOf(lone, self.id)).forward).toMatchObject({ queueId: null, targets: [], reason: 'itself' })
    expect((await service.call('GET', '/outbound')).body).toMatchObject({ success: true })
  })

  test('what has been through thirty hosts is stored and goes no further', async () => {
    const user = await service.user('looped')
    await forwardTo(user, ['friend@elsewhere.test'])
    const hops = Array.from({ length: 30 }, (_, at) => `Received: from h${at}.test by h${at + 1}.test; now`)
    const { id } = await send('looped@example.com', hops)
    expect(await traceOf(user, id)).toMatchObject({ stored: 'INBOX', forward: { reason: 'loop', queueId: null } })
  })

  test('an address that only forwards takes mail, unless that would go round or be too much', async () => {
    const form = { address: 'desk@example.com', targets: ['friend@elsewhere.test'], forwards: 1 }
    expect((await service.call('POST', '/addresses/forwarded', form)).status).toBe(200)
    const hops = Array.from({ length: 30 }, (_, at) => `Received: from h${at}.test by h${at + 1}.test; now`)
    // ForwardLoop
    expect((await send('desk@example.com', hops)).reply).toMatch(/^554 5\.4\.6/)
    const at = sink.messages.length
    const { id, reply } = await send('desk@example.com')
    expect(reply).toMatch(/^250/)
    expect((await sink.received(at + 1))[at]?.raw).toContain(id)
    expect((await send('desk@example.com')).reply).toMatch(/^452/)
  })

  test('keeps to the daily limit exactly', async () => {
    const user = await service.user('limited', { forwards: 3 })
    await forwardTo(user, ['a@elsewhere.test', 'b@elsewhere.test'])
    const first = await send('limited@example.com')
    const second = await send('limited@example.com')
    const third = await send('limited@example.com')
    expect((await traceOf(user, first.id)).forward.targets).toHaveLength(2)
    expect((await traceOf(user, second.id)).forward).toMatchObject({
      targets: ['a@elsewhere.test'],
      reason: 'daily-limit',
    })
    expect((await traceOf(user, third.id)).forward).toMatchObject({ targets: [], reason: 'daily-limit' })
    expect((await service.call('GET', `/users/${user}`)).body.limits.forwards).toMatchObject({ allowed: 3, used: 3 })
  })

  test('never happens for spam, and deleted mail goes to the targets of filters alone', async () => {
    const user = await service.user('dropper', { targets: ['own@elsewhere.test'] })
    await forwardTo(user, ['filter@elsewhere.test'], { subject: 'number' })
    await service.call('POST', `/users/${user}/filters`, { query: { text: 'away' }, action: { delete: true } })
    await service.call('POST', `/users/${user}/filters`, { query: { text: 'junk' }, action: { spam: true } })
    const dropped = await send('dropper@example.com', [], 'anna@remote.test', 'away')
    const junk = await send('dropper@example.com', [], 'anna@remote.test', 'junk')
    const kept = await send('dropper@example.com')
    expect((await traceOf(user, dropped.id)).forward.targets).toEqual(['filter@elsewhere.test'])
    expect((await traceOf(user, junk.id)).forward).toBeUndefined()
    expect((await traceOf(user, kept.id)).forward.targets).toEqual(['filter@elsewhere.test', 'own@elsewhere.test'])
  })

  test('a URL gets a form, and one that redirects inside or fails is not followed', async () => {
    const bodies: string[] = []
    const server = createServer((request, response) => {
      let body = ''
      request.setEncoding('utf8')
      request.on('data', chunk => {
        body += chunk
      })
      request.on('end', () => {
        bodies.push(body)
        const path = request.url ?? ''
        if (path.startsWith('/redirect')) response.writeHead(302, { location: 'http://127.0.0.1:1/' }).end()
        else if (path.startsWith('/broken')) response.writeHead(500).end()
        else response.writeHead(204).end()
      })
    })
    await new Promise<void>(resolve => server.listen(0, '127.0.0.1', () => resolve()))
    const base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
    const user = await service.user('hooked')
    await forwardTo(user, [`${base}/take?x=1`, `${base}/redirect`, `${base}/broken`])
    const { id } = await send('hooked@example.com')
    const trace = await traceOf(user, id)
    const states = async () => {
      const { body } = await queued(user, trace.forward.queueId)
      return body.targets.map((target: { state: string }) => target.state)
    }
    await expect.poll(states, { timeout: 10_000 }).toEqual(['delivered', 'failed', 'failed'])
    const form = bodies.find(body => body.includes('name="message"')) ?? ''
    expect(form).toContain('name="headers[subject]"')
    expect(form).toContain('name="mail_to_http[rcpt]"\r\n\r\nhooked@example.com')
    expect(form).toContain(id)
    server.close()
  })

  test('a URL that never answers holds up nobody, and is tried again when it breaks off', async () => {
    const hanging: ServerResponse[] = []
    const server = createServer((_request, response) => {
      if (hanging.push(response) > 1) response.writeHead(204).end()
    })
    const other = createServer((_request, response) => void response.writeHead(204).end())
    const base = async (one: typeof server) => {
      await new Promise<void>(resolve => one.listen(0, '127.0.0.1', () => resolve()))
      return `http://127.0.0.1:${(one.address() as AddressInfo).port}/`
    }
    const user = await service.user('hung')
    await forwardTo(user, [await base(server), await base(other)])
    const { id } = await send('hung@example.com')
    const trace = await traceOf(user, id)
    const states = async () => {
      const { body } = await queued(user, trace.forward.queueId)
      return body.targets.map((target: { state: string }) => target.state)
    }
    await expect.poll(states, { timeout: 10_000 }).toEqual(['sending', 'delivered'])
    expect((await send('hung@example.com')).reply).toMatch(/^250/)
    await expect.poll(async () => (await inboxOf(user)).total).toBe(2)
    hanging[0]?.socket?.destroy()
    await expect.poll(states, { timeout: 20_000 }).toEqual(['delivered', 'delivered'])
    for (const one of [server, other]) one.close()
  })
})

test.each([
  ['no From', ['Subject: x'], 'x'],
  ['ten From', [...Array.from({ length: 10 }, (_, at) => `From: f${at}@remote.test`), 'Subject: x'], 'x'],
  ['an empty body', ['From: a@remote.test', 'Subject: x'], ''],
  ['nothing but a sender', [], ''],
])('a message with %s is stored, forwarded and answered', async (what, lines, text) => {
  const name = what.replaceAll(' ', '-').toLowerCase()
  const user = await service.user(name, { targets: ['friend@elsewhere.test'] })
  await service.call('PUT', `/users/${user}/autoreply`, { status: true, html: '<p>a<b>b</p><script>x</b' })
  const at = sink.messages.length
  const to = `${name}@example.com`
  const lmtp = await openLmtp(service.at('lmtp'))
  const message = [...lines, `Resent-To: ${to}`, '', text].join('\r\n')
  expect(await deliver(lmtp, `${name}@remote.test`, [to], Buffer.from(message))).toEqual([
    expect.stringMatching(/^250/),
  ])
  lmtp.close()
  const messages = (await sink.received(at + 2)).slice(at)
  expect(messages.map(one => one.to[0]).toSorted()).toEqual(['friend@elsewhere.test', `${name}@remote.test`].toSorted())
  const copy = messages.find(one => one.to[0] === 'friend@elsewhere.test')
  expect(copy?.raw).toMatch(/^Message-ID: <[^>]+>\r$/m)
  expect((await inboxOf(user)).total).toBe(1)
})

describe('autoreply', () => {
  const put = (user: string, body: object) => service.call('PUT', `/users/${user}/autoreply`, body)

  test('answers a person once, with what was written', async () => {
    const user = await service.user('away')
    const unset = (await service.call('GET', `/users/${user}/autoreply`)).body
    expect(unset).toEqual({ success: true, status: false, name: '', subject: '', text: '', html: '' })
    await put(user, { status: true, text: 'Back soon', html: '<b>Back <i>soon', name: 'Away Er' })
    const at = sink.messages.length
    const first = await send('away@example.com')
    const again = await send('away@example.com')
    const [reply] = (await sink.received(at + 1)).slice(at)
    expect(reply).toMatchObject({ from: '', to: ['anna@remote.test'] })
    expect(reply?.raw).toMatch(/^Subject: Auto: Re: Number \d+\r$/m)
    expect(reply?.raw).toMatch(/^From: "?Away Er"? <away@example\.com>\r$/m)
    expect(reply?.raw).toMatch(/^Auto-Submitted: auto-replied\r$/m)
    expect(reply?.raw).toContain(`In-Reply-To: ${first.id}`)
    expect((await traceOf(user, again.id)).autoreply).toMatchObject({ reason: 'answered-lately', queueId: null })
    expect((await service.call('DELETE', `/users/${user}/autoreply`)).status).toBe(200)
    expect((await service.call('GET', `/users/${user}/autoreply`)).body.status).toBe(false)
  })

  test('answers again after the time that is set, however short', async () => {
    const user = await service.user('brief')
    await put(user, { status: true, text: 'x' })
    await service.call('POST', '/settings/const:autoreply:interval', { value: 1 })
    const at = sink.messages.length
    await send('brief@example.com')
    await sink.received(at + 1)
    await send('brief@example.com')
    await sink.received(at + 2)
    await service.call('POST', '/settings/const:autoreply:interval', { value: 0 })
    await send('brief@example.com')
    await send('brief@example.com')
    await sink.received(at + 4)
    await service.call('DELETE', '/settings/const:autoreply:interval')
  })

  test.each([
    ['null-sender', '', []],
    ['automatic-sender', 'no-reply@remote.test', []],
    ['automatic-sender', 'list-request@remote.test', []],
    ['automatic-sender', 'owner-list@remote.test', []],
    ['own-address', 'silent@example.com', []],
    ['automatic-message', 'a1@remote.test', ['Auto-Submitted: auto-generated']],
    ['bulk', 'a2@remote.test', ['Precedence: bulk']],
    ['list', 'a3@remote.test', ['List-Id: <dev.remote.test>']],
    ['list', 'a4@remote.test', ['List-Post: <mailto:dev@remote.test>']],
    ['suppressed', 'a5@remote.test', ['X-Auto-Response-Suppress: All']],
    ['suppressed', 'a6@remote.test', ['X-Auto-Response-Suppress: DR, OOF']],
    ['report', 'a7@remote.test', ['Content-Type: multipart/report; boundary=x']],
  ])('does not answer: %s from "%s" with %j', async (reason, from, lines) => {
    const known = await service.call('GET', '/users/resolve/silent')
    const user = known.status === 200 ? known.body.id : await service.user('silent')
    if (known.status !== 200) await put(user, { status: true, text: 'x' })
    const { id } = await send('silent@example.com', lines, from)
    expect((await traceOf(user, id)).autoreply).toEqual({ queueId: null, reason })
  })

  test('does not answer an address that is not to be written to, until it is again', async () => {
    const user = await service.user('gone')
    await put(user, { status: true, text: 'x' })
    const gone = { address: 'left@remote.test', reason: 'left' }
    expect((await service.call('POST', `/users/${user}/suppressions`, gone)).body.success).toBe(true)
    const { id } = await send('gone@example.com', [], 'left@remote.test')
    expect((await traceOf(user, id)).autoreply).toEqual({ queueId: null, reason: 'address-gone' })
    expect((await service.call('DELETE', `/users/${user}/suppressions/left@remote.test`)).body.success).toBe(true)
    const at = sink.messages.length
    await send('gone@example.com', [], 'left@remote.test')
    expect((await sink.received(at + 1)).at(-1)?.to).toEqual(['left@remote.test'])
  })

  test.each([
    ['its own address', 'named@example.com', 's1@remote.test', undefined],
    ['an alias of its domain', 'named@alias.test', 's2@remote.test', undefined],
    ['a wildcard of the account', 'Any <anybody@wild.test>', 's3@remote.test', undefined],
    ['somebody else', 'other@alias.test', 's4@remote.test', 'not-addressed'],
    ['itself, under an alias', 'named@example.com', 'n.amed@alias.test', 'own-address'],
    ['itself, under a wildcard', 'named@example.com', 'anybody@wild.test', 'own-address'],
  ])('of what came for %s', async (_, to, from, reason) => {
    const known = await service.call('GET', '/users/resolve/named')
    const user = known.status === 200 ? known.body.id : await service.user('named')
    if (known.status !== 200) {
      await put(user, { status: true, text: 'x' })
      await service.call('POST', '/domainaliases', { alias: 'alias.test', domain: 'example.com' })
      await service.call('POST', `/users/${user}/addresses`, { address: '*@wild.test', allowWildcard: true })
    }
    const id = `<${from}>`
    const message = `From: ${from}\r\nTo: first@remote.test, ${to}\r\nMessage-ID: ${id}\r\n\r\nx\r\n`
    const lmtp = await openLmtp(service.at('lmtp'))
    // As a host in front hands it on that knows one address of the account alone.
    expect(await deliver(lmtp, from, ['named@example.com'], Buffer.from(message))).toEqual([
      expect.stringMatching(/^250/),
    ])
    lmtp.close()
    expect((await traceOf(user, id)).autoreply.reason).toBe(reason)
  })

  test('does not answer what was not addressed to the account, or outside of its time', async () => {
    const user = await service.user('bounds')
    await put(user, { status: true, text: 'x' })
    const lmtp = await openLmtp(service.at('lmtp'))
    const message = 'From: a@remote.test\r\nTo: others@remote.test\r\nMessage-ID: <bcc@remote.test>\r\n\r\nx\r\n'
    await deliver(lmtp, 'anna@remote.test', ['bounds@example.com'], Buffer.from(message))
    lmtp.close()
    expect((await traceOf(user, '<bcc@remote.test>')).autoreply).toEqual({ queueId: null, reason: 'not-addressed' })
    await put(user, { start: '2090-01-01T00:00:00Z' })
    const { id } = await send('bounds@example.com')
    expect((await traceOf(user, id)).autoreply).toEqual({ queueId: null, reason: 'not-now' })
    expect((await put(user, { start: false })).status).toBe(200)
    expect((await service.call('GET', `/users/${user}/autoreply`)).body.start).toBeUndefined()
  })
})

describe('failures', () => {
  test('a temporary one is tried again, a permanent one is reported to who forwards', async () => {
    const origin = await service.user('origin')
    const target = await service.user('via', { targets: ['late@elsewhere.test', 'never@elsewhere.test'] })
    let tries = 0
    sink.recipient = address => {
      if (address === 'never@elsewhere.test') return { code: 550, text: '5.1.1 nobody' }
      if (address !== 'late@elsewhere.test') return undefined
      tries += 1
      return tries > 2 ? undefined : { code: 451, text: '4.3.0 later' }
    }
    const { reply } = await send('via@example.com', [], 'origin@example.com')
    expect(reply).toMatch(/^250/)
    await expect.poll(async () => (await inboxOf(target)).total, { timeout: 8000 }).toBe(2)
    expect((await inboxOf(origin)).total).toBe(0)
    await expect.poll(() => tries, { timeout: 8000 }).toBe(3)
    sink.recipient = () => undefined
    const { body } = await service.call('GET', `/users/${target}/mailboxes`)
    const report = await service.raw('GET', `/users/${target}/mailboxes/${body.results[0].id}/messages/2/message.eml`)
    const text = await report.text()
    expect(text).toMatch(/multipart\/report; report-type=delivery-status/)
    expect(text).toContain('Final-Recipient: rfc822; never@elsewhere.test')
    expect(text).toContain('Status: 5.1.1')
    expect(text).toMatch(/^Return-Path: <>\r$/m)
    const all = await service.call('GET', `/users/${target}/outbound?pending=false`)
    await expect
      .poll(async () =>
        (await queued(target, all.body.results[0].queueId)).body.targets.map((one: { state: string }) => one.state),
      )
      .toEqual(['delivered', 'failed'])
  })

  test('a message that waits can be taken back by its owner alone', async () => {
    const user = await service.user('cancels', { targets: ['stuck@elsewhere.test'] })
    sink.recipient = address => (address === 'stuck@elsewhere.test' ? { code: 450, text: '4.2.0 busy' } : undefined)
    const { body: before } = await service.call('POST', '/settings/const:sender:defer_times', { value: '1h, 1h' })
    expect(before.success).toBe(true)
    await send('cancels@example.com')
    const { body } = await service.call('GET', `/users/${user}/outbound`)
    const { queueId } = body.results[0]
    await expect.poll(async () => (await queued(user, queueId)).body.targets[0].attempts).toBe(1)
    await expect.poll(async () => (await queued(user, queueId)).body.targets[0].state).toBe('waiting')
    expect((await service.call('POST', `/users/${user}/outbound/${queueId}/retry`)).status).toBe(200)
    await expect.poll(async () => (await queued(user, queueId)).body.targets[0].attempts).toBe(2)
    await expect.poll(async () => (await queued(user, queueId)).body.targets[0].state).toBe('waiting')
    const stranger = await service.user('thief')
    expect((await service.call('DELETE', `/users/${stranger}/outbound/${queueId}`)).body.code).toBe('NoSuchQueueEntry')
    const { body: gone } = await service.call('DELETE', `/users/${user}/outbound/${queueId}`)
    expect(gone).toEqual({ success: true, queueId, deleted: 1 })
    expect((await service.call('DELETE', `/users/${user}/outbound/${queueId}`)).body.success).toBe(false)
    expect((await queued(user, queueId)).body.targets[0].state).toBe('cancelled')
    sink.recipient = () => undefined
    await service.call('POST', '/settings/const:sender:defer_times', { value: '1s, 1s, 1s' })
  })
})
