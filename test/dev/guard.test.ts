// Which names mean this machine: on loopback those that always do, elsewhere names of containers, too.

import { expect, test } from 'vitest'
import { refusal } from '#dev/guard.ts'

const ask = (host: string | undefined, bare: boolean, names: string[] = []) =>
  refusal(
    { method: 'GET', path: '/dev/v1/mails', host, origin: undefined, site: undefined, mode: undefined },
    { bare, names: new Set(names) },
  )

test.each(['mail', 'mail:8025', 'teal_dev'])('%s is the name of a container, and of nothing on loopback', host => {
  expect(ask(host, true)).toBeUndefined()
  expect(ask(host, false)).toContain('--allow-host')
})

test.each([undefined, '', 'mail.example', 'evil.example.:80', '127.0.0.1@evil.example', '1.2.3.4.evil', 'localhost\t'])(
  '%j is no name of this machine anywhere',
  host => {
    expect(ask(host, true)).toBeDefined()
    expect(ask(host, false)).toBeDefined()
  },
)

test('a name that was added is', () => {
  expect(ask('Mail.Example:8025', false, ['mail.example'])).toBeUndefined()
})

test('an origin is that of the page itself, port and all', () => {
  const asking = { method: 'POST', path: '/', host: 'localhost:8025', site: undefined, mode: undefined }
  const rules = { bare: false, names: new Set<string>() }
  expect(refusal({ ...asking, origin: 'http://localhost:8025' }, rules)).toBeUndefined()
  for (const origin of ['http://localhost:3000', 'https://localhost:8025', 'http://127.0.0.1:8025', 'null', ''])
    expect(refusal({ ...asking, origin }, rules)).toBeDefined()
})
