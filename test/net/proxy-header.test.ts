// The PROXY protocol on the mail listeners: who is behind a trusted proxy is who counts, and nobody else is believed.

import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import { parseProxyHeader } from '#net/proxy-header.ts'
import { startTeal } from '#service'
import { type Body, useTeal } from '../running.ts'
import { proxyHeader } from './announcement.ts'
import { Wire } from './wire.ts'

const root = mkdtempSync(join(tmpdir(), 'teal-proxy-'))
const file = join(root, 'teal.log')
const service = useTeal({
  auth: { cleartext: 'always' },
  network: { proxyProtocol: ['127.0.0.0/8'] },
  log: { level: 'info', file },
})
afterAll(() => rmSync(root, { recursive: true, force: true }))

const four = [192, 0, 2, 7, 127, 0, 0, 1, 0x1f, 0x90, 0, 25]
const six = [...Buffer.from('20010db8000000000000000000000009', 'hex'), ...Buffer.alloc(16), 0, 80, 0, 25]

/** Addresses of failed logins. */
const failed = () =>
  readFileSync(file, 'utf8')
    .split('\n')
    .filter(line => line.includes('"login-failed"'))
    .map(line => (JSON.parse(line) as Body).ip)

describe('who is behind a proxy', () => {
  test.each<[string, Buffer, string]>([
    ['version 1', Buffer.from('PROXY TCP4 198.51.100.1 127.0.0.1 4000 143\r\n'), '198.51.100.1'],
    ['version 1 of IPv6', Buffer.from('PROXY TCP6 2001:db8::5 ::1 4000 143\r\n'), '2001:db8::5'],
    ['version 1, unknown', Buffer.from('PROXY UNKNOWN\r\n'), '127.0.0.1'],
    ['version 2', proxyHeader(1, 0x11, four), '192.0.2.7'],
    ['version 2 of IPv6 with more behind', proxyHeader(1, 0x21, six, [4, 0, 1, 0]), '2001:db8::9'],
    ['version 2 with a part behind that is cut short', proxyHeader(1, 0x11, four, [4, 0, 200, 1]), '192.0.2.7'],
    ['version 2, from a socket of the proxy’s machine', proxyHeader(1, 0x31, Array(216).fill(0)), '127.0.0.1'],
    ['version 2, as if it were no stream', proxyHeader(1, 0x12, four), '127.0.0.1'],
    ['version 2, a look at our health', proxyHeader(0, 0, []), '127.0.0.1'],
  ])('%s', async (_what, bytes, address) => {
    const before = failed().length
    const imap = await Wire.open(service.at('imap'))
    // In pieces, with the first command behind it.
    imap.send(bytes.subarray(0, 5))
    await new Promise(resolve => setImmediate(resolve))
    imap.send(Buffer.concat([bytes.subarray(5), Buffer.from('a LOGIN nobody wrong\r\n')]))
    expect(await imap.line()).toMatch(/^\* OK/)
    expect(await imap.line()).toMatch(/^a NO/)
    imap.close()
    await expect.poll(() => failed().slice(before)).toEqual([address])
  })

  test('comes before TLS', async () => {
    const { host, port } = service.at('imaps')
    const socket = connect(port, host)
    socket.write(proxyHeader(1, 0x11, four))
    const imap = await Wire.openTls({ host, port }, { socket })
    expect(await imap.line()).toMatch(/^\* OK/)
    imap.close()
  })
})

test.each([
  ['none', 'a LOGIN nobody wrong\r\n'],
  ['a wrong family', 'PROXY TCP5 192.0.2.1 192.0.2.2 1 2\r\n'],
  ['no address', 'PROXY TCP4 300.0.2.1 192.0.2.2 1 2\r\n'],
  ['no end', `PROXY TCP4 ${'1'.repeat(200)}`],
])('a trusted proxy that says %s is cut off', async (_what, said) => {
  const smtp = await Wire.open(service.at('smtp'))
  smtp.send(said)
  await expect(smtp.line()).rejects.toThrow()
})

test('who came before the service was told to stop hears so, though the proxy says only then who it is', async () => {
  const ending = await startTeal({ auth: { cleartext: 'always' }, network: { proxyProtocol: ['127.0.0.0/8'] } })
  const at = ending.listeners.imap as { host: string; port: number }
  const imap = await Wire.open(at)
  const closed = ending.close()
  const isRefused = () =>
    Wire.open(at).then(
      wire => wire.close(),
      () => true,
    )
  await expect.poll(isRefused).toBe(true)
  imap.send(proxyHeader(1, 0x11, four))
  expect(await imap.line()).toMatch(/^\* (OK|BYE)/)
  imap.close()
  await closed
})

test('who is not trusted is not believed', async () => {
  const teal = await startTeal()
  const smtp = await Wire.open(teal.listeners.smtp as { host: string; port: number })
  smtp.send('PROXY TCP4 198.51.100.1 127.0.0.1 4000 25\r\n')
  expect(await smtp.line()).toMatch(/^220/)
  expect(await smtp.line()).toMatch(/^5/)
  smtp.close()
  expect(await teal.check()).toEqual([])
  await teal.close()
})

test('headers are taken apart', () => {
  expect(parseProxyHeader(Buffer.from('PROX'))).toBe('more')
  expect(parseProxyHeader(Buffer.from('\r\n\r\n\0'))).toBe('more')
  expect(parseProxyHeader(Buffer.from('EHLO x\r\n'))).toBe('none')
  expect(parseProxyHeader(proxyHeader(2, 0x11, four))).toBe('none')
  expect(parseProxyHeader(proxyHeader(1, 0x11, four.slice(4)))).toBe('none')
  expect(
    parseProxyHeader(
      proxyHeader(
        1,
        0x11,
        four,
        Array.from({ length: 5000 }, () => 0),
      ),
    ),
  ).toBe('none')
  const mapped = [...Buffer.from('00000000000000000000ffffc0000207', 'hex'), ...Buffer.alloc(16), 0, 80, 0, 25]
  expect(parseProxyHeader(proxyHeader(1, 0x21, mapped))).toMatchObject({ behind: { address: '192.0.2.7', port: 80 } })
})
