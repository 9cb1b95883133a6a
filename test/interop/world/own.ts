// A machine of ours on the small internet: what docs/owner.md says it takes, and nothing else.
//
// There is no systemd on it. What stands in its place starts the unit as the unit says: its command, user, environment and the one
// right it has.

import { existsSync, readFileSync } from 'node:fs'
import type { Body } from '../../running.ts'
import { type Machine, program, until } from './machine.ts'
import { type Town, trusted } from './town.ts'

/** @param user whether the user that the service runs as is there */
export async function ownMachine(town: Town, name: string, address: string, user = true): Promise<Machine> {
  const machine = await town.machine(name, address)
  const reverse = `${address.split('.').toReversed().join('.')}.in-addr.arpa`
  await town.names.put(`${reverse}. IN PTR ${name}.`)
  const teal = `export NODE_EXTRA_CA_CERTS=${trusted}\nexec /opt/node ${program}/dist/main.js "$@"`
  machine.write('/usr/local/bin/teal', `#!/bin/sh\n${teal}\n`, 0o755)
  machine.write('/usr/local/bin/systemctl', systemctl(), 0o755)
  if (user)
    await machine.good(['useradd', '--system', '--home-dir', '/var/lib/teal', '--shell', '/usr/sbin/nologin', 'teal'])
  return machine
}

export interface Own {
  readonly machine: Machine
  readonly host: string
  readonly user: string
  readonly password: string
  /** Its records, as the set-up printed them. */
  readonly zone: readonly string[]
  /** What a command prints for programs, line by line. */
  json(...words: string[]): Promise<Body[]>
  /** A message of its account by its Message-ID, once it has come, with the folder where it lies. */
  arrived(id: string): Promise<{ text: string; path: string }>
  has(id: string): Promise<boolean>
  /** Whether a message of its account holds a text. */
  find(text: string): Promise<boolean>
  /** Changes a line in a section of the settings, and restarts. */
  set(section: string, line: string): Promise<void>
  /** Starts it anew, with its clock ahead where told. */
  restart(ahead?: string): Promise<void>
  log(): string
}

/** A service that is set up, and runs: the three commands of docs/owner.md. */
export async function startOwn(town: Town, domain: string, address: string): Promise<Own> {
  const host = `mail.${domain}`
  const machine = await ownMachine(town, host, address)
  machine.write('/etc/send.py', readFileSync('test/interop/world/send.py', 'utf8'))
  const config = '/etc/teal/teal.toml'
  const set = ['--set', 'smtp.stsMode=enforce']
  const said = await machine.good(['teal', 'setup', domain, '--acme', '--yes', ...set])
  const password = /its password: (\S+)/.exec(said)?.[1] ?? ''
  const user = `admin@${domain}`
  const zone = zoneOf(said)
  await town.names.put(...zone)
  const restart = async (ahead?: string) => {
    const env: Record<string, string> = ahead === undefined ? {} : { AHEAD: ahead }
    await machine.good(['systemctl', 'restart', 'teal'], { env })
    await until('the service', async () => (await machine.run(['curl', '-sS', `smtps://${host}`])).code !== 7, log)
    await until('all ports', async () => existsSync(machine.path('/var/lib/teal/run.json')), log)
  }
  const log = () => machine.read('/var/log/teal.log')
  const json = async (...words: string[]): Promise<Body[]> => {
    const { code, text } = await machine.run(['teal', ...words, '--config', config, '--json'])
    if (code !== 0) return []
    return text
      .split('\n')
      .filter(line => line.startsWith('{') || line.startsWith('['))
      .map(line => JSON.parse(line))
  }
  const curl = (path: string, ...words: string[]) =>
    machine.run(['curl', '-sS', '--user', `${user}:${password}`, `imaps://${host}/${path}`, ...words])
  const folders = ['INBOX', 'Junk']
  const search = async (path: string, what: string) =>
    /SEARCH (\d[\d ]*)/
      .exec((await curl(path, '--request', `SEARCH ${what}`)).text)?.[1]
      ?.trim()
      .split(' ') ?? []
  const look = async (id: string) => {
    for (const path of folders) {
      const number = (await search(path, `HEADER Message-ID ${id}`)).at(-1)
      if (number !== undefined) return { text: (await curl(`${path};MAILINDEX=${number}`)).text, path }
    }
    return undefined
  }
  await machine.good(['systemctl', 'enable', '--now', 'teal'])
  const doctor = ['teal', 'doctor', '--config', config]
  let told = ''
  const well = async () => {
    const { code, text } = await machine.run(doctor)
    told = text
    return code === 0
  }
  await until(`${host} is well`, well, () => `${told}\n${log()}`)
  const policy = ['curl', '-sSf', '--cacert', trusted, `https://mta-sts.${domain}/.well-known/mta-sts.txt`]
  await until(`the policy of ${domain}`, async () => (await machine.run(policy)).code === 0, log)
  return {
    ...{ machine, host, user, password, zone, json, restart, log },
    arrived: id => until(`${id} at ${host}`, () => look(id), log),
    has: async id => (await look(id)) !== undefined,
    find: async text => (await search('INBOX', `TEXT ${text}`)).length > 0,
    async set(section, line) {
      machine.write(config, machine.read(config).replace(`[${section}]\n`, `[${section}]\n${line}\n`), 0o644)
      await restart()
    },
  }
}

/** The records that a set-up printed, as a zone file has them. */
export function zoneOf(said: string): string[] {
  return said
    .split('\n')
    .filter(line => /^\S+\.\s+\d+ IN /.test(line))
    .map(line => line.replace(/\s+; .*$/, ''))
}

export const faked = '/usr/lib/x86_64-linux-gnu/faketime/libfaketimeMT.so.1'

/** `enable --now`, `stop` and `restart` of the unit in deploy/. */
function systemctl(): string {
  const unit = readFileSync('deploy/teal.service', 'utf8')
  const said = (key: string) => new RegExp(`^${key}=(.*)$`, 'm').exec(unit)?.[1] ?? ''
  const user = said('User')
  const right = said('AmbientCapabilities').replace('CAP_', '').toLowerCase()
  const rights = `--inh-caps=-all,+${right} --ambient-caps=-all,+${right} --bounding-set=-all,+${right} --no-new-privs`
  return `#!/bin/sh
up() { pgrep -u ${user} -f 'main.js serve' > /dev/null; }
case "$1" in stop|restart) pkill -TERM -u ${user} -f 'main.js serve'; while up; do sleep 0.1; done;; esac
case "$1" in stop) exit 0;; esac
umask ${said('UMask')}
for d in /var/lib/${said('StateDirectory')} /var/cache/${said('CacheDirectory')}; do mkdir -p -m 0700 $d; chown ${user}:${user} $d; done
${said('Environment')
  .split(' ')
  .map(pair => `export ${pair}`)
  .join('\n')}
setsid setpriv --reuid=${user} --regid=${said('Group')} --init-groups ${rights} \${AHEAD:+env LD_PRELOAD=${faked} FAKETIME=$AHEAD FAKETIME_DONT_FAKE_MONOTONIC=1} ${said('ExecStart')} >> /var/log/teal.log 2>&1 < /dev/null &
`
}
