// Secrets by every door they may come through, right, wrong, misplaced or in a command that cannot be read: the log tells of none of them at
// its loudest, no answer repeats one, and no file holds one as it was said.

import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, inject, test } from 'vitest'
import { childEnvironment, runTeal } from '../child.ts'
import { Dialogue } from '../dialogue.ts'
import { useTeal } from '../running.ts'

const root = mkdtempSync(join(tmpdir(), 'teal-secrets-'))
const dataDir = join(root, 'data')
const logFile = join(root, 'teal.log')
const service = useTeal({
  dataDir,
  log: { level: 'trace', file: logFile },
  smtp: { port: 0, greylist: false, dnsServers: ['127.0.0.1:9'] },
  auth: { cleartext: 'always' },
  network: { allowPrivate: ['127.0.0.0/8'] },
})
let user = ''
let totp = ''

beforeAll(async () => {
  user = await service.user('anna', { password: 'right-Hush' })
  const made = await service.call('POST', `/users/${user}/2fa/totp/setup`, { issuer: 'x' })
  totp = made.body.seed
  expect(totp).toMatch(/^[A-Z2-7]+$/)
})
afterAll(() => rmSync(root, { recursive: true, force: true }))

/** One door: what is said there, and what comes back. Secrets are words that end in "Hush". */
type Door = readonly [name: string, say: () => Promise<string>]

const base64 = (text: string) => Buffer.from(text).toString('base64')

const http =
  (method: string, path: string | (() => string), body?: unknown, headers: Record<string, string> = {}) =>
  async () => {
    const init: RequestInit = { method, headers: { 'content-type': 'application/json', ...headers } }
    if (body !== undefined) init.body = typeof body === 'string' ? body : JSON.stringify(body)
    const answer = await service.raw(method, typeof path === 'string' ? path : path(), init)
    return `${answer.status} ${JSON.stringify([...answer.headers])} ${await answer.text()}`
  }

/** Lines to a listener, one after the answer to the other. */
const lines =
  (listener: 'imap' | 'pop3' | 'smtp' | 'submission' | 'lmtp', ...said: string[]) =>
  async () => {
    const dialogue = await Dialogue.open(service.at(listener))
    let heard = ''
    try {
      heard += `${await dialogue.line()}\n`
      for (const line of said) {
        dialogue.send(`${line}\r\n`)
        heard += `${await dialogue.line()}\n`
      }
    } catch {
      heard += 'closed'
    }
    dialogue.close()
    return heard
  }

const own = () => `/users/${user}`
const pem = '-----BEGIN PRIVATE KEY-----\nkey/Hush\n-----END PRIVATE KEY-----\n'

const overHttp: readonly Door[] = [
  ['a password, right', http('POST', '/authenticate', { username: 'anna', password: 'right-Hush' })],
  ['a password, wrong', http('POST', '/authenticate', { username: 'anna', password: 'wrong-Hush' })],
  ['a password for a name', http('POST', '/authenticate', { username: 'name-Hush', password: 'x' })],
  [
    'a password that is too long',
    http('POST', '/authenticate', { username: 'anna', password: `${'x'.repeat(300)}Hush` }),
  ],
  ['a password that is no text', http('POST', '/authenticate', { username: 'anna', password: ['list-Hush'] })],
  ['a password under another name', http('POST', '/authenticate', { username: 'anna', passwort: 'key-Hush' })],
  ['JSON that breaks behind it', http('POST', '/authenticate', '{"username":"anna","password":"json-Hush",')],
  [
    'a form',
    http('POST', '/authenticate', 'username=anna&password=form-Hush&x=%', {
      'content-type': 'application/x-www-form-urlencoded',
    }),
  ],
  ['the query', http('POST', '/authenticate?username=anna&password=query-Hush')],
  ['a token in the query', http('GET', '/users?accessToken=query-Hush', undefined, { 'x-access-token': '' })],
  ['a token in the header', http('GET', '/users', undefined, { 'x-access-token': 'header-Hush' })],
  ['a bearer', http('GET', '/users', undefined, { authorization: 'Bearer bearer-Hush', 'x-access-token': '' })],
  [
    'basic',
    http('GET', '/users', undefined, { authorization: `Basic ${base64('anna:basic-Hush')}`, 'x-access-token': '' }),
  ],
  [
    'a cookie',
    http('GET', '/session', undefined, { cookie: 'teal=cookie-Hush; __Host-teal=cookie-Hush', 'x-access-token': '' }),
  ],
  ['the page', http('POST', '/session', { username: 'anna', password: 'page-Hush' })],
  ['a new account', http('POST', '/users', { username: 'ben', password: 'new-Hush', address: 'ben@example.com' })],
  ['a new account that is refused', http('POST', '/users', { username: 'anna', password: 'taken-Hush' })],
  ['a hash', http('POST', '/users', { username: 'cara', password: '$2b$10$hash-Hush', hashedPassword: true })],
  ['a change of password', http('PUT', own, { existingPassword: 'old-Hush', password: 'other-Hush' })],
  ['a code', http('POST', () => `${own()}/2fa/totp/enable`, { token: 'Hush12' })],
  ['a check', http('POST', () => `${own()}/2fa/totp/check`, { token: 'Hush34' })],
  [
    'a key of webauthn',
    http('POST', () => `${own()}/2fa/webauthn/authentication-assertion`, {
      challenge: 'ab',
      rawId: 'raw-Hush',
      clientDataJSON: 'x',
      authenticatorData: 'y',
      signature: 'sig-Hush',
      rpId: 'x',
    }),
  ],
  [
    'an import',
    http('POST', () => `${own()}/import/imap`, {
      host: '127.0.0.1',
      port: 9,
      user: 'x',
      username: 'x',
      password: 'import-Hush',
      tls: 'none',
    }),
  ],
  [
    'a forward',
    http('PUT', own, {
      targets: ['https://u:target-Hush@hook.example.net/x', 'smtp://u:relay-Hush@mx.example.net:25'],
    }),
  ],
  ['a forward that is none', http('PUT', own, { targets: ['ftp://u:odd-Hush@hook.example.net'] })],
  ['a webhook', http('POST', '/webhooks', { type: ['*'], url: 'http://u:hook-Hush@127.0.0.1:9/x?token=Hush' })],
  ['a key for signing', http('POST', '/dkim', { domain: 'example.com', selector: 'a', privateKey: pem })],
  ['a certificate', http('POST', '/certs', { servername: 'x.example.com', privateKey: pem, cert: 'cert' })],
  [
    'a key for encryption',
    http('PUT', own, {
      pubKey: '-----BEGIN PGP PRIVATE KEY BLOCK-----\n\nkey-Hush\n-----END PGP PRIVATE KEY BLOCK-----',
    }),
  ],
]

const plain = base64('\0anna\0plain-Hush')
const encoded = 'Encoded-Hush'

const overMail: readonly Door[] = [
  ['LOGIN, right', lines('imap', 'a LOGIN anna right-Hush', 'b LOGIN anna again-Hush')],
  ['LOGIN, wrong', lines('imap', 'a LOGIN anna "wrong Hush"')],
  ['LOGIN with too much', lines('imap', 'a LOGIN anna my long pass-Hush')],
  ['LOGIN with too little', lines('imap', 'a LOGIN little-Hush')],
  ['LOGIN with a quote that does not end', lines('imap', 'a LOGIN anna "quote-Hush')],
  ['a literal', lines('imap', 'a LOGIN anna {12}', 'literal-Hush')],
  ['a literal with rubbish behind it', lines('imap', 'a LOGIN {4+}\r\nanna{12+}\r\nliteral-Hush rubbish-Hush')],
  ['a command', lines('imap', 'a cmd-Hush x-Hush')],
  ['AUTHENTICATE', lines('imap', 'a AUTHENTICATE PLAIN', plain)],
  ['AUTHENTICATE at once', lines('imap', `a AUTHENTICATE PLAIN ${plain}`)],
  ['AUTHENTICATE in no base64', lines('imap', 'a AUTHENTICATE PLAIN', `${encoded}!!`)],
  ['AUTHENTICATE of what is not there', lines('imap', `a AUTHENTICATE X-${encoded} ${encoded}`)],
  ['POP3', lines('pop3', 'USER anna', 'PASS pass-Hush')],
  ['POP3 without a name', lines('pop3', 'PASS first-Hush', 'USER a b-Hush', 'user-Hush')],
  ['POP3 AUTH', lines('pop3', `AUTH PLAIN ${plain}`, `AUTH X ${encoded}`)],
  ['APOP', lines('pop3', 'APOP anna apop-Hush')],
  ['AUTH PLAIN', lines('submission', 'EHLO-Hush', `AUTH PLAIN ${plain}`)],
  ['AUTH LOGIN', lines('submission', 'HELO x', 'AUTH LOGIN', base64('anna'), base64('login-Hush'))],
  ['AUTH LOGIN in clear', lines('submission', 'HELO x', 'AUTH LOGIN', 'anna', 'clear-Hush')],
  ['AUTH of what is not there', lines('submission', 'HELO x', `AUTH X-${encoded} ${encoded}`)],
  ['AUTH where there is none', lines('smtp', 'HELO x', `AUTH PLAIN ${plain}`)],
  ['LMTP', lines('lmtp', 'LHLO x', `AUTH PLAIN ${plain}`, 'pass-Hush')],
]

const forms = [/Hush/, new RegExp(plain), new RegExp(base64('login-Hush')), new RegExp(base64('anna:basic-Hush'))]

test.each([...overHttp, ...overMail])('%s', async (_name, say) => {
  const heard = await say()
  for (const form of forms) expect(heard).not.toMatch(form)
})

test('a command line', async () => {
  const env = childEnvironment(dataDir, { TEAL_LOG_LEVEL: 'trace' })
  for (const words of [
    ['user', 'add', 'dora', '--address', 'dora@example.com', '--password', 'words-Hush'],
    ['user', 'add', 'words-Hush', 'more-Hush'],
    ['serve', '--api.accessToken', 'words-Hush'],
  ]) {
    const { code, out, err } = await runTeal(words, env)
    expect(code).not.toBe(0)
    expect(out + err).not.toMatch(/Hush/)
  }
})

test('the log at its loudest and every file are without them', async () => {
  const all = () => readFileSync(logFile, 'utf8')
  await expect
    .poll(
      () =>
        all()
          .split('\n')
          .filter(line => line.includes('login-failed')).length,
    )
    .toBeGreaterThan(5)
  expect(all().length).toBeGreaterThan(1000)
  for (const form of [...forms, new RegExp(totp), new RegExp(service.teal.rootToken)]) expect(all()).not.toMatch(form)
  const files = readdirSync(dataDir, { recursive: true, encoding: 'utf8' })
    .map(name => join(dataDir, name))
    .filter(file => statSync(file).isFile())
    .map(file => ({ file, text: readFileSync(file, 'latin1') }))
  // The rest of a webhook's address is no secret to whoever may see webhooks.
  expect(files.filter(({ text }) => /-Hush|\/Hush/.test(text)).map(({ file }) => file)).toEqual([])
  // A folder that somebody named stays, and with it its passwords: fewer rounds are for those that are thrown away.
  const hashes = new Set(files.flatMap(({ text }) => text.match(/\$pbkdf2-sha256\$i=\d+\$/g) ?? []))
  expect([...hashes]).toEqual(inject('postgres') === undefined ? ['$pbkdf2-sha256$i=100000$'] : [])
})
