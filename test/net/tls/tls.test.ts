// The certificate a service makes for itself, and which certificate a client gets.

import { generateKeyPairSync, type KeyObject, X509Certificate } from 'node:crypto'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { shiftClock } from '#lib/clock.ts'
import { Fault } from '#lib/fault.ts'
import { limits } from '#lib/limits.ts'
import type { Connection } from '#net/connection.ts'
import { type Listener, listen } from '#net/listener.ts'
import { selfSigned } from '#net/tls/self-signed.ts'
import { TlsStore, type TlsVersion } from '#net/tls/tls.ts'
import { openAuthority } from '../authority.ts'
import { Wire } from '../wire.ts'

let folder: string
let listener: Listener | undefined

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'teal-tls-'))
})

afterEach(async () => {
  shiftClock(0)
  await listener?.close()
  listener = undefined
  rmSync(folder, { recursive: true, force: true })
})

/** Starts a listener that says one line over TLS, and stays as long as is said. */
async function serve(
  tls: TlsStore,
  stays = async (_: Connection): Promise<void> => {},
): Promise<{ host: string; port: number }> {
  listener = await listen({
    host: '127.0.0.1',
    port: 0,
    tls,
    implicitTls: true,
    sessionsMax: 10,
    sessionsPerNetworkMax: 10,
    idleMs: 5000,
    drainMs: 100,
    busy: '',
    serve: async connection => {
      const { protocol = '', servername = '' } = connection.tls ?? {}
      connection.write(`${protocol} ${servername}\r\n`)
      await stays(connection)
    },
    onError: error => {
      throw error
    },
  })
  return listener.address
}

async function nameFor(at: { host: string; port: number }, servername?: string): Promise<string> {
  const wire = await Wire.openTls(at, servername === undefined ? {} : { servername })
  const { CN } = wire.tls.getPeerCertificate().subject
  wire.close()
  return String(CN)
}

describe('self-signed', () => {
  test('is made once, for the host name and loopback, with a key for its owner alone', async () => {
    const pair = await selfSigned(folder, 'mx.teal.test')
    const certificate = new X509Certificate(pair.cert)
    expect(['mx.teal.test', 'localhost'].map(name => certificate.checkHost(name))).toEqual([
      'mx.teal.test',
      'localhost',
    ])
    expect(['127.0.0.1', '::1'].map(ip => certificate.checkIP(ip))).toEqual(['127.0.0.1', '::1'])
    expect(certificate.checkHost('other.test')).toBeUndefined()
    expect(certificate.publicKey.asymmetricKeyDetails?.namedCurve).toBe('prime256v1')
    expect(certificate.verify(certificate.publicKey)).toBe(true)
    const years = (certificate.validToDate.getTime() - Date.now()) / limits.time.day / 365
    expect(years).toBeGreaterThan(9.9)
    expect(statSync(join(folder, 'tls', 'self-signed.key')).mode & 0o777).toBe(0o600)
    expect(await selfSigned(folder, 'mx.teal.test')).toEqual(pair)
  })

  test('is made anew for another host name, near its end, and where its files are torn', async () => {
    const first = await selfSigned(folder, 'mx.teal.test')
    const second = await selfSigned(folder, 'mail.teal.test')
    expect(second.cert).not.toBe(first.cert)
    writeFileSync(join(folder, 'tls', 'self-signed.key'), first.key)
    const third = await selfSigned(folder, 'mail.teal.test')
    expect([first.key, second.key]).not.toContain(third.key)
    writeFileSync(join(folder, 'tls', 'self-signed.crt'), 'rubbish')
    const fourth = await selfSigned(folder, 'mail.teal.test')
    expect(readFileSync(join(folder, 'tls', 'self-signed.crt'), 'utf8')).toBe(fourth.cert)
    shiftClock(3640 * limits.time.day)
    expect((await selfSigned(folder, 'mail.teal.test')).cert).not.toBe(fourth.cert)
  })

  test('a host name too long for a common name still works', async () => {
    const name = `${'a'.repeat(60)}.${'b'.repeat(60)}.test`
    expect(new X509Certificate((await selfSigned(folder, name)).cert).checkHost(name)).toBe(name)
  })
})

describe('a connection', () => {
  const line = async (connection: Connection) => void (await connection.line().catch(() => {}))

  test.each(['TLSv1.2', 'TLSv1.3'] as const)('over %s in which a record cannot be read ends', async maxVersion => {
    const at = await serve(new TlsStore(await selfSigned(folder, 'mx.teal.test')), line)
    const socket = connect(at.port, at.host)
    const wire = await Wire.openTls(at, { socket, maxVersion })
    await wire.line()
    const closed = once(socket, 'close')
    wire.tls.on('error', () => {})
    socket.write(Buffer.concat([Buffer.from([23, 3, 3, 0, 32]), Buffer.alloc(32)]))
    await closed
    await vi.waitFor(() => expect(listener?.sessions).toBe(0))
  })

  test('has one handshake', async () => {
    const at = await serve(new TlsStore(await selfSigned(folder, 'mx.teal.test')), line)
    const wire = await Wire.openTls(at, { maxVersion: 'TLSv1.2' })
    await wire.line()
    const failed = new Promise(resolve => wire.tls.once('error', resolve))
    const again = new Promise(resolve => wire.tls.renegotiate({}, resolve))
    expect(await Promise.race([failed, again])).toMatchObject({ code: 'ERR_SSL_NO_RENEGOTIATION' })
    wire.close()
  })
})

describe('the store', () => {
  const own = (name: string) => selfSigned(join(folder, name), name)

  test('gives each name its certificate, wildcards too, and the default to the rest', async () => {
    const tls = new TlsStore(await own('default.test'))
    for (const [name, of] of [
      ['a.teal.test', 'a.teal.test'],
      ['*.Wild.test', 'wild.test'],
    ] as const) {
      const pair = await own(of)
      tls.update(name, pair.key, pair.cert)
    }
    const at = await serve(tls)
    expect(await nameFor(at)).toBe('default.test')
    expect(await nameFor(at, 'a.teal.test')).toBe('a.teal.test')
    expect(await nameFor(at, 'X.wild.test')).toBe('wild.test')
    expect(await nameFor(at, 'x.y.wild.test')).toBe('default.test')
    expect(await nameFor(at, 'wild.test')).toBe('default.test')
    tls.remove('A.teal.test')
    expect(await nameFor(at, 'a.teal.test')).toBe('default.test')
    expect(tls.pair('x.wild.test').cert).toBe((await own('wild.test')).cert)
  })

  test('gives a name its certificate whatever kinds of key it and the default have', async () => {
    const root = await openAuthority()
    const keys = {
      ec: generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey,
      ed: generateKeyPairSync('ed25519').privateKey,
      rsa: generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey,
    }
    const pair = (name: string, key: KeyObject) => root.issue({ commonName: name, names: [name], key })
    const seen: string[] = []
    for (const [own, key] of Object.entries(keys)) {
      const tls = new TlsStore(await pair(`default-${own}`, key))
      for (const [kind, other] of Object.entries(keys)) {
        const { key, cert } = await pair(`${kind}.test`, other)
        tls.update(`${kind}.test`, key, cert)
      }
      const at = await serve(tls)
      for (const maxVersion of ['TLSv1.2', 'TLSv1.3'] as const) {
        for (const servername of ['ec.test', 'ed.test', 'rsa.test', 'other.test']) {
          const wire = await Wire.openTls(at, { servername, maxVersion })
          seen.push(`${own} ${maxVersion} ${servername}: ${wire.tls.getPeerCertificate().subject.CN}`)
          wire.close()
        }
      }
      await listener?.close()
    }
    const wanted = Object.keys(keys).flatMap(own =>
      ['TLSv1.2', 'TLSv1.3'].flatMap(version => [
        ...['ec.test', 'ed.test', 'rsa.test'].map(name => `${own} ${version} ${name}: ${name}`),
        `${own} ${version} other.test: default-${own}`,
      ]),
    )
    expect(seen).toEqual(wanted)
  })

  test('replaces a certificate while listening; a bad one changes nothing', async () => {
    const first = await own('first.test')
    const second = await own('second.test')
    const tls = new TlsStore(first)
    const at = await serve(tls)
    tls.update('', second.key, second.cert)
    expect(await nameFor(at)).toBe('second.test')
    const bad: [key: string, cert: string][] = [
      [first.key, second.cert],
      ['', second.cert],
      [second.key, 'rubbish'],
    ]
    for (const [key, cert] of bad) {
      const update = () => tls.update('', key, cert)
      expect(update).toThrow(Fault)
      expect(update).toThrow(expect.objectContaining({ code: 'CertificateInvalid' }))
    }
    expect(await nameFor(at)).toBe('second.test')
  })

  test.each([
    ['TLSv1.1', 'TLSv1.2', false],
    ['TLSv1.2', 'TLSv1.2', true],
    ['TLSv1.2', 'TLSv1.3', false],
    ['TLSv1.3', 'TLSv1.3', true],
  ] as const)('a client of %s against a minimum of %s', async (version, minimum: TlsVersion, works) => {
    const at = await serve(new TlsStore(await own('a.test'), minimum))
    const ciphers = 'DEFAULT:@SECLEVEL=0'
    const opened = Wire.openTls(at, { minVersion: version, maxVersion: version, servername: 'a.test', ciphers })
    if (!works) return expect(opened).rejects.toThrow()
    expect(await (await opened).line()).toBe(`${version} a.test`)
  })
})
