// The delivered set-up of three nodes (deploy/cluster/compose.yml) as it stands: each container is a machine with the address, names,
// settings, command, user and rights that the files give it, and visitors come to what is published, over IPv4 and IPv6.

import { chownSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { basename, join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { parse } from 'yaml'
import { serverPrograms } from '../postgres/cluster.ts'
import { needPrograms, type Output } from './programs.ts'
import { listening, type Machine, openSwitch, type Program, program, type Switch, until } from './world/machine.ts'

interface Service {
  readonly image: string
  readonly command?: readonly string[]
  readonly environment?: Readonly<Record<string, string>>
  readonly volumes?: readonly string[]
  readonly networks: readonly string[] | { readonly inside: { readonly ipv4_address: string } }
  readonly ports?: readonly string[]
  readonly sysctls?: Readonly<Record<string, string>>
  readonly ulimits?: { readonly nofile: number }
}

interface Composed {
  readonly services: Readonly<Record<string, Service>>
  readonly networks: { readonly inside: { readonly ipam: { readonly config: readonly { subnet: string }[] } } }
}

interface Container {
  readonly machine: Machine
  start(): Promise<void>
  kill(): Promise<void>
  output(): string
  /** `docker compose exec`: with the settings of the container. */
  exec(...words: string[]): Promise<string>
}

const chosen = { POSTGRES_PASSWORD: 'OfTheDatabase', NATS_PASSWORD: 'OfTheBroker' }
const visitor = { 4: '10.89.0.99', 6: 'fd89:0:0:89::99' } as const
const entrance = { 4: '10.89.0.10', 6: 'fd89:0:0:89::10' } as const

let lines: Switch
let outside: Machine
let shared: string
const containers = new Map<string, Container>()
const get = (name: string) => containers.get(name) as Container

beforeAll(async () => {
  needPrograms('haproxy', 'nats-server', 'pg_createcluster', 'curl')
  // Only what lies below the sources is the same on all machines.
  shared = mkdtempSync(join('dist', 'compose-'))
  lines = await openSwitch()
  const composed = composedFile()
  const found = Object.entries(composed.services)
  const hosts = found.map(([name, service], at) => `${addressOf(service, at)} ${name}`).join('\n')
  for (const [at, [name, service]] of found.entries()) {
    const machine = await lines.machine(name, addressOf(service, at))
    machine.write('/etc/hosts', `127.0.0.1 localhost\n${hosts}\n`)
    for (const [key, value] of Object.entries(service.sysctls ?? {}))
      await machine.good(['sysctl', '-qw', `${key}=${value}`])
    containers.set(name, await containerOf(service, machine))
  }
  outside = await lines.machine('outside', visitor[4])
  await outside.good(['ip', 'address', 'add', `${visitor[6]}/64`, 'dev', 'eth0', 'nodad'])
  await get('haproxy').machine.good(['ip', 'address', 'add', `${entrance[6]}/64`, 'dev', 'eth0', 'nodad'])
  // All at once: what something depends on has been started, not more.
  await Promise.all([...containers.values()].map(container => container.start()))
  await until('three nodes', async () => (await shares()).length === 3, logs)
}, 240_000)

afterAll(() => {
  lines?.close()
  if (shared !== undefined) rmSync(shared, { recursive: true, force: true })
})

/** With the passwords that somebody chose in `.env`. */
function composedFile(): Composed {
  const example = readFileSync('deploy/cluster/env.example', 'utf8')
  const set = Object.fromEntries(
    example
      .split('\n')
      .filter(line => /^\w/.test(line))
      .map(line => line.split('=') as [string, string]),
  )
  const env: Record<string, string> = { ...set, ...chosen }
  const text = readFileSync('deploy/cluster/compose.yml', 'utf8')
  return parse(
    text.replace(/\$\{(\w+)\}/g, (_, name) => env[name] as string),
    { merge: true },
  ) as Composed
}

function addressOf({ networks }: Service, at: number): string {
  return 'inside' in networks ? networks.inside.ipv4_address : `10.89.0.${100 + at}`
}

/** What each image brings: whom it runs things as, what it does before, and its program. */
const images: Readonly<
  Record<string, { user: string; program(service: Service, machine: Machine): Promise<string[]> }>
> = {
  teal: {
    user: '65532',
    async program({ volumes = [] }, machine) {
      for (const [from = '', to = ''] of volumes.map(volume => volume.split(':'))) {
        await machine.good(['mkdir', '-p', moved(to)])
        await machine.good(['chown', '65532', moved(to)])
        if (!from.startsWith('./')) continue
        const folder = join(shared, basename(from))
        mkdirSync(folder, { recursive: true })
        chownSync(folder, 65532, 65532)
        await machine.good(['mount', '--bind', `${program}/${folder}`, moved(to)])
      }
      return ['/opt/node', `${program}/dist/main.js`]
    },
  },
  postgres: {
    user: 'postgres',
    async program({ environment = {} }, machine) {
      const bin = serverPrograms() as string
      const { POSTGRES_USER: user = '', POSTGRES_PASSWORD: password = '' } = environment
      machine.write('/etc/password', password)
      await machine.good(['mkdir', '-p', cluster, '/var/run/postgresql'])
      await machine.good(['chown', '-R', 'postgres', '/var/lib/postgresql', '/var/run/postgresql'])
      const make = ['-D', cluster, '-U', user, '--pwfile=/etc/password', '--auth=scram-sha-256', '--no-sync']
      await machine.good(['setpriv', ...as('postgres'), join(bin, 'initdb'), ...make])
      machine.write(`${cluster}/pg_hba.conf`, 'local all all trust\nhost all all all scram-sha-256\n')
      return [join(bin, 'postgres'), '-D', cluster, '-c', 'listen_addresses=*']
    },
  },
  nats: { user: '65534', program: async () => ['nats-server'] },
  haproxy: {
    user: '99',
    async program({ volumes: [volume = ''] = [], ulimits }, machine) {
      const [from = '', to = ''] = volume.split(':')
      const said = readFileSync(join('deploy/cluster', from), 'utf8')
      // Two descriptors for each connection; a machine of tests may not have as many as the file asks for.
      expect(ulimits?.nofile).toBeGreaterThan(2 * Number(/maxconn (\d+)/.exec(said)?.[1]))
      machine.write(to, said.replace(/maxconn \d+/, 'maxconn 1000'))
      return ['haproxy', '-W', '-db', '-f', to]
    },
  },
}
const cluster = '/var/lib/postgresql/data'

/** Where a folder of the image's root is: a machine has folders of its own below /var alone. */
const moved = (path: string) => path.replace(/^\/data\b/, '/var/data')

/** Without a right that root has. */
const as = (user: string) => [
  `--reuid=${user}`,
  `--regid=${user}`,
  '--clear-groups',
  '--inh-caps=-all',
  '--bounding-set=-all',
]

async function containerOf(service: Service, machine: Machine): Promise<Container> {
  const name = service.image.split(':')[0] as string
  const image = images[name] as (typeof images)[string]
  const set = { ...(name === 'teal' ? imageSettings() : {}), ...service.environment }
  const env = Object.entries(set).map(([key, value]) => `${key}=${moved(value)}`)
  const words = ['env', ...env, 'setpriv', ...as(image.user)]
  words.push(...(await image.program(service, machine)))
  const given = (service.command ?? (name === 'teal' ? ['serve'] : [])).filter(word => word !== name)
  let run: Program | undefined
  return {
    machine,
    async start() {
      run = machine.start([...words, ...given])
      if (name !== 'postgres') return
      await listening(machine, 5432, run.output)
      // Once, as its image does.
      await machine.run(['createdb', '-U', 'teal', '-h', '/var/run/postgresql', 'teal'])
    },
    async kill() {
      run?.process.kill('SIGKILL')
      // What is dead and nobody's child stays: nothing of the machine collects it, and its number is not given again.
      const kill = ['pkill', '-9', '-r', 'R,S,D', '-u', image.user]
      await until('the end', async () => (await machine.run(kill)).code === 1)
      await machine.run(['rm', '-f', `${cluster}/postmaster.pid`, '/var/run/postgresql/.s.PGSQL.5432.lock'])
    },
    exec: (...said) => machine.good([...words, ...said]),
    output: () => run?.output() ?? '',
  }
}

/** What the image says, as in its file. */
function imageSettings(): Record<string, string> {
  const file = readFileSync('deploy/Containerfile', 'utf8').replaceAll('\\\n', ' ')
  const said = /^ENV (.*)$/m.exec(file)?.[1] ?? ''
  return Object.fromEntries(
    said
      .trim()
      .split(/\s+/)
      .map(pair => pair.split('=') as [string, string]),
  )
}

const logs = () => [...containers.values()].map(({ output }) => output().slice(-2000)).join('\n---\n')

async function shares(of = 'a'): Promise<number[]> {
  const text = await get(of)
    .exec('cluster', 'status', '--json')
    .catch(() => '{}')
  const { nodes = [] } = JSON.parse(text) as { nodes?: { alive: boolean; shards: number }[] }
  return nodes.filter(({ alive, shards }) => alive && shards > 0).map(({ shards }) => shards)
}

const even = async () => {
  const found = await shares('b')
  return found.length === 3 && Math.min(...found) > 300
}

/** Comes from outside to what is published. */
const curl = (...words: string[]) => outside.run(['curl', '-sSkg', '--max-time', '30', ...words])
const at = (family: 4 | 6) => (family === 4 ? entrance[4] : `[${entrance[6]}]`)

async function add(name: string): Promise<string> {
  const said = await get('a').exec('user', 'add', name, '--generate', '--json')
  return `${name}:${JSON.parse(said).password}`
}

/** Whether HAProxy has seen that there are nodes, which it looks for every other second. */
async function opened(family: 4 | 6): Promise<boolean> {
  const said = ['smtps', 'imaps'].map(scheme => curl(`${scheme}://${at(family)}`, '-X', 'NOOP'))
  return (await Promise.all(said)).every(({ code }) => code === 0)
}

async function send(...given: Parameters<typeof sent>): Promise<void> {
  expect(await sent(...given), logs()).toMatchObject({ code: 0 })
}

async function sent(user: string, to: string, subject: string, family: 4 | 6 = 4): Promise<Output> {
  const from = user.slice(0, user.indexOf(':'))
  const message = `From: ${from}\nTo: ${to}\nSubject: ${subject}\n\nHello\n`
  const given = ['--mail-from', from, '--mail-rcpt', to, '--user', user, '--upload-file', '-']
  const words = ['curl', '-sSkg', '--max-time', '30', `smtps://${at(family)}`, ...given]
  return outside.run(words, { input: message })
}

/** How many messages of the INBOX have that in their subject. */
async function count(user: string, subject: string, family: 4 | 6 = 4): Promise<number> {
  const { text } = await curl('--user', user, `imaps://${at(family)}/INBOX`, '-X', `SEARCH SUBJECT "${subject}"`)
  return /^\* SEARCH(.*)/m.exec(text)?.[1]?.trim().split(' ').filter(Boolean).length ?? 0
}

test.each([4, 6] as const)('a visitor over IPv%i sends and reads, and is known by the own address', async family => {
  await until('shares', even, logs)
  await until('the entrance', () => opened(family), logs)
  const [anna, bert] = [await add(`anna${family}@example.com`), await add(`bert${family}@example.com`)]
  await send(anna, `bert${family}@example.com`, `over ${family}`, family)
  await until('the message', async () => (await count(bert, `over ${family}`, family)) === 1, logs)
  // What is logged of a login comes a moment after it, and is asked for at another node.
  let logins = ''
  const isThere = async () => {
    logins = await get('b').exec('user', 'logins', `bert${family}@example.com`)
    return logins.includes(visitor[family])
  }
  await until('the login', isThere, () => logins)
  expect(logins).not.toContain(entrance[family])
  expect(JSON.parse((await curl(`http://${at(family)}:8080/healthz`)).text)).toEqual({ success: true })
})

test('a node that is killed comes back, and nobody is refused meanwhile', async () => {
  const carl = await add('carl@example.com')
  await get('c').kill()
  await until('two nodes', async () => (await shares('b')).length === 2, logs)
  for (let count = 0; count < 12; count++) await send(carl, 'carl@example.com', `number ${count}`)
  await get('c').start()
  await until('shares', even, logs)
  // It has its share before it is up, and nobody starts it again where what it needs goes meanwhile.
  await until('an answer', async () => (await shares('c')).length === 3, logs)
  await until('all messages', async () => (await count(carl, 'number')) === 12, logs)
})

test('the database and the broker are restarted, and all goes on', async () => {
  const dora = await add('dora@example.com')
  await get('nats').kill()
  await get('postgres').kill()
  await Promise.all([get('nats').start(), get('postgres').start()])
  const login = async () => (await curl('--user', dora, `imaps://${at(4)}/INBOX`, '-X', 'NOOP')).code === 0
  await until('a login', login, logs)
  await until('shares', even, logs)
  // The login was one node's; each finds its database again by itself.
  await until('a message', async () => (await sent(dora, 'dora@example.com', 'afterwards')).code === 0, logs)
  await until('the message', async () => (await count(dora, 'afterwards')) === 1, logs)
})
