import { createHmac } from 'node:crypto'
import { cpSync, rmSync } from 'node:fs'
import { afterEach, beforeEach, describe, expect, onTestFinished, test } from 'vitest'
import { now, shiftClock, sleep } from '#lib/clock.ts'
import { limits } from '#lib/limits.ts'
import { deliverySettle, listDeliveries, parseDeliveryId } from '#store/events/deliveries.ts'
import { type Outbox, openOutbox, openSubscriber, type Subscriber, someUser, until } from '../outbox.ts'

let outbox: Outbox
let hook: Subscriber

beforeEach(async () => {
  outbox = await openOutbox({ timeoutMs: 1000 })
  hook = await openSubscriber()
})

afterEach(async () => {
  shiftClock(0)
  expect(await outbox.check()).toEqual([])
  await outbox.close()
  await hook.close()
})

let shifted = 0
beforeEach(() => {
  shifted = 0
})

/** Lets time pass for everything that waits. */
function pass(ms: number): void {
  shifted += ms
  shiftClock(shifted)
  outbox.webhooks.look()
}

const created = (user: string) =>
  ['user.created', { user, username: 'u', name: 'U', address: 'u@example.com' }] as const
const changed = (user: string) => ['user.password.changed', { user }] as const
const filter = (user: string, id: number) => ['filter.created', { user, filter: String(id) }] as const

const rows = async (table: string) => (await outbox.read.one<{ n: number }>(`SELECT count(*) AS n FROM ${table}`))?.n
const quiet = async () => (await rows('event')) === 0 && (await rows('delivery')) === 0
const ids = (calls: Subscriber['calls']) => calls.map(call => String(call.body.id))
const order = (calls: Subscriber['calls']) => calls.map(call => Number(call.body.filter))

describe('one delivery', () => {
  test('is a POST of flat JSON with id, time and name', async () => {
    const user = someUser()
    await outbox.subscribe(hook.url)
    const before = now()
    await outbox.emit([...created(user)])
    await until('the call', () => hook.taken.length === 1)
    const [call] = hook.calls
    expect(call?.method).toBe('POST')
    expect(call?.path).toBe('/hook')
    expect(call?.headers['content-type']).toBe('application/json')
    expect(call?.headers['user-agent']).toBe('Teal/0')
    const { id, time, ...data } = call?.body ?? {}
    expect(data).toEqual({ ev: 'user.created', user, username: 'u', name: 'U', address: 'u@example.com' })
    expect(id).toMatch(/^[0-9a-f]{24}:1$/)
    expect(time).toBeGreaterThanOrEqual(before)
    expect(time).toBeLessThanOrEqual(now())
    expect(call?.headers['webhook-id']).toBe(id)
    expect(call?.headers['webhook-signature']).toBeUndefined()
    await until('nothing left', quiet)
    expect(await rows('payload')).toBe(0)
  })

  test('is signed over id, timestamp and body where there is a secret, in either spelling', async () => {
    const key = Buffer.from('0123456789abcdef0123456789abcdef')
    await outbox.subscribe(hook.url, ['*'], null, `whsec_${key.toString('base64')}`)
    await outbox.subscribe(hook.url, ['*'], null, key.toString())
    await outbox.emit([...changed(someUser())])
    await until('both calls', () => hook.taken.length === 2)
    for (const { headers, text } of hook.calls) {
      const signed = `${headers['webhook-id']}.${headers['webhook-timestamp']}.${text}`
      const expected = createHmac('sha256', key).update(signed).digest('base64')
      expect(headers['webhook-signature']).toBe(`v1,${expected}`)
      expect(Math.abs(Number(headers['webhook-timestamp']) * 1000 - now())).toBeLessThan(5000)
    }
  })

  test('carries the credentials of its URL as Basic and not in the path', async () => {
    await outbox.subscribe(hook.url.replace('http://', 'http://us%40er:p%3Ass@').concat('?a=1'))
    await outbox.emit([...changed(someUser())])
    await until('the call', () => hook.taken.length === 1)
    expect(hook.calls[0]?.path).toBe('/hook?a=1')
    const authorization = `Basic ${Buffer.from('us@er:p:ss').toString('base64')}`
    expect(hook.calls[0]?.headers.authorization).toBe(authorization)
  })

  test('follows a redirect on its own host as the same POST, and none to another', async () => {
    const other = await openSubscriber()
    hook.behave((call, response) => {
      if (call.path === '/hook') response.writeHead(308, { location: '/moved' }).end()
      else if (call.path === '/away') response.writeHead(307, { location: other.url }).end()
      else response.writeHead(204).end()
    })
    await outbox.subscribe(hook.url)
    await outbox.subscribe(hook.url.replace('/hook', '/away'))
    await outbox.emit([...changed(someUser())])
    await until('three calls', () => hook.calls.length === 3)
    expect(hook.calls.map(call => `${call.method} ${call.path}`).sort()).toEqual([
      'POST /away',
      'POST /hook',
      'POST /moved',
    ])
    await until('the failure', async () => (await failures()).includes('redirect'))
    expect(other.calls).toEqual([])
    await other.close()
  })

  test('goes nowhere inside', async () => {
    await outbox.close()
    outbox = await openOutbox({ outward: { allowPrivate: [] } })
    await outbox.subscribe(hook.url)
    await outbox.emit([...changed(someUser())])
    await until('the refusal', async () => (await failures()).includes('blocked'))
    expect(hook.calls).toEqual([])
  })
})

const failures = async () =>
  (await outbox.read.all<{ failure: string | null }>('SELECT failure FROM delivery')).map(row => row.failure)

describe('matching', () => {
  const cases: [type: string[], hears: string[]][] = [
    [['*'], ['user.created', 'user.delete.started', 'forward.added', 'cert.created']],
    [['user.created'], ['user.created']],
    [['user.*'], ['user.created', 'user.delete.started']],
    [['user.delete.*'], ['user.delete.started']],
    [['forward added'], ['forward.added']],
    [
      ['forward.*', 'forward.added', '*'],
      ['user.created', 'user.delete.started', 'forward.added', 'cert.created'],
    ],
    [['user', 'us*', 'user.delete', '*.created', 'user.created.*'], []],
    [[], []],
  ]
  test.each(cases)('%j', async (type, hears) => {
    const user = someUser()
    const end = await openSubscriber()
    await outbox.subscribe(hook.url, type)
    await outbox.subscribe(end.url, ['cert.deleted'])
    const cert = { cert: 'c', servername: 's', fingerprint: 'f' }
    await outbox.emit(
      [...created(user)],
      ['user.delete.started', { user, result: {} }],
      ['forward.added', { user, type: 'user', target: 'a@example.com' }],
      ['cert.created', cert],
      ['cert.deleted', cert],
    )
    await until('the last event', async () => end.taken.length === 1 && (await quiet()))
    const heard = hook.calls.map(call => call.body.ev).filter(name => name !== 'cert.deleted')
    expect(heard.sort()).toEqual([...hears].sort())
    await end.close()
  })

  test('a subscription of a user gets that user and nothing that belongs to nobody', async () => {
    const [anna, bert] = [someUser(), someUser()]
    await insertUser(anna)
    await outbox.subscribe(hook.url, ['*'], anna)
    await outbox.emit([...changed(bert)], ['dkim.created', { dkim: 'd', domain: 'x', selector: 's', fingerprint: 'f' }])
    await outbox.emit([...changed(anna)])
    await until('nothing left', async () => (await quiet()) && hook.taken.length > 0)
    expect(hook.calls.map(call => call.body.user)).toEqual([anna])
  })

  test('n counts the subscriptions an event matches; the first part is one for the event', async () => {
    await outbox.subscribe(hook.url, ['user.*'])
    await outbox.subscribe(hook.url, ['filter.*'])
    await outbox.subscribe(hook.url, ['*'])
    await outbox.emit([...changed(someUser())])
    await until('both', () => hook.taken.length === 2)
    const [first, second] = ids(hook.calls).sort()
    expect(first?.endsWith(':1')).toBe(true)
    expect(second).toBe(first?.replace(':1', ':2'))
  })

  test('an event is worth a row only while somebody wants it', async () => {
    await outbox.emit([...changed(someUser())])
    expect(await rows('event')).toBe(0)
    const wanted = (name: 'message.received' | 'user.created') => outbox.handle.subscriptions.wanted(name)
    expect([wanted('message.received'), wanted('user.created')]).toEqual([false, false])
    const id = await outbox.subscribe(hook.url, ['message.*'])
    expect([wanted('message.received'), wanted('user.created')]).toEqual([true, false])
    await outbox.handle.delete(id)
    expect(wanted('message.received')).toBe(false)
  })

  test('where nothing is delivered the catalogue is kept and additions are not', async () => {
    const { subscriptions } = outbox.handle
    await outbox.close()
    outbox = await openOutbox({ delivering: false })
    expect(subscriptions).not.toBe(outbox.handle.subscriptions)
    expect(outbox.handle.subscriptions.wanted('user.created')).toBe(true)
    expect(outbox.handle.subscriptions.wanted('message.received')).toBe(false)
  })
})

async function insertUser(id: string): Promise<void> {
  const { userInsert } = await import('#store/accounts/users.ts')
  const { mailboxInsert } = await import('#store/mailboxes/mailboxes.ts')
  const row = { num: 1, id, username: 'a', key: 'a', name: '', address: '', password: '', temporary: null }
  const flags = { authVersion: 0, disabled: false, suspended: false, activated: true, quota: 0, tags: [], options: {} }
  await outbox.writer.write(userInsert, { ...row, ...flags, created: 1, deleted: null })
  const folder = { num: 1, id: someUser(), user: 1, path: 'INBOX', specialUse: null, uidValidity: 1, subscribed: true }
  const more = { hidden: false, encrypt: false, retention: 0, keywords: [], modseq: 0, created: 1 }
  await outbox.writer.write(mailboxInsert, { ...folder, ...more })
}

describe('an endpoint that misbehaves', () => {
  test('gets every event at least once, in order for each subject, with the same ids', async () => {
    const users = [someUser(), someUser(), someUser()]
    const ways = ['500', 'hang', 'reset', 'garbage', 'never ends', '500'] as const
    let turn = 0
    hook.behave((_call, response, socket) => {
      const way = ways[turn++]
      if (way === '500') response.writeHead(500).end('no')
      else if (way === 'reset') socket.destroy()
      else if (way === 'garbage') socket.end('\u0000\u0001 not HTTP at all\r\n\r\n')
      else if (way === 'never ends') {
        response.writeHead(503)
        response.write('wait')
      } else if (way === undefined) response.writeHead(200).end()
    })
    await outbox.subscribe(hook.url)
    const total = 30
    for (let index = 0; index < total; index++) await outbox.emit([...filter(users[index % 3] ?? '', index)])
    for (let round = 0; hook.taken.length < total; round++) {
      expect(round).toBeLessThan(1000)
      const before = hook.calls.length
      pass(20_000)
      await sleep(hook.calls.length === before ? 20 : 0)
    }
    await until('nothing left', quiet)
    expect(new Set(ids(hook.taken)).size).toBe(total)
    expect(hook.taken).toHaveLength(total)
    for (const user of users) {
      const own = order(hook.taken.filter(call => call.body.user === user))
      expect(own).toEqual([...own].sort((a, b) => a - b))
    }
    const byEvent = new Map<unknown, Set<string>>()
    for (const call of hook.calls) {
      byEvent.set(call.body.filter, (byEvent.get(call.body.filter) ?? new Set()).add(String(call.body.id)))
    }
    expect([...byEvent.values()].every(set => set.size === 1)).toBe(true)
    expect(hook.calls.length).toBeGreaterThanOrEqual(total + ways.length)
  })

  test('leaves a word for each kind of failure', async () => {
    const way = (path: string) => hook.url.replace('/hook', path)
    hook.behave((call, response, socket) => {
      if (call.path === '/status') response.writeHead(404).end()
      else if (call.path === '/reset') socket.destroy()
      else if (call.path === '/garbage') socket.end('no HTTP\r\n\r\n')
      else if (call.path === '/redirect') response.writeHead(303, { location: '/status' }).end()
    })
    for (const path of ['/status', '/reset', '/garbage', '/redirect', '/hang']) await outbox.subscribe(way(path))
    await outbox.subscribe('http://127.0.0.1:1/')
    await outbox.subscribe('http://[::1]:1/')
    await outbox.subscribe(way('/tls').replace('http:', 'https:'))
    await outbox.emit([...changed(someUser())])
    await until(
      'all failures',
      async () => (await failures()).every(word => word !== null) && (await failures()).length === 8,
    )
    const words = ['status', 'reset', 'protocol', 'redirect', 'timeout', 'refused', 'blocked', 'tls']
    expect((await failures()).sort()).toEqual(words.sort())
    const status = await outbox.read.all<{ status: number }>("SELECT status FROM delivery WHERE failure = 'status'")
    expect(status).toEqual([{ status: 404 }])
  })

  test('an answer that is too large or never ends still counts by its status', async () => {
    hook.behave((_call, response) => {
      response.writeHead(200)
      const more = () => {
        while (!response.destroyed && response.write(Buffer.alloc(65_536)));
      }
      response.on('drain', more)
      more()
    })
    await outbox.subscribe(hook.url)
    await outbox.emit([...changed(someUser())])
    await until('the delivery', async () => hook.calls.length === 1 && (await quiet()))
  })

  test('tries again after waits that double, first within half a minute, until the delivery is dead', async () => {
    // The answer to the poison is held until the due time that its claim wrote was read.
    let answer = () => {}
    hook.behave((call, response) => {
      if (call.body.filter === '1') answer = () => void response.writeHead(500).end()
      else response.writeHead(200).end()
    })
    const webhook = await outbox.subscribe(hook.url)
    const poison = someUser()
    await outbox.emit([...filter(poison, 1)])
    const waits: number[] = []
    const late: number[] = []
    const attempts = () =>
      outbox.read.one<{ due: number; tried: number; state: number }>('SELECT * FROM delivery ORDER BY event')
    for (let attempt = 1; attempt <= limits.webhook.attemptsMax; attempt++) {
      await until('the attempt', () => hook.calls.filter(call => call.body.filter === '1').length === attempt)
      const claimed = (await attempts())?.due
      answer()
      if (attempt === limits.webhook.attemptsMax) break
      await until(
        'its result, and the one behind it',
        async () => (await attempts())?.due !== claimed && (await rows('delivery')) === 1,
      )
      const { due, tried } = (await attempts()) ?? { due: 0, tried: 0 }
      waits.push(due - tried)
      // From the call to its result some time passes, on a busy machine more.
      late.push(now() - tried)
      pass(due - now() + 1)
      await outbox.emit([...filter(someUser(), 100 + attempt)])
    }
    await until('the end', async () => (await attempts())?.state === 2)
    expect(waits[0]).toBeLessThanOrEqual(30_000)
    waits.forEach((wait, index) => {
      const middle = Math.min(2_000 * 2 ** index, 12 * 3_600_000)
      expect(wait).toBeGreaterThanOrEqual(middle * 0.8)
      expect(wait).toBeLessThanOrEqual(middle * 1.2 + (late[index] ?? 0))
    })
    expect(waits.reduce((sum, wait) => sum + wait)).toBeGreaterThan(24 * 3_600_000)

    const { endpoint = 0 } = outbox.handle.subscriptions.find(webhook) ?? {}
    const [dead] = await listDeliveries(outbox.read, { endpoint, webhook, state: 'dead' }, null, 'forward', 10)
    expect(dead).toMatchObject({ attempts: limits.webhook.attemptsMax, failure: 'status', status: 500, state: 'dead' })
    hook.heal()
    await outbox.handle.replay(webhook, dead?.event ?? 0, dead?.n ?? 0)
    await until('the replayed one', quiet)
    expect(ids(hook.calls.filter(call => call.body.filter === '1')).every((id, _, all) => id === all[0])).toBe(true)
  })

  test('a failed event holds back its subject only, and after an hour not even that', async () => {
    const [stuck, free] = [someUser(), someUser()]
    hook.behave((call, response) => void response.writeHead(call.body.filter === '1' ? 500 : 200).end())
    await outbox.subscribe(hook.url)
    await outbox.emit([...filter(stuck, 1)], [...filter(stuck, 2)], [...filter(free, 3)], [...filter(free, 4)])
    await until('the free ones', () => hook.taken.length === 2)
    expect(order(hook.taken)).toEqual([3, 4])
    pass(30 * 60_000)
    await until('another try', () => hook.calls.filter(call => call.body.filter === '1').length >= 2)
    await sleep(50)
    expect(order(hook.taken)).toEqual([3, 4])
    pass(31 * 60_000)
    await until('the one behind', () => hook.taken.length === 3)
    expect(order(hook.taken)).toEqual([3, 4, 2])
  })

  test('is paused after ten failures in a row over an hour, says so, and goes on in order when resumed', async () => {
    const watcher = await openSubscriber()
    hook.behave((_call, response) => void response.writeHead(500).end())
    const url = hook.url.replace('http://', 'http://name:password@')
    const webhook = await outbox.subscribe(url, ['filter.*'])
    await outbox.subscribe(watcher.url, ['webhook.*'])
    const user = someUser()
    await outbox.emit([...filter(user, 1)], [...filter(user, 2)], [...filter(someUser(), 3)])
    const subscription = () => outbox.handle.subscriptions.find(webhook)
    for (let round = 0; subscription()?.paused === null; round++) {
      expect(round).toBeLessThan(1000)
      pass(60_000)
      await sleep(10)
    }
    expect(shifted).toBeGreaterThanOrEqual(limits.webhook.pauseMs)
    expect(hook.calls.length).toBeGreaterThanOrEqual(limits.webhook.pauseFailures)
    await until('the event', () => watcher.taken.length === 1)
    expect(watcher.taken[0]?.body).toMatchObject({ ev: 'webhook.disabled', webhook, url: hook.url, reason: 'status' })

    const tried = hook.calls.length
    hook.heal()
    await outbox.emit([...filter(user, 4)])
    pass(3_600_000)
    await sleep(50)
    expect(hook.calls).toHaveLength(tried)
    await outbox.handle.resume(webhook)
    await until('all of them', quiet)
    expect(order(hook.taken.filter(call => call.body.user === user))).toEqual([1, 2, 4])
    await watcher.close()
  })

  test('ends its subscription with 410, and what waited for it is forgotten', async () => {
    const watcher = await openSubscriber()
    await outbox.subscribe(watcher.url, ['webhook.*'])
    hook.behave((_call, response) => void response.writeHead(410).end())
    const webhook = await outbox.subscribe(hook.url, ['filter.*'])
    const user = someUser()
    await outbox.emit(
      ...Array.from(
        { length: 40 },
        (_, index) => [...filter(user, index)] as ['filter.created', { user: string; filter: string }],
      ),
    )
    await until('its end', () => outbox.handle.subscriptions.find(webhook) === undefined)
    await until('the event', () => watcher.taken.length === 1)
    expect(watcher.taken[0]?.body).toMatchObject({ webhook, reason: 'gone' })
    await until('nothing left', quiet)
    expect(hook.calls).toHaveLength(1)
  })

  test('may ask for patience', async () => {
    hook.behave((_call, response) => void response.writeHead(429, { 'retry-after': '600' }).end())
    await outbox.subscribe(hook.url)
    await outbox.emit([...changed(someUser())])
    const due = () => outbox.read.one<{ due: number; failure: string }>('SELECT due, failure FROM delivery')
    await until('the failure', async () => (await due())?.failure === 'status')
    expect(((await due())?.due ?? 0) - now()).toBeGreaterThan(590_000)
  })

  test('does not delay another one', async () => {
    const others = await Promise.all([openSubscriber(), openSubscriber()])
    hook.behave(() => {})
    await outbox.subscribe(hook.url)
    for (const other of others) await outbox.subscribe(other.url)
    const total = 50
    for (let index = 0; index < total; index++) await outbox.emit([...filter(someUser(), index)])
    await until('the others', () => others.every(other => other.taken.length === total))
    // One call at a time tries what has never answered; each of them takes the whole time-out.
    expect(hook.calls.length).toBeLessThan(total)
    for (const other of others) await other.close()
  })
})

describe('subscriptions', () => {
  test('that end take their deliveries along', async () => {
    hook.behave((_call, response) => void response.writeHead(500).end())
    const [first, second] = [await outbox.subscribe(hook.url), await outbox.subscribe(hook.url)]
    await outbox.emit([...changed(someUser())])
    await until('a failure', async () => (await failures()).includes('status'))
    await outbox.handle.delete(first)
    await until('half of them', async () => (await rows('delivery')) === 1)
    await outbox.handle.delete(second)
    await until('the rest', quiet)
    expect(await rows('endpoint')).toBe(0)
    await expect(outbox.handle.delete(first)).rejects.toMatchObject({ code: 'WebhookNotFound' })
  })

  test('of a user who is not there are refused', async () => {
    await expect(outbox.subscribe(hook.url, ['*'], someUser())).rejects.toMatchObject({ code: 'UserNotFound' })
  })

  test('a dead delivery can be replayed with all others, and a living one cannot', async () => {
    hook.behave((_call, response) => void response.writeHead(500).end())
    const webhook = await outbox.subscribe(hook.url)
    await outbox.emit([...filter(someUser(), 1)], [...filter(someUser(), 2)])
    await until('a failure', async () => (await failures()).includes('status'))
    const [id = ''] = ids(hook.calls)
    const { event = 0, n = 0 } = parseDeliveryId(id) ?? {}
    await expect(outbox.handle.replay(webhook, event, n)).rejects.toMatchObject({ code: 'DeliveryNotFound' })
    expect(await outbox.handle.replayDead(webhook)).toBe(0)
    const dead = (num: number) =>
      outbox.writer.write(deliverySettle, {
        done: [],
        failed: [{ event: num, n: 1, dead: true, due: 0, failure: 'status', status: 500 }],
        released: [],
        health: [],
      })
    await outbox.webhooks.close()
    const events = await outbox.read.all<{ event: number }>('SELECT event FROM delivery')
    for (const row of events) await dead(row.event)
    expect(await outbox.handle.replayDead(webhook)).toBe(2)
    expect(await outbox.read.all('SELECT state, attempts, due FROM delivery')).toEqual([
      { state: 0, attempts: 0, due: 0 },
      { state: 0, attempts: 0, due: 0 },
    ])
  })

  test('old deliveries are given up', async () => {
    hook.behave((_call, response) => void response.writeHead(500).end())
    await outbox.subscribe(hook.url)
    await outbox.emit([...changed(someUser())])
    await until('a failure', async () => (await failures()).includes('status'))
    pass(limits.webhook.keepMs + 60_000)
    const end = await openSubscriber()
    await outbox.subscribe(end.url, ['cert.created'])
    await until('nothing left', quiet)
    await end.close()
  })
})

describe('a stop in the middle', () => {
  /** Closes the store and opens it again with what is in it. */
  const reopen = async () => {
    const { dir } = outbox
    const kept = `${dir}-kept`
    await outbox.webhooks.close()
    cpSync(dir, kept, { recursive: true })
    await outbox.close()
    outbox = await openOutbox({ dir: kept, timeoutMs: 1000 })
    return () => rmSync(kept, { recursive: true, force: true })
  }

  test('loses nothing, sends nothing twice that was taken, and keeps ids and order', async () => {
    const user = someUser()
    let seen = 0
    hook.behave((_call, response) => {
      seen += 1
      setImmediate(() => response.writeHead(seen <= 5 ? 200 : 500).end())
    })
    await outbox.subscribe(hook.url)
    const total = 100
    for (let index = 0; index < total; index++) await outbox.emit([...filter(user, index)])
    await until('some calls', () => hook.calls.length >= 6)
    const remove = await reopen()
    hook.heal()
    for (let round = 0; !(await quiet()); round++) {
      expect(round).toBeLessThan(1000)
      pass(15_000)
      await sleep(10)
    }
    expect(order(hook.taken)).toEqual(Array.from({ length: total }, (_, index) => index))
    expect(new Set(ids(hook.calls)).size).toBe(total)
    remove()
  })

  test('keeps the failures of an endpoint and what waits for another try', async () => {
    // Longer than a start takes on a busy machine.
    const { retryMs } = limits.webhook
    Object.assign(limits.webhook, { retryMs: 60_000 })
    onTestFinished(() => void Object.assign(limits.webhook, { retryMs }))
    hook.behave((_call, response) => void response.writeHead(500).end())
    await outbox.subscribe(hook.url)
    await outbox.emit([...filter(someUser(), 1)])
    await until('the failure', async () => (await failures()).includes('status'))
    const remove = await reopen()
    await sleep(50)
    expect(hook.calls).toHaveLength(1)
    hook.heal()
    pass(80_000)
    await until('the second try', quiet)
    expect(new Set(ids(hook.calls)).size).toBe(1)
    remove()
  })

  test('goes on soon with what waits since the clock was ahead', async () => {
    hook.behave((_call, response) => response.writeHead(500).end())
    pass(400 * 24 * 3_600_000)
    await outbox.subscribe(hook.url)
    await outbox.emit([...filter(someUser(), 1)])
    await until('the failure', async () => (await failures()).includes('status'))
    pass(-shifted)
    const remove = await reopen()
    const due = async () => (await outbox.read.one<{ due: number }>('SELECT due FROM delivery'))?.due ?? 0
    await until('its time', async () => (await due()) < now() + 60_000)
    remove()
  })

  test('delivers what was written while nothing was delivered', async () => {
    const { dir } = outbox
    await outbox.subscribe(hook.url)
    await outbox.webhooks.close()
    cpSync(dir, `${dir}-kept`, { recursive: true })
    await outbox.close()
    const still = await openOutbox({ dir: `${dir}-kept`, delivering: false })
    await still.webhooks.close()
    await still.emit([...filter(someUser(), 1)], [...filter(someUser(), 2)])
    await still.close()
    outbox = await openOutbox({ dir: `${dir}-kept` })
    await until('both', async () => hook.taken.length === 2 && (await quiet()))
    rmSync(`${dir}-kept`, { recursive: true, force: true })
  })
})

test('the figures tell what waits', async () => {
  const figures = async () => {
    const text = await outbox.metrics.registry.metrics()
    return Object.fromEntries(
      [...text.matchAll(/^wildduck_(webhook_\w+|event_\w+)(?:{[^}]*})? (\S+)$/gm)].map(match => [
        match[1],
        Number(match[2]),
      ]),
    )
  }
  hook.behave((_call, response) => void response.writeHead(500).end())
  await outbox.subscribe(hook.url)
  await outbox.emit([...changed(someUser())])
  await until('a failure', async () => (await failures()).includes('status'))
  const first = await figures()
  expect(first).toMatchObject({ webhook_dead: 0, webhook_paused: 0, event_lag: 0, event_lag_seconds: 0 })
  await outbox.webhooks.close()
  pass(limits.webhook.retryMs * 20)
  const later = await figures()
  expect(later.webhook_oldest_seconds).toBeGreaterThan(0)
})
