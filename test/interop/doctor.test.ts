// `teal doctor` among real servers: a set-up that is well, and the same one broken in seventeen ways, each of which it finds. Before and
// after each it is well.

import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { now } from '#lib/clock.ts'
import { limits } from '#lib/limits.ts'
import type { Body } from '../running.ts'
import { needPrograms } from './programs.ts'
import { until } from './world/machine.ts'
import { startOthers } from './world/others.ts'
import { faked, type Own, startOwn } from './world/own.ts'
import { openTown, type Town } from './world/town.ts'

const config = '/etc/teal/teal.toml'
const backup = '/var/backups/teal'
let town: Town
let own: Own

beforeAll(async () => {
  needPrograms('faketime')
  town = await openTown(['example.org', 'example.net', 'spamhaus.org'])
  const others = await town.machine('others', '44.128.9.9')
  await startOthers({ town, machine: others, domain: 'example.net', users: ['bob'] })
  own = await startOwn(town, 'example.org', '44.128.1.1')
  await own.machine.good(['teal', 'backup', backup, '--config', config])
})

afterAll(() => town?.close())

/** What a doctor finds wrong, by check and subject; with its clock ahead where told. */
async function wrong(ahead?: string): Promise<string[]> {
  const env = ['env', `LD_PRELOAD=${faked}`, `FAKETIME=${ahead}`, 'FAKETIME_DONT_FAKE_MONOTONIC=1']
  const words = ['teal', 'doctor', '--config', config, '--backup', backup, '--json']
  const { code, text } = await own.machine.run(ahead === undefined ? words : [...env, ...words])
  const found: Body[] = text
    .split('\n')
    .filter(line => line.startsWith('{'))
    .map(line => JSON.parse(line))
  const named = found.filter(({ state }) => state === 'wrong')
  expect([code, text]).toEqual([named.length > 0 ? 1 : 0, expect.any(String)])
  return named.map(({ check, subject }) => (subject === undefined ? check : `${check} ${subject}`))
}

const shell = (text: string) => own.machine.good(['sh', '-c', text])
const reverse = '1.1.128.44.in-addr.arpa'
const dkim = () => own.zone.find(line => line.includes('._domainkey.'))?.split('. ')[0] ?? ''
const listed = '1.1.128.44.zen.spamhaus.org'

interface Illness {
  readonly what: string
  readonly broken: () => Promise<unknown>
  readonly mended: () => Promise<unknown>
  readonly finding: () => readonly string[]
  readonly ahead?: string
}

const settings = () => own.machine.read(config)

/** Has a listener on another address. */
const listenOn = async (section: string, host: string) => {
  const moved = settings().replace(new RegExp(`(\\[${section}\\][^[]*?host = )\\S+`), `$1'${host}'`)
  expect(moved).not.toBe(settings())
  own.machine.write(config, moved, 0o644)
  await own.restart()
}

const dated = (created: string) => {
  const file = `${backup}/backup.json`
  own.machine.write(file, JSON.stringify({ ...JSON.parse(own.machine.read(file)), created }))
}

const illnesses: readonly Illness[] = [
  {
    what: 'records that went another way (no MX)',
    broken: () => town.names.drop('example.org', 'MX'),
    mended: () => town.names.put(...own.zone),
    finding: () => ['dns example.org MX'],
  },
  {
    what: 'an address that is called otherwise',
    broken: () => town.names.put(`${reverse}. IN PTR host-1.provider.example.`),
    mended: () => town.names.put(`${reverse}. IN PTR mail.example.org.`),
    finding: () => ['ptr 44.128.1.1'],
  },
  {
    what: 'a key that DNS does not have',
    broken: () => town.names.drop(dkim()),
    mended: () => town.names.put(...own.zone),
    finding: () => [`dns ${dkim()} TXT`],
  },
  {
    what: 'a policy that lets others send',
    broken: () => town.names.put('example.org. IN TXT "v=spf1 ip4:192.0.2.1 -all"'),
    mended: () => town.names.put(...own.zone),
    finding: () => ['spf example.org 44.128.1.1'],
  },
  {
    what: 'an address on a list',
    broken: () => town.names.put(`${listed}. IN A 127.0.0.2`),
    mended: () => town.names.drop(listed),
    finding: () => ['blocklist 44.128.1.1'],
  },
  {
    what: 'port 25 of others closed',
    broken: () => shell('ip route add unreachable 44.128.9.9'),
    mended: () => shell('ip route del unreachable 44.128.9.9'),
    finding: () => ['port-25-out'],
  },
  {
    what: 'a resolver that is gone',
    broken: () => shell('echo nameserver 127.0.0.9 > /etc/resolv.conf'),
    mended: () => shell('echo nameserver 127.0.0.1 > /etc/resolv.conf'),
    finding: () => ['resolver'],
  },
  {
    what: 'a clock that is behind',
    broken: () => town.time(120),
    mended: () => town.time(0),
    finding: () => ['clock'],
  },
  {
    what: 'an old backup',
    broken: async () => dated('2020-01-01T00:00:00.000Z'),
    mended: async () => dated(new Date(now()).toISOString()),
    finding: () => ['backup'],
  },
  {
    what: 'a disk that is full',
    broken: () => shell('mount -o remount,size=600M /mnt'),
    mended: () => shell('mount -o remount,size=50% /mnt'),
    finding: () => ['disk'],
  },
  {
    what: 'a policy of MTA-STS that others are told otherwise',
    broken: async () => own.machine.write(config, settings().replace(/stsMode = .*/, "stsMode = 'testing'"), 0o644),
    mended: async () => own.machine.write(config, settings().replace(/stsMode = .*/, "stsMode = 'enforce'"), 0o644),
    finding: () => ['mta-sts example.org'],
  },
  {
    what: 'a name for the policy that leads to others',
    broken: () => town.names.put('mta-sts.example.org. IN CNAME mx.example.net.'),
    mended: () => town.names.put(...own.zone),
    finding: () => ['certificate mta-sts.example.org'],
  },
  {
    what: 'HTTPS that strangers do not reach',
    broken: () => listenOn('web', '127.0.0.1'),
    mended: () => listenOn('web', '0.0.0.0'),
    finding: () => ['certificate mta-sts.example.org'],
  },
  {
    what: 'a port 25 that listens to this machine alone',
    broken: () => listenOn('smtp', '127.0.0.1'),
    mended: () => listenOn('smtp', '0.0.0.0'),
    finding: () => ['port-25-in 44.128.1.1'],
  },
  {
    what: 'a service that does not run',
    broken: () => own.machine.good(['systemctl', 'stop', 'teal']),
    mended: () => own.restart(),
    finding: () => ['service'],
  },
]

describe('teal doctor', () => {
  test.each(illnesses)('finds $what', async ({ broken, mended, finding }) => {
    expect(await wrong()).toEqual([])
    await broken()
    expect(await wrong()).toEqual(expect.arrayContaining([...finding()]))
    await mended()
    await until('well again', async () => (await wrong()).length === 0)
  })

  test('does not call wrong what only a router in front keeps from this machine itself', async () => {
    await town.names.put('mta-sts.example.org. IN CNAME routed.example.net.', 'routed.example.net. IN A 44.128.55.55')
    await shell('ip route add unreachable 44.128.55.55')
    const { text } = await own.machine.run(['teal', 'doctor', '--config', config, '--backup', backup, '--json'])
    expect(text).toContain('mta-sts.example.org is not reached from this machine itself')
    expect(await wrong()).not.toContain('certificate mta-sts.example.org')
    await shell('ip route del unreachable 44.128.55.55')
    await town.names.put(...own.zone)
    await until('well again', async () => (await wrong()).length === 0)
  })

  test('finds what waits for two days, after two days', async () => {
    const message = `From: <${own.user}>\r\nTo: <x@nowhere.example>\r\nSubject: lost\r\n\r\nx\r\n`
    const how = { host: own.host, from: own.user, to: 'x@late.example', password: own.password, message }
    await town.names.put('late.example. IN MX 10 mx.late.example.', 'mx.late.example. IN A 44.128.77.77')
    const words = ['python3', '/etc/send.py', JSON.stringify({ ...how, port: 465, trusted: '/etc/ssl/town.pem' })]
    expect((await own.machine.good(words)).trim()).toBe('250 taken')
    await town.time((2 * limits.time.day) / 1000)
    dated(new Date(now() + 2 * limits.time.day).toISOString())
    expect(await wrong('+2d')).toEqual(['queue'])
    await town.time(0)
  })

  test('finds a certificate that is over', async () => {
    const { key, cert } = await town.authority.issue({ names: [own.host], expires: now() - limits.time.day })
    own.machine.write('/etc/teal/over.key', key, 0o644)
    own.machine.write('/etc/teal/over.pem', cert)
    const token = own.machine.read('/var/lib/teal/root-token').trim()
    const call = (...words: string[]) => own.machine.good(['curl', '-sS', '-H', `X-Access-Token: ${token}`, ...words])
    const sections = own.machine.read(config).split(/^(?=\[)/m)
    const rest = sections.filter(section => !section.startsWith('[tls'))
    const files = "[tls]\ncert = '/etc/teal/over.pem'\nkey = '/etc/teal/over.key'\n"
    own.machine.write(config, `${rest.join('').trim()}\n${files}`)
    await own.restart()
    const { id } = JSON.parse(await call(`http://127.0.0.1:8080/certs/resolve/${own.host}`))
    await call('-X', 'DELETE', `http://127.0.0.1:8080/certs/${id}`)
    expect(await wrong()).toContain('certificate')
  })
})
