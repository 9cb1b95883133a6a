// The mark that a domain shows beside its mail (BIMI): looked up, fetched, proven by a certificate, kept, and shown over HTTP.

import { createHash } from 'node:crypto'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type Server } from 'node:https'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import 'reflect-metadata'
import * as x509 from '@peculiar/x509'
import * as asn1 from 'asn1js'
import { dkimSign } from 'mailauth/lib/dkim/sign.js'
import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest'
import { now } from '#lib/clock.ts'
import { limits } from '#lib/limits.ts'
import { privatePem } from '#lib/secret/private-key.ts'
import { dnsTxt, makeSigningKey, publicPem } from '#mail/crypt/dkim.ts'
import { startTeal, type Teal } from '#service'
import { Dialogue, deliver } from '../dialogue.ts'
import { openSubscriber, until } from '../jobs/outbox.ts'
import { type Authority, openAuthority } from '../net/authority.ts'
import { type NameServer, startNameServer } from '../net/name-server.ts'
import { accessTo, type Body } from '../running.ts'

const dir = mkdtempSync(join(tmpdir(), 'teal-marks-'))
const svg = (text: string) =>
  `<svg version="1.2" baseProfile="tiny-ps" xmlns="http://www.w3.org/2000/svg" viewBox="0 0 9 9"><title>${text}</title><path d="M0 0h9v9z"/></svg>`
const picture = svg('Us')
const imageOf = (text: string) => `data:image/svg+xml;base64,${Buffer.from(text).toString('base64')}`

let dns: NameServer
let teal: Teal
let https: Server
let authority: Authority
let stranger: Authority
let anna = ''
const service = accessTo(() => teal)
/** By path: what is answered; a function answers by itself. */
const served = new Map<
  string,
  string | { status: number; location: string } | ((end: (text: string) => void) => void)
>()
const fetched: string[] = []

async function open(): Promise<Teal> {
  return startTeal(
    {
      dataDir: join(dir, 'data'),
      hostname: 'mx.example.com',
      smtp: {
        ...{ dnsServers: [dns.address], unjudged: [] },
        ...{ bimiCa: join(dir, 'web.pem'), bimiAuthorities: join(dir, 'marks.pem') },
      },
      network: { allowPrivate: ['127.0.0.0/8'], dnsServers: [dns.address] },
      dkim: { automatic: false },
    },
    { strict: true },
  )
}

beforeAll(async () => {
  dns = await startNameServer()
  const web = await openAuthority('Web')
  authority = await openAuthority('Marks')
  stranger = await openAuthority('Marks')
  writeFileSync(join(dir, 'web.pem'), web.cert)
  writeFileSync(join(dir, 'marks.pem'), authority.cert)
  https = createServer(await web.issue({ names: ['logo.test'] }), (request, response) => {
    const path = request.url ?? ''
    fetched.push(path)
    const found = served.get(path)
    if (typeof found === 'function') found(text => response.end(text))
    else if (typeof found === 'string') response.end(found)
    else response.writeHead(found?.status ?? 404, { location: found?.location ?? '' }).end(picture)
  })
  await new Promise<void>(resolve => https.listen(0, '127.0.0.1', () => resolve()))
  dns.records.set('A logo.test', ['127.0.0.1'])
  teal = await open()
  anna = await service.user('anna')
  await warm()
})
afterAll(async () => {
  expect(await teal.check()).toEqual([])
  await teal.close()
  https.closeAllConnections()
  https.close()
  await dns.close()
  rmSync(dir, { recursive: true, force: true })
})
beforeEach(() => {
  fetched.length = 0
})

const urlOf = (path: string) => `https://logo.test:${(https.address() as AddressInfo).port}${path}`

let count = 0

interface Asserted {
  readonly l?: string
  readonly a?: string
  readonly policy?: string
  readonly selector?: string
}

/** A domain of its own that asserts a mark. */
function domainWith({ l = urlOf('/mark.svg'), a = '', policy = 'v=DMARC1; p=reject', ...more }: Asserted): string {
  count += 1
  const domain = `d${count}.test`
  dns.texts.set(domain, ['v=spf1 ip4:127.0.0.1 -all'])
  dns.texts.set(`_dmarc.${domain}`, [policy])
  dns.texts.set(`${more.selector ?? 'default'}._bimi.${domain}`, [`v=BIMI1; l=${l}; a=${a}`])
  return domain
}

async function send(
  domain: string,
  lines: readonly string[] = [],
  sign?: (plain: Buffer<ArrayBuffer>) => Promise<Buffer<ArrayBuffer>>,
) {
  count += 1
  const head = [`From: us@${domain}`, `Message-ID: <m${count}@t>`, 'Subject: x', ...lines, '', 'Hello', '']
  const plain = Buffer.from(head.join('\r\n'))
  const smtp = await Dialogue.open(service.at('smtp'))
  await smtp.reply()
  await smtp.ask('EHLO there.test')
  const [reply] = await deliver(
    smtp,
    `us@${domain}`,
    ['anna@example.com'],
    sign === undefined ? plain : await sign(plain),
  )
  smtp.close()
  expect(reply).toMatch(/^250/)
  return newest()
}

async function newest(): Promise<Body> {
  const { body } = await service.call('GET', `/users/${anna}/mailboxes/resolve?path=INBOX`)
  const messages = `/users/${anna}/mailboxes/${body.id}/messages`
  const [row] = (await service.call('GET', messages)).body.results
  expect(row.messageId).toBe(`<m${count}@t>`)
  const source = await (await service.raw('GET', `${messages}/${row.id}/message.eml`)).text()
  return { ...(await service.call('GET', `${messages}/${row.id}`)).body, source }
}

interface Evidence {
  readonly by?: Authority
  readonly shown?: string
  readonly usage?: string
  readonly names?: readonly string[]
  readonly expires?: number
  /** What the certificate says of the hash, instead of that of the picture. */
  readonly digest?: Buffer
}

const oids = { mark: '1.3.6.1.5.5.7.3.31', server: '1.3.6.1.5.5.7.3.1', logotype: '1.3.6.1.5.5.7.1.12' }

/** LogotypeExtn (RFC 3709): the subject's, direct, one picture in it. */
function logotype(text: string, digest: Uint8Array = createHash('sha256').update(text).digest()): x509.Extension {
  const sequence = (...value: asn1.AsnType[]) => new asn1.Sequence({ value: value as never })
  const tagged = (tagNumber: number, value: asn1.AsnType) =>
    new asn1.Constructed({ idBlock: { tagClass: 3, tagNumber }, value: [value as never] })
  const place = `data:image/svg+xml;base64,${gzipSync(text).toString('base64')}`
  const details = sequence(
    new asn1.IA5String({ value: 'image/svg+xml' }),
    sequence(
      sequence(
        sequence(new asn1.ObjectIdentifier({ value: '2.16.840.1.101.3.4.2.1' })),
        new asn1.OctetString({ valueHex: Uint8Array.from(digest).buffer }),
      ),
    ),
    sequence(new asn1.IA5String({ value: place })),
  )
  const data = new asn1.Constructed({
    idBlock: { tagClass: 3, tagNumber: 0 },
    value: [sequence(sequence(details)) as never],
  })
  return new x509.Extension(oids.logotype, false, sequence(tagged(2, data)).toBER())
}

async function evidence(domain: string, { by = authority, shown = picture, ...more }: Evidence): Promise<string> {
  const { names = [domain], usage = oids.mark, expires = now() + limits.time.day, digest } = more
  const extensions = [new x509.ExtendedKeyUsageExtension([usage]), logotype(shown, digest)]
  return (await by.issue({ commonName: 'Us', names, expires, extensions })).cert
}

/** Has the thread for marks up with what it loads: a message waits for it no longer than for a slow host. */
async function warm(): Promise<void> {
  const name = `/warm${count}`
  const domain = domainWith({ l: urlOf(`${name}.svg`), a: urlOf(`${name}.pem`) })
  served.set(`${name}.svg`, picture)
  served.set(`${name}.pem`, await evidence(domain, {}))
  await vi.waitFor(async () => expect((await send(domain)).bimi).toMatchObject({ certified: true }), {
    timeout: 40_000,
  })
}

test('a domain without evidence has one that is not certified; it is fetched once, after a restart, too', async () => {
  served.set('/mark.svg', picture)
  const domain = domainWith({})
  const wanted = { certified: false, url: urlOf('/mark.svg'), image: imageOf(picture) }
  expect((await send(domain)).bimi).toEqual(wanted)
  expect((await send(domain)).bimi).toEqual(wanted)
  await teal.close()
  teal = await open()
  const { bimi, source } = await send(domain)
  expect(bimi).toEqual(wanted)
  expect(source).toMatch(/;\r\n\tbimi=pass /)
  expect(fetched).toEqual(['/mark.svg'])
  await warm()
})

test('a certificate of an authority that is believed certifies it', async () => {
  served.set('/proven.svg', picture)
  const domain = domainWith({ l: urlOf('/proven.svg'), a: urlOf('/proven.pem') })
  const below = await authority.delegate('Marks below')
  served.set('/proven.pem', `${await evidence(domain, { by: below })}${below.cert}\n`)
  const { bimi, mailbox, id } = await send(domain)
  expect(bimi).toEqual({ certified: true, url: urlOf('/proven.svg'), image: imageOf(picture), type: 'VMC' })
  const subscriber = await openSubscriber()
  await service.call('POST', '/webhooks', { type: ['marked.spam'], url: subscriber.url })
  const junk = (await service.call('GET', `/users/${anna}/mailboxes/resolve?path=Junk`)).body.id
  const moved = { message: String(id), moveTo: junk }
  expect((await service.call('PUT', `/users/${anna}/mailboxes/${mailbox}/messages`, moved)).status).toBe(200)
  await until('the event', () => subscriber.calls.length > 0)
  expect(subscriber.calls[0]?.body.bimi).toEqual(bimi)
  await subscriber.close()
})

const unproven: Readonly<Record<string, (domain: string) => Promise<string>>> = {
  'of an authority that nobody believes': domain => evidence(domain, { by: stranger }),
  'that ended': domain => evidence(domain, { expires: now() - limits.time.hour }),
  'of another domain': domain => evidence(domain, { names: ['bank.test'] }),
  'of a name that only looks like it': domain => evidence(domain, { names: [`x${domain}`, domain.slice(1)] }),
  'of a web server': domain => evidence(domain, { usage: oids.server }),
  'with another picture': domain => evidence(domain, { shown: svg('Bank') }),
  'with another hash': domain => evidence(domain, { digest: Buffer.alloc(32) }),
  'that is none': async () => 'nonsense',
  'that names an issuer who did not sign': async domain =>
    `${await evidence(domain, { by: stranger })}${authority.cert}\n`,
}

test.each(Object.entries(unproven))('a certificate %s proves nothing, and no mark is shown', async (name, make) => {
  const path = `/${encodeURIComponent(name)}`
  served.set('/mark.svg', picture)
  const domain = domainWith({ a: urlOf(path) })
  served.set(path, await make(domain))
  const { bimi, verificationResults } = await send(domain)
  expect(bimi).toBeUndefined()
  expect(verificationResults.dmarc.domain).toBe(domain)
  expect(fetched).toContain(path)
})

describe('there is none', () => {
  test.each(['v=DMARC1; p=none', 'v=DMARC1; p=reject; sp=none', 'v=DMARC1; p=quarantine; pct=20'])(
    'without a policy that is enforced: %s',
    async policy => {
      expect((await send(domainWith({ policy }))).bimi).toBeUndefined()
      expect(fetched).toEqual([])
    },
  )

  test.each([
    ['that is not there', '/missing.svg', undefined],
    ['with a script', '/script.svg', picture.replace('<path', '<script/><path')],
    ['of another kind', '/full.svg', picture.replace('baseProfile="tiny-ps" ', '')],
    ['that is too large', '/large.svg', picture.replace('Us', 'Us'.repeat(limits.bimi.indicatorBytesMax / 2))],
    ['elsewhere', '/moved.svg', { status: 302, location: '/mark.svg' }],
  ])('for a picture %s', async (_, path, answer) => {
    if (answer !== undefined) served.set(path, answer)
    expect((await send(domainWith({ l: urlOf(path) }))).bimi).toBeUndefined()
    expect(fetched).toEqual([path])
  })

  test.each([
    'https://10.0.0.1/x.svg',
    'https://[::1]/x.svg',
    'http://logo.test/x.svg',
    'https://u:p@logo.test/x.svg',
    '',
  ])('where it lies behind no public HTTPS: "%s"', async l => {
    expect((await send(domainWith({ l }))).bimi).toBeUndefined()
    expect(fetched).toEqual([])
  })
})

test('a host that is slow holds up no mail; the mark is there for what comes when it answered', async () => {
  let answer = (_: string) => {}
  served.set('/slow.svg', end => {
    answer = end
  })
  const domain = domainWith({ l: urlOf('/slow.svg') })
  expect((await send(domain)).bimi).toBeUndefined()
  answer(picture)
  let shown: unknown
  for (let tries = 0; shown === undefined && tries < 20; tries++) shown = (await send(domain)).bimi
  expect(shown).toMatchObject({ certified: false, image: imageOf(picture) })
  expect(fetched).toEqual(['/slow.svg'])
})

test('a selector counts where the author signed it, and what others say of marks is cut out', async () => {
  served.set('/other.svg', svg('Other'))
  const domain = domainWith({ l: urlOf('/other.svg'), selector: 'v2' })
  const key = await makeSigningKey()
  const record = dnsTxt(domain, 's', publicPem(key))
  dns.texts.set(record.name, [record.value])
  const lines = [
    'BIMI-Selector: v=BIMI1; s=v2',
    'BIMI-Indicator: AAAA',
    'BIMI-Location: v=BIMI1; l=https://bank.test/x.svg',
  ]
  const unsigned = await send(domain, lines)
  expect(unsigned.bimi).toBeUndefined()
  expect(unsigned.source).not.toMatch(/^BIMI-(?:Indicator|Location)/m)
  const signing = (headerList: string) => async (plain: Buffer) => {
    const given = { signingDomain: domain, selector: 's', privateKey: privatePem(key), headerList }
    const { signatures } = await dkimSign(plain, { signatureData: [given] } as never)
    return Buffer.concat([Buffer.from(signatures), plain])
  }
  expect((await send(domain, lines, signing('from:subject'))).bimi).toBeUndefined()
  const { bimi } = await send(domain, lines, signing('from:subject:bimi-selector'))
  expect(bimi).toMatchObject({ certified: false, image: imageOf(svg('Other')) })
})

test('what was fetched is counted', async () => {
  const text = await (await service.raw('GET', '/metrics')).text()
  for (const result of ['asserted', 'refused'])
    expect(text).toMatch(new RegExp(`marks_total\\{result="${result}"\\} [1-9]`))
})
