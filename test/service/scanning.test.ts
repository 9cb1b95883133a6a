// Other programs that look at mail: rspamd and clamd as fakes that speak their protocols, and a relay in front.

import { type AddressInfo, createServer, type Server, type Socket } from 'node:net'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { Fault, smtpReply } from '#lib/fault.ts'
import { teachRspamd } from '#net/outward/rspamd.ts'
import type { Teal } from '#service'
import { Dialogue, deliver, openLmtp } from '../dialogue.ts'
import { accessTo, type Running, startOnEngine } from '../running.ts'

/** A listener that collects what comes and answers once it is complete. */
async function fake(answer: (text: Buffer, socket: Socket) => boolean): Promise<Server> {
  const server = createServer(socket => {
    let bytes = Buffer.alloc(0)
    let answered = false
    socket.on('error', () => {})
    socket.on('data', (chunk: Buffer) => {
      bytes = Buffer.concat([bytes, chunk])
      if (!answered) answered = answer(bytes, socket)
    })
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  return server
}

const portOf = (server: Server) => (server.address() as AddressInfo).port

let rspamd: Server
let clamd: Server
let teal: Teal
let service: Running
/** What rspamd was asked last, and what it says. */
let asked = ''
let says: string | null = ''
let clam: 'scan' | 'close' | 'nonsense' | 'limit' = 'scan'

const http = (status: string, body: string) =>
  `HTTP/1.1 ${status}\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`
const verdict = (action: string, score: number) =>
  http(
    '200 OK',
    JSON.stringify({ action, score, required_score: 15, symbols: { BAYES_SPAM: { score: 5.1 }, NONE: { score: 0 } } }),
  )

/** Whether an HTTP request is complete. */
function complete(bytes: Buffer): boolean {
  const text = bytes.toString('latin1')
  const end = text.indexOf('\r\n\r\n')
  const length = Number(/content-length: (\d+)/i.exec(text)?.[1] ?? 0)
  return end >= 0 && bytes.length >= end + 4 + length
}

/** The stream of chunks, or nothing while it is not complete. */
function streamed(bytes: Buffer): string | undefined {
  const command = 'zINSTREAM\0'
  if (bytes.length < command.length) return undefined
  expect(bytes.toString('latin1', 0, command.length)).toBe(command)
  let text = ''
  for (let at = command.length; at + 4 <= bytes.length; ) {
    const length = bytes.readUInt32BE(at)
    if (length === 0) return text
    if (at + 4 + length > bytes.length) return undefined
    text += bytes.toString('latin1', at + 4, at + 4 + length)
    at += 4 + length
  }
  return undefined
}

beforeAll(async () => {
  rspamd = await fake((bytes, socket) => {
    if (!complete(bytes)) return false
    asked = bytes.toString('latin1')
    if (says === null) socket.destroy()
    else socket.end(says)
    return true
  })
  clamd = await fake((bytes, socket) => {
    if (clam === 'close') return socket.destroy() !== undefined
    const text = streamed(bytes)
    if (text === undefined) return false
    const found = text.includes('EICAR') ? 'Eicar-Test-Signature FOUND' : 'OK'
    socket.end(
      clam === 'nonsense'
        ? 'what?\0'
        : clam === 'limit'
          ? 'INSTREAM size limit exceeded. ERROR\0'
          : `stream: ${found}\0`,
    )
    return true
  })
  const spam = {
    rspamd: `http://127.0.0.1:${portOf(rspamd)}`,
    clamd: `127.0.0.1:${portOf(clamd)}`,
    relays: ['127.0.0.0/8'],
  }
  teal = await startOnEngine({ spam }, { strict: true })
  service = accessTo(() => teal)
  await service.user('anna')
})
afterAll(async () => {
  expect(await teal.check()).toEqual([])
  await teal.close()
  rspamd.close()
  clamd.close()
})
beforeEach(() => {
  says = verdict('no action', 0.1)
  clam = 'scan'
})

let count = 0
const mail = (head = '', text = 'Hello') =>
  Buffer.from(`${head}From: b@example.net\r\nSubject: x\r\nMessage-ID: <scan${++count}@t>\r\n\r\n${text}\r\n`)

async function bring(message: Buffer): Promise<string> {
  const lmtp = await openLmtp(service.at('lmtp'))
  const [reply = ''] = await deliver(lmtp, 'b@example.net', ['anna@example.com'], message)
  lmtp.close()
  return reply
}

async function newest(path: string) {
  const { body: user } = await service.call('GET', '/users/resolve/anna')
  const { body: box } = await service.call('GET', `/users/${user.id}/mailboxes/resolve?path=${path}`)
  const messages = `/users/${user.id}/mailboxes/${box.id}/messages`
  const [{ id }] = (await service.call('GET', messages)).body.results
  return (await service.call('GET', `${messages}/${id}`)).body
}

test('rspamd is told who brings what to whom, and its verdict is a part of the score', async () => {
  says = verdict('add header', 7.5)
  expect(await bring(mail())).toMatch(/^250/)
  expect(asked).toMatch(/^POST \/checkv2 HTTP\/1\.1\r\n/)
  for (const line of [/^From: b@example\.net\r$/im, /^Rcpt: anna@example\.com\r$/im, /^IP: 127\.0\.0\.1\r$/im]) {
    expect(asked).toMatch(line)
  }
  expect(asked).toContain(`Message-ID: <scan${count}@t>`)
  expect((await newest('INBOX')).spam).toEqual({
    score: 25,
    parts: [{ name: 'rspamd', score: 25, info: 'add header (7.5) BAYES_SPAM' }],
  })
})

test('what rspamd would refuse lies in Junk', async () => {
  says = verdict('reject', 20)
  expect(await bring(mail())).toMatch(/^250/)
  expect((await newest('Junk')).spam.score).toBe(75)
})

test.each([
  ['nothing', null],
  ['an error', http('500 No', 'broken')],
  ['no JSON', http('200 OK', '<html>')],
  ['no verdict', http('200 OK', '{"action":5}')],
  ['null', http('200 OK', 'null')],
  ['too much', http('200 OK', `"${'x'.repeat(3_000_000)}"`)],
  ['no HTTP', 'hello\r\n'],
])('a message is taken where rspamd answers %s', async (_, answer) => {
  says = answer
  expect(await bring(mail())).toMatch(/^250/)
  expect((await newest('INBOX')).messageId).toBe(`<scan${count}@t>`)
})

test('a virus is refused, whatever lies around it', async () => {
  expect(await bring(mail('', `EICAR ${'x'.repeat(200_000)}`))).toMatch(/^550 5\.7\.1/)
  expect(await bring(mail('', 'none'))).toMatch(/^250/)
})

test('refusing a virus is for good, in every protocol', () => {
  expect(smtpReply(new Fault('VirusFound'))).toMatchObject({ code: 550, enhanced: '5.7.1' })
})

test('the same over SMTP', async () => {
  const smtp = await Dialogue.open(service.at('smtp'))
  await smtp.reply()
  await smtp.ask('EHLO there.test')
  const [reply] = await deliver(smtp, 'b@example.net', ['anna@example.com'], mail('', 'EICAR'))
  smtp.close()
  expect(reply).toMatch(/^550 5\.7\.1/)
})

test.each(['close', 'nonsense', 'limit'] as const)('a message is taken where clamd does not say: %s', async how => {
  clam = how
  expect(await bring(mail())).toMatch(/^250/)
})

test('what a relay in front says is heeded', async () => {
  expect(await bring(mail('X-Spam-Flag: YES\r\nX-Spam-Status: Yes, score=9.1 required=5\r\n'))).toMatch(/^250/)
  expect((await newest('Junk')).spam.parts).toContainEqual({ name: 'relay', score: 50, info: 'score 9.1' })
})

test('failures are counted', async () => {
  const metrics = await (await service.raw('GET', '/metrics')).text()
  expect(metrics).toMatch(/scanned_total\{scanner="clamd",result="failed"\} 3/)
})

test('learning: a 204 with a body is no error, 208 means known, anything else is one', async () => {
  const url = `http://127.0.0.1:${portOf(rspamd)}/`
  says = 'HTTP/1.1 204 No Content\r\nContent-Type: application/json\r\n\r\n{"error":"too few tokens"}'
  await teachRspamd(url, 'secret words', mail(), true)
  expect(asked).toMatch(/^POST \/learnspam /)
  expect(asked).toMatch(/^Password: secret words\r$/im)
  says = http('208 Already Reported', '{}')
  await teachRspamd(url, '', mail(), false)
  expect(asked).toMatch(/^POST \/learnham /)
  says = http('403 Forbidden', '{}')
  await expect(teachRspamd(url, 'wrong', mail(), true)).rejects.toThrow('403')
})
