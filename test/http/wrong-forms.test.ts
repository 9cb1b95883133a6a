// What the page recognises of what is wrong with a field, to say it in its own language, is what the service says: each form is had over the
// wire, and is the first that fits.

import { expect, test } from 'vitest'
import { wrongForms } from '../../web/base/wrong-forms.ts'
import { useTeal } from '../running.ts'

const service = useTeal()

type Form = keyof typeof wrongForms
type Asked = readonly [form: Form, field: string, method: string, path: string, body?: unknown]

const long = (length: number) => 'x'.repeat(length)

/** `:user` is one that there is. */
const asked: readonly Asked[] = [
  ['required', 'username', 'POST', '/users', { password: 'secret enough' }],
  ['tooShort', 'token', 'POST', '/users/:user/2fa/totp/check', { token: '1' }],
  ['tooLong', 'name', 'PUT', '/users/:user', { name: long(300) }],
  [
    'tooLong',
    'query,subject',
    'POST',
    '/users/:user/filters',
    { query: { subject: `/${long(5000)}/` }, action: { seen: true } },
  ],
  ['notAsLong', 'user', 'GET', '/users/abc'],
  ['notBetween', 'userHandle', 'POST', '/session/passkey', { userHandle: 'a' }],
  ['noNumber', 'quota', 'PUT', '/users/:user', { quota: 'much' }],
  ['noNumber', 'quota', 'PUT', '/users/:user', { quota: 2 ** 60 }],
  ['notWhole', 'value', 'POST', '/settings/const:max:storage', { value: 'x' }],
  ['tooSmall', 'quota', 'PUT', '/users/:user', { quota: -1 }],
  ['tooLarge', 'spamLevel', 'PUT', '/users/:user', { spamLevel: 500 }],
  ['tooManyBytes', 'metaData', 'PUT', '/users/:user', { metaData: { a: long(1_100_000) } }],
  ['tooMany', 'tags', 'PUT', '/users/:user', { tags: Array.from({ length: 5000 }, (_, at) => `t${at}`) }],
  ['noAddress', 'address', 'POST', '/users/:user/addresses', { address: 'x' }],
  ['noAddress', 'address', 'POST', '/users/:user/suppressions', { address: 'x' }],
  ['noUrl', 'url', 'POST', '/webhooks', { type: ['*'], url: 'x' }],
  ['noTarget', 'targets,0', 'PUT', '/users/:user', { targets: ['nonsense'] }],
  ['noHost', 'servername', 'POST', '/certs', { servername: '-- x', privateKey: 'x', cert: 'x' }],
  ['noNetworkAddress', 'ip', 'POST', '/authenticate', { username: 'x', password: 'secret', ip: 'zzz' }],
  ['noDate', 'start', 'PUT', '/users/:user/autoreply', { start: 'soon' }],
  ['past', 'until', 'POST', '/users/:user/suppressions', { address: 'a@example.com', until: '2000-01-01T00:00:00Z' }],
  ['wrongOrder', 'end', 'POST', '/users/:user/archived/restore', { start: '2020-01-02', end: '2020-01-01' }],
  ['wrongOrder', 'from', 'GET', '/figures?from=2020-01-02&to=2020-01-01'],
  ['wrongSigns', 'username', 'POST', '/users', { username: 'a b', password: 'secret enough' }],
  [
    'noExpression',
    'query,subject',
    'POST',
    '/users/:user/filters',
    { query: { subject: '/(/' }, action: { seen: true } },
  ],
  ['notOffered', 'smimeCipher', 'PUT', '/users/:user', { smimeCipher: 'x' }],
]

test('each form that the page recognises is said by the service', async () => {
  const user = await service.user('anna')
  for (const [form, field, method, path, body] of asked) {
    const answer = await service.call(method, path.replace(':user', user), body)
    expect([form, answer.body.code], JSON.stringify(answer.body)).toEqual([form, 'InputValidationError'])
    const said: string = answer.body.details[field] ?? ''
    const first = Object.entries(wrongForms).find(([, pattern]) => pattern.test(said))?.[0]
    expect([first, said]).toEqual([form, said])
  }
  expect([...new Set(asked.map(([form]) => form))].sort()).toEqual(Object.keys(wrongForms).sort())
})
