// What is remembered of recipients while mail comes in all the time: a change is true for the next message, and ids of
// messages are known however many there are.

import { expect, test } from 'vitest'
import { referenceHash } from '#actors/delivery/prepare.ts'
import { limits } from '#lib/limits.ts'
import { findUser } from '#store/accounts/users.ts'
import { operation } from '#store/engine/write.ts'
import { referenceInsert } from '#store/mailboxes/references.ts'
import { deliver, openLmtp } from '../dialogue.ts'
import { send } from '../http/api/mail.ts'
import { type Body, useTeal } from '../running.ts'

const running = useTeal()
const { call, user } = running

const { referencesMax, referencesReadMax } = limits.actor

let serial = 0

async function answer(to: string): Promise<string> {
  serial += 1
  const [line = ''] = await send(running, to, `Message-ID: <${serial}@example.org>\nSubject: ${serial}\n\nHello\n`)
  return line.slice(0, 3)
}

test('a change of an address, an alias, an account or its quota is true for the next message', async () => {
  const id = await user('eager')
  const path = `/users/${id}`
  const done = async (method: string, at: string, body?: object) => {
    const reply = await call(method, at, body)
    expect(reply.body).toMatchObject({ success: true })
    return reply.body.id as string
  }
  expect(await answer('eager@example.com')).toBe('250')
  expect(await answer('second@example.com')).toBe('550')
  const second = await done('POST', `${path}/addresses`, { address: 'second@example.com' })
  expect(await answer('second@example.com')).toBe('250')
  await done('DELETE', `${path}/addresses/${second}`)
  expect(await answer('second@example.com')).toBe('550')

  expect(await answer('eager@alias.example')).toBe('550')
  const alias = await done('POST', '/domainaliases', { alias: 'alias.example', domain: 'example.com' })
  expect(await answer('eager@alias.example')).toBe('250')
  await done('DELETE', `/domainaliases/${alias}`)
  expect(await answer('eager@alias.example')).toBe('550')

  await done('PUT', path, { disabled: true })
  expect(await answer('eager@example.com')).toBe('550')
  await done('PUT', path, { disabled: false, quota: 1 })
  expect(await answer('eager@example.com')).toBe('552')
  await done('PUT', path, { quota: 1_000_000 })
  expect(await answer('eager@example.com')).toBe('250')
  await done('DELETE', path)
  expect(await answer('eager@example.com')).toBe('550')
})

test('postmaster and abuse of every domain that is here arrive though nobody made them', async () => {
  expect(await answer('postmaster@keeper.example')).toBe('550')
  const id = await user('keeper', { address: 'keeper@keeper.example' })
  await user('later', { address: 'later@keeper.example' })
  await call('POST', '/domainaliases', { alias: 'kept.example', domain: 'keeper.example' })
  const all = [
    ...['postmaster@keeper.example', 'Abuse@keeper.example', 'postmaster@kept.example', 'POSTMASTER+x@Keeper.Example'],
    ...['"postmaster"@keeper.example', 'abuse+dmarc@kept.example', 'post.master@keeper.example'],
  ]
  for (const to of all) expect(await answer(to)).toBe('250')
  const inbox = (await call('GET', `/users/${id}/mailboxes/resolve?path=INBOX`)).body.id
  const { body } = await call('GET', `/users/${id}/mailboxes/${inbox}/messages`)
  expect(body.total).toBe(all.length)
  expect(await answer('postmaster@elsewhere.example')).toBe('550')
  expect(await answer('webmaster@keeper.example')).toBe('550')
  // Who makes the address has it.
  const other = await user('other', { address: 'abuse@keeper.example' })
  expect(await answer('abuse@keeper.example')).toBe('250')
  const box = (await call('GET', `/users/${other}/mailboxes/resolve?path=INBOX`)).body.id
  expect((await call('GET', `/users/${other}/mailboxes/${box}/messages`)).body.total).toBe(1)
  // The next one stands in for an account that takes nothing any more.
  await call('PUT', `/users/${id}`, { disabled: true })
  expect(await answer('postmaster@keeper.example')).toBe('250')
})

test('they are those of the domain who look after it, all of them who can take mail', async () => {
  const [first, anna, ben] = [
    await user('old', { address: 'old@admins.example' }),
    await user('anna', { address: 'anna@admins.example' }),
    await user('ben', { address: 'ben@elsewhere.example' }),
  ]
  const total = async (id: string) => {
    const inbox = (await call('GET', `/users/${id}/mailboxes/resolve?path=INBOX`)).body.id
    return (await call('GET', `/users/${id}/mailboxes/${inbox}/messages`)).body.total
  }
  const set = { name: 'admins.example', admins: [anna, ben] }
  expect((await call('POST', '/domains', set)).body).toMatchObject({ success: true })
  expect(await answer('abuse@admins.example')).toBe('250')
  expect([await total(first), await total(anna), await total(ben)]).toEqual([0, 1, 1])
  // One who cannot is no reason to refuse it.
  await call('PUT', `/users/${anna}`, { quota: 1 })
  expect(await answer('postmaster@admins.example')).toBe('250')
  expect([await total(anna), await total(ben)]).toEqual([1, 2])
  await call('PUT', `/users/${ben}`, { disabled: true })
  expect(await answer('postmaster@admins.example')).toBe('552')
  await call('PUT', `/users/${anna}`, { disabled: true })
  expect(await answer('postmaster@admins.example')).toBe('250')
  expect(await total(first)).toBe(1)
})

// Those of an account with few are read at once, of others only those that a message names.
test.each([10, referencesReadMax, referencesReadMax + 1, referencesMax + 1000])(
  'of an account with %i ids an answer to an old message finds its thread',
  async count => {
    const name = `ids${count}`
    const id = await user(name)
    const { core } = running.teal
    const { num: owner = 0 } = (await findUser(core.read, id)) ?? {}
    const known = `<old@${name}.test>`
    const hashes = [referenceHash(known), ...Array.from({ length: count - 1 }, (_, at) => at + 1)]
    const rows = hashes.map(hash => operation(referenceInsert, { user: owner, hash, thread: 7_000_000 }))
    await core.writer.submit({ partition: 0, epoch: 0, operations: [...rows], bytes: count * 30 })
    await send(running, `${name}@example.com`, `In-Reply-To: ${known}\nMessage-ID: <new@${name}.test>\n\nYes\n`)
    await send(running, `${name}@example.com`, `Message-ID: <other@${name}.test>\n\nNo\n`)
    const [other, answer] = await listed(id)
    expect(answer.thread).toBe((7_000_000).toString(16).padStart(24, '0'))
    expect(other.thread).not.toBe(answer.thread)
  },
)

test('an id is known also after more of them than are kept in memory', async () => {
  const id = await user('busy')
  const messages = ['Message-ID: <first@busy.test>\nDate: Sun, 22 Nov 2026 10:00:00 +0000\n\nHello\n']
  for (let from = 0; from < referencesMax + 200; from += 30) {
    const others = Array.from({ length: 30 }, (_, at) => `<${from + at}@elsewhere.test>`).join('\n ')
    messages.push(`Message-ID: <${from}@busy.test>\nReferences: ${others}\n\nHello\n`)
  }
  messages.push('Message-ID: <answer@busy.test>\nIn-Reply-To: <first@busy.test>\n\nYes\n', messages[0] ?? '')
  const lmtp = await openLmtp(running.at('lmtp'))
  for (const message of messages) {
    const bytes = Buffer.from(message.replaceAll('\n', '\r\n'))
    expect(await deliver(lmtp, 'sender@example.org', ['busy@example.com'], bytes)).toEqual([
      expect.stringMatching(/^250/),
    ])
  }
  lmtp.close()
  const results = await listed(id)
  const first = results.at(-1)
  expect(results[0].thread).toBe(first.thread)
  // The repeated one was not stored again.
  expect(results).toHaveLength(messages.length - 1)
})

async function listed(id: string): Promise<Body[]> {
  const inbox = (await call('GET', `/users/${id}/mailboxes`)).body.results[0].id
  return (await call('GET', `/users/${id}/mailboxes/${inbox}/messages?limit=250`)).body.results
}
