// What one session is told of what others do: sequence numbers that stay true, expunges at the right moment, IDLE,
// CONDSTORE and QRESYNC.

import { beforeEach, describe, expect, test } from 'vitest'
import { deliver, openLmtp } from '../dialogue.ts'
import { useTeal } from '../running.ts'
import { append, Client, mail } from './client.ts'

const service = useTeal()
let number = 0
let user = ''

beforeEach(async () => {
  user = `view${++number}`
  await service.user(user)
})

const login = (mailbox = 'INBOX') => Client.login(service.at('imap'), user, mailbox)

async function two(count: number): Promise<[Client, Client]> {
  const one = await login()
  for (let at = 1; at <= count; at++) await one.ok(append('INBOX', mail(`m${at}`)))
  return [one, await login()]
}

const shown = (lines: readonly string[]) => lines.filter(line => !/RECENT/.test(line))

describe('changes by others', () => {
  test('arrive with the next command, each once', async () => {
    const [one, other] = await two(2)
    await one.ok('STORE 1 +FLAGS (\\Flagged)')
    await one.ok(append('INBOX', mail('m3')))
    expect(shown(await other.ok('NOOP'))).toEqual(['* 3 EXISTS', '* 1 FETCH (UID 1 FLAGS (\\Flagged))'])
    expect(await other.ok('NOOP')).toEqual([])
    expect(await one.ok('NOOP')).toEqual([])
    one.close()
    other.close()
  })

  test('expunges wait for a command that allows them', async () => {
    const [one, other] = await two(4)
    await one.ok('STORE 1,3 +FLAGS.SILENT (\\Deleted)')
    await one.ok('EXPUNGE')
    await one.ok(append('INBOX', mail('m5')))
    const held = await other.ask('FETCH 1:4 UID')
    expect(held).toMatchObject({ status: 'NO', text: expect.stringMatching(/^\[EXPUNGEISSUED\]/) })
    expect(shown(held.lines)).toEqual(['* 2 FETCH (UID 2)', '* 4 FETCH (UID 4)', '* 5 EXISTS'])
    expect(shown(await other.ok('SEARCH ALL'))).toEqual(['* SEARCH 2 4 5'])
    expect(await other.ok('STORE 4 +FLAGS (\\Seen)')).toEqual(['* 4 FETCH (UID 4 FLAGS (\\Seen))'])
    // RFC 2180 4.2: what is there is changed, and who did not ask for silence hears that it was not all.
    expect(await other.ask('STORE 3:4 +FLAGS (\\Draft)')).toMatchObject({
      status: 'NO',
      text: expect.stringMatching(/^\[EXPUNGEISSUED\]/),
      lines: ['* 4 FETCH (UID 4 FLAGS (\\Seen \\Draft))'],
    })
    expect(await other.ok('STORE 3:4 FLAGS.SILENT (\\Seen)')).toEqual([])
    // 4.4: all of them are copied or none, but by uid those that are there.
    expect(await other.ask('COPY 3:4 Trash')).toMatchObject({
      status: 'NO',
      text: expect.stringMatching(/^\[EXPUNGEISSUED\]/),
    })
    const trash = await one.ok('STATUS Trash (MESSAGES UIDNEXT)')
    expect(trash.filter(line => line.includes('STATUS'))).toEqual(['* STATUS "Trash" (MESSAGES 0 UIDNEXT 1)'])
    expect((await other.ask('COPY 2,4 Trash')).status).toBe('OK')
    expect(shown(await other.ok('UID FETCH 4 UID'))).toEqual(['* 4 FETCH (UID 4)', '* 1 EXPUNGE', '* 2 EXPUNGE'])
    expect(await other.ok('FETCH 1:* UID')).toEqual([2, 4, 5].map((uid, at) => `* ${at + 1} FETCH (UID ${uid})`))
    one.close()
    other.close()
  })

  test('a message that came and went unseen is never mentioned', async () => {
    const [one, other] = await two(1)
    await one.ok(append('INBOX', mail('brief'), '\\Deleted'))
    await one.ok('EXPUNGE')
    expect(await other.ok('NOOP')).toEqual([])
    one.close()
    other.close()
  })

  test('1:* never touches what arrived unseen', async () => {
    const [one, other] = await two(1)
    await one.ok(append('INBOX', mail('new'), '\\Deleted'))
    // The other session has not been told of the second message, so its commands do not mean it.
    const other1 = await other.ask('STORE 1:* +FLAGS (\\Flagged)')
    expect(shown(other1.lines)).toEqual(['* 1 FETCH (UID 1 FLAGS (\\Flagged))', '* 2 EXISTS'])
    one.close()
    other.close()
  })

  test('a uid that the client knows from another session means the message that has it', async () => {
    const [one, other] = await two(1)
    const fresh = async (name: string) =>
      /APPENDUID \d+ (\d+)/.exec((await one.ask(append('INBOX', mail(name)))).text)?.[1]
    expect(shown(await other.ok(`UID STORE ${await fresh('m2')} +FLAGS (\\Flagged)`))).toEqual([
      '* 2 EXISTS',
      '* 2 FETCH (UID 2 FLAGS (\\Flagged))',
    ])
    expect(shown(await other.ok(`UID FETCH ${await fresh('m3')}:* UID`))).toEqual(['* 3 EXISTS', '* 3 FETCH (UID 3)'])
    expect(shown(await other.ok(`UID SEARCH UNSEEN UID 3:${await fresh('m4')}`))).toEqual([
      '* 4 EXISTS',
      '* SEARCH 3 4',
    ])
    expect((await other.ask(`UID COPY ${await fresh('m5')} Trash`)).text).toMatch(/^\[COPYUID \d+ 5 1\]/)
    await one.ok('STORE 1 +FLAGS.SILENT (\\Deleted)')
    await one.ok('EXPUNGE')
    const lines = shown(await other.ok(`UID MOVE ${await fresh('m6')} Trash`))
    expect(lines.map(line => line.replace(/COPYUID \d+/, 'COPYUID'))).toEqual([
      '* 6 EXISTS',
      '* OK [COPYUID 6 2] Moved',
      '* 1 EXPUNGE',
      '* 5 EXPUNGE',
    ])
    // Whoever means all of them means those it has heard of.
    await fresh('m7')
    expect(shown(await other.ok('UID STORE 5:* +FLAGS.SILENT (\\Deleted)'))).toEqual(['* 5 EXISTS'])
    expect(shown(await other.ok('FETCH 4:* FLAGS'))).toEqual(['* 4 FETCH (FLAGS (\\Deleted))', '* 5 FETCH (FLAGS ())'])
    one.close()
    other.close()
  })

  test('keywords are announced before they appear', async () => {
    const [one, other] = await two(1)
    await one.ok('STORE 1 +FLAGS ($Fresh)')
    const lines = await other.ok('NOOP')
    expect(lines[0]).toMatch(/^\* FLAGS \(.*\$Fresh\)$/)
    expect(lines[1]).toMatch(/^\* OK \[PERMANENTFLAGS \(.*\$Fresh \\\*\)\]/)
    expect(lines[2]).toBe('* 1 FETCH (UID 1 FLAGS ($Fresh))')
    one.close()
    other.close()
  })

  test('mail from elsewhere is seen too', async () => {
    const [one] = await two(0)
    const id = (await service.call('GET', `/users/resolve/${user}`)).body.id
    const inbox = (await service.call('GET', `/users/${id}/mailboxes/resolve?path=INBOX`)).body.id
    const lmtp = await openLmtp(service.at('lmtp'))
    await deliver(lmtp, 'bea@example.net', [`${user}@example.com`], Buffer.from(mail('delivered')))
    lmtp.close()
    expect(shown(await one.ok('NOOP'))).toEqual(['* 1 EXISTS'])
    await service.call('PUT', `/users/${id}/mailboxes/${inbox}/messages/1`, { flagged: true })
    expect(await one.ok('NOOP')).toEqual([expect.stringMatching(/^\* 1 FETCH \(UID 1 FLAGS \(.*\\Flagged/)])
    one.close()
  })
})

describe('IDLE', () => {
  test('tells as things happen, expunges too', async () => {
    const [one, other] = await two(2)
    const next = async (): Promise<string> => shown([await other.line()])[0] ?? next()
    const tag = other.command('IDLE')
    expect(await other.line()).toMatch(/^\+/)
    await one.ok(append('INBOX', mail('m3')))
    expect(await next()).toBe('* 3 EXISTS')
    await one.ok('STORE 2 +FLAGS (\\Deleted)')
    expect(await next()).toBe('* 2 FETCH (UID 2 FLAGS (\\Deleted))')
    await one.ok('EXPUNGE')
    expect(await next()).toBe('* 2 EXPUNGE')
    other.send('DONE\r\n')
    expect(await other.answer(tag)).toMatchObject({ status: 'OK', lines: [] })
    one.close()
    other.close()
  })

  test('what happened before it is told at its start; anything but DONE is refused', async () => {
    const [one, other] = await two(1)
    await one.ok('STORE 1 +FLAGS (\\Seen)')
    const tag = other.command('IDLE')
    await other.line()
    expect(await other.line()).toBe('* 1 FETCH (UID 1 FLAGS (\\Seen))')
    other.send('NOOP\r\n')
    expect(await other.answer(tag)).toMatchObject({ status: 'BAD' })
    one.close()
    other.close()
  })
})

describe('CONDSTORE and QRESYNC', () => {
  const modseqs = async (client: Client) =>
    (await client.ok('FETCH 1:* MODSEQ'))
      .filter(line => /FETCH/.test(line))
      .map(line => Number(/MODSEQ \((\d+)\)/.exec(line)?.[1]))

  test('change numbers rise, and CHANGEDSINCE gives what is newer', async () => {
    const [one] = await two(3)
    const before = await modseqs(one)
    await one.ok('STORE 2 +FLAGS.SILENT (\\Seen)')
    const after = await modseqs(one)
    expect(after[1]).toBeGreaterThan(Math.max(...before))
    expect(await one.ok(`FETCH 1:* (FLAGS) (CHANGEDSINCE ${Math.max(...before)})`)).toEqual([
      `* 2 FETCH (FLAGS (\\Seen) MODSEQ (${after[1]}))`,
    ])
    expect(await one.ok(`SEARCH MODSEQ ${after[1]}`)).toEqual([`* SEARCH 2 (MODSEQ ${after[1]})`])
    one.close()
  })

  test('a client that was away is told what went and what changed', async () => {
    const [one, other] = await two(6)
    await one.ok('ENABLE QRESYNC')
    const select = await one.ok('SELECT INBOX')
    const uidValidity = /UIDVALIDITY (\d+)/.exec(select.join('\n'))?.[1]
    const modseq = /HIGHESTMODSEQ (\d+)/.exec(select.join('\n'))?.[1]
    await other.ok('STORE 2,4 +FLAGS.SILENT (\\Deleted)')
    await other.ok('EXPUNGE')
    await other.ok('STORE 1 +FLAGS.SILENT (\\Answered)')
    await other.ok(append('INBOX', mail('m7')))
    expect(shown(await one.ok('NOOP'))).toEqual([
      '* VANISHED 2,4',
      '* 5 EXISTS',
      expect.stringMatching(/^\* 1 FETCH \(UID 1 FLAGS \(\\Answered\) MODSEQ \(\d+\)\)$/),
    ])
    const again = await login()
    await again.ok('ENABLE QRESYNC')
    const lines = await again.ok(`SELECT INBOX (QRESYNC (${uidValidity} ${modseq}))`)
    expect(lines).toContain('* VANISHED (EARLIER) 2,4')
    expect(lines.filter(line => / FETCH /.test(line))).toEqual([
      expect.stringMatching(/^\* 1 FETCH \(UID 1 FLAGS \(\\Answered\) MODSEQ/),
      expect.stringMatching(/^\* 5 FETCH \(UID 7 FLAGS \(\) MODSEQ/),
    ])
    expect(await again.ok(`UID FETCH 1:3 (FLAGS) (CHANGEDSINCE ${modseq} VANISHED)`)).toEqual([
      '* VANISHED (EARLIER) 2',
      expect.stringMatching(/^\* 1 FETCH \(UID 1/),
    ])
    expect((await again.ok(`SELECT INBOX (QRESYNC (${Number(uidValidity) + 1} ${modseq}))`)).join('\n')).not.toContain(
      'VANISHED',
    )
    for (const client of [one, other, again]) client.close()
  })

  test('with QRESYNC an expunge is told by uid', async () => {
    const [one] = await two(3)
    await one.ok('ENABLE QRESYNC')
    await one.ok('SELECT INBOX')
    await one.ok('STORE 1:2 +FLAGS.SILENT (\\Deleted)')
    const answer = await one.ask('EXPUNGE')
    expect(answer.lines).toEqual(['* VANISHED 1:2'])
    expect(answer.text).toMatch(/^\[HIGHESTMODSEQ \d+\]/)
    one.close()
  })

  test.each([
    ['UID SEARCH 1:2', '* SEARCH 2'],
    ['UID SEARCH NOT (OR 1 SEEN)', '* SEARCH 2 3'],
    ['UID SORT (ARRIVAL) UTF-8 1:2', '* SORT 2'],
    ['UID THREAD REFERENCES UTF-8 1:2', '* THREAD (2)'],
  ])('%s names messages by their numbers, so that none is told gone (RFC 7162 3.2.10.2)', async (command, found) => {
    const [one, other] = await two(3)
    await one.ok('ENABLE QRESYNC')
    await one.ok('SELECT INBOX')
    await other.ok('STORE 1 +FLAGS.SILENT (\\Deleted)')
    await one.ok('NOOP')
    await other.ok('EXPUNGE')
    const lines = await one.ok(command)
    expect(lines[0]).toBe(found)
    expect(lines.join()).not.toContain('VANISHED')
    expect(await one.ok('UID SEARCH UID 1:2')).toEqual(['* SEARCH 2', '* VANISHED 1'])
    one.close()
    other.close()
  })

  test('numbers told while an expunge waits are taken back, so that it is not missed', async () => {
    const [one, other] = await two(3)
    await one.ok('ENABLE QRESYNC')
    const known = /HIGHESTMODSEQ (\d+)/.exec((await one.ok('SELECT INBOX')).join('\n'))?.[1]
    await other.ok('STORE 1 +FLAGS.SILENT (\\Deleted)')
    await other.ok('EXPUNGE')
    const lines = await one.ok('STORE 3 +FLAGS (\\Seen)')
    expect(lines[0]).toMatch(/^\* 3 FETCH \(UID 3 FLAGS \(\\Seen\) MODSEQ/)
    const told = Number(/^\* OK \[HIGHESTMODSEQ (\d+)\]/.exec(lines.at(-1) ?? '')?.[1])
    expect(told).toBeGreaterThanOrEqual(Number(known))
    await one.ok('LOGOUT')
    const again = await login()
    await again.ok('ENABLE QRESYNC')
    const uidValidity = /UIDVALIDITY (\d+)/.exec((await again.ok('SELECT INBOX')).join('\n'))?.[1]
    expect(await again.ok(`SELECT INBOX (QRESYNC (${uidValidity} ${told}))`)).toContain('* VANISHED (EARLIER) 1')
    // Where nothing waits nothing is taken back.
    expect(await again.ok('FETCH 1 FLAGS')).toEqual(['* 1 FETCH (FLAGS ())'])
    for (const client of [one, other, again]) client.close()
  })

  test('QRESYNC has to be enabled, VANISHED needs it', async () => {
    const [one] = await two(1)
    // What is BAD changes nothing: the folder stays selected.
    for (const name of ['INBOX', 'Nowhere'])
      expect(await one.ask(`SELECT ${name} (QRESYNC (1 1))`)).toMatchObject({ status: 'BAD', lines: [] })
    expect(await one.ok('FETCH 1 UID')).toEqual(['* 1 FETCH (UID 1)'])
    expect(await one.ask('UID FETCH 1:* (FLAGS) (CHANGEDSINCE 1 VANISHED)')).toMatchObject({ status: 'BAD' })
    one.close()
  })
})

test('thousands of messages of which some went have their numbers in a session that comes later', async () => {
  const one = await login()
  const count = 4500
  const small = mail('x')
  const some = ` {${Buffer.byteLength(small)}+}\r\n${small}`.repeat(count / 9)
  for (let at = 0; at < 9; at++) await one.ok(`APPEND INBOX${some}`)
  const gone = [3, 1999, 2000, 2001, 2002, 4000]
  await one.ok(`UID STORE ${gone.join()} +FLAGS.SILENT (\\Deleted)`)
  await one.ok('EXPUNGE')
  const left = Array.from({ length: count }, (_, at) => at + 1).filter(uid => !gone.includes(uid))
  const later = await login()
  expect(await later.ok('FETCH 1:* UID')).toEqual(left.map((uid, at) => `* ${at + 1} FETCH (UID ${uid})`))
  for (const client of [one, later]) client.close()
})
