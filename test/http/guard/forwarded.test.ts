// Who is behind a proxy: what the header of a trusted one says, over the wire, as strict and as wild as it comes.

import Type from 'typebox'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type ForwardedHeader, type Proxies, visitorOf } from '#http/guard/forwarded.ts'
import { limits } from '#lib/limits.ts'
import { rangesOf } from '#lib/network.ts'
import { endpoint } from '../../../src/http/endpoint.ts'
import { proxyHeader } from '../../net/announcement.ts'
import { type Front, startFront } from '../front.ts'
import { sendBytes } from '../scenario.ts'

const who = endpoint({
  tag: 'Test',
  summary: 'Test',
  method: 'GET',
  path: '/who',
  allow: 'public',
  reply: { address: Type.String(), secure: Type.Boolean() },
  run: ({ request }) => ({ address: request.address, secure: request.secure }),
})

const trusts = rangesOf(['127.0.0.0/8', '10.0.0.0/8', '2001:db8:1::/48'])
const unread: string[] = []
const fronts = new Map<ForwardedHeader, Front>()
let strangers: Front
beforeAll(async () => {
  for (const header of ['X-Forwarded-For', 'Forwarded', 'none'] as const) {
    const proxies: Proxies = { header, trusts, onUnread: address => unread.push(address) }
    fronts.set(header, await startFront([who], { proxies }))
  }
  strangers = await startFront([who], { proxies: { header: 'X-Forwarded-For', trusts: rangesOf(['10.0.0.0/8']) } })
})
afterAll(async () => {
  for (const front of [...fronts.values(), strangers]) await front.close(0)
})

/** What a call with these header lines is answered. */
async function call(front: Front | undefined, lines: readonly string[]): Promise<Record<string, unknown>> {
  if (front === undefined) throw new Error('no such front')
  const answer = await sendBytes(
    front,
    `GET /who HTTP/1.1\r\nHost: x\r\nConnection: close\r\n${lines.join('\r\n')}\r\n\r\n`,
    5000,
  )
  expect(answer).toMatch(/^HTTP\/1\.1 200 /)
  return JSON.parse(answer.slice(answer.indexOf('\r\n\r\n') + 4)) as Record<string, unknown>
}

const peer = '127.0.0.1'

describe('X-Forwarded-For of a trusted proxy', () => {
  test.each<[string, string[], string]>([
    ['none', [], peer],
    ['one address', ['192.0.2.7'], '192.0.2.7'],
    ['with a port', ['192.0.2.7:4711'], '192.0.2.7'],
    ['of IPv6', ['2001:DB8:0::7'], '2001:db8::7'],
    ['of IPv6 in brackets', ['[2001:db8::7]'], '2001:db8::7'],
    ['of IPv6 with a port', ['[2001:db8::7]:443'], '2001:db8::7'],
    ['of IPv6 with a zone', ['fe80::7%eth0'], 'fe80::7'],
    ['of IPv6 with a zone and a port', ['[fe80::7%25eth0]:80'], 'fe80::7'],
    ['of IPv4 as IPv6 writes it', ['::ffff:192.0.2.7'], '192.0.2.7'],
    ['with what a stranger wrote before', ['203.0.113.1, 192.0.2.7'], '192.0.2.7'],
    ['with loopback, which a stranger wrote before', ['127.0.0.1, 192.0.2.7'], '192.0.2.7'],
    ['with garbage before', ['"<script>, \\", 192.0.2.7'], '192.0.2.7'],
    ['in a field of its own, behind that of a stranger', ['203.0.113.1', '192.0.2.7'], '192.0.2.7'],
    ['in a field of its own, behind an empty one of a stranger', ['', '192.0.2.7'], '192.0.2.7'],
    ['through further trusted ones', ['203.0.113.1, 192.0.2.7, 10.1.2.3, 2001:db8:1::5'], '192.0.2.7'],
    ['through trusted ones alone', ['10.1.2.3, 10.0.0.1'], '10.1.2.3'],
    ['with empty elements', [', 203.0.113.1,192.0.2.7 ,, '], '192.0.2.7'],
    ['that is no address', ['unknown'], peer],
    ['that is no address behind a trusted one', ['203.0.113.1, unknown, 10.0.0.1'], '10.0.0.1'],
    ['that is a number', ['3221225991'], peer],
    ['in another base', ['0xC0.0.2.7'], peer],
    ['with too many parts', ['192.0.2.7.1'], peer],
    ['in brackets though of IPv4', ['[192.0.2.7]'], peer],
    ['with half a bracket', ['[2001:db8::7'], peer],
    ['with a text behind', ['192.0.2.7 x'], peer],
  ])('%s', async (_what, fields, address) => {
    const lines = fields.map((field, at) => `${at === 0 ? 'X-Forwarded-For' : 'x-forwarded-FOR'}: ${field}`)
    expect(await call(fronts.get('X-Forwarded-For'), lines)).toMatchObject({ address, secure: false })
  })

  test('thousands of addresses are read from the end, and no more than a few', async () => {
    const strange = Array.from({ length: 2000 }, (_, at) => `203.0.113.${at % 250}`).join(',')
    const near = ['192.0.2.7', '10.0.0.1'].join(',')
    const given = [`X-Forwarded-For: ${strange.slice(0, 25_000)}`, `X-Forwarded-For: ${near}`]
    expect(await call(fronts.get('X-Forwarded-For'), given)).toMatchObject({ address: '192.0.2.7' })
    const trusted = Array.from({ length: limits.http.proxyHopsMax }, (_, at) => `10.0.0.${at + 1}`)
    const over = [`X-Forwarded-For: 192.0.2.7, ${trusted.join(', ')}`]
    expect(await call(fronts.get('X-Forwarded-For'), over)).toMatchObject({ address: '10.0.0.1' })
  })

  test('a head of 100 KB is refused, whatever it says', async () => {
    const front = fronts.get('X-Forwarded-For')
    if (front === undefined) throw new Error('no front')
    const long = `GET /who HTTP/1.1\r\nHost: x\r\nX-Forwarded-For: ${'203.0.113.1, '.repeat(8000)}192.0.2.7\r\n\r\n`
    expect(await sendBytes(front, long)).toMatch(/^(HTTP\/1\.1 431 |$)/)
    expect(await call(front, ['X-Forwarded-For: 192.0.2.7'])).toMatchObject({ address: '192.0.2.7' })
  })

  test('the other header is not read', async () => {
    expect(await call(fronts.get('X-Forwarded-For'), ['Forwarded: for=203.0.113.1'])).toMatchObject({ address: peer })
  })
})

describe('Forwarded of a trusted proxy', () => {
  test.each<[string, string[], string]>([
    ['one address', ['for=192.0.2.7'], '192.0.2.7'],
    ['in any case, with more', ['Proto=http;FOR="192.0.2.7:80" ; by=10.0.0.1;host=example.com'], '192.0.2.7'],
    ['of IPv6', ['for="[2001:db8::7]:4711"'], '2001:db8::7'],
    ['with a port that is hidden', ['for="[2001:db8::7]:_x1"'], '2001:db8::7'],
    ['with escapes', ['for="\\[2001:db8::7\\]"'], '2001:db8::7'],
    ['with what a stranger wrote before', ['for=203.0.113.1, for=192.0.2.7'], '192.0.2.7'],
    ['with a quote that a stranger opened', ['for="203.0.113.1, for=192.0.2.7'], '192.0.2.7'],
    ['behind an empty field of a stranger', ['', 'for=192.0.2.7'], '192.0.2.7'],
    ['with a host that holds commas and quotes', ['for=192.0.2.7;host="x, for=203.0.113.1;a=\\""'], '192.0.2.7'],
    ['through a trusted one', ['for=192.0.2.7', 'for=10.0.0.1'], '192.0.2.7'],
    ['hidden', ['for=_hidden, for=10.0.0.1'], '10.0.0.1'],
    ['unknown', ['for=unknown'], peer],
    ['twice in one element', ['for=192.0.2.7;for=203.0.113.1'], peer],
    ['not at all', ['by=192.0.2.7'], peer],
    ['without quotes where they must be', ['for=[2001:db8::7]'], peer],
    ['garbage', ['for==192.0.2.7'], peer],
  ])('%s', async (_what, fields, address) => {
    const lines = fields.map(field => `Forwarded: ${field}`)
    expect(await call(fronts.get('Forwarded'), lines)).toMatchObject({ address })
  })

  test('the other header is not read', async () => {
    expect(await call(fronts.get('Forwarded'), ['X-Forwarded-For: 203.0.113.1'])).toMatchObject({ address: peer })
  })
})

describe('TLS in front', () => {
  test.each<[ForwardedHeader, string[], boolean]>([
    ['none', ['X-Forwarded-Proto: https'], true],
    ['none', ['X-Forwarded-Proto: http'], false],
    ['none', ['X-Forwarded-Proto: https', 'X-Forwarded-Proto: http'], false],
    ['none', ['Forwarded: for=192.0.2.7;proto=https'], false],
    ['X-Forwarded-For', ['X-Forwarded-Proto: HTTPS', 'X-Forwarded-For: 192.0.2.7'], true],
    ['Forwarded', ['Forwarded: for=192.0.2.7;proto=https'], true],
    ['Forwarded', ['Forwarded: for=203.0.113.1;proto=https, for=192.0.2.7;proto=http'], false],
  ])('%s: %j', async (header, lines, secure) => {
    expect(await call(fronts.get(header), lines)).toMatchObject({ secure })
  })
})

test('without the setting nothing is read, and it is said that there is something', async () => {
  unread.length = 0
  expect(await call(fronts.get('none'), ['X-Forwarded-For: 192.0.2.7'])).toMatchObject({ address: peer })
  expect(unread).toEqual([peer])
})

test('a stranger who sends the headers is believed nothing', async () => {
  const lines = ['X-Forwarded-For: 192.0.2.7', 'X-Forwarded-Proto: https', 'Forwarded: for=192.0.2.7;proto=https']
  expect(await call(strangers, lines)).toEqual({ success: true, address: peer, secure: false })
})

test('a stranger who begins with the PROXY protocol is believed nothing', async () => {
  const request = 'GET /who HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n'
  const first = proxyHeader(1, 0x11, [192, 0, 2, 7, 127, 0, 0, 1, 0x1f, 0x90, 0, 25])
  const answers = [
    await sendBytes(strangers, Buffer.concat([first, Buffer.from(request)])),
    await sendBytes(strangers, `PROXY TCP4 192.0.2.7 127.0.0.1 4000 80\r\n${request}`),
  ]
  for (const answer of answers) expect(answer).not.toContain('192.0.2.7')
  expect(await call(strangers, [])).toMatchObject({ address: peer })
})

test('TLS of our own counts, whatever a proxy says', () => {
  const header = (name: string) => (name === 'x-forwarded-proto' ? 'http' : '')
  const arrival = { secure: true, address: () => peer, header, headers: (name: string) => [header(name)] }
  expect(visitorOf(arrival, { header: 'none', trusts })).toMatchObject({ secure: true })
})

test('a header that trusted peers do not send costs no look at their address', () => {
  const address = () => expect.fail('asked')
  const arrival = { secure: false, address, header: () => '', headers: () => [] }
  expect(visitorOf(arrival, { header: 'X-Forwarded-For', trusts })).toEqual({ address: undefined, secure: false })
})
