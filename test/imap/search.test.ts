// SEARCH, SORT and THREAD over the wire.

import { beforeAll, describe, expect, test } from 'vitest'
import { limits } from '#lib/limits.ts'
import { eachLeaf, type Leaf } from '#mail/query/query.ts'
import { indexedPart } from '#store/search/plan.ts'
import { useTeal } from '../running.ts'
import { append, Client } from './client.ts'

const service = useTeal()
let client: Client

const day = (date: string) => `"${date} 12:00:00 +0000"`

/** Messages in order; each with its flags and internal date. */
const messages: { flags: string; date: string; text: string }[] = [
  {
    flags: '\\Seen',
    date: day('01-Jan-2020'),
    text: 'From: "Zoe" <zoe@example.net>\r\nTo: ann@example.com\r\nSubject: Alpha\r\nDate: Wed, 1 Jan 2020 23:30:00 -0500\r\nMessage-ID: <1@x>\r\nX-Custom: Special Value\r\n\r\nThe quick brown fox\r\n',
  },
  {
    flags: '\\Flagged $Work',
    date: day('02-Jan-2020'),
    text: 'From: bob@example.net\r\nTo: ann@example.com, =?utf-8?q?J=C3=BCrgen?= <j@example.org>\r\nCc: carl@example.org\r\nSubject: =?utf-8?b?R3LDvMOfZSDvvKHvvKLvvKMg76yB?=\r\nDate: Thu, 2 Jan 2020 10:00:00 +0000\r\nMessage-ID: <2@x>\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Transfer-Encoding: base64\r\n\r\nU3RyYcOfZSBpbSBSZWdlbg==\r\n',
  },
  {
    flags: '\\Answered \\Seen',
    date: day('03-Jan-2020'),
    text: 'From: ann@example.com\r\nTo: zoe@example.net\r\nSubject: Re: Alpha\r\nDate: Fri, 3 Jan 2020 10:00:00 +0000\r\nMessage-ID: <3@x>\r\nIn-Reply-To: <1@x>\r\nReferences: <1@x>\r\nContent-Type: text/plain; charset=iso-8859-1\r\nContent-Transfer-Encoding: quoted-printable\r\n\r\nna=EFve caf=E9\r\n',
  },
  {
    flags: '',
    date: day('04-Jan-2020'),
    text: `From: carl@example.org (of (hard) work)\r\nSubject: beta\r\nSubject: second one\r\nDate: Sat, 4 Jan 2020 10:00:00 +0000\r\nMessage-ID: <4@x>\r\nReferences: <1@x> <3@x>\r\n\r\n${'filler text '.repeat(3000)}needle\r\n`,
  },
  {
    flags: '\\Deleted \\Draft',
    date: day('05-Jan-2020'),
    text: 'From: dora@example.org\r\nBcc: hidden@example.org\r\nSubject: [list] Re: [list] beta\r\nDate: Sun, 5 Jan 2020 10:00:00 +0000\r\nMessage-ID: <5@x>\r\n\r\nplain\r\n',
  },
]

beforeAll(async () => {
  await service.user('seeker')
  client = await Client.login(service.at('imap'), 'seeker', 'INBOX')
  for (const { flags, date, text } of messages) {
    await client.ok(`APPEND INBOX (${flags}) ${date} {${Buffer.byteLength(text)}+}\r\n${text}`)
  }
  return () => client.close()
})

const search = async (criteria: string | Buffer) => {
  const lines = await client.ok(Buffer.concat([Buffer.from('SEARCH '), Buffer.from(criteria as string)]))
  return (lines.find(line => line.startsWith('* SEARCH')) ?? '').split(' ').slice(2).join(' ')
}

describe('criteria', () => {
  test.each([
    ['ALL', '1 2 3 4 5'],
    ['SEEN', '1 3'],
    ['UNSEEN UNDELETED', '2 4'],
    ['ANSWERED', '3'],
    ['DRAFT DELETED', '5'],
    ['FLAGGED', '2'],
    ['KEYWORD $work', '2'],
    ['UNKEYWORD $Work', '1 3 4 5'],
    ['NEW', '2 4 5'],
    ['OLD', ''],
    ['2:3', '2 3'],
    ['UID 4:*', '4 5'],
    ['NOT 2:3', '1 4 5'],
    ['OR SEEN FLAGGED', '1 2 3'],
    ['OR (SEEN ANSWERED) (DRAFT)', '3 5'],
    ['NOT (OR SEEN DRAFT)', '2 4'],
    ['SINCE 3-Jan-2020', '3 4 5'],
    ['BEFORE 2-Jan-2020', '1'],
    ['ON 4-Jan-2020', '4'],
    ['SENTON 1-Jan-2020', '1'],
    ['SENTSINCE 4-Jan-2020', '4 5'],
    ['SENTBEFORE "2-Jan-2020"', '1'],
    ['SAVEDBEFORE 1-Jan-2020', ''],
    ['LARGER 30000', '4'],
    ['LARGER 9223372036854775807', ''],
    ['SMALLER 9223372036854775807', '1 2 3 4 5'],
    ['SMALLER 30000', '1 2 3 5'],
    ['OLDER 3600', '1 2 3 4 5'],
    ['YOUNGER 3600', ''],
    ['FROM zoe', '1'],
    ['FROM "Zoe <zoe@example.net>"', '1'],
    ['FROM EXAMPLE.NET', '1 2'],
    ['TO ann', '1 2'],
    ['CC carl', '2'],
    ['BCC hidden', '5'],
    ['SUBJECT alpha', '1 3'],
    ['SUBJECT ""', '1 2 3 4 5'],
    ['HEADER X-Custom "special v"', '1'],
    ['HEADER X-Custom ""', '1'],
    ['HEADER Message-ID "<4@x>"', '4'],
    ['BODY "quick brown"', '1'],
    ['BODY needle', '4'],
    ['BODY alpha', ''],
    ['TEXT alpha', '1 3'],
    ['TEXT "Special Value"', '1'],
    ['BODY ""', '1 2 3 4 5'],
    ['OR BODY needle SUBJECT alpha', '1 3 4'],
    ['BODY plain DRAFT', '5'],
    ['THREADID 0000000000000000ffffffff', ''],
  ])('SEARCH %s', async (criteria, expected) => {
    expect(await search(criteria)).toBe(expected)
  })

  test('text is compared decoded, in any character set', async () => {
    expect(await search('CHARSET UTF-8 SUBJECT {7+}\r\ngr\u00fc\u00dfe')).toBe('2')
    expect(await search(Buffer.from('CHARSET ISO-8859-1 SUBJECT {5+}\r\ngr\xfc\xdfe', 'latin1'))).toBe('2')
    expect(await search('BODY {8+}\r\nSTRA\u00dfE ')).toBe('2')
    expect(await search('BODY {6+}\r\nna\u00efve')).toBe('3')
    expect(await search('TO {7+}\r\nj\u00fcrgen')).toBe('2')
    // As SORT compares them (RFC 5051).
    for (const key of ['SUBJECT', 'HEADER Subject', 'TEXT'])
      expect([key, await search(`${key} "abc fi"`)]).toEqual([key, '2'])
    expect(await search('SUBJECT abc')).toBe('2')
    expect(await search('SUBJECT {13+}\r\nａｂｃ ﬁ')).toBe('2')
    // Whatever mail may be written in, by any of its names.
    for (const [name, word] of [
      ['latin1', 'gr\xfc\xdfe'],
      ['cp1252', 'gr\xfc\xdfe'],
      ['"ISO_8859-1:1987"', 'gr\xfc\xdfe'],
      ['"ISO_8859-9:1989"', 'gr\xfc\xdfe'],
      ['macintosh', 'gr\x9f\xa7e'],
      ['ISO-2022-JP', '\x1b(Bgr'],
      ['GB2312', 'gr'],
      ['TIS-620', 'gr'],
    ] as const) {
      const literal = Buffer.from(`{${word.length}+}\r\n${word}`, 'latin1')
      expect(await search(Buffer.concat([Buffer.from(`CHARSET ${name} SUBJECT `), literal])), name).toBe('2')
    }
    for (const name of ['X-UNKNOWN', 'iso-8859-99', '""', 'none', 'base64'])
      expect(await client.ask(`SEARCH CHARSET ${name} SUBJECT a`), name).toMatchObject({
        status: 'NO',
        text: expect.stringMatching(/^\[BADCHARSET/),
      })
  })

  test.each([
    'FROB',
    'SINCE',
    'SINCE yesterday',
    '()',
    '(ALL',
    'OR ALL',
    'NOT',
    'UID x',
    'LARGER x',
    'HEADER a',
    'YOUNGER 0',
    'KEYWORD \\Seen',
    'UNKEYWORD \\Seen',
  ])('SEARCH %s is refused', async criteria => {
    expect(await client.ask(`SEARCH ${criteria}`)).toMatchObject({ status: 'BAD' })
  })
})

describe('answers', () => {
  test('RETURN', async () => {
    const [line] = await client.ok('SEARCH RETURN (MIN MAX COUNT ALL) NOT 3')
    expect(line).toMatch(/^\* ESEARCH \(TAG "t\d+"\) MIN 1 MAX 5 ALL 1:2,4:5 COUNT 4$/)
    expect((await client.ok('UID SEARCH RETURN () SEEN'))[0]).toMatch(/^\* ESEARCH \(TAG "t\d+"\) UID ALL 1,3$/)
    expect((await client.ok('SEARCH RETURN (MIN COUNT) KEYWORD none'))[0]).toMatch(
      /^\* ESEARCH \(TAG "t\d+"\) COUNT 0$/,
    )
  })

  test('SAVE and $', async () => {
    expect(await client.ok('SEARCH RETURN (SAVE) SEEN')).toEqual([])
    expect(await client.ok('FETCH $ UID')).toEqual(['* 1 FETCH (UID 1)', '* 3 FETCH (UID 3)'])
    expect(await search('$ ANSWERED')).toBe('3')
    expect(await search('NOT $')).toBe('2 4 5')
    await client.ok('SEARCH RETURN (SAVE MIN) ALL')
    expect(await client.ok('UID FETCH $ UID')).toEqual(['* 1 FETCH (UID 1)'])
    // RFC 5182 2.1: BAD leaves what was saved, NO does not.
    expect(await client.ask('SEARCH RETURN (SAVE) FROB')).toMatchObject({ status: 'BAD' })
    expect(await client.ok('FETCH $ UID')).toEqual(['* 1 FETCH (UID 1)'])
    expect(await client.ask('SEARCH RETURN (SAVE) CHARSET X-NONE ALL')).toMatchObject({ status: 'NO' })
    expect(await client.ok('FETCH $ UID')).toEqual([])
  })

  test('$ may end a set that names others (RFC 9051 9 sequence-set)', async () => {
    await client.ok('SEARCH RETURN (SAVE) SEEN')
    const uids = [1, 2, 3].map(uid => `* ${uid} FETCH (UID ${uid})`)
    expect(await client.ok('FETCH 2,$ UID')).toEqual(uids)
    expect(await client.ok('UID FETCH 2:3,$ UID')).toEqual(uids)
    expect(await search('2,$')).toBe('1 2 3')
    expect(await search('NOT UID 5,$')).toBe('2 4')
    for (const set of ['$,2', '2,$,3', '2,$:3', '2$', '$$', '2,'])
      expect(await client.ask(`FETCH ${set} UID`), set).toMatchObject({ status: 'BAD' })
  })

  test('SORT', async () => {
    const sort = async (keys: string) => (await client.ok(`SORT (${keys}) UTF-8 ALL`))[0]
    expect(await sort('REVERSE ARRIVAL')).toBe('* SORT 5 4 3 2 1')
    expect(await sort('SUBJECT')).toBe('* SORT 1 3 4 5 2')
    expect(await sort('SUBJECT REVERSE DATE')).toBe('* SORT 3 1 5 4 2')
    expect(await sort('FROM')).toBe('* SORT 3 2 4 5 1')
    expect(await sort('REVERSE SIZE')).toMatch(/^\* SORT 4 /)
    expect((await client.ok('UID SORT RETURN (COUNT MIN) (REVERSE ARRIVAL) UTF-8 SEEN'))[0]).toMatch(
      /UID MIN 3 COUNT 2$/,
    )
    // RFC 5267 3: ALL is in the order asked for.
    const all = (keys: string) => client.ok(`SORT RETURN (ALL MIN) (${keys}) UTF-8 ALL`)
    expect((await all('REVERSE ARRIVAL'))[0]).toMatch(/ MIN 5 ALL 5,4,3,2,1$/)
    expect((await all('SUBJECT'))[0]).toMatch(/ MIN 1 ALL 1,3:5,2$/)
    expect(await client.ask('SORT (FROB) UTF-8 ALL')).toMatchObject({ status: 'BAD' })
  })

  test('THREAD', async () => {
    expect(await client.ok('THREAD REFERENCES UTF-8 ALL')).toEqual(['* THREAD (1 3 4)(2)(5)'])
    expect(await client.ok('THREAD ORDEREDSUBJECT UTF-8 ALL')).toEqual(['* THREAD (1 3)(2)(4 5)'])
    expect(await client.ok('UID THREAD REFERENCES UTF-8 KEYWORD none')).toEqual(['* THREAD'])
    expect(await client.ask('THREAD FROB UTF-8 ALL')).toMatchObject({ status: 'BAD' })
  })
})

test.each([
  // The day as it is written, wherever it was (RFC 9051 6.4.4).
  [
    'SENTON 1-Jan-1998',
    ['Date: 1 Jan 98 23:30:00 -0800'],
    ['Date: 1998-01-01T23:30:00-08:00'],
    ['Date: 2 Jan 1998 00:30:00 +0900'],
  ],
  ['SENTON 1-Jan-1998', ['Date: Thu Jan  1 23:30:00 PST 1998'], ['Date: Thu, 1 Jan 1998'], ['Subject: none']],
])('%s finds two of three', async (criterion, ...headers) => {
  await client.ok('CREATE Old')
  for (const lines of headers) await client.ok(append('Old', `${lines.join('\r\n')}\r\n\r\nx\r\n`))
  await client.ok('SELECT Old')
  expect(await search(criterion)).toBe('1 2')
  await client.ok('SELECT INBOX')
  await client.ok('DELETE Old')
})

test('SORT goes by what can be read of a date, and where that is nothing by when the message came (RFC 5256 2.2)', async () => {
  await client.ok('CREATE Old')
  const dates = [
    'rubbish',
    '2 Jan 1998 25:00:00 +0000',
    '2 Jan 1998 01:00:00 +9900',
    '31 Dec 1997',
    '1 Jan 19100 01:00:00',
  ]
  for (const date of dates) await client.ok(append('Old', `Date: ${date}\r\n\r\nx\r\n`))
  await client.ok('SELECT Old')
  expect(await client.ok('SORT (DATE) UTF-8 ALL')).toEqual(['* SORT 4 2 3 5 1'])
  await client.ok('SELECT INBOX')
  await client.ok('DELETE Old')
})

test('ids that are written in another way are the same (RFC 5256 4)', async () => {
  await client.ok('CREATE Ids')
  const pairs = [
    ['<"a.b"@x>', '<a.b@x>'],
    ['c@x', '<c@x>'],
    ['<d@x>', 'd@x'],
  ]
  for (const [at, [id, reply]] of pairs.entries()) {
    await client.ok(
      append('Ids', `Subject: s${at}\r\nMessage-ID: ${id}\r\nDate: 1 Jan 2001 0${at}:00:00 +0000\r\n\r\nx\r\n`),
    )
    await client.ok(
      append('Ids', `Subject: t${at}\r\nIn-Reply-To: ${reply}\r\nDate: 2 Jan 2001 0${at}:00:00 +0000\r\n\r\nx\r\n`),
    )
  }
  await client.ok('SELECT Ids')
  expect(await client.ok('THREAD REFERENCES UTF-8 ALL')).toEqual(['* THREAD (1 2)(3 4)(5 6)'])
  const threads = await client.ok('FETCH 1:6 (THREADID)')
  expect(new Set(threads.map(line => /THREADID \((\w+)\)/.exec(line)?.[1])).size).toBe(3)
  await client.ok('SELECT INBOX')
})

// A folder so large that the index is asked which messages may fit: what is found there repeats what is found in the small one.
describe.each([
  ['scanned', false],
  ['indexed', true],
] as const)('many messages, %s', (how, wait) => {
  const copies = 128
  let large: Client

  beforeAll(async () => {
    const folder = `Large ${how}`
    await client.ok(`CREATE "${folder}"`)
    await client.ok(`COPY 1:* "${folder}"`)
    large = await Client.login(service.at('imap'), 'seeker', `"${folder}"`)
    for (let count = 1; count < copies; count *= 2) await large.ok(`COPY 1:* "${folder}"`)
    if (wait) await service.indexed()
    return () => large.close()
  })

  test.each([
    'FROM zoe',
    'FROM "Zoe <zoe@example.net>"',
    'FROM "zoe "',
    'FROM " <bob@example.net>"',
    'FROM "<bob@"',
    'FROM EXAMPLE.NET',
    'TO ann',
    'TO "com, "',
    'TO "n <j@example"',
    'CC carl',
    'BCC hidden',
    'SUBJECT alpha',
    'SUBJECT "re: alpha"',
    'SUBJECT "] re: [list] b"',
    'SUBJECT "abc fi"',
    'SUBJECT ab',
    'SUBJECT nowhere',
    'SUBJECT ""',
    'NOT FROM zoe',
    'NOT SUBJECT alpha',
    'NOT NOT SUBJECT alpha',
    'OR FROM zoe SUBJECT beta',
    'OR FROM zoe LARGER 30000',
    'OR FROM zoe SEEN',
    'FROM example.net SUBJECT alpha',
    'FROM example.net SEEN',
    'NOT SEEN FROM example.org OR BODY plain SUBJECT beta',
    'BODY "quick brown"',
    'BODY needle',
    'BODY alpha',
    'OR BODY needle SUBJECT alpha',
    'TEXT alpha',
    'FROM zoe TEXT "special value"',
    'FROM zoe HEADER X-Custom "special v"',
    'HEADER Subject alpha',
    'HEADER Subject "re: alpha"',
    'HEADER Subject gr',
    'HEADER From "ann@example.com"',
    'HEADER From "\\"zoe\\" <zoe"',
    'HEADER From "(of work)"',
    'HEADER From work',
    'HEADER From hard',
    'HEADER Cc carl',
    'OR HEADER Subject beta HEADER From zoe',
    'NOT HEADER Subject alpha',
    'HEADER Subject second',
    'BODY plain DRAFT',
    `${'FROM example.net SUBJECT alpha '.repeat(40)}TO ann`,
    'FROM "zoe zoe@example.net none of these"',
    `BODY "${'filler text '.repeat(1000)}needle"`,
    `BODY "needle ${'filler text '.repeat(1000)}"`,
    `NOT NOT ${'OR FROM zoe '.repeat(10)}SUBJECT beta`,
  ])('SEARCH %s', async criteria => {
    const few = (await search(criteria)).split(' ').filter(Boolean).map(Number)
    const many = await large.ok(`SEARCH ${criteria}`)
    const found = (many.find(line => line.startsWith('* SEARCH')) ?? '').split(' ').slice(2).map(Number)
    const wanted = Array.from({ length: copies }, (_, copy) =>
      few.map(number => number + copy * messages.length),
    ).flat()
    expect(found).toEqual(wanted)
  })

  test('a set narrows what the index names, and what went meanwhile is not found', async () => {
    const numbers = async (criteria: string) => (await large.ok(`SEARCH ${criteria}`))[0]
    expect(await numbers('7:13 FROM zoe')).toBe('* SEARCH 11')
    expect(await numbers('UID 638:* SUBJECT beta')).toBe('* SEARCH 639 640')
    const other = await Client.login(service.at('imap'), 'seeker', `"Large ${how}"`)
    await other.ok('STORE 1 +FLAGS.SILENT (\\Deleted)')
    await other.ok('UID EXPUNGE 1')
    await other.close()
    expect(await numbers('1:13 FROM zoe')).toBe('* SEARCH 6 11')
  })
})

test('of criteria without end the index is asked about some: each is looked up', () => {
  const many = Array.from(
    { length: 100 },
    (_, at) => ({ op: 'substring', in: 'subject', needle: `word ${at}` }) as const,
  )
  const asked = indexedPart({ op: 'and', of: many })
  const leaves = asked === null ? [] : [...eachLeaf<Leaf>(asked)]
  expect(leaves.filter(({ op }) => op === 'substring')).toEqual(many.slice(0, limits.search.indexedLeavesMax))
  // Of alternatives that are not all asked about nothing can be left out.
  expect(indexedPart({ op: 'or', of: many })).toBeNull()
})
