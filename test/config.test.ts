// The configuration: what each source says, which wins, what is refused and how that is told.

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import { configProblems } from '#cli/command/config-check.ts'
import { type ConfigPart, listKeys, loadConfig, parseFlags, readConfig, sampleConfig, showConfig } from '#config'
import { Fault } from '#lib/fault.ts'

const folder = mkdtempSync(join(tmpdir(), 'teal-config-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

let files = 0
function toml(text: string): string {
  files += 1
  const file = join(folder, `teal-${files}.toml`)
  writeFileSync(file, text)
  return file
}

/** The lines in which a configuration is refused. */
function problems(sources: Parameters<typeof loadConfig>[0]): string[] {
  try {
    loadConfig(sources)
  } catch (error) {
    if (error instanceof Fault && error.code === 'ConfigInvalid') return error.message.split('\n')
    throw error
  }
  return []
}

describe('sources', () => {
  test('without any, every key has its default and nothing can be changed', () => {
    const config = loadConfig({})
    expect(config.api).toMatchObject({ enabled: true, host: '127.0.0.1', port: 8080 })
    expect(config.lmtp.port).toBe(2424)
    expect(config.auth.strict2fa).toBe(true)
    expect(config.webhooks.timeout).toBe(30_000)
    expect(config.quota.storage).toBe(2 ** 30)
    expect(config.dataDir).toBe(join(process.cwd(), 'data'))
    expect(Object.isFrozen(config) && Object.isFrozen(config.api.accessControl)).toBe(true)
    expect(Object.isFrozen(config.network.allowPrivate)).toBe(true)
  })

  test('a flag wins over the environment, that over the file', () => {
    const file = toml('[api]\nport = 1\n[imap]\nport = 1\n[pop3]\nport = 1')
    const env = { TEAL_API_PORT: '2', TEAL_IMAP_PORT: '2' }
    const { config, origins } = readConfig({ file, env, flags: { api: { port: 3 } } })
    expect([config.api.port, config.imap.port, config.pop3.port]).toEqual([3, 2, 1])
    expect(origins.get('api.port')).toBe('flag')
    expect(origins.get('imap.port')).toBe('TEAL_IMAP_PORT')
    expect(origins.get('pop3.port')).toBe(file)
    expect(origins.has('smtp.port')).toBe(false)
  })

  test('variables are named after the path of their key', () => {
    const variables = listKeys().map(({ variable }) => variable)
    expect(variables).toEqual(
      expect.arrayContaining([
        'TEAL_DATA_DIR',
        'TEAL_HOSTNAME',
        'TEAL_API_ACCESS_CONTROL_ENABLED',
        'TEAL_AUTH_STRICT2FA',
        'TEAL_AUTH_CREDENTIAL_CACHE',
        'TEAL_AUTH_PWNED_API_URL',
        'TEAL_MAIL_DEFAULT_DOMAIN',
        'TEAL_OUTBOUND_RELAY',
        'TEAL_WEBHOOKS_ENABLED',
        'TEAL_NETWORK_ALLOW_PRIVATE',
        'TEAL_LOG_LEVEL',
        'TEAL_POP3_DELETE_TO',
      ]),
    )
    expect(new Set(variables).size).toBe(variables.length)
    expect(variables.every(variable => /^TEAL(_[A-Z0-9]+)+$/.test(variable))).toBe(true)
  })

  test('every key can be set from the environment to what it already is', () => {
    const settable = listKeys().filter(({ key }) => key.kind !== 'list' && !key.secret)
    const env = Object.fromEntries(
      settable.map(({ variable, key }) => [variable, key.show(initial(key.initial)).replaceAll("'", '')]),
    )
    expect(loadConfig({ env })).toEqual(loadConfig({}))
  })

  test('TEAL_CONFIG names the file where nobody else does', () => {
    const env = { TEAL_CONFIG: toml('[api]\nport = 81') }
    expect(loadConfig({ env }).api.port).toBe(81)
    expect(loadConfig({ env, file: toml('[api]\nport = 82') }).api.port).toBe(82)
    expect(problems({ env: { TEAL_CONFIG: '/none.toml' } })[0]).toMatch(/none\.toml: ENOENT/)
  })

  test('other variables are left alone, also those a cluster sets for a service of this name', () => {
    const env = { PATH: '/bin', TEAL_CONFIG: '', TEAL_SERVICE_HOST: '10.0.0.1', TEAL_PORT: 'tcp://10.0.0.1:80' }
    expect(problems({ env: { ...env, TEAL_PORT_80_TCP_ADDR: '10.0.0.1' } })).toEqual([])
    const named = {
      TEAL_SMTP_SERVICE_HOST: '10.0.0.1',
      TEAL_SMTP_SERVICE_PORT_MAIL: '25',
      TEAL_SMTP_PORT: 'tcp://10.0.0.1:25',
    }
    expect(problems({ env: { ...named, TEAL_SMTP_PORT_25_TCP_PORT: '25' } })).toEqual([])
    expect(loadConfig({ env: { ...named, TEAL_SMTP_PORT: '26' } }).smtp.port).toBe(26)
    expect(problems({ env: { TEAL_SMTP_PORT: 'many' } })).toEqual([expect.stringContaining('TEAL_SMTP_PORT')])
  })

  test('what teal dev and a run of tests are told is nothing to a service', () => {
    const env = { TEAL_DEV_SMTP_PORT: '2525', TEAL_DEV_HOST: '0.0.0.0', TEAL_TESTING: '/tmp/x' }
    expect(problems({ env })).toEqual([])
    expect(problems({ env: { TEAL_TESTINGS: 'x' } })).toEqual([expect.stringContaining('TEAL_TESTINGS')])
  })

  test('relative paths in a file are relative to it, elsewhere to the working folder', () => {
    const file = toml('dataDir = "mail"')
    expect(loadConfig({ file }).dataDir).toBe(join(folder, 'mail'))
    expect(loadConfig({ env: { TEAL_DATA_DIR: 'mail' } }).dataDir).toBe(join(process.cwd(), 'mail'))
    expect(loadConfig({ flags: { dataDir: '/srv/mail' } }).dataDir).toBe('/srv/mail')
  })

  test('undefined in flags says nothing', () => {
    expect(loadConfig({ flags: { api: { port: undefined }, hostname: undefined } }).api.port).toBe(8080)
  })

  test('flags of a command line become a part of the configuration', () => {
    const flags = parseFlags(['api.port=0', 'api.accessControl.enabled=off', 'hostname=mx.example.com', 'api.host=::1'])
    expect(loadConfig({ flags })).toMatchObject({
      hostname: 'mx.example.com',
      api: { port: 0, host: '::1', accessControl: { enabled: false } },
    })
    expect(() => parseFlags(['api.port'])).toThrow(/write it as section\.key=value/)
    expect(() => parseFlags(['api=1', 'api.port=1'])).toThrow(/is no setting/)
    expect(problems({ flags: parseFlags(['__proto__.port=1']) })).toEqual([`flag: there is no key '__proto__'`])
  })
})

describe('values', () => {
  test.each<[ConfigPart, (config: ReturnType<typeof loadConfig>) => unknown, unknown]>([
    [{ webhooks: { timeout: '5s' } }, config => config.webhooks.timeout, 5000],
    [{ webhooks: { timeout: '250 ms' } }, config => config.webhooks.timeout, 250],
    [{ webhooks: { timeout: 250 } }, config => config.webhooks.timeout, 250],
    [{ api: { accessControl: { tokenTtl: '2h' } } }, config => config.api.accessControl.tokenTtl, 7_200_000],
    [{ mail: { maxSize: '50MB' } }, config => config.mail.maxSize, 50 * 2 ** 20],
    [{ mail: { maxSize: '64kb' } }, config => config.mail.maxSize, 65_536],
    [{ mail: { maxSize: 70_000 } }, config => config.mail.maxSize, 70_000],
    [{ lmtp: { enabled: 'no' } }, config => config.lmtp.enabled, false],
    [{ lmtp: { port: '26' } }, config => config.lmtp.port, 26],
    [{ hostname: 'MX.Example.COM.' }, config => config.hostname, 'mx.example.com'],
    [
      { network: { allowPrivate: '10.0.0.0/8, fd00::/8' } },
      config => config.network.allowPrivate,
      ['10.0.0.0/8', 'fd00::/8'],
    ],
    [
      { outbound: { relay: 'smtps://u:p@relay.example' } },
      config => config.outbound.relay,
      'smtps://u:p@relay.example',
    ],
    [{ mail: { defaultDomain: 'jõgeva.öö' } }, config => config.mail.defaultDomain, 'jõgeva.öö'],
  ])('%j is read', (flags, pick, expected) => {
    expect(pick(loadConfig({ flags }))).toEqual(expected)
  })

  test.each([
    ['api.port', '65536'],
    ['api.port', '-1'],
    ['api.port', '8o80'],
    ['api.port', ''],
    ['api.host', 'localhost:80'],
    ['api.host', '300.1.1.1'],
    ['api.cors.origins', 'https://a.example/'],
    ['lmtp.enabled', 'maybe'],
    ['hostname', ''],
    ['hostname', 'a..b'],
    ['hostname', '-a.example'],
    ['webhooks.timeout', '31s'],
    ['webhooks.timeout', '1h30m'],
    ['webhooks.timeout', '0'],
    ['mail.maxSize', '1TB'],
    ['mail.maxSize', '1.5MB'],
    ['quota.storage', '99999999999999999999'],
    ['outbound.relay', 'http://relay.example'],
    ['outbound.relay', 'relay.example:25'],
    ['network.allowPrivate', '10.0.0.0/33'],
    ['network.allowPrivate', '10.0.0.1'],
    ['auth.totpSecret', 'short'],
    ['auth.pwned.type', 'maybe'],
    ['log.level', 'loud'],
    ['mobileconfig.organization', 'a\nb'],
    ['tls.cert', 'a\0b'],
    ['tls.acme.http', '80'],
    ['tls.acme.http', '0.0.0.0:65536'],
    ['tls.acme.http', 'mail.example.com:80'],
    ['tls.acme.http', '::80'],
    ['tls.acme.names', 'mail.example.com,*.example.com'],
    ['tls.acme.names', 'localhost'],
    ['tls.acme.renewDays', '0'],
    ['tls.acme.keyType', 'rsa1024'],
    ['tls.acme.directory', 'ftp://ca.example'],
  ])('%s = %j is refused by name', (name, value) => {
    const [problem = '', ...more] = problems({ flags: parseFlags([`${name}=${value}`]) })
    expect(more).toEqual([])
    expect(problem).toMatch(new RegExp(`^flag: '${name}' (must|has)`))
  })

  test.each([
    ['[api]\nport = "eight"', "'api.port' must be a whole number from 0 to 65535"],
    ['[api]\nport = 80.5', "'api.port' must be a whole number from 0 to 65535"],
    ['[api]\nport = 1979-05-27', "'api.port' must be a whole number from 0 to 65535"],
    ['[lmtp]\nenabled = [true]', "'lmtp.enabled' must be true or false"],
    ['[network]\nallowPrivate = [1]', "'network.allowPrivate' must be a list of text"],
    ['api = 1', "'api' is a section, not a value"],
    ['[log.level]\nx = 1', "'log.level' must be one of silent, fatal, error, warn, info, debug, trace"],
    ['[apis]\nport = 1', "there is no key 'apis'"],
    ['port = 1', "there is no key 'port'; is 'api.port' meant?"],
    ['[auth]\nstrict2FA = false', "there is no key 'auth.strict2FA'; is 'auth.strict2fa' meant?"],
    ['[constructor]\nx = 1', "there is no key 'constructor'"],
  ])('the file %j is refused', (text, reason) => {
    const file = toml(text)
    expect(problems({ file })).toEqual([`${file}: ${reason}`])
  })
})

describe('refusals', () => {
  test('all problems are told at once, each with its source', () => {
    const file = toml('[api]\nport = "x"\nnope = 1')
    const env = { TEAL_IMAP_PORT: 'y', TEAL_NOPE: '1' }
    const found = problems({ file, env, flags: parseFlags(['log.level=loud']) })
    expect(found).toHaveLength(5)
    expect(found[0]).toContain(`${file}: 'api.port'`)
    expect(found[1]).toBe(`${file}: there is no key 'api.nope'`)
    expect(found[2]).toMatch(/^TEAL_IMAP_PORT: 'imap\.port' must/)
    expect(found[3]).toBe('TEAL_NOPE: there is no such key')
    expect(found[4]).toMatch(/^flag: 'log\.level' must/)
  })

  test('a file that is missing or no TOML is told with its place', () => {
    expect(problems({ file: join(folder, 'none.toml') })[0]).toMatch(/none\.toml: ENOENT/)
    expect(problems({ file: toml('[api]\nport = = 1') })[0]).toMatch(/\.toml:2:\d+: Invalid TOML/)
  })

  test('access control may be off on loopback only', () => {
    const off = { accessControl: { enabled: false } }
    for (const host of ['127.0.0.1', '::1', 'localhost', '127.8.9.1', '::ffff:127.0.0.1']) {
      expect(problems({ flags: { api: { ...off, host } } })).toEqual([])
    }
    for (const host of ['0.0.0.0', '::', '192.168.1.1', 'fe80::1']) {
      expect(problems({ flags: { api: { ...off, host } } })).toEqual([
        `flag: 'api.accessControl.enabled' may be off only while api.host is loopback, and it is ${host}`,
      ])
    }
    expect(problems({ flags: { api: { host: '0.0.0.0' } } })).toEqual([])
  })

  test('a token of the configuration may be short on loopback only', () => {
    const api = { accessToken: 'admin' }
    for (const host of ['127.0.0.1', '::1', 'localhost'])
      expect(problems({ flags: { api: { ...api, host } } })).toEqual([])
    expect(problems({ flags: { api: { ...api, host: '0.0.0.0' } } })).toEqual([
      "flag: 'api.accessToken' must have from 20 characters while api.host is 0.0.0.0",
    ])
    expect(problems({ flags: { api: { host: '0.0.0.0', accessToken: 'a'.repeat(20) } } })).toEqual([])
  })

  test('what contradicts is refused', () => {
    expect(problems({ flags: { tls: { cert: '/c' } } })[0]).toMatch(/'tls\.cert' needs tls\.key/)
    expect(problems({ flags: { mobileconfig: { key: '/k' } } })[0]).toMatch(/needs mobileconfig\.cert/)
    expect(problems({ flags: { api: { accessControl: { tokenTtl: '200d' } } } })[0]).toMatch(/tokenTtl/)
    expect(problems({ flags: { imap: { port: 8080 } } })).toEqual([
      "flag: 'imap.port' is 8080 on 127.0.0.1, which api has already",
    ])
    expect(problems({ flags: { imap: { port: 8080, enabled: false } } })).toEqual([])
    expect(problems({ flags: { imap: { port: 0 }, imaps: { port: 0 } } })).toEqual([])
  })
})

describe('ACME', () => {
  const good = { enabled: true, termsAgreed: true, names: ['mail.example.com'] }
  const found = (acme: NonNullable<ConfigPart['tls']>['acme'], more: ConfigPart = {}) =>
    problems({ flags: { hostname: 'mx.example.com', ...more, tls: { acme } } })

  test('needs agreement to the terms and a name, and nothing else', () => {
    expect(found(good)).toEqual([])
    expect(found({ enabled: true, termsAgreed: true })).toEqual([])
    expect(found({ ...good, http: '0.0.0.0:80', email: 'a@example.com' })).toEqual([])
    expect(found({ ...good, http: '[::]:80' })).toEqual([])
    expect(found({ enabled: true })[0]).toMatch(
      /'tls\.acme\.termsAgreed' must be true: .* acme-v02\.api\.letsencrypt\.org/,
    )
    expect(found({ ...good, names: [] }, { hostname: 'mx' })[0]).toMatch(/'tls\.acme\.names' must be set.* mx$/)
    expect(found({ ...good, directory: '' })[0]).toMatch(/'tls\.acme\.directory' must be set/)
    expect(found({ ...good, email: 'admin' })[0]).toMatch(/'tls\.acme\.email' must be a mail address/)
    const bound = { ...good, bindingKeyId: 'me', bindingKey: 'c2VjcmV0LXNlY3JldC1zZWNyZXQ' }
    expect(found(bound)).toEqual([])
    expect(found({ ...bound, bindingKey: '' })[0]).toMatch(/'tls\.acme\.bindingKeyId' needs tls\.acme\.bindingKey/)
    expect(found({ ...bound, bindingKey: 'no base64 is this' })[0]).toMatch(
      /'tls\.acme\.bindingKey' must be in base64$/,
    )
    const many = Array.from({ length: 101 }, (_, index) => `n${index}.example.com`)
    expect(found({ ...good, names: many })[0]).toMatch(/'tls\.acme\.names' must not have more/)
  })

  test('talks without encryption on this machine only', () => {
    expect(found({ ...good, directory: 'http://127.0.0.1:4000/dir' })).toEqual([])
    expect(found({ ...good, directory: 'http://[::1]:4000/dir' })).toEqual([])
    expect(found({ ...good, directory: 'http://ca.example/dir' })[0]).toMatch(/'tls\.acme\.directory' must be https/)
  })

  test('needs somebody to answer, on an address of its own', () => {
    expect(found(good, { api: { enabled: false } })[0]).toMatch(/'tls\.acme\.http' must be set while the API is off/)
    expect(found({ ...good, http: '127.0.0.1:8080' })[0]).toMatch(
      /'tls\.acme\.http' is 127\.0\.0\.1:8080, which api has/,
    )
    expect(found({ http: '127.0.0.1:80' })[0]).toMatch(/'tls\.acme\.http' is of no use/)
  })
})

describe('printing', () => {
  test('what is shown can be read again and says where it came from', () => {
    const env = { TEAL_QUOTA_STORAGE: '3GB', TEAL_WEBHOOKS_TIMEOUT: '1500ms' }
    const loaded = readConfig({
      env,
      flags: { network: { allowPrivate: ['10.0.0.0/8'] }, setup: { imap: { port: 1 } } },
    })
    const text = showConfig(loaded)
    expect(text).toContain("storage = '3GB'  # TEAL_QUOTA_STORAGE")
    expect(text).toContain("timeout = '1500ms'  # TEAL_WEBHOOKS_TIMEOUT")
    expect(text).toContain("allowPrivate = ['10.0.0.0/8']  # flag")
    expect(loadConfig({ file: toml(text) })).toEqual(loaded.config)
  })

  test('secrets never appear, neither shown nor refused', () => {
    const secrets = {
      auth: { totpSecret: 'hush-hush-hush-hush' },
      outbound: { relay: 'smtp://me:hushword@relay.example' },
    }
    const text = showConfig(readConfig({ flags: secrets }))
    expect(text).not.toMatch(/hush/)
    expect(text).toContain("totpSecret = '[masked]'")
    expect(text).toContain("relay = 'smtp://me:[masked]@relay.example'")
    expect(problems({ flags: { forward: { srsSecret: 'hush' } } }).join()).not.toContain('hush')
    expect(problems({ flags: { outbound: { relay: 'ftp://me:hushword@relay.example' } } }).join()).not.toContain('hush')
  })

  test('the sample has every key, commented out, and as it stands changes nothing', () => {
    const text = sampleConfig()
    expect(loadConfig({ file: toml(text) })).toEqual(loadConfig({}))
    const bare = text.replace(/^#(?=\w+ = )/gm, '').replace(/^dataDir.*$/m, '')
    expect(loadConfig({ file: toml(bare) })).toEqual(loadConfig({}))
    for (const { name } of listKeys()) expect(text).toContain(`#${name.slice(name.lastIndexOf('.') + 1)} = `)
  })
})

function initial(value: unknown): unknown {
  return typeof value === 'function' ? value() : value
}

test('config check looks at the files, folders and addresses that are named', () => {
  const root = mkdtempSync(join(tmpdir(), 'teal-config-check-'))
  const files = { cert: join(root, 'cert.pem'), key: join(root, 'key.pem') }
  const problems = (more: object) => configProblems(loadConfig({ flags: { dataDir: root, ...more } }))
  expect(problems({})).toEqual([])
  expect(problems({ tls: files })).toEqual([
    expect.stringMatching(/^tls\.cert: .*ENOENT/),
    expect.stringMatching(/^tls\.key: .*ENOENT/),
  ])
  for (const file of Object.values(files)) writeFileSync(file, 'nothing')
  expect(problems({ tls: files })).toEqual([expect.stringMatching(/^tls: .* no certificate and key/)])
  expect(problems({ mail: { welcomeDir: files.cert } })).toEqual([expect.stringMatching(/^mail\.welcomeDir/)])
  expect(problems({ dataDir: join(files.cert, 'data') })).toEqual([expect.stringMatching(/^dataDir/)])
  const nowhere = join(root, 'nowhere', 'teal.log')
  expect(problems({ log: { file: nowhere } })).toEqual([
    expect.stringMatching(/^log\.file: .*nowhere: it is not there/),
  ])
  expect(problems({ log: { file: root } })).toEqual([expect.stringMatching(/^log\.file: .* is a folder/)])
  expect(problems({ log: { file: join(root, 'new.log') }, backup: { folder: nowhere } })).toEqual([])
  expect(problems({ backup: { folder: join(files.cert, 'x') } })).toEqual([
    expect.stringMatching(/^backup\.folder: .* no folder/),
  ])
  expect(problems({ backup: { folder: join(root, 'tmp', 'x') } })).toEqual([
    expect.stringMatching(/^backup\.folder: .* itself/),
  ])
  expect(problems({ imap: { host: '203.0.113.9' } })).toEqual([expect.stringMatching(/^imap\.host: 203/)])
  rmSync(root, { recursive: true })
})
