import type { AddressInfo } from 'node:net'
import { SMTPServer, type SMTPServerOptions } from 'smtp-server'
import { afterEach, expect, test } from 'vitest'
import { MailCaller, recipientOf } from '#jobs/webhooks/mail-call.ts'
import { Outward } from '#net/outward/outward.ts'

const closers: (() => unknown)[] = []
afterEach(async () => {
  for (const close of closers.splice(0)) await close()
})

interface Mail {
  readonly from: string
  readonly to: string[]
  readonly user: string
  readonly secure: boolean
  readonly helo: string
  readonly text: string
}

async function receive(options: SMTPServerOptions = {}): Promise<{ port: number; mails: Mail[] }> {
  const mails: Mail[] = []
  const server = new SMTPServer({
    authOptional: true,
    logger: false,
    onAuth: (auth, _session, done) =>
      auth.password === 'right' ? done(null, { user: auth.username }) : done(new Error('no')),
    onData(stream, session, done) {
      let text = ''
      stream.setEncoding('utf8')
      stream.on('data', chunk => {
        text += chunk
      })
      stream.on('end', () => {
        const { mailFrom, rcptTo } = session.envelope
        mails.push({
          from: mailFrom === false ? '' : mailFrom.address,
          to: rcptTo.map(to => to.address),
          user: String(session.user ?? ''),
          secure: session.secure,
          helo: session.hostNameAppearsAs,
          text,
        })
        done()
      })
    },
    ...options,
  })
  server.on('error', () => {})
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  closers.push(() => new Promise<void>(resolve => server.close(() => resolve())))
  return { port: (server.server.address() as AddressInfo).port, mails }
}

const outward = new Outward({ allowPrivate: ['127.0.0.0/8'], resolve: async () => ['127.0.0.1'] })
const callerWithin = (timeoutMs: number) => new MailCaller({ outward, timeoutMs, hostname: 'mx.example.com' })
const data = { id: '0123456789abcdef01234567:2', time: 1767322800123, ev: 'user.created', user: 'u', nested: { a: 1 } }
const post = { id: data.id, name: data.ev, at: data.time, json: JSON.stringify(data) }
const call = (url: string, secret: string | null = null, timeoutMs = 20_000) =>
  callerWithin(timeoutMs).call(new URL(url), secret, post, new AbortController().signal)

test('a delivery is one message: a summary for people and the JSON, with an id that stays', async () => {
  const { port, mails } = await receive({ hideSTARTTLS: true })
  const secret = 'a-secret-that-signs'
  expect(await call(`smtp://127.0.0.1:${port}/ops@example.com`, secret)).toEqual({ failure: null, status: 250 })
  expect(await call(`smtp://127.0.0.1:${port}/ops@example.com`, secret)).toEqual({ failure: null, status: 250 })
  const [mail, again] = mails
  expect(mail).toMatchObject({ from: 'webhooks@mx.example.com', to: ['ops@example.com'], helo: 'mx.example.com' })
  const text = mail?.text ?? ''
  expect(text).toContain('Message-ID: <0123456789abcdef01234567.2@mx.example.com>')
  expect(text).toContain('Auto-Submitted: auto-generated')
  expect(text).toMatch(/^Content-Type: multipart\/alternative;/m)
  expect(text).toMatch(/^Webhook-Signature: v1,[A-Za-z0-9+/]{43}=\r$/m)
  expect(text).toContain('user.created at 2026-01-02T03:00:00.123Z\r\n\r\nuser: u\r\nnested: (see the JSON)')
  expect(text).not.toMatch(/content-disposition: attachment/i)
  const [, part = ''] = /Content-Type: application\/json.*?\r\n\r\n(.*?)\r\n--/s.exec(text) ?? []
  expect(JSON.parse(Buffer.from(part, 'base64').toString())).toEqual(data)
  const idOf = (one: string | undefined) => /^Message-ID: .*$/m.exec(one ?? '')?.[0]
  expect(idOf(again?.text)).toBe(idOf(text))
})

test('a server that offers TLS gets it, whatever its certificate; smtps asks for a good one', async () => {
  const plain = await receive()
  expect(await call(`smtp://127.0.0.1:${plain.port}/a@example.com`)).toEqual({ failure: null, status: 250 })
  expect(plain.mails[0]?.secure).toBe(true)
  const secure = await receive({ secure: true })
  expect(await call(`smtps://127.0.0.1:${secure.port}/a@example.com`)).toEqual({ failure: 'tls', status: null })
  expect(secure.mails).toEqual([])
})

test('credentials of the URL are used, and refused ones are a refusal', async () => {
  const { port, mails } = await receive()
  expect(await call(`smtp://us%40er:right@127.0.0.1:${port}/a@example.com`)).toEqual({ failure: null, status: 250 })
  expect(mails[0]?.user).toBe('us@er')
  expect(await call(`smtp://us%40er:wrong@127.0.0.1:${port}/a@example.com`)).toMatchObject({
    failure: 'rejected',
    status: 535,
  })
})

test('what goes wrong has a word', async () => {
  const no = await receive({
    onRcptTo: (_to, _session, done) => done(Object.assign(new Error('no'), { responseCode: 550 })),
  })
  expect(await call(`smtp://127.0.0.1:${no.port}/a@example.com`)).toEqual({ failure: 'rejected', status: 550 })
  const slow = await receive({ onData: () => {} })
  const waited = await call(`smtp://127.0.0.1:${slow.port}/a@example.com`, null, 500)
  expect(waited).toEqual({ failure: 'timeout', status: null })
  expect(await call('smtp://127.0.0.1:1/a@example.com')).toEqual({ failure: 'refused', status: null })
  expect(await call('smtp://[::1]:25/a@example.com')).toEqual({ failure: 'blocked', status: null })
  expect(await call('smtp://mx.example.net/not an address')).toEqual({ failure: 'target', status: null })
})

test.each([
  ['smtp://mx.example.net', 'events@mx.example.net'],
  ['smtp://mx.example.net/', 'events@mx.example.net'],
  ['smtps://u:p@mx.example.net:465/a%2Bb@example.com', 'a+b@example.com'],
  ['smtp://mx.example.net/a%0d%0aRCPT TO:<x@example.com>', undefined],
  ['smtp://mx.example.net/a@example.com,b@example.com', undefined],
])('%s goes to %s', (url, recipient) => expect(recipientOf(new URL(url))).toBe(recipient))
