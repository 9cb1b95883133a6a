// Folders with the longest names there may be: an account may have some, and not so many that they are a burden to all.

import { expect, test } from 'vitest'
import { numberId } from '#lib/id.ts'
import { limits } from '#lib/limits.ts'
import { account, mail } from '../http/api/mail-world.ts'
import { EventReader } from '../http/api/stream.ts'
import { useTeal } from '../running.ts'
import { Client } from './client.ts'

const service = useTeal()
const login = (user: string) => Client.login(service.at('imap'), user)

const { mailboxDepthMax, mailboxPartLengthMax } = limits.name

/** As deep and as long as a path may be. */
function longest(letter: string): string {
  return new Array(mailboxDepthMax).fill(letter.repeat(mailboxPartLengthMax)).join('/')
}

test('names are bounded in their sum, by making folders and by renaming them', async () => {
  await service.user('anna')
  const client = await login('anna')
  await client.ok(`CREATE ${longest('a')}`)
  const most = Math.floor((1500 * limits.mailbox.pathLengthMean) / longest('a').length)
  for (let count = 1; count < most; count++) await client.ok(`CREATE ${longest(String.fromCharCode(97 + count))}`)
  expect(await client.ask(`CREATE ${longest('z')}`)).toMatchObject({
    status: 'NO',
    text: '[CANNOT] The names of all mailboxes together would be too long',
  })
  await client.ok('CREATE short')
  expect(await client.ask(`RENAME short ${longest('z')}`)).toMatchObject({ status: 'NO' })
  await client.ok(`RENAME ${longest('a')} ${longest('z')}`)
  await client.ok(`DELETE ${longest('z')}`)
  await client.ok(`RENAME short ${longest('y')}`)
  expect(await client.ok('LIST "" "%"')).toHaveLength(5 + most)
  client.close()
})

test('a message in the archive does not bring along a long name, and comes back', async () => {
  const user = await account(service, 'bert')
  const path = longest('b')
  const { body } = await user.call('POST', '/mailboxes', { path })
  const message = await user.put(path, mail('kept', 'x'))
  await user.call('DELETE', `/mailboxes/${body.id}/messages/${message}`)
  const [kept] = (await user.call('GET', '/archived/messages')).body.results
  expect(kept).toMatchObject({ subject: 'kept', mailbox: body.id })
  expect(JSON.stringify(kept)).not.toContain('b/b')
  expect((await user.call('POST', `/archived/messages/${kept.id}/restore`, {})).body).toMatchObject({
    mailbox: body.id,
  })
})

test('folders that went are forgotten at last, and who was away for so long reads anew', async () => {
  const id = await service.user('carl')
  const client = await login('carl')
  for (let at = 0; at < limits.mailbox.removedMax; at += 100) {
    const tags: string[] = []
    for (let one = at; one < at + 100; one++)
      tags.push(client.command(`CREATE f${one}`), client.command(`DELETE f${one}`))
    for (const tag of tags) expect(await client.answer(tag)).toMatchObject({ status: 'OK' })
  }
  const reader = await EventReader.open(`${service.teal.url}/users/${id}/updates`, service.teal.rootToken, numberId(1))
  await reader.until(() => reader.told.length > 0)
  expect(reader.told[0]?.data).toMatchObject({ command: 'RESYNC', code: 'ReplayGap' })
  reader.close()
  // What is made anew is another one, also where nobody remembers the first.
  await client.ok('CREATE f1')
  client.close()
})
