// Debian's rspamd and clamd look at mail for the service: their verdicts, over their own protocols.

import { chmodSync, mkdirSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { sleep } from '#lib/clock.ts'
import { teachRspamd } from '#net/outward/rspamd.ts'
import { startTeal, type Teal } from '#service'
import { deliver, openLmtp } from '../dialogue.ts'
import { accessTo, type Running } from '../running.ts'
import { type Daemon, daemon, folder, needPrograms } from './programs.ts'

/** What every scanner takes for bad, as its makers have it; put together here so that this file is not bad itself. */
const eicar = ['X5O!P%@AP[4\\PZX54(P^)7CC)7}$EICAR', 'STANDARD-ANTIVIRUS-TEST-FILE!$H+H*'].join('-')
const gtube = ['XJS*C4JDBQADN1.NSBN3*2IDNEN*GTUBE', 'STANDARD-ANTI-UBE-TEST-EMAIL*C.34X'].join('-')

const ports = { clamd: 33_310, rspamd: 33_311, controller: 33_312 }
const controller = `http://127.0.0.1:${ports.controller}`
const daemons: Daemon[] = []
let place = { path: '', remove: () => {} }
let teal: Teal
let service: Running
let messages = ''

beforeAll(async () => {
  needPrograms('clamd', 'rspamd')
  place = folder()
  startClamd(join(place.path, 'clamd'))
  startRspamd(join(place.path, 'rspamd'))
  for (const port of Object.values(ports)) await listening(port)
  const spam = { rspamd: `http://127.0.0.1:${ports.rspamd}`, clamd: `127.0.0.1:${ports.clamd}` }
  teal = await startTeal({ spam }, { strict: true })
  service = accessTo(() => teal)
  const id = await service.user('anna', { spamLevel: 100 })
  const { body } = await service.call('GET', `/users/${id}/mailboxes/resolve?path=INBOX`)
  messages = `/users/${id}/mailboxes/${body.id}/messages`
}, 300_000)

afterAll(async () => {
  await teal?.close()
  await Promise.all(daemons.map(scanner => scanner.stop()))
  place.remove()
})

/** A scanner with one signature of its own, since the public ones are not in a package. */
function startClamd(path: string): void {
  mkdirSync(path)
  writeFileSync(join(path, 'own.ndb'), `Own.Test:0:*:${Buffer.from(eicar).toString('hex')}\n`)
  const config = join(path, 'clamd.conf')
  const lines = [
    `DatabaseDirectory ${path}`,
    `TCPSocket ${ports.clamd}`,
    'TCPAddr 127.0.0.1',
    'Foreground yes',
    'User root',
  ]
  writeFileSync(config, `${lines.join('\n')}\n`)
  daemons.push(daemon('/usr/sbin/clamd', ['-c', config]))
}

function startRspamd(path: string): void {
  const local = join(path, 'local.d')
  mkdirSync(local, { recursive: true })
  const say = (name: string, ...lines: string[]) => writeFileSync(join(local, name), `${lines.join('\n')}\n`)
  say('worker-normal.inc', `bind_socket = "127.0.0.1:${ports.rspamd}";`, 'count = 1;')
  say('worker-controller.inc', `bind_socket = "127.0.0.1:${ports.controller}";`)
  say('worker-proxy.inc', 'enabled = false;')
  // Nobody is asked: the test runs where there is no network.
  say('options.inc', 'dns { nameserver = ["127.0.0.1:9"]; timeout = 0.1s; retransmits = 1; }')
  for (const folder of [path, local]) chmodSync(folder, 0o755)
  const places = ['DBDIR', 'RUNDIR', 'LOGDIR'].map(name => `--var=${name}=${path}`)
  const args = ['-f', '-i', '-c', '/etc/rspamd/rspamd.conf', `--var=LOCAL_CONFDIR=${path}`, ...places]
  daemons.push(daemon('/usr/bin/rspamd', args))
}

async function listening(port: number): Promise<void> {
  for (;;) {
    const open = await new Promise<boolean>(resolve => {
      const socket = connect(port, '127.0.0.1')
      socket.on('error', () => resolve(false))
      socket.on('connect', () => {
        socket.destroy()
        resolve(true)
      })
    })
    if (open) return
    await sleep(200)
  }
}

let count = 0
const mail = (text: string) =>
  Buffer.from(
    `From: b@example.net\r\nTo: anna@example.com\r\nSubject: Lunch\r\nMessage-ID: <i${++count}@example.net>\r\n\r\n${text}\r\n`,
  )

async function bring(message: Buffer): Promise<string> {
  const lmtp = await openLmtp(service.at('lmtp'))
  const [reply = ''] = await deliver(lmtp, 'b@example.net', ['anna@example.com'], message)
  lmtp.close()
  return reply
}

async function newest() {
  const [{ id }] = (await service.call('GET', messages)).body.results
  return (await service.call('GET', `${messages}/${id}`)).body
}

test('clamd: a virus is refused, also within an attachment; a letter is not', async () => {
  expect(await bring(mail(eicar))).toMatch(/^550 5\.7\.1/)
  const attached = Buffer.from(
    'From: b@example.net\r\nSubject: x\r\nMIME-Version: 1.0\r\nContent-Type: application/octet-stream\r\n' +
      `Content-Transfer-Encoding: base64\r\n\r\n${Buffer.from(eicar).toString('base64')}\r\n`,
  )
  expect(await bring(attached)).toMatch(/^550 5\.7\.1/)
  expect(await bring(mail('Shall we have lunch?'))).toMatch(/^250/)
})

test('rspamd: what it would refuse has the points for that, with the reason beside', async () => {
  expect(await bring(mail(gtube))).toMatch(/^250/)
  const [part] = (await newest()).spam.parts
  expect(part).toMatchObject({ name: 'rspamd', score: 75, info: expect.stringMatching(/^reject /) })
  expect(await bring(mail('Shall we have lunch tomorrow?'))).toMatch(/^250/)
  expect((await newest()).spam.parts[0]).toMatchObject({ name: 'rspamd', info: expect.any(String) })
})

test('rspamd takes what it is taught, or says in a 204 with a body why it does not', async () => {
  await teachRspamd(controller, '', mail(gtube), true)
  await teachRspamd(controller, '', mail('Shall we have lunch on Friday?'), false)
})
