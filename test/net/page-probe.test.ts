// A page as strangers fetch it over HTTPS: what certificate is shown and why it will not do, and what is answered.

import { createServer, type Server } from 'node:https'
import type { AddressInfo } from 'node:net'
import { createServer as createPlain } from 'node:net'
import { getCACertificates, setDefaultCACertificates } from 'node:tls'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { now } from '#lib/clock.ts'
import { limits } from '#lib/limits.ts'
import { fetchPage } from '#net/outward/page-probe.ts'
import { type Authority, openAuthority } from './authority.ts'

const before = getCACertificates('default')
const servers: { close(): unknown }[] = []
let authority: Authority
beforeAll(async () => {
  authority = await openAuthority()
  setDefaultCACertificates([...before, authority.cert])
})
afterAll(() => {
  setDefaultCACertificates(before)
  for (const server of servers) server.close()
})

const name = 'mta-sts.example.org'
let asked = 0

async function serve(form: Parameters<Authority['issue']>[0], text = 'words'): Promise<number> {
  const { key, cert } = await authority.issue(form)
  const server: Server = createServer({ key, cert }, (request, response) => {
    asked += 1
    if (request.url === '/moved') response.writeHead(301, { location: 'https://elsewhere.example/' })
    else response.setHeader('content-type', 'text/plain')
    response.end(`${request.headers.host} ${text}`)
  })
  servers.push(server)
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  return (server.address() as AddressInfo).port
}

const page = (port: number, path = '/') => fetchPage({ name, address: '127.0.0.1', port, path })

test('a page and its certificate', async () => {
  const port = await serve({ names: [name] })
  const found = await page(port)
  expect(found).toMatchObject({ status: 200, type: 'text/plain', text: `${name} words`, failure: undefined })
  expect(found.certified).toMatchObject({ names: [name], problem: undefined })
  expect(found.certified?.leftMs).toBeGreaterThan(0)
  expect(await page(port, '/moved')).toMatchObject({ status: 301 })
})

test.each<[string, Parameters<Authority['issue']>[0], string]>([
  ['for another name', { names: ['mail.example.org'] }, 'ERR_TLS_CERT_ALTNAME_INVALID'],
  ['that has ended', { names: [name], expires: now() - limits.time.day }, 'CERT_HAS_EXPIRED'],
])('nothing is asked of who shows a certificate %s', async (_what, form, problem) => {
  const port = await serve(form)
  asked = 0
  expect(await page(port)).toMatchObject({ status: 0, text: '', certified: { problem } })
  expect(asked).toBe(0)
})

test('a page without an end is cut', async () => {
  const port = await serve({ names: [name] }, 'x'.repeat(10 * limits.sts.policyBytesMax))
  const { text } = await page(port)
  expect(text.length).toBeGreaterThan(limits.sts.policyBytesMax)
  expect(text.length).toBeLessThan(5 * limits.sts.policyBytesMax)
})

test('who does not speak TLS, and nobody', async () => {
  const plain = createPlain(socket => socket.end('220 hello\r\n'))
  servers.push(plain)
  await new Promise<void>(resolve => plain.listen(0, '127.0.0.1', resolve))
  const spoken = await page((plain.address() as AddressInfo).port)
  expect(spoken).toMatchObject({ certified: undefined, status: 0 })
  expect(spoken.failure).not.toBe('ECONNREFUSED')
  const gone = createPlain()
  await new Promise<void>(resolve => gone.listen(0, '127.0.0.1', resolve))
  const { port } = gone.address() as AddressInfo
  await new Promise(resolve => gone.close(resolve))
  expect(await page(port)).toMatchObject({ certified: undefined, failure: 'ECONNREFUSED' })
})
