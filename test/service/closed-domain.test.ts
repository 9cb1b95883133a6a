// A domain that is closed: its addresses refuse mail by every way in, its accounts come in by no door, and what they have sent
// waits. When it is open again all is as it was. That sessions end is in standing.test.ts.

import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { advanceClock, shiftClock } from '#lib/clock.ts'
import { Dialogue, deliver, openLmtp } from '../dialogue.ts'
import { eventually, send } from '../http/api/mail.ts'
import { type Sink, startSink } from '../jobs/mail-sink.ts'
import { type Body, useTeal } from '../running.ts'

const sinkPort = 30_000 + (process.pid % 9000)
const service = useTeal({
  auth: { cleartext: 'always' },
  outbound: { relay: `smtp://127.0.0.1:${sinkPort}` },
  network: { allowPrivate: ['127.0.0.0/8'] },
})
const { call } = service
let sink: Sink
beforeAll(async () => {
  sink = await startSink(sinkPort)
})
afterEach(() => shiftClock(0))
afterAll(() => sink.close())

let number = 0

/** A domain of its own with an account in it. */
async function fresh() {
  const name = `closed${++number}`
  const domain = `${name}.example`
  const id = await service.user(name, { address: `${name}@${domain}` })
  const set = (disabled: boolean) => call('PUT', `/domains/${domain}`, { disabled })
  return { name, domain, id, password: `secret of ${name}`, address: `${name}@${domain}`, set }
}
type Fresh = Awaited<ReturnType<typeof fresh>>

const said = async (to: string) => (await send(service, to, 'Subject: x\n\nHello\n'))[0]
const closed = expect.stringMatching(/^550 5\.1\.2 /)
const taken = expect.stringMatching(/^250 /)

async function byLmtp(to: string): Promise<string> {
  const lmtp = await openLmtp(service.at('lmtp'))
  const [line = ''] = await deliver(lmtp, 'sender@example.org', [to], Buffer.from('Subject: x\r\n\r\nHello\r\n'))
  lmtp.close()
  return line
}

/** How each door answers a login. */
const doors: Record<string, (who: Fresh) => Promise<boolean>> = {
  async IMAP({ name, password }) {
    const session = await Dialogue.open(service.at('imap'))
    await session.line()
    session.send(`a LOGIN ${name} "${password}"\r\n`)
    let line = await session.line()
    while (!line.startsWith('a ')) line = await session.line()
    session.close()
    return line.startsWith('a OK')
  },
  async POP3({ name, password }) {
    const session = await Dialogue.open(service.at('pop3'))
    await session.line()
    session.send(`USER ${name}\r\nPASS ${password}\r\n`)
    await session.line()
    const line = await session.line()
    session.close()
    return line.startsWith('+OK')
  },
  async submission({ name, password }) {
    const session = await Dialogue.open(service.at('submission'))
    await session.reply()
    await session.ask('EHLO test')
    const line = await session.ask(`AUTH PLAIN ${Buffer.from(`\0${name}\0${password}`).toString('base64')}`)
    session.close()
    return line.startsWith('235')
  },
  async HTTP({ address, password }) {
    return (await call('POST', '/authenticate', { username: address, password })).status === 200
  },
  async 'HTTP, before a security key is asked for'({ name }) {
    return (await call('POST', '/preauth', { username: name, scope: 'master' })).status === 200
  },
}

describe('a closed domain', () => {
  test('is a refusal of its own, for good, since who writes should hear of it at once', async () => {
    const who = await fresh()
    await who.set(true)
    const asked = service.teal.core.delivery.recipient(who.address)
    await expect(asked).rejects.toMatchObject({ code: 'DomainDisabled' })
  })

  test.each(Object.entries(doors))('lets nobody in by %s, and everybody when it is open again', async (_, enter) => {
    const who = await fresh()
    expect(await enter(who)).toBe(true)
    await who.set(true)
    expect(await enter(who)).toBe(false)
    await who.set(false)
    expect(await enter(who)).toBe(true)
  })

  test('lets no application password in, and no token go on', async () => {
    const who = await fresh()
    const asp = (await call('POST', `/users/${who.id}/asps`, { description: 'x', scopes: ['imap'] })).body.password
    const imap = doors.IMAP as (typeof doors)[string]
    expect(await imap({ ...who, password: asp })).toBe(true)
    const { address: username, password } = who
    const { token } = (await call('POST', '/authenticate', { username, password, token: true })).body
    const me = async () => (await call('GET', '/users/me', undefined, token)).status
    expect(await me()).toBe(200)
    await who.set(true)
    expect(await me()).toBe(403)
    expect(await imap({ ...who, password: asp })).toBe(false)
    await who.set(false)
    expect(await me()).toBe(200)
  })

  test('refuses mail for its addresses, its other names, its wildcards and what only forwards, and nobody else’s', async () => {
    const [who, other] = [await fresh(), await fresh()]
    const { domain } = who
    await call('POST', '/domainaliases', { alias: `also.${domain}`, domain })
    await call('PUT', `/domains/${domain}`, { catchAll: { user: other.id } })
    await call('POST', '/addresses/forwarded', { address: `on@${domain}`, targets: ['x@far.example'] })
    await call('POST', `/users/${other.id}/addresses`, { address: 'sales@*', allowWildcard: true })
    await call('POST', `/users/${other.id}/addresses`, { address: `guest@${domain}` })
    await call('POST', `/users/${who.id}/addresses`, { address: `away${number}@${other.domain}` })
    const here = [`on@${domain}`, `any@${domain}`, `guest@${domain}`, `postmaster@${domain}`, `sales@also.${domain}`]
    const all = [who.address, `${who.name}@also.${domain}`, ...here, `away${number}@${other.domain}`]
    for (const to of all) expect(await said(to), to).toEqual(taken)
    await who.set(true)
    for (const to of all) expect(await said(to), to).toEqual(closed)
    for (const to of all) expect(await byLmtp(to), to).toEqual(closed)
    for (const to of [other.address, `sales@${other.domain}`]) expect(await said(to), to).toEqual(taken)
    await who.set(false)
    for (const to of all) expect(await said(to), to).toEqual(taken)
  })

  test('holds what its accounts have in the queue, whatever comes meanwhile, and lets it go when it is open', async () => {
    const who = await fresh()
    const sent = () => sink.messages.filter(one => one.to.includes('far@far.example'))
    const submit = (more: object = {}) =>
      call('POST', `/users/${who.id}/submit`, {
        to: [{ address: 'far@far.example' }],
        subject: 'x',
        text: 'y',
        ...more,
      })
    const at = new Date(Date.now() + 3_600_000).toISOString()
    const { queueId } = (await submit({ sendTime: at })).body.message
    await who.set(true)
    expect((await submit()).body.code).toBe('UserDisabled')
    advanceClock(2 * 3_600_000)
    const shown = async () => (await call('GET', `/users/${who.id}/outbound/${queueId}`)).body
    expect((await shown()).targets[0]).toMatchObject({ state: 'waiting', nextAttempt: false })
    // Also what is paused for another reason stays so.
    expect((await call('POST', `/users/${who.id}/outbound/pause`, {})).status).toBe(200)
    await who.set(false)
    await who.set(true)
    expect((await call('POST', `/users/${who.id}/outbound/resume`, {})).status).toBe(200)
    expect((await shown()).targets[0]).toMatchObject({ state: 'waiting', nextAttempt: false })
    expect(sent()).toEqual([])
    await who.set(false)
    await eventually(shown, one => one.targets[0].state === 'delivered')
    expect(sent()).toHaveLength(1)
  })

  test('holds what its addresses that only forward have in the queue', async () => {
    const { domain, set } = await fresh()
    const to = { address: `on@bücher.${domain}`, targets: ['later@far.example'] }
    expect((await call('POST', '/addresses/forwarded', to)).status).toBe(200)
    sink.recipient = address => (address.startsWith('later') ? { code: 450, text: '4.2.0 later' } : undefined)
    expect(await said(`on@xn--bcher-kva.${domain}`)).toEqual(taken)
    const waiting = async () => {
      const { results } = (await call('GET', '/outbound/messages?pending=true')).body
      return results.find(
        (one: Body) => one.to?.includes('later@far.example') ?? one.destinations.includes('far.example'),
      )
    }
    const tried = await eventually(waiting, one => one?.attempts === 1 && one.sending === 0)
    expect(tried.nextAttempt).toEqual(expect.any(String))
    const close = (disabled: boolean) => call('PUT', `/domains/${encodeURIComponent(`bücher.${domain}`)}`, { disabled })
    expect((await close(true)).status).toBe(200)
    expect((await waiting()).nextAttempt).toBe(false)
    // Another domain that opens lets go what is its own.
    await set(true)
    await set(false)
    expect((await waiting()).nextAttempt).toBe(false)
    await close(false)
    expect((await waiting()).nextAttempt).toBe(tried.nextAttempt)
  })

  test('holds no more what belongs to an account that went to another domain', async () => {
    const who = await fresh()
    const form = { to: [{ address: 'far@far.example' }], subject: 'x', text: 'y' }
    const at = new Date(Date.now() + 3_600_000).toISOString()
    const { queueId } = (await call('POST', `/users/${who.id}/submit`, { ...form, sendTime: at })).body.message
    await who.set(true)
    await call('POST', `/users/${who.id}/addresses`, { address: `${who.name}@example.com`, main: true })
    const { targets } = (await call('GET', `/users/${who.id}/outbound/${queueId}`)).body
    expect(targets[0].nextAttempt).toBe(at)
    expect(await doors.IMAP?.(who)).toBe(true)
  })
})
