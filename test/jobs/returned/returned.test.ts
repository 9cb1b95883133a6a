// Mail that comes back: it arrives as it is, is recorded where it belongs, and has addresses left alone that are gone; what is made up
// changes nothing. Over the wire.

import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { advanceClock } from '#lib/clock.ts'
import { limits } from '#lib/limits.ts'
import { openpgp } from '#lib/process/lazy.ts'
import { splitAddress } from '#mail/address/address.ts'
import { Dialogue, deliver, openLmtp } from '../../dialogue.ts'
import { type Body, useTeal } from '../../running.ts'
import { type Sink, type SinkMessage, startSink } from '../mail-sink.ts'

const sinkPort = 21_000 + (process.pid % 9000)
const service = useTeal({
  outbound: { relay: `smtp://127.0.0.1:${sinkPort}` },
  network: { allowPrivate: ['127.0.0.0/8'] },
  auth: { cleartext: 'always' },
  mail: { defaultDomain: 'example.com' },
})
let sink: Sink

beforeAll(async () => {
  sink = await startSink(sinkPort)
  sink.recipient = address => {
    if (address.startsWith('nobody')) return { code: 550, text: '5.1.1 no such user' }
    if (address.startsWith('full')) return { code: 552, text: '5.2.2 mailbox full' }
    if (address.startsWith('spam')) return { code: 550, text: '5.7.1 looks like spam' }
    return address.startsWith('later') ? { code: 450, text: '4.1.1 user unknown, or so' } : undefined
  }
  await service.teal.core.settings.apply('const:sender:defer_times', '1s')
})
afterAll(() => sink.close())

async function submit(user: string, to: readonly string[]): Promise<{ status: number; body: Body }> {
  const form = { to: to.map(address => ({ address })), subject: 'x', text: 'x' }
  return service.call('POST', `/users/${user}/submit`, form)
}

async function sent(user: string, to: readonly string[]): Promise<{ queueId: string; message: SinkMessage }> {
  const at = sink.messages.length
  const { body } = await submit(user, to)
  const message = (await sink.received(at + 1))[at] as SinkMessage
  const { queueId } = body.message
  await expect.poll(async () => (await shown(user, queueId)).done).not.toBe(false)
  return { queueId, message }
}

const shown = async (user: string, id: string) => (await service.call('GET', `/users/${user}/outbound/${id}`)).body
const listed = async (user: string): Promise<Body[]> =>
  (await service.call('GET', `/users/${user}/suppressions`)).body.results

interface Told {
  readonly address: string
  readonly status?: string
  readonly text?: string
  readonly action?: string
}

/** A report as other servers write it. */
function report(
  original: string,
  { address, status = '5.1.1', text = 'user unknown', action = 'failed' }: Told,
): Buffer {
  const header = original.slice(0, original.indexOf('\r\n\r\n'))
  const lines = [
    ...[
      'From: MAILER-DAEMON@far.test',
      'To: a',
      `Subject: Undelivered ${Math.random()}`,
      'Date: Mon, 1 Jan 2024 10:00:00 +0000',
    ],
    ...['MIME-Version: 1.0', 'Content-Type: multipart/report; report-type=delivery-status; boundary=b', ''],
    ...[
      '--b',
      '',
      'It failed.',
      '--b',
      'Content-Type: message/delivery-status',
      '',
      'Reporting-MTA: dns; mx.far.test',
      '',
    ],
    ...[`Final-Recipient: rfc822; ${address}`, `Action: ${action}`, `Status: ${status}`],
    ...[
      `Diagnostic-Code: smtp; 550 ${status} ${text}`,
      '--b',
      'Content-Type: text/rfc822-headers',
      '',
      header,
      '--b--',
      '',
    ],
  ]
  return Buffer.from(lines.join('\r\n'))
}

async function comesBack(to: string, message: Buffer, from = ''): Promise<string> {
  const lmtp = await openLmtp(service.at('lmtp'))
  const [reply = ''] = await deliver(lmtp, from, [to], message)
  lmtp.close()
  return reply
}

/** Nothing that arrived waits to be read. */
async function read(): Promise<void> {
  const left = async () =>
    (
      await service.teal.core.read.one<{ n: number }>(
        "SELECT count(*) AS n FROM task WHERE kind = 'bounce.read' AND state IN ('queued', 'running')",
      )
    )?.n
  await expect.poll(left, { timeout: 10_000 }).toBe(0)
}

async function inbox(user: string): Promise<Body[]> {
  const { body } = await service.call('GET', `/users/${user}/mailboxes/resolve?path=INBOX`)
  return (await service.call('GET', `/users/${user}/mailboxes/${body.id}/messages?order=asc`)).body.results
}

async function source(user: string, at: number): Promise<string> {
  const { body } = await service.call('GET', `/users/${user}/mailboxes/resolve?path=INBOX`)
  const list = await inbox(user)
  const path = `/users/${user}/mailboxes/${body.id}/messages/${list.at(at)?.id}/message.eml`
  return (await service.raw('GET', path)).text()
}

describe('a bounce that came later', () => {
  test('arrives as it is, is recorded, and the address is left alone', async () => {
    const user = await service.user('anna')
    const { queueId, message } = await sent(user, ['gone@far.test'])
    const bounce = report(message.raw, { address: 'gone@far.test' })
    expect(await comesBack('anna@example.com', bounce)).toMatch(/^250/)
    await read()
    expect(await source(user, -1)).toContain(bounce.toString())
    const { targets } = await shown(user, queueId)
    expect(targets[0]).toMatchObject({
      ...{ value: 'gone@far.test', state: 'delivered' },
      bounces: [{ kind: 'unknown', status: '5.1.1', final: true, proven: true, reporter: 'mx.far.test' }],
    })
    const { body } = await service.call('GET', `/outbound/trace/${queueId}`)
    expect(body.results[0].steps.at(-1)).toMatchObject({ step: 'bounced', target: 'gone@far.test' })
    expect(await listed(user)).toMatchObject([{ user, address: 'gone@far.test', source: 'bounce', status: '5.1.1' }])
    expect(await submit(user, ['gone@far.test'])).toMatchObject({ status: 403, body: { code: 'RecipientSuppressed' } })
    const other = await service.user('other')
    expect((await submit(other, ['gone@far.test'])).status).toBe(200)
  })

  test('that whoever else got the message there may have made up is recorded, and leaves nobody alone', async () => {
    const user = await service.user('alice')
    const { queueId, message } = await sent(user, ['boss@far.test', 'mallory@far.test'])
    expect(await comesBack('alice@example.com', report(message.raw, { address: 'boss@far.test' }))).toMatch(/^250/)
    await read()
    const { targets } = await shown(user, queueId)
    expect(targets[0]).toMatchObject({ value: 'boss@far.test', bounces: [{ kind: 'unknown', proven: true }] })
    expect(targets[1].bounces).toBeUndefined()
    expect(await listed(user)).toEqual([])
    expect((await submit(user, ['boss@far.test'])).status).toBe(200)
  })

  test('is recorded, too, where the account has everything encrypted that arrives', async () => {
    const { publicKey: pubKey } = await openpgp().generateKey({ userIDs: [{ name: 'Key' }], format: 'armored' })
    const user = await service.user('sealed', { pubKey, encryptMessages: true })
    const { queueId, message } = await sent(user, ['parted@far.test'])
    const bounce = report(message.raw, { address: 'parted@far.test' })
    expect(await comesBack('sealed@example.com', bounce)).toMatch(/^250/)
    await read()
    expect(await source(user, -1)).not.toContain('It failed.')
    const [target] = (await shown(user, queueId)).targets
    expect(target.bounces).toMatchObject([{ kind: 'unknown', status: '5.1.1', proven: true, reporter: 'mx.far.test' }])
    expect(await listed(user)).toMatchObject([{ address: 'parted@far.test', source: 'bounce' }])
    // A letter of a person is none.
    const letter = Buffer.from('From: postmaster@far.test\r\nMessage-ID: <letter@far.test>\r\n\r\nShall we meet?\r\n')
    expect(await comesBack('sealed@example.com', letter)).toMatch(/^250/)
    await read()
    expect((await shown(user, queueId)).targets[0].bounces).toHaveLength(1)
  })

  test.each([
    ['a full box', { status: '5.2.2', text: 'full' }, 'full'],
    ['policy', { status: '5.7.1', text: 'no' }, 'policy'],
    ['a delay', { status: '4.2.0', text: 'wait', action: 'delayed' }, 'delayed'],
  ])('of %s leaves nobody alone', async (name, told, kind) => {
    const user = await service.user(`b${kind}`)
    const address = `${kind}x@far.test`.replace('full', 'brim')
    const { queueId, message } = await sent(user, [address])
    await comesBack(`b${kind}@example.com`, report(message.raw, { address, ...told }))
    await read()
    expect((await shown(user, queueId)).targets[0].bounces).toMatchObject([{ kind, proven: true }])
    expect(await listed(user)).toEqual([])
    expect(name).not.toBe('')
  })

  test('that is made up is recorded as unproven where the Message-ID is ours, and leaves nobody alone', async () => {
    const user = await service.user('eva')
    const { queueId, message } = await sent(user, ['carol@far.test'])
    const two = await sent(user, ['bob@elsewhere.test'])
    // He knows the Message-ID, and a mark of another message.
    const mark = /id [0-9a-f]{18}\.[a-z2-7]{16}/
    const forged = message.raw.replace(mark, mark.exec(two.message.raw)?.[0] ?? '')
    await comesBack('eva@example.com', report(forged.replace(mark, 'id 1'), { address: 'carol@far.test' }))
    await comesBack('eva@example.com', report(forged, { address: 'carol@far.test' }))
    await read()
    expect((await shown(user, queueId)).targets[0].bounces).toMatchObject([{ proven: false }])
    expect(await listed(user)).toEqual([])
    // An account's bounce says nothing of what another one sent.
    await service.user('thief')
    await comesBack('thief@example.com', report(message.raw, { address: 'carol@far.test' }))
    await read()
    expect((await shown(user, queueId)).targets[0].bounces).toHaveLength(1)
    expect(await listed(user)).toEqual([])
    expect((await submit(user, ['carol@far.test'])).status).toBe(200)
  })

  test('that names a place of one recipient proves nothing of a recipient elsewhere', async () => {
    const user = await service.user('iris')
    const at = sink.messages.length
    await submit(user, ['a@one.test', 'b@two.test'])
    const [message] = (await sink.received(at + 1)).slice(at)
    await comesBack('iris@example.com', report(message?.raw ?? '', { address: 'b@two.test' }))
    await read()
    expect(await listed(user)).toEqual([])
  })

  test('of one account so many are read in an hour; the others are delivered and nothing else', async () => {
    const user = await service.user('flooded')
    const { queueId, message } = await sent(user, ['gone2@far.test'])
    await service.teal.core.cache.count('bounces', user, limits.time.hour, limits.bounce.hourMax)
    await comesBack('flooded@example.com', report(message.raw, { address: 'gone2@far.test' }))
    await read()
    expect(await inbox(user)).toHaveLength(1)
    expect((await shown(user, queueId)).targets[0].bounces).toBeUndefined()
  })

  test('an answer, a letter and rubbish with a null sender are nothing', async () => {
    const user = await service.user('kim')
    const { queueId, message } = await sent(user, ['away@far.test'])
    const header = message.raw.slice(0, message.raw.indexOf('\r\n\r\n'))
    const answers = [
      `From: away@far.test\r\nAuto-Submitted: auto-replied\r\n\r\nI am away. <away@far.test>: user unknown\r\n\r\n${header}`,
      `From: away@far.test\r\n\r\n<away@far.test>: user unknown\r\n\r\n${header}`,
      'rubbish',
    ]
    for (const one of answers) expect(await comesBack('kim@example.com', Buffer.from(one))).toMatch(/^250/)
    await read()
    expect((await shown(user, queueId)).targets[0].bounces).toBeUndefined()
    expect(await inbox(user)).toHaveLength(answers.length)
  })
})

describe('addresses that are gone', () => {
  test('by an answer to us; not by what may pass, what is full and what is unwanted', async () => {
    const user = await service.user('lea')
    for (const one of ['nobody@far.test', 'full@far.test', 'spam@far.test', 'later@far.test']) {
      const { body } = await submit(user, [one])
      const state = async () => (await shown(user, body.message.queueId)).targets[0].state
      await expect.poll(state, { timeout: 10_000 }).toBe('failed')
    }
    const [one, ...more] = await listed(user)
    expect(more).toEqual([])
    expect(one).toMatchObject({ address: 'nobody@far.test', source: 'answer', failures: 1, status: '5.1.1' })
    const { body } = await submit(user, ['ok@far.test', 'Nobody@FAR.test'])
    expect(body.error).toMatch(
      /^nobody@far\.test does not exist, as was found on .*: 550 ?.*no such user.*to lift it: DELETE /,
    )
    const wire = await Dialogue.open(service.at('submission'))
    await wire.reply()
    await wire.ask('EHLO there')
    await wire.ask(`AUTH PLAIN ${Buffer.from('\0lea\0secret of lea').toString('base64')}`)
    await wire.ask('MAIL FROM:<lea@example.com>')
    expect(await wire.ask('RCPT TO:<nobody@far.test>')).toMatch(/^550 5\.1\.1 nobody@far\.test does not exist/)
    expect(await wire.ask('RCPT TO:<somebody@far.test>')).toMatch(/^250/)
    wire.close()
    const metrics = await (await service.raw('GET', '/metrics')).text()
    expect(metrics).toMatch(/outbound_suppressed [1-9]/)
    // Lifted, tried, and found gone again.
    const lift = () => service.call('DELETE', `/users/${user}/suppressions/nobody%40far.test`)
    expect((await lift()).status).toBe(200)
    expect((await lift()).body.code).toBe('NotSuppressed')
    expect((await submit(user, ['nobody@far.test'])).status).toBe(200)
    await expect.poll(async () => (await listed(user)).length, { timeout: 10_000 }).toBe(1)
  })

  test('are tried again after a time, and wait longer when they are still gone', async () => {
    const user = await service.user('max')
    const days = async () => {
      const [one] = await listed(user)
      return Math.round((Date.parse(one.until) - Date.parse(one.created)) / limits.time.day)
    }
    await submit(user, ['nobody@far.test'])
    await expect.poll(async () => (await listed(user)).length, { timeout: 10_000 }).toBe(1)
    expect(await days()).toBe(7)
    advanceClock(8 * limits.time.day)
    expect(await listed(user)).toEqual([])
    expect((await submit(user, ['nobody@far.test'])).status).toBe(200)
    await expect.poll(async () => (await listed(user)).length, { timeout: 10_000 }).toBe(1)
    expect(await days()).toBe(30)
  })

  test('by hand, for one and for all', async () => {
    const user = await service.user('ned')
    const put = (body: object) => service.call('POST', `/users/${user}/suppressions`, body)
    expect((await put({ address: 'no address' })).status).toBe(400)
    expect((await put({ address: 'x@y.test', until: '2001-01-01T00:00:00Z' })).status).toBe(400)
    await put({ address: 'Mine@y.test', reason: 'asked us to' })
    await service.call('POST', '/suppressions', { address: 'all@y.test' })
    expect((await submit(user, ['mine@y.test'])).body.error).toMatch(
      /^mine@y\.test is not written to until .*asked us to/,
    )
    expect((await submit(user, ['all@y.test'])).body.error).toMatch(/ask the postmaster to lift it$/)
    const { body } = await service.call('GET', '/suppressions?limit=2')
    expect(body.results[0]).toMatchObject({ user: false, address: 'all@y.test', source: 'manual' })
    expect(body.total).toBeGreaterThan(2)
    const next = await service.call('GET', `/suppressions?limit=2&next=${body.nextCursor}`)
    expect(next.body.results.length).toBeGreaterThan(0)
    expect((await service.call('DELETE', '/suppressions/all%40y.test')).status).toBe(200)
    expect((await submit(user, ['all@y.test'])).status).toBe(200)
    // What is taken does away with what was found, not with what somebody put in.
    expect((await service.call('GET', `/users/${user}/suppressions`)).body.total).toBe(1)
  })
})

describe('forwards', () => {
  const letter = (to: string) =>
    Buffer.from(
      `From: Writer <w@remote.test>\r\nTo: ${to}\r\nSubject: Hi\r\nMessage-ID: <${Math.random()}@remote.test>\r\nDate: Mon, 1 Jan 2024 10:00:00 +0000\r\n\r\nHi\r\n`,
    )
  const failing = async (user: string) => (await service.call('GET', `/users/${user}`)).body.targetFailures

  test('a refusal is told to who forwards, and the forward is marked until its target takes mail', async () => {
    const user = await service.user('frank', { targets: ['nobody-f@far.test'] })
    await comesBack('frank@example.com', letter('frank@example.com'), 'w@remote.test')
    await expect.poll(async () => (await inbox(user)).length, { timeout: 10_000 }).toBe(2)
    const told = await source(user, -1)
    expect(told).toMatch(/Final-Recipient: rfc822; nobody-f@far\.test/)
    expect(told).toMatch(/^To: <frank@example\.com>\r$/m)
    expect(await failing(user)).toMatchObject([{ target: 'nobody-f@far.test', failures: 1, status: '5.1.1' }])
    expect(await listed(user)).toEqual([])
    const wanted = sink.messages.filter(({ to }) => to.includes('w@remote.test'))
    expect(wanted).toEqual([])
    // Told once a day, marked each time, and after days in so many words.
    await comesBack('frank@example.com', letter('frank@example.com'), 'w@remote.test')
    await expect.poll(async () => (await failing(user))[0].failures, { timeout: 10_000 }).toBe(2)
    expect(await inbox(user)).toHaveLength(3)
    advanceClock(3 * limits.time.day)
    await comesBack('frank@example.com', letter('frank@example.com'), 'w@remote.test')
    await expect.poll(async () => (await inbox(user)).length, { timeout: 10_000 }).toBe(6)
    expect((await inbox(user)).map(({ subject }) => subject)).toContain('Forwarding to nobody-f@far.test fails')
    const metrics = await (await service.raw('GET', '/metrics')).text()
    expect(metrics).toMatch(/forwards_failing [1-9]/)
    const before = sink.recipient
    sink.recipient = () => undefined
    await comesBack('frank@example.com', letter('frank@example.com'), 'w@remote.test')
    await expect.poll(() => failing(user), { timeout: 10_000 }).toBeUndefined()
    sink.recipient = before
  })

  test('what comes back later is for who forwards, as it came; an answer is for who wrote', async () => {
    const user = await service.user('greta', { targets: ['moved@far.test'] })
    const at = sink.messages.length
    await comesBack('greta@example.com', letter('greta@example.com'), 'w@remote.test')
    const copy = (await sink.received(at + 1))[at]
    expect(copy?.from).toMatch(/^SRS0=[a-z2-7]+=[a-z2-7]{3,}=remote\.test=w@example\.com$/)
    const bounce = report(copy?.raw ?? '', { address: 'moved@far.test' })
    expect(await comesBack(copy?.from ?? '', bounce)).toMatch(/^250/)
    await read()
    expect(await source(user, -1)).toContain(bounce.toString())
    expect(await failing(user)).toMatchObject([{ target: 'moved@far.test', status: '5.1.1' }])
    const answer = Buffer.from('From: moved@far.test\r\nAuto-Submitted: auto-replied\r\nSubject: Away\r\n\r\nAway\r\n')
    expect(await comesBack(copy?.from ?? '', answer)).toMatch(/^250/)
    const on = (await sink.received(at + 2))[at + 1]
    expect(on).toMatchObject({ from: '', to: ['w@remote.test'] })
    expect(sink.messages.slice(at).filter(({ to }) => to.includes('w@remote.test'))).toHaveLength(1)
    // Who learned of the address and writes to it is a stranger like any other.
    const filter = { name: 'bargains', query: { subject: 'Bargain' }, action: { spam: true } }
    expect((await service.call('POST', `/users/${user}/filters`, filter)).status).toBe(200)
    const before = (await inbox(user)).length
    const offer = Buffer.from('From: s@far.test\r\nSubject: Bargain\r\nMessage-ID: <b@far.test>\r\n\r\nBuy\r\n')
    expect(await comesBack(copy?.from ?? '', offer, 's@far.test')).toMatch(/^250/)
    expect(await inbox(user)).toHaveLength(before)
    // Another number, or another sender, is nobody's.
    for (const wrong of [/=([a-z2-7]{2})[a-z2-7]+=/, /=w@/]) {
      const address = (copy?.from ?? '').replace(wrong, wrong.source.includes('w@') ? '=x@' : '=$1zz=')
      expect(await comesBack(address, bounce)).toMatch(/^550/)
    }
  })

  test('is no way to reach him for whoever learned of the address', async () => {
    const user = await service.user('ines', { targets: ['ines@far.test'] })
    const at = sink.messages.length
    await comesBack('ines@example.com', letter('ines@example.com'), 'victim@remote.test')
    const keyed = (await sink.received(at + 1))[at]?.from ?? ''
    const answer = (number: number) =>
      Buffer.from(`From: ines@far.test\r\nAuto-Submitted: auto-replied\r\nSubject: ${number}\r\n\r\nBuy\r\n`)
    for (let number = 0; number < limits.outbound.answeredMax; number++) {
      expect(await comesBack(keyed, answer(number), number % 2 === 0 ? '' : 's@far.test')).toMatch(/^250/)
    }
    expect(await comesBack(keyed, answer(-1))).toMatch(/^452/)
    expect(await comesBack(keyed.toUpperCase(), answer(-2), 's@far.test')).toMatch(/^452/)
    // Nor is another message of his a new one.
    await comesBack('ines@example.com', letter('ines@example.com'), 'Victim@remote.test')
    const forwarded = () => sink.messages.slice(at).filter(({ to }) => to.includes('ines@far.test'))
    await expect.poll(() => forwarded().length, { timeout: 10_000 }).toBe(2)
    expect(await comesBack(forwarded()[1]?.from ?? '', answer(-3))).toMatch(/^452/)
    // Where nobody is left who forwards, what came back goes to him, and no letter.
    await comesBack('ines@example.com', letter('ines@example.com'), 'other@remote.test')
    await expect.poll(() => forwarded().length, { timeout: 10_000 }).toBe(3)
    const { from: orphaned = '', raw = '' } = forwarded()[2] ?? {}
    await service.call('DELETE', `/users/${user}`)
    const offer = Buffer.from('From: s@far.test\r\nSubject: Bargain\r\nMessage-ID: <o@far.test>\r\n\r\nBuy\r\n')
    expect(await comesBack(orphaned, offer, 's@far.test')).toMatch(/^550/)
    expect(await comesBack(orphaned, report(raw, { address: 'ines@far.test' }))).toMatch(/^250/)
    const reached = () => sink.messages.slice(at).filter(({ to }) => to.includes('other@remote.test'))
    await expect.poll(() => reached().length, { timeout: 10_000 }).toBe(1)
  })

  test('under a long sender, too, of whom only the message knows', async () => {
    const user = await service.user('hans', { targets: ['long@far.test'] })
    const sender = `0102018fa8b1c2d3-12345678-1234-1234-1234-123456789abc-000000@eu-west-1.mailer.test`
    const at = sink.messages.length
    await comesBack('hans@example.com', letter('hans@example.com'), sender)
    const copy = (await sink.received(at + 1))[at]
    expect(splitAddress(copy?.from ?? '').local.length).toBeLessThanOrEqual(limits.name.localPartBytesMax)
    expect(await comesBack(copy?.from ?? '', report(copy?.raw ?? '', { address: 'long@far.test' }))).toMatch(/^250/)
    await read()
    expect(await failing(user)).toMatchObject([{ target: 'long@far.test', status: '5.1.1' }])
    const answer = Buffer.from('From: long@far.test\r\nAuto-Submitted: auto-replied\r\nSubject: Away\r\n\r\nAway\r\n')
    expect(await comesBack(copy?.from ?? '', answer)).toMatch(/^250/)
    expect((await sink.received(at + 2))[at + 1]).toMatchObject({ from: '', to: [sender] })
    const wrong = (copy?.from ?? '').replace(/=([a-z2-7]{2})[a-z2-7]+@/, '=$1zz@')
    expect(await comesBack(wrong, answer)).toMatch(/^550/)
  })

  test('of an address without account, by who keeps its domain', async () => {
    const keeper = await service.user('keeper', { address: 'keeper@desks.test' })
    await service.call('POST', '/addresses/forwarded', { address: 'desk@desks.test', targets: ['nobody-d@far.test'] })
    await comesBack('desk@desks.test', letter('desk@desks.test'), 'w@remote.test')
    await expect.poll(async () => (await inbox(keeper)).length, { timeout: 10_000 }).toBe(1)
    expect(await source(keeper, -1)).toContain('nobody-d@far.test')
    const { body } = await service.call('GET', '/addresses/resolve/desk%40desks.test')
    const { body: desk } = await service.call('GET', `/addresses/forwarded/${body.id}`)
    expect(desk.targetFailures).toMatchObject([{ target: 'nobody-d@far.test', failures: 1 }])
  })
})
