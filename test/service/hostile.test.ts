// What the world may send instead of mail, and a disk that fills up: a clear answer, nothing lost, nothing half-done.

import { expect, test } from 'vitest'
import { Dialogue, deliver, openLmtp } from '../dialogue.ts'
import { append, Client, mail } from '../imap/client.ts'
import { useTeal } from '../running.ts'

const service = useTeal({ mail: { maxSize: 5_000_000 } })

async function inboxOf(user: string): Promise<string> {
  return (await service.call('GET', `/users/${user}/mailboxes/resolve?path=INBOX`)).body.id
}

const deep = (levels: number): string => {
  let text = 'innermost'
  for (let level = 0; level < levels; level++) {
    text = `Content-Type: multipart/mixed; boundary=b${level}\r\n\r\n--b${level}\r\n${text}\r\n--b${level}--\r\n`
  }
  return text
}

const shapes: Record<string, Buffer> = {
  'a header of a megabyte': Buffer.from(
    `Subject: ${'x'.repeat(900)}\r\n${`X-Long: ${'y'.repeat(900)}\r\n`.repeat(1100)}\r\nbody\r\n`,
  ),
  'ten thousand nested parts': Buffer.from(`Subject: deep\r\n${deep(10_000)}`),
  'a multipart that never ends': Buffer.from('Content-Type: multipart/mixed; boundary=x\r\n\r\n--x\r\n\r\nbody\r\n'),
  'a multipart without a boundary': Buffer.from('Content-Type: multipart/mixed\r\n\r\nbody\r\n'),
  'NUL bytes': Buffer.from('Subject: a\0b\r\n\r\n\0\0\0\r\n'),
  'bytes of no encoding': Buffer.from('Subject: \xff\xfe\xe4\r\n\r\n\x80\x81\r\n', 'latin1'),
  'nothing at all': Buffer.from(''),
  'no header': Buffer.from('\r\njust text\r\n'),
  'a From line of an mbox': Buffer.from('From me Sat Nov 21 10:00:00 2026\r\nSubject: x\r\n\r\nbody\r\n'),
}

for (const [what, message] of Object.entries(shapes)) {
  test(`${what} is stored as it came, and shown`, async () => {
    const name = `shape-${Object.keys(shapes).indexOf(what)}`
    const user = await service.user(name)
    const lmtp = await openLmtp(service.at('lmtp'))
    expect(await deliver(lmtp, 'b@example.net', [`${name}@example.com`], message)).toEqual([
      expect.stringMatching(/^250/),
    ])
    lmtp.close()
    const inbox = await inboxOf(user)
    const path = `/users/${user}/mailboxes/${inbox}/messages`
    expect((await service.call('GET', `${path}?includeHeaders=true`)).body).toMatchObject({ total: 1 })
    expect((await service.call('GET', `${path}/1`)).status).toBe(200)
    const source = Buffer.from(await (await service.raw('GET', `${path}/1/message.eml`)).arrayBuffer())
    const end =
      message.length === 0 || message.subarray(-2).equals(Buffer.from('\r\n'))
        ? message
        : Buffer.concat([message, Buffer.from('\r\n')])
    expect(source.subarray(source.length - end.length).equals(end)).toBe(true)
  })
}

test('a message over the cap is refused while it comes, and leaves nothing', async () => {
  const user = await service.user('big')
  const lmtp = await openLmtp(service.at('lmtp'))
  expect(await lmtp.ask('MAIL FROM:<b@example.net> SIZE=6000000')).toMatch(/^552 5\.3\.4/)
  const [reply] = await deliver(lmtp, 'b@example.net', ['big@example.com'], Buffer.alloc(6_000_000, 'x'))
  expect(reply).toMatch(/^552 5\.3\.4/)
  expect(await lmtp.ask('NOOP')).toMatch(/^250/)
  lmtp.close()
  expect((await service.call('GET', `/users/${user}/mailboxes/${await inboxOf(user)}`)).body.total).toBe(0)
})

test('a sender that leaves in the middle of a message leaves nothing', async () => {
  const user = await service.user('gone')
  const lmtp = await openLmtp(service.at('lmtp'))
  await lmtp.ask('MAIL FROM:<b@example.net>')
  await lmtp.ask('RCPT TO:<gone@example.com>')
  await lmtp.ask('DATA')
  lmtp.send('Subject: half a mess')
  lmtp.close()
  expect((await service.call('GET', `/users/${user}/mailboxes/${await inboxOf(user)}`)).body.total).toBe(0)
})

test('a bare line feed never ends a message, so none can be smuggled in', async () => {
  const user = await service.user('smuggle')
  for (const end of ['\n.\n', '\n.\r\n', '\r.\r\n', '\r\n.\n', '\r.\r']) {
    const smtp = await Dialogue.open(service.at('smtp'))
    await smtp.reply()
    await smtp.ask('EHLO there')
    await smtp.ask('MAIL FROM:<b@example.net>')
    await smtp.ask('RCPT TO:<smuggle@example.com>')
    await smtp.ask('DATA')
    smtp.send(`Subject: x\r\n\r\nfirst${end}MAIL FROM:<evil@example.net>\r\nRCPT TO:<smuggle@example.com>\r\n\r\n.\r\n`)
    await smtp.reply()
    expect(await smtp.ask('NOOP')).toMatch(/^250/)
    smtp.close()
  }
  const { body } = await service.call('GET', `/users/${user}/mailboxes/${await inboxOf(user)}/messages`)
  for (const message of body.results) expect(message.subject).toBe('x')
  expect(body.total).toBeLessThanOrEqual(5)
})

test('a disk that is full keeps nobody from reading: over IMAP a message is given without being marked as read', async () => {
  await service.user('reader')
  const { core } = service.teal
  const lmtp = await openLmtp(service.at('lmtp'))
  const message = Buffer.from('Subject: to be read\r\n\r\nthere\r\n')
  expect(await deliver(lmtp, 'b@example.net', ['reader@example.com'], message)).toEqual([
    expect.stringMatching(/^250 /),
  ])
  const client = await Client.login(service.at('imap'), 'reader', 'INBOX')
  core.writer.limitPages(1)
  // What is written where there is room already goes well: until nothing does.
  const text = 'x'.repeat(100_000)
  await expect.poll(async () => (await client.ask(append('INBOX', mail('a', text)))).status).toBe('NO')
  const read = await client.ask('FETCH 1 BODY[]')
  expect([read.status, read.lines.join('')]).toEqual(['OK', expect.stringContaining('Subject: to be read')])
  core.writer.limitPages(0)
  await expect.poll(() => core.writer.healthy, { timeout: 10_000 }).toBe(true)
  await client.ok('FETCH 1 BODY[]')
  expect((await client.ok('FETCH 1 FLAGS')).join('')).toContain('Seen')
  client.close()
  lmtp.close()
})

test('a disk that fills up answers temporarily, loses nothing acknowledged, and heals without a restart', async () => {
  const user = await service.user('full')
  const inbox = await inboxOf(user)
  const { core } = service.teal
  const lmtp = await openLmtp(service.at('lmtp'))
  const pages = (await core.read.one<{ page_count: number }>('PRAGMA page_count'))?.page_count ?? 0
  core.writer.limitPages(pages + 20)
  const stored: string[] = []
  let refusal = ''
  for (let n = 0; refusal === '' && n < 100; n++) {
    const noise = Array.from({ length: 400 }, () => Math.random().toString(36).slice(2)).join('\r\n')
    const [reply] = await deliver(
      lmtp,
      'b@example.net',
      ['full@example.com'],
      Buffer.from(`Subject: n${n}\r\n\r\n${noise}\r\n`),
    )
    if (reply?.startsWith('250')) stored.push(`n${n}`)
    else refusal = reply ?? ''
  }
  expect(refusal).toMatch(/^452 4\.3\.1/)
  expect(stored.length).toBeGreaterThan(0)
  expect((await service.call('POST', '/users', { username: 'nobody', password: 'secret secret' })).status).toBe(503)
  const listed = await service.call('GET', `/users/${user}/mailboxes/${inbox}/messages?order=asc&limit=250`)
  expect(listed.body.results.map((one: { subject: string }) => one.subject)).toEqual(stored)
  core.writer.limitPages(0)
  await expect.poll(() => core.writer.healthy, { timeout: 10_000 }).toBe(true)
  const [again] = await deliver(
    lmtp,
    'b@example.net',
    ['full@example.com'],
    Buffer.from('Subject: after\r\n\r\nthere\r\n'),
  )
  expect(again).toMatch(/^250/)
  lmtp.close()
})

test('requests that are none get an answer that says why', async () => {
  const user = await service.user('asker')
  const json = { 'content-type': 'application/json' }
  const bad = async (method: string, path: string, body?: string | Buffer, headers: Record<string, string> = json) => {
    const init = body === undefined ? { headers } : { headers, body: body as NonNullable<RequestInit['body']> }
    const response = await service.raw(method, path, init)
    return { status: response.status, body: (await response.json()) as Record<string, unknown> }
  }
  expect(await bad('GET', '/users/123/mailboxes')).toMatchObject({
    status: 400,
    body: { code: 'InputValidationError' },
  })
  expect(await bad('POST', '/users', '{"username": ')).toMatchObject({ status: 400, body: { code: 'InvalidContent' } })
  const latin = Buffer.from('{"username":"\xe4"}', 'latin1')
  expect(await bad('POST', '/users', latin)).toMatchObject({ status: 400, body: { code: 'InvalidContent' } })
  const unknown = await bad('POST', '/users', '{"username":"x","password":"secret","colour":1}')
  expect(unknown).toMatchObject({ status: 400, body: { details: { colour: expect.any(String) } } })
  const large = await bad('POST', '/users', JSON.stringify({ username: 'x', name: 'y'.repeat(3_000_000) }))
  expect(large).toMatchObject({ status: 413, body: { code: 'BodyTooLarge' } })
  expect(await bad('GET', '/nowhere')).toMatchObject({
    status: 404,
    body: { code: 'ResourceNotFound', message: expect.any(String) },
  })
  expect(await bad('PATCH', `/users/${user}`)).toMatchObject({ status: 405, body: { code: 'MethodNotAllowed' } })
})
