// Encryption at rest with an account's own OpenPGP key.

import { beforeAll, expect, test } from 'vitest'
import { openpgp } from '#lib/process/lazy.ts'
import { deliver, openLmtp } from '../../../dialogue.ts'
import { useTeal } from '../../../running.ts'
import { type Account, account, mail } from '../mail-world.ts'

const service = useTeal({ outbound: { enabled: false } })
let pubKey = ''
let privateKey = ''

beforeAll(async () => {
  const keys = await openpgp().generateKey({ userIDs: [{ name: 'Key', email: 'key@example.com' }], format: 'armored' })
  pubKey = keys.publicKey
  privateKey = keys.privateKey
})

async function source(user: Account, box: string, id: number): Promise<string> {
  const answer = await service.raw('GET', `/users/${user.id}/mailboxes/${user.box(box)}/messages/${id}/message.eml`)
  return answer.text()
}

async function decrypted(text: string): Promise<string> {
  const { readMessage, readPrivateKey, decrypt } = openpgp()
  const armored = /-----BEGIN PGP MESSAGE-----[\s\S]*-----END PGP MESSAGE-----/.exec(text)?.[0] ?? ''
  const message = await readMessage({ armoredMessage: armored })
  const decryptionKeys = await readPrivateKey({ armoredKey: privateKey })
  const { data } = await decrypt({ message, decryptionKeys, format: 'binary' })
  return Buffer.from(data as Uint8Array).toString()
}

test('what is uploaded is encrypted, and inside are the bytes that were sent', async () => {
  const user = await account(service, 'pgp', { pubKey, encryptMessages: true })
  const raw =
    'From: a@example.net\r\nTo: b@example.net\r\nCc: c@example.net\r\nX-Own: 1\r\nSubject: open\r\n\r\nsecret\r\n'
  const id = await user.put('INBOX', { raw })
  const shown = (await user.call('GET', `/mailboxes/${user.box('INBOX')}/messages/${id}`)).body
  expect(shown).toMatchObject({
    ...{ subject: 'open', encrypted: true, text: '', from: { address: 'a@example.net' } },
    contentType: { value: 'multipart/encrypted' },
  })
  expect(shown).not.toHaveProperty('html')
  expect(shown).not.toHaveProperty('cc')
  expect(shown.attachments.map((one: { contentType: string }) => one.contentType)).toEqual([
    'application/pgp-encrypted',
    'application/octet-stream',
  ])
  const stored = await source(user, 'INBOX', id)
  expect(stored).not.toContain('secret')
  expect(stored).not.toContain('X-Own')
  expect(await decrypted(stored)).toBe(raw)
  // What is encrypted already is left alone.
  const again = await user.put('INBOX', { raw: stored })
  expect(await source(user, 'INBOX', again)).toBe(stored)
})

test('a folder can ask for it alone, and drafts never are', async () => {
  const user = await account(service, 'folder', { pubKey })
  const made = await user.call('POST', '/mailboxes', { path: 'Vault', encryptMessages: true })
  expect(made.status).toBe(200)
  const inVault = await user.put('Vault', mail('v', 'hidden words'))
  expect(await source(user, 'Vault', inVault)).not.toContain('hidden words')
  const inBox = await user.put('INBOX', mail('i', 'open words'))
  expect(await source(user, 'INBOX', inBox)).toContain('open words')
  const draft = await user.put('Vault', { ...mail('d', 'draft words'), draft: true })
  expect(await source(user, 'Vault', draft)).toContain('draft words')
})

test('the copy of what is sent is encrypted, what goes out is not', async () => {
  const user = await account(service, 'sender', { pubKey, encryptMessages: true })
  const to = [{ address: 'x@example.net' }]
  const { body } = await user.call('POST', '/submit', { to, subject: 's', text: 'plain words' })
  expect(await decrypted(await source(user, 'Sent Mail', body.message.id))).toContain('plain words')
  const draft = await user.put('Drafts', { to, text: 'draft words', draft: true })
  const sent = await user.call('POST', `/mailboxes/${user.box('Drafts')}/messages/${draft}/submit`, {})
  expect(await decrypted(await source(user, 'Sent Mail', sent.body.message.id))).toContain('draft words')
  const { core } = service.teal
  for (const { body: num } of await core.read.all<{ body: number }>(
    'SELECT body FROM outbound WHERE user = ?',
    user.id,
  )) {
    expect((await (await core.bodies.open(num)).read()).toString()).toMatch(/plain words|draft words/)
  }
})

test('what comes in by LMTP and IMAP is encrypted, the lines on top stay readable', async () => {
  const user = await account(service, 'incoming', { pubKey, encryptMessages: true })
  await account(service, 'plain')
  const lmtp = await openLmtp(service.at('lmtp'))
  const message = Buffer.from('From: a@example.net\r\nTo: b@example.net\r\nSubject: in\r\n\r\nlmtp words\r\n')
  await deliver(lmtp, 'a@example.net', ['incoming@example.com', 'plain@example.com'], message)
  lmtp.close()
  const stored = await source(user, 'INBOX', 1)
  expect(stored).toMatch(/^Delivered-To: incoming@example\.com\r\nReturn-Path: <a@example\.net>\r\n/)
  expect(stored).not.toContain('lmtp words')
  expect(await decrypted(stored)).toBe(message.toString())
})

test('what is moved or copied into a folder that asks for it is encrypted on the way', async () => {
  const user = await account(service, 'mover', { pubKey })
  await user.call('POST', '/mailboxes', { path: 'Vault', encryptMessages: true })
  await user.put('Vault', { ...mail('there', 'x'), draft: true })
  const first = await user.put('INBOX', mail('one', 'first words'))
  const draft = await user.put('INBOX', { ...mail('two', 'draft words'), draft: true })
  const second = await user.put('INBOX', mail('three', 'second words', { flagged: true, metaData: { a: 1 } }))
  const box = user.box('INBOX')
  const used = async () => (await service.call('GET', `/users/${user.id}`)).body.limits.quota.used
  const before = await used()
  const { body } = await user.call('PUT', `/mailboxes/${box}/messages/${first}:${draft}`, { moveTo: user.box('Vault') })
  expect(body.id).toEqual([
    [first, 2],
    [draft, 3],
  ])
  expect(await used()).toBeGreaterThan(before)
  expect(await decrypted(await source(user, 'Vault', 2))).toContain('first words')
  expect(await source(user, 'Vault', 3)).toContain('draft words')
  const action = { moveTo: user.box('Vault') }
  const started = await user.call('POST', '/search', { q: 'subject:three', action })
  expect((await user.done(started.body.scheduled)).result).toMatchObject({ changed: 1 })
  expect(await decrypted(await source(user, 'Vault', 4))).toContain('second words')
  const shown = (await user.call('GET', `/mailboxes/${user.box('Vault')}/messages/4`)).body
  expect(shown).toMatchObject({ encrypted: true, flagged: true, metaData: { a: 1 }, subject: 'three' })
  expect(second).toBe(3)
  // Out of it again: encrypted it stays.
  await user.call('PUT', `/mailboxes/${user.box('Vault')}/messages/4`, { moveTo: box })
  expect(await source(user, 'INBOX', 4)).not.toContain('second words')
})

test('a key is looked at when it is set', async () => {
  const user = await account(service, 'keys', { pubKey })
  const { body } = await service.call('GET', `/users/${user.id}`)
  expect(body.keyInfo).toMatchObject({
    name: 'Key',
    address: 'key@example.com',
    fingerprint: expect.stringMatching(/^[0-9a-f]{40}/),
  })
  const broken = await user.call('PUT', '', { pubKey: 'no key at all' })
  expect(broken).toMatchObject({
    status: 400,
    body: { code: 'InputValidationError', details: { pubKey: expect.any(String) } },
  })
  await user.call('PUT', '', { pubKey: '' })
  expect((await service.call('GET', `/users/${user.id}`)).body.keyInfo).toBe(false)
})
