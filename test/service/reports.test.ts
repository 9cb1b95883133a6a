// What other domains are told once a day: how TLS with their hosts went (RFC 8460), and mail in their name (DMARC).

import { createHash, generateKeyPairSync, X509Certificate } from 'node:crypto'
import { createServer, type Server } from 'node:https'
import type { AddressInfo } from 'node:net'
import { gunzipSync } from 'node:zlib'
import { dkimVerify } from 'mailauth/lib/dkim/verify.js'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { ReportCounts } from '#actors/sending/report-counts.ts'
import { Reports } from '#jobs/reports/reports.ts'
import { advanceClock, now, sleep } from '#lib/clock.ts'
import { limits } from '#lib/limits.ts'
import { privatePem } from '#lib/secret/private-key.ts'
import { dnsTxt, publicPem, signatures } from '#mail/crypt/dkim.ts'
import { type DmarcDetail, dmarcReport } from '#mail/made/dmarc-report.ts'
import { readXml, type XmlElement } from '#mail/report/xml.ts'
import { Outward } from '#net/outward/outward.ts'
import type { Teal } from '#service'
import type { Reader } from '#store/engine/reader.ts'
import { reportAdd, reportSubjects } from '#store/sending/report.ts'
import { Dialogue, deliver } from '../dialogue.ts'
import { type Sink, type SinkMessage, startSink } from '../jobs/mail-sink.ts'
import { type Authority, openAuthority } from '../net/authority.ts'
import { type NameServer, startNameServer } from '../net/name-server.ts'
import { accessTo, type Body, startOnEngine } from '../running.ts'

let teal: Teal
let dns: NameServer
let ca: Authority
let sink: Sink
let https: Server
let anna = ''
const refused = new Set(['/no', '/later'])
const posted: { path: string; type: string; body: Buffer }[] = []
const service = accessTo(() => teal)
const key = generateKeyPairSync('ed25519').privateKey
const { day } = limits.time
const afterwards = day + limits.report.spreadMs
/** Time of day (UTC) of the first test. */
const beginsAt = 6 * 60 * 60 * 1000

beforeAll(async () => {
  dns = await startNameServer()
  dns.secure.add('test')
  ca = await openAuthority()
  const own = await ca.issue({ names: ['mx.good.test'] })
  sink = await startSink(0, { disabledCommands: ['AUTH'], key: own.key, cert: own.cert })
  https = createServer(await ca.issue({ names: ['reports.test'] }), (request, response) => {
    const chunks: Buffer[] = []
    request.on('data', chunk => chunks.push(chunk))
    request.on('end', () => {
      const type = String(request.headers['content-type'])
      posted.push({ path: request.url ?? '', type, body: Buffer.concat(chunks) })
      response.writeHead(refused.has(request.url ?? '') ? 500 : 200).end()
    })
  })
  await new Promise<void>(resolve => https.listen(0, '127.0.0.1', () => resolve()))
  const smtp = { unjudged: [], dnsServers: [dns.address] }
  teal = await startOnEngine(
    {
      smtp,
      mail: { defaultDomain: 'ours.test' },
      outbound: { port: sink.port },
      network: { allowPrivate: ['127.0.0.0/8'], dnsServers: [dns.address] },
      dkim: { automatic: false },
    },
    { strict: true },
  )
  // What is waited for until a day is over must not depend on when the tests run.
  advanceClock((day + beginsAt - (now() % day)) % day)
  anna = await service.user('anna')
  const leaf = new X509Certificate(own.cert).raw
  for (const name of [
    'good.test',
    'bad.test',
    'plain.test',
    'elsewhere.test',
    'willing.test',
    'trying.test',
    'sly.test',
  ]) {
    dns.records.set(`MX ${name}`, [`10 mx.${name}`])
    dns.records.set(`A mx.${name}`, ['127.0.0.1'])
  }
  const tlsa = (data: Buffer) => `030001${createHash('sha256').update(data).digest('hex')}`
  dns.records.set(`TLSA _${sink.port}._tcp.mx.good.test`, [tlsa(leaf)])
  dns.records.set(`TLSA _${sink.port}._tcp.mx.bad.test`, [tlsa(Buffer.from('other'))])
})
afterAll(async () => {
  expect(await teal.check()).toEqual([])
  await teal.close()
  await sink.close()
  await dns.close()
  https.close()
})

async function submit(to: string): Promise<void> {
  const form = { to: [{ address: to }], subject: 'x', text: 'x' }
  const id = (await service.call('POST', `/users/${anna}/submit`, form)).body.message.queueId
  const steps = async () => (await service.call('GET', `/outbound/trace/${id}`)).body.results[0].steps.length
  await expect.poll(steps, { timeout: 15_000 }).toBeGreaterThan(1)
}

const counted = (domain: string) => async () =>
  await teal.core.read.all<{ count: number }>('SELECT count FROM report_count WHERE domain = ?', domain)

async function reportTo(address: string): Promise<SinkMessage> {
  const find = () => sink.messages.find(({ to }) => to.includes(address))
  await expect.poll(find, { timeout: 20_000 }).toBeDefined()
  return find() as SinkMessage
}

function unpacked(raw: string): string {
  const [, base64 = ''] = /Content-Disposition: attachment.*?\r\n\r\n(.*?)\r\n--/s.exec(raw) ?? []
  return gunzipSync(Buffer.from(base64, 'base64')).toString()
}

test('a domain is told how sessions with its hosts went, signed, whatever is wrong with its TLS', async () => {
  const made = (await service.call('POST', '/dkim', { domain: 'ours.test', selector: 'own' })).body
  dns.texts.set(made.dnsTxt.name, [made.dnsTxt.value])
  dns.texts.set('_smtp._tls.good.test', ['v=TLSRPTv1; rua=mailto:tls@good.test'])
  // Mail to one that cannot be reached would wait.
  dns.texts.set('_smtp._tls.bad.test', ['v=TLSRPTv1;rua=mailto:tls@elsewhere.test'])
  await submit('a@good.test')
  await submit('a@bad.test')
  await submit('a@plain.test')
  await expect.poll(counted('bad.test'), { timeout: 10_000 }).toEqual([{ count: 1 }])
  const today = new Date(now()).toISOString().slice(0, 10)
  advanceClock(afterwards)
  const good = await reportTo('tls@good.test')
  const bad = await reportTo('tls@elsewhere.test')
  expect(good).toMatchObject({ from: '' })
  const told = JSON.parse(unpacked(good.raw))
  expect(told).toMatchObject({
    'organization-name': 'ours.test',
    'contact-info': 'postmaster@ours.test',
    'date-range': { 'start-datetime': `${today}T00:00:00Z`, 'end-datetime': `${today}T23:59:59Z` },
    policies: [
      {
        policy: { 'policy-type': 'tlsa', 'policy-domain': 'good.test' },
        summary: { 'total-successful-session-count': 1, 'total-failure-session-count': 0 },
      },
    ],
  })
  expect(told.policies[0].policy['policy-string'][0]).toMatch(/^3 0 1 [0-9A-F]{64}$/)
  const [policy] = JSON.parse(unpacked(bad.raw)).policies
  expect(policy.summary).toEqual({ 'total-successful-session-count': 0, 'total-failure-session-count': 1 })
  expect(policy['failure-details']).toEqual([
    expect.objectContaining({
      'result-type': 'validation-failure',
      'receiving-mx-hostname': 'mx.bad.test',
      'receiving-ip': '127.0.0.1',
      'sending-mta-ip': '127.0.0.1',
      'failed-session-count': 1,
    }),
  ])
  expect(good.raw).toMatch(/\r\nTLS-Report-Domain: good\.test\r\nTLS-Report-Submitter: ours\.test\r\n/)
  expect(good.raw).toMatch(/Content-Type: multipart\/report; report-type="tlsrpt"/)
  const resolver = async (name: string) => [[...(dns.texts.get(name) ?? [])]]
  const { results } = await dkimVerify(Buffer.from(good.raw), { resolver: resolver as never })
  expect(results.map(({ status }) => status.result)).toEqual(['pass'])
  // Who asks for nothing is told nothing, and nothing is told twice.
  const rows = () => teal.core.read.all('SELECT domain FROM report_count WHERE day < ?', now() - day)
  await expect.poll(rows, { timeout: 20_000 }).toEqual([])
  expect(sink.messages.filter(({ to }) => /^tls@/.test(to[0] ?? ''))).toHaveLength(2)
  // Counted is what is done with, so that rows may be gone before.
  const text = async () => (await service.raw('GET', '/metrics')).text()
  await expect.poll(text).toMatch(/reports_total\{kind="tls",result="unwanted"\} 1/)
  expect(await text()).toMatch(/reports_total\{kind="tls",result="sent"\} 2/)
})

test('a domain is told of mail in its name, by those it names and that agree', async () => {
  const { name, value } = dnsTxt('good.test', 's1', publicPem(key))
  dns.texts.set(name, [value])
  dns.texts.set('good.test', ['v=spf1 -all'])
  const named = [
    'dmarc@good.test',
    'nobody@elsewhere.test',
    'yes@willing.test!10m',
    'small@good.test!5',
    'sly@sly.test',
  ]
  const rua = [...named, 'who@gone.test'].map(one => `mailto:${one}`)
  dns.texts.set('_dmarc.good.test', [`v=DMARC1; p=quarantine; rua=${rua.join(',')}`])
  // Who agrees may want it elsewhere with himself, and sends it to nobody else.
  const instead = 'mailto:there@willing.test!10m, mailto:victim@plain.test'
  dns.texts.set('good.test._report._dmarc.willing.test', [`v=DMARC1; rua=${instead}`])
  // One whose name server is gone keeps it from nobody.
  dns.bogus.add('good.test._report._dmarc.gone.test')
  // Who names nobody but others in his place agrees to nothing.
  dns.texts.set('trying.test._report._dmarc.sly.test', ['v=DMARC1; rua=mailto:victim@plain.test'])
  // A domain that only tries its policy, and a signer beyond ASCII.
  dns.texts.set('_dmarc.trying.test', ['v=DMARC1; p=quarantine; t=y; rua=mailto:sly@sly.test,mailto:dmarc@trying.test'])
  const odd = 'DKIM-Signature: v=1; a=rsa-sha256; d=b\u00fccher.test; s=x; h=from; bh=AAAA; b=AAAA\r\n'
  const send = async (sender: string, signs: boolean, author = 'a@good.test') => {
    const plain = Buffer.from(
      `${author === 'a@good.test' ? '' : odd}From: ${author}\r\nTo: anna@example.com\r\nSubject: x\r\nMessage-ID: <${Math.random()}@t>\r\n\r\nHi\r\n`,
    )
    const head = signs
      ? await signatures(plain, [{ domain: 'good.test', selector: 's1', privateKey: privatePem(key) }])
      : ''
    const smtp = await Dialogue.open(service.at('smtp'))
    await smtp.reply()
    await smtp.ask('EHLO there.test')
    const [reply = ''] = await deliver(smtp, sender, ['anna@example.com'], Buffer.concat([Buffer.from(head), plain]))
    smtp.close()
    expect(reply).toMatch(/^250/)
  }
  for (let n = 0; n < 3; n++) await send('x@evil.test', false)
  await send('x@elsewhere.test', true)
  await send('x@trying.test', false, 'a@trying.test')
  const total = () => teal.core.read.all<{ n: number }>("SELECT sum(count) AS n FROM report_count WHERE kind = 'dmarc'")
  await expect.poll(total, { timeout: 10_000 }).toEqual([{ n: 5 }])
  advanceClock(afterwards + limits.report.agreementMs)
  const report = await reportTo('dmarc@good.test')
  await reportTo('there@willing.test')
  const xml = unpacked(report.raw)
  expect(report.raw).toMatch(
    /^Subject: Report Domain: good\.test\r\n Submitter: ours\.test\r\n Report-ID: <[0-9a-f]+>\r\n/m,
  )
  expect(xml).toMatch(
    /<policy_published>\s*<domain>good\.test<\/domain>\s*<adkim>r<\/adkim>\s*<aspf>r<\/aspf>\s*<p>quarantine<\/p>/,
  )
  expect(xml).toMatch(
    /<source_ip>127\.0\.0\.1<\/source_ip>\s*<count>3<\/count>\s*<policy_evaluated>\s*<disposition>quarantine<\/disposition>\s*<dkim>fail<\/dkim>\s*<spf>fail<\/spf>/,
  )
  expect(xml).toMatch(/<count>1<\/count>\s*<policy_evaluated>\s*<disposition>none<\/disposition>\s*<dkim>pass<\/dkim>/)
  expect(xml).toMatch(/<envelope_from>evil\.test<\/envelope_from>/)
  expect(xml).not.toContain('<domain></domain>')
  const tried = unpacked((await reportTo('dmarc@trying.test')).raw)
  expect(tried).toMatch(/<disposition>none<\/disposition>[^!]*<reason>\s*<type>policy_test_mode<\/type>/)
  expect(tried).toMatch(/<domain>xn--bcher-kva\.test<\/domain>\s*<selector>x<\/selector>/)
  expect(xml).toMatch(/<dkim>\s*<domain>good\.test<\/domain>\s*<selector>s1<\/selector>\s*<result>pass<\/result>/)
  expect(dns.asked).toContain('TXT good.test._report._dmarc.elsewhere.test')
  await expect.poll(total, { timeout: 10_000 }).toEqual([{ n: null }])
  const wrote = sink.messages.flatMap(({ to }) => to).filter(to => /^(?!tls@|[ax]@)/.test(to))
  expect(wrote.sort()).toEqual(['dmarc@good.test', 'dmarc@trying.test', 'there@willing.test'])
})

test('where a domain wants it over HTTPS it is posted, and tried again until it is too old', async () => {
  const { read, jobWriter: writer, sequence, bodies, log, metrics } = teal.core
  const base = `https://reports.test:${(https.address() as AddressInfo).port}`
  const texts: Record<string, string> = {
    'taken.test': `${base}/yes`,
    'refusing.test': `${base}/no`,
    'both.test': `mailto:tls@both.test,${base}/yes/both,${base}/later`,
  }
  const failing = new Set(['later.test'])
  const resolveTxt = async (name: string) => {
    const domain = name.replace('_smtp._tls.', '')
    if (failing.has(domain)) throw Object.assign(new Error('no'), { code: 'ESERVFAIL' })
    return [[`v=TLSRPTv1; rua=${texts[domain] ?? ''}`]]
  }
  const days = now() - (now() % day) - day
  const detail = JSON.stringify({ policy: { kind: 'sts', strings: ['version: STSv1'], hosts: ['*.taken.test'] } })
  const rows = [...Object.keys(texts), 'later.test'].map(domain => ({
    kind: 'tls' as const,
    day: days,
    domain,
    detail,
    count: 7,
  }))
  const outward = new Outward({ allowPrivate: ['127.0.0.0/8'], resolve: async () => ['127.0.0.1'] })
  // The service's own loop would take them, too.
  const held = await startOnEngine({ reports: { tls: false, dmarc: false } })
  await held.core.jobWriter.write(reportAdd, { rows, rowsMax: 10 })
  const options = {
    read: held.core.read,
    writer: held.core.jobWriter,
    sequence: held.core.sequence,
    bodies: held.core.bodies,
  }
  const reports = new Reports({
    ...{ read, writer, sequence, bodies, log, metrics, outward, resolveTxt, ca: ca.cert },
    ...options,
    ...{ kinds: ['tls'], domain: 'ours.test', signs: async () => true, kick: () => {} },
  })
  const left = async () => (await reportSubjects(held.core.read, 'tls', now(), 10)).map(({ domain }) => domain)
  reports.kick()
  advanceClock(limits.report.spreadMs)
  await expect.poll(left, { timeout: 15_000 }).toEqual(['both.test', 'later.test', 'refusing.test'])
  const taken = posted.find(({ path }) => path === '/yes')
  expect(taken?.type).toBe('application/tlsrpt+gzip')
  const [policy] = JSON.parse(gunzipSync(taken?.body ?? Buffer.alloc(0)).toString()).policies
  expect(policy.policy).toMatchObject({ 'policy-type': 'sts', 'mx-host': ['*.taken.test'] })
  expect(policy.summary['total-successful-session-count']).toBe(7)
  // Who does not take it now gets it later, those who have it no second time, and mail goes with it.
  const queued = async () => (await held.core.read.all('SELECT value FROM outbound_target')).length
  expect(await queued()).toBe(0)
  failing.clear()
  refused.delete('/later')
  advanceClock(limits.report.retryMs)
  await expect.poll(left, { timeout: 15_000 }).toEqual(['refusing.test'])
  expect(posted.map(({ path }) => path).filter(path => /both|later/.test(path))).toEqual([
    '/yes/both',
    '/later',
    '/later',
  ])
  expect(await queued()).toBe(1)
  advanceClock(limits.report.keepMs)
  await expect.poll(left, { timeout: 15_000 }).toEqual([])
  await reports.close()
  expect(await held.check()).toEqual([])
  await held.close()
})

test('of many domains that are told together none is told twice', async () => {
  const { log, metrics } = teal.core
  const base = `https://reports.test:${(https.address() as AddressInfo).port}`
  const resolveTxt = async (name: string) => [[`v=TLSRPTv1; rua=${base}/many/${name.replace('_smtp._tls.', '')}`]]
  const rows = Array.from({ length: 60 }, (_, n) => ({
    kind: 'tls' as const,
    day: now() - (now() % day) - day,
    domain: `d${n}.test`,
    detail: JSON.stringify({ policy: { kind: 'none', strings: [], hosts: [] } }),
    count: 1,
  }))
  const outward = new Outward({ allowPrivate: ['127.0.0.0/8'], resolve: async () => ['127.0.0.1'] })
  const held = await startOnEngine({ reports: { tls: false, dmarc: false } })
  const { jobWriter: writer, sequence, bodies } = held.core
  // What was read is known a while later, as on a busy database: some of it is told meanwhile.
  const read: Reader = new Proxy(held.core.read, {
    get(target, name) {
      const value = Reflect.get(target, name) as unknown
      if (typeof value !== 'function') return value
      return async (...given: unknown[]) => {
        const found = (await Reflect.apply(value, target, given)) as unknown
        if (String(given[0]).includes('DISTINCT')) await sleep(30)
        return found
      }
    },
  })
  await writer.write(reportAdd, { rows, rowsMax: 10 })
  const reports = new Reports({
    ...{ read, writer, sequence, bodies, log, metrics, outward, resolveTxt, ca: ca.cert },
    ...{ kinds: ['tls'], domain: 'ours.test', signs: async () => true, kick: () => {} },
  })
  advanceClock(limits.report.spreadMs)
  reports.kick()
  await expect.poll(() => reportSubjects(read, 'tls', now(), 100), { timeout: 15_000 }).toEqual([])
  await reports.close()
  const told = posted.map(({ path }) => path).filter(path => path.startsWith('/many/'))
  expect(told.toSorted()).toEqual(rows.map(({ domain }) => `/many/${domain}`).toSorted())
  expect(await held.check()).toEqual([])
  await held.close()
})

test('what strangers make to be counted has its bounds', async () => {
  const held = await startOnEngine({ reports: { tls: false, dmarc: false } })
  const counts = new ReportCounts(held.core.system, held.core.log)
  const { rowsMax, domainsMax, detailLengthMax } = limits.report
  for (let n = 0; n < rowsMax + 50; n++) counts.add('dmarc', 'one.test', { n })
  counts.add('dmarc', 'one.test', { long: 'x'.repeat(detailLengthMax) })
  await counts.flush()
  for (let n = 0; n < rowsMax; n++) counts.add('dmarc', 'one.test', { n })
  await counts.flush()
  const sums = () => held.core.read.all<Body>('SELECT count(*) AS n, sum(count) AS total FROM report_count')
  expect(await sums()).toEqual([{ n: rowsMax + 1, total: 2 * rowsMax + 50 }])
  for (let n = 0; n < domainsMax + 10; n++) {
    counts.add('dmarc', `d${n}.test`, {})
    if (n % 1000 === 0) await counts.flush()
  }
  await counts.flush()
  expect(await held.core.read.all('SELECT DISTINCT domain FROM report_count')).toHaveLength(domainsMax)
  await held.close()
})

test('a report about mail has what its schema knows, and nothing else (RFC 9990 appendix A)', () => {
  const published = { domain: 'a.test', adkim: 'r', aspf: 's', p: 'reject', sp: 'none', np: 'reject' } as const
  const detail: DmarcDetail = {
    ...{
      published,
      ip: '192.0.2.1',
      disposition: 'none',
      dkim: false,
      spf: true,
      headerFrom: 'a.test',
      envelopeFrom: '',
    },
    signatures: [{ domain: 'a.test', selector: 's', result: 'fail' }],
    host: { domain: 'h.a.test', result: 'pass' },
    reason: { type: 'other', comment: 'y' },
  }
  const shared = { organization: 'o', contact: 'c', reportId: 'r', from: 0, to: 1000 }
  const xml = dmarcReport({ ...shared, published, counts: [{ detail, count: 1 }] })
  expect(xml).toContain('<feedback xmlns="urn:ietf:params:xml:ns:dmarc-2.0">')
  const root = readXml(xml)
  const named = (one: XmlElement): unknown =>
    one.children.length === 0 ? one.text : Object.fromEntries(one.children.map(each => [each.name, named(each)]))
  expect(named(root)).toEqual({
    version: '1.0',
    report_metadata: { org_name: 'o', email: 'c', report_id: 'r', date_range: { begin: '0', end: '1' } },
    policy_published: { ...published, testing: 'n', discovery_method: 'treewalk' },
    record: {
      row: {
        ...{ source_ip: '192.0.2.1', count: '1' },
        policy_evaluated: {
          ...{ disposition: 'none', dkim: 'fail', spf: 'pass' },
          reason: { type: 'other', comment: 'y' },
        },
      },
      identifiers: { envelope_from: '', header_from: 'a.test' },
      auth_results: {
        dkim: { domain: 'a.test', selector: 's', result: 'fail' },
        spf: { domain: 'h.a.test', scope: 'mfrom', result: 'pass' },
      },
    },
  })
})

test('text of strangers stays text in XML', () => {
  const published = { domain: 'a', adkim: 'r', aspf: 'r', p: 'none', sp: 'none' } as const
  const detail: DmarcDetail = {
    ...{
      published,
      ip: '::1',
      disposition: 'none',
      dkim: false,
      spf: false,
      headerFrom: 'a\u0000\u001b\ud800]]>&<b a="\'">',
    },
    ...{ envelopeFrom: '', signatures: [] },
  }
  const shared = { organization: 'o', contact: 'c', reportId: 'r', from: 0, to: 1000 }
  const xml = dmarcReport({ ...shared, published, counts: [{ detail, count: 1 }] })
  expect(xml).toContain('<header_from>a\ufffd]]&gt;&amp;&lt;b a=&quot;&apos;&quot;&gt;</header_from>')
})
