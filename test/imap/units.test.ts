// Commands that change everything in a large folder: done in units, told as they go, answered when all of it is done.

import { beforeAll, expect, test } from 'vitest'
import { limits } from '#lib/limits.ts'
import { useTeal } from '../running.ts'
import { append, Client, mail } from './client.ts'

const service = useTeal()
const count = 2 * limits.imap.unitMessages + 100
let user: string

const login = (mailbox?: string) => Client.login(service.at('imap'), 'anna', mailbox)

beforeAll(async () => {
  user = await service.user('anna')
  const client = await login()
  await client.ok('CREATE Many')
  for (let left = count; left > 0; left -= 300) {
    const messages = Array.from({ length: Math.min(300, left) }, (_, at) => {
      const text = `Subject: ${left - at}\r\n\r\nx`
      return Buffer.from(` {${text.length}+}\r\n${text}`)
    })
    await client.ok(Buffer.concat([Buffer.from('APPEND Many'), ...messages]))
  }
  client.close()
})

const total = async (client: Client, mailbox: string) => {
  const [line] = await client.ok(`STATUS ${mailbox} (MESSAGES)`)
  return Number(/MESSAGES (\d+)/.exec(line ?? '')?.[1])
}

const used = async () => (await service.call('GET', `/users/${user}`)).body.limits.quota.used as number

async function sizeOfMany(client: Client): Promise<number> {
  const [line] = await client.ok('STATUS Many (SIZE)')
  return Number(/SIZE (\d+)/.exec(line ?? '')?.[1])
}

test('STORE changes and tells all of them', async () => {
  const client = await login('Many')
  const lines = await client.ok('STORE 1:* +FLAGS (\\Flagged word)')
  const told = lines.filter(line => /^\* \d+ FETCH .*\\Flagged word\)/.test(line))
  expect(told.map(line => Number(line.split(' ')[1]))).toEqual(Array.from({ length: count }, (_, at) => at + 1))
  expect(await client.ok('SEARCH UNFLAGGED')).toEqual(['* SEARCH'])
  const status = (await client.ok('STATUS Many (HIGHESTMODSEQ)')).find(line => line.startsWith('* STATUS'))
  const modseq = Number(/HIGHESTMODSEQ (\d+)/.exec(status ?? '')?.[1])
  await client.ok(`STORE 700 -FLAGS.SILENT (\\Flagged)`)
  const answer = await client.ask(`STORE 1:* (UNCHANGEDSINCE ${modseq}) +FLAGS.SILENT (\\Answered)`)
  expect([answer.status, answer.text]).toEqual(['OK', expect.stringMatching(/^\[MODIFIED 700\] /)])
  client.close()
})

test('STORE leaves alone what lies between the messages it changes', async () => {
  const client = await login('Many')
  const flags = async (set: string) => {
    const lines = await client.ok(`FETCH ${set} FLAGS`)
    return lines.flatMap(line => /^\* (\d+) FETCH \(FLAGS \(([^)]*)\)/.exec(line)?.slice(1).join(' ').trim() ?? [])
  }
  await client.ok('STORE 1:12 FLAGS.SILENT ()')
  await client.ok('STORE 5 FLAGS.SILENT (\\Seen)')
  await client.ok('STORE 8 FLAGS.SILENT (\\Draft)')
  await client.ok('STORE 3 FLAGS.SILENT (word)')
  await client.ok('STORE 1:2,4:6,8:10,12 +FLAGS.SILENT (\\Seen)')
  expect(await flags('1:12')).toEqual(
    ['1 \\Seen', '2 \\Seen', '3 word', '4 \\Seen', '5 \\Seen', '6 \\Seen', '7', '8 \\Seen \\Draft', '9 \\Seen'].concat([
      '10 \\Seen',
      '11',
      '12 \\Seen',
    ]),
  )
  // A keyword goes with the others where flags are set.
  await client.ok('STORE 1:7 FLAGS.SILENT (\\Answered)')
  expect(await flags('1:8')).toEqual([...[1, 2, 3, 4, 5, 6, 7].map(at => `${at} \\Answered`), '8 \\Seen \\Draft'])
  // From a session that has nothing in memory, too.
  const other = await login('Many')
  expect((await other.ok('SEARCH 1:12 ANSWERED')).at(0)).toBe('* SEARCH 1 2 3 4 5 6 7')
  expect((await other.ok('SEARCH 1:12 KEYWORD word')).at(0)).toBe('* SEARCH')
  other.close()
  client.close()
})

test('COPY copies all of them under one COPYUID', async () => {
  const client = await login('Many')
  await client.ok('CREATE Copies')
  const { status, text, lines } = await client.ask('COPY 1:* Copies')
  expect([status, text.split(']')[0], lines.filter(line => line.includes('COPYUID'))]).toEqual([
    'OK',
    expect.stringMatching(new RegExp(`^\\[COPYUID \\d+ 1:${count} 1:${count}$`)),
    [],
  ])
  expect(await total(client, 'Copies')).toBe(count)
  client.close()
})

test('COPY that does not fit leaves nothing behind', async () => {
  const client = await login('Many')
  await client.ok('CREATE Few')
  const before = await used()
  const size = await sizeOfMany(client)
  await service.call('PUT', `/users/${user}`, { quota: before + Math.floor((size * 3) / 4) })
  expect(await client.ask('COPY 1:* Few')).toMatchObject({
    status: 'NO',
    text: expect.stringMatching(/^\[OVERQUOTA\]/),
  })
  // Refused before a copy was made.
  expect(await client.ok('STATUS Few (MESSAGES UIDNEXT)')).toEqual(['* STATUS "Few" (MESSAGES 0 UIDNEXT 1)'])
  expect(await used()).toBe(before)
  await service.call('PUT', `/users/${user}`, { quota: 0 })
  client.close()
})

test('of two at once that do not both fit, one that loses the room on its way leaves nothing behind', async () => {
  const clients = [await login('Many'), await login('Many')]
  const [client] = clients as [Client, Client]
  await client.ok('CREATE Some')
  const before = await used()
  const size = await sizeOfMany(client)
  await service.call('PUT', `/users/${user}`, { quota: before + Math.floor((size * 3) / 2) })
  // There is room for each when it is asked for.
  const answers = await Promise.all(clients.map(each => each.ask('COPY 1:* Some')))
  const copied = answers.filter(({ status }) => status === 'OK').length
  expect(copied).toBeLessThan(2)
  for (const { status, text } of answers) expect(`${status} ${text}`).toMatch(/^(OK|NO \[OVERQUOTA\])/)
  expect(await total(client, 'Some')).toBe(copied * count)
  expect(await used()).toBe(before + copied * size)
  await service.call('PUT', `/users/${user}`, { quota: 0 })
  for (const each of clients) each.close()
})

test('MOVE tells the new uids before the messages are gone, unit by unit', async () => {
  const client = await login('Copies')
  await client.ok('CREATE Moved')
  const lines = await client.ok('MOVE 1:* Moved')
  expect(lines.filter(line => line.endsWith('EXPUNGE'))).toHaveLength(count)
  const moved = lines.filter(line => line.includes('COPYUID'))
  expect(moved.map(line => line.split(' ')[4])).toEqual([
    `1:${limits.imap.unitMessages}`,
    `${limits.imap.unitMessages + 1}:${2 * limits.imap.unitMessages}`,
    `${2 * limits.imap.unitMessages + 1}:${count}`,
  ])
  expect(lines[0]).toBe(moved[0])
  expect(await total(client, 'Copies')).toBe(0)
  expect(await total(client, 'Moved')).toBe(count)
  client.close()
})

test('EXPUNGE takes away all that are marked, and only those the client knows', async () => {
  const client = await login('Moved')
  await client.ok('STORE 1:* +FLAGS.SILENT (\\Deleted)')
  await client.ok('STORE 10 -FLAGS.SILENT (\\Deleted)')
  const other = await login()
  await other.ok(append('Moved', mail('late'), '\\Deleted'))
  const lines = await client.ok('EXPUNGE')
  expect(lines.filter(line => line.endsWith('EXPUNGE'))).toHaveLength(count - 1)
  expect(await total(other, 'Moved')).toBe(2)
  expect(await client.ok('UID SEARCH DELETED')).toEqual([`* SEARCH ${count + 1}`])
  await client.ok('CLOSE')
  expect(await total(other, 'Moved')).toBe(1)
  for (const one of [client, other]) one.close()
})

test('MOVE into the folder where the messages are gives them new uids', async () => {
  const client = await login()
  await client.ok('CREATE Same')
  for (const name of ['a', 'b', 'c']) await client.ok(append('Same', mail(name), '\\Flagged'))
  await client.ok('SELECT Same')
  const other = await login('Same')
  const { status, lines } = await client.ask('MOVE 1:2 Same')
  expect([status, ...lines.filter(line => !line.includes('FETCH') && !line.includes('RECENT'))]).toEqual([
    'OK',
    expect.stringMatching(/^\* OK \[COPYUID \d+ 1:2 4:5\] Moved$/),
    '* 1 EXPUNGE',
    '* 1 EXPUNGE',
    '* 3 EXISTS',
  ])
  const all = ['* 1 FETCH (UID 3 ', '* 2 FETCH (UID 4 ', '* 3 FETCH (UID 5 ']
  for (const one of [client, other]) {
    await one.ok('NOOP')
    const found = await one.ok('FETCH 1:* (UID FLAGS ENVELOPE)')
    expect(found.map(line => line.slice(0, 17))).toEqual(all)
    expect(found.map(line => /"([abc])"/.exec(line)?.[1])).toEqual(['c', 'a', 'b'])
    for (const line of found) expect(line).toContain('\\Flagged')
    one.close()
  }
})
