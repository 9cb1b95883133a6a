// The REST for tests of any language: what is waited for comes by push, what did not come says what did, and no page of
// another origin gets in.

import { createServer, request } from 'node:http'
import type { AddressInfo } from 'node:net'
import { ImapFlow } from 'imapflow'
import { describe, expect, test } from 'vitest'
import { sleep } from '#lib/clock.ts'
import { useDev } from './running.ts'

const on = useDev()
const inboxOf = async (name: string) => (await on.call('POST', '/dev/v1/inboxes', { name })).body

describe('waiting', () => {
  test('one call waits for a mail that comes later, and gives all of it', async () => {
    const inbox = await inboxOf('Anna')
    expect(inbox).toMatchObject({ address: expect.stringMatching(/^anna-[0-9a-f]+@/), imap: { host: '127.0.0.1' } })
    const waiting = on.call('POST', '/dev/v1/wait', {
      inbox: inbox.address,
      subject: { regex: '^welcome', flags: 'i' },
    })
    await sleep(50)
    await on.send({ to: inbox.address, subject: 'Something else', text: 'x' }, inbox.address)
    const html = '<p>Your code is <b>482913</b>, <a href="https://example.com/verify?t=1">verify</a></p>'
    const attachments = [{ filename: 'a b.pdf', content: 'PDF', contentType: 'application/pdf' }]
    await on.send(
      { from: 'App <app@example.com>', to: inbox.address, subject: 'Welcome', html, attachments },
      inbox.address,
    )
    const { status, body } = await waiting
    expect(status).toBe(200)
    expect(body).toMatchObject({
      ...{ subject: 'Welcome', from: { name: 'App', address: 'app@example.com' }, code: '482913', html },
      envelope: { from: 'app@example.com', to: [inbox.address] },
      links: ['https://example.com/verify?t=1'],
      attachments: [{ filename: 'a b.pdf', contentType: 'application/pdf', size: 3 }],
    })
    const file = await fetch(on.dev.url + body.attachments[0].url)
    expect([await file.text(), file.headers.get('content-disposition')]).toEqual([
      'PDF',
      'attachment; filename="a b.pdf"',
    ])
    expect((await on.call('GET', body.raw)).body).toMatch(/^Subject: Welcome\r$/m)
    expect((await on.call('GET', `/dev/v1/wait?inbox=${inbox.address}`)).body.subject).toBe('Something else')
  })

  test('in vain, it says what did come and why it was not that', async () => {
    const inbox = await inboxOf('ben')
    await on.send({ to: inbox.address, subject: 'Invoice', text: 'x' }, inbox.address)
    const asked = { inbox: inbox.address, subject: 'Receipt', timeout: 20 }
    const { status, body } = await on.call('POST', '/dev/v1/wait', asked)
    expect(status).toBe(404)
    expect(body).toMatchObject({
      code: 'MailMissing',
      arrived: [{ subject: 'Invoice', reasons: ["subject is 'Invoice'"] }],
    })
    expect(body.message).toContain('Waited 20 ms')
    const several = await on.call('POST', '/dev/v1/wait', { inbox: inbox.address, count: 1 })
    expect(several.body).toMatchObject([{ subject: 'Invoice' }])
  })

  test('who hangs up takes no mail with him', async () => {
    const inbox = await inboxOf('gone')
    const left = new AbortController()
    const path = `${on.dev.url}/dev/v1/wait?inbox=${inbox.address}`
    const waiting = fetch(path, { signal: left.signal }).catch(() => 'left')
    await sleep(50)
    left.abort()
    expect(await waiting).toBe('left')
    await sleep(50)
    await on.send({ to: inbox.address, subject: 'Later', text: 'x' }, inbox.address)
    expect((await on.call('GET', `/dev/v1/wait?inbox=${inbox.address}`)).body.subject).toBe('Later')
  })

  test('that none comes is a call, too; so are the list and clearing', async () => {
    const inbox = await inboxOf('cleo')
    const query = `inbox=${inbox.address}`
    expect(await on.call('GET', `/dev/v1/none?${query}&within=1`)).toMatchObject({ status: 200 })
    await on.send({ to: inbox.address, subject: 'One', text: 'x' }, inbox.address)
    expect(await on.call('GET', `/dev/v1/none?${query}`)).toMatchObject({ status: 409, body: { code: 'MailArrived' } })
    const [line] = (await on.call('GET', `/dev/v1/mails?${query}`)).body
    expect(line.subject).toBe('One')
    await on.call('DELETE', `/dev/v1/mails?${query}`)
    expect((await on.call('GET', `/dev/v1/mails?${query}`)).body).toEqual([])
    expect((await on.call('GET', `/dev/v1/mails/${line.id}`)).body.subject).toBe('One')
    await on.call('DELETE', '/dev/v1/mails')
    expect((await on.call('GET', '/dev/v1/mails')).body).toEqual([])
    expect((await on.call('GET', `/dev/v1/mails/${line.id}`)).status).toBe(404)
  })

  test.each([
    ['a name nobody knows', { subjekt: 'x' }, 'subjekt'],
    ['an expression that is none', { subject: { regex: '(' } }, 'regular expression'],
    ['a time that is none', { timeout: 'soon' }, 'timeout'],
    ['a count that is none', { count: 0 }, 'count'],
  ])('%s is refused', async (_, body, said) => {
    const answer = await on.call('POST', '/dev/v1/wait', body)
    expect(answer).toMatchObject({ status: 400, body: { code: 'Invalid', message: expect.stringContaining(said) } })
  })
})

test('failures strike, are counted and end', async () => {
  const inbox = await inboxOf('dora')
  const rule = { at: 'rcpt', to: inbox.address, reply: '451 4.3.0 Later', times: 1 }
  const { id } = (await on.call('POST', '/dev/v1/failures', rule)).body
  await expect(on.send({ to: inbox.address, subject: 'x' }, inbox.address)).rejects.toThrow('451')
  expect((await on.call('GET', `/dev/v1/failures/${id}`)).body).toEqual({ id, rule, hits: 1 })
  expect((await on.call('GET', '/dev/v1/failures')).body).toContainEqual({ id, rule, hits: 1 })
  await on.send({ to: inbox.address, subject: 'x' }, inbox.address)
  expect((await on.call('DELETE', `/dev/v1/failures/${id}`)).status).toBe(200)
  expect((await on.call('GET', `/dev/v1/failures/${id}`)).status).toBe(404)
  expect((await on.call('POST', '/dev/v1/failures', { at: 'dinner' })).status).toBe(400)
  await on.call('PUT', `/dev/v1/inboxes/${inbox.address}/full`, { full: true })
  await expect(on.send({ to: inbox.address, subject: 'x' }, inbox.address)).rejects.toThrow('552')
})

test('a mail is looked through, and its links are tried when somebody asks', async () => {
  const asked: string[] = []
  const server = createServer(({ method, url = '' }, response) => {
    asked.push(`${method} ${url}`)
    if (url === '/moved') response.writeHead(302, { location: '/there' })
    else response.writeHead(url === '/there' ? 200 : 404)
    response.end()
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  const at = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  try {
    const inbox = await inboxOf('checked')
    const links = ['/there', '/moved', '/gone'].map(path => `<a href="${at}${path}">${path}</a>`).join(' ')
    const html = `<form action="/x">Quarterly figures about gardens</form><img src="cid:x">${links} <a href="mailto:a@b.example">a</a>`
    await on.send({ to: inbox.address, subject: 'Figures', html, text: 'Something else entirely' }, inbox.address)
    const { id } = (await on.call('GET', `/dev/v1/wait?inbox=${inbox.address}`)).body
    const { body: checks } = await on.call('GET', `/dev/v1/mails/${id}/checks`)
    const verdicts = Object.fromEntries(checks.map(({ name, ok }: { name: string; ok: boolean }) => [name, ok]))
    expect(verdicts).toMatchObject({ 'Text part': false, 'Words for pictures': false, 'Field date': true, Size: true })
    expect(verdicts).toMatchObject({ 'HTML that mail programs show': false, 'Way to unsubscribe': null })
    expect(asked).toEqual([])
    const { body: tried } = await on.call('POST', `/dev/v1/mails/${id}/links`)
    expect(tried.map(({ url, ok, status }: { url: string; ok: boolean; status: number }) => [url, ok, status])).toEqual(
      [
        [`${at}/there`, true, 200],
        [`${at}/moved`, true, 302],
        [`${at}/gone`, false, 404],
      ],
    )
    expect(asked.toSorted()).toEqual(['HEAD /gone', 'HEAD /moved', 'HEAD /there'])

    const plain =
      'Date: Mon, 05 Jan 2026 10:00:00 +0000\r\nDate: Mon, 05 Jan 2026 10:00:00 +0000\r\nList-Id: <a.example>\r\n\r\n'
    const headers = { 'content-type': 'message/rfc822' }
    await on.call('POST', `/dev/v1/mails?to=${inbox.address}`, plain, headers)
    const { id: other } = (await on.call('GET', `/dev/v1/wait?inbox=${inbox.address}`)).body
    const again = (await on.call('GET', `/dev/v1/mails/${other}/checks`)).body
    const wrong = again.filter(({ ok }: { ok: boolean }) => ok === false).map(({ name }: { name: string }) => name)
    expect(wrong).toEqual(expect.arrayContaining(['Text part', 'Field date', 'Field from', 'Way to unsubscribe']))
    expect((await on.call('GET', '/dev/v1/mails/nothing/checks')).status).toBe(404)
  } finally {
    server.close()
  }
})

test('time goes on when told to', async () => {
  const before = (await on.call('GET', '/dev/v1/clock')).body.now
  const after = (await on.call('POST', '/dev/v1/clock', { advance: 3_600_000 })).body.now
  expect(after - before).toBeGreaterThanOrEqual(3_600_000)
  expect((await on.call('POST', '/dev/v1/clock', { advance: -1 })).status).toBe(400)
})

test('an account is filled, from JSON, a message and an mbox, and no file of this machine', async () => {
  const { address, user, password } = await inboxOf('emil')
  const path = `/dev/v1/inboxes/${address}/seed`
  const messages = [
    { mail: 'Subject: one\r\n\r\nx', folder: 'Archive/2024', seen: true },
    { subject: 'two', text: 'x' },
  ]
  expect((await on.call('POST', path, { folders: ['Empty'], messages })).status).toBe(200)
  const mbox =
    'From a@b Mon Jan  1 00:00:00 2024\nSubject: three\n\nx\n\nFrom a@b Mon Jan  1 00:00:00 2024\nSubject: four\n\nx\n'
  expect((await on.call('POST', path, mbox, { 'content-type': 'application/mbox' })).body.messages).toBe(2)
  const eml = { 'content-type': 'message/rfc822' }
  expect((await on.call('POST', `${path}?folder=Archive`, 'Subject: five\n\nx', eml)).status).toBe(200)
  expect((await on.call('POST', path, { messages: [{ eml: '/etc/passwd' }] })).status).toBe(400)
  const port = on.dev.ports.imap ?? 0
  const imap = new ImapFlow({
    host: '127.0.0.1',
    port,
    secure: false,
    doSTARTTLS: false,
    auth: { user, pass: password },
    logger: false,
  })
  await imap.connect()
  const counts: Record<string, number | undefined> = {}
  for (const { path } of await imap.list())
    counts[path] = ((await imap.status(path, { messages: true })) || undefined)?.messages
  expect(counts).toMatchObject({ INBOX: 3, Archive: 1, 'Archive/2024': 1, Empty: 0 })
  await imap.logout()
})

test('a mail is sent, and what an application is told is told', async () => {
  const inbox = await inboxOf('franz')
  const draft = { from: 'x@example.com', to: inbox.address, subject: 'Sent', text: 'x' }
  expect((await on.call('POST', '/dev/v1/mails', draft)).status).toBe(200)
  expect((await on.call('GET', `/dev/v1/wait?inbox=${inbox.address}`)).body.envelope.from).toBe('x@example.com')
  const { smtp } = on.dev.ports
  expect((await on.call('GET', '/dev/v1/env?stack=django')).body).toContain(`EMAIL_PORT=${smtp}\n`)
  expect((await on.call('GET', '/dev/v1/env?stack=cobol')).status).toBe(400)
  expect((await on.call('GET', '/dev/v1/info')).body.ports.smtp).toBe(smtp)
})

test('news come as events', async () => {
  const inbox = await inboxOf('gina')
  const left = new AbortController()
  const answer = await fetch(`${on.dev.url}/dev/v1/events`, { signal: left.signal })
  expect(answer.headers.get('content-type')).toBe('text/event-stream')
  const decoder = new TextDecoder()
  let told = ''
  const reading = (async () => {
    for await (const chunk of answer.body ?? []) {
      told += decoder.decode(chunk)
      if (told.includes('event: arrived')) return
    }
  })()
  await on.send({ to: inbox.address, subject: 'x' }, inbox.address)
  await reading
  expect(told).toMatch(/^retry: 1000\n\nevent: open\n/)
  left.abort()
})

describe('a page of another origin', () => {
  /** What a browser would send; fetch of Node would not let it. */
  const ask = (method: string, path: string, headers: Record<string, string>): Promise<number> =>
    new Promise((resolve, reject) => {
      const { port } = new URL(on.dev.url)
      const asking = request({ host: '127.0.0.1', port, method, path, headers }, answer => {
        answer.resume()
        resolve(answer.statusCode ?? 0)
      })
      asking.on('error', reject)
      asking.end()
    })
  const host = () => new URL(on.dev.url).host

  test.each([
    'evil.example',
    'evil.example:8025',
    'localhost.evil.example',
    '127.0.0.1.evil.example',
    'mail',
    'a@127.0.0.1',
  ])('does not get in by the name %j', async name => {
    for (const path of ['/', '/dev/v1/mails', '/api/v1/messages'])
      expect(await ask('GET', path, { host: name })).toBe(403)
  })

  test.each(['localhost', 'LOCALHOST:1', '[::1]:8025', 'mail.localhost', '192.168.1.5'])(
    'nothing is wrong with %s',
    async name => {
      expect(await ask('GET', '/dev/v1/info', { host: name })).toBe(200)
    },
  )

  test.each([
    ['of another origin', 'DELETE', '/api/v1/messages', { origin: 'https://evil.example' }],
    ['of none', 'POST', '/dev/v1/clock', { origin: 'null' }],
    ['of another port here', 'GET', '/dev/v1/wait', { origin: 'http://127.0.0.1:3000', 'sec-fetch-site': 'same-site' }],
    ['a picture', 'GET', '/dev/v1/wait', { 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'no-cors' }],
    [
      'a link to what does something',
      'GET',
      '/dev/v1/wait',
      { 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'navigate' },
    ],
  ])('does not get in: %s', async (_, method, path, headers) => {
    expect(await ask(method, path, { host: host(), ...(headers as Record<string, string>) })).toBe(403)
  })

  test('may link to the page; the page itself may do everything', async () => {
    expect(await ask('GET', '/', { host: host(), 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'navigate' })).toBe(
      200,
    )
    const own = { host: host(), origin: `http://${host()}`, 'sec-fetch-site': 'same-origin' }
    expect(await ask('DELETE', '/dev/v1/mails', own)).toBe(200)
  })

  test('no answer may be read or framed by it', async () => {
    const { headers } = await fetch(`${on.dev.url}/api/v1/messages`)
    expect(headers.get('access-control-allow-origin')).toBeNull()
    expect(headers.get('cross-origin-resource-policy')).toBe('same-origin')
    expect(headers.get('content-security-policy')).toContain("frame-ancestors 'none'")
  })
})

test('what is not there and what cannot be is told', async () => {
  expect((await on.call('GET', '/nothing')).status).toBe(404)
  expect((await on.call('PATCH', '/dev/v1/mails')).status).toBe(405)
  expect((await on.call('POST', '/dev/v1/inboxes', '{')).status).toBe(400)
  expect((await on.call('POST', '/dev/v1/inboxes', '[]')).status).toBe(400)
  expect((await on.call('GET', '/dev/v1/mails/%ff')).status).toBe(404)
})
