// Health, metrics and documentation.

import Type from 'typebox'
import { afterEach, describe, expect, test } from 'vitest'
import { documentationEndpoints } from '#http/api/service/documentation.ts'
import { healthEndpoints } from '#http/api/service/health.ts'
import { metricsEndpoints } from '#http/api/service/metrics.ts'
import { makeOpenapi } from '#http/document/openapi.ts'
import { makeLog } from '#lib/log.ts'
import { endpoint } from '../../src/http/endpoint.ts'
import { bool, id, int, list, object, optional, text, userId } from '../../src/http/schema.ts'
import { type Front, startFront } from './front.ts'
import { run, send } from './scenario.ts'

let front: Front | undefined
afterEach(() => front?.close())

const log = makeLog('silent')

describe('GET /health', () => {
  const names = ['storePing', 'storeWrite', 'cachePing', 'cacheWrite'] as const
  let order: string[] = []

  function checks(failing: string | null, how: 'rejects' | 'hangs' | 'throws' = 'rejects') {
    order = []
    const check = (name: string) => (): Promise<unknown> => {
      order.push(name)
      if (name !== failing) return Promise.resolve()
      if (how === 'throws') throw new Error('secret reason')
      return how === 'hangs' ? new Promise(() => undefined) : Promise.reject(new Error('secret reason'))
    }
    const [storePing, storeWrite, cachePing, cacheWrite] = names.map(check)
    return { storePing, storeWrite, cachePing, cacheWrite } as Record<(typeof names)[number], () => Promise<unknown>>
  }

  test('all is well: four checks in order, exactly two keys', async () => {
    front = await startFront(healthEndpoints({ version: '1.2.3', log, ...checks(null) }))
    const reply = await run(front, { name: '', url: '/health?anything=goes', status: 200 })
    expect(reply.json).toEqual({ success: true, version: '1.2.3' })
    expect(order).toEqual(names)
  })

  test.each(names.flatMap(name => (['rejects', 'hangs', 'throws'] as const).map(how => [name, how] as const)))(
    '%s %s',
    async (name, how) => {
      front = await startFront(healthEndpoints({ version: '1.2.3', log, checkMs: 20, ...checks(name, how) }))
      const reply = await run(front, { name: '', url: '/health', status: 500, lacks: ['secret'] })
      expect(Object.keys(reply.json)).toEqual(['success', 'version', 'message'])
      expect(reply.json).toMatchObject({ success: false, version: '1.2.3' })
      expect(order).toEqual(names.slice(0, names.indexOf(name) + 1))
    },
  )

  test('the four messages differ', async () => {
    const messages = new Set<unknown>()
    for (const name of names) {
      front = await startFront(healthEndpoints({ version: '1', log, ...checks(name) }))
      messages.add((await run(front, { name: '', url: '/health', status: 500 })).json.message)
      await front.close()
    }
    expect(messages.size).toBe(4)
  })

  test('needs a token, of any role', async () => {
    front = await startFront(healthEndpoints({ version: '1', log, ...checks(null) }))
    await run(front, { name: '', url: '/health', token: null, status: 403 })
    await run(front, { name: '', url: '/health', token: 'downloader', status: 200 })
  })

  test('calls at the same time share one round', async () => {
    front = await startFront(healthEndpoints({ version: '1', log, checkMs: 50, ...checks('cacheWrite', 'hangs') }))
    const target = front
    const replies = await Promise.all(
      Array.from({ length: 5 }, () => send(target, 'GET', '/health', undefined, { 'x-access-token': 'root' })),
    )
    expect(replies.map(reply => reply.status)).toEqual([500, 500, 500, 500, 500])
    expect(order.length).toBeLessThan(5 * names.length)
  })
})

describe('GET /metrics', () => {
  test('is not there unless enabled', () => {
    expect(
      metricsEndpoints({
        registry: { metrics: async () => '', contentType: 'text/plain' as never },
        enabled: false,
        public: true,
        log,
      }),
    ).toEqual([])
  })

  test('shows the requests before it, without a token', async () => {
    let registry: { metrics(): Promise<string>; contentType: string } | null = null
    const lazy = {
      metrics: async () => (await registry?.metrics()) ?? '',
      contentType: 'text/plain; version=0.0.4; charset=utf-8' as never,
    }
    const ok = async () => undefined
    const health = healthEndpoints({ version: '1', log, storePing: ok, storeWrite: ok, cachePing: ok, cacheWrite: ok })
    front = await startFront([...health, ...metricsEndpoints({ registry: lazy, enabled: true, public: true, log })])
    registry = front.metrics.registry
    await run(front, { name: '', url: '/health', status: 200 })
    await run(front, {
      name: '',
      url: '/metrics',
      token: null,
      status: 200,
      header: { 'content-type': /^text\/plain/ },
      has: ['# HELP wildduck_info', 'wildduck_info{version="', 'wildduck_api_requests_total', 'route="/health"'],
    })
  })

  test('a collector that fails', async () => {
    const registry = { metrics: () => Promise.reject(new Error('secret')), contentType: 'text/plain' as never }
    front = await startFront(metricsEndpoints({ registry, enabled: true, public: true, log }))
    await run(front, {
      name: '',
      url: '/metrics',
      token: null,
      status: 500,
      header: { 'content-type': /^text\/plain/ },
      lacks: ['secret'],
    })
  })
})

const sample = [
  endpoint({
    method: 'PUT',
    path: '/users/:user/things/:thing',
    tag: 'Things',
    summary: 'Change a thing',
    description: 'With `care`.',
    allow: 'users.update',
    params: { user: userId, thing: id() },
    query: { deep: bool({ default: false }) },
    body: {
      name: text({ max: 5, description: 'Its name' }),
      more: optional(object({ a: int({ default: 1 }), b: list(text(), { max: 2 }) })),
    },
    reply: { id: id(), note: Type.Optional(Type.String()) },
    faults: ['UserNotFound', 'OverQuotaError'],
    headers: ['if-match'],
    run: ({ input }) => ({ id: input.thing }),
  }),
  endpoint({
    method: 'POST',
    path: '/upload',
    tag: 'Things',
    summary: 'Send',
    allow: null,
    bodyKind: 'raw',
    run: () => undefined,
  }),
]
const events = { 'thing.changed': { summary: 'A thing has changed', fields: { thing: id(), was: optional(text()) } } }

describe('the document', () => {
  const document = JSON.parse(JSON.stringify(makeOpenapi({ endpoints: sample, version: '9', events }))) as {
    openapi: string
    paths: Record<string, Record<string, Operation>>
    webhooks: Record<string, { post: Operation }>
  }
  interface Operation {
    parameters: { in: string; name: string; required?: boolean; schema: object }[]
    requestBody: {
      required: boolean
      content: Record<string, { schema: { required?: string[]; properties: Record<string, object> } }>
    }
    responses: Record<string, { description: string; content: Record<string, { schema: object }> }>
    operationId: string
  }
  const put = document.paths['/users/{user}/things/{thing}']?.put

  test('has parameters of path, query and headers', () => {
    expect(document.openapi).toBe('3.1.0')
    expect(put?.parameters.map(one => `${one.in} ${one.name}${one.required === true ? ' required' : ''}`)).toEqual([
      'path user required',
      'path thing required',
      'query deep',
      'query sess',
      'query ip',
      'header if-match',
    ])
  })

  test('has the body, where a default makes a field optional', () => {
    const schema = put?.requestBody.content['application/json']?.schema
    expect(schema?.required).toEqual(['name'])
    expect(schema?.properties.name).toEqual({ type: 'string', maxLength: 5, description: 'Its name' })
    expect(schema?.properties.more).toMatchObject({
      required: ['b'],
      properties: { a: { type: 'integer', default: 1 } },
    })
    expect(Object.keys(document.paths['/upload']?.post?.requestBody.content ?? {})).toEqual(['*/*'])
  })

  test('has the answer and every fault by its status', () => {
    expect(put?.responses['200']?.content['application/json']?.schema).toMatchObject({
      properties: { success: { const: true }, id: { type: 'string' } },
      required: ['success', 'id'],
    })
    expect(put?.responses['404']?.description).toContain('`UserNotFound`')
    expect(put?.responses['400']?.description).toMatch(/InputValidationError[\s\S]*OverQuotaError/)
    expect(Object.keys(put?.responses ?? {})).toEqual(['200', '400', '403', '404', '408', '413', '415', '500', '503'])
  })

  test('has events', () => {
    const schema = document.webhooks['thing.changed']?.post.requestBody.content['application/json']?.schema
    expect(schema).toMatchObject({
      required: ['id', 'ev', 'time', 'thing'],
      properties: { ev: { const: 'thing.changed' } },
    })
  })

  test('every operation has a name of its own', () => {
    const names = Object.values(document.paths).flatMap(methods => Object.values(methods).map(one => one.operationId))
    expect(new Set(names).size).toBe(names.length)
  })
})

test('the document and its page are served without a token and load nothing from elsewhere', async () => {
  front = await startFront([...sample, ...documentationEndpoints(sample, { version: '9', events })])
  const json = await run(front, {
    name: '',
    url: '/openapi.json',
    token: null,
    status: 200,
    header: { 'content-type': /^application\/json/ },
  })
  expect(json.json).toMatchObject({
    info: { version: '9' },
    paths: { '/openapi.json': { get: {} }, '/upload': { post: {} } },
  })
  for (const url of ['/docs']) {
    const page = await run(front, {
      name: '',
      url,
      token: null,
      status: 200,
      header: { 'content-security-policy': /default-src 'none'/ },
    })
    const links = [...page.text.matchAll(/(?:src|href)="([^"]*)"/g)].map(match => match[1] ?? '')
    expect(links.filter(link => !/^([/#]|data:)/.test(link))).toEqual([])
    for (const link of links.filter(one => one.startsWith('/docs/')))
      await run(front, { name: '', url: link, token: null, status: 200 })
  }
})
