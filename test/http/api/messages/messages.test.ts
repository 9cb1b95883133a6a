// Listing, reading, changing, moving and deleting messages over HTTP.

import { expect, test } from 'vitest'
import { type Body, useTeal } from '../../../running.ts'
import { account, mail } from '../mail-world.ts'

const service = useTeal()

test('a message is uploaded by its fields, shown whole and in lists', async () => {
  const anna = await account(service, 'anna')
  const box = anna.box('INBOX')
  const picture = Buffer.from('not really a picture').toString('base64')
  const id = await anna.put(
    'INBOX',
    mail('Grüße', 'Hello', {
      html: `<p>Hello <img src="data:image/png;base64,${picture}" /></p>`,
      cc: [{ name: 'Cécile', address: 'cecile@example.org' }],
      attachments: [
        { filename: 'notes.txt', contentType: 'text/plain', content: 'Y29udGVudA==' },
        { filename: 'page.mhtml', contentType: 'multipart/related; boundary=p', content: 'LS1wDQo=' },
      ],
      metaData: { colour: 'blue' },
      headers: [{ key: 'X-Own', value: 'yes' }],
      date: '2024-03-04T05:06:07.000Z',
      flagged: true,
    }),
  )
  const got = await anna.call('GET', `/mailboxes/${box}/messages/${id}`)
  expect(got.status).toBe(200)
  expect(got.body).toMatchObject({
    ...{ success: true, id, mailbox: box, user: anna.id, subject: 'Grüße', seen: true, flagged: true, draft: false },
    from: { name: 'Sender', address: 'sender@example.net' },
    cc: [{ name: 'Cécile', address: 'cecile@example.org' }],
    idate: '2024-03-04T05:06:07.000Z',
    metaData: { colour: 'blue' },
  })
  expect(got.body.attachments).toHaveLength(3)
  expect(got.body.attachments).toContainEqual(
    expect.objectContaining({ filename: 'page.mhtml', contentType: 'application/octet-stream' }),
  )
  const shown = await anna.call('GET', `/mailboxes/${box}/messages/${id}?replaceCidLinks=true`)
  expect(shown.body.html[0]).toContain('attachment:ATT0000')
  expect((await anna.call('GET', `/mailboxes/${box}/messages/${id}`)).body.html).toEqual(shown.body.html)
  const file = got.body.attachments.find((one: { filename: string }) => one.filename === 'notes.txt')
  const bytes = await service.raw('GET', `/users/${anna.id}/mailboxes/${box}/messages/${id}/attachments/${file.id}`)
  expect(await bytes.text()).toBe('content')
  const listed = await anna.call(
    'GET',
    `/mailboxes/${box}/messages?metaData=true&includeHeaders=true&threadCounters=true`,
  )
  expect(listed.body.results[0]).toMatchObject({
    ...{ id, attachments: true, metaData: { colour: 'blue' }, threadMessageCount: 1 },
    headers: { 'x-own': 'yes' },
  })
  const plain = await anna.call('GET', `/mailboxes/${box}/messages`)
  for (const key of ['metaData', 'headers', 'threadMessageCount', 'hasDrafts']) {
    expect(plain.body.results[0]).not.toHaveProperty(key)
  }
  expect((await anna.call('GET', `/mailboxes/${box}/messages?includeHeaders=List-ID`)).status).toBe(400)
})

test('raw bytes are stored as they are, in either way', async () => {
  const raw = await account(service, 'raw')
  const box = raw.box('INBOX')
  const source = 'From: a@example.net\r\nSubject: raw\r\n\r\nbody \xff\r\n'
  const bytes = Buffer.from(source, 'latin1')
  const path = `/users/${raw.id}/mailboxes/${box}/messages`
  const streamed = await service.raw('POST', `${path}?unseen=true&date=2020-01-01T00:00:00.000Z`, {
    headers: { 'content-type': 'message/rfc822' },
    body: bytes,
  })
  const { message } = (await streamed.json()) as Body
  expect(message).toEqual({ id: 1, mailbox: box, size: bytes.length })
  const back = await service.raw('GET', `${path}/1/message.eml`)
  expect(Buffer.from(await back.arrayBuffer()).equals(bytes)).toBe(true)
  expect((await raw.call('GET', `/mailboxes/${box}/messages/1`)).body).toMatchObject({
    seen: false,
    idate: '2020-01-01T00:00:00.000Z',
  })
  const text = 'Subject: text\r\n\r\ntext\r\n'
  const field = await raw.call('POST', `/mailboxes/${box}/messages`, { raw: text })
  expect(field.body.message.size).toBe(text.length)
  const nothing = new ReadableStream({ start: controller => controller.close() })
  const init = { headers: { 'content-type': 'message/rfc822' }, body: nothing, duplex: 'half' }
  const empty = await service.raw('POST', path, init as RequestInit)
  expect([empty.status, ((await empty.json()) as Body).code]).toEqual([400, 'EmptyMessage'])
})

test('pages go forward and back over the same rows, in both orders', async () => {
  const pages = await account(service, 'pages')
  const box = pages.box('INBOX')
  for (let at = 0; at < 25; at++) {
    await pages.put('INBOX', mail(`number ${at}`, 'x', { date: new Date(1e12 + (at % 20) * 1000).toISOString() }))
  }
  for (const order of ['asc', 'desc']) {
    const path = `/mailboxes/${box}/messages?limit=10&order=${order}`
    const first = (await pages.call('GET', path)).body
    const second = (await pages.call('GET', `${path}&next=${first.nextCursor}`)).body
    const third = (await pages.call('GET', `${path}&next=${second.nextCursor}`)).body
    expect([first.page, second.page, third.page]).toEqual([1, 2, 3])
    expect([first.previousCursor, third.nextCursor]).toEqual([false, false])
    const ids = [first, second, third].flatMap(page => page.results.map((row: { id: number }) => row.id))
    expect(new Set(ids).size).toBe(25)
    const back = (await pages.call('GET', `${path}&previous=${third.previousCursor}`)).body
    expect(back.results).toEqual(second.results)
    const start = (await pages.call('GET', `${path}&previous=${back.previousCursor}`)).body
    expect(start.results).toEqual(first.results)
  }
})

test('pages whose messages are deleted meanwhile lead to those that are left', async () => {
  const going = await account(service, 'going')
  const box = going.box('INBOX')
  for (let at = 0; at < 6; at++) await going.put('INBOX', mail(`number ${at}`, 'x', { date: `2020-01-0${at + 1}` }))
  const path = `/mailboxes/${box}/messages?limit=2&order=asc`
  const page = async (more = '') => (await going.call('GET', path + more)).body
  const ids = (body: Body) => body.results.map((row: { id: number }) => row.id)
  const first = await page()
  const second = await page(`&next=${first.nextCursor}`)
  expect(ids(second)).toEqual([3, 4])
  await going.call('PUT', `/mailboxes/${box}/messages`, { message: '1,2', moveTo: going.box('Trash') })
  const start = await page(`&previous=${second.previousCursor}`)
  expect([start.page, start.total, start.previousCursor, ids(start)]).toEqual([1, 4, false, [3, 4]])
  await going.call('PUT', `/mailboxes/${box}/messages`, { message: '5:*', moveTo: going.box('Trash') })
  const rest = await page(`&next=${start.nextCursor}`)
  expect([rest.page, rest.total, rest.nextCursor, ids(rest)]).toEqual([2, 2, false, []])
  const back = await page(`&previous=${rest.previousCursor}`)
  expect([back.page, ids(back)]).toEqual([1, [3]])
  expect(ids(await page(`&next=${back.nextCursor}`))).toEqual([4])
})

test('unseen lists, threads as one row, and drafts that answer', async () => {
  const threads = await account(service, 'threads')
  const box = threads.box('INBOX')
  const root = await threads.put(
    'INBOX',
    mail('topic', 'one', { headers: [{ key: 'Message-ID', value: '<t1@x.example>' }] }),
  )
  await threads.put(
    'INBOX',
    mail('Re: topic', 'two', {
      unseen: true,
      headers: [
        { key: 'Message-ID', value: '<t2@x.example>' },
        { key: 'References', value: '<t1@x.example>' },
      ],
    }),
  )
  await threads.put('INBOX', mail('other', 'three', { unseen: true }))
  const draft = { ...mail('', 'answer'), reference: { mailbox: box, id: root, action: 'reply' } }
  await threads.put('Drafts', draft)
  const list = async (query: string) => (await threads.call('GET', `/mailboxes/${box}/messages?${query}`)).body
  expect(await list('unseen=true')).toMatchObject({
    total: 2,
    results: [{ subject: 'other' }, { subject: 'Re: topic' }],
  })
  const collapsed = await list('collapseThreads=true&includeHasDrafts=true')
  expect(collapsed).toMatchObject({
    total: 2,
    results: [
      { subject: 'other', hasDrafts: false },
      { subject: 'Re: topic', hasDrafts: true },
    ],
  })
  expect((await list('collapseThreads=true&order=asc')).results.map((row: { subject: string }) => row.subject)).toEqual(
    ['topic', 'other'],
  )
  const single = await list('includeHasDrafts=true')
  expect(single.results.map((row: { hasDrafts: boolean }) => row.hasDrafts)).toEqual([false, false, true])
  const drafts = (await threads.call('GET', `/mailboxes/${threads.box('Drafts')}/messages`)).body.results
  expect(drafts[0]).toMatchObject({ subject: 'Re: topic', draft: true, thread: single.results[2].thread })
  const shown = await threads.call('GET', `/mailboxes/${threads.box('Drafts')}/messages/${drafts[0].id}`)
  expect(shown.body.reference).toEqual({ mailbox: box, id: root, action: 'reply' })
})

test('flags, expiry and metadata of one, some and all', async () => {
  const flags = await account(service, 'flags')
  const box = flags.box('INBOX')
  for (let at = 0; at < 8; at++) await flags.put('INBOX', mail(`m${at}`, 'x', { unseen: true }))
  const update = (path: string, body: unknown) => flags.call('PUT', `/mailboxes/${box}/messages${path}`, body)
  expect((await update('/1', { seen: true, flagged: true })).body).toEqual({ success: true, updated: 1 })
  expect((await update('', { message: '2,4:5', seen: true })).body.updated).toBe(3)
  expect((await update('/6:*', { deleted: true })).body.updated).toBe(3)
  expect((await update('', { message: '1,*', draft: true })).body.updated).toBe(2)
  expect((await update('/*', { draft: false })).body).toEqual({ success: true, updated: 1 })
  expect((await flags.call('GET', `/mailboxes/${box}/messages/8`)).body.draft).toBe(false)
  expect((await update('/1', { draft: false })).body.updated).toBe(1)
  expect((await flags.call('PUT', `/mailboxes/${flags.box('Junk')}/messages/*`, { seen: true })).status).toBe(404)
  expect(await update('', { message: '90:99', seen: true })).toMatchObject({
    status: 404,
    body: { code: 'MessageNotFound' },
  })
  expect((await update('', { message: 'all', seen: true })).status).toBe(400)
  await update('/3', { metaData: { a: 1 }, expires: '2090-01-01T00:00:00.000Z' })
  expect((await flags.call('GET', `/mailboxes/${box}/messages/3`)).body).toMatchObject({
    metaData: { a: 1 },
    expires: '2090-01-01T00:00:00.000Z',
    seen: false,
  })
  await update('/3', { expires: false })
  expect((await flags.call('GET', `/mailboxes/${box}/messages/3?markAsSeen=true`)).body).not.toHaveProperty('expires')
  const list = (await flags.call('GET', `/mailboxes/${box}/messages?order=asc`)).body.results
  expect(list.map((row: { seen: boolean }) => row.seen)).toEqual([true, true, true, true, true, false, false, false])
  expect(list.map((row: { deleted: boolean }) => row.deleted)).toEqual([...Array(5).fill(false), true, true, true])
})

test('many messages move in pieces, and back', async () => {
  const mover = await account(service, 'mover')
  const [box, trash] = [mover.box('INBOX'), mover.box('Trash')]
  await service.call('POST', '/settings/const:max:bulk_batch_size', { value: 7 })
  const uploads = Array.from({ length: 40 }, (_, at) => mover.put('INBOX', mail(`m${at}`, 'x')))
  await Promise.all(uploads)
  const moved = await mover.call('PUT', `/mailboxes/${box}/messages`, { message: '1:*', moveTo: trash, seen: false })
  expect(moved.body).toMatchObject({ success: true, mailbox: trash, updated: 40 })
  expect(moved.body.id).toHaveLength(40)
  expect(moved.body.id[39]).toEqual([40, 40])
  expect((await mover.call('GET', `/mailboxes/${trash}`)).body).toMatchObject({ total: 40, unseen: 40 })
  const back = await mover.call('PUT', `/mailboxes/${trash}/messages/3,5`, { moveTo: box })
  expect(back.body.id).toEqual([
    [3, 41],
    [5, 42],
  ])
  const nowhere = await mover.call('PUT', `/mailboxes/${trash}/messages/1`, { moveTo: '5a1bda70bfbd1442cd96c6f0' })
  expect(nowhere).toMatchObject({ status: 404, body: { code: 'NoSuchMailbox' } })
  await service.call('POST', '/settings/const:max:bulk_batch_size', { value: 150 })
})

test('moving into and out of Junk, and flagging, is told with the whole payload', async () => {
  const judge = await account(service, 'judge')
  const [box, junk, trash] = [judge.box('INBOX'), judge.box('Junk'), judge.box('Trash')]
  const hook = { type: ['marked.spam', 'marked.ham'], user: judge.id, url: 'http://127.0.0.1:9/' }
  const { body } = await service.call('POST', '/webhooks', hook)
  const id = await judge.put(
    'INBOX',
    mail('Win', 'now', { headers: [{ key: 'Message-ID', value: '<win@x.example>' }] }),
  )
  await judge.put('Junk', mail('straight to junk', 'says nothing'))
  const events = async () =>
    (
      await service.teal.core.read.all<{ name: string; body: string }>(
        'SELECT name, body FROM event UNION ALL SELECT name, body FROM payload ORDER BY 1',
      )
    ).map(row => ({ name: row.name, ...JSON.parse(row.body) }))
  const move = async (from: string, uid: number, to: string) =>
    (await judge.call('PUT', `/mailboxes/${from}/messages/${uid}`, { moveTo: to })).body.id[0][1] as number
  const inJunk = await move(box, id, junk)
  const out = await move(junk, inJunk, box)
  const again = await move(box, out, junk)
  await move(junk, again, trash)
  const told = await events()
  expect(told.map(event => event.name)).toEqual(['marked.ham', 'marked.spam', 'marked.spam'])
  expect(told[0]).toMatchObject({
    ...{ user: judge.id, mailbox: box, message: out, messageId: '<win@x.example>', subject: 'Win' },
    from: { name: 'Sender', address: 'sender@example.net' },
    to: [{ name: 'Receiver', address: 'receiver@example.com' }],
    date: expect.stringMatching(/^\d{4}-.*Z$/),
  })
  const other = await judge.put('INBOX', mail('fine', 'x'))
  await judge.call('PUT', `/mailboxes/${box}/messages/${other}`, { flagged: true })
  expect((await events()).filter(event => event.subject === 'fine')).toMatchObject([
    { name: 'marked.ham', message: other },
  ])
  const both = await judge.put('INBOX', mail('both', 'x'))
  const put = async (from: string, uid: number, moveTo: string, flagged: boolean) =>
    (await judge.call('PUT', `/mailboxes/${from}/messages/${uid}`, { moveTo, flagged })).body.id[0][1] as number
  const spam = await put(box, both, junk, true)
  await judge.call('PUT', `/mailboxes/${junk}/messages/${spam}`, { flagged: false })
  const ham = await put(junk, spam, box, true)
  // The move says it, once, and wins where the two disagree.
  const once = (await events()).filter(event => event.subject === 'both')
  expect(once.map(({ name, mailbox, message }) => [name, mailbox, message])).toEqual([
    ['marked.ham', box, ham],
    ['marked.spam', junk, spam],
  ])
  await service.call('DELETE', `/webhooks/${body.id}`)
})

test('a mailbox is emptied at once or by a task', async () => {
  const empty = await account(service, 'empty')
  const box = empty.box('INBOX')
  for (let at = 0; at < 5; at++) await empty.put('INBOX', mail(`m${at}`, 'x'))
  expect((await empty.call('DELETE', `/mailboxes/${box}/messages`)).body).toEqual({
    success: true,
    deleted: 5,
    errors: 0,
  })
  for (let at = 0; at < 5; at++) await empty.put('INBOX', mail(`n${at}`, 'x'))
  const later = await empty.call('DELETE', `/mailboxes/${box}/messages?async=true&skipArchive=true`)
  expect(later.body).toMatchObject({ success: true, existing: false })
  expect(await empty.done(later.body.scheduled)).toMatchObject({
    ...{ kind: 'messages.delete', state: 'done' },
    result: { deleted: 5, errors: 0 },
  })
  expect((await empty.call('GET', `/mailboxes/${box}`)).body.total).toBe(0)
  expect((await empty.call('GET', '/archived/messages')).body.total).toBe(5)
  const tasks = (await empty.call('GET', '/tasks?limit=1')).body
  expect(tasks).toMatchObject({ total: 1, results: [{ id: later.body.scheduled }] })
  expect((await service.call('GET', `/tasks/${later.body.scheduled}`)).body.state).toBe('done')
  expect((await empty.call('GET', '/tasks/5a1bda70bfbd1442cd96c6f0')).body.code).toBe('TaskNotFound')
})

test('a draft replaces the one before it', async () => {
  const drafter = await account(service, 'drafter')
  const box = drafter.box('Drafts')
  const first = await drafter.put('Drafts', { ...mail('one', 'x'), draft: true })
  const replaced = await drafter.call('POST', `/mailboxes/${box}/messages`, {
    ...mail('two', 'y'),
    ...{ draft: true, replacePrevious: { id: first } },
  })
  expect(replaced.body).toMatchObject({ success: true, previousDeleted: true })
  const again = await drafter.call('POST', `/mailboxes/${box}/messages`, {
    ...mail('three', 'z'),
    ...{ draft: true, replacePrevious: { mailbox: box, id: first } },
  })
  expect(again.body).toMatchObject({ success: true, previousDeleted: false, previousDeleteError: expect.any(String) })
  const { results } = (await drafter.call('GET', `/mailboxes/${box}/messages`)).body
  expect(results.map((row: { subject: string }) => row.subject)).toEqual(['three', 'two'])
  // A draft is written under an address of its own account.
  expect(results[0].from.address).toBe('drafter@example.com')
  expect((await drafter.call('GET', '/archived/messages')).body.total).toBe(0)
})

test('stored files and attachments of the message referred to come along', async () => {
  const files = await account(service, 'files')
  const box = files.box('INBOX')
  const stored = await files.call('POST', '/storage', {
    ...{ filename: 'logo.png', contentType: 'image/png', cid: 'logo', encoding: 'base64', content: 'AAEC' },
  })
  const original = await files.put(
    'INBOX',
    mail('with', 'x', { attachments: [{ filename: 'a.txt', content: 'YQ==' }] }),
  )
  const id = await files.put('Drafts', {
    ...mail('', 'see'),
    files: [stored.body.id, '5a1bda70bfbd1442cd96c6f0'],
    reference: { mailbox: box, id: original, action: 'forward', attachments: true },
  })
  const shown = (await files.call('GET', `/mailboxes/${files.box('Drafts')}/messages/${id}`)).body
  expect(shown.subject).toMatch(/^Fwd: with/)
  expect(shown.files).toMatchObject([{ id: stored.body.id, filename: 'logo.png', contentType: 'image/png', size: 3 }])
  expect(shown.attachments.map((one: { filename: string }) => one.filename).sort()).toEqual(['a.txt', 'logo.png'])
  const missing = await files.call('POST', `/mailboxes/${box}/messages`, {
    ...mail('', 'x'),
    reference: { mailbox: box, id: 999, action: 'reply' },
  })
  expect(missing).toMatchObject({ status: 404, body: { code: 'MessageNotFound' } })
})

test('over quota nothing is stored but the message that leads there', async () => {
  const small = await account(service, 'small', { quota: 1 })
  await small.put('INBOX', mail('leads there', 'x'.repeat(3000)))
  const answer = await small.call('POST', `/mailboxes/${small.box('INBOX')}/messages`, mail('no', 'x'))
  expect(answer).toMatchObject({ status: 400, body: { code: 'OverQuotaError' } })
})

test('nobody reaches the messages of another account', async () => {
  const owner = await account(service, 'owner')
  const thief = await account(service, 'thief')
  const token = await thief.token()
  const id = await owner.put('INBOX', mail('secret', 'x'))
  const box = owner.box('INBOX')
  const calls: [string, string, unknown?][] = [
    ['GET', `/mailboxes/${box}/messages`],
    ['GET', `/mailboxes/${box}/messages/${id}`],
    ['GET', `/mailboxes/${box}/messages/${id}/message.eml`],
    ['GET', `/mailboxes/${box}/messages/${id}/attachments/ATT00001`],
    ['PUT', `/mailboxes/${box}/messages/${id}`, { seen: true }],
    ['PUT', `/mailboxes/${box}/messages`, { message: '1:*', seen: true }],
    ['DELETE', `/mailboxes/${box}/messages/${id}`],
    ['DELETE', `/mailboxes/${box}/messages`],
    ['POST', `/mailboxes/${box}/messages`, mail('x', 'y')],
    ['POST', `/mailboxes/${box}/messages/${id}/submit`, {}],
    ['POST', `/mailboxes/${box}/messages/${id}/forward`, { addresses: ['x@example.net'] }],
  ]
  for (const [method, path, body] of calls) {
    const direct = await owner.call(method, path, body, token)
    expect([direct.status, direct.body.code]).toEqual([403, 'MissingPrivileges'])
    const through = await thief.call(method, path, body, token)
    expect([through.status, through.body.code]).toEqual([404, 'NoSuchMailbox'])
  }
  // Nor by way of references, moves and drafts.
  const own = thief.box('INBOX')
  const mine = await thief.put('INBOX', mail('mine', 'x'))
  const reference = { mailbox: box, id, action: 'forward', attachments: true }
  expect((await thief.call('POST', `/mailboxes/${own}/messages`, { ...mail('x', 'y'), reference }, token)).status).toBe(
    404,
  )
  expect((await thief.call('PUT', `/mailboxes/${own}/messages/${mine}`, { moveTo: box }, token)).status).toBe(404)
  const previous = await thief.call(
    'POST',
    `/mailboxes/${own}/messages`,
    { ...mail('x', 'y'), replacePrevious: { mailbox: box, id } },
    token,
  )
  expect(previous.body).toMatchObject({ previousDeleted: false })
  expect((await owner.call('GET', `/mailboxes/${box}`)).body).toMatchObject({ total: 1 })
})

test('no cursor, real, foreign or made up, breaks a list', async () => {
  const fuzz = await account(service, 'fuzz')
  const box = fuzz.box('INBOX')
  for (let at = 0; at < 3; at++) await fuzz.put('INBOX', mail(`m${at}`, 'x'))
  const real = (await fuzz.call('GET', `/mailboxes/${box}/messages?limit=1`)).body.nextCursor as string
  const encoded = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url')
  const cursors = [
    ...['', 'x', '%', 'null', '[]', encoded(null), encoded([]), encoded([[], 1]), encoded([[1, 2], -5])],
    ...[encoded([[1e308, 1e308], 1]), encoded([['a', 'b'], 1]), encoded([[1, 2, 3], 1]), encoded([[-1, 0], 9e15])],
    ...[
      encoded([[{}, 1], 1]),
      encoded([[1.5, 2.5], 2]),
      encoded({ a: 1 }),
      'A'.repeat(2000),
      `${real}?order=desc`,
      real,
    ],
  ]
  for (const list of [`/mailboxes/${box}/messages`, '/archived/messages', '/search?q=m', '/tasks']) {
    for (const name of ['next', 'previous']) {
      for (const cursor of cursors) {
        const glue = list.includes('?') ? '&' : '?'
        const { status } = await fuzz.call('GET', `${list}${glue}limit=1&${name}=${encodeURIComponent(cursor)}`)
        expect([list, name, cursor, [200, 400].includes(status)]).toEqual([list, name, cursor, true])
      }
    }
  }
})

test('a place in a long list is jumped to by the number of rows before it, from either end', async () => {
  const user = await account(service, 'jumper')
  for (let n = 0; n < 7; n += 1) {
    await user.put('INBOX', mail(`n${n}`, 'x', { unseen: n % 2 === 0, date: new Date(n * 86_400_000).toISOString() }))
  }
  const path = `/mailboxes/${user.box('INBOX')}/messages`
  const subjects = async (query: string) => {
    const { body } = await user.call('GET', `${path}?${query}`)
    return { names: body.results.map((one: { subject: string }) => one.subject), body }
  }
  expect((await subjects('limit=2&skip=3')).names).toEqual(['n3', 'n2'])
  expect((await subjects('limit=2&skip=5&order=asc')).names).toEqual(['n5', 'n6'])
  expect((await subjects('skip=2&unseen=true')).names).toEqual(['n2', 'n0'])
  const { names, body } = await subjects('limit=2&skip=2')
  expect(names).toEqual(['n4', 'n3'])
  expect(body.total).toBe(7)
  expect((await subjects(`limit=2&next=${body.nextCursor}`)).names).toEqual(['n2', 'n1'])
  expect((await subjects(`limit=2&previous=${body.previousCursor}`)).names).toEqual(['n6', 'n5'])
  expect((await subjects('skip=7')).names).toEqual([])
  expect((await subjects('skip=70000')).names).toEqual([])
})
