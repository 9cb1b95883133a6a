// Whatever single question of DNS is not answered, in whatever way: nobody who would have been believed is refused for good.

import { generateKeyPairSync } from 'node:crypto'
import { sealMessage } from 'mailauth/lib/arc/index.js'
import { dkimSign } from 'mailauth/lib/dkim/sign.js'
import { describe, expect, test } from 'vitest'
import { privatePem } from '#lib/secret/private-key.ts'
import { dnsTxt, publicPem } from '#mail/crypt/dkim.ts'
import { type VerifyInput, verifyMessage } from '#mail/origin/verification.ts'

/** How a resolver says that nobody answered, refused to, or was lied to (node:dns, c-ares). */
const codes = [
  ...['ETIMEOUT', 'ESERVFAIL', 'EREFUSED', 'EFORMERR', 'ENOTIMP', 'EBADRESP', 'ECONNREFUSED', 'ECANCELLED', 'EOF'],
  'EDESTRUCTION',
]

const key = generateKeyPairSync('ed25519').privateKey
const privateKey = privatePem(key)
const keyOf = (domain: string) => {
  const { name, value } = dnsTxt(domain, 's1', publicPem(key))
  return [`TXT ${name}`, [[value]]] as const
}

const zone = new Map<string, unknown>([
  keyOf('bank.test'),
  keyOf('sealer.test'),
  ['TXT _dmarc.bank.test', [['v=DMARC1; p=reject; np=quarantine']]],
  ['TXT bank.test', [['v=spf1 a:none.bank.test mx include:hosts.bank.test -all']]],
  ['TXT hosts.bank.test', [['v=spf1 exists:%{ir}.list.bank.test redirect=more.bank.test']]],
  ['TXT more.bank.test', [['v=spf1 a:out.bank.test -all']]],
  ['TXT list.test', [['v=spf1 include:hosts.bank.test -all']]],
  ['MX bank.test', [{ priority: 1, exchange: 'in.bank.test' }]],
  ['A in.bank.test', ['192.0.2.9']],
  ['A out.bank.test', ['192.0.2.1']],
  ['A mail.bank.test', ['192.0.2.9']],
])

const failure = (code: string) => Object.assign(new Error(code), { code })

function plain(from: string): Buffer {
  return Buffer.from(`From: ${from}\r\nSubject: x\r\nMessage-ID: <1@x>\r\n\r\nHello\r\n`)
}

async function signed(message: Buffer, signingDomain = 'bank.test'): Promise<Buffer> {
  const signatureData = [{ signingDomain, selector: 's1', privateKey, algorithm: 'ed25519-sha256' }]
  const { signatures } = await dkimSign(message, { signatureData } as never)
  return Buffer.concat([Buffer.from(signatures), message])
}

async function sealed(message: Buffer): Promise<Buffer> {
  const authResults = 'mx.sealer.test; dmarc=pass header.from=bank.test'
  const seal = { signingDomain: 'sealer.test', selector: 's1', privateKey, algorithm: 'ed25519-sha256', cv: 'none' }
  return Buffer.concat([await sealMessage(message, { ...seal, authResults } as never), message])
}

const host = {
  ip: '192.0.2.1',
  helo: 'h.test',
  hostname: 'mx.test',
  sealers: ['sealer.test'],
  forwarders: ['list.test'],
}
const elsewhere = 'x@elsewhere.test'

const cases: readonly [string, () => Promise<VerifyInput>][] = [
  ['by its host', async () => ({ ...host, sender: 'ann@bank.test', message: plain('ann@bank.test') })],
  [
    'by its host, for a subdomain',
    async () => ({ ...host, sender: 'a@bank.test', message: plain('a@mail.bank.test') }),
  ],
  [
    'by its host, of a null sender',
    async () => ({ ...host, helo: 'bank.test', sender: '', message: plain('a@bank.test') }),
  ],
  ['by a signature', async () => ({ ...host, sender: elsewhere, message: await signed(plain('ann@bank.test')) })],
  [
    'by a signature, for a subdomain',
    async () => ({ ...host, sender: elsewhere, message: await signed(plain('a@mail.bank.test')) }),
  ],
  ['by both', async () => ({ ...host, sender: 'ann@bank.test', message: await signed(plain('ann@bank.test')) })],
  [
    'by a sealer who is believed',
    async () => ({ ...host, sender: elsewhere, message: await sealed(plain('ann@bank.test')) }),
  ],
  ['by a forwarder who is named', async () => ({ ...host, sender: 'x@list.test', message: plain('ann@bank.test') })],
]

describe.each(cases)('what is proven %s', (_, make) => {
  test('is refused for no answer that was not given', async () => {
    const input = await make()
    const asked = new Set<string>()
    const answered = async (name: string, type: string) => {
      asked.add(`${type} ${name.toLowerCase()}`)
      const found = zone.get(`${type} ${name.toLowerCase()}`)
      if (found === undefined) throw failure('ENOTFOUND')
      return found
    }
    const believed = (found: Awaited<ReturnType<typeof verifyMessage>>) =>
      found.failure === undefined || found.failure.vouched !== false || found.spf === 'list.test'
    const all = await verifyMessage(input, answered)
    expect(all.dmarc).toBeDefined()
    expect(believed(all)).toBe(true)
    for (const question of asked) {
      for (const code of codes) {
        const found = await verifyMessage(input, async (name, type) => {
          if (`${type} ${name.toLowerCase()}` === question) throw failure(code)
          return answered(name, type)
        })
        expect(!believed(found) && found.failure?.certain === true, `${question}: ${code}`).toBe(false)
      }
    }
  })
})

test('a mark of which nobody could say counts as not looked at, and is told', async () => {
  const message = await signed(plain('ann@bank.test'))
  const found = await verifyMessage({ ...host, sender: elsewhere, message }, async (name, type) => {
    if (name === 'default._bimi.bank.test') throw failure('ESERVFAIL')
    const answer = zone.get(`${type} ${name.toLowerCase()}`)
    if (answer === undefined) throw failure('ENOTFOUND')
    return answer
  })
  expect(found).toMatchObject({ dkim: 'bank.test', dmarc: { domain: 'bank.test' } })
  expect(found.assertion).toBeUndefined()
  expect(found.results).toContain('bimi=temperror (failed to resolve bank.test)')
})

test('names of a forger that are never answered keep nobody from what those want whose name he uses', async () => {
  const resolve = async (name: string, type: string) => {
    if (name.endsWith('mute.test')) return new Promise(() => {})
    const answer = zone.get(`${type} ${name.toLowerCase()}`)
    if (answer === undefined) throw failure('ENOTFOUND')
    return answer
  }
  const forged: readonly Promise<VerifyInput>[] = [
    signed(plain('ann@bank.test'), 'k.mute.test').then(message => ({ ...host, sender: elsewhere, message })),
    Promise.resolve({ ...host, sender: 'x@mute.test', message: plain('ann@bank.test') }),
    Promise.resolve({ ...host, sender: elsewhere, message: plain('a@n1.mute.test, b@n2.mute.test, ann@bank.test') }),
  ]
  for (const found of await Promise.all(forged.map(async input => verifyMessage(await input, resolve)))) {
    expect(found).toMatchObject({ dmarc: { domain: false, policy: 'reject' }, failure: { certain: true } })
  }
})
