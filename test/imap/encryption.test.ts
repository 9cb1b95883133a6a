// APPEND to an account or a folder that wants its mail encrypted.

import { connect } from 'node:net'
import { expect, test } from 'vitest'
import { openpgp } from '#lib/process/lazy.ts'
import { useTeal } from '../running.ts'
import { append, Client, mail } from './client.ts'

const service = useTeal()

test('what is appended is encrypted where that is asked for; drafts are not', async () => {
  const keys = await openpgp().generateKey({ userIDs: [{ name: 'Key', email: 'key@example.com' }], format: 'armored' })
  const user = await service.user('sealed', { pubKey: keys.publicKey })
  await service.call('POST', `/users/${user}/mailboxes`, { path: 'Vault', encryptMessages: true })
  const client = await Client.login(service.at('imap'), 'sealed')
  const stored = async (mailbox: string, flags = '') => {
    await client.ok(append(mailbox, mail('secret', 'the hidden text'), flags))
    await client.ok(`SELECT ${mailbox}`)
    return (await client.ok('FETCH * BODY.PEEK[]')).join('\n')
  }
  expect(await stored('INBOX')).toContain('the hidden text')
  const vault = await stored('Vault')
  expect(vault).toContain('multipart/encrypted')
  expect(vault).toContain('Subject: secret')
  expect(vault).not.toContain('the hidden text')
  // Of folders that were appended to before, too.
  const { body } = await service.call('GET', `/users/${user}/mailboxes`)
  const { id } = body.results.find((one: { path: string }) => one.path === 'Vault')
  for (const encryptMessages of [false, true]) {
    await service.call('PUT', `/users/${user}/mailboxes/${id}`, { encryptMessages })
    const again = expect(await stored('Vault'))
    if (encryptMessages) again.not.toContain('the hidden text')
    else again.toContain('the hidden text')
  }
  expect(await stored('Vault', '\\Draft')).toContain('the hidden text')
  await service.call('PUT', `/users/${user}`, { encryptMessages: true })
  expect(await stored('Trash')).toContain('multipart/encrypted')
  expect(await stored('Drafts')).toContain('the hidden text')
  client.close()
})

test('what is moved by RENAME INBOX, or to the trash over POP3, is encrypted on the way', async () => {
  const keys = await openpgp().generateKey({ userIDs: [{ name: 'Key', email: 'key@example.com' }], format: 'armored' })
  const user = await service.user('moved', { pubKey: keys.publicKey })
  const client = await Client.login(service.at('imap'), 'moved')
  for (const text of ['first text', 'second text']) await client.ok(append('INBOX', mail('secret', text)))
  await service.call('PUT', `/users/${user}`, { encryptMessages: true })
  await client.ok('RENAME INBOX Old')
  await client.ok('SELECT Old')
  const moved = (await client.ok('FETCH 1:* BODY.PEEK[]')).join('\n')
  expect(moved.match(/multipart\/encrypted/g)).toHaveLength(2)
  expect(moved).not.toContain('text')
  await service.call('PUT', `/users/${user}`, { encryptMessages: false })
  await client.ok(append('INBOX', mail('secret', 'third text')))
  await service.call('PUT', `/users/${user}`, { encryptMessages: true })
  const lines = ['USER moved', 'PASS secret of moved', 'DELE 1', 'QUIT']
  expect(await spoken(service.at('pop3'), `${lines.join('\r\n')}\r\n`)).not.toContain('-ERR')
  await client.ok('SELECT Trash')
  const trashed = (await client.ok('FETCH 1:* BODY.PEEK[]')).join('\n')
  expect(trashed).toContain('multipart/encrypted')
  expect(trashed).not.toContain('third text')
  client.close()
})

/** Says everything at once and hears the rest out. */
async function spoken(at: { host: string; port: number }, bytes: string): Promise<string> {
  const socket = connect(at.port, at.host)
  socket.write(bytes)
  const chunks: Buffer[] = []
  for await (const chunk of socket) chunks.push(chunk as Buffer)
  return Buffer.concat(chunks).toString('latin1')
}
