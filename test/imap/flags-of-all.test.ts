// Flags of a whole folder, which are kept in memory beside the rows: whatever several programs do, what one FETCH says of all
// messages and what a search by flags finds is what a FETCH of each alone says, which reads its row.

import { expect, test } from 'vitest'
import { Random } from '../fuzz/random.ts'
import { useTeal } from '../running.ts'
import { append, Client, mail } from './client.ts'

const service = useTeal()
const rounds = 60

test('flags of all messages are those of each, while others change, add and remove', async () => {
  const seed = Number(process.env.TEAL_SEED ?? 20261123)
  const random = new Random(seed)
  await service.user('flags')
  const reader = await Client.login(service.at('imap'), 'flags')
  reader.showsRecent = true
  const other = await Client.login(service.at('imap'), 'flags')
  for (let count = 0; count < 30; count++)
    await other.ok(append('INBOX', mail(`m${count}`), count % 3 === 0 ? '\\Seen' : ''))
  await reader.ok('SELECT INBOX (CONDSTORE)')
  await other.ok('SELECT INBOX')
  for (let round = 0; round < rounds; round++) {
    const steps = random.below(3)
    for (let step = 0; step < steps; step++) await change(other, random)
    await agrees(reader, `seed ${seed}, round ${round}`)
  }
  reader.close()
  other.close()
})

async function change(client: Client, random: Random): Promise<void> {
  await client.ok('NOOP')
  const uid = 1 + random.below(60)
  const flag = random.pick(['\\Seen', '\\Flagged', '\\Answered', '\\Deleted', '$Word', 'Other'])
  const sign = random.pick(['+', '-', ''])
  const [kind] = [random.below(10)]
  if (kind < 5) await client.ok(`UID STORE ${uid}:${uid + random.below(8)} ${sign}FLAGS.SILENT (${flag})`)
  // What came and changes at once stands behind what came later and did not.
  else if (kind < 7) {
    await client.ok(append('INBOX', mail('first'), flag))
    await client.ok(append('INBOX', mail('second')))
    await client.ok('NOOP')
    const [line = ''] = await client.ok('UID FETCH * (UID)')
    const last = Number(/UID (\d+)/.exec(line)?.[1])
    await client.ok(`UID STORE ${last - 1} +FLAGS (\\Draft)`)
  } else if (kind < 8) await client.ok(`UID COPY ${uid}:${uid + 2} INBOX`)
  else if (kind < 9) {
    await client.ok(`UID STORE ${uid} +FLAGS (\\Deleted)`)
    await client.ok(`UID EXPUNGE ${uid}:${uid + 20}`)
  } else await client.ok('STORE 1:* -FLAGS (\\Draft)')
}

/** The answers of one picture: nobody changes anything meanwhile. */
async function agrees(client: Client, where: string): Promise<void> {
  await client.ok('NOOP')
  const all = await client.ok('FETCH 1:* (UID FLAGS MODSEQ)')
  const each: string[] = []
  for (let seq = 1; seq <= all.length; seq++) each.push(...(await client.ok(`FETCH ${seq} (UID FLAGS MODSEQ)`)))
  expect(all, where).toEqual(each)
  expect(await client.ok('UID FETCH 1:* FLAGS'), where).toEqual(each.map(line => line.replace(/ MODSEQ \(\d+\)/, '')))
  const uids = (having: RegExp) => each.filter(line => having.test(line)).map(line => /UID (\d+)/.exec(line)?.[1])
  const flagged = uids(/\\Flagged/)
  const found = await client.ok('UID SEARCH FLAGGED')
  expect(found, where).toEqual([['* SEARCH', ...flagged].join(' ')])
  const unseen = each.filter(line => !line.includes('\\Seen')).length
  expect((await client.ok('SEARCH UNSEEN'))[0]?.split(' ').length, where).toBe(unseen + 2)
}

test('a change of many that stand together leaves each of them what else it has', async () => {
  await service.user('runs')
  const client = await Client.login(service.at('imap'), 'runs')
  const had = ['', '\\Seen', '\\Answered', '\\Seen \\Draft', '\\Flagged', '\\Deleted']
  for (const [at, flags] of had.entries()) await client.ok(append('INBOX', mail(`m${at}`), flags))
  await client.ok('SELECT INBOX')
  const held = async () => {
    const lines = await client.ok('FETCH 1:* (FLAGS)')
    return lines.map(line =>
      (/FLAGS \(([^)]*)\)/.exec(line)?.[1] ?? '')
        .split(' ')
        .filter(flag => flag !== '\\Recent')
        .sort()
        .join(' ')
        .trim(),
    )
  }
  await client.ok('STORE 1:* +FLAGS (\\Answered)')
  expect(await held()).toEqual([
    '\\Answered',
    '\\Answered \\Seen',
    '\\Answered',
    '\\Answered \\Draft \\Seen',
    '\\Answered \\Flagged',
    '\\Answered \\Deleted',
  ])
  await client.ok('STORE 1:* -FLAGS (\\Seen \\Answered)')
  expect(await held()).toEqual(['', '', '', '\\Draft', '\\Flagged', '\\Deleted'])
  await client.ok('STORE 1:* FLAGS (\\Seen \\Flagged)')
  expect(await held()).toEqual(had.map(() => '\\Flagged \\Seen'))
  client.close()
})

test('a folder that is deleted and made again has no flags of the one before', async () => {
  await service.user('again')
  const client = await Client.login(service.at('imap'), 'again')
  for (const flag of ['\\Seen', '\\Flagged']) {
    await client.ok('CREATE Again')
    for (let count = 0; count < 12; count++) await client.ok(append('Again', mail(`m${count}`), flag))
    await client.ok('SELECT Again')
    const lines = await client.ok('FETCH 1:* FLAGS')
    expect(lines.length).toBe(12)
    for (const line of lines) expect(line).toContain(flag)
    await client.ok('UNSELECT')
    await client.ok('DELETE Again')
  }
  client.close()
})

test('sessions that ask for the flags of a folder at once get all of them', async () => {
  await service.user('crowd')
  const clients = await Promise.all(Array.from({ length: 8 }, () => Client.login(service.at('imap'), 'crowd')))
  const [first] = clients as [Client]
  for (let count = 0; count < 20; count++) await first.ok(append('INBOX', mail(`m${count}`)))
  await first.ok('SELECT INBOX')
  for (let total = 20; total < 2500; total *= 2) {
    await first.ok('COPY 1:* INBOX')
    await first.ok('NOOP')
  }
  await Promise.all(clients.map(client => client.ok('SELECT INBOX')))
  for (let round = 0; round < 4; round++) {
    const answers = await Promise.all(clients.map(client => client.ok('FETCH 1:* (UID FLAGS)')))
    for (const lines of answers) expect(lines.filter(line => /^\* \d+ FETCH/.test(line)).length).toBe(2560)
    const unseen = await Promise.all(clients.map(client => client.ok('UID SEARCH UNSEEN')))
    for (const [line = ''] of unseen) expect(line.split(' ').length).toBe(2562)
    // Each of them has to bring what is remembered up to date, and one does it for all.
    await first.ok('STORE 1:* +FLAGS.SILENT (\\Flagged)')
    await Promise.all(clients.map(client => client.ok('NOOP')))
  }
  for (const client of clients) client.close()
})
