// The line to NATS: why it is not to be had is said, and a server whose certificate is signed by the operator's own authority is
// believed where that is named.

import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { type BrokerPlace, connectBroker } from '#cluster/broker.ts'
import { reasonOf } from '#lib/fault.ts'
import { makeLog } from '#lib/log.ts'
import { freePort } from '../free-port.ts'

let folder: string
let port: number
let server: ChildProcess | undefined

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'teal-broker-'))
  port = await freePort()
})

afterEach(async () => {
  server?.kill()
  if (server?.exitCode === null) await once(server, 'exit')
  server = undefined
  rmSync(folder, { recursive: true, force: true })
})

function start(...words: string[]): void {
  server = spawn('nats-server', ['-a', '127.0.0.1', '-p', String(port), ...words], { stdio: 'ignore' })
}

/** 'ok', or why not. */
async function tried(nats: string, ca = ''): Promise<string> {
  const place: BrokerPlace = { nats, ca }
  try {
    const broker = await connectBroker(place, 'test', makeLog('silent'))
    await broker.close()
    return 'ok'
  } catch (error) {
    return reasonOf(error as Error)
  }
}

test('passwords with signs of their own and tokens are taken, wrong ones named as such', async () => {
  expect(await tried(`nats://127.0.0.1:${port}`)).toContain('refused')
  start('--user', 'teal', '--pass', 'a/b:c@d')
  await expect.poll(() => tried(`nats://teal:a%2Fb%3Ac%40d@127.0.0.1:${port}`)).toBe('ok')
  expect(await tried(`nats://teal:other@127.0.0.1:${port}`)).toMatch(/authorization/i)
})

test('a server that lets nobody in for a while, since its password is another one, is connected to when it is right again', async () => {
  const begin = async (password: string) => {
    server?.kill()
    if (server?.exitCode === null) await once(server, 'exit')
    start('--user', 'teal', '--pass', password)
  }
  const nats = `nats://teal:right@127.0.0.1:${port}`
  await begin('right')
  await expect.poll(() => tried(nats)).toBe('ok')
  const said: string[] = []
  const log = { warn: (...words: unknown[]) => said.push(String(words.at(-1))), info: () => said.push('again') }
  const [broker, other] = [await connectBroker({ nats, ca: '' }, 'test', log as never), await connected()]
  const heard: string[] = []
  const leave = await broker.subscribe('left', () => heard.push('left'))
  await broker.subscribe('said', bytes => heard.push(bytes.toString()))
  leave()
  await begin('wrong')
  await expect.poll(() => said).toEqual([expect.stringContaining('gone'), expect.stringContaining('refuses')])
  expect(broker.connected).toBe(false)
  await begin('right')
  await expect.poll(() => said.at(-1)).toBe('again')
  expect(broker.connected).toBe(true)
  const tell = () => {
    for (const subject of ['left', 'said']) other.publish(subject, Buffer.from(subject))
    return heard
  }
  await expect.poll(tell).toContain('said')
  expect(heard).not.toContain('left')
  expect(said).toHaveLength(3)
  await Promise.all([broker.close(), other.close()])

  function connected() {
    return connectBroker({ nats, ca: '' }, 'other', makeLog('silent'))
  }
})

test('a token', async () => {
  start('--auth', 's3cret/token')
  await expect.poll(() => tried(`nats://s3cret%2Ftoken@127.0.0.1:${port}`)).toBe('ok')
})

test('an authority of one’s own', async () => {
  const [cert, key] = [join(folder, 'cert.pem'), join(folder, 'key.pem')]
  const subject = ['-subj', '/CN=localhost', '-addext', 'subjectAltName=DNS:localhost,IP:127.0.0.1']
  const kind = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '2']
  execFileSync('openssl', ['req', '-x509', ...kind, ...subject, '-keyout', key, '-out', cert], { stdio: 'ignore' })
  start('--tls', '--tlscert', cert, '--tlskey', key)
  await expect.poll(() => tried(`tls://127.0.0.1:${port}`, cert)).toBe('ok')
  expect(await tried(`tls://127.0.0.1:${port}`)).toMatch(/certificate/)
})
