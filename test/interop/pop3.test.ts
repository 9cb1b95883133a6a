// Real POP3 programs against the service: fetchmail, curl, Python's poplib.

import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { append, Client } from '../imap/client.ts'
import { useTeal } from '../running.ts'
import { messages } from './messages.ts'
import { folder, good, needPrograms } from './programs.ts'

const service = useTeal()
let number = 0
let user = ''
let password = ''
let place = { path: '', remove: () => {} }

beforeAll(() => needPrograms('fetchmail', 'curl', 'python3'))

beforeEach(async () => {
  user = `pop${++number}`
  password = `secret of ${user}`
  await service.user(user)
  place = folder()
  const client = await Client.login(service.at('imap'), user)
  for (const message of messages) await client.ok(append('INBOX', message))
  client.close()
})

afterEach(() => place.remove())

test('fetchmail takes each message once and leaves them, then takes them away', async () => {
  const { host, port } = service.at('pop3')
  const box = join(place.path, 'box')
  const rc = join(place.path, 'fetchmailrc')
  const fetch = async (more: string) => {
    const line = `poll ${host} service ${port} protocol POP3 auth password user "${user}" password "${password}" sslproto "" ${more} mda "cat >> ${box}"\n`
    writeFileSync(rc, line, { mode: 0o600 })
    writeFileSync(box, '')
    await good(
      'fetchmail',
      ['-f', rc, '--pidfile', join(place.path, 'pid'), '--invisible', '--uidl', '-i', join(place.path, 'ids')],
      {
        env: { HOME: place.path },
      },
    ).catch(error => {
      // 1: there was nothing new.
      if (!/ended with 1:/.test(String(error))) throw error
    })
    return readFileSync(box, 'utf8')
  }
  const first = await fetch('keep')
  for (const message of messages) expect(first).toContain(/^Subject: .*$/m.exec(message)?.[0].trim())
  expect(await fetch('keep')).toBe('')
  await fetch('fetchall')
  expect((await good('curl', ['-s', '-u', `${user}:${password}`, `pop3://${host}:${port}/`])).trim()).toBe('')
})

test('curl', async () => {
  const { host, port } = service.at('pop3')
  const login = ['-s', '-S', '-u', `${user}:${password}`]
  const list = await good('curl', [...login, `pop3://${host}:${port}/`])
  expect(list.trim().split(/\r?\n/)).toEqual(messages.map((text, at) => `${at + 1} ${Buffer.byteLength(text)}`))
  for (const at of [1, 2, 4, 6]) {
    expect(await good('curl', [...login, `pop3://${host}:${port}/${at}`])).toBe(messages[at - 1])
  }
  const secure = service.at('pop3s')
  expect(await good('curl', [...login, '-k', `pop3s://${secure.host}:${secure.port}/2`])).toBe(messages[1])
  expect(await good('curl', [...login, '-k', '--ssl-reqd', `pop3://${host}:${port}/2`])).toBe(messages[1])
})

test("Python's poplib", async () => {
  const { host, port } = service.at('pop3')
  const text = await good('python3', ['-c', python, host, String(port), user, password])
  const total = messages.reduce((sum, message) => sum + Buffer.byteLength(message), 0)
  expect(text.trim().split('\n')).toEqual([
    `stat (7, ${total})`,
    "dots [b'.', b'..', b'.three', b'From here']",
    'ids 7',
    'left 6',
  ])
})

const python = `
import poplib, sys
host, port, user, password = sys.argv[1:5]
def open():
    m = poplib.POP3(host, int(port))
    m.capa()
    m.user(user)
    m.pass_(password)
    return m
m = open()
print('stat', m.stat())
print('dots', m.retr(2)[1][-4:])
print('ids', len({line.split()[1] for line in m.uidl()[1]}))
m.top(1, 0)
m.dele(1)
m.quit()
m = open()
print('left', m.stat()[0])
m.quit()
`
