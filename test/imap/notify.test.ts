// NOTIFY (RFC 5465): what a session hears without asking, of the selected mailbox and of others, and what it does not.

import { beforeEach, describe, expect, test } from 'vitest'
import { limits } from '#lib/limits.ts'
import { useTeal } from '../running.ts'
import { append, Client, mail } from './client.ts'

const service = useTeal()
let number = 0
let user = ''

beforeEach(async () => {
  user = `notify${++number}`
  await service.user(user)
})

const login = (mailbox?: string) => Client.login(service.at('imap'), user, mailbox)
const shown = (lines: readonly string[]) => lines.filter(line => !/RECENT/.test(line))

/** The next lines that come without a command. */
async function heard(client: Client, count: number): Promise<string[]> {
  const lines: string[] = []
  while (lines.length < count) {
    const line = await client.line()
    if (!/RECENT/.test(line)) lines.push(line)
  }
  return lines
}

describe('the command', () => {
  test.each([
    'NOTIFY',
    'NOTIFY ALL',
    'NOTIFY SET',
    'NOTIFY SET STATUS',
    'NOTIFY NONE (selected NONE)',
    'NOTIFY SET (selected (MessageNew))',
    'NOTIFY SET (selected (MessageExpunge))',
    'NOTIFY SET (personal (FlagChange))',
    'NOTIFY SET (personal (AnnotationChange))',
    'NOTIFY SET (selected (MessageNew MessageExpunge MailboxName))',
    'NOTIFY SET (selected NONE) (selected-delayed NONE)',
    'NOTIFY SET (personal (MessageNew (UID) MessageExpunge))',
    'NOTIFY SET (selected (MessageNew (NONSENSE) MessageExpunge))',
    'NOTIFY SET (selected (MessageNew () MessageExpunge))',
    'NOTIFY SET (personal ())',
    'NOTIFY SET (everywhere (MailboxName))',
    'NOTIFY SET (subtree () (MailboxName))',
    'NOTIFY SET (mailboxes (MailboxName))',
    'NOTIFY SET (personal (MailboxName)) more',
  ])('%s is BAD', async command => {
    const client = await login()
    expect(await client.ask(command)).toMatchObject({ status: 'BAD', lines: [] })
    client.close()
  })

  test('events that do not exist here are NO [BADEVENT], and what was asked for before stays', async () => {
    const client = await login()
    await client.ok('NOTIFY SET (personal (MailboxName))')
    for (const event of ['MailboxMetadataChange', 'ServerMetadataChange', 'Earthquake']) {
      const answer = await client.ask(`NOTIFY SET (personal (${event}))`)
      expect(answer.status).toBe('NO')
      const known = 'MessageNew MessageExpunge FlagChange MailboxName SubscriptionChange'
      expect(answer.text.startsWith(`[BADEVENT (${known})]`)).toBe(true)
    }
    const annotations = '(MessageNew MessageExpunge AnnotationChange)'
    expect((await client.ask(`NOTIFY SET (selected ${annotations})`)).text).toMatch(/^\[BADEVENT /)
    const other = await login()
    await other.ok('CREATE Fresh')
    expect(await heard(client, 1)).toEqual(['* LIST (\\HasNoChildren) "/" "Fresh"'])
    other.close()
    client.close()
  })

  test('it is announced, and too many groups are NO [NOTIFICATIONOVERFLOW]', async () => {
    const client = await login()
    expect((await client.ok('CAPABILITY'))[0]?.split(' ')).toContain('NOTIFY')
    const groups = Array.from(
      { length: limits.imap.notifyGroupsMax + 1 },
      (_, at) => `(mailboxes M${at} (MailboxName))`,
    )
    expect((await client.ask(`NOTIFY SET ${groups.join(' ')}`)).text).toMatch(/^\[NOTIFICATIONOVERFLOW\]/)
    client.close()
  })
})

describe('the selected mailbox', () => {
  test('everything is told at once, new messages with what was asked for', async () => {
    const one = await login('INBOX')
    const other = await login('INBOX')
    await one.ok(append('INBOX', mail('before')))
    // What has gathered is told first.
    const items = 'FLAGS BODY.PEEK[HEADER.FIELDS (Subject)]'
    const gathered = await other.ok(`NOTIFY SET (SELECTED (MessageNew (${items}) MessageExpunge FlagChange))`)
    expect(shown(gathered)).toEqual(['* 1 EXISTS'])
    await one.ok(append('INBOX', mail('after'), '\\Flagged'))
    expect(await heard(other, 2)).toEqual([
      '* 2 EXISTS',
      '* 2 FETCH (UID 2 FLAGS (\\Flagged) BODY[HEADER.FIELDS (Subject)] {18}\r\nSubject: after\r\n\r\n)',
    ])
    await one.ok('STORE 1 +FLAGS (\\Deleted)')
    expect(await heard(other, 1)).toEqual(['* 1 FETCH (UID 1 FLAGS (\\Deleted))'])
    await one.ok('EXPUNGE')
    expect(await heard(other, 1)).toEqual(['* 1 EXPUNGE'])
    expect(await other.ok('NOOP')).toEqual([])
    one.close()
    other.close()
  })

  test('who counts changes hears the number of a new message, as of every other it is told of', async () => {
    const one = await login('INBOX')
    for (const [items, told] of [
      ['UID', 'UID 1'],
      ['MODSEQ FLAGS', 'UID 2 MODSEQ'],
    ] as const) {
      const other = await login()
      await other.ok('ENABLE QRESYNC')
      await other.ok('SELECT INBOX')
      await other.ok(`NOTIFY SET (selected (MessageNew (${items}) MessageExpunge))`)
      await one.ok(append('INBOX', mail('m')))
      const [, fetched = ''] = await heard(other, 2)
      expect(fetched).toContain(told)
      expect(fetched.match(/MODSEQ \(\d+\)/g)).toHaveLength(1)
      other.close()
    }
    one.close()
  })

  test('fetching for a notice marks nothing as seen', async () => {
    const one = await login('INBOX')
    const other = await login('INBOX')
    await other.ok('NOTIFY SET (selected (MessageNew (BODY[TEXT]) MessageExpunge))')
    await one.ok(append('INBOX', mail('m', 'Text.')))
    expect(await heard(other, 2)).toEqual(['* 1 EXISTS', '* 1 FETCH (UID 1 BODY[TEXT] {7}\r\nText.\r\n)'])
    expect(await one.ok('FETCH 1 FLAGS')).toEqual(['* 1 FETCH (FLAGS ())'])
    one.close()
    other.close()
  })

  test('an invitation never stands in the middle of a message', async () => {
    const one = await login()
    const other = await login('INBOX')
    const large = mail('large', `${'x'.repeat(76)}\r\n`.repeat(250_000))
    await other.ok('NOTIFY SET (SELECTED (MessageNew (BODY.PEEK[]) MessageExpunge))')
    other.pause()
    await one.ok(append('INBOX', large))
    other.send('x SEARCH SUBJECT {5}\r\n')
    // The service has read that line by then.
    for (let count = 0; count < 20; count++) await one.ok('NOOP')
    other.resume()
    const [exists, message] = await heard(other, 2)
    expect(exists).toBe('* 1 EXISTS')
    expect(message === `* 1 FETCH (UID 1 BODY[] {${large.length}}\r\n${large})`).toBe(true)
    expect(await other.line()).toBe('+ OK')
    other.send('large\r\n')
    expect((await other.answer('x')).lines).toEqual(['* SEARCH 1'])
    one.close()
    other.close()
  })

  test('delayed: only expunges wait for a command', async () => {
    const one = await login('INBOX')
    const other = await login('INBOX')
    await one.ok(append('INBOX', mail('m1')))
    await other.ok('NOTIFY SET (selected-delayed (MessageNew MessageExpunge FlagChange))')
    await one.ok('STORE 1 +FLAGS (\\Deleted)')
    await one.ok('EXPUNGE')
    await one.ok(append('INBOX', mail('m2')))
    const [first = ''] = await heard(other, 1)
    // The flag may have been told before the message went.
    const rest = first.includes('FETCH') ? await heard(other, 1) : [first]
    expect(rest).toEqual(['* 2 EXISTS'])
    expect(shown(await other.ok('NOOP'))).toEqual(['* 1 EXPUNGE'])
    await one.ok('STORE 1 +FLAGS.SILENT (\\Deleted)')
    await heard(other, 1)
    const tag = other.command('IDLE')
    expect(await other.line()).toBe('+ idling')
    await one.ok('EXPUNGE')
    expect(await heard(other, 1)).toEqual(['* 1 EXPUNGE'])
    other.send('DONE\r\n')
    expect((await other.answer(tag)).status).toBe('OK')
    one.close()
    other.close()
  })

  test.each(['NOTIFY NONE', 'NOTIFY SET (selected NONE)', 'NOTIFY SET (personal (MailboxName))'])(
    '%s: it stands still, but for what the client does itself',
    async command => {
      const one = await login('INBOX')
      for (const subject of ['m1', 'm2']) await one.ok(append('INBOX', mail(subject)))
      const other = await login('INBOX')
      await other.ok(command)
      await one.ok(append('INBOX', mail('m3')))
      await one.ok('STORE 1 +FLAGS (\\Seen)')
      expect(await other.ok('NOOP')).toEqual([])
      const tag = other.command('IDLE')
      expect(await other.line()).toBe('+ idling')
      await one.ok('STORE 2 +FLAGS (\\Deleted)')
      other.send('DONE\r\n')
      expect(await other.answer(tag)).toMatchObject({ status: 'OK', lines: [] })
      expect(await other.ok('FETCH 1:* UID')).toEqual(['* 1 FETCH (UID 1)', '* 2 FETCH (UID 2)'])
      expect(shown(await other.ok('EXPUNGE')).sort()).toEqual([
        '* 1 FETCH (UID 1 FLAGS (\\Seen))',
        '* 2 EXISTS',
        '* 2 EXPUNGE',
      ])
      one.close()
      other.close()
    },
  )

  test('without FlagChange others may flag in silence', async () => {
    const one = await login('INBOX')
    await one.ok(append('INBOX', mail('m1')))
    const other = await login('INBOX')
    await other.ok('NOTIFY SET (selected (MessageNew MessageExpunge))')
    await one.ok('STORE 1 +FLAGS (\\Seen)')
    await one.ok(append('INBOX', mail('m2')))
    expect(await heard(other, 1)).toEqual(['* 2 EXISTS'])
    expect(shown(await other.ok('NOOP'))).toEqual([])
    expect(await other.ok('STORE 1 +FLAGS (\\Flagged)')).toEqual(['* 1 FETCH (UID 1 FLAGS (\\Seen \\Flagged))'])
    one.close()
    other.close()
  })
})

describe('other mailboxes', () => {
  test('STATUS tells of what comes, goes and changes, where somebody asked', async () => {
    const one = await login()
    for (const path of ['Lists', 'Lists/a', 'Lists/b', 'Spam', 'Work']) await one.ok(`CREATE ${path}`)
    const other = await login('Work')
    const all = 'MessageNew MessageExpunge FlagChange'
    await other.ok(
      `NOTIFY SET (subtree Lists (${all})) (mailboxes ("Lists/b") NONE) (mailboxes Spam (MessageNew MessageExpunge))`,
    )
    await one.ok(append('Work', mail('not asked for')))
    await one.ok(append('INBOX', mail('not asked for')))
    await one.ok(append('Lists/b', mail('asked not to')))
    await one.ok(append('Lists/a', mail('m')))
    const [first = ''] = await heard(other, 1)
    expect(first).toMatch(/^\* STATUS "Lists\/a" \(MESSAGES 1 UIDNEXT 2 UIDVALIDITY \d+ UNSEEN 1 HIGHESTMODSEQ \d+\)$/)
    await one.ok('SELECT Lists/a')
    await one.ok('STORE 1 +FLAGS (\\Seen \\Deleted)')
    expect((await heard(other, 1))[0]).toMatch(/^\* STATUS "Lists\/a" \(MESSAGES 1 .*UNSEEN 0 HIGHESTMODSEQ \d+\)$/)
    await one.ok('EXPUNGE')
    expect((await heard(other, 1))[0]).toMatch(/^\* STATUS "Lists\/a" \(MESSAGES 0 UIDNEXT 2 /)
    await one.ok(append('Spam', mail('m')))
    expect((await heard(other, 1))[0]).toMatch(/^\* STATUS "Spam" \(MESSAGES 1 UIDNEXT 2 UIDVALIDITY \d+ UNSEEN 1\)$/)
    await one.ok('SELECT Spam')
    await one.ok('STORE 1 +FLAGS (\\Seen)')
    expect(await other.ok('NOOP')).toEqual([])
    one.close()
    other.close()
  })

  test('SET STATUS tells where they stand, but for the selected one', async () => {
    const client = await login('INBOX')
    for (const path of ['One', 'Two']) await client.ok(`CREATE ${path}`)
    await client.ok('SUBSCRIBE Two')
    const events = '(MessageNew MessageExpunge)'
    const lines = await client.ok(`NOTIFY SET STATUS (selected ${events}) (mailboxes (INBOX One Nowhere) ${events})`)
    expect(lines.map(line => /STATUS "(\w+)"/.exec(line)?.[1])).toEqual(['One'])
    const subscribed = await client.ok(`NOTIFY SET STATUS (subscribed ${events})`)
    expect(subscribed.map(line => /STATUS "(\w+)"/.exec(line)?.[1])).toContain('Two')
    expect(subscribed.map(line => /STATUS "(\w+)"/.exec(line)?.[1])).not.toContain('One')
    expect(await client.ok('NOTIFY SET STATUS (inboxes (MailboxName))')).toEqual([])
    client.close()
  })

  test('names and subscriptions', async () => {
    const one = await login()
    const other = await login()
    await other.ok('NOTIFY SET (personal (MailboxName SubscriptionChange))')
    await one.ok('CREATE Top/Sub')
    expect(await heard(other, 2)).toEqual([
      '* LIST (\\NonExistent \\Noselect \\HasChildren) "/" "Top"',
      '* LIST (\\HasNoChildren) "/" "Top/Sub"',
    ])
    await one.ok('RENAME Top/Sub Top/Moved')
    expect(await heard(other, 1)).toEqual(['* LIST (\\HasNoChildren) "/" "Top/Moved" ("OLDNAME" ("Top/Sub"))'])
    await one.ok('SUBSCRIBE Top/Moved')
    expect(await heard(other, 1)).toEqual(['* LIST (\\HasNoChildren \\Subscribed) "/" "Top/Moved"'])
    await one.ok('UNSUBSCRIBE Top/Moved')
    expect(await heard(other, 1)).toEqual(['* LIST (\\HasNoChildren) "/" "Top/Moved"'])
    await one.ok('DELETE Top/Moved')
    expect(await heard(other, 2)).toEqual([
      '* LIST (\\NonExistent \\Noselect) "/" "Top/Moved"',
      '* LIST (\\NonExistent \\Noselect) "/" "Top"',
    ])
    await other.ok('NOTIFY SET (subtree Elsewhere (MailboxName)) (subscribed (SubscriptionChange))')
    await one.ok('CREATE Here')
    await one.ok('CREATE Elsewhere')
    expect(await heard(other, 1)).toEqual(['* LIST (\\HasNoChildren) "/" "Elsewhere"'])
    one.close()
    other.close()
  })

  test('what is right above a name that came or went is told, what a renamed one took along is not (5.4)', async () => {
    const one = await login()
    for (const path of ['p', 'p/q']) await one.ok(`CREATE ${path}`)
    const other = await login()
    await other.ok('NOTIFY SET (personal (MailboxName))')
    const told = async (command: string, count: number) => {
      await one.ok(command)
      const lines = await heard(other, count)
      expect(await other.ok('NOOP')).toEqual([])
      return lines
    }
    expect(await told('CREATE p/q/r', 2)).toEqual([
      '* LIST (\\HasNoChildren) "/" "p/q/r"',
      '* LIST (\\HasChildren) "/" "p/q"',
    ])
    expect(await told('RENAME p n', 1)).toEqual(['* LIST (\\HasChildren) "/" "n" ("OLDNAME" ("p"))'])
    expect(await told('DELETE n/q/r', 2)).toEqual([
      '* LIST (\\NonExistent \\Noselect) "/" "n/q/r"',
      '* LIST (\\HasNoChildren) "/" "n/q"',
    ])
    expect(await told('DELETE n', 1)).toEqual(['* LIST (\\NonExistent \\Noselect \\HasChildren) "/" "n"'])
    // A name without a folder is renamed to nobody's knowledge: what lies below it is told.
    expect(await told('RENAME n m', 1)).toEqual(['* LIST (\\HasNoChildren) "/" "m/q" ("OLDNAME" ("n/q"))'])
    // Who hears of one of the two hears of that one.
    await other.ok('NOTIFY SET (mailboxes m (MailboxName))')
    expect(await told('CREATE m/z', 1)).toEqual(['* LIST (\\NonExistent \\Noselect \\HasChildren) "/" "m"'])
    await other.ok('NOTIFY SET (mailboxes u (MailboxName))')
    expect(await told('CREATE u', 1)).toEqual(['* LIST (\\HasNoChildren) "/" "u"'])
    expect(await told('CREATE u/v', 1)).toEqual(['* LIST (\\HasChildren) "/" "u"'])
    await other.ok('NOTIFY SET (mailboxes u/v (MailboxName))')
    expect(await told('RENAME u w', 1)).toEqual(['* LIST (\\HasNoChildren) "/" "w/v" ("OLDNAME" ("u/v"))'])
    one.close()
    other.close()
  })

  test('of many names each is heard of, with what lies below it where that is wished', async () => {
    const one = await login()
    const other = await login('INBOX')
    const names = Array.from({ length: 2000 }, (_, at) => `x${at}`).join(' ')
    for (const [which, heardOf, deaf] of [
      ['subtree', 'x1999/below/deep', 'y/x1999'],
      ['mailboxes', 'x1998', 'x1997/below'],
    ]) {
      await other.ok(`NOTIFY SET (selected (MessageNew MessageExpunge)) (${which} (${names}) (MailboxName))`)
      await one.ok(`CREATE ${deaf}`)
      await one.ok(`CREATE ${heardOf}`)
      const told: string[] = []
      do told.push(...(await heard(other, 1)))
      while (told.at(-1)?.includes(`"${heardOf}"`) !== true)
      expect(told.filter(line => line.includes(`"${deaf}"`))).toEqual([])
    }
    one.close()
    other.close()
  })

  test('too much at once is an overflow, and then there is silence', async () => {
    const one = await login()
    const other = await login('INBOX')
    const paths = Array.from({ length: limits.imap.notifyFoldersMax + 1 }, (_, at) => `Many/${at}`)
    const tags = paths.map(path => one.command(`CREATE ${path}`))
    for (const tag of tags) expect((await one.answer(tag)).status).toBe('OK')
    const events = '(MessageNew MessageExpunge MailboxName)'
    await other.ok(`NOTIFY SET (selected (MessageNew MessageExpunge)) (personal ${events})`)
    await one.ok('RENAME Many Moved')
    expect((await heard(other, 1))[0]).toMatch(/^\* OK \[NOTIFICATIONOVERFLOW\]/)
    await one.ok(append('INBOX', mail('m')))
    await one.ok('CREATE Later')
    expect(await other.ok('NOOP')).toEqual([])
    await other.ok('NOTIFY SET (personal (MailboxName))')
    await one.ok('DELETE Later')
    expect(await heard(other, 1)).toEqual(['* LIST (\\NonExistent \\Noselect) "/" "Later"'])
    one.close()
    other.close()
  })
})
