// Sending over HTTP: what is queued, what is kept, what is refused.

import { expect, test } from 'vitest'
import { useTeal } from '../../../running.ts'
import { type Account, account, mail } from '../mail-world.ts'

const service = useTeal({ outbound: { enabled: false } })

interface Waiting {
  sender: string
  recipients: string[]
  due: number
  source: string
}

/** What an account has in the queue, the oldest first. */
async function queued(user: Account): Promise<Waiting[]> {
  const { core } = service.teal
  const rows = await core.read.all<{ num: number; sender: string; body: number; prefix: string }>(
    'SELECT num, sender, body, prefix FROM outbound WHERE user = ? ORDER BY num',
    user.id,
  )
  const waiting: Waiting[] = []
  for (const { num, sender, body, prefix } of rows) {
    const targets = await core.read.all<{ value: string; due: number; state: number }>(
      'SELECT value, due, state FROM outbound_target WHERE message = ? ORDER BY seq',
      num,
    )
    const source = prefix + (await (await core.bodies.open(body)).read()).toString()
    waiting.push({ sender, recipients: targets.map(({ value }) => value), due: targets[0]?.due ?? 0, source })
  }
  return waiting
}

const people = (...names: string[]) => names.map(name => ({ name, address: `${name}@example.net` }))

test('a draft is sent: queued without Bcc, moved to Sent, the original marked, files deleted', async () => {
  const user = await account(service, 'sender')
  const file = await user.call('POST', '/storage', { filename: 'a.txt', content: 'text' })
  const original = await user.put('INBOX', mail('Question', 'why'))
  const draft = await user.put('Drafts', {
    ...{ subject: 'Answer', text: 'because', files: [file.body.id] },
    ...{ to: people('a', 'b'), cc: people('c', 'd'), bcc: people('e', 'f') },
    reference: { mailbox: user.box('INBOX'), id: original, action: 'reply' },
  })
  const sendTime = new Date(Date.now() + 3_600_000).toISOString()
  const drafts = `/mailboxes/${user.box('Drafts')}/messages`
  const { body } = await user.call('POST', `${drafts}/${draft}/submit`, { sendTime, deleteFiles: true })
  expect(body).toMatchObject({ success: true, message: { id: 1, mailbox: user.box('Sent Mail') } })
  expect(body.queueId).toMatch(/^[0-9a-f]{18}$/)
  const [waiting] = await queued(user)
  expect(waiting).toMatchObject({ sender: 'sender@example.com', due: Date.parse(sendTime) })
  expect(waiting?.recipients).toEqual(['a', 'b', 'c', 'd', 'e', 'f'].map(name => `${name}@example.net`))
  expect(waiting?.source).not.toMatch(/^bcc:/im)
  expect(waiting?.source).toMatch(/^Subject: Answer/m)
  const sent = (await user.call('GET', `/mailboxes/${user.box('Sent Mail')}/messages/1`)).body
  expect(sent).toMatchObject({ draft: false, seen: true, envelope: { from: 'sender@example.com' } })
  expect(sent.outbound).toMatchObject([{ queueId: body.queueId }])
  const waits = (recipient: string, seq: number) => {
    return { seq: `00${seq}`, recipient, sendingZone: 'default', queued: expect.stringMatching(/Z$/) }
  }
  expect(sent.outbound[0].entries).toEqual((waiting?.recipients ?? []).map((one, at) => waits(one, at + 1)))
  expect(sent.bcc).toHaveLength(2)
  expect((await user.call('GET', drafts)).body.total).toBe(0)
  expect((await user.call('GET', `/mailboxes/${user.box('INBOX')}/messages/${original}`)).body.answered).toBe(true)
  expect((await user.call('GET', '/storage')).body.results).toEqual([])
  const cancelled = await user.call('DELETE', `/outbound/${body.queueId}`)
  expect(cancelled.body).toMatchObject({ success: true, deleted: 6 })
  const register = await user.call('GET', '/addressregister?query=e@')
  expect(register.status).toBe(200)
})

test('what is no draft is not sent, and a draft for nobody stays one', async () => {
  const user = await account(service, 'nobody')
  const id = await user.put('INBOX', mail('plain', 'x'))
  const plain = await user.call('POST', `/mailboxes/${user.box('INBOX')}/messages/${id}/submit`, {})
  expect(plain).toMatchObject({ status: 400, body: { code: 'MessageNotDraft' } })
  const draft = await user.put('Drafts', { subject: 'to nobody', draft: true })
  const empty = await user.call('POST', `/mailboxes/${user.box('Drafts')}/messages/${draft}/submit`, {})
  expect(empty.body).toEqual({ success: true })
  expect(await queued(user)).toEqual([])
})

test('a draft under a foreign address goes out under the own one', async () => {
  const user = await account(service, 'honest')
  const raw =
    'From: Boss <boss@example.net>\r\nSender: boss@example.net\r\nTo: x@example.net\r\nSubject: pay\r\n\r\nnow\r\n'
  const draft = await user.put('Drafts', { raw, draft: true })
  await user.call('POST', `/mailboxes/${user.box('Drafts')}/messages/${draft}/submit`, {})
  const [waiting] = await queued(user)
  expect(waiting?.sender).toBe('honest@example.com')
  expect(waiting?.source).toMatch(/^From: Boss <honest@example\.com>\r\n/)
  expect(waiting?.source).not.toContain('boss@example.net')
})

test('a message is sent, with attachments, pictures, an answer and an envelope of its own', async () => {
  const user = await account(service, 'direct', { fromWhitelist: ['*@partner.example'] })
  const original = await user.put(
    'INBOX',
    mail('Topic', 'x', { headers: [{ key: 'Message-ID', value: '<o@x.example>' }] }),
  )
  const reference = { mailbox: user.box('INBOX'), id: original, action: 'replyAll' }
  const { body } = await user.call('POST', '/submit', {
    from: { name: 'Me', address: 'anyone@partner.example' },
    to: people('a'),
    bcc: people('b'),
    html: '<img src="data:image/png;base64,AAEC">',
    attachments: [{ filename: 'x.bin', content: 'AAEC' }],
    reference,
    meta: { kind: 'test' },
  })
  expect(body.message).toMatchObject({ mailbox: user.box('Sent Mail'), id: 1, queueId: expect.any(String) })
  const sent = (await user.call('GET', `/mailboxes/${user.box('Sent Mail')}/messages/1`)).body
  expect(sent).toMatchObject({
    ...{ subject: 'Re: Topic', from: { name: 'Me', address: 'anyone@partner.example' }, metaData: { kind: 'test' } },
    ...{ outbound: [{ queueId: body.message.queueId }], references: ['<o@x.example>'] },
  })
  expect(sent.attachments).toHaveLength(2)
  expect((await user.call('GET', `/mailboxes/${user.box('INBOX')}/messages/${original}`)).body.answered).toBe(true)
  const [waiting] = await queued(user)
  expect(waiting).toMatchObject({ sender: 'anyone@partner.example', recipients: ['a@example.net', 'b@example.net'] })
  await user.call('POST', '/submit', {
    ...{ from: { address: 'anyone@partner.example.evil.example' }, to: people('a'), subject: 's' },
    envelope: { from: { address: 'spoofed@example.net' }, to: [{ address: 'only@example.org' }] },
  })
  const [, other] = await queued(user)
  expect(other).toMatchObject({ sender: 'direct@example.com', recipients: ['only@example.org'] })
  expect(other?.source).toMatch(/^From: direct@example\.com|^From: .*<direct@example\.com>/m)
  const bounced = { from: { address: 'anyone@partner.example' }, envelope: { from: { address: 'direct@example.com' } } }
  const third = await user.call('POST', '/submit', { ...bounced, to: people('c') })
  expect((await queued(user))[2]).toMatchObject({ sender: 'direct@example.com' })
  const copy = await user.call('GET', `/mailboxes/${user.box('Sent Mail')}/messages/${third.body.message.id}`)
  expect(copy.body).toMatchObject({
    from: { address: 'anyone@partner.example' },
    envelope: { from: 'direct@example.com' },
  })
})

test('what is only stored is not sent, and marks nothing', async () => {
  const user = await account(service, 'storer')
  const original = await user.put('INBOX', mail('Topic', 'x'))
  const reference = { mailbox: user.box('INBOX'), id: original, action: 'reply' }
  const uploaded = await user.call('POST', '/submit', {
    ...{ to: people('a'), replyTo: { name: 'R', address: 'r@example.net' }, reference, uploadOnly: true },
  })
  expect(uploaded.body.message).toEqual({ mailbox: user.box('Sent Mail'), id: 1, queueId: false })
  const stored = (await user.call('GET', `/mailboxes/${user.box('Sent Mail')}/messages/1`)).body
  expect(stored.replyTo).toEqual([{ name: 'R', address: 'r@example.net' }])
  const drafted = await user.call('POST', '/submit', { to: people('a'), bcc: people('b'), isDraft: true })
  expect(drafted.body.message).toEqual({ mailbox: user.box('Drafts'), id: 1, queueId: false })
  const draft = (await user.call('GET', `/mailboxes/${user.box('Drafts')}/messages/1`)).body
  expect(draft).toMatchObject({ draft: true, bcc: [{ address: 'b@example.net' }] })
  const replaced = await user.call('POST', '/submit', {
    ...{ to: people('a'), draft: { mailbox: user.box('Drafts'), id: 1 }, mailbox: user.box('INBOX') },
  })
  expect(replaced.body.message.mailbox).toBe(user.box('INBOX'))
  expect((await user.call('GET', `/mailboxes/${user.box('Drafts')}`)).body.total).toBe(0)
  expect((await user.call('GET', `/mailboxes/${user.box('INBOX')}/messages/${original}`)).body.answered).toBe(false)
  expect(await queued(user)).toHaveLength(1)
})

test('too many recipients, of one message and of a day', async () => {
  const user = await account(service, 'busy', { recipients: 5 })
  await service.call('POST', '/settings/const:max:rcpt_to', { value: 4 })
  const many = await user.call('POST', '/submit', { to: people('a', 'b', 'c', 'd', 'e') })
  expect(many).toMatchObject({ status: 403, body: { code: 'TooMany' } })
  expect((await user.call('POST', '/submit', { to: people('a', 'b', 'c') })).body.message.queueId).toBeTruthy()
  const again = await user.call('POST', '/submit', { to: people('a', 'b', 'c') })
  expect(again).toMatchObject({ status: 403, body: { code: 'RateLimitedError' } })
  const draft = await user.put('Drafts', { to: people('a', 'b', 'c'), draft: true })
  const submitted = await user.call('POST', `/mailboxes/${user.box('Drafts')}/messages/${draft}/submit`, {})
  expect(submitted).toMatchObject({ status: 403, body: { code: 'RateLimitedError' } })
  expect((await user.call('POST', '/submit', { to: people('a', 'b') })).body.message.queueId).toBeTruthy()
  await service.call('DELETE', '/settings/const:max:rcpt_to')
  await service.call('POST', '/settings/const:max:rcpt_to', { value: 400 })
  expect(await queued(user)).toHaveLength(2)
  const none = await user.call('POST', '/submit', { subject: 'x' })
  expect(none).toMatchObject({ status: 400, body: { code: 'ENORECIPIENTS' } })
})

test('without room for a copy it is sent all the same', async () => {
  const user = await account(service, 'full', { quota: 1 })
  const original = await user.put('INBOX', mail('leads there', 'x'))
  const reference = { mailbox: user.box('INBOX'), id: original, action: 'reply' }
  const answer = await user.call('POST', '/submit', { to: people('a'), text: 'x'.repeat(2000), reference })
  expect(answer.body.message).toEqual({ id: false, mailbox: false, queueId: expect.any(String), overQuota: true })
  expect(await queued(user)).toHaveLength(1)
  expect((await user.call('GET', `/mailboxes/${user.box('INBOX')}/messages/${original}`)).body.answered).toBe(true)
  const upload = await user.call('POST', '/submit', { to: people('a'), text: 'x', uploadOnly: true })
  expect(upload).toMatchObject({ status: 400, body: { code: 'OverQuotaError' } })
})

test('a stored message is forwarded as it is', async () => {
  const user = await account(service, 'forwarder', { forwards: 3 })
  const id = await user.put('INBOX', { raw: 'From: a@example.net\r\nSubject: as it is\r\n\r\nbody\r\n' })
  const path = `/mailboxes/${user.box('INBOX')}/messages/${id}/forward`
  const addresses = ['one@example.net', 'two@example.net']
  const first = await user.call('POST', `/mailboxes/${user.box('INBOX')}/messages/${id}/forward`, { addresses })
  const { body } = first
  expect(body).toMatchObject({
    queueId: expect.any(String),
    forwarded: [
      { seq: '001', type: 'mail', value: 'one@example.net' },
      { seq: '002', type: 'mail', value: 'two@example.net' },
    ],
  })
  const [waiting] = await queued(user)
  expect(waiting?.recipients).toEqual(addresses)
  expect(waiting?.source).toMatch(/Subject: as it is\r\n\r\nbody\r\n$/)
  expect((await user.call('GET', `/mailboxes/${user.box('INBOX')}/messages/${id}`)).body.forwarded).toBe(true)
  expect((await user.call('POST', path, {})).body).toEqual({ success: true })
  expect((await user.call('POST', path, { addresses: ['x', 'y'] })).status).toBe(400)
  await user.call('POST', path, { addresses: ['three@example.net'] })
  const over = await user.call('POST', path, { addresses: ['four@example.net'] })
  expect(over).toMatchObject({ status: 403, body: { code: 'RateLimitedError' } })
})

test.each(['disabled', 'suspended'])('an account that is %s writes and sends nothing', async state => {
  const user = await account(service, `was${state}`)
  const messages = `/mailboxes/${user.box('Drafts')}/messages`
  const draft = await user.put('Drafts', { ...mail('x', 'x'), draft: true })
  await user.call('PUT', '', { [state]: true })
  for (const [path, body] of [
    ['/submit', { to: people('a'), text: 'x' }],
    [messages, mail('x', 'x')],
    [`${messages}/${draft}/submit`, {}],
    [`${messages}/${draft}/forward`, { addresses: ['a@example.net'] }],
  ] as const) {
    expect(await user.call('POST', path, body)).toMatchObject({ status: 403, body: { code: 'UserDisabled' } })
  }
  expect(await queued(user)).toEqual([])
  await user.call('PUT', '', { [state]: false })
  expect((await user.call('POST', `${messages}/${draft}/submit`, {})).status).toBe(200)
})

test('nobody sends for another account, nor answers its mail', async () => {
  const owner = await account(service, 'owner')
  const thief = await account(service, 'thief')
  const token = await thief.token()
  const id = await owner.put('INBOX', mail('secret', 'x'))
  expect((await owner.call('POST', '/submit', { to: people('a') }, token)).status).toBe(403)
  const reference = { mailbox: owner.box('INBOX'), id, action: 'forward', attachments: true }
  expect((await thief.call('POST', '/submit', { to: people('a'), reference }, token)).status).toBe(404)
  const draft = { mailbox: owner.box('INBOX'), id }
  await thief.call('POST', '/submit', { to: people('a'), draft }, token)
  expect((await owner.call('GET', `/mailboxes/${owner.box('INBOX')}`)).body.total).toBe(1)
  const elsewhere = await thief.call('POST', '/submit', { to: people('a'), mailbox: owner.box('INBOX') }, token)
  expect(elsewhere).toMatchObject({ status: 404, body: { code: 'NoSuchMailbox' } })
  const spoofed = await thief.call(
    'POST',
    '/submit',
    { to: people('a'), from: { address: 'owner@example.com' } },
    token,
  )
  expect(spoofed.status).toBe(200)
  expect((await queued(thief)).every(({ sender }) => sender === 'thief@example.com')).toBe(true)
  const unknown = await service.call('POST', '/users/5a1bda70bfbd1442cd96c6f0/submit', { to: people('a') })
  expect(unknown).toMatchObject({ status: 404, body: { code: 'UserNotFound' } })
  const raw = await service.raw('POST', `/users/${owner.id}/submit`, {
    headers: { 'content-type': 'message/rfc822' },
    body: 'x',
  })
  expect(raw.status).toBe(415)
})

test.each([
  [
    'Reply-To before From',
    'reply',
    ['Reply-To: R <r@x.example>, r2@x.example', 'From: f@x.example'],
    ['r@x.example', 'r2@x.example'],
    [],
  ],
  ['From', 'reply', ['From: f@x.example', 'Sender: s@x.example', 'To: t@x.example'], ['f@x.example'], []],
  [
    'Sender where no other names anybody',
    'reply',
    ['From: nobody:;', 'Reply-To: (x)', 'Sender: s@x.example'],
    ['s@x.example'],
    [],
  ],
  [
    'all, nobody twice and not the account, groups opened',
    'replyAll',
    [
      'From: f@x.example',
      'To: us:a@x.example, OWN@example.com;, F@x.example, o.t.her.OWN+label@EXAMPLE.com',
      'Cc: c@x.example, a@x.example, OWN+x@example.com, c@x.example, broken',
    ],
    ['f@x.example', 'a@x.example'],
    ['c@x.example'],
  ],
] as const)('an answer without recipients goes to %s', async (_, action, lines, to, cc) => {
  const name = `own${lines.length}${action.length}${lines[0].length}`
  const user = await account(service, name)
  await user.call('POST', '/addresses', { address: `other.${name}@example.com` })
  const original = await user.put('INBOX', {
    raw: `${lines.join('\r\n').replaceAll('OWN', name)}\r\nMessage-ID: <q@x.example>\r\n\r\nwhy\r\n`,
  })
  const reference = { mailbox: user.box('INBOX'), id: original, action }
  const before = (await queued(user)).length
  expect((await user.call('POST', '/submit', { reference, text: 'because' })).status).toBe(200)
  const sent = (await queued(user))[before]
  expect(sent?.recipients).toEqual([...to, ...cc])
  const field = (name: string) => new RegExp(`^${name}: (.*)\r$`, 'm').exec(sent?.source ?? '')?.[1]?.split(', ') ?? []
  expect(field('Cc')).toEqual(cc)
  // A draft has them, too.
  const draft = await user.put('Drafts', { reference, text: 'because' })
  const stored = (await user.call('GET', `/mailboxes/${user.box('Drafts')}/messages/${draft}`)).body
  expect(stored.to.map(({ address }: { address: string }) => address)).toEqual(to)
  // Who names one recipient means it.
  await user.call('POST', '/submit', { reference, bcc: people('z'), text: 'because' })
  expect((await queued(user))[before + 1]?.recipients).toEqual(['z@example.net'])
})

test('an answer to nobody, and a forward without recipients, are refused', async () => {
  const user = await account(service, 'asked')
  const original = await user.put('INBOX', { raw: 'From: asked@example.com\r\nTo: t@x.example\r\n\r\nwhy\r\n' })
  for (const action of ['reply', 'forward']) {
    const reference = { mailbox: user.box('INBOX'), id: original, action }
    const answer = await user.call('POST', '/submit', { reference, text: 'because' })
    expect(answer).toMatchObject({ status: 400, body: { code: 'ENORECIPIENTS' } })
  }
})

test('what was taken back in time is the draft again that it was', async () => {
  const user = await account(service, 'hasty')
  const original = await user.put('INBOX', mail('Question', 'why'))
  const form = { subject: 'Too soon', text: 'because', to: people('a'), bcc: people('b') }
  const reference = { mailbox: user.box('INBOX'), id: original, action: 'reply' }
  const draft = await user.put('Drafts', { ...form, reference })
  const drafts = `/mailboxes/${user.box('Drafts')}/messages`
  const sendTime = new Date(Date.now() + 3_600_000).toISOString()
  const { body } = await user.call('POST', `${drafts}/${draft}/submit`, { sendTime })
  expect((await user.call('GET', drafts)).body.total).toBe(0)
  const back = await user.call('DELETE', `/outbound/${body.queueId}?restoreDraft=true`)
  expect(back).toMatchObject({
    status: 200,
    body: { success: true, deleted: 2, message: { mailbox: user.box('Drafts'), id: draft + 1 } },
  })
  const again = (await user.call('GET', `${drafts}/${back.body.message.id}`)).body
  expect(again).toMatchObject({ draft: true, seen: true, subject: 'Too soon', bcc: people('b') })
  expect(again.reference).toMatchObject({ action: 'reply', id: original })
  expect(again).not.toHaveProperty('outbound')
  expect((await user.call('GET', `/mailboxes/${user.box('Sent Mail')}/messages`)).body.total).toBe(0)
  const twice = await user.call('DELETE', `/outbound/${body.queueId}?restoreDraft=true`)
  expect(twice.body).toMatchObject({ success: false, code: 'NoSuchQueueEntry' })
  const resent = await user.call('POST', `${drafts}/${back.body.message.id}/submit`, { sendTime })
  expect(resent.body).toMatchObject({ success: true, queueId: expect.stringMatching(/^[0-9a-f]{18}$/) })
})

test('a draft is restored where the call before broke off, and not where its copy is gone or it was not asked for', async () => {
  const user = await account(service, 'undone')
  const sendTime = new Date(Date.now() + 3_600_000).toISOString()
  const submit = async () => {
    const { body } = await user.call('POST', '/submit', { to: people('x'), subject: 'Later', text: 'y', sendTime })
    return { queueId: body.message.queueId, sent: body.message.id }
  }
  const first = await submit()
  expect((await user.call('DELETE', `/outbound/${first.queueId}`)).body).toEqual({
    ...{ success: true, queueId: first.queueId, deleted: 1 },
  })
  const late = await user.call('DELETE', `/outbound/${first.queueId}?restoreDraft=true`)
  expect(late.body).toMatchObject({ success: true, deleted: 0, message: { mailbox: user.box('Drafts') } })
  const second = await submit()
  await user.call('DELETE', `/mailboxes/${user.box('Sent Mail')}/messages/${second.sent}`)
  const lost = await user.call('DELETE', `/outbound/${second.queueId}?restoreDraft=true`)
  expect(lost.body).toEqual({ success: true, queueId: second.queueId, deleted: 1 })
  const other = await account(service, 'curious')
  const third = await submit()
  const foreign = await other.call('DELETE', `/outbound/${third.queueId}?restoreDraft=true`)
  expect(foreign.body).toMatchObject({ success: false, code: 'NoSuchQueueEntry' })
})
