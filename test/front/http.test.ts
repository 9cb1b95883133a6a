// HTTP on threads of their own: what one call does the next one sees, whatever thread it comes to; long bodies in and out, event
// streams and counters cross to where the actors are, and whoever leaves ends there, too.

import { request as ask } from 'node:http'
import { request as askSecurely } from 'node:https'
import { connect } from 'node:net'
import { expect, test } from 'vitest'
import { limits } from '#lib/limits.ts'
import { account } from '../http/api/mail-world.ts'
import { EventReader } from '../http/api/stream.ts'
import { unzip } from '../mail/exchange/unzip.ts'
import { type Body, useTeal } from '../running.ts'

const front = 'node:http'
const service = useTeal({
  threads: 2,
  web: { enabled: true, port: 0 },
  api: { port: 0, front, metrics: { public: true } },
})

const most = limits.updates as { streamsMax: number }
const usual = most.streamsMax

/** A call on a connection of its own: the kernel says to which thread it comes. */
function call(method: string, path: string, form?: Body, token = service.teal.rootToken) {
  return new Promise<{ status: number; body: Body; text: string }>((resolve, reject) => {
    const { host, port } = service.at('api')
    const headers = { 'x-access-token': token, 'content-type': 'application/json' }
    const request = ask({ host, port, method, path, headers, agent: false }, response => {
      let text = ''
      response.setEncoding('utf8')
      response.on('data', chunk => {
        text += chunk
      })
      response.on('error', reject)
      const parsed = () => (/json/.test(response.headers['content-type'] ?? '') ? JSON.parse(text) : undefined)
      response.on('end', () => resolve({ status: response.statusCode ?? 0, body: parsed(), text }))
    })
    request.on('error', reject)
    request.end(form === undefined ? undefined : JSON.stringify(form))
  })
}

/** The same on many connections, so that each thread has some. */
function everywhere(path: string, token?: string) {
  return Promise.all(Array.from({ length: 12 }, () => call('GET', path, undefined, token)))
}

test('run.json and the service say where it is, and it is the threads that serve', async () => {
  expect(service.at('api').port).toBeGreaterThan(0)
  expect(service.at('web').port).toBeGreaterThan(0)
  await everywhere('/docs')
  const { text } = await call('GET', '/metrics')
  expect(text).toMatch(/wildduck_api_requests_total\{method="GET",route="\/docs",status="200"\} 12\n/)
})

test('what one call changes the next one sees, on every thread', async () => {
  const user = await account(service, 'anna')
  const place = `/users/${user.id}/mailboxes/${user.box('INBOX')}/messages`
  for (let at = 1; at <= 4; at++) {
    const { body } = await call('POST', place, { raw: `Subject: ${at}\r\n\r\nHello\r\n` })
    expect(body.success).toBe(true)
    for (const answer of await everywhere(place)) expect(answer.body.total).toBe(at)
    expect((await call('PUT', `${place}/${at}`, { flagged: true })).status).toBe(200)
    for (const answer of await everywhere(`${place}/${at}`)) expect(answer.body.flagged).toBe(true)
  }
})

test('a token that was ended is nobody’s on any thread, and neither is one whose password was changed', async () => {
  const user = await account(service, 'berta')
  const token = await user.token()
  const path = `/users/${user.id}/mailboxes`
  for (const { status } of await everywhere(path, token)) expect(status).toBe(200)
  expect((await call('DELETE', '/authenticate', undefined, token)).status).toBe(200)
  for (const { status, body } of await everywhere(path, token))
    expect([status, body.code]).toEqual([403, 'InvalidToken'])
  const other = await user.token()
  for (const { status } of await everywhere(path, other)) expect(status).toBe(200)
  expect((await call('PUT', `/users/${user.id}`, { password: 'another secret of hers' })).status).toBe(200)
  for (const { status } of await everywhere(path, other)) expect(status).toBe(403)
})

test('wrong passwords are counted together, whatever thread they come to', async () => {
  await service.user('carl')
  const form = { username: 'carl', password: 'not the secret of carl' }
  const codes = new Set<string>()
  for (let at = 0; at < 40; at++) codes.add((await call('POST', '/authenticate', form)).body.code)
  expect([...codes]).toEqual(['AuthFailed', 'RateLimitedError'])
})

test('a message of many megabytes goes in and comes out byte for byte, and so does everything of an account', async () => {
  const user = await account(service, 'dora')
  const bytes = Buffer.from(`Subject: large\r\n\r\n${`${'x'.repeat(70)}\r\n`.repeat(40_000)}`)
  const headers = { 'content-type': 'message/rfc822' }
  const place = `/users/${user.id}/mailboxes/${user.box('INBOX')}/messages`
  const put = await service.raw('POST', place, { headers, body: bytes })
  expect(put.status).toBe(200)
  const id = ((await put.json()) as Body).message.id
  const source = Buffer.from(await (await service.raw('GET', `${place}/${id}/message.eml`)).arrayBuffer())
  expect(source.equals(bytes)).toBe(true)
  const file = `From a@example.org Sat Feb  3 04:05:06 2001\n${bytes.toString().replaceAll('\r\n', '\n')}\n`
  const octets = { 'content-type': 'application/octet-stream' }
  const brought = await service.raw('POST', `/users/${user.id}/import/file`, { headers: octets, body: file })
  expect([brought.status, await brought.json()]).toMatchObject([200, { success: true }])
  const all = await (await service.raw('GET', `/users/${user.id}/export.mbox`)).text()
  expect(all.split('Subject: large\n')).toHaveLength(3)
  const archive = await service.raw('GET', `/users/${user.id}/export.zip`)
  expect(unzip(Buffer.from(await archive.arrayBuffer())).map(({ name }) => name)).toContain('mail/INBOX.mbox')
  const { token } = await service.teal.core.access.provision('taking along', 'export')
  const exported = await service.raw('POST', '/data/export', {
    headers: { 'content-type': 'application/json', 'x-access-token': token },
    body: JSON.stringify({ users: [user.id] }),
  })
  expect(exported.status).toBe(200)
  expect((await exported.arrayBuffer()).byteLength).toBeGreaterThan(1000)
})

test('who leaves in the middle of a body leaves nothing behind, and who stops reading holds up nobody', async () => {
  const user = await account(service, 'emil')
  const { host, port } = service.at('api')
  const place = `/users/${user.id}/mailboxes/${user.box('INBOX')}/messages`
  const head = (method: string, path: string, more = '') =>
    `${method} ${path} HTTP/1.1\r\nHost: x\r\nX-Access-Token: ${service.teal.rootToken}\r\n${more}\r\n`
  for (let at = 0; at < 6; at++) {
    const socket = connect(port, host)
    socket.on('error', () => {})
    socket.write(head('POST', place, 'Content-Type: message/rfc822\r\nContent-Length: 4000000\r\n'))
    await new Promise<void>(resolve => socket.write(Buffer.alloc(300_000, 'x'), () => resolve()))
    socket.destroy()
  }
  for (let at = 0; at < 6; at++) await user.put('INBOX', { raw: `Subject: ${at}\r\n\r\n${'y'.repeat(2_000_000)}` })
  const slow = Array.from({ length: 6 }, (_, at) => {
    const socket = connect(port, host)
    socket.on('error', () => {})
    socket.pause()
    socket.write(head('GET', at % 2 === 0 ? `/users/${user.id}/export.mbox` : `${place}/1/message.eml`))
    return socket
  })
  for (const answer of await everywhere(place)) expect(answer.body.total).toBe(6)
  for (const socket of slow) socket.destroy()
  expect((await call('GET', place)).body.total).toBe(6)
})

test('changes are streamed from any thread, and what a slow line missed is told by its number', async () => {
  const user = await account(service, 'frida')
  const url = `${service.teal.url}/users/${user.id}/updates`
  const readers = await Promise.all(Array.from({ length: 4 }, () => EventReader.open(url, service.teal.rootToken)))
  await user.put('INBOX', { raw: 'Subject: one\r\n\r\n' })
  for (const reader of readers) await reader.until(() => reader.commands().includes('EXISTS'))
  const last = readers[0]?.told.at(-1)?.id
  for (const reader of readers) reader.close()
  await user.put('INBOX', { raw: 'Subject: two\r\n\r\n' })
  const later = await EventReader.open(url, service.teal.rootToken, last)
  await later.until(() => later.commands().includes('EXISTS'))
  // Sessions that are ended are told so.
  expect((await call('PUT', `/users/${user.id}/logout`, { reason: 'enough' })).status).toBe(200)
  await later.until(() => later.commands().includes('LOGOUT'))
  await later.until(() => later.ended)
})

test('no more streams of an account are open than may be, over all threads, and those that ended count no more', async () => {
  const user = await account(service, 'gerd')
  const url = `${service.teal.url}/users/${user.id}/updates`
  const open: EventReader[] = []
  most.streamsMax = 6
  await expect(async () => {
    for (;;) open.push(await EventReader.open(url, service.teal.rootToken))
  }).rejects.toThrow('TooManySessions')
  expect(open).toHaveLength(6)
  for (const reader of open) reader.close()
  const opens = async () => {
    const one = await EventReader.open(url, service.teal.rootToken).catch(() => undefined)
    one?.close()
    return one !== undefined
  }
  await expect.poll(opens, { timeout: 20_000 }).toBe(true)
  most.streamsMax = usual
})

test('strangers find over TLS what they need and nothing else, whatever thread they come to', async () => {
  const { host, port } = service.at('web')
  const get = (path: string) =>
    new Promise<number>((resolve, reject) => {
      const headers = { 'x-access-token': service.teal.rootToken }
      const request = askSecurely({ host, port, path, agent: false, rejectUnauthorized: false, headers }, answer => {
        answer.resume()
        answer.on('end', () => resolve(answer.statusCode ?? 0))
      })
      request.on('error', reject)
      request.end()
    })
  for (let at = 0; at < 6; at++) {
    expect(await get('/mail/config-v1.1.xml?emailaddress=a@example.com')).toBe(200)
    expect(await get('/.well-known/acme-challenge/x')).toBe(404)
    expect(await get('/users')).toBe(404)
  }
})

test('a port that threads share is nobody else’s', async () => {
  const { startTeal } = await import('#service')
  const { port } = service.at('api')
  for (const threads of [0, 2]) {
    await expect(startTeal({ threads, api: { port, front } })).rejects.toMatchObject({ code: 'PortInUse' })
  }
})

test('who does not ask for it has HTTP on the main thread', async () => {
  const { startTeal } = await import('#service')
  const teal = await startTeal({ threads: 1 })
  try {
    await teal.fronts?.kill(0)
    expect((await fetch(`${teal.url}/healthz`)).status).toBe(200)
  } finally {
    await teal.close()
  }
})
