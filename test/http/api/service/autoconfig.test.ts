// What mail programs learn about the servers before anybody has logged in.

import { describe, expect, test } from 'vitest'
import { limits } from '#lib/limits.ts'
import { stsRecord } from '#mail/made/sts-policy.ts'
import { parsePolicy } from '#net/tls/mta-sts.ts'
import { startTeal } from '#service'
import { threads, useTeal } from '../../../running.ts'

const service = useTeal({
  hostname: 'mail.example.com',
  setup: { imap: { port: 993 }, smtp: { port: 587, security: 'starttls' } },
  mobileconfig: { organization: 'A & B <mail>' },
})

async function xml(method: string, path: string, body?: string): Promise<string> {
  const headers = { 'x-access-token': '', 'content-type': 'text/xml' }
  const answer = await service.raw(method, path, { headers, ...(body !== undefined && { body }) })
  expect(answer.status).toBe(200)
  expect(answer.headers.get('content-type')).toBe('text/xml; charset=utf-8')
  return answer.text()
}

describe('autoconfiguration', () => {
  test('of Thunderbird is found at both places', async () => {
    const byHost = await xml('GET', '/mail/config-v1.1.xml?emailaddress=a%26b%40example.org')
    const byPath = await xml('GET', '/.well-known/autoconfig/mail/config-v1.1.xml?emailaddress=a%26b%40example.org')
    expect(byPath).toBe(byHost)
    expect(byHost).toContain('<emailProvider id="example.org">')
    expect(byHost).toContain('<username>a&amp;b@example.org</username>')
    expect(byHost).toContain('<displayName>A &amp; B &lt;mail&gt;</displayName>')
    expect(byHost).toMatch(
      /type="imap">\s*<hostname>mail\.example\.com<\/hostname>\s*<port>993<\/port>\s*<socketType>SSL</,
    )
    expect(byHost).toMatch(/type="smtp">[\s\S]*<port>587<\/port>\s*<socketType>STARTTLS</)
  })

  test('without an address lets programs fill it in', async () => {
    const text = await xml('GET', '/mail/config-v1.1.xml?unknown=1')
    expect(text).toContain('<username>%EMAILADDRESS%</username>')
    expect(text).toContain('<emailProvider id="mail.example.com">')
  })

  test('of Outlook reads the request however it is spelled', async () => {
    const body =
      '<?xml version="1.0"?><Autodiscover><Request><EMailAddress>x@example.org</EMailAddress></Request></Autodiscover>'
    const lower = await xml('POST', '/autodiscover/autodiscover.xml', body)
    expect(await xml('POST', '/Autodiscover/Autodiscover.xml', body)).toBe(lower)
    expect(lower).toContain('<LoginName>x@example.org</LoginName>')
    expect(lower).toMatch(/<Type>SMTP<\/Type>[\s\S]*<Encryption>TLS<\/Encryption>/)
    const hostile = await xml(
      'POST',
      '/autodiscover/autodiscover.xml',
      '<EMailAddress>"><x>@y</EMailAddress>'.repeat(50),
    )
    expect(hostile).toContain('<LoginName></LoginName>')
  })
})

test('other servers learn how to send mail here, where that is told', async () => {
  expect((await service.raw('GET', '/.well-known/mta-sts.txt')).status).toBe(404)
  const teal = await startTeal({
    threads,
    hostname: 'MX.example.com',
    smtp: { stsMode: 'enforce' },
    dkim: { automatic: false },
  })
  try {
    const answer = await fetch(`${teal.url}/.well-known/mta-sts.txt`)
    expect(answer.headers.get('content-type')).toMatch(/^text\/plain\b/)
    const text = await answer.text()
    expect(parsePolicy(text)).toEqual({ mode: 'enforce', mx: ['mx.example.com'], maxAgeMs: 14 * limits.time.day })
    expect(stsRecord('mx.example.com', 'enforce')).toMatch(/^v=STSv1; id=[0-9a-f]{20};$/)
    expect(stsRecord('mx.example.com', 'enforce')).not.toBe(stsRecord('mx.example.com', 'testing'))
  } finally {
    await teal.close()
  }
})
