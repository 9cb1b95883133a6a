// The order of one request: route, caller, body, validation, grant, run, answer; and the one shape of every refusal.

import Type from 'typebox'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { Fault } from '#lib/fault.ts'
import { limits } from '#lib/limits.ts'
import { binary, json } from '../../src/http/answer.ts'
import { endpoint } from '../../src/http/endpoint.ts'
import { bool, content, id, int, object, optional, text, userId } from '../../src/http/schema.ts'
import { alice, bob, type Front, startFront } from './front.ts'
import { run, scenarios, send, sendBytes } from './scenario.ts'

const endpoints = [
  endpoint({
    method: 'GET',
    path: '/users/:user',
    tag: 'Users',
    summary: 'Show a user',
    allow: 'users.read',
    params: { user: userId },
    query: { flag: bool({ default: false }), limit: int({ min: 1, max: 250, default: 20 }) },
    reply: { id: id(), flag: Type.Boolean(), limit: Type.Integer(), tags: Type.Optional(Type.Array(Type.String())) },
    run: ({ input }) => ({ id: input.user, flag: input.flag, limit: input.limit, tags: ['secret'] }),
  }),
  endpoint({
    method: 'PUT',
    path: '/users/:user',
    tag: 'Users',
    summary: 'Change a user',
    allow: 'users.update',
    filterInput: true,
    params: { user: userId },
    body: {
      name: optional(text({ max: 20 })),
      quota: optional(int()),
      query: optional(object({ from: text({ max: 3 }) })),
    },
    reply: { input: Type.Record(Type.String(), Type.Unknown()) },
    run: async ({ input }) => ({ input }),
  }),
  endpoint({
    method: 'DELETE',
    path: '/users/:user',
    tag: 'Users',
    summary: 'Delete a user',
    allow: 'users.delete',
    params: { user: userId },
    run: () => undefined,
  }),
  endpoint({
    method: 'GET',
    path: '/users',
    tag: 'Users',
    summary: 'List users',
    allow: 'userlisting.read',
    listing: true,
    reply: { only: Type.Union([Type.String(), Type.Null()]), results: Type.Array(Type.Unknown()) },
    run: ({ onlyUser }) => ({ only: onlyUser, results: [{ id: 1, tags: ['x'], internalData: {} }] }),
  }),
  endpoint({
    method: 'POST',
    path: '/preauth',
    tag: 'Authentication',
    summary: 'For any user',
    allow: 'authentication.create',
    filterInput: true,
    body: { token: optional(bool()), file: optional(content(100)) },
    reply: { token: Type.Optional(Type.Unknown()), file: Type.Optional(Type.Unknown()) },
    run: ({ input }) => ({ token: input.token, file: input.file?.toString() }),
  }),
  endpoint({
    method: 'POST',
    path: '/users/:user/storage',
    tag: 'Storage',
    summary: 'Upload',
    allow: 'storage.create',
    params: { user: userId },
    query: { filename: optional(text()) },
    body: { content: optional(content(1000)) },
    bodyKind: 'upload',
    bodyBytesMax: 300_000,
    reply: { raw: Type.Boolean(), size: Type.Integer(), filename: Type.Optional(Type.String()) },
    async run({ input, request }) {
      const bytes = request.raw ? await request.body() : Buffer.from(input.content ?? '')
      return { raw: request.raw, size: bytes.length, filename: input.filename }
    },
  }),
  endpoint({
    method: 'POST',
    path: '/faults/:code',
    tag: 'Test',
    summary: 'Fail',
    allow: null,
    open: true,
    params: { code: text() },
    faults: ['OverQuotaError'],
    async run({ input }) {
      if (input.code === 'quota') throw new Fault('OverQuotaError', { extra: { allowed: 7 }, retryAfter: 2.5 })
      if (input.code === 'undeclared') throw new Fault('AliasLike' as never)
      if (input.code === 'soon') throw new Fault('UserNotFound')
      throw new Error('the secret of the house')
    },
  }),
  endpoint({
    method: 'GET',
    path: '/open',
    tag: 'Test',
    summary: 'No token looked at',
    allow: 'public',
    open: true,
    headers: ['x-color'],
    reply: { success: Type.Boolean(), color: Type.String(), address: Type.String() },
    async run({ request }) {
      await Promise.resolve()
      return { success: false, color: request.header('x-color'), address: request.address }
    },
  }),
  endpoint({
    method: 'GET',
    path: '/teapot',
    tag: 'Test',
    summary: 'Another status',
    allow: null,
    run: () => json(418, { short: true, stout: undefined }),
  }),
  endpoint({
    method: 'GET',
    path: '/lies',
    tag: 'Test',
    summary: 'Answers what it does not document',
    allow: null,
    reply: { one: Type.Integer() },
    run: () => ({ one: 'two' as unknown as number }),
  }),
  endpoint({
    method: 'GET',
    path: '/mistyped',
    tag: 'Test',
    summary: 'Answers bytes of another type than it documents',
    allow: null,
    replyType: 'text/plain',
    run: () => binary({ headers: { 'content-type': 'text/html' }, body: 'two' }),
  }),
]

let front: Front
beforeAll(async () => {
  front = await startFront(endpoints)
})
afterAll(() => front.close())

describe('answers', () => {
  scenarios(
    () => front,
    [
      {
        name: 'JSON is indented, ends with a line break and says success first',
        url: `/users/${alice}`,
        status: 200,
        header: {
          'content-type': 'application/json; charset=utf-8',
          server: 'Teal',
          'x-content-type-options': 'nosniff',
        },
        after(reply) {
          expect(reply.text).toBe(
            `${JSON.stringify({ success: true, id: alice, flag: false, limit: 20, tags: ['secret'] }, null, 2)}\n`,
          )
          expect(Number(reply.headers.get('content-length'))).toBe(reply.text.length)
        },
      },
      { name: 'no reply fields', method: 'DELETE', url: `/users/${alice}`, status: 200, json: { success: true } },
      { name: 'another status, nothing added', url: '/teapot', status: 418, has: [/^\{\n {2}"short": true\n\}\n$/] },
      {
        name: 'an id in any case comes out lower',
        url: `/users/${alice.toUpperCase()}`,
        status: 200,
        json: { id: alice },
      },
      {
        name: 'a sane request id is kept',
        url: '/teapot',
        headers: { 'x-request-id': 'abc-1' },
        status: 418,
        header: { 'x-request-id': 'abc-1' },
      },
      {
        name: 'a mad request id is not',
        url: '/teapot',
        headers: { 'x-request-id': 'a b"' },
        status: 418,
        header: { 'x-request-id': /^[0-9a-f]{24}$/ },
      },
      {
        name: 'an answer that is not as documented is an error in strict mode',
        url: '/lies',
        status: 500,
        lacks: ['two', 'documented'],
      },
      { name: 'so is one of bytes of another type', url: '/mistyped', status: 500, lacks: ['two', 'html'] },
      {
        name: 'no token is needed where none is looked at',
        url: '/open?accessToken=bad',
        token: null,
        headers: { 'x-color': 'blue' },
        status: 200,
        json: { success: false, color: 'blue', address: '127.0.0.1' },
      },
    ],
  )
})

describe('refusals', () => {
  scenarios(
    () => front,
    [
      {
        name: 'unknown path',
        url: '/nowhere',
        token: null,
        status: 404,
        json: { code: 'ResourceNotFound', error: '/nowhere does not exist', message: '/nowhere does not exist' },
      },
      { name: 'trailing slash', url: `/users/${alice}/`, status: 404, json: { code: 'ResourceNotFound' } },
      {
        name: 'a path parameter at its limit',
        url: `/users/${'a'.repeat(196)}`,
        status: 400,
        json: { code: 'InputValidationError' },
      },
      { name: 'a path parameter over its limit', url: `/users/${'a'.repeat(197)}`, status: 404 },
      { name: 'a path that is not percent-encoded UTF-8', url: '/users/%ff', status: 404 },
      {
        name: 'wrong method',
        method: 'PATCH',
        url: `/users/${alice}`,
        token: null,
        status: 405,
        header: { allow: 'GET, PUT, DELETE' },
        json: { code: 'MethodNotAllowed' },
        has: ['message'],
      },
      { name: 'OPTIONS that is no preflight', method: 'OPTIONS', url: '/users', status: 405, header: { allow: 'GET' } },
      {
        name: 'no token',
        url: '/teapot',
        token: null,
        status: 403,
        json: { code: 'InvalidToken' },
        has: ['error', 'message'],
      },
      { name: 'bad token', url: '/teapot', token: 'nobody', status: 403, json: { code: 'InvalidToken' } },
      {
        name: 'a bad token in the query goes before a good one in the header',
        url: '/teapot?accessToken=nobody',
        status: 403,
      },
      { name: 'a token in the query', url: '/teapot?accessToken=alice', token: null, status: 418 },
      { name: 'a bearer token', url: '/teapot', token: null, headers: { authorization: 'bEARER alice' }, status: 418 },
      {
        name: 'an authorization that is no bearer',
        url: '/teapot',
        token: null,
        headers: { authorization: 'Basic YTpi' },
        status: 403,
      },
      {
        name: 'a fault with extras',
        method: 'POST',
        url: '/faults/quota',
        status: 400,
        header: { 'retry-after': '3' },
        json: { code: 'OverQuotaError', allowed: 7 },
        lacks: ['message'],
      },
      { name: 'an undeclared fault is an error in strict mode', method: 'POST', url: '/faults/soon', status: 500 },
      {
        name: 'our own mistake',
        method: 'POST',
        url: '/faults/other',
        headers: { 'x-request-id': 'trace-me' },
        status: 500,
        lacks: ['secret', 'stack'],
        json: { code: 'InternalError', id: 'trace-me' },
        after() {
          const line = front.lines.find(one => one.id === 'trace-me')
          expect(JSON.stringify(line)).toContain('the secret of the house')
        },
      },
    ],
  )

  test('HEAD is not routed and has no body', async () => {
    const received = await sendBytes(front, 'HEAD /users HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n')
    expect(received).toMatch(
      /^HTTP\/1\.1 405 [\s\S]*\r\nAllow: GET\r\n[\s\S]*Content-Length: [1-9]\d*\r\n[^{]*\r\n\r\n$/,
    )
  })

  test('headers over the limit', async () => {
    const long = 'a'.repeat(limits.http.headerBytesMax)
    expect(await sendBytes(front, `GET /users HTTP/1.1\r\nHost: x\r\nX-Long: ${long}\r\n\r\n`)).toMatch(
      /^HTTP\/1\.1 431 /,
    )
    const fine = 'a'.repeat(limits.http.headerBytesMax / 2)
    expect(await sendBytes(front, `GET /teapot HTTP/1.1\r\nHost: x\r\nX-Long: ${fine}\r\n\r\n`)).toMatch(
      /^HTTP\/1\.1 403 /,
    )
  })
})

describe('parameters', () => {
  const put = { method: 'PUT', url: `/users/${alice}` }
  const form = 'application/x-www-form-urlencoded'
  scenarios(
    () => front,
    [
      {
        name: 'every bad field is named',
        ...put,
        url: '/users/zz?flag=maybe',
        body: { name: 'x'.repeat(30), quota: 'many', query: { from: 'toolong', to: 1 }, odd: 1 },
        status: 400,
        after(reply) {
          const details = {
            user: '"user" must only contain hexadecimal characters',
            name: '"name" length must be less than or equal to 20 characters long',
            quota: '"quota" must be a number',
            'query,from': '"query.from" length must be less than or equal to 3 characters long',
            'query,to': '"query.to" is not allowed',
            flag: '"flag" is not allowed',
            odd: '"odd" is not allowed',
          }
          expect(reply.json.code).toBe('InputValidationError')
          expect(reply.json.details).toEqual(details)
          expect(String(reply.json.error).split('. ').sort()).toEqual(Object.values(details).sort())
        },
      },
      {
        name: 'path before query before body',
        ...put,
        url: `/users/${alice}?name=query&user=${bob}`,
        body: { name: 'body', user: bob },
        status: 200,
        json: { input: { user: alice, name: 'query' } },
      },
      {
        name: 'urlencoded',
        ...put,
        headers: { 'content-type': form },
        body: 'name=a+b%C3%B6&query[from]=x',
        status: 200,
        json: { input: { name: 'a bö', query: { from: 'x' } } },
      },
      {
        name: 'sess and ip are always taken',
        url: `/users/${alice}?sess=s&ip=::1&limit=7`,
        status: 200,
        json: { limit: 7 },
      },
      { name: 'an ip that is none', url: `/users/${alice}?ip=1.2.3`, status: 400, has: ['Client IP'] },
      { name: 'no body is no parameters', method: 'PUT', url: `/users/${alice}`, status: 200 },
      { name: 'an empty JSON body', ...put, headers: { 'content-type': 'application/json' }, body: '', status: 200 },
      {
        name: 'bad JSON',
        ...put,
        headers: { 'content-type': 'application/json' },
        body: '{"a":',
        status: 400,
        json: { code: 'InvalidContent' },
        has: ['message'],
      },
      {
        name: 'an array',
        ...put,
        headers: { 'content-type': 'application/json' },
        body: '[]',
        status: 400,
        json: { code: 'InvalidContent' },
      },
      {
        name: 'a prototype in JSON',
        ...put,
        headers: { 'content-type': 'application/json' },
        body: '{"query":{"__proto__":{"from":"x"}}}',
        status: 400,
        json: { code: 'InvalidContent' },
      },
      {
        name: 'a prototype in a form',
        ...put,
        headers: { 'content-type': form },
        body: '__proto__[quota]=1',
        status: 400,
        json: { details: { __proto__: undefined } },
      },
      {
        name: 'JSON that is not UTF-8',
        ...put,
        headers: { 'content-type': 'application/json' },
        body: new Uint8Array([0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d]),
        status: 400,
        json: { code: 'InvalidContent' },
      },
      {
        name: 'JSON too deep',
        ...put,
        headers: { 'content-type': 'application/json' },
        body: `${'{"a":'.repeat(100)}1${'}'.repeat(100)}`,
        status: 400,
        json: { code: 'InvalidContent' },
      },
      {
        name: 'another type',
        ...put,
        headers: { 'content-type': 'image/png' },
        body: 'x',
        status: 415,
        json: { code: 'UnsupportedMediaType' },
      },
      {
        name: 'a compressed body',
        ...put,
        headers: { 'content-type': 'application/json', 'content-encoding': 'gzip' },
        body: '{}',
        status: 415,
      },
      {
        name: 'a body over its cap',
        ...put,
        headers: { 'content-type': 'application/json' },
        body: ' '.repeat(limits.http.bodyBytesMax + 1),
        status: 413,
        json: { code: 'BodyTooLarge' },
      },
      {
        name: 'a body of which much is not sent yet',
        ...put,
        headers: { 'content-type': 'application/json' },
        body: ' '.repeat(limits.http.uploadBytesMax),
        status: 413,
        json: { code: 'BodyTooLarge' },
      },
      {
        name: 'too many parameters',
        url: `/users/${alice}?${'a&'.repeat(limits.http.keysMax + 1)}`,
        status: 400,
        json: { code: 'InvalidContent' },
      },
      {
        name: 'a query that is not UTF-8',
        url: `/users/${alice}?flag=%ff`,
        status: 400,
        json: { code: 'InvalidContent' },
      },
    ],
  )

  test('multipart: text fields merged, file parts as bytes', async () => {
    const body = new FormData()
    body.set('token', 'yes')
    body.set('file', new Blob([new Uint8Array([104, 105])]), 'a.bin')
    await run(front, {
      name: '',
      method: 'POST',
      url: '/preauth',
      body,
      status: 200,
      json: { token: true, file: 'hi' },
    })
  })

  test('a chunked body over its cap is refused while it arrives', async () => {
    const chunk = `10000\r\n${' '.repeat(0x10000)}\r\n`
    const head =
      'PUT /users/x?accessToken=root HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n'
    expect(await sendBytes(front, head + chunk.repeat(40))).toMatch(/^HTTP\/1\.1 413 /)
  })

  test('calls with chunked bodies that end at once get answers of their own', async () => {
    const names = Array.from({ length: 20 }, (_, at) => 'x'.repeat(at + 1))
    const calls = names.map(name => {
      const body = JSON.stringify({ name })
      const head = `PUT /users/${alice}?accessToken=root HTTP/1.1\r\nHost: x\r\nContent-Type: application/json`
      const chunk = `${body.length.toString(16)}\r\n${body}\r\n0\r\n\r\n`
      return sendBytes(front, `${head}\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n${chunk}`)
    })
    const answers = (await Promise.all(calls)).map(answer => answer.slice(answer.indexOf('\r\n\r\n')))
    expect(answers.map(answer => JSON.parse(answer).input.name)).toEqual(names)
  })

  test('a connection goes on after a refused body', async () => {
    const post = `POST /faults/quota HTTP/1.1\r\nHost: x\r\nContent-Length: 100000\r\n\r\n${'x'.repeat(100_000)}`
    const received = await sendBytes(front, `${post}GET /teapot?accessToken=root HTTP/1.1\r\nHost: x\r\n\r\n`)
    expect(received.match(/^HTTP\/1\.1 \d+/gm)).toEqual(['HTTP/1.1 403', 'HTTP/1.1 418'])
  })
})

describe('uploads', () => {
  const post = { method: 'POST', url: `/users/${alice}/storage?filename=a.txt` }
  scenarios(
    () => front,
    [
      {
        name: 'JSON',
        ...post,
        body: { content: 'hello' },
        status: 200,
        json: { raw: false, size: 5, filename: 'a.txt' },
      },
      {
        name: 'raw with a type',
        ...post,
        headers: { 'content-type': 'image/png' },
        body: 'abc',
        status: 200,
        json: { raw: true, size: 3 },
      },
      {
        name: 'raw bytes',
        ...post,
        headers: { 'content-type': 'application/octet-stream' },
        body: new Uint8Array(290_000),
        status: 200,
        json: { raw: true, size: 290_000 },
      },
      {
        name: 'raw over the cap',
        ...post,
        headers: { 'content-type': 'application/octet-stream' },
        body: new Uint8Array(300_001),
        status: 413,
      },
      {
        name: 'no right: refused before the bytes',
        ...post,
        token: 'downloader',
        headers: { 'content-type': 'image/png' },
        body: 'abc',
        status: 403,
        json: { code: 'MissingPrivileges' },
      },
      {
        name: 'bad parameters are named for raw bodies too',
        ...post,
        url: '/users/zz/storage?x=1',
        headers: { 'content-type': 'image/png' },
        body: 'abc',
        status: 400,
        has: ['hexadecimal', '"x'],
      },
    ],
  )
})

describe('access', () => {
  scenarios(
    () => front,
    [
      { name: 'own', url: `/users/${alice}`, token: 'alice', status: 200, lacks: ['secret'] },
      { name: 'me', url: '/users/me', token: 'alice', status: 200, json: { id: alice } },
      { name: 'me without a user', url: '/users/me', status: 400, json: { code: 'InputValidationError' } },
      {
        name: "somebody else's",
        url: `/users/${bob}`,
        token: 'alice',
        status: 403,
        json: { code: 'MissingPrivileges' },
      },
      { name: 'validation before privileges', url: '/users/zz', token: 'downloader', status: 400 },
      {
        name: 'no grant',
        url: `/users/${alice}`,
        token: 'downloader',
        status: 403,
        json: { code: 'MissingPrivileges' },
      },
      { name: 'any valid token', url: '/teapot', token: 'downloader', status: 418 },
      { name: 'own grant where any is needed', method: 'POST', url: '/preauth', token: 'alice', status: 403 },
      {
        name: 'a listing is limited to the caller',
        url: '/users',
        token: 'alice',
        status: 200,
        json: { only: alice, results: [{ id: 1 }] },
        lacks: ['tags', 'internalData'],
      },
      { name: 'a listing of all', url: '/users', status: 200, json: { only: null }, has: ['tags'] },
      {
        name: 'fields that may not be changed are dropped',
        method: 'PUT',
        url: '/users/me',
        token: 'alice',
        body: { name: 'A', quota: 5 },
        status: 200,
        json: { input: { name: 'A', user: alice } },
        lacks: ['quota'],
      },
      {
        name: 'a field dropped on the way in',
        method: 'POST',
        url: '/preauth',
        token: 'auth',
        body: { token: true },
        status: 200,
        lacks: ['token'],
      },
    ],
  )
})

test('requests are counted by template', async () => {
  await send(front, 'GET', `/users/${alice}`, undefined, { 'x-access-token': 'root' })
  await send(front, 'GET', '/no/such/path')
  await sendBytes(front, 'BREW /x HTTP/1.1\r\nHost: x\r\n\r\n')
  const text = await front.metrics.registry.metrics()
  expect(text).toMatch(/wildduck_api_requests_total\{method="GET",route="\/users\/:user",status="200"\} \d/)
  expect(text).toMatch(/wildduck_api_requests_total\{method="GET",route="unknown",status="404"\} \d/)
  expect(text).toMatch(/wildduck_api_requests_total\{method="other",route="unknown",status="404"\} 1/)
})

describe('CORS', () => {
  const origin = 'https://app.example'
  scenarios(
    () => front,
    [
      {
        name: 'an answer to another origin',
        url: '/teapot',
        headers: { origin },
        status: 418,
        header: { 'access-control-allow-origin': origin, vary: /^origin/ },
      },
      {
        name: 'a refusal too',
        url: '/nowhere',
        headers: { origin },
        status: 404,
        header: { 'access-control-allow-origin': origin },
      },
      { name: 'none without an origin', url: '/teapot', status: 418, header: { 'access-control-allow-origin': null } },
    ],
  )

  const preflight = (asked: string) =>
    `OPTIONS /users/1 HTTP/1.1\r\nHost: x\r\nOrigin: ${asked}\r\nAccess-Control-Request-Method: PUT\r\n\r\n`

  test('preflight', async () => {
    const received = await sendBytes(front, preflight(origin))
    expect(received).toMatch(/^HTTP\/1\.1 204 No Content\r\n/)
    expect(received).toContain('Access-Control-Allow-Methods: PUT,OPTIONS\r\n')
    expect(received).toContain('Access-Control-Allow-Credentials: true\r\n')
    expect(received).toContain(`Access-Control-Allow-Origin: ${origin}\r\n`)
    expect(received).toContain('Access-Control-Allow-Headers: X-Access-Token,Authorization,')
  })

  test('only origins that are configured', async () => {
    const strict = await startFront(endpoints, { origins: ['https://only.example'] })
    expect(await sendBytes(strict, preflight(origin))).toMatch(/^HTTP\/1\.1 405 /)
    expect(await sendBytes(strict, preflight('https://only.example'))).toMatch(/^HTTP\/1\.1 204 /)
    await strict.close()
  })
})
