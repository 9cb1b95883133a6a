// Texts as strangers write them, whatever call they are for: half characters, and URIs with line ends in them.

import { expect, test } from 'vitest'
import { useTeal } from '../../running.ts'

const service = useTeal()

const half = 'half \ud83d of it'
const whole = 'half \ufffd of it'

test('half a surrogate pair is taken as the sign for what cannot be read, everywhere the same', async () => {
  const id = await service.user('halves', { name: half, tags: [half] })
  expect((await service.call('GET', `/users/${id}`)).body).toMatchObject({ name: whole, tags: [whole] })
  const setup = await service.call('POST', `/users/${id}/2fa/totp/setup`, { issuer: half, label: half })
  expect(setup.body).toMatchObject({ success: true, qrcode: expect.stringMatching(/^data:image\/png;base64,/) })
  const { body: file } = await service.call('POST', `/users/${id}/storage`, { filename: half, content: half })
  const stored = await service.raw('GET', `/users/${id}/storage/${file.id}`)
  expect(stored.headers.get('content-disposition')).toContain(encodeURIComponent(whole))
  const filter = { name: half, query: { subject: half }, action: {} }
  expect((await service.call('POST', `/users/${id}/filters`, filter)).status).toBe(200)
  const { results } = (await service.call('GET', `/users/${id}/filters`)).body
  expect(results[0]).toMatchObject({ name: whole, originalQuery: { subject: whole } })
})

test.each(['https://hook.example.net/\r\nX-More: yes', 'https://hook\t.example.net/', 'https://hook.example.net/a b'])(
  'a URI is taken as it stands or not at all: %j',
  async url => {
    const id = await service.user(`uris${url.length}`)
    expect((await service.call('POST', '/webhooks', { type: ['*'], url })).status).toBe(400)
    expect((await service.call('PUT', `/users/${id}`, { targets: [url] })).status).toBe(400)
    const login = { username: `uris${url.length}`, password: `secret of uris${url.length}` }
    expect((await service.call('POST', '/authenticate', { ...login, appId: url })).status).toBe(400)
    expect((await service.call('POST', '/authenticate', { ...login, appId: url.slice(0, 12) })).status).toBe(200)
  },
)

test('no address is made that looks like another one for what it does not show', async () => {
  const id = await service.user('seen')
  for (const unseen of ['\u200b', '\u200d', '\u00ad', '\u2060', '\u{e0041}', '\u180e']) {
    const address = `se${unseen}en@example.com`
    const details = { address: expect.stringContaining('invisible') }
    for (const [path, form] of [
      [`/users/${id}/addresses`, { address }],
      ['/addresses/forwarded', { address, targets: ['elsewhere@example.net'] }],
      ['/users', { username: `unseen${unseen.codePointAt(0)}`, password: 'a longer secret', address }],
    ] as const) {
      const { status, body } = await service.call('POST', path, form)
      expect([status, body]).toMatchObject([400, { code: 'InputValidationError', details }])
    }
  }
  expect((await service.call('POST', `/users/${id}/addresses`, { address: 'gesehen.ä@example.com' })).status).toBe(200)
})

test('a sentence names an item of a list in one way, whoever found what is wrong with it', async () => {
  const id = await service.user('items')
  const { body } = await service.call('GET', `/users/${id}/mailboxes`)
  const item = { content: 'x', encoding: 'nonsense' }
  for (const [method, path, form, field, named] of [
    ['PUT', `/users/${id}`, { targets: ['nonsense'] }, 'targets,0', 'targets[0]'],
    ['PUT', `/users/${id}`, { smimeCerts: ['nonsense'] }, 'smimeCerts,0', 'smimeCerts[0]'],
    [
      ...([
        'POST',
        `/users/${id}/mailboxes/${body.results[0].id}/messages`,
        { text: 'x', attachments: [item] },
      ] as const),
      ...(['attachments,0,encoding', 'attachments[0].encoding'] as const),
    ],
    [
      ...(['POST', '/addresses/forwarded', { address: 'self@example.com', targets: ['self@example.com'] }] as const),
      ...(['targets,0', 'targets[0]'] as const),
    ],
    [
      ...(['POST', `/users/${id}/filters`, { query: { from: 'x'.repeat(300) }, action: {} }] as const),
      ...(['query,from', 'query.from'] as const),
    ],
  ] as const) {
    const { status, body: said } = await service.call(method, path, form)
    const sentence = expect.stringContaining(`"${named}" `)
    expect([status, said]).toMatchObject([400, { error: sentence, details: { [field]: sentence } }])
  }
})

test('all that is wrong with the form of a call is told at once, before whether the caller may make it', async () => {
  const id = await service.user('gathered')
  const login = { username: 'gathered', password: 'secret of gathered', token: true }
  const { token } = (await service.call('POST', '/authenticate', login)).body
  const long = 'x'.repeat(300)
  for (const [method, path, form, fields] of [
    [
      ...([
        'POST',
        '/users/123/filters',
        { query: { from: long, text: '/(/' }, action: { targets: ['bad'] } },
      ] as const),
      ['action,targets,0', 'query,from', 'query,text', 'user'],
    ],
    ['PUT', `/users/${'a'.repeat(24)}/filters/1`, { query: { subject: long } }, ['filter', 'query,subject']],
    ['POST', '/authenticate', { username: '', password: 'x', appId: 'no uri' }, ['appId', 'username']],
    [
      ...(['POST', `/users/${'a'.repeat(24)}/2fa/webauthn/authentication-challenge`] as const),
      ...([{ origin: 'nowhere', twoFactorNonce: 'z' }, ['origin', 'twoFactorNonce']] as const),
    ],
  ] as const) {
    const { status, body } = await service.call(method, path, form, token)
    expect([status, Object.keys(body.details ?? {}).sort()], JSON.stringify(body)).toEqual([400, fields])
  }
  expect((await service.call('GET', `/users/${id}/filters`)).body.results).toEqual([])
})
