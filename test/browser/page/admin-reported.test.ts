// What other services report about a domain, as whoever looks after the service sees it in a real browser.

import { gzipSync } from 'node:zlib'
import { afterAll, expect, test } from 'vitest'
import { now } from '#lib/clock.ts'
import { limits } from '#lib/limits.ts'
import { dmarcReport } from '#mail/made/dmarc-report.ts'
import { composeReportMail } from '#mail/made/report-mail.ts'
import { tlsReport } from '#mail/made/tls-report.ts'
import { Dialogue, deliver } from '../../dialogue.ts'
import { startNameServer } from '../../net/name-server.ts'
import { look, shoot, usePage } from './page.ts'

const names = await startNameServer()
names.texts.set('big.example', ['v=spf1 ip4:127.0.0.1 -all'])
const pages = usePage({
  hostname: 'mail.example.com',
  smtp: { dnsServers: [names.address], unjudged: [], greylist: false },
  network: { dnsServers: names.address, allowPrivate: ['127.0.0.0/8'] },
})
const { service } = pages

afterAll(() => names.close())

const today = now() - (now() % limits.time.day)
const [from, to] = [today - limits.time.day, today - 1000]
const shared = { organization: 'big.example', contact: 'a@big.example', from, to }

/** Brings a report as another service does. */
async function report(kind: 'dmarc' | 'tls', text: string, sender = 'reports@big.example'): Promise<void> {
  const about = { from: 'reports@big.example', to: 'postmaster@told.example', domain: 'told.example' }
  const file = { filename: `a.${kind === 'tls' ? 'json' : 'xml'}.gz`, packed: gzipSync(text), kind }
  const mail = composeReportMail({
    ...{ ...about, ...file, submitter: 'big.example', reportId: 'r', now: now(), words: ['x'] },
  })
  const smtp = await Dialogue.open(service.at('smtp'))
  await smtp.reply()
  await smtp.ask('EHLO out.big.example')
  expect((await deliver(smtp, sender, ['postmaster@told.example'], mail))[0]).toMatch(/^250/)
  smtp.close()
}

function ofMail(reportId: string): string {
  const published = { domain: 'told.example', adkim: 'r', aspf: 'r', p: 'none', sp: 'none' } as const
  const row = (ip: string, passes: boolean) => ({
    ...{ published, ip, disposition: 'none' as const, dkim: passes, spf: passes },
    ...{ headerFrom: 'told.example', envelopeFrom: 'told.example', signatures: [] },
  })
  const counts = [
    { detail: row('192.0.2.1', true), count: 1200 },
    { detail: row('192.0.2.66', false), count: 34 },
  ]
  return dmarcReport({ ...shared, reportId, published, counts })
}

test('mail in the name of a domain and connections to it, as others tell of them', async () => {
  await service.user('tina', { address: 'tina@told.example' })
  const page = await pages.visit('/app/service/domains/told.example', { token: service.teal.rootToken })
  const card = page.locator('.card').filter({ has: page.getByRole('heading', { name: 'What others report' }) })
  await card.getByText('Nobody has reported anything yet.').waitFor()
  const policy = { kind: 'sts' as const, strings: ['version: STSv1'], hosts: ['mx.told.example'] }
  const counts = [
    { detail: { policy }, count: 41 },
    { detail: { policy, flaw: 'certificate-expired' as const, mx: 'mx.told.example', reason: 'x' }, count: 2 },
  ]
  await report('dmarc', ofMail('one'))
  await report('dmarc', ofMail('made up'), 'mallory@evil.test')
  await report('tls', tlsReport({ ...shared, reportId: 't', domain: 'told.example', counts }))
  const arrived = async () => (await service.call('GET', '/reports?domain=told.example')).body.results.length
  await expect.poll(arrived, { timeout: 60_000 }).toBe(3)
  await page.reload()
  await card.getByText('Messages: 1,234, not proven: 34').waitFor()
  await card.getByText('Connections: 43, failed: 2').waitFor()
  const [worst = ''] = await card.getByRole('table', { name: 'Sent from' }).locator('tbody tr').allInnerTexts()
  expect(worst.split(/\s+/)).toEqual(['192.0.2.66', '34', '34'])
  await card.getByText('certificate-expired').waitFor()
  await card.getByText('since nobody was proven to be the sender: 1 reports').waitFor()
  await look(page)
  await shoot(page, 'admin-reported')
})
