// Searching over HTTP, with and without the index.

import { beforeAll, describe, expect, test } from 'vitest'
import { useTeal } from '../../../running.ts'
import { type Account, account, mail } from '../mail-world.ts'

const service = useTeal()
let user: Account

async function find(query: string, on = user): Promise<string[]> {
  const { status, body } = await on.call('GET', `/search?${query}&order=asc`)
  expect([query, status]).toEqual([query, 200])
  expect(body.total).toBe(body.results.length)
  return body.results.map((row: { subject: string }) => row.subject)
}

const q = (text: string, more = '') => find(`q=${encodeURIComponent(text)}${more}`)
const at = (day: number) => ({ date: new Date(Date.UTC(2024, 0, day)).toISOString() })

beforeAll(async () => {
  user = await account(service, 'searcher')
  await user.call('POST', '/mailboxes', { path: 'Work/Projects (old)' })
  await user.put('INBOX', mail('alpha one', 'The quick  brown\nfox jumps', { ...at(1), unseen: true }))
  await user.put('INBOX', mail('alpha two', 'lazy dog sleeps, ΟΔΟΣΑ', { ...at(2), flagged: true }))
  await user.put(
    'INBOX',
    mail('beta', 'Grüße aus Köln, ПРИВЕТ мир, οδος, 5 µg of 1.000, Ｔｅａｌ ﬁnds ｶﾞｿﾘﾝ, KIRMIZI ışık', {
      ...at(3),
      cc: [{ name: 'Carla', address: 'carla@example.org' }],
    }),
  )
  await user.put(
    'INBOX',
    mail('gamma', '東京で会いましょう', { ...at(4), attachments: [{ filename: 'invoice-77.pdf', content: 'YQ==' }] }),
  )
  await user.put('Junk', mail('cheap fox', 'buy now', at(5)))
  await user.put(
    'Work/Projects (old)',
    mail('project', `plan ${'long '.repeat(2000)}`, { ...at(6), from: { name: 'Zoë', address: 'zoe@work.example' } }),
  )
})

describe.each([
  ['scanned', false],
  ['indexed', true],
] as const)('%s', (_name, wait) => {
  beforeAll(async () => {
    if (wait) await service.indexed()
  })

  test.each<[string, string[]]>([
    ['fox', ['alpha one', 'cheap fox']],
    ['FOX', ['alpha one', 'cheap fox']],
    ['ro', ['alpha one', 'project']],
    ['uick', ['alpha one']],
    ['quick dog', ['alpha one', 'alpha two']],
    ['"quick brown fox"', ['alpha one']],
    ['"brown fox j', ['alpha one']],
    ['"cheap fox"', ['cheap fox']],
    ['"fox "', ['alpha one']],
    ['grüße', ['beta']],
    ['привет', ['beta']],
    // Greek words end in another sigma, and micro is a letter of them.
    ...['ΟΔΟΣ', 'οδος', 'οδοσ', 'ΔΟΣ', 'δος'].map((text): [string, string[]] => [text, ['alpha two', 'beta']]),
    ['οδοσα', ['alpha two']],
    ['"5 μg"', ['beta']],
    ['"5 µG"', ['beta']],
    // So are letters in another width or joined, and I is of both i.
    ...['teal finds', 'TEAL', 'ＴＥＡＬ', 'ガソリン', 'ｶﾞｿ', 'ガソ', 'kırmızı', 'IŞIK'].map(
      (text): [string, string[]] => [text, ['beta']],
    ),
    ['000', ['beta']],
    ['0000', []],
    ['東京', ['gamma']],
    ['会いま', ['gamma']],
    ['京', ['gamma']],
    ['invoice-77', ['gamma']],
    ['alpha -lazy', ['alpha one']],
    ['-"lazy dog" from:sender@', ['alpha one', 'beta', 'gamma', 'cheap fox']],
    ['from:zoë', ['project']],
    ['from:work.example', ['project']],
    ['to:carla', ['beta']],
    ['cc:carla', ['beta']],
    ['bcc:carla', []],
    ['subject:alpha fox', ['alpha one']],
    ['subject:"alpha two"', ['alpha two']],
    ['(fox OR dog) subject:alpha', ['alpha one', 'alpha two']],
    ['in:nowhere OR subject:beta', ['beta']],
    ['in:Junk', ['cheap fox']],
    ['in:spam', ['cheap fox']],
    ['in:"work/projects (old)"', ['project']],
    ['in:Work/Projects', []],
    ['is:unread', ['alpha one']],
    ['is:starred', ['alpha two']],
    ['unseen:yes', ['alpha one']],
    ['seen:true in:inbox', ['alpha two', 'beta', 'gamma']],
    ['has:attachment', ['gamma']],
    ['attachments:true', ['gamma']],
    ['minSize:8000', ['project']],
    ['in:inbox maxSize:8000 flagged:1', ['alpha two']],
    ['after:2024-01-05', ['cheap fox', 'project']],
    ['datestart:2024-01-02 before:2024-01-03', ['alpha two', 'beta']],
    ['id:1,3:4 in:inbox', ['alpha one', 'beta', 'gamma']],
    ['searchable:true fox', ['alpha one']],
    ['-searchable:true', ['cheap fox']],
    ['searchable:false fox', ['alpha one', 'cheap fox']],
    ['seen:false', []],
    ['unknown:thing', []],
    ['after:yesterday', []],
    ['""', []],
    [')(', []],
    ['NoSuchWordAnywhere', []],
    ['subject:alpha subject:beta', []],
  ])('%s', async (text, subjects) => {
    expect(await q(text)).toEqual(subjects)
  })

  test('all words with useAndSearch', async () => {
    expect(await q('quick fox', '&useAndSearch=true')).toEqual(['alpha one'])
    expect(await q('quick dog', '&useAndSearch=true')).toEqual([])
  })

  test('classic parameters must all fit', async () => {
    const box = user.box('INBOX')
    expect(await find('query=fox')).toEqual(['alpha one', 'cheap fox'])
    expect(await find(`query=fox&mailbox=${box}`)).toEqual(['alpha one'])
    expect(await find('query=fox%20lazy&useAndSearch=true')).toEqual([])
    expect(await find('from=zoe')).toEqual(['project'])
    expect(await find('subject=alpha&flagged=true')).toEqual(['alpha two'])
    expect(await find('or[subject]=beta&or[from]=zoe')).toEqual(['beta', 'project'])
    expect(await find(`id=2:3&mailbox=${box}`)).toEqual(['alpha two', 'beta'])
    expect(await find('searchable=1&query=fox')).toEqual(['alpha one'])
    expect(await find('datestart=2024-01-05T00:00:00Z&maxSize=5000')).toEqual(['cheap fox'])
    expect(await find('query=seen:true')).toEqual([])
  })

  test('no parameter, or none but false ones, finds everything; words without a letter find nothing', async () => {
    const all = ['alpha one', 'alpha two', 'beta', 'gamma', 'cheap fox', 'project']
    for (const nothing of ['', 'q=&query=', 'attachments=false&seen=0', 'threadCounters=1']) {
      expect(await find(nothing)).toEqual(all)
    }
    for (const empty of ['query=""', 'q=""', 'q=seen:false', 'or[query]=""']) expect(await find(empty)).toEqual([])
  })

  test('a thread is named by its id', async () => {
    const [first] = (await user.call('GET', '/search?q=fox&order=asc')).body.results
    expect(await find(`thread=${first.thread.toUpperCase()}`)).toEqual(['alpha one'])
    for (const thread of ['zz', 'f'.repeat(25), `${'f'.repeat(23)}g`]) {
      const { status, body } = await user.call('GET', `/search?thread=${thread}`)
      expect([status, Object.keys(body.details)]).toEqual([400, ['thread']])
    }
  })
})

test('without an order the newest stored comes first, pages go both ways, and the query is told', async () => {
  const first = (await user.call('GET', '/search?q=searchable:true&limit=2')).body
  expect(first).toMatchObject({ query: 'searchable:true', total: 5, page: 1, previousCursor: false })
  const second = (await user.call('GET', `/search?q=searchable:true&limit=2&next=${first.nextCursor}`)).body
  const third = (await user.call('GET', `/search?q=searchable:true&limit=2&next=${second.nextCursor}`)).body
  const subjects = [first, second, third].flatMap(page => page.results.map((row: { subject: string }) => row.subject))
  expect(subjects).toEqual(['project', 'gamma', 'beta', 'alpha two', 'alpha one'])
  const back = (await user.call('GET', `/search?q=searchable:true&limit=2&previous=${third.previousCursor}`)).body
  expect(back.results).toEqual(second.results)
})

test('what is marked deleted is not found, and what is gone leaves the index', async () => {
  const gone = await account(service, 'gone')
  const box = gone.box('INBOX')
  const id = await gone.put('INBOX', mail('vanish', 'wunderkind'))
  await gone.put('INBOX', mail('vanish too', 'wunderkind'))
  await service.indexed()
  expect(await find('q=wunderkind', gone)).toHaveLength(2)
  await gone.call('PUT', `/mailboxes/${box}/messages/${id}`, { deleted: true })
  expect(await find('q=wunderkind', gone)).toEqual(['vanish too'])
  await gone.call('DELETE', `/mailboxes/${box}/messages?skipArchive=true`)
  expect(await find('q=wunderkind', gone)).toEqual([])
  const rows = await service.teal.core.read.all(
    `SELECT * FROM search_doc d JOIN user u ON u.num = d.user WHERE u.id = '${gone.id}'`,
  )
  expect(rows).toEqual([])
})

test('a message deleted before it was indexed is gone from the queue of the index, too', async () => {
  const quick = await account(service, 'quick')
  for (let at = 0; at < 20; at++) {
    const id = await quick.put('INBOX', mail(`m${at}`, 'ephemeral'))
    if (at % 2 === 0) await quick.call('DELETE', `/mailboxes/${quick.box('INBOX')}/messages/${id}`)
  }
  expect(await find('q=ephemeral&limit=50', quick)).toHaveLength(10)
  await service.indexed()
  expect(await find('q=ephemeral&limit=50', quick)).toHaveLength(10)
})

test('a search changes what it finds, as a task', async () => {
  const sorter = await account(service, 'sorter')
  for (let at = 0; at < 12; at++)
    await sorter.put('INBOX', mail(at % 3 === 0 ? 'keep' : 'newsletter', 'x', { unseen: true }))
  const [box, trash] = [sorter.box('INBOX'), sorter.box('Trash')]
  const action = { moveTo: trash, seen: true }
  const started = await sorter.call('POST', '/search', { q: 'subject:newsletter', action })
  expect(started.body).toMatchObject({ success: true, existing: false })
  const moved = [{ mailbox: box, messages: '1:8' }]
  expect((await sorter.done(started.body.scheduled)).result).toEqual({ found: 8, changed: 8, moved })
  expect((await sorter.call('GET', `/mailboxes/${trash}`)).body).toMatchObject({ total: 8, unseen: 0 })
  const back = { mailbox: trash, id: '1:8', action: { moveTo: box } }
  await sorter.done((await sorter.call('POST', '/search', back)).body.scheduled)
  expect((await sorter.call('GET', `/mailboxes/${trash}`)).body).toMatchObject({ total: 0 })
  await sorter.done((await sorter.call('POST', '/search', { q: 'subject:newsletter', action })).body.scheduled)
  const ended = await sorter.call('POST', '/search', { query: 'newsletter', action: { delete: true } })
  expect((await sorter.done(ended.body.scheduled)).result).toEqual({ found: 8, changed: 8 })
  expect((await sorter.call('GET', '/archived/messages')).body.total).toBe(8)
  const flagged = await sorter.call('POST', '/search', { subject: 'keep', mailbox: box, action: { flagged: true } })
  expect((await sorter.done(flagged.body.scheduled)).result).toEqual({ found: 4, changed: 4 })
  expect((await sorter.call('POST', '/search', { q: 'unknown:x', action: { delete: true } })).body).toMatchObject({
    success: true,
  })
  expect((await sorter.call('POST', '/search', { action: { delete: true } })).status).toBe(400)
  const nowhere = { q: 'keep', action: { moveTo: '5a1bda70bfbd1442cd96c6f0' } }
  expect((await sorter.call('POST', '/search', nowhere)).body.code).toBe('NoSuchMailbox')
})

test('one account never finds the mail of another', async () => {
  const other = await account(service, 'other')
  expect(await find('q=fox', other)).toEqual([])
  const token = await other.token()
  expect((await user.call('GET', '/search?q=fox', undefined, token)).status).toBe(403)
  expect((await user.call('POST', '/search', { q: 'fox', action: { delete: true } }, token)).status).toBe(403)
  expect(await find(`query=fox&mailbox=${user.box('INBOX')}`, other)).toEqual([])
  expect(await find(`q=in:${user.box('INBOX')}`, other)).toEqual([])
})

test('hostile queries are answered', async () => {
  const texts = [
    '('.repeat(1000),
    '-'.repeat(1000),
    '"'.repeat(999),
    'a:'.repeat(500),
    ' OR '.repeat(250),
    '\u0001\u0000x',
  ]
  texts.push(
    'x'.repeat(1000),
    `${'(a OR '.repeat(150)}b`,
    'in:((((',
    '%_\'";--',
    '-(-(-(-fox)))',
    '\ud800abc'.repeat(20),
  )
  for (const text of texts) {
    const { status } = await user.call('GET', `/search?q=${encodeURIComponent(text.toWellFormed())}`)
    expect([text.slice(0, 20), status === 200 || status === 400]).toEqual([text.slice(0, 20), true])
  }
  expect((await user.call('GET', `/search?query=${'x'.repeat(256)}`)).status).toBe(400)
})

test('who is still typing hears of the newest in a moment, and whether that is all', async () => {
  const writer = await account(service, 'typing')
  for (let n = 0; n < 12; n += 1) {
    const path = n % 3 === 0 ? 'Trash' : 'INBOX'
    await writer.put(path, mail(`part ${n}`, n === 5 ? 'a needle in it' : 'hay', at(n + 1)))
  }
  const found = async (query: string) => {
    const { body } = await writer.call('GET', `/search?quick=true&order=desc&${query}`)
    return { ...body, names: body.results.map((row: { subject: string }) => row.subject) }
  }
  for (const isIndexed of [false, true]) {
    if (isIndexed) await service.indexed()
    const few = await found('q=needle')
    expect([few.names, few.total, few.complete]).toEqual([['part 5'], 1, true])
    const first = await found('q=subject:part&limit=4')
    expect(first.names).toEqual(['part 11', 'part 10', 'part 9', 'part 8'])
    expect(await found('q=in:trash')).toMatchObject({ total: 4, complete: true })
    const [subject] = (await found(`q=subject:part&limit=4&next=${first.nextCursor}`)).names
    expect(subject).toBe('part 7')
    expect(await found('q=subject:part&limit=4')).toMatchObject({ total: 12, complete: true })
  }
})
