// Mail to hosts with TLSA records that DNS proves (DANE): to those that are named, and to nobody who stands in for them.

import { createHash, X509Certificate } from 'node:crypto'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { now } from '#lib/clock.ts'
import { limits } from '#lib/limits.ts'
import { Names } from '#net/outward/names.ts'
import { proveChain, usableTlsa } from '#net/tls/dane.ts'
import { startTeal, type Teal } from '#service'
import { stsPolicyPut } from '#store/sending/sts-policy.ts'
import { type Authority, type Issued, openAuthority } from '../../net/authority.ts'
import { type NameServer, startNameServer } from '../../net/name-server.ts'
import { accessTo, type Body } from '../../running.ts'
import { type Sink, startSink } from '../mail-sink.ts'

let teal: Teal
let dns: NameServer
let ca: Authority
let own: Issued
let sink: Sink
let bare: Sink
let anna = ''
const service = accessTo(() => teal)

const der = (pem: string) => new X509Certificate(pem).raw
const key = (pem: string) => new X509Certificate(pem).publicKey.export({ type: 'spki', format: 'der' })
const hex = (usage: number, selector: number, matching: number, data: Buffer) =>
  Buffer.concat([Buffer.from([usage, selector, matching]), data]).toString('hex')
const sha256 = (data: Buffer) => createHash('sha256').update(data).digest()
const sha512 = (data: Buffer) => createHash('sha512').update(data).digest()

beforeAll(async () => {
  dns = await startNameServer()
  ca = await openAuthority()
  own = await ca.issue({ names: ['mx.right.test'] })
  const cert = `${own.cert}${ca.cert}`
  sink = await startSink(0, { disabledCommands: ['AUTH'], key: own.key, cert })
  bare = await startSink(sink.port, { disabledCommands: ['AUTH', 'STARTTLS'] }, '127.0.0.2')
  teal = await startTeal({
    outbound: { port: sink.port },
    network: { allowPrivate: ['127.0.0.0/8'], dnsServers: [dns.address] },
    dkim: { automatic: false },
  })
  await teal.core.settings.apply('const:sender:defer_times', '1h')
  anna = await service.user('anna')
})
afterAll(async () => {
  expect(await teal.check()).toEqual([])
  await teal.close()
  await sink.close()
  await bare.close()
  await dns.close()
})
beforeEach(() => {
  dns.secure.clear()
  dns.secure.add('test')
})

/** A domain with one host, proven unless told otherwise. */
function domain(name: string, tlsa: readonly string[], address = '127.0.0.1', host = `mx.${name}`): string {
  dns.records.set(`MX ${name}`, [`10 ${host}`])
  dns.records.set(`A ${host}`, [address])
  if (tlsa.length > 0) dns.records.set(`TLSA _${sink.port}._tcp.${host}`, tlsa)
  return name
}

/** The first step after it was queued. */
async function send(to: string): Promise<Body> {
  const form = { to: [{ address: `a@${to}` }], subject: 'x', text: 'x' }
  const id = (await service.call('POST', `/users/${anna}/submit`, form)).body.message.queueId
  const step = async () => (await service.call('GET', `/outbound/trace/${id}`)).body.results[0].steps[1]
  await expect.poll(step, { timeout: 15_000 }).toBeDefined()
  return step()
}

const delivered = { step: 'delivered', security: 'dane' }
const kept = (response: RegExp) => ({ step: 'retry', failure: 'tls', response: expect.stringMatching(response) })
const unproven = kept(/4\.7\.5 validation-failure/)

describe('a host is proven by', () => {
  test.each<[string, () => string[]]>([
    ['its key', () => [hex(3, 1, 1, sha256(key(own.cert)))]],
    ['its certificate, whatever its names', () => [hex(3, 0, 1, sha256(der(own.cert)))]],
    ['a longer digest', () => [hex(3, 1, 2, sha512(key(own.cert)))]],
    ['all of its certificate', () => [hex(3, 0, 0, der(own.cert))]],
    ['one of several records', () => [hex(3, 1, 1, sha256(Buffer.from('old'))), hex(3, 1, 1, sha256(key(own.cert)))]],
  ])('%s', async (name, records) => {
    const at = name.replace(/\W+/g, '-')
    expect(await send(domain(`${at}.test`, records()))).toMatchObject(delivered)
  })

  test('its issuer, where its certificate has its name', async () => {
    const issuer = [hex(2, 0, 1, sha256(der(ca.cert)))]
    expect(await send(domain('right.test', issuer))).toMatchObject(delivered)
    expect(await send(domain('wrong.test', issuer))).toMatchObject(kept(/4\.7\.5 certificate-host-mismatch/))
    expect(
      await send(domain('keyed.test', [hex(2, 1, 1, sha256(key(ca.cert)))], '127.0.0.1', 'mx.right.test')),
    ).toMatchObject(delivered)
  })
})

describe('mail stays here where', () => {
  test('another certificate is shown, or no TLS is spoken', async () => {
    const other = [hex(3, 1, 1, sha256(Buffer.from('other')))]
    const at = sink.messages.length + bare.messages.length
    expect(await send(domain('other.test', other))).toMatchObject({ ...unproven, host: 'mx.other.test' })
    const records = [hex(3, 1, 1, sha256(key(own.cert)))]
    expect(await send(domain('bare.test', records, '127.0.0.2'))).toMatchObject({ step: 'retry', failure: 'tls' })
    expect(await send(domain('unusable.test', [hex(0, 0, 1, sha256(der(own.cert)))], '127.0.0.2'))).toMatchObject({
      step: 'retry',
      failure: 'tls',
    })
    expect(sink.messages.length + bare.messages.length).toBe(at)
  })

  test('records cannot be looked up, or the resolver was lied to', async () => {
    domain('lied.test', [])
    dns.bogus.add(`TLSA _${sink.port}._tcp.mx.lied.test`)
    expect(await send('lied.test')).toMatchObject(kept(/4\.7\.5 TLSA records of mx\.lied\.test could not be looked up/))
    domain('forged.test', [])
    dns.bogus.add('MX forged.test')
    expect(await send('forged.test')).toMatchObject({ step: 'retry', failure: 'unresolved' })
  })

  test('but goes to the next host of the domain that is proven', async () => {
    domain('two.test', [], '127.0.0.2', 'first.two.test')
    dns.bogus.add(`TLSA _${sink.port}._tcp.first.two.test`)
    dns.records.set('MX two.test', ['10 first.two.test', '20 second.two.test'])
    dns.records.set('A second.two.test', ['127.0.0.1'])
    dns.records.set(`TLSA _${sink.port}._tcp.second.two.test`, [hex(3, 1, 1, sha256(key(own.cert)))])
    expect(await send('two.test')).toMatchObject({ ...delivered, host: 'second.two.test' })
  })
})

describe('records count only where all of the way to them is proven', () => {
  const wrong = () => [hex(3, 1, 1, sha256(Buffer.from('other')))]

  test('not of a domain whose hosts are not', async () => {
    dns.secure.clear()
    dns.secure.add('mx.insecure.test')
    expect(await send(domain('insecure.test', wrong()))).toMatchObject({ step: 'delivered', security: 'encrypted' })
    expect(dns.asked).not.toContain(`TLSA _${sink.port}._tcp.mx.insecure.test`)
  })

  test('not of a host whose address is not, of which nobody asks', async () => {
    dns.secure.clear()
    dns.secure.add('half.test')
    expect(await send(domain('half.test', wrong(), '127.0.0.1', 'mx.elsewhere.org'))).toMatchObject({
      step: 'delivered',
      security: 'encrypted',
    })
    expect(dns.asked).not.toContain(`TLSA _${sink.port}._tcp.mx.elsewhere.org`)
  })

  test('not what cannot prove anything: then it is encrypted and no more', async () => {
    expect(await send(domain('pkix.test', [hex(1, 0, 1, sha256(Buffer.from('x')))]))).toMatchObject({
      step: 'delivered',
      security: 'encrypted',
    })
  })

  test('and a host without any is sent to as ever', async () => {
    expect(await send(domain('none.test', []))).toMatchObject({ step: 'delivered', security: 'encrypted' })
    expect(await send(domain('plain.test', [], '127.0.0.2'))).toMatchObject({ step: 'delivered', security: 'plain' })
  })

  test('where a host is an alias, those of the name it stands for, or else its own', async () => {
    dns.records.set('MX alias.test', ['10 mx.alias.test'])
    dns.records.set('CNAME mx.alias.test', ['real.alias.test'])
    dns.records.set('A real.alias.test', ['127.0.0.1'])
    dns.records.set(`TLSA _${sink.port}._tcp.mx.alias.test`, wrong())
    dns.records.set(`TLSA _${sink.port}._tcp.real.alias.test`, [hex(3, 1, 1, sha256(key(own.cert)))])
    expect(await send('alias.test')).toMatchObject(delivered)
    dns.records.set('MX outside.test', ['10 mx.outside.test'])
    dns.records.set('CNAME mx.outside.test', ['real.outside.org'])
    dns.records.set('A real.outside.org', ['127.0.0.1'])
    dns.records.set(`TLSA _${sink.port}._tcp.mx.outside.test`, wrong())
    expect(await send('outside.test')).toMatchObject(unproven)
  })
})

test('DANE goes before MTA-STS, and both are counted', async () => {
  const row = {
    id: '1',
    mode: 'enforce' as const,
    mx: ['nobody.test'],
    fetched: now(),
    expires: now() + limits.time.day,
  }
  const named = { ...row, mx: ['mx.named.test'] }
  for (const name of ['both.test', 'sts.test', 'pkix-sts.test'])
    await teal.core.writer.write(stsPolicyPut, { domain: name, ...row })
  await teal.core.writer.write(stsPolicyPut, { domain: 'named.test', ...named })
  expect(await send(domain('both.test', [hex(3, 1, 1, sha256(key(own.cert)))]))).toMatchObject(delivered)
  expect(await send(domain('sts.test', []))).toMatchObject(kept(/MTA-STS/))
  // Records that can prove nothing take nothing away from what the policy asks for.
  const useless = [hex(1, 0, 1, sha256(der(own.cert)))]
  expect(await send(domain('pkix-sts.test', useless))).toMatchObject(kept(/MTA-STS/))
  expect(await send(domain('named.test', useless))).toMatchObject(kept(/4\.7\.5 certificate-not-trusted/))
  const text = await (await service.raw('GET', '/metrics')).text()
  expect(text).toMatch(/outbound_policies_total\{mode="dane"\} [1-9]/)
})

describe('answers of name servers', () => {
  const ask = () => new Names([dns.address]).ask

  test('are asked for over TCP where they are long', async () => {
    dns.records.set(
      'MX long.test',
      Array.from({ length: 100 }, (_, n) => `${n} mx${n}.long.test`),
    )
    dns.long.add('long.test')
    const { records, secure } = await ask()('Long.test.', 'MX')
    expect([records.length, secure]).toEqual([100, true])
    expect(records[7]).toMatchObject({ target: 'mx7.long.test' })
  })

  test('come from those, too, who know questions of old alone', async () => {
    const old: Record<string, (query: Buffer) => Buffer> = {
      // Bytes 10 and 11 count what stands behind the question: of today there is something.
      'formerr.old.test': query =>
        Buffer.from([...query.subarray(0, 2), 0x81, 0x81, 0, 1, 0, 0, 0, 0, 0, 0, ...query.subarray(12, -11)]),
      'bare.old.test': query => Buffer.from([...query.subarray(0, 2), 0x81, 0x81, 0, 0, 0, 0, 0, 0, 0, 0]),
      'notimp.old.test': query =>
        Buffer.from([...query.subarray(0, 2), 0x81, 0x84, 0, 1, 0, 0, 0, 0, 0, 0, ...query.subarray(12, -11)]),
    }
    for (const [name, shape] of Object.entries(old)) {
      dns.records.set(`MX ${name}`, [`10 mx.${name}`])
      dns.odd.set(name, query => (query[11] === 0 ? undefined : shape(query)))
    }
    const found = await Promise.all(Object.keys(old).map(name => ask()(name, 'MX')))
    expect(found.map(({ records }) => records.map(({ target }) => target))).toEqual(
      Object.keys(old).map(name => [`mx.${name}`]),
    )
    expect(found.map(({ secure }) => secure)).toEqual([true, true, true])
  })

  test('for another question, in circles or cut off are none', { timeout: 60_000 }, async () => {
    const shapes: Record<string, (query: Buffer) => Buffer> = {
      'id.odd.test': query =>
        Buffer.concat([Buffer.from([query[0] ?? 0, (query[1] ?? 0) ^ 1, 0x81, 0xa0]), query.subarray(4)]),
      'question.odd.test': query => query,
      'circle.odd.test': asked => {
        const query = asked.subarray(0, asked.length - 11)
        const answer = Buffer.concat([
          query,
          Buffer.from([0xc0, query.length, 0, 1, 0, 1, 0, 0, 0, 1, 0, 4, 127, 0, 0, 1]),
        ])
        answer.writeUInt16BE(0x81a0, 2)
        answer.writeUInt16BE(1, 6)
        return answer
      },
      'short.odd.test': () => Buffer.alloc(3),
    }
    for (const [name, shape] of Object.entries(shapes)) dns.odd.set(name, shape)
    // On the way somebody lets go by what is newer than he.
    dns.odd.set('dropped.old.test', query => (query[11] === 0 ? undefined : Buffer.alloc(0)))
    dns.records.set('A dropped.old.test', ['127.0.0.1'])
    const late = ask()('dropped.old.test', 'A')
    const found = await Promise.allSettled(Object.keys(shapes).map(name => ask()(name, 'A')))
    expect((await late).records).toHaveLength(1)
    expect(found.map(({ status }) => status)).toEqual(['rejected', 'rejected', 'rejected', 'rejected'])
  })

  test('are none where the name is none, or nobody is there', async () => {
    dns.records.set('A a.test', ['127.0.0.1'])
    expect((await ask()('a.test', 'A')).secure).toBe(true)
    expect((await ask()('missing.test', 'A')).exists).toBe(false)
    await expect(ask()(`${'x'.repeat(64)}.test`, 'A')).rejects.toThrow('EBADNAME')
    await expect(new Names(['127.0.0.1:1']).ask('a.test', 'A')).rejects.toThrow('ETIMEOUT')
  })
})

test('chains are proven by the letter', async () => {
  const below = await ca.delegate('Between')
  const leaf = await below.issue({ names: ['mx.deep.test'] })
  const expired = await ca.issue({ names: ['mx.deep.test'], expires: now() - 1000 })
  const chain = [leaf.cert, below.cert, ca.cert].map(der)
  const record = (text: string) => usableTlsa(Buffer.from(text, 'hex')) ?? expect.fail('unusable')
  const names = ['mx.deep.test']
  const root = record(hex(2, 0, 1, sha256(der(ca.cert))))
  expect(proveChain([root], chain, names, now())).toBeUndefined()
  expect(proveChain([root], chain, ['mx.other.test'], now())).toBe('certificate-host-mismatch')
  expect(proveChain([root], [leaf.cert, ca.cert].map(der), names, now())).toBe('validation-failure')
  expect(proveChain([root], [expired.cert, ca.cert].map(der), names, now())).toBe('certificate-expired')
  expect(proveChain([record(hex(3, 0, 1, sha256(der(expired.cert))))], [der(expired.cert)], [], now())).toBeUndefined()
  // One that a record carries whole need not be shown.
  expect(proveChain([record(hex(2, 0, 0, der(ca.cert)))], chain.slice(0, 2), names, now())).toBeUndefined()
  // Somebody else's leaf in front of the right issuer.
  const stranger = await (await openAuthority('Test root')).issue({ names })
  expect(proveChain([root], [stranger.cert, ca.cert].map(der), names, now())).toBe('validation-failure')
  expect(proveChain([root], [], names, now())).toBe('validation-failure')
  expect(proveChain([root], [Buffer.from('no certificate')], names, now())).toBe('validation-failure')
  for (const text of [
    '',
    '03',
    '030101',
    '030101aa',
    `030201${'aa'.repeat(32)}`,
    `030103${'aa'.repeat(32)}`,
    `000101${'aa'.repeat(32)}`,
  ])
    expect(usableTlsa(Buffer.from(text, 'hex'))).toBeUndefined()
})
