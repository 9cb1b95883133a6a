// What DNS says of a domain, over HTTP: against a name server of the test.

import { afterAll, expect, test } from 'vitest'
import { startNameServer } from '../../../net/name-server.ts'
import { type Body, useTeal } from '../../../running.ts'
import { scenarios } from '../../scenario.ts'

const names = await startNameServer()
const service = useTeal({ hostname: 'mail.example.com', network: { dnsServers: names.address } })
const { call } = service
const target = () => ({ url: service.teal.url, token: service.teal.rootToken })

afterAll(() => names.close())

const stateOf = (body: Body, name: string, type: string) =>
  body.records.find((one: { name: string; type: string }) => one.name === name && one.type === type)?.state

test('each record is told with what is there, and asked again only after a while', async () => {
  names.records.set('MX example.com', ['10 mail.example.com'])
  names.texts.set('example.com', ['unrelated', 'v=spf1 ip4:192.0.2.1 -all'])
  names.texts.set('_dmarc.example.com', ['v=spf1 oops'])
  names.bogus.add('_smtp._tls.example.com')
  await call('POST', '/dkim', { domain: 'example.com', selector: 'sel' })
  const { status, body } = await call('GET', '/domains/example.com/dns')
  expect([status, body.domain, body.state]).toEqual([200, 'example.com', 'wrong'])
  expect(stateOf(body, 'example.com', 'MX')).toBe('ok')
  expect(stateOf(body, 'example.com', 'TXT')).toBe('ok')
  expect(stateOf(body, '_dmarc.example.com', 'TXT')).toBe('wrong')
  expect(stateOf(body, 'sel._domainkey.example.com', 'TXT')).toBe('missing')
  expect(stateOf(body, '_smtp._tls.example.com', 'TXT')).toBe('unknown')
  const dkim = body.records.find(({ name }: { name: string }) => name.startsWith('sel.'))
  expect(dkim).toMatchObject({ value: expect.stringMatching(/^v=DKIM1;/), optional: false, found: [] })
  expect(body.records.find(({ name }: { name: string }) => name === '_dmarc.example.com').found).toEqual([
    'v=spf1 oops',
  ])

  const asked = names.asked.length
  names.texts.set('_dmarc.example.com', ['v=DMARC1; p=none'])
  expect((await call('GET', '/domains/EXAMPLE.com/dns')).body.checked).toBe(body.checked)
  expect(names.asked.length).toBe(asked)
})

test('many who ask at once share one look, and none of many domains is lost', async () => {
  const before = names.asked.length
  await Promise.all(Array.from({ length: 10 }, () => call('GET', '/domains/shared.example/dns')))
  const once = names.asked.length - before
  const many = await Promise.all(Array.from({ length: 12 }, (_, n) => call('GET', `/domains/d${n}.example/dns`)))
  expect(many.map(({ status }) => status)).toEqual(Array.from({ length: 12 }, () => 200))
  expect(many.every(({ body }) => body.state === 'missing')).toBe(true)
  expect(names.asked.length - before - once).toBe(12 * once)
})

scenarios(target, [
  { name: 'what is no domain', url: '/domains/no_domain/dns', status: 400, json: { code: 'InputValidationError' } },
  { name: 'no token', url: '/domains/example.com/dns', token: '0'.repeat(40), status: 403 },
])

test.each([
  ['manager', 200],
  ['settings', 403],
  ['webmail', 403],
])('%s asks for a domain', async (role, status) => {
  const { token } = await service.teal.core.access.provision(role, role)
  expect((await call('GET', '/domains/shared.example/dns', undefined, token)).status).toBe(status)
})
