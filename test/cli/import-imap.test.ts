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
