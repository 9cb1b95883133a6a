// What `teal import-imap` says of a server that it gets no mail from: which of the many things it is, and what to do.

import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { type AddressInfo, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { environmentOf, runTeal } from '../child.ts'
import { freePort } from '../free-port.ts'
import { useTeal } from '../running.ts'

const service = useTeal()
const root = mkdtempSync(join(tmpdir(), 'teal-import-imap-'))
const secret = join(root, 'secret')

beforeAll(async () => {
  await service.user('anna')
  writeFileSync(secret, 'not the password of anna\n')
})
afterAll(() => rmSync(root, { recursive: true, force: true }))

async function said(port: number, ...words: string[]): Promise<string> {
  const from = ['--host', '127.0.0.1', '--port', String(port), '--login', 'anna', '--password-file', secret]
  const { code, err } = await runTeal(['import-imap', 'anna', ...from, ...words], environmentOf(service.teal.config))
  expect(code).toBe(1)
  return err
}

test('nobody listens', async () => {
  const port = await freePort()
  expect(await said(port)).toMatch(
    new RegExp(`^teal: 127\\.0\\.0\\.1, port ${port}, could not be reached \\(refused\\): .*Is --port right\\?\\n$`),
  )
})

test('a certificate that nobody has signed, and a wrong password', async () => {
  const { port } = service.at('imap')
  expect(await said(port)).toMatch(/^teal: .* could not be reached \(tls\): .*--insecure goes on all the same\n$/)
  expect(await said(port, '--insecure')).toMatch(/^teal: 127\.0\.0\.1 does not take this name and password: .+\n$/)
})

test('a connection that ends on the way', async () => {
  const server = createServer(socket => {
    socket.write('* OK [CAPABILITY IMAP4rev1] ready\r\n')
    socket.on('error', () => {})
    createInterface(socket).on('line', line => {
      const [tag, word] = line.split(' ')
      if (word === 'EXAMINE') socket.destroy()
      else socket.write(`${word === 'LIST' ? '* LIST () "/" INBOX\r\n' : ''}${tag} OK done\r\n`)
    })
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  expect(await said(port, '--insecure')).toBe(
    'teal: 127.0.0.1 ended the connection: run this again, it goes on where it was\n',
  )
  server.close()
})

test('a search that names nothing of what is there', async () => {
  const mail = 'Subject: kept\r\n\r\n.\r\n'
  const about = (uid: string) =>
    `UID ${uid} FLAGS () RFC822.SIZE ${mail.length} INTERNALDATE "01-Jan-2026 00:00:00 +0000"`
  let opened = ''
  const server = createServer(socket => {
    socket.write('* OK [CAPABILITY IMAP4rev1] ready\r\n')
    socket.on('error', () => {})
    createInterface(socket).on('line', line => {
      const [tag, ...words] = line.split(' ')
      const [word = '', second = '', set = ''] = words
      if (word === 'EXAMINE') opened = second
      const said = word === 'UID' ? `UID ${second}` : word
      const answers: Record<string, string> = {
        LIST: '* LIST () "/" INBOX\r\n* LIST () "/" Mute\r\n',
        EXAMINE: '* 1 EXISTS\r\n* OK [UIDVALIDITY 1] .\r\n* OK [UIDNEXT 8] .\r\n',
        FETCH: opened === 'INBOX' ? '* 1 FETCH (UID 7)\r\n' : '',
        'UID FETCH': `* 1 FETCH (${about(set)}${line.includes('BODY') ? ` BODY[] {${mail.length}}\r\n${mail}` : ''})\r\n`,
      }
      socket.write(`${answers[said] ?? ''}${tag} OK done\r\n`)
    })
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const words = ['--host', '127.0.0.1', '--port', String(port), '--login', 'anna', '--password-file', secret]
  const env = environmentOf(service.teal.config)
  const { code, out, err } = await runTeal(['import-imap', 'anna', ...words, '--insecure', '--json'], env)
  expect([code, err]).toEqual([3, expect.stringContaining('Mute: the other server does not open it')])
  expect(out).toMatch(/"imported":1,.*"failed":1/)
  server.close()
})
