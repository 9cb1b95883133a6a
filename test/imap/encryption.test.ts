// APPEND to an account or a folder that wants its mail encrypted.

import { expect, test } from 'vitest'
import { openpgp } from '#lib/lazy.ts'
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
  expect(await stored('Vault', '\\Draft')).toContain('the hidden text')
  await service.call('PUT', `/users/${user}`, { encryptMessages: true })
  expect(await stored('Trash')).toContain('multipart/encrypted')
  expect(await stored('Drafts')).toContain('the hidden text')
  client.close()
})
