// The page's session: a cookie counts for what our own page sent and for nothing else, and whoever signs in there passes everything that the API asks for.

import { connect } from 'node:net'
import { expect, test } from 'vitest'
import { useTeal } from '../../../running.ts'

const service = useTeal({ api: { port: 0, accessControl: { enabled: true } } })

type Headers = Record<string, string>

/** A request as it is written, since a browser's headers may not be set in fetch. */
function send(
  method: string,
  path: string,
  headers: Headers,
  body?: object,
): Promise<{ status: number; head: string; body: Record<string, never> }> {
  const { host, port } = service.at('api')
  const text = body === undefined ? '' : JSON.stringify(body)
  const all = { host: `localhost:${port}`, 'content-type': 'application/json', connection: 'close', ...headers }
  const lines = Object.entries({ ...all, 'content-length': String(Buffer.byteLength(text)) })
  return new Promise((resolve, reject) => {
    const socket = connect(port, host)
    let said = ''
    socket.on('data', data => {
      said += data
    })
    socket.on('error', reject)
    socket.on('close', () => {
      const [head = '', rest = ''] = said.split('\r\n\r\n', 2)
      resolve({ status: Number(head.split(' ')[1]), head, body: rest.startsWith('{') ? JSON.parse(rest) : {} })
    })
    socket.write(
      `${method} ${path} HTTP/1.1\r\n${lines.map(([name, value]) => `${name}: ${value}\r\n`).join('')}\r\n${text}`,
    )
  })
}

const page = () => ({
  origin: `http://localhost:${service.at('api').port}`,
  'sec-fetch-site': 'same-origin',
  'x-teal-page': '1',
})

async function signIn(name: string): Promise<string> {
  const answer = await send('POST', '/session', page(), { username: name, password: `secret of ${name}` })
  expect(answer.body).toMatchObject({ success: true, signedIn: true, user: { username: name }, role: 'user' })
  return /set-cookie: ([^;]*)/i.exec(answer.head)?.[1] ?? ''
}

test('a cookie opens what the page asks for, says who is signed in, and ends with the session', async () => {
  const id = await service.user('sessions')
  const cookie = await signIn('sessions')
  expect(cookie).toMatch(/^teal=[0-9a-f]{40}$/)
  const own = { ...page(), cookie: `other=1; ${cookie}` }
  expect((await send('GET', '/users/me', own)).body).toMatchObject({ id })
  expect((await send('GET', '/session', own)).body).toMatchObject({
    signedIn: true,
    user: { id, address: 'sessions@example.com', requirePasswordChange: false, factors: [] },
    grants: { 'users.read': 'own' },
  })
  expect((await send('GET', '/users', own)).body).toMatchObject({ results: [{ id }] })
  const ended = await send('DELETE', '/session', own)
  expect(ended.head).toMatch(/set-cookie: teal=; Path=\/; HttpOnly; SameSite=Strict; Max-Age=0/i)
  expect((await send('GET', '/users/me', own)).body).toMatchObject({ code: 'InvalidToken' })
  expect((await send('GET', '/session', own)).body).toMatchObject({ signedIn: false })
})

test('a new sign-in ends the one before it in this browser', async () => {
  await service.user('twice')
  const cookie = await signIn('twice')
  const again = await send(
    'POST',
    '/session',
    { ...page(), cookie },
    { username: 'twice', password: 'secret of twice' },
  )
  expect(again.status).toBe(200)
  expect((await send('GET', '/users/me', { ...page(), cookie })).status).toBe(403)
})

test('a session that is to be kept says for how long', async () => {
  await service.user('kept')
  const kept = await send('POST', '/session', page(), { username: 'kept', password: 'secret of kept', keep: true })
  expect(kept.head).toMatch(/set-cookie: teal=\w{40}; Path=\/; HttpOnly; SameSite=Strict; Max-Age=\d{4,}\r\n/i)
})

test('a cookie does not count for what other sites send', async () => {
  await service.user('victim')
  const cookie = await signIn('victim')
  const { origin } = page()
  const evil = 'http://evil.example'
  const calls: [string, string, Headers][] = [
    ['a form', 'POST', { origin: evil, 'sec-fetch-site': 'cross-site' }],
    ['a form of a sandboxed frame', 'POST', { origin: 'null', 'sec-fetch-site': 'cross-site', 'x-teal-page': '1' }],
    ['another port', 'POST', { origin: 'http://localhost:1', 'sec-fetch-site': 'same-site', 'x-teal-page': '1' }],
    ['an old browser', 'POST', { origin: evil, 'x-teal-page': '1' }],
    ['nobody who says from where', 'POST', { 'x-teal-page': '1' }],
    ['our own origin without the header', 'POST', { origin, 'sec-fetch-site': 'same-origin' }],
    ['a picture', 'GET', { 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'no-cors' }],
    ['a link', 'GET', { 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'navigate' }],
    ['a neighbour', 'GET', { 'sec-fetch-site': 'same-site' }],
    ['an address that was typed', 'GET', { 'sec-fetch-site': 'none' }],
    ['nothing', 'GET', {}],
  ]
  for (const [who, method, headers] of calls) {
    const path = method === 'GET' ? '/users/me' : '/users/me/mailboxes'
    const { status, body } = await send(
      method,
      path,
      { ...headers, cookie },
      method === 'GET' ? undefined : { path: 'Stolen' },
    )
    expect([who, status, body.code]).toEqual([who, 403, 'InvalidToken'])
    if (method === 'GET') continue
    const ended = await send('DELETE', '/session', { ...headers, cookie })
    expect([who, ended.status, ended.body.code]).toEqual([who, 403, 'ForeignPage'])
    const entered = await send('POST', '/session', headers, { username: 'victim', password: 'secret of victim' })
    expect([who, entered.status, entered.head.includes('et-cookie')]).toEqual([who, 403, false])
  }
  expect((await send('GET', '/users/me', { ...page(), cookie })).status).toBe(200)
  const listed = await send('GET', '/users/me/mailboxes', { ...page(), cookie })
  expect(JSON.stringify(listed.body)).not.toContain('Stolen')
})

test('what our page opens to be shown or kept needs no header, and only that does: a picture in a letter calls nothing', async () => {
  const id = await service.user('opens')
  const cookie = await signIn('opens')
  const own = { 'sec-fetch-site': 'same-origin', 'sec-fetch-mode': 'navigate', cookie }
  const { id: inbox } = (await service.call('GET', `/users/${id}/mailboxes/resolve?path=INBOX`)).body
  const letters = `/mailboxes/${inbox}/messages`
  const unread = { subject: 'Unread', text: 'x', unseen: true }
  const { message } = (await service.call('POST', `/users/${id}${letters}`, unread)).body
  const letter = `/users/me${letters}/${message.id}`
  expect((await send('GET', `${letter}/message.eml`, own)).status).toBe(200)
  // Whoever has allowed pictures from elsewhere has them fetched by a frame of our own origin, also from here.
  const picture = { 'sec-fetch-site': 'same-origin', 'sec-fetch-mode': 'no-cors', 'sec-fetch-dest': 'image', cookie }
  expect((await send('GET', `${letter}?markAsSeen=true`, picture)).body.code).toBe('InvalidToken')
  expect((await service.call('GET', `/users/${id}${letters}/${message.id}`)).body.seen).toBe(false)
  expect((await send('GET', letter, { ...page(), cookie })).body).toMatchObject({ seen: false })
  expect((await send('DELETE', '/users/me/2fa', own)).body.code).toBe('InvalidToken')
})

test('other origins are never told that they may send the cookie along or the header of the page', async () => {
  const asked = await send('OPTIONS', '/users', {
    origin: 'http://evil.example',
    'access-control-request-method': 'POST',
    'access-control-request-headers': 'x-teal-page',
  })
  expect(asked.head).not.toMatch(/x-teal-page/i)
})

test('an access token of an operator signs in, and is not ended by signing out', async () => {
  const { rootToken } = service.teal
  const wrong = await send('POST', '/session', page(), { accessToken: 'f'.repeat(40) })
  expect([wrong.status, wrong.body.code]).toEqual([403, 'InvalidToken'])
  const split = await send('POST', '/session', page(), { accessToken: `${rootToken}; Domain=x` })
  expect(split.status).toBe(403)
  const answer = await send('POST', '/session', page(), { accessToken: rootToken })
  expect(answer.body).toMatchObject({ signedIn: true, role: 'root', grants: { 'users.create': 'any' } })
  const cookie = /set-cookie: ([^;]*)/i.exec(answer.head)?.[1] ?? ''
  expect((await send('DELETE', '/session', { ...page(), cookie })).status).toBe(200)
  expect((await service.call('GET', '/users')).status).toBe(200)
})

test('a password that is wrong is refused and noted with the address it came from', async () => {
  const id = await service.user('noted')
  const given = { username: 'noted', password: 'wrong', ip: '203.0.113.9' }
  const refused = await send('POST', '/session', page(), given)
  expect([refused.status, refused.body.code]).toEqual([403, 'AuthFailed'])
  const log = await service.call('GET', `/users/${id}/authlog`)
  expect(log.body.results[0]).toMatchObject({
    action: 'authentication',
    result: 'fail',
    protocol: 'Web',
    ip: '127.0.0.1',
  })
})

test('a login that waits for its factor has no cookie, and its calls take no wrong nonce', async () => {
  const id = await service.user('factors')
  const { body } = await service.call('POST', `/users/${id}/2fa/totp/setup`, {})
  const { generateSync } = await import('otplib')
  await service.call('POST', `/users/${id}/2fa/totp/enable`, { token: generateSync({ secret: body.seed }) })
  const begun = await send('POST', '/session', page(), { username: 'factors', password: 'secret of factors' })
  expect(begun.body).toMatchObject({ signedIn: false, pending: { user: id, factors: ['totp'] } })
  expect(begun.head).not.toMatch(/set-cookie/i)
  const nonce = 'a'.repeat(40)
  const wrong = await send('POST', '/session/totp', page(), { user: id, nonce, code: '123456' })
  expect(wrong.body.code).toBe('InvalidTotpNonce')
  const asked = { user: id, nonce, origin: page().origin }
  // Which factors there are is said to who knows the password.
  expect((await send('POST', '/session/webauthn-challenge', page(), asked)).body.code).toBe('Invalid2faNonce')
  const shown = {
    user: id,
    nonce,
    challenge: 'a'.repeat(128),
    rawId: 'aa',
    clientDataJSON: 'aa',
    authenticatorData: 'aa',
    signature: 'aa',
  }
  expect((await send('POST', '/session/webauthn', page(), shown)).body.code).toBe('Invalid2faNonce')
})

test('an operator acts as a user in the browser and comes back to the own session, which both logs say', async () => {
  const user = await service.user('acted')
  const cookieOf = (head: string, name: string) => new RegExp(`set-cookie: (${name}=[^;]*)`, 'i').exec(head)?.[1] ?? ''
  const entered = await send('POST', '/session', page(), { accessToken: service.teal.rootToken })
  const own = cookieOf(entered.head, 'teal')
  const begun = await send('POST', '/session/acting', { ...page(), cookie: own }, { user, reason: 'ticket 3' })
  expect(begun.body).toMatchObject({ role: 'impersonated', user: { id: user }, acting: { back: true } })
  expect(begun.head).not.toContain(`${own};`)
  const as = cookieOf(begun.head, 'teal-as')
  expect(as).toMatch(/^teal-as=[0-9a-f]{40}$/)
  const both = { ...page(), cookie: `${own}; ${as}` }
  expect((await send('GET', '/users/me', both)).body).toMatchObject({ id: user })
  expect((await send('GET', '/tokens', both)).status).toBe(403)
  // Without a session to come back to, and from another site, it is nothing.
  expect((await send('GET', '/users/me', { ...page(), cookie: as })).status).toBe(403)
  const foreign = { origin: 'http://evil.example', 'sec-fetch-site': 'cross-site', cookie: both.cookie }
  expect((await send('DELETE', '/session/acting', foreign)).body).toMatchObject({ code: 'ForeignPage' })

  const back = await send('DELETE', '/session/acting', both)
  expect(back.body).toMatchObject({ signedIn: true, role: 'root' })
  expect(back.head).toMatch(/set-cookie: teal-as=; .*Max-Age=0/i)
  // A window that still has the cookie is told who it is without it.
  const after = await send('GET', '/session', both)
  expect(after.body).toMatchObject({ signedIn: true, role: 'root' })
  expect(after.head).toMatch(/set-cookie: teal-as=; .*Max-Age=0/i)
  expect((await send('GET', '/users/me', both)).status).toBe(403)
  await expect
    .poll(async () => {
      const { results } = (await service.call('GET', `/users/${user}/authlog`)).body
      return results.map(({ action }: { action: string }) => action)
    })
    .toEqual(['impersonate end', 'impersonate', 'account created'])
})

test('signing out ends both, and who has no right to act as others does not', async () => {
  const user = await service.user('acted-too')
  const cookie = await signIn('acted-too')
  expect((await send('POST', '/session/acting', { ...page(), cookie }, { user })).status).toBe(403)
  const entered = await send('POST', '/session', page(), { accessToken: service.teal.rootToken })
  const own = /set-cookie: (teal=[^;]*)/i.exec(entered.head)?.[1] ?? ''
  const begun = await send('POST', '/session/acting', { ...page(), cookie: own }, { user })
  const as = /set-cookie: (teal-as=[^;]*)/i.exec(begun.head)?.[1] ?? ''
  const left = await send('DELETE', '/session', { ...page(), cookie: `${own}; ${as}` })
  expect(left.head.match(/set-cookie: [^;]*=;/gi)).toHaveLength(2)
  const { status } = await service.call('GET', '/users/me', undefined, as.slice('teal-as='.length))
  expect(status).toBe(403)
})

test('sessions of the page are named by the browser; whatever else calls itself something is not', async () => {
  const user = await service.user('named')
  const agents = [
    'Mozilla/5.0 (X11; Linux x86_64; rv:144.0) Gecko/20100101 Firefox/144.0',
    'Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/141.0.0.0 Safari/537.36 Edg/141.0.0.0',
    'Mozilla/5.0 (iPhone; CPU iPhone OS 18_6 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.6 Mobile/15E148 Safari/604.1',
    'Mozilla/5.0 (Linux; Android 10; K) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/141.0.0.0 Mobile Safari/537.36',
    'Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/26.0 Safari/605.1.15',
    '<script>alert(1)</script> curl/8.14.1',
  ]
  for (const agent of agents) {
    const body = { username: 'named', password: 'secret of named' }
    expect((await send('POST', '/session', { ...page(), 'user-agent': agent }, body)).status).toBe(200)
  }
  const { body } = await service.call('GET', `/users/${user}/sessions`)
  const labels = body.results.map(({ label }: { label: string }) => label)
  expect(labels.toSorted()).toEqual(
    ['Firefox, Linux', 'Edge, Windows', 'Safari, iPhone', 'Chrome, Android', 'Safari, macOS', ''].toSorted(),
  )
  // A token that was there before keeps the name it has.
  const [first = ''] = agents
  const accessToken = (await signIn('named')).slice('teal='.length)
  await send('POST', '/session', { ...page(), 'user-agent': first }, { accessToken })
  const { token } = (await service.call('POST', '/tokens', { role: 'root', label: 'kept' })).body
  await send('POST', '/session', { ...page(), 'user-agent': first }, { accessToken: token })
  const { results } = (await service.call('GET', `/users/${user}/sessions`)).body
  expect(results.map(({ label }: { label: string }) => label).toSorted()).toEqual(['', ...labels].toSorted())
  expect((await service.call('GET', '/tokens')).body.results).toContainEqual(expect.objectContaining({ label: 'kept' }))
})
