// Reports that others send about our domains arrive with the postmaster, are read, and summed up; what is none harms nobody.

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { crc32, deflateRawSync, gzipSync } from 'node:zlib'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { now } from '#lib/clock.ts'
import { limits } from '#lib/limits.ts'
import { type DmarcDetail, dmarcReport } from '#mail/made/dmarc-report.ts'
import { composeReportMail } from '#mail/made/report-mail.ts'
import { tlsReport } from '#mail/made/tls-report.ts'
import { readReport } from '#mail/report/arrived.ts'
import { startTeal, type Teal } from '#service'
import { childEnvironment, runTeal } from '../child.ts'
import { Dialogue, deliver } from '../dialogue.ts'
import { type NameServer, startNameServer } from '../net/name-server.ts'
import { accessTo } from '../running.ts'

const dir = mkdtempSync(join(tmpdir(), 'teal-reports-'))
let teal: Teal
const service = accessTo(() => teal)
const today = now() - (now() % limits.time.day)
const from = today - limits.time.day
const to = today - 1000

let dns: NameServer

beforeAll(async () => {
  dns = await startNameServer()
  dns.texts.set('big.example', ['v=spf1 ip4:127.0.0.1 -all'])
  const smtp = { dnsServers: [dns.address], unjudged: [] }
  teal = await startTeal({ dataDir: dir, smtp, dkim: { automatic: false } }, { strict: true })
  await service.user('anna')
})
afterAll(async () => {
  expect(await teal.check()).toEqual([])
  await teal.close()
  await dns.close()
  rmSync(dir, { recursive: true, force: true })
})

const published = { domain: 'Example.com', adkim: 'r', aspf: 'r', p: 'none', sp: 'none' } as const
const detail = (ip: string, dkim: boolean): DmarcDetail => ({
  ...{ published, ip, disposition: 'none', dkim, spf: false, headerFrom: 'example.com', envelopeFrom: 'example.com' },
  signatures: [],
})

function dmarc(reportId: string, domain = 'Example.com'): string {
  const counts = [
    { detail: detail('192.0.2.1', true), count: 90 },
    { detail: detail('192.0.2.66', false), count: 10 },
  ]
  const how = { organization: 'big.example', contact: 'a@big.example', reportId, from, to }
  return dmarcReport({ ...how, published: { ...published, domain }, counts })
}

function tls(reportId: string): string {
  const policy = { kind: 'sts', strings: ['version: STSv1'], hosts: ['mx.example.com'] } as const
  const counts = [
    { detail: { policy }, count: 41 },
    { detail: { policy, flaw: 'certificate-expired', mx: 'mx.example.com', reason: 'x' }, count: 1 },
  ]
  return tlsReport({
    organization: 'big.example',
    contact: 'a@big.example',
    reportId,
    domain: 'example.com',
    from,
    to,
    counts,
  })
}

/** A zip with one file, and an empty one before it where that has a name. */
function zip(data: Buffer, claimed = data.length, before = ''): Buffer {
  const packed = deflateRawSync(data)
  const name = Buffer.from('report.xml')
  const shared = Buffer.alloc(26)
  shared.writeUInt16LE(20, 0)
  shared.writeUInt16LE(8, 4)
  shared.writeUInt32LE(crc32(data), 10)
  shared.writeUInt32LE(packed.length, 14)
  shared.writeUInt32LE(claimed, 18)
  shared.writeUInt16LE(name.length, 22)
  const local = Buffer.concat([Buffer.from('504b0304', 'hex'), shared, name, packed])
  const central = Buffer.concat([Buffer.from('504b01021400', 'hex'), shared, Buffer.alloc(14), name])
  central.writeUInt32LE(0, 42)
  const other = before === '' ? Buffer.alloc(0) : Buffer.concat([Buffer.from('504b0102', 'hex'), Buffer.alloc(42)])
  if (before !== '') other.writeUInt16LE(before.length, 28)
  const directory = Buffer.concat([other, Buffer.from(before), central])
  const end = Buffer.alloc(22)
  end.writeUInt32LE(0x06054b50, 0)
  end.writeUInt16LE(1, 8)
  end.writeUInt16LE(1, 10)
  end.writeUInt32LE(directory.length, 12)
  end.writeUInt32LE(local.length, 16)
  return Buffer.concat([local, directory, end])
}

async function send(
  packed: Buffer,
  kind: 'tls' | 'dmarc',
  address = 'postmaster@example.com',
  sender = 'reports@big.example',
  inForm = false,
): Promise<void> {
  const shape = { from: 'reports@big.example', to: address, domain: 'example.com', submitter: 'big.example' }
  const mail = composeReportMail({
    ...{ ...shape, reportId: 'r', now: now(), words: ['x'], kind, packed },
    filename: `${inForm ? `big.example!example.com!${from}!${to}` : 'a'}.${kind === 'tls' ? 'json' : 'xml'}.gz`,
  })
  const smtp = await Dialogue.open(service.at('smtp'))
  await smtp.reply()
  await smtp.ask('EHLO there.test')
  const [reply = ''] = await deliver(smtp, sender, [address], mail)
  smtp.close()
  expect(reply).toMatch(/^250/)
}

const reports = async (query = '') => (await service.call('GET', `/reports?${query}`)).body.results
const counted = async (result: string) => {
  const text = await (await service.raw('GET', '/metrics')).text()
  return Number(new RegExp(`arrived_reports_total\\{result="${result}"\\} (\\d+)`).exec(text)?.[1] ?? 0)
}

test('they are read, kept once, and summed up', { timeout: 60_000 }, async () => {
  await send(gzipSync(dmarc('one')), 'dmarc')
  await send(zip(Buffer.from(dmarc('two'))), 'dmarc')
  await send(Buffer.from(dmarc('two')), 'dmarc', 'Postmaster+dmarc@Example.com')
  await send(gzipSync(tls('one')), 'tls')
  await send(Buffer.from(tls('two')), 'tls')
  // Nobody else's, and not to anybody.
  await send(gzipSync(dmarc('three', 'elsewhere.test')), 'dmarc')
  await send(gzipSync(dmarc('four')), 'dmarc', 'anna@example.com')
  await expect.poll(() => counted('foreign'), { timeout: 30_000 }).toBe(1)
  await expect.poll(() => counted('dmarc'), { timeout: 30_000 }).toBe(3)
  await expect.poll(() => counted('tls'), { timeout: 30_000 }).toBe(2)
  expect(await reports('kind=dmarc')).toHaveLength(2)
  const [first] = await reports('domain=example.com&kind=tls')
  expect(first).toMatchObject({ kind: 'tls', reporter: 'big.example', total: 42, failed: 1 })
  expect(await reports('domain=elsewhere.test')).toEqual([])
  expect((await service.call('GET', '/reports/summary?domain=Example.com')).body).toMatchObject({
    domain: 'example.com',
    dmarc: {
      ...{ reports: 2, messages: 200, failed: 20 },
      sources: [
        { ip: '192.0.2.66', messages: 20, failed: 20 },
        { ip: '192.0.2.1', messages: 180, failed: 0 },
      ],
    },
    tls: {
      reports: 2,
      sessions: 84,
      failed: 2,
      failures: [{ result: 'certificate-expired', host: 'mx.example.com', sessions: 2 }],
    },
  })
  const { code, out } = await runTeal(['reports', 'example.com'], childEnvironment(dir))
  expect(code).toBe(0)
  expect(out).toMatch(/DMARC: 2 reports, 200 messages, 20 failed\n {2}192\.0\.2\.66 +20 messages, 20 failed/)
})

const nested = (depth: number) => '<a>'.repeat(depth) + '</a>'.repeat(depth)
const bombs: readonly (readonly [string, () => Buffer])[] = [
  ['a gzip of nothing but zeros', () => gzipSync(Buffer.alloc(200 * 1024 * 1024))],
  ['a zip of nothing but zeros that claims to be short', () => zip(Buffer.alloc(100 * 1024 * 1024), 10)],
  [
    'entities that grow',
    () =>
      Buffer.from(
        `<?xml version="1.0"?><!DOCTYPE feedback [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;">]><feedback>&b;</feedback>`,
      ),
  ],
  [
    'a file of this machine',
    () => Buffer.from(`<!DOCTYPE f [<!ENTITY x SYSTEM "file:///etc/passwd">]><feedback>&x;</feedback>`),
  ],
  ['elements without end', () => gzipSync('<feedback>'.repeat(100_000))],
  ['elements in elements', () => gzipSync(nested(10_000))],
  ['JSON in JSON', () => gzipSync('['.repeat(1_000_000))],
  ['a zip without its end', () => zip(Buffer.from(dmarc('x'))).subarray(0, 100)],
  [
    'a zip that points out of itself',
    () => {
      const bytes = zip(Buffer.from(dmarc('x')))
      bytes.writeUInt32LE(0xfffffff0, bytes.length - 6)
      return bytes
    },
  ],
  ['a zip in a zip', () => zip(zip(Buffer.from(dmarc('x'))))],
  ['a gzip in a gzip in a gzip', () => gzipSync(gzipSync(gzipSync(Buffer.alloc(10 * 1024 * 1024))))],
  [
    'one text of many megabytes in letters that stand for others',
    () => gzipSync(`<feedback>${'&#x61;'.repeat(4_000_000)}`),
  ],
  ['a report that is cut off', () => Buffer.from(dmarc('x').slice(0, -20))],
  ['a picture', () => Buffer.from('89504e470d0a1a0a', 'hex')],
  [
    'counts that are none',
    () => Buffer.from('{"organization-name":"x","report-id":"x","policies":{"length":1e9},"date-range":[]}'),
  ],
]

test.each(bombs)('%s is no report', (_, made) => {
  expect(() => readReport(made())).toThrow()
})

/** What others write and pack in other ways than most. */
const odd: readonly (readonly [string, () => Buffer])[] = [
  ['packed twice', () => gzipSync(gzipSync(dmarc('x')))],
  ['packed and in a zip', () => zip(gzipSync(dmarc('x')))],
  ['behind another file in a zip', () => zip(Buffer.from(dmarc('x')), undefined, 'readme.txt')],
  ['in UTF-16', () => Buffer.from(`\ufeff${dmarc('x')}`, 'utf16le')],
  ['behind a mark of its code', () => Buffer.from(`\ufeff${dmarc('x')}`)],
  ['in JSON behind a mark of its code', () => Buffer.from(`\ufeff${tls('x')}`)],
  ['of which the end is filled with zeros', () => Buffer.concat([Buffer.from(dmarc('x')), Buffer.alloc(9)])],
  ['in capital letters', () => Buffer.from(dmarc('x').replaceAll('>pass<', '>Pass<'))],
]

test.each(odd)('a report %s is one', (_, made) => {
  expect(readReport(made())).toMatchObject({ domain: 'example.com', reporter: 'big.example', reportId: 'x' })
  expect(readReport(made()).failed).toBe(made().includes('"organization-name"') ? 1 : 10)
})

test.each([
  ['Müller &amp; Söhne', 'iso-8859-1'],
  ['Müller & Söhne', 'utf-8'],
  ['Müller &#38; S&#xF6;hne', 'utf-8'],
])('who reports is named as he writes himself: %s', (name, charset) => {
  const text = dmarc('x')
    .replace('>big.example<', `>${name}<`)
    .replace(/encoding="[^"]*"/i, `encoding="${charset}"`)
  expect(readReport(Buffer.from(text, charset === 'utf-8' ? 'utf8' : 'latin1')).reporter).toBe('Müller & Söhne')
})

test('numbers and texts of a report are bounded', () => {
  const rows = Array.from({ length: 5000 }, (_, n) => ({ detail: detail(`192.0.2.${n}`, false), count: n + 1 }))
  const long = 'x'.repeat(10_000)
  const shared = { organization: long, contact: '', reportId: '1', from, to, published }
  const found = readReport(gzipSync(dmarcReport({ ...shared, counts: rows })))
  expect(found.rows).toHaveLength(limits.arrivedReport.rowsMax)
  expect(found.rows[0]?.count).toBe(5000)
  expect(found.reporter.length).toBe(limits.arrivedReport.textLengthMax)
  const odd = dmarcReport({ ...shared, organization: 'o', counts: rows.slice(0, 1) }).replace(
    '<count>1<',
    '<count>-1e99<',
  )
  expect(readReport(Buffer.from(odd)).total).toBe(0)
})

test('a bomb is delivered like any mail, and counted as none', { timeout: 60_000 }, async () => {
  const before = await counted('unreadable')
  await send(gzipSync(Buffer.alloc(200 * 1024 * 1024)), 'dmarc')
  await expect.poll(() => counted('unreadable'), { timeout: 30_000 }).toBe(before + 1)
})

test('what nobody was proven to have sent is summed up by itself, and takes the place of nothing that is', {
  timeout: 60_000,
}, async () => {
  const before = (await service.call('GET', '/reports/summary?domain=example.com')).body
  const forged = dmarc('one').replaceAll('192.0.2.1<', '203.0.113.1<')
  await send(gzipSync(Buffer.from(forged)), 'dmarc', undefined, 'mallory@evil.test')
  await send(gzipSync(dmarc('made up')), 'dmarc', undefined, 'mallory@evil.test')
  await expect.poll(() => counted('dmarc-unproven'), { timeout: 30_000 }).toBe(2)
  const { body } = await service.call('GET', '/reports/summary?domain=example.com')
  expect(body.dmarc).toEqual(before.dmarc)
  expect(body.unproven.dmarc).toMatchObject({ reports: 1, messages: 100, failed: 10 })
  expect(JSON.stringify(body)).not.toContain('203.0.113.1')
  const all = await reports('kind=dmarc')
  expect(all.map(({ reportId, proven }: { reportId: string; proven: unknown }) => [reportId, proven]).sort()).toEqual([
    ['made up', false],
    ['one', 'big.example'],
    ['two', 'big.example'],
  ])
  const { out } = await runTeal(['reports', 'example.com'], childEnvironment(dir))
  expect(out).toMatch(/1 more of which nobody was proven to be the sender.*\nDMARC: 1 reports, 100 messages, 10 failed/)
})

test('they are read wherever the records of the domain ask for them, an alias included, and nowhere else', async () => {
  const { body: user } = await service.call('GET', '/users/resolve/anna')
  await service.call('POST', `/users/${user.id}/addresses`, { address: 'dmarc@example.com' })
  await service.call('POST', `/users/${user.id}/addresses`, { address: 'tls@collected.example' })
  dns.texts.set('_dmarc.example.com', ['v=DMARC1; p=none; rua=mailto:else@where.test,mailto:DMARC@example.com!10m'])
  dns.texts.set('_smtp._tls.example.com', ['v=TLSRPTv1; rua=mailto:tls@collected.example'])
  const names = ['dmarc', 'tls', 'unasked']
  const [one = 0, two = 0, three = 0] = await Promise.all(names.map(counted))
  await send(gzipSync(dmarc('named')), 'dmarc', 'dmarc@example.com', undefined, true)
  await send(gzipSync(tls('named')), 'tls', 'tls@collected.example', undefined, true)
  await send(gzipSync(tls('not named')), 'tls', 'dmarc@example.com', undefined, true)
  await expect.poll(() => Promise.all(names.map(counted)), { timeout: 30_000 }).toEqual([one + 1, two + 1, three + 1])
})

test('the address that printed records name is one where they are read', async () => {
  const { out } = await runTeal(['dns', 'example.com', '--json'], childEnvironment(dir))
  const named = [...out.matchAll(/rua=mailto:([^\s";,]+)/g)].map(found => found[1] ?? '')
  expect(named.length).toBeGreaterThan(1)
  const before = await counted('dmarc')
  for (const [at, address] of named.entries()) await send(gzipSync(dmarc(`printed ${at}`)), 'dmarc', address)
  await expect.poll(() => counted('dmarc'), { timeout: 30_000 }).toBe(before + named.length)
})

test('a report that stands within a text counts as one, a letter that speaks of none does not', async () => {
  const part = (type: string, lines: readonly string[], text: string) =>
    ['--b', `Content-Type: ${type}`, ...lines, '', text].join('\r\n')
  const head = (type: string, subject: string) => [
    'From: reports@big.example',
    'To: postmaster@example.com',
    `Subject: ${subject}`,
    `Content-Type: ${type}`,
    '',
    '',
  ]
  const related = [
    head('multipart/related; boundary=b', 'within').join('\r\n'),
    part('text/html', [], '<img src="cid:a">'),
    part(
      'application/gzip; name="a.xml.gz"',
      ['Content-ID: <a>', 'Content-Disposition: inline', 'Content-Transfer-Encoding: base64'],
      gzipSync(dmarc('within')).toString('base64'),
    ),
    '--b--\r\n',
  ].join('\r\n')
  const before = await counted('dmarc')
  const bring = async (text: string) => {
    const smtp = await Dialogue.open(service.at('smtp'))
    await smtp.reply()
    await smtp.ask('EHLO there.test')
    const address = 'postmaster@example.com'
    expect(await deliver(smtp, 'reports@big.example', [address], Buffer.from(text))).toEqual([
      expect.stringMatching(/^250/),
    ])
    smtp.close()
  }
  const noted = () => service.teal.core.read.all<{ id: string }>("SELECT id FROM task WHERE kind = 'report.read'")
  const old = new Set((await noted()).map(({ id }) => id))
  await bring(`${head('text/plain', '"attachments":[{"filename":"a.xml.gz"}]').join('\r\n')}none\r\n`)
  expect((await noted()).filter(({ id }) => !old.has(id))).toEqual([])
  await bring(related)
  await expect.poll(() => counted('dmarc'), { timeout: 30_000 }).toBe(before + 1)
})

test("a report about days to come is none, and stands in nobody's way", { timeout: 60_000 }, async () => {
  const listed = (await reports('days=365')).length
  const names = ['dmarc', 'tls', 'unreadable']
  const [dmarcs = 0, tlss = 0, unreadable = 0] = await Promise.all(names.map(counted))
  const begin = (days: number) => Math.floor(now() / 1000) + days * 86_400
  const later = (days: number) => {
    const range = `<date_range><begin>${begin(days)}</begin><end>${begin(days) + 86_399}</end></date_range>`
    return dmarc(`in ${days} days`).replace(/<date_range>[\s\S]*<\/date_range>/, range)
  }
  await send(gzipSync(later(3)), 'dmarc')
  await send(gzipSync(later(100_000)), 'dmarc')
  await send(gzipSync(tls('in years').replaceAll(/datetime":\s*"\d{4}/g, 'datetime":"2999')), 'tls')
  await send(gzipSync(tls('today')), 'tls')
  await expect
    .poll(() => Promise.all(names.map(counted)), { timeout: 30_000 })
    .toEqual([dmarcs, tlss + 1, unreadable + 3])
  expect(await reports('days=365')).toHaveLength(listed + 1)
})
