import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { signature } from '#jobs/webhooks/call.ts'
import { limits } from '#lib/limits.ts'
import { openSubscriber, type Subscriber, someUser, until } from '../../../jobs/outbox.ts'
import { useTeal } from '../../../running.ts'

const running = useTeal({ network: { allowPrivate: ['127.0.0.0/8'] }, webhooks: { timeout: '500ms' } })
const { call, raw, user } = running

let hook: Subscriber

beforeEach(async () => {
  hook = await openSubscriber()
})

afterEach(async () => {
  for (const { id } of (await call('GET', '/webhooks?limit=250')).body.results) await call('DELETE', `/webhooks/${id}`)
  await hook.close()
})

async function subscribe(form: Record<string, unknown> = {}): Promise<string> {
  const { status, body } = await call('POST', '/webhooks', { type: ['*'], url: hook.url, ...form })
  expect(body).toEqual({ success: true, id: expect.stringMatching(/^[0-9a-f]{24}$/) })
  expect(status).toBe(200)
  return body.id
}

describe('subscriptions', () => {
  test('are made, listed as the reference does, shown with their state, and deleted', async () => {
    const owner = await user('owner')
    const id = await subscribe({
      type: [' User.Created ', 'mailbox.*'],
      user: owner.toUpperCase(),
      secret: 'x'.repeat(16),
    })
    const shown = {
      id,
      type: ['user.created', 'mailbox.*'],
      user: owner,
      url: hook.url,
      created: expect.stringMatching(/^\d{4}-.*Z$/),
    }
    const list = await call('GET', '/webhooks')
    const page = { success: true, total: 1, page: 1, previousCursor: false, nextCursor: false, results: [shown] }
    expect(list.body).toEqual({ ...page, user: null })
    const one = await call('GET', `/webhooks/${id}`)
    const deliveries = { waiting: 0, retrying: 0, dead: 0 }
    expect(one.body).toEqual({ success: true, ...shown, signed: true, paused: false, failures: 0, deliveries })
    expect((await call('DELETE', `/webhooks/${id}`)).body).toEqual({ success: true })
    const again = await call('DELETE', `/webhooks/${id}`)
    expect([again.status, again.body.code]).toEqual([404, 'WebhookNotFound'])
    expect((await call('GET', `/webhooks/${id}`)).status).toBe(404)
  })

  test('are filtered by exact type and by user, and paged by id', async () => {
    const owner = await user('filtered')
    const ids = [await subscribe({ type: ['a.*'] }), await subscribe({ user: owner }), await subscribe({ type: [] })]
    const found = async (query: string) => (await call('GET', `/webhooks?${query}`)).body
    expect((await found('type=a.*')).results.map((one: { id: string }) => one.id)).toEqual([ids[0]])
    expect(await found(`user=${owner}`)).toMatchObject({ user: owner, total: 1, results: [{ id: ids[1] }] })
    const first = await found('limit=2')
    expect(first).toMatchObject({ total: 3, page: 1, results: [{ id: ids[0] }, { id: ids[1] }] })
    const second = await found(`limit=2&next=${first.nextCursor}`)
    expect(second).toMatchObject({ page: 2, results: [{ id: ids[2] }], nextCursor: false })
    const back = await found(`limit=2&previous=${second.previousCursor}`)
    expect(back).toMatchObject({ page: 1, results: [{ id: ids[0] }, { id: ids[1] }], previousCursor: false })
  })

  test.each([
    [{ url: 'http://example.com/' }, 'type'],
    [{ type: ['*'] }, 'url'],
    [{ type: ['*'], url: 'ftp://example.com/' }, 'url'],
    [{ type: ['*'], url: 'http://' }, 'url'],
    [{ type: ['x'.repeat(129)], url: 'http://example.com/' }, 'type,0'],
    [{ type: ['*'], url: 'http://example.com/', user: 'me' }, 'user'],
    [{ type: ['*'], url: 'http://example.com/', secret: 'short' }, 'secret'],
    [{ type: ['*'], url: 'http://example.com/', secret: 'whsec_not base64 at all' }, 'secret'],
  ])('%j is refused for its %s', async (form, field) => {
    const { status, body } = await call('POST', '/webhooks', form)
    expect([status, body.code, Object.keys(body.details)]).toEqual([400, 'InputValidationError', [field]])
  })

  test('of a user who is not there are refused, and every kind of target is taken', async () => {
    const nobody = await call('POST', '/webhooks', { type: ['*'], url: hook.url, user: someUser() })
    expect([nobody.status, nobody.body.code]).toEqual([404, 'UserNotFound'])
    for (const url of ['http://a.example/', 'https://a.example/', 'smtp://a.example', 'smtps://u:p@a.example/b@c.d']) {
      await subscribe({ url, type: [] })
    }
  })
})

describe('deliveries', () => {
  test('follow real changes, signed, and nobody else hears of them', async () => {
    await subscribe({ secret: 'a secret of some length'.replaceAll(' ', '-') })
    const id = await user('heard')
    await until('the event', () => hook.taken.length > 0)
    const [first] = hook.taken
    expect(first?.body).toMatchObject({ ev: 'user.created', user: id, username: 'heard', address: 'heard@example.com' })
    const { 'webhook-id': own = '', 'webhook-timestamp': at = '' } = first?.headers ?? {}
    const expected = signature('a-secret-of-some-length', String(own), String(at), first?.text ?? '')
    expect(first?.headers['webhook-signature']).toBe(expected)
  })

  test('that failed are shown with their state and last answer', async () => {
    hook.behave((_call, response) => void response.writeHead(503).end())
    const id = await subscribe()
    const owner = await user('failing')
    await until('the call', () => hook.calls.length > 0)
    const list = async (query = '') => (await call('GET', `/webhooks/${id}/deliveries${query}`)).body
    let shown = await list('?state=retrying')
    for (let tries = 0; shown.results[0]?.status === undefined; tries++) {
      expect(tries).toBeLessThan(500)
      shown = await list('?state=retrying')
    }
    const { total, results } = shown
    expect(results).toHaveLength(total)
    expect(results[0]).toEqual({
      id: hook.calls[0]?.body.id,
      event: 'user.created',
      created: expect.any(String),
      state: 'retrying',
      // On a busy machine it may have been tried again meanwhile.
      attempts: expect.any(Number),
      lastAttempt: expect.any(String),
      nextAttempt: expect.any(String),
      failure: 'status',
      status: 503,
    })
    expect(Date.parse(results[0].nextAttempt) - Date.parse(results[0].lastAttempt)).toBeLessThan(30_000)
    expect(owner).toBe(hook.calls[0]?.body.user)
    const replayed = await call('POST', `/webhooks/${id}/deliveries/${results[0].id}/replay`)
    expect([replayed.status, replayed.body.code]).toEqual([404, 'DeliveryNotFound'])
    expect((await call('POST', `/webhooks/${id}/replay`)).body).toEqual({ success: true, replayed: 0 })
    expect((await list('?state=dead')).total).toBe(0)
    expect((await call('GET', `/webhooks/${id}/deliveries?state=lost`)).status).toBe(400)
  })

  test('may be resumed while they run, and not where there are none', async () => {
    hook.behave((_call, response) => void response.writeHead(500).end())
    const id = await subscribe()
    await user('resumed')
    await until('the call', () => hook.calls.length > 0)
    hook.heal()
    expect((await call('POST', `/webhooks/${id}/resume`)).body).toEqual({ success: true })
    expect((await call('POST', `/webhooks/${someUser()}/resume`)).status).toBe(404)
  })

  test('are signed with a new secret from the next one on', async () => {
    const id = await subscribe()
    const made = await call('PUT', `/webhooks/${id}/secret`)
    expect(made.body.secret).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/)
    await user('signed')
    await until('the call', () => hook.calls.length > 0)
    expect(hook.calls[0]?.headers['webhook-signature']).toMatch(/^v1,/)
    expect((await call('DELETE', `/webhooks/${id}/secret`)).body).toEqual({ success: true })
    expect((await call('GET', `/webhooks/${id}`)).body.signed).toBe(false)
    expect((await call('PUT', `/webhooks/${someUser()}/secret`)).status).toBe(404)
  })
})

test('the documentation has a page for every event', async () => {
  const { body } = await call('GET', '/openapi.json')
  expect(Object.keys(body.webhooks)).toContain('user.delete.completed')
  expect(JSON.stringify(body.webhooks['message.received'])).toContain('addition')
})

test('the metrics tell how deliveries are doing', async () => {
  const text = await (await raw('GET', '/metrics')).text()
  for (const name of ['webhook_oldest_seconds', 'webhook_dead', 'webhook_paused', 'event_lag', 'event_lag_seconds']) {
    expect(text).toMatch(new RegExp(`^wildduck_${name} \\d`, 'm'))
  }
})

test('secrets lie sealed in the store', async () => {
  const secret = 'x'.repeat(20)
  await subscribe({ secret })
  const id = await subscribe({})
  await call('PUT', `/webhooks/${id}/secret`, { secret })
  const rows = await running.teal.core.read.all<{ secret: string }>('SELECT secret FROM webhook')
  expect(rows.map(row => row.secret.slice(0, 18))).toEqual(['$wd01$aes-256-gcm$', '$wd01$aes-256-gcm$'])
  expect(running.teal.core.webhooks.subscriptions.all.map(one => one.secret)).toEqual([secret, secret])
})

test('there is an end to how many there may be', async () => {
  const most = limits.webhook as { subscriptionsMax: number }
  const { subscriptionsMax } = most
  most.subscriptionsMax = 1
  try {
    await subscribe()
    const { status, body } = await call('POST', '/webhooks', { type: ['*'], url: hook.url })
    expect([status, body.code]).toEqual([403, 'TooManyWebhooks'])
  } finally {
    most.subscriptionsMax = subscriptionsMax
  }
})
