// Copies that go on: answers of addresses that only forward, and forwards that are encrypted for their owner.

import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { updateUser } from '#actors/user/account.ts'
import { openpgp } from '#lib/process/lazy.ts'
import { deliver, openLmtp } from '../../dialogue.ts'
import { useTeal } from '../../running.ts'
import { type Sink, type SinkMessage, startSink } from '../mail-sink.ts'

const sinkPort = 21_000 + (process.pid % 9000)
const service = useTeal({
  outbound: { relay: `smtp://127.0.0.1:${sinkPort}` },
  network: { allowPrivate: ['127.0.0.0/8'] },
  mail: { defaultDomain: 'example.com' },
})
let sink: Sink

beforeAll(async () => {
  sink = await startSink(sinkPort)
})
afterAll(() => sink.close())

let count = 0

async function send(to: string, lines: readonly string[] = [], from = 'anna@remote.test') {
  count += 1
  const id = `<f${count}@remote.test>`
  const head = ['From: Anna <anna@remote.test>', `To: ${to}`, `Subject: Number ${count}`, ...lines]
  const message = [...head, `Message-ID: ${id}`, 'Date: Mon, 1 Jan 2024 10:00:00 +0000', '', `secret ${count}`, '']
  const lmtp = await openLmtp(service.at('lmtp'))
  const [reply = ''] = await deliver(lmtp, from, [to], Buffer.from(message.join('\r\n')))
  lmtp.close()
  return { id, reply, message: message.join('\r\n') }
}

/** The next messages that come to the sink, from its count before. */
async function next(at: number, messages = 1): Promise<SinkMessage[]> {
  return (await sink.received(at + messages)).slice(at)
}

/** What is queued for nobody's account, by who made it. */
async function queued(origin: string): Promise<number> {
  const row = await service.teal.core.read.one<{ count: number }>(
    'SELECT count(*) AS count FROM outbound WHERE origin = ?',
    origin,
  )
  return row?.count ?? 0
}

describe('an address that only forwards', () => {
  async function desk(name: string, more: object = {}): Promise<string> {
    const form = {
      ...{ address: `${name}@example.com`, name: 'The Desk', targets: ['friend@elsewhere.test'] },
      autoreply: { status: true, text: 'We have it', html: '<p>We <b>have</i> it', subject: 'Thanks', ...more },
    }
    const { status, body } = await service.call('POST', '/addresses/forwarded', form)
    expect(status).toBe(200)
    return body.id
  }

  test('answers a person once, and sends everything on', async () => {
    await desk('desk')
    const at = sink.messages.length
    const { id } = await send('desk@example.com')
    const messages = await next(at, 2)
    expect(messages.find(({ to }) => to[0] === 'friend@elsewhere.test')?.raw).toContain(id)
    const reply = messages.find(({ to }) => to[0] === 'anna@remote.test')
    expect(reply?.from).toBe('')
    expect(reply?.raw).toMatch(/^From: The Desk <desk@example\.com>\r$/m)
    expect(reply?.raw).toMatch(/^Subject: Auto: Thanks\r$/m)
    expect(reply?.raw).toMatch(/^Auto-Submitted: auto-replied\r$/m)
    expect(reply?.raw).toContain(`In-Reply-To: ${id}`)
    expect(reply?.raw).toContain('We have it')
    const answers = await queued('autoreply')
    expect((await send('desk@example.com')).reply).toMatch(/^250/)
    await next(at, 3)
    expect(await queued('autoreply')).toBe(answers)
  })

  test('sends on a text without a header as the text of what goes out', async () => {
    await desk('bare', { status: false })
    const at = sink.messages.length
    const lmtp = await openLmtp(service.at('lmtp'))
    const [reply] = await deliver(
      lmtp,
      'anna@remote.test',
      ['bare@example.com'],
      Buffer.from('Hello Anna,\r\n\r\nbye\r\n'),
    )
    lmtp.close()
    expect(reply).toMatch(/^250/)
    const [message] = await next(at)
    expect(message?.raw).toMatch(/^[\w-]+:[^\0]*\S\r\n\r\nHello Anna,\r\n\r\nbye\r\n$/)
  })

  test.each([
    ['a null sender', '', []],
    ['nobody who reads', 'no-reply@remote.test', []],
    ['itself', 'strict@example.com', []],
    ['a list', 'l1@remote.test', ['List-Id: <dev.remote.test>']],
    ['bulk mail', 'l2@remote.test', ['Precedence: bulk']],
    ['another answer', 'l3@remote.test', ['Auto-Submitted: auto-replied']],
    ['who asks for none', 'l4@remote.test', ['X-Auto-Response-Suppress: All']],
    ['a report', 'l5@remote.test', ['Content-Type: multipart/report; boundary=x']],
  ])('does not answer %s', async (_, from, lines) => {
    const known = await service.call('GET', '/addresses/resolve/strict@example.com')
    if (known.status !== 200) await desk('strict')
    const [answers, at] = [await queued('autoreply'), sink.messages.length]
    expect((await send('strict@example.com', lines, from)).reply).toMatch(/^250/)
    await next(at)
    expect(await queued('autoreply')).toBe(answers)
  })

  test('does not answer outside of its time, when switched off, or what it does not take', async () => {
    const id = await desk('timed', { start: '2090-01-01T00:00:00Z' })
    const answers = await queued('autoreply')
    await send('timed@example.com')
    await service.call('PUT', `/addresses/forwarded/${id}`, {
      autoreply: { start: false, end: '2020-01-01T00:00:00Z' },
    })
    await send('timed@example.com')
    await service.call('PUT', `/addresses/forwarded/${id}`, { autoreply: { status: false, end: false } })
    await send('timed@example.com')
    const hops = Array.from({ length: 30 }, (_, at) => `Received: from h${at}.test by h${at + 1}.test; now`)
    await service.call('PUT', `/addresses/forwarded/${id}`, { autoreply: { status: true } })
    expect((await send('timed@example.com', hops)).reply).toMatch(/^554/)
    expect(await queued('autoreply')).toBe(answers)
    const at = sink.messages.length
    await send('timed@example.com')
    await next(at, 2)
    expect(await queued('autoreply')).toBe(answers + 1)
  })

  test('without targets only answers, and without an answer takes nothing', async () => {
    await service.call('POST', '/addresses/forwarded', { address: 'empty@example.com' })
    expect((await send('empty@example.com')).reply).toMatch(/^554/)
    const form = { address: 'gone@example.com', autoreply: { text: 'Moved away' } }
    await service.call('POST', '/addresses/forwarded', form)
    const at = sink.messages.length
    expect((await send('gone@example.com')).reply).toMatch(/^250/)
    expect((await next(at))[0]).toMatchObject({ to: ['anna@remote.test'] })
  })
})

describe('encrypted forwards', () => {
  let pubKey = ''
  let privateKey = ''

  beforeAll(async () => {
    const keys = await openpgp().generateKey({
      userIDs: [{ name: 'Key', email: 'key@example.com' }],
      format: 'armored',
    })
    pubKey = keys.publicKey
    privateKey = keys.privateKey
  })

  async function decrypted(text: string): Promise<string> {
    const { readMessage, readPrivateKey, decrypt } = openpgp()
    const armored = /-----BEGIN PGP MESSAGE-----[\s\S]*-----END PGP MESSAGE-----/.exec(text)?.[0] ?? ''
    const message = await readMessage({ armoredMessage: armored })
    const { data } = await decrypt({
      message,
      decryptionKeys: await readPrivateKey({ armoredKey: privateKey }),
      format: 'binary',
    })
    return Buffer.from(data as Uint8Array).toString()
  }

  async function stored(user: string): Promise<string[]> {
    const { body } = await service.call('GET', `/users/${user}/mailboxes/resolve?path=INBOX`)
    const path = `/users/${user}/mailboxes/${body.id}/messages`
    const list = (await service.call('GET', `${path}?order=asc`)).body.results as { id: number }[]
    return Promise.all(list.map(async ({ id }) => (await service.raw('GET', `${path}/${id}/message.eml`)).text()))
  }

  test('go out for their owner alone, while the stored copy stays as it is', async () => {
    const user = await service.user('seal', { pubKey, encryptForwarded: true, targets: ['friend@elsewhere.test'] })
    const at = sink.messages.length
    const { message, id } = await send('seal@example.com', ['X-Own: 1'])
    const [copy] = await next(at)
    expect(copy?.to).toEqual(['friend@elsewhere.test'])
    expect(copy?.from).toMatch(/^SRS0=/)
    expect(copy?.raw).toMatch(/^Content-Type: multipart\/encrypted/m)
    expect(copy?.raw).toMatch(/^X-Forward-Seen: /m)
    expect(copy?.raw).toContain(`Message-ID: ${id}`)
    expect(copy?.raw).not.toMatch(/secret|X-Own/)
    expect(await decrypted(copy?.raw ?? '')).toBe(message)
    const [kept] = await stored(user)
    expect(kept).toContain(message)
    // By hand, too, and not a second time.
    const box = (await service.call('GET', `/users/${user}/mailboxes/resolve?path=INBOX`)).body.id
    const again = await service.call('POST', `/users/${user}/mailboxes/${box}/messages/1/forward`, {
      addresses: ['b@elsewhere.test'],
    })
    expect(again.body).toMatchObject({ success: true, queueId: expect.any(String) })
    const [byHand] = await next(at + 1)
    expect(await decrypted(byHand?.raw ?? '')).toBe(message)
  })

  test('stay as they are where they are encrypted already, or nobody asked', async () => {
    await service.user('open', { pubKey, targets: ['friend@elsewhere.test'] })
    const at = sink.messages.length
    await send('open@example.com')
    expect((await next(at))[0]?.raw).toContain(`secret ${count}`)
    await service.user('twice', { pubKey, encryptForwarded: true, targets: ['friend@elsewhere.test'] })
    await send('twice@example.com', [
      'Content-Type: multipart/encrypted; protocol="application/pgp-encrypted"; boundary=b',
    ])
    expect((await next(at + 1))[0]?.raw).toContain(`secret ${count}`)
  })

  test('do not leave in the clear when the key cannot be used, and nothing is lost', async () => {
    const user = await service.user('broken', { pubKey, encryptForwarded: true })
    const filter = { query: {}, action: { delete: true, targets: ['friend@elsewhere.test'] } }
    await service.call('POST', `/users/${user}/filters`, filter)
    const fields = { pubKey: 'no key at all' }
    await service.teal.core.system.handle(user).run(updateUser, { fields })
    const forwards = await queued('forward')
    const { id, reply, message } = await send('broken@example.com')
    expect(reply).toMatch(/^250/)
    const { body } = await service.call('GET', `/users/${user}/filters/trace?messageId=${encodeURIComponent(id)}`)
    expect(body.results[0].forward).toEqual({ queueId: null, targets: [], reason: 'not-encrypted' })
    expect(await queued('forward')).toBe(forwards)
    expect(await stored(user)).toEqual([expect.stringContaining(message)])
    const box = (await service.call('GET', `/users/${user}/mailboxes/resolve?path=INBOX`)).body.id
    const byHand = await service.call('POST', `/users/${user}/mailboxes/${box}/messages/1/forward`, {
      addresses: ['b@elsewhere.test'],
    })
    expect(byHand).toMatchObject({ status: 400, body: { code: 'EncryptionUnsupported' } })
  })
})
