// `teal setup` from nothing to a service that takes mail, twice, broken off, and with all that may stand in its way; `teal doctor`
// of what it made, and of ten set-ups that are broken on purpose.

import { once } from 'node:events'
import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { type AddressInfo, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { lookAtQueue } from '#cli/inspect/running.ts'
import { type Child, runTeal, startChild } from '../child.ts'
import { openAuthority } from '../net/authority.ts'
import type { Body } from '../running.ts'
import { type Machine, publish, startMachine } from './machine.ts'

const root = mkdtempSync(join(tmpdir(), 'teal-setup-'))
const env = { PATH: process.env.PATH ?? '' }
const names = ['smtp', 'submission', 'submissions', 'imaps', 'pop3s', 'web', 'api']
const free = names.map(name => `${name}.port=0`)
const local = ['smtp', 'submission', 'submissions', 'imaps', 'pop3s', 'web'].map(name => `${name}.host=127.0.0.1`)
const set = ['--set', ...free, ...local, 'log.level=warn', 'smtp.unjudged=']
let machine: Machine

beforeAll(async () => {
  machine = await startMachine()
  machine.dns.records.set('A mail.example.org', ['127.0.0.1'])
  machine.dns.records.set('PTR 1.0.0.127.in-addr.arpa', ['mail.example.org'])
})

afterAll(async () => {
  await machine.close()
  rmSync(root, { recursive: true, force: true })
})

function setup(folder: string, ...more: string[]) {
  const place = ['--config', join(root, folder, 'etc', 'teal.toml'), '--data-dir', join(root, folder, 'data')]
  return runTeal(['setup', 'example.org', '--yes', ...place, ...machine.asked, ...more, ...set], env)
}

function doctor(folder: string, ...more: string[]) {
  const config = ['--config', join(root, folder, 'etc', 'teal.toml')]
  return runTeal(['doctor', ...config, ...machine.asked, '--json', ...more], env)
}

/** What a doctor found, by its lines. */
function findings(out: string): Body[] {
  return out
    .split('\n')
    .filter(line => line !== '')
    .map(line => JSON.parse(line))
}

describe('setup', () => {
  test('writes the configuration, makes the account and the keys, and tells the records', async () => {
    const { code, out, err } = await setup('first', '--json')
    expect([code, err]).toEqual([0, ''])
    const made = JSON.parse(out)
    expect(made).toMatchObject({ hostname: 'mail.example.org', account: { address: 'admin@example.org', made: true } })
    expect(made.account.password).toMatch(/^\S{10,}$/)
    const kinds = made.records.map(({ name, type }: Body) => `${type} ${name}`)
    for (const wanted of ['MX example.org', 'TXT example.org', 'TXT _dmarc.example.org', 'TXT _mta-sts.example.org']) {
      expect(kinds).toContain(wanted)
    }
    expect(made.records.filter(({ name }: Body) => name.includes('_domainkey'))).toHaveLength(2)
    expect(made.missing).toContain('example.org MX')
    const file = readFileSync(join(root, 'first', 'etc', 'teal.toml'), 'utf8')
    expect(file).toContain("hostname = 'mail.example.org'")
    expect(file).not.toContain(made.account.password)
    const config = ['--config', join(root, 'first', 'etc', 'teal.toml')]
    expect(await runTeal(['config', 'check', ...config], env)).toMatchObject({ code: 0 })
    expect(await runTeal(['user', 'show', 'admin@example.org', ...config, '--json'], env)).toMatchObject({ code: 0 })
  })

  test('goes on where it was: again, and for a further domain', async () => {
    const file = join(root, 'first', 'etc', 'teal.toml')
    const changed = `${readFileSync(file, 'utf8')}\n# mine\n`
    writeFileSync(file, changed)
    const again = await setup('first', '--json')
    expect([again.code, again.err]).toEqual([0, ''])
    expect(JSON.parse(again.out).account).toMatchObject({ made: false })
    expect(JSON.parse(again.out).account).not.toHaveProperty('password')
    expect(JSON.parse(again.out).records.filter(({ name }: Body) => name.includes('_domainkey'))).toHaveLength(2)
    expect(readFileSync(file, 'utf8')).toBe(changed)
    const words = ['setup', 'second.example', '--config', file, '--json', ...machine.asked]
    const second = await runTeal(words, env)
    expect([second.code, second.err]).toEqual([0, ''])
    expect(JSON.parse(second.out)).toMatchObject({ hostname: 'mail.example.org', account: { made: true } })
    const { out } = await runTeal(['domain', 'list', '--config', file, '--json'], env)
    const domains = out
      .trim()
      .split('\n')
      .map(line => JSON.parse(line))
    expect(domains.map(({ name }) => name)).toEqual(['example.org', 'second.example'])
    for (const { created, users } of domains) expect([created, users]).toEqual([expect.any(String), 1])
  })

  test('has certificates fetched for the names of a further domain', async () => {
    const acme = ['tls.acme.http=127.0.0.1:0', 'tls.acme.directory=http://127.0.0.1:9/']
    const file = join(root, 'fetching', 'etc', 'teal.toml')
    const place = ['--config', file, '--data-dir', join(root, 'fetching', 'data')]
    const words = ['setup', 'example.org', '--acme', '--json', ...place, ...machine.asked, ...set, ...acme]
    expect(await runTeal(words, env)).toMatchObject({ code: 0, err: '' })
    for (const _ of ['once', 'again']) {
      const further = ['setup', 'second.example', '--config', file, '--json', ...machine.asked]
      expect(await runTeal(further, env)).toMatchObject({ code: 0, err: '' })
      const { out } = await runTeal(['cert', 'list', '--config', file, '--json'], env)
      const known = out
        .trim()
        .split('\n')
        .map(line => JSON.parse(line))
      expect(known.map(({ servername, acme }) => [servername, acme])).toEqual([
        ['autoconfig.second.example', true],
        ['autodiscover.second.example', true],
        ['mta-sts.second.example', true],
      ])
    }
  })

  test('was broken off after the configuration: the rest is made', async () => {
    rmSync(join(root, 'fetching', 'data'), { recursive: true })
    const { code, out } = await setup('fetching', '--json')
    expect([code, JSON.parse(out).account.made]).toEqual([0, true])
  })

  test('with a second factor gives its seed and a password for mail programs', async () => {
    const { code, out } = await setup('factor', '--second-factor', '--json')
    expect(code).toBe(0)
    const { account } = JSON.parse(out)
    expect(account).toMatchObject({ seed: expect.stringMatching(/^[A-Z2-7]{32}$/), mailPassword: expect.any(String) })
  })

  test('by root gives the data to the user of the service, who can read the settings; nobody else names another', async () => {
    if (process.getuid?.() !== 0) {
      const { code, err } = await setup('root', '--json', '--user', 'nobody')
      expect([code, err]).toEqual([1, expect.stringContaining('Only root may name another user')])
      return
    }
    mkdirSync(join(root, 'root'))
    // The folder of the test is closed to everybody else.
    for (const folder of [root, join(root, 'root')]) chmodSync(folder, 0o755)
    for (const made of [true, false]) {
      const { code, out, err } = await setup('root', '--json', '--user', 'nobody')
      expect([code, err]).toEqual([0, ''])
      expect(JSON.parse(out).account.made).toBe(made)
      const data = join(root, 'root', 'data')
      const uids = ['', ...readdirSync(data, { recursive: true })].map(name => lstatSync(join(data, String(name))).uid)
      expect(new Set(uids)).toEqual(new Set([65_534]))
      const { mode, uid, gid } = lstatSync(join(root, 'root', 'etc', 'teal.toml'))
      expect([mode & 0o777, uid, gid]).toEqual([0o640, 0, 65_534])
      expect(lstatSync(join(root, 'root', 'etc')).mode & 0o777).toBe(0o755)
    }
  })

  test('prints a zone file and what is left for people', async () => {
    const { code, out } = await setup('people')
    expect(code).toBe(0)
    expect(out).toMatch(/^example\.org\. +3600 IN MX +10 mail\.example\.org\. +; not set$/m)
    expect(out).toContain('What is left:')
    expect(out).toMatch(/its password: \S+/)
  })

  test('waits for the records and says what is there by then', async () => {
    const waiting = setup('waiting', '--wait', '0.02')
    expect((await waiting).code).toBe(1)
    const { out } = await setup('waiting', '--json')
    publish(machine.dns, JSON.parse(out).records)
    const { code, out: after } = await setup('waiting', '--wait', '0.02', '--json')
    expect([code, JSON.parse(after).missing]).toEqual([0, []])
    for (const { name, type } of JSON.parse(out).records) {
      if (type === 'A' || type === 'AAAA') continue
      machine.dns.texts.delete(name)
      machine.dns.records.delete(`${type} ${name}`)
    }
  })
})

describe('what is in the way is one sentence, and nothing is changed', () => {
  async function refused(folder: string, said: RegExp, ...more: string[]) {
    const before = existsSync(join(root, folder)) ? readdirSync(join(root, folder), { recursive: true }) : undefined
    const { code, err } = await setup(folder, ...more)
    expect([code, err]).toEqual([1, expect.stringMatching(said)])
    expect(err).toContain('Nothing was changed.')
    expect(err).not.toContain('should not have happened')
    const after = existsSync(join(root, folder)) ? readdirSync(join(root, folder), { recursive: true }) : undefined
    expect(after).toEqual(before)
  }

  test('a port in use', async () => {
    const server = createServer().listen(0, '127.0.0.1')
    await once(server, 'listening')
    const { port } = server.address() as AddressInfo
    const words = ['--set', `api.port=${port}`]
    const place = ['--config', join(root, 'port', 'teal.toml'), '--data-dir', join(root, 'port', 'data')]
    const rest = set.slice(1).filter(pair => !pair.startsWith('api.port'))
    const all = ['setup', 'example.org', '--yes', ...place, ...machine.asked, ...words, ...rest]
    const { code, err } = await runTeal(all, env)
    expect([code, err]).toEqual([
      1,
      expect.stringMatching(new RegExp(`^teal: Port ${port} is taken by another program`)),
    ])
    expect(existsSync(join(root, 'port'))).toBe(false)
    server.close()
  })

  test('a resolver that is gone, or lies', async () => {
    machine.dns.silent.add('invalid')
    await refused('gone', /^teal: No DNS server answers/)
    machine.dns.silent.delete('invalid')
    const lying = await startMachine({ lies: true })
    const place = ['--config', join(root, 'lies', 'teal.toml'), '--data-dir', join(root, 'lies', 'data')]
    const { code, err } = await runTeal(['setup', 'example.org', '--yes', ...place, ...lying.asked, ...set], env)
    expect([code, err]).toEqual([1, expect.stringMatching(/^teal: The DNS server lies: .*\n?Nothing was changed/s)])
    expect(existsSync(join(root, 'lies'))).toBe(false)
    await lying.close()
  })

  test('a folder with other things, a configuration of others, a name that is none', async () => {
    mkdirSync(join(root, 'others', 'data'), { recursive: true })
    writeFileSync(join(root, 'others', 'data', 'holiday.jpg'), 'x')
    await refused('others', /holds other things \(holiday\.jpg\): name a folder of its own/)
    mkdirSync(join(root, 'config', 'etc'), { recursive: true })
    writeFileSync(join(root, 'config', 'etc', 'teal.toml'), 'hostname = "x.example"\n')
    await refused('config', /was not written by a set-up/)
    const { code, err } = await runTeal(['setup', 'localhost', '--yes'], env)
    expect([code, err]).toEqual([1, 'teal: localhost is no domain, such as example.org.\n'])
  })

  test('a configuration of an earlier run for another name', async () => {
    const { code, err } = await setup('first', '--hostname', 'mx.example.net')
    expect([code, err]).toEqual([1, expect.stringMatching(/is for mail\.example\.org .*change it there/)])
  })

  test('no rights', async () => {
    mkdirSync(join(root, 'rights'), { mode: 0o555 })
    const place = ['--config', join(root, 'rights', 'teal.toml'), '--data-dir', join(root, 'rights', 'data')]
    // Root may write everywhere.
    const nobody = process.getuid?.() === 0 ? ['setpriv', '--reuid=65534', '--regid=65534', '--clear-groups'] : []
    const words = ['setup', 'example.org', '--yes', ...place, ...machine.asked, ...set]
    const { code, err } = await runTeal(words, env, nobody)
    expect([code, err]).toEqual([1, expect.stringMatching(/cannot be written to: run this as root, or name another/)])
    expect(readdirSync(join(root, 'rights'))).toEqual([])
  })
})

describe('doctor', () => {
  const folder = 'ill'
  let service: Child
  let records: Body[]
  const backup = join(root, 'backup')

  beforeAll(async () => {
    const authority = await openAuthority()
    const { key, cert } = await authority.issue({ commonName: 'mail.example.org', names: ['mail.example.org'] })
    mkdirSync(join(root, 'tls'))
    writeFileSync(join(root, 'tls', 'key.pem'), key, { mode: 0o600 })
    writeFileSync(join(root, 'tls', 'cert.pem'), cert)
    const tls = [`tls.cert=${join(root, 'tls', 'cert.pem')}`, `tls.key=${join(root, 'tls', 'key.pem')}`]
    const { code, out, err } = await setup(folder, '--json', '--set', ...tls)
    expect([code, err]).toEqual([0, ''])
    records = JSON.parse(out).records
    machine.dns.records.set('A mail.example.org', ['127.0.0.1', '203.0.113.7'])
    machine.dns.records.set('PTR 7.113.0.203.in-addr.arpa', ['mail.example.org'])
    publish(machine.dns, records)
    service = await startChild(join(root, folder, 'data'), {
      ...{ TEAL_CONFIG: join(root, folder, 'etc', 'teal.toml'), TEAL_LOG_LEVEL: '' },
      ...{ TEAL_NETWORK_DNS_SERVERS: machine.dns.address },
      ...{ TEAL_LMTP_PORT: '', TEAL_IMAP_PORT: '', TEAL_POP3_PORT: '' },
    })
    expect((await runTeal(['backup', backup, '--data-dir', join(root, folder, 'data')], env)).code).toBe(0)
  })

  afterAll(async () => {
    expect(await service?.end('SIGTERM')).toBe(0)
  })

  /** The checks that a doctor finds wrong. */
  async function wrong(...more: string[]): Promise<string[]> {
    const { code, out, err } = await doctor(folder, '--backup', backup, ...more)
    expect(err).toBe('')
    const found = findings(out).filter(({ state }) => state === 'wrong')
    expect(code).toBe(found.length > 0 ? 1 : 0)
    return found.map(({ check, subject }) => `${check}${subject === undefined ? '' : ` ${subject}`}`)
  }

  test('finds nothing wrong with one that is well, and says so to people and monitoring', async () => {
    expect(await wrong()).toEqual([])
    const { code, out } = await runTeal(
      ['doctor', '--config', join(root, folder, 'etc', 'teal.toml'), ...machine.asked, '--backup', backup, '--quiet'],
      env,
    )
    expect([code, out]).toEqual([0, ''])
  })

  /** Name, how it is broken, how it is mended, what is found: all at once, none hides another. */
  const illnesses: readonly [string, () => void, () => void, string][] = [
    ...[
      ['no MX', 'MX example.org', 'dns example.org MX'],
      ['an address that is not called so', 'PTR 1.0.0.127.in-addr.arpa', 'ptr 127.0.0.1'],
    ].map(([what = '', key = '', finding = '']): [string, () => void, () => void, string] => {
      let kept: readonly string[] = []
      const broken = () => {
        kept = machine.dns.records.get(key) ?? []
        machine.dns.records.delete(key)
      }
      return [what, broken, () => void machine.dns.records.set(key, kept), finding]
    }),
    [
      'a signature key of before',
      () => void machine.dns.texts.set(dkim().name, [dkim().value.replace(/p=.{20}/, 'p=AAAAAAAAAAAAAAAAAAAA')]),
      () => void machine.dns.texts.set(dkim().name, [dkim().value]),
      '(dkim)',
    ],
    [
      'a policy that lets others send only',
      () => void machine.dns.texts.set('example.org', ['v=spf1 ip4:192.0.2.1 -all']),
      () => publish(machine.dns, records),
      'spf example.org 127.0.0.1',
    ],
    [
      'an address on a list',
      () => void machine.dns.records.set('A 7.113.0.203.zen.spamhaus.org', ['127.0.0.2']),
      () => void machine.dns.records.delete('A 7.113.0.203.zen.spamhaus.org'),
      'blocklist 203.0.113.7',
    ],
    ['a clock that is off', () => machine.set({ ahead: 120_000 }), () => machine.set({ ahead: 0 }), 'clock'],
    [
      'a way out that is closed',
      () => machine.set({ greeting: '554 not from here' }),
      () => machine.set({ greeting: '220 mx.example.net ESMTP' }),
      'port-25-out',
    ],
    [
      'an old backup',
      () => void age(backup, '2020-01-01T00:00:00.000Z'),
      () => void age(backup, new Date().toISOString()),
      'backup',
    ],
  ]

  const dkim = () => records.find(({ name }) => name.includes('_domainkey')) as Body

  test(`finds ${illnesses.map(([what]) => what).join(', ')}`, async () => {
    for (const [, broken] of illnesses) broken()
    const found = await wrong()
    for (const [, , mended] of illnesses) mended()
    const named = illnesses.map(([, , , finding]) => (finding === '(dkim)' ? `dns ${dkim().name} TXT` : finding))
    expect(found).toEqual(expect.arrayContaining(named))
    expect(await wrong()).toEqual([])
  })

  test('finds a resolver that is gone', async () => {
    machine.dns.silent.add('invalid')
    const found = await wrong()
    machine.dns.silent.delete('invalid')
    expect(found).toContain('resolver')
  })

  test('finds a certificate that is for another name', async () => {
    expect(await wrong('--set', 'hostname=other.example.org')).toContain('certificate')
  })

  test('finds a service that does not run', async () => {
    expect(await service.end('SIGTERM')).toBe(0)
    expect(await wrong()).toContain('service')
  })

  test.each([
    ['nothing waits', false, 'good'],
    ['something waits for an hour', 3_600_000, 'good'],
    ['something waits for six', 6 * 3_600_000, 'warning'],
    ['something waits for two days', 48 * 3_600_000, 'wrong'],
  ])('of a queue where %s', async (_what, age, state) => {
    const oldest = age === false ? false : new Date(Date.now() - Number(age)).toISOString()
    const call = async () => ({ waiting: age === false ? 0 : 3, deferred: 0, oldest }) as never
    expect((await lookAtQueue({ call })).state).toBe(state)
  })
})

function age(folder: string, created: string): void {
  const file = join(folder, 'backup.json')
  writeFileSync(file, JSON.stringify({ ...JSON.parse(readFileSync(file, 'utf8')), created }))
  utimesSync(file, new Date(), new Date())
}
