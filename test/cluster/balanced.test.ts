// Two nodes behind a real HAProxy with the file that is delivered (deploy/cluster/haproxy.cfg): visitors count by their own address,
// a node that stops or is killed is asked for nothing any more, and nobody who comes then is refused.

import { type ChildProcess, fork, spawn } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { connect as connectPlain } from 'node:net'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { connect as connectSecure } from 'node:tls'
import { afterAll, afterEach, beforeAll, beforeEach, expect, inject, test } from 'vitest'
import { startTeal, type Teal } from '#service'
import { leaseCount } from '#store/cluster/shards.ts'
import { installed } from '../../bench/peer/install.ts'
import { freePort } from '../free-port.ts'
import { makeDatabase } from '../postgres/cluster.ts'
import { accessTo } from '../running.ts'
import { type Nats, startNats } from './nats.ts'
import type { Up } from './service.ts'

const folder = mkdtempSync(join(tmpdir(), 'teal-balanced-'))
const more = {
  network: { proxyProtocol: ['127.0.0.1/32'], proxies: ['127.0.0.1/32'], forwarded: 'X-Forwarded-For' },
} as const
let nats: Nats
let database: string
let a: Teal
let b: Up
let child: ChildProcess
let haproxy: ChildProcess
/** Where HAProxy listens, by the name of a section. */
let front: Readonly<Record<string, number>>
const access = accessTo(() => a)

beforeAll(async () => {
  installed('haproxy', ['haproxy'])
  nats = await startNats()
  database = await makeDatabase(inject('postgres'), 'template0')
  for (const node of ['a', 'b']) mkdirSync(join(folder, node))
  const cluster = { nats: nats.url, node: 'a' }
  a = await startTeal({ ...more, dataDir: join(folder, 'a'), store: { url: database }, cluster })
  cpSync(join(folder, 'a', 'keys'), join(folder, 'b', 'keys'), { recursive: true })
})

beforeEach(async () => {
  const given = [join(folder, 'b'), database, nats.url, 'b', JSON.stringify(more)]
  child = fork(resolve('test/cluster/service.ts'), given, { execArgv: [] })
  ;[b] = (await once(child, 'message')) as [Up]
  await expect.poll(() => a.core.cluster?.leases.count).toBe(leaseCount / 2)
  const names = ['smtp', 'submissions', 'submission', 'imaps', 'pop3s', 'api']
  const ports = await Promise.all(names.map(freePort))
  front = Object.fromEntries(names.map((name, at) => [name, ports[at] as number]))
  const file = join(folder, 'haproxy.cfg')
  writeFileSync(file, onLoopback(readFileSync('deploy/cluster/haproxy.cfg', 'utf8')))
  haproxy = spawn('haproxy', ['-db', '-q', '-f', file], { stdio: 'inherit' })
  await expect
    .poll(() =>
      fetch(`http://127.0.0.1:${front.api}/healthz`).then(
        ({ status }) => status,
        () => 0,
      ),
    )
    .toBe(200)
})

afterEach(async () => {
  haproxy.kill()
  if (haproxy.exitCode === null) await once(haproxy, 'exit')
  if (child.connected) {
    child.send('close')
    await once(child, 'exit')
  }
  expect(await a.check()).toEqual([])
})

afterAll(async () => {
  await a?.close()
  await nats.stop()
  rmSync(folder, { recursive: true, force: true })
})

/** The delivered file with two nodes, where these listen; looked after ten times as often, and for as few as a tests' machine may have. */
function onLoopback(text: string): string {
  let section = ''
  const lines = text.split('\n').flatMap(line => {
    section = /^listen (\w+)/.exec(line)?.[1] ?? section
    const [, name] = /^ {2}server (\w) /.exec(line) ?? []
    if (name === 'c') return []
    const node = name === 'a' ? a : b
    const at = (listener: string) => node.listeners[listener as 'api']?.port
    return line
      .replace(/bind :::\d+ v4v6/, `bind 127.0.0.1:${front[section]}`)
      .replace(
        /10\.89\.0\.2\d:\d+.*/,
        found => `127.0.0.1:${at(section)}${found.replace(/^\S+/, '')} port ${at('api')}`,
      )
      .replace('port 8080 inter 2s', 'inter 200ms')
      .replace('maxconn 100000', 'maxconn 1000')
  })
  return lines.join('\n')
}

/** A session of IMAP by way of HAProxy from an address of loopback: what is said after its commands, and then its end. */
async function session(name: string, localAddress = '127.0.0.1') {
  const socket = connectSecure({
    socket: connectPlain({ host: '127.0.0.1', port: front.imaps as number, localAddress }),
    rejectUnauthorized: false,
  })
  let text = ''
  let ended = false
  socket.on('data', chunk => {
    text += chunk
  })
  socket.on('error', () => {})
  socket.on('close', () => {
    ended = true
  })
  const says = (what: string) => expect.poll(() => (ended ? `${text} (ended)` : text)).toContain(what)
  await says('* OK')
  socket.write(`1 LOGIN ${name} "secret of ${name}"\r\n`)
  await says('1 OK')
  return { end: () => socket.destroy(), isOver: () => ended }
}

test('a visitor counts by the address he comes from', async () => {
  const id = await access.user('visitor')
  const addresses = [21, 22, 23, 24].map(last => `127.0.0.${last}`)
  for (const address of addresses) (await session('visitor', address)).end()
  const seen = async () => {
    const { body } = await access.call('GET', `/users/${id}/authlog`)
    const logins = body.results.filter(({ ip }: { ip?: string }) => ip !== undefined)
    return logins.map(({ ip }: { ip: string }) => ip).sort()
  }
  await expect.poll(seen).toEqual(addresses)
})

test('a node that stops hands over, and nobody who comes meanwhile is refused', async () => {
  await access.user('caller')
  let stopped = false
  child.send('close')
  const exit = once(child, 'exit').then(() => {
    stopped = true
  })
  let logins = 0
  while (!stopped || logins < 10) {
    const one = await session('caller')
    one.end()
    logins += 1
  }
  await exit
  expect(a.core.cluster?.leases.count).toBe(leaseCount)
})

test('sessions at a node that is killed end, and those who come again are served', async () => {
  await access.user('stayer')
  const all = await Promise.all(Array.from({ length: 6 }, () => session('stayer')))
  expect(all.filter(one => one.isOver())).toHaveLength(0)
  child.kill('SIGKILL')
  await expect.poll(() => all.filter(one => one.isOver()).length).toBe(3)
  await expect.poll(() => a.core.cluster?.leases.count).toBe(leaseCount)
  for (const one of await Promise.all(Array.from({ length: 6 }, () => session('stayer')))) one.end()
  for (const one of all) one.end()
})
