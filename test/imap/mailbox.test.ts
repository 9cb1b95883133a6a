// Folders over the wire: LIST in all its forms, STATUS, CREATE, DELETE, RENAME, SUBSCRIBE, QUOTA.

import { beforeEach, describe, expect, test } from 'vitest'
import { encodeMailboxName } from '#imap/wire/name.ts'
import { limits } from '#lib/limits.ts'
import { useTeal } from '../running.ts'
import { append, Client, mail } from './client.ts'

const service = useTeal()
let number = 0
let client: Client
let account = ''

beforeEach(async () => {
  const user = `box${++number}`
  account = await service.user(user)
  client = await Client.login(service.at('imap'), user)
  return () => client.close()
})

const names = (lines: readonly string[]) =>
  lines.filter(line => /^\* (LIST|LSUB)/.test(line)).map(line => /"\/" (?:"(.*)"|(\S+))/.exec(line)?.slice(1).join(''))

describe('LIST', () => {
  beforeEach(async () => {
    for (const name of ['a', 'a/b', 'a/b/c', 'x/y']) await client.ok(`CREATE ${name}`)
  })

  test.each([
    ['"" *', ['INBOX', 'Sent Mail', 'Trash', 'Drafts', 'Junk', 'a', 'a/b', 'a/b/c', 'x/y', 'x']],
    ['"" %', ['INBOX', 'Sent Mail', 'Trash', 'Drafts', 'Junk', 'a', 'x']],
    ['"" a/%', ['a/b']],
    ['"" a*', ['a', 'a/b', 'a/b/c']],
    ['a/ *', ['a/b', 'a/b/c']],
    ['"" inbox', ['INBOX']],
    ['"" "%/%"', ['a/b', 'x/y']],
    ['"" *b*', ['INBOX', 'a/b', 'a/b/c'].slice(1)],
    ['"" nothing', []],
    ['"" (a x/y)', ['a', 'x/y']],
  ])('LIST %s', async (pattern, expected) => {
    expect(names(await client.ok(`LIST ${pattern}`)).sort()).toEqual([...expected].sort())
  })

  test.each(['"" &', '"" "&bad"', '"" a&*', '& *', '"" {1+}\r\n\x01', '(SUBSCRIBED) "" &'])(
    'what no name is like matches none: %s',
    async pattern => {
      expect(await client.ok(`LIST ${pattern}`)).toEqual([])
      if (!pattern.startsWith('(')) expect(await client.ok(`LSUB ${pattern}`)).toEqual([])
    },
  )

  test('an empty pattern asks for the delimiter', async () => {
    expect(await client.ok('LIST "" ""')).toEqual(['* LIST (\\Noselect) "/" ""'])
    // RFC 9051 6.3.9: in the extended form it means nothing, whatever stands before it.
    for (const form of ['() a ""', 'a ("")', 'a "" RETURN (CHILDREN)'])
      expect(await client.ok(`LIST ${form}`)).toEqual([])
    expect(names(await client.ok('LIST a ("" /b)'))).toEqual(['a/b'])
  })

  test('attributes: children, special use, subscription, parents that do not exist', async () => {
    await client.ok('UNSUBSCRIBE a')
    const lines = await client.ok('LIST "" * RETURN (SUBSCRIBED CHILDREN SPECIAL-USE)')
    expect(lines).toContain('* LIST (\\HasChildren) "/" "a"')
    expect(lines).toContain('* LIST (\\HasNoChildren \\Subscribed \\Trash) "/" "Trash"')
    expect(lines).toContain('* LIST (\\NonExistent \\Noselect \\HasChildren) "/" "x"')
    // Programs that know no more than the old form would show it as a folder to open.
    expect(await client.ok('LIST "" x')).toEqual(['* LIST (\\NonExistent \\Noselect \\HasChildren) "/" "x"'])
    expect(names(await client.ok('LIST (SPECIAL-USE) "" *')).sort()).toEqual(['Drafts', 'Junk', 'Sent Mail', 'Trash'])
  })

  test('RECURSIVEMATCH tells of subscribed ones below', async () => {
    await client.ok('UNSUBSCRIBE a')
    await client.ok('SUBSCRIBE a/b')
    const lines = await client.ok('LIST (SUBSCRIBED RECURSIVEMATCH) "" %')
    expect(lines).toContain('* LIST (\\HasChildren) "/" "a" ("CHILDINFO" ("SUBSCRIBED"))')
    expect(names(await client.ok('LIST (SUBSCRIBED) "" %'))).not.toContain('a')
    // RFC 9051 6.3.9.6: where the one below is told itself nothing is to be told by another.
    const both = () => client.ok('LIST (SUBSCRIBED RECURSIVEMATCH) "" (a a/b) RETURN (STATUS (MESSAGES))')
    expect(await both()).toEqual(['* LIST (\\HasChildren \\Subscribed) "/" "a/b"', '* STATUS "a/b" (MESSAGES 0)'])
    await client.ok('SUBSCRIBE a/b/c')
    // 6.3.9.8: it is there for the sake of another one, and has no counters.
    expect(await both()).toEqual([
      '* LIST (\\HasChildren) "/" "a" ("CHILDINFO" ("SUBSCRIBED"))',
      '* LIST (\\HasChildren \\Subscribed) "/" "a/b" ("CHILDINFO" ("SUBSCRIBED"))',
      '* STATUS "a/b" (MESSAGES 0)',
    ])
    expect(await client.ask('LIST (RECURSIVEMATCH) "" %')).toMatchObject({ status: 'BAD' })
    expect(await client.ask('LIST (RECURSIVEMATCH REMOTE) "" %')).toMatchObject({ status: 'BAD' })
  })

  test('RECURSIVEMATCH tells of special ones below, too', async () => {
    await client.ok('CREATE up/Old (USE (\\Archive))')
    const up = (criteria: string) => client.ok(`LIST (${criteria}) "" up`)
    const info = (criteria: string) => [
      `* LIST (\\NonExistent \\Noselect \\HasChildren) "/" "up" ("CHILDINFO" (${criteria}))`,
    ]
    expect(await up('SPECIAL-USE RECURSIVEMATCH')).toEqual(info('"SPECIAL-USE"'))
    expect(await up('SPECIAL-USE SUBSCRIBED RECURSIVEMATCH')).toEqual([])
    await client.ok('SUBSCRIBE up/Old')
    expect(await up('SPECIAL-USE SUBSCRIBED RECURSIVEMATCH')).toEqual(info('"SUBSCRIBED" "SPECIAL-USE"'))
    expect(await up('SPECIAL-USE')).toEqual([])
  })

  test('with STATUS, each folder has its counters', async () => {
    await client.ok(append('a', mail('one')))
    const lines = await client.ok('LIST "" a% RETURN (STATUS (MESSAGES UNSEEN))')
    expect(lines).toEqual(['* LIST (\\HasChildren) "/" "a"', '* STATUS "a" (MESSAGES 1 UNSEEN 1)'])
  })

  test('STATUS tells what EXPUNGE would free, and wants items', async () => {
    await client.ok(append('x/y', mail('one'), '\\Deleted'))
    await client.ok(append('x/y', mail('two')))
    const size = mail('one').length
    const [line] = await client.ok('STATUS x/y (DELETED DELETED-STORAGE)')
    expect(line).toBe(`* STATUS "x/y" (DELETED 1 DELETED-STORAGE ${size})`)
    expect(await client.ok('STATUS a (DELETED-STORAGE)')).toEqual(['* STATUS "a" (DELETED-STORAGE 0)'])
    expect(await client.ask('STATUS a ()')).toMatchObject({ status: 'BAD' })
    expect(await client.ask('LIST "" a RETURN (STATUS ())')).toMatchObject({ status: 'BAD' })
  })

  test('who lists change numbers goes on counting them', async () => {
    await client.ok(append('a', mail('one')))
    await client.ok('LIST "" a RETURN (STATUS (HIGHESTMODSEQ))')
    await client.ok('SELECT a')
    expect((await client.ok('STORE 1 +FLAGS (\\Seen)'))[0]).toMatch(/MODSEQ \(\d+\)/)
  })

  test('what is not there is not subscribed to', async () => {
    await client.ok('DELETE a/b/c')
    await client.ok('UNSUBSCRIBE a/b/c')
    expect(await client.ask('SUBSCRIBE a/b/c')).toMatchObject({ status: 'NO' })
  })

  test('LSUB', async () => {
    await client.ok('UNSUBSCRIBE a')
    for (const name of ['a/b', 'a/b/c']) await client.ok(`SUBSCRIBE ${name}`)
    await client.ok('UNSUBSCRIBE INBOX')
    expect(names(await client.ok('LSUB "" a*'))).toEqual(['a/b', 'a/b/c'])
    expect(await client.ok('LSUB "" a%')).toEqual(['* LSUB (\\Noselect) "/" "a"'])
    expect(names(await client.ok('LSUB "" INBOX'))).toEqual([])
  })
})

describe('a subscription outlives its folder', () => {
  beforeEach(async () => {
    for (const name of ['a', 'a/b', 'p/q']) await client.ok(`CREATE ${name}`)
    for (const name of ['a/b', 'p/q']) await client.ok(`SUBSCRIBE ${name}`)
    for (const name of ['a/b', 'p/q']) await client.ok(`DELETE ${name}`)
  })

  test('and is listed as of nothing that exists', async () => {
    expect(await client.ok('LSUB "" a/*')).toEqual(['* LSUB (\\NonExistent \\Noselect) "/" "a/b"'])
    expect(await client.ok('LSUB "" p%')).toEqual(['* LSUB (\\NonExistent \\Noselect) "/" "p"'])
    expect(await client.ok('LIST (SUBSCRIBED) "" a/*')).toEqual([
      '* LIST (\\NonExistent \\Noselect \\Subscribed) "/" "a/b"',
    ])
    expect(await client.ok('LIST (SUBSCRIBED SPECIAL-USE) "" a/*')).toEqual([])
    expect(await client.ok('LIST (SUBSCRIBED) "" a/* RETURN (STATUS (MESSAGES))')).toHaveLength(1)
    expect(await client.ok('LIST "" a/* RETURN (SUBSCRIBED)')).toEqual([])
    const info = '("CHILDINFO" ("SUBSCRIBED"))'
    expect(await client.ok('LIST (SUBSCRIBED RECURSIVEMATCH) "" (a p)')).toEqual([
      `* LIST (\\HasNoChildren) "/" "a" ${info}`,
      `* LIST (\\NonExistent \\Noselect) "/" "p" ${info}`,
    ])
    expect(names(await client.ok('LIST "" (a* p*)'))).toEqual(['a'])
    expect(await client.ask('SELECT a/b')).toMatchObject({ status: 'NO' })
  })

  test('until it is taken away', async () => {
    await client.ok('SUBSCRIBE a/b')
    await client.ok('UNSUBSCRIBE a/b')
    expect(names(await client.ok('LSUB "" *'))).not.toContain('a/b')
    expect(await client.ask('SUBSCRIBE a/b')).toMatchObject({ status: 'NO' })
    expect(names(await client.ok('LSUB "" *'))).toContain('p/q')
  })

  test('and is there when a folder gets the name again, made or renamed', async () => {
    await client.ok('CREATE a/b')
    await client.ok('RENAME a p/q')
    const expected = [
      '* LIST (\\HasNoChildren \\Subscribed) "/" "p/q/b"',
      '* LIST (\\HasChildren \\Subscribed) "/" "p/q"',
    ]
    expect([...(await client.ok('LIST (SUBSCRIBED) "" p/*'))].sort()).toEqual(expected.sort())
    await client.ok('UNSUBSCRIBE p/q')
    expect(names(await client.ok('LSUB "" p/*'))).toEqual(['p/q/b'])
  })

  test('also of a name with folders below, which it is told with', async () => {
    await client.ok('CREATE a/b/c')
    expect(await client.ok('LIST "" a/% RETURN (SUBSCRIBED)')).toEqual([
      '* LIST (\\NonExistent \\Noselect \\HasChildren \\Subscribed) "/" "a/b"',
    ])
    expect(await client.ok('LIST (SUBSCRIBED) "" a/%')).toEqual([
      '* LIST (\\NonExistent \\Noselect \\HasChildren \\Subscribed) "/" "a/b"',
    ])
  })

  test('nobody who was not subscribed is, and the API tells of folders only', async () => {
    await client.ok('DELETE a')
    expect(names(await client.ok('LSUB "" *'))).not.toContain('a')
    const { id } = (await service.call('GET', `/users/resolve/box${number}`)).body
    const paths = async () =>
      (await service.call('GET', `/users/${id}/mailboxes`)).body.results.map((one: { path: string }) => one.path)
    expect(await paths()).not.toContain('a/b')
    const made = await service.call('POST', `/users/${id}/mailboxes`, { path: 'by api' })
    expect(names(await client.ok('LSUB "" by*'))).toEqual(['by api'])
    // Whoever deletes over the API could not take the subscription away.
    await service.call('DELETE', `/users/${id}/mailboxes/${made.body.id}`)
    expect(names(await client.ok('LSUB "" by*'))).toEqual([])
  })

  test('as long as they are not too many', async () => {
    const { subscriptionsMax, subscriptionsLengthMax } = limits.mailbox
    for (let at = 0; at < subscriptionsMax; at++) {
      for (const command of ['CREATE', 'SUBSCRIBE', 'DELETE']) await client.ok(`${command} many${at}`)
    }
    const many = names(await client.ok('LSUB "" *'))
    expect(many).not.toContain('a/b')
    expect(many.filter(name => name?.startsWith('many'))).toHaveLength(subscriptionsMax)
    for (let at = 0; at < subscriptionsLengthMax / 4000; at++) {
      const long = `long${at}/${`${'y'.repeat(399)}/`.repeat(9)}y`
      for (const command of ['CREATE', 'SUBSCRIBE', 'DELETE']) await client.ok(`${command} ${long}`)
    }
    const left = names(await client.ok('LSUB "" *'))
    expect(left.join('').length).toBeLessThanOrEqual(subscriptionsLengthMax + 100)
    expect(left.some(name => name?.startsWith('long'))).toBe(true)
  })
})

test('names travel as modified UTF-7, or as UTF-8 once that is enabled', async () => {
  await client.ok('CREATE "Entw&APw-rfe/&U,BTFw-"')
  expect(names(await client.ok('LIST "" Entw*'))).toContain('Entw&APw-rfe/&U,BTFw-')
  await client.ok('ENABLE UTF8=ACCEPT')
  expect(names(await client.ok('LIST "" Entw*'))).toContain('Entw\u00fcrfe/\u53f0\u5317')
  expect(await client.ok('STATUS "Entw\u00fcrfe/\u53f0\u5317" (MESSAGES)')).toEqual([
    '* STATUS "Entw\u00fcrfe/\u53f0\u5317" (MESSAGES 0)',
  ])
})

test('a name in another form of Unicode is told with the one it is stored by, in IMAP4rev2 (RFC 9051 5.1)', async () => {
  const [written, stored] = ['Cafe\u0301', 'Caf\u00e9']
  const told = (path: string, old: string) => `* LIST (\\HasNoChildren) "/" "${path}" ("OLDNAME" ("${old}"))`
  await client.ok('ENABLE UTF8=ACCEPT')
  expect(await client.ok(`CREATE "${written} 1"`)).toEqual([])
  await client.ok('ENABLE IMAP4rev2')
  expect(await client.ok(`CREATE "${written}"`)).toEqual([told(stored, written)])
  expect(await client.ok(`RENAME "${written}" "new ${written}"`)).toEqual([told(`new ${stored}`, `new ${written}`)])
  expect(await client.ok(`EXAMINE "new ${written}"`)).toContain(told(`new ${stored}`, `new ${written}`))
  expect(await client.ok(`SELECT "new ${stored}"`)).toContain(`* LIST (\\HasNoChildren) "/" "new ${stored}"`)
  expect(await client.ok(`CREATE "${stored} 2"`)).toEqual([])
})

test('RENAME takes a subscription along, so that what RFC 9051 6.3.6 has a program do next does no harm', async () => {
  await client.ok('CREATE old')
  await client.ok('SUBSCRIBE old')
  await client.ok('RENAME old new')
  expect(names(await client.ok('LSUB "" old'))).toEqual([])
  for (const command of ['SUBSCRIBE new', 'UNSUBSCRIBE old']) await client.ok(command)
  expect(names(await client.ok('LSUB "" new'))).toEqual(['new'])
})

test('RENAME moves the children; of INBOX only its messages', async () => {
  for (const name of ['a', 'a/b', 'a/b/c', 'INBOX/sub']) await client.ok(`CREATE ${name}`)
  await client.ok(append('a/b', mail('kept')))
  await client.ok('RENAME a n/m')
  expect(names(await client.ok('LIST "" n*')).sort()).toEqual(['n', 'n/m', 'n/m/b', 'n/m/b/c'])
  expect(names(await client.ok('LIST "" a*'))).toEqual([])
  expect(await client.ok('STATUS n/m/b (MESSAGES)')).toEqual(['* STATUS "n/m/b" (MESSAGES 1)'])
  await client.ok(append('INBOX', mail('moved')))
  await client.ok('RENAME INBOX old')
  expect(await client.ok('STATUS INBOX (MESSAGES)')).toEqual(['* STATUS "INBOX" (MESSAGES 0)'])
  expect(await client.ok('STATUS old (MESSAGES)')).toEqual(['* STATUS "old" (MESSAGES 1)'])
  expect(names(await client.ok('LIST "" INBOX/*'))).toEqual(['INBOX/sub'])
})

test.each([
  ['CREATE INBOX', 'ALREADYEXISTS'],
  ['CREATE Trash', 'ALREADYEXISTS'],
  ['CREATE "a//b"', 'CANNOT'],
  [`CREATE "${'x'.repeat(600)}"`, 'CANNOT'],
  ['CREATE z (USE (\\Trash))', 'USEATTR'],
  ['CREATE z (USE (\\All))', 'USEATTR'],
  ['DELETE INBOX', 'CANNOT'],
  ['DELETE Trash', 'CANNOT'],
  ['DELETE nowhere', 'NONEXISTENT'],
  ['RENAME nowhere z', 'NONEXISTENT'],
  ['RENAME Junk Trash', 'ALREADYEXISTS'],
  ['RENAME Junk Junk', 'ALREADYEXISTS'],
  ['RENAME Junk Junk/below', 'CANNOT'],
  ['SELECT nowhere', 'NONEXISTENT'],
  ['STATUS nowhere (MESSAGES)', 'NONEXISTENT'],
  ['SUBSCRIBE nowhere', 'NONEXISTENT'],
  ['SELECT "&bad"', 'CANNOT'],
])('%s: NO [%s]', async (command, code) => {
  expect(await client.ask(command)).toMatchObject({ status: 'NO', text: expect.stringContaining(`[${code}]`) })
})

// RFC 9051 5.1: no name has one of them.
test.each([['\u0080'], ['\u0085'], ['\u009f'], ['\u2028'], ['\u2029']])(
  'no folder gets a name with %j, at no door',
  async character => {
    const path = `a${character}b`
    const refused = { status: 'NO', text: '[CANNOT] This cannot be the name of a mailbox' }
    const made = await service.call('POST', `/users/${account}/mailboxes`, { path })
    expect(made.body).toMatchObject({ code: 'InputValidationError' })
    const wire = encodeMailboxName(path, false)
    for (const command of [`CREATE "${wire}"`, `RENAME Junk "${wire}"`]) {
      expect(await client.ask(command)).toMatchObject(refused)
    }
    await client.ok('ENABLE UTF8=ACCEPT')
    expect(await client.ask(`CREATE "${path}"`)).toMatchObject(refused)
    expect(await client.ask(`SELECT "${path}"`)).toMatchObject({
      status: 'NO',
      text: expect.stringMatching('NONEXISTENT'),
    })
  },
)

test.each([
  ['DELETE INBOX', 'INBOX cannot be deleted'],
  ['DELETE Trash', 'A mailbox with a special use cannot be deleted'],
  ['CREATE Trash', 'A mailbox with this name already exists'],
  ['RENAME Junk Trash', 'A mailbox with this name already exists'],
  ['RENAME Junk Junk/below', 'A mailbox cannot be moved below itself'],
  ['CREATE "a//b"', 'This cannot be the name of a mailbox'],
])('%s: is refused with a sentence', async (command, sentence) => {
  const { text } = await client.ask(command)
  expect(text.replace(/^\[[^\]]+\] /, '')).toBe(sentence)
})

test('a folder with a special use, and its id', async () => {
  const answer = await client.ask('CREATE Ablage (USE (\\Archive))')
  const id = /MAILBOXID \(([0-9a-f]{24})\)/.exec(answer.text)?.[1]
  expect(await client.ok('LIST (SPECIAL-USE) "" Abl*')).toEqual(['* LIST (\\HasNoChildren \\Archive) "/" "Ablage"'])
  expect(await client.ok('STATUS Ablage (MAILBOXID)')).toEqual([`* STATUS "Ablage" (MAILBOXID (${id}))`])
})

test('a name deleted and made anew has another uid validity', async () => {
  const validity = async () => /UIDVALIDITY (\d+)/.exec((await client.ok('STATUS z (UIDVALIDITY)'))[0] ?? '')?.[1]
  await client.ok('CREATE z')
  const first = await validity()
  await client.ok('DELETE z')
  await client.ok('CREATE z')
  expect(await validity()).not.toBe(first)
})

test('a folder keeps messages as long as the account says', async () => {
  const user = `box${number}`
  const id = (await service.call('GET', `/users/resolve/${user}`)).body.id
  await service.call('PUT', `/users/${id}`, { retention: 86_400_000 })
  await client.ok('CREATE kept')
  await client.ok('RENAME INBOX former')
  for (const path of ['kept', 'former']) {
    expect((await service.call('GET', `/users/${id}/mailboxes/resolve?path=${path}`)).body.retention).toBe(86_400_000)
  }
})

test('hidden folders are not there', async () => {
  const user = `box${number}`
  const id = (await service.call('GET', `/users/resolve/${user}`)).body.id
  await service.call('POST', `/users/${id}/mailboxes`, { path: 'secret', hidden: true })
  expect(names(await client.ok('LIST "" *'))).not.toContain('secret')
  expect(await client.ask('SELECT secret')).toMatchObject({ status: 'NO' })
})

test('SELECT says all that IMAP4rev1 and IMAP4rev2 want', async () => {
  await client.ok(append('INBOX', mail('a'), '\\Seen'))
  await client.ok(append('INBOX', mail('b')))
  const old = await client.ok('SELECT INBOX')
  expect(old).toEqual([
    '* FLAGS (\\Seen \\Answered \\Flagged \\Deleted \\Draft)',
    '* 2 EXISTS',
    '* 2 RECENT',
    '* OK [UNSEEN 2] First unseen',
    expect.stringMatching(/^\* OK \[PERMANENTFLAGS \(\\Seen \\Answered \\Flagged \\Deleted \\Draft \\\*\)\]/),
    expect.stringMatching(/^\* OK \[UIDVALIDITY \d+\]/),
    '* OK [UIDNEXT 3] Predicted next UID',
    expect.stringMatching(/^\* OK \[HIGHESTMODSEQ \d+\]/),
    expect.stringMatching(/^\* OK \[MAILBOXID \([0-9a-f]{24}\)\]/),
  ])
  await client.ok('ENABLE IMAP4rev2')
  const answer = await client.ask('EXAMINE INBOX')
  expect(answer.text).toMatch(/^\[READ-ONLY\]/)
  expect(answer.lines[0]).toMatch(/^\* OK \[CLOSED\]/)
  expect(answer.lines.join('\n')).not.toContain('RECENT')
  expect(answer.lines).toContain('* LIST (\\HasNoChildren) "/" "INBOX"')
})

test('a selected folder is left even when the next one cannot be selected', async () => {
  await client.ok('SELECT INBOX')
  expect(await client.ask('SELECT nowhere')).toMatchObject({ status: 'NO' })
  expect(await client.ask('FETCH 1 FLAGS')).toMatchObject({ status: 'BAD' })
})

test('CHECK is for a selected folder, takes nothing and tells what came (RFC 3501 6.4.1)', async () => {
  expect(await client.ask('CHECK')).toMatchObject({ status: 'BAD' })
  await client.ok('CREATE Checked')
  await client.ok('EXAMINE Checked')
  expect(await client.ok('CHECK')).toEqual([])
  expect(await client.ask('CHECK 1')).toMatchObject({ status: 'BAD' })
  const other = await Client.login(service.at('imap'), `box${number}`)
  await other.ok(append('Checked', mail('one')))
  expect(await client.ok('CHECK')).toContain('* 1 EXISTS')
  await client.ok('UNSELECT')
  expect(await client.ask('CHECK')).toMatchObject({ status: 'BAD' })
  other.close()
})

test('quota', async () => {
  await client.ok(append('INBOX', mail('a', 'x'.repeat(5000))))
  expect(await client.ok('GETQUOTAROOT INBOX')).toEqual([
    '* QUOTAROOT "INBOX" ""',
    expect.stringMatching(/^\* QUOTA "" \(STORAGE 6 1048576\)$/),
  ])
  // In a limit that is no whole number of units what fits is not too much.
  await service.call('PUT', `/users/${account}`, { quota: 6000 })
  expect(await client.ok('GETQUOTA ""')).toEqual(['* QUOTA "" (STORAGE 6 6)'])
  await service.call('PUT', `/users/${account}`, { quota: 5000 })
  expect(await client.ok('GETQUOTA ""')).toEqual(['* QUOTA "" (STORAGE 6 4)'])
  expect(await client.ask('GETQUOTA other')).toMatchObject({ status: 'NO' })
  // RFC 9208 4.1.3: of a folder that is to be made, too.
  expect(await client.ok('GETQUOTAROOT "to come"')).toEqual([
    '* QUOTAROOT "to come" ""',
    expect.stringMatching(/^\* QUOTA "" /),
  ])
})

test('RENAME of a name that is only the parent of others moves these', async () => {
  for (const name of ['p/q/a', 'p/q/a/b', 'p/qx', 'there']) await client.ok(`CREATE ${name}`)
  await client.ok('SUBSCRIBE p/q/a')
  await client.ok(append('p/q/a', mail('kept')))
  expect(await client.ask('RENAME p/q there')).toMatchObject({
    status: 'NO',
    text: expect.stringMatching(/^\[ALREADYEXISTS\]/),
  })
  expect(await client.ask('RENAME p/q p/q/r')).toMatchObject({
    status: 'NO',
    text: expect.stringMatching(/^\[CANNOT\]/),
  })
  await client.ok('RENAME p/q r')
  expect(
    names(await client.ok('LIST "" *'))
      .filter(name => /^[pr]/.test(name ?? ''))
      .sort(),
  ).toEqual(['p', 'p/qx', 'r', 'r/a', 'r/a/b'])
  expect(names(await client.ok('LSUB "" r*'))).toEqual(['r/a'])
  expect(await client.ok('STATUS r/a (MESSAGES)')).toEqual(['* STATUS "r/a" (MESSAGES 1)'])
  expect(await client.ask('RENAME p/q s')).toMatchObject({
    status: 'NO',
    text: expect.stringMatching(/^\[NONEXISTENT\]/),
  })
})
