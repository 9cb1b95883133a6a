// The load generator against servers that say what they got: what it counts must have happened.

import { once } from 'node:events'
import { createServer as createHttpServer } from 'node:http'
import { type AddressInfo, createServer, type Server } from 'node:net'
import { afterEach, describe, expect, test } from 'vitest'
import { deliver } from '../../bench/load/deliver.ts'
import { login } from '../../bench/load/login.ts'
import { fixedMessages, mixedMessages, onTheWire, stamp } from '../../bench/load/messages.ts'
import { request } from '../../bench/load/request.ts'
import { formatRows, isMet, ratioOf } from '../../bench/row.ts'

const servers: { close(): void }[] = []
afterEach(() => {
  for (const server of servers.splice(0)) server.close()
})

async function listen(server: Server): Promise<{ host: string; port: number }> {
  servers.push(server)
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return { host: '127.0.0.1', port: (server.address() as AddressInfo).port }
}

/** A line server: `answer` gives what is sent back for a line, '' for nothing. */
function lineServer(greeting: string, answer: (line: string) => string): Server {
  return createServer(socket => {
    let rest = ''
    socket.on('error', () => {})
    socket.write(greeting)
    socket.on('data', chunk => {
      const lines = (rest + chunk.toString('latin1')).split('\r\n')
      rest = lines.pop() ?? ''
      for (const line of lines) socket.write(answer(line))
    })
  })
}

describe('messages', () => {
  test.each([600, 2048, 4499, 4500, 51_200])('of %i bytes have exactly that many', size => {
    for (const { bytes } of fixedMessages(size, 5, 1)) {
      expect(bytes).toHaveLength(size)
      expect(bytes.toString('latin1').replaceAll('\r\n', '')).not.toMatch(/[\r\n]/)
      expect(bytes.subarray(-2).toString()).toBe('\r\n')
    }
  })

  test('are the same for the same seed, and stamps make each use unique', () => {
    expect(fixedMessages(2048, 3, 5)).toEqual(fixedMessages(2048, 3, 5))
    expect([...mixedMessages(20, 5)]).toEqual([...mixedMessages(20, 5)])
    const [message] = fixedMessages(2048, 1, 5)
    const uses = Array.from({ length: 3 }, () => (message === undefined ? '' : stamp(message, 'run').toString()))
    expect(new Set(uses).size).toBe(3)
    expect(uses.every(use => use.length === 2048 && /^Message-ID: <000run\w{6}\./m.test(use))).toBe(true)
  })

  test('of the mixture are mail: CRLF only, lines short enough, an address in From, every kind among them', () => {
    const texts = [...mixedMessages(300, 7)].map(message => message.toString('latin1'))
    for (const text of texts) {
      expect(text.replaceAll('\r\n', '')).not.toMatch(/[\r\n]/)
      expect(Math.max(...text.split('\r\n').map(line => line.length))).toBeLessThanOrEqual(998)
      expect(text).toMatch(/^From: .+ <[^<>@ ]+@[^<>@ ]+>\r$/m)
    }
    for (const part of ['format=flowed', 'multipart/alternative', 'List-Id:', 'Content-Disposition: attachment']) {
      expect(texts.some(text => text.includes(part))).toBe(true)
    }
  })

  test('go over the wire with dots doubled and an end', () => {
    expect(onTheWire(Buffer.from('.a\r\n..b\r\nc.\r\n')).toString()).toBe('..a\r\n...b\r\nc.\r\n.\r\n')
    expect(onTheWire(Buffer.from('a\r\n')).toString()).toBe('a\r\n.\r\n')
  })
})

describe('load', () => {
  test.each(['lmtp', 'smtp'] as const)('delivers over %s what it says it delivered', async protocol => {
    let data = false
    let bytes = 0
    const received: number[] = []
    const recipients = new Set<string>()
    const server = lineServer('220 here\r\n', line => {
      if (data && line !== '.') bytes += line.length + 2
      else if (data) {
        data = false
        received.push(bytes)
        bytes = 0
        return '250 taken\r\n'
      } else if (/^[LE]HLO/.test(line)) return '250-here\r\n250 PIPELINING\r\n'
      else if (line === 'DATA') {
        data = true
        return '354 go\r\n'
      } else {
        if (line.startsWith('RCPT')) recipients.add(line.slice(9, -1))
        return '250 ok\r\n'
      }
      return ''
    })
    const target = await listen(server)
    const job = { recipients: ['a@b', 'c@d'], size: 2048, seed: 1, connections: 1, count: 10 } as const
    const result = await deliver({ kind: 'deliver', protocol, ...target, ...job })
    expect(result).toMatchObject({ done: 10, failed: 0, bytes: 20_480 })
    expect(received).toEqual(Array.from({ length: 10 }, () => 2048))
    expect([...recipients]).toEqual(['a@b', 'c@d'])
  })

  test('counts refusals and lost connections as failures', async () => {
    const refusing = await listen(
      lineServer('220 here\r\n', line => (/^LHLO/.test(line) ? '250 ok\r\n' : '451 no\r\n')),
    )
    const job = { kind: 'deliver', protocol: 'lmtp', recipients: ['a@b'], size: 2048, seed: 1, count: 3 } as const
    const refused = await deliver({ ...job, ...refusing, connections: 3 })
    expect(refused).toMatchObject({ done: 0, failed: 3, errors: { 'mail: 451 no': 3 } })
    const lost = await deliver({ ...job, host: '127.0.0.1', port: 1, connections: 2 })
    expect(lost).toMatchObject({ done: 0, failed: 2 })
  })

  test('sends requests one after another on each connection and wants the status', async () => {
    const bodies: string[] = []
    const server = createHttpServer((incoming, outgoing) => {
      let body = ''
      incoming.on('data', chunk => {
        body += chunk
      })
      incoming.on('end', () => {
        bodies.push(body)
        outgoing.writeHead(body === '{"a":3}' ? 500 : 200, { 'Content-Length': 2 }).end('ok')
      })
    })
    const target = await listen(server)
    const job = { kind: 'request', method: 'POST', path: '/x', headers: {}, status: 200, connections: 2 } as const
    const good = await request({ ...job, ...target, bodies: ['{"a":1}', '{"a":2}'], count: 8 })
    expect(good).toMatchObject({ done: 8, failed: 0 })
    expect(bodies.toSorted()).toEqual([...Array(4).fill('{"a":1}'), ...Array(4).fill('{"a":2}')])
    const bad = await request({ ...job, ...target, bodies: ['{"a":3}'], count: 2 })
    expect(bad).toMatchObject({ done: 0, failed: 2, errors: { 'HTTP/1.1 500': 2 } })
  })

  test('logs in and out, and tells a refusal from a login', async () => {
    const imap = await listen(
      lineServer('* OK here\r\n', line => {
        if (line === 'a1 LOGIN "u" "p"') return '* CAPABILITY IMAP4rev2\r\na1 OK in\r\n'
        return line === 'a2 LOGOUT' ? '* BYE\r\na2 OK out\r\n' : 'a1 NO\r\n'
      }),
    )
    const users = [
      { name: 'u', password: 'p' },
      { name: 'u', password: 'wrong' },
    ]
    const job = { kind: 'login', connections: 2, count: 4 } as const
    expect(await login({ ...job, ...imap, protocol: 'imap', users })).toMatchObject({ done: 2, errors: { 'a1 NO': 2 } })
    const pop3 = await listen(lineServer('+OK here\r\n', line => (line === 'PASS wrong' ? '-ERR no\r\n' : '+OK\r\n')))
    expect(await login({ ...job, ...pop3, protocol: 'pop3', users })).toMatchObject({
      done: 2,
      errors: { '-ERR no': 2 },
    })
  })
})

test('a row is met by its ratio where it has a bound and by its figure where it has none', () => {
  const rate = { what: 'a', figure: 300, unit: '/s', bound: { name: 'b', value: 100 }, wanted: { least: 3 } }
  expect(ratioOf(rate)).toBe(3)
  expect([isMet(rate), isMet({ ...rate, figure: 299 }), isMet({ ...rate, wanted: undefined })]).toEqual([
    true,
    false,
    undefined,
  ])
  const memory = { what: 'c', figure: 151, unit: 'MB', wanted: { most: 150 } }
  expect([isMet(memory), isMet({ ...memory, figure: 150 })]).toEqual([false, true])
  const [, , first = '', second = ''] = formatRows([rate, memory]).split('\n')
  expect(first.split('|').map(cell => cell.trim())).toEqual(['', 'a', '300 /s', 'b 100', '3x', '>= 3x', 'yes', '', ''])
  expect(second).toMatch(/\| 151 MB .*<= 150 MB \| NO/)
})
