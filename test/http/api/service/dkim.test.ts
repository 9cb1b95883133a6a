// DKIM keys over the API, up to the signature that a verifier finds right with the record the API gave.

import { createPublicKey, generateKeyPairSync } from 'node:crypto'
import { dkimVerify } from 'mailauth/lib/dkim/verify.js'
import { afterEach, describe, expect, test } from 'vitest'
import { limits } from '#lib/limits.ts'
import { keyFingerprint, privatePem } from '#lib/secret/private-key.ts'
import { publicPem, signatures } from '#mail/crypt/dkim.ts'
import { type Body, useTeal } from '../../../running.ts'

const running = useTeal()
const { call } = running

const rsa = generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey
const ed25519 = generateKeyPairSync('ed25519').privateKey

afterEach(async () => {
  for (const { id } of (await call('GET', '/dkim?limit=250')).body.results) await call('DELETE', `/dkim/${id}`)
})

async function put(form: Body): Promise<Body> {
  const { status, body } = await call('POST', '/dkim', form)
  expect(status, JSON.stringify(body)).toBe(200)
  return body
}

describe('the API', () => {
  test('adds, shows, lists, finds and deletes as the reference does', async () => {
    const form = { domain: 'Example.COM', selector: 'Spring.2025', privateKey: privatePem(rsa), description: 'Mail' }
    const made = await call('POST', '/dkim', form)
    const listed = {
      id: expect.stringMatching(/^[0-9a-f]{24}$/),
      domain: 'example.com',
      selector: 'spring.2025',
      description: 'Mail',
      fingerprint: keyFingerprint(rsa),
    }
    const p = createPublicKey(rsa).export({ type: 'spki', format: 'der' }).toString('base64')
    const shown = {
      ...listed,
      publicKey: publicPem(rsa),
      dnsTxt: { name: 'spring.2025._domainkey.example.com', value: `v=DKIM1;t=s;p=${p}` },
    }
    expect(made.body).toEqual({ success: true, ...shown })
    const { id } = made.body
    const created = expect.stringMatching(/^\d{4}-.*Z$/)
    expect((await call('GET', `/dkim/${id}`)).body).toEqual({ success: true, ...shown, id, created })
    expect((await call('GET', '/dkim/resolve/EXAMPLE.com')).body).toEqual({ success: true, id })
    const page = { success: true, total: 1, page: 1, previousCursor: false, nextCursor: false }
    expect((await call('GET', '/dkim')).body).toEqual({ ...page, results: [{ ...listed, id, created }] })
    expect((await call('DELETE', `/dkim/${id}`)).body).toEqual({ success: true })
    for (const [method, path] of [
      ['GET', `/dkim/${id}`],
      ['DELETE', `/dkim/${id}`],
      ['GET', '/dkim/resolve/example.com'],
    ] as const) {
      const { status, body } = await call(method, path)
      expect([status, body.code]).toEqual([404, 'DkimNotFound'])
    }
  })

  test('gives a key another selector, and keeps the key', async () => {
    const made = await put({ domain: 'example.com', selector: 's1', privateKey: privatePem(rsa), description: 'Mail' })
    const moved = await call('PUT', `/dkim/${made.id}`, { selector: 'S2' })
    const name = 's2._domainkey.example.com'
    expect(moved.body).toEqual({ ...made, selector: 's2', dnsTxt: { ...made.dnsTxt, name } })
    const { body } = await call('PUT', `/dkim/${made.id}`, { description: 'Other' })
    expect([body.selector, body.description]).toEqual(['s2', 'Other'])
    const { status } = await call('PUT', `/dkim/${'0'.repeat(24)}`, { selector: 's3' })
    expect(status).toBe(404)
    expect((await call('PUT', `/dkim/${made.id}`, { selector: 'no/such' })).status).toBe(400)
  })

  test('makes a key where none is given', async () => {
    const made = await put({ domain: 'example.com', selector: 's1' })
    const key = createPublicKey(made.publicKey)
    expect(key.asymmetricKeyType).toBe('rsa')
    expect(key.asymmetricKeyDetails?.modulusLength).toBe(limits.dkim.rsaBits)
    expect(made.dnsTxt.value.split('p=')).toHaveLength(2)
  })

  test('takes PKCS#1, PKCS#8 and raw seeds', async () => {
    const seed = ed25519.export({ type: 'pkcs8', format: 'der' }).subarray(-32).toString('base64')
    for (const [privateKey, key] of [
      [String(rsa.export({ type: 'pkcs1', format: 'pem' })), rsa],
      [privatePem(ed25519), ed25519],
      [seed, ed25519],
    ] as const) {
      const made = await put({ domain: 'example.com', selector: 's1', privateKey })
      expect(made.publicKey).toBe(publicPem(key))
      expect(made.fingerprint).toBe(keyFingerprint(key))
    }
  })

  test('keeps one key for each domain: what is put again replaces it and keeps its id', async () => {
    const one = await put({ domain: 'grün.example', selector: 's1', description: 'Kept' })
    const two = await put({ domain: 'xn--grn-ioa.example', selector: 's2', privateKey: privatePem(ed25519) })
    expect(two).toMatchObject({ id: one.id, domain: 'grün.example', selector: 's2', description: 'Kept' })
    expect(two.dnsTxt.name).toBe('s2._domainkey.xn--grn-ioa.example')
    expect((await call('GET', '/dkim')).body).toMatchObject({ total: 1, results: [{ id: one.id, selector: 's2' }] })
  })

  test('looks for part of a domain and pages by domain', async () => {
    const privateKey = privatePem(ed25519)
    for (const domain of ['b.example', 'a.example', 'c.test']) await put({ domain, selector: 's', privateKey })
    const found = async (query: string) => {
      const { results, ...page } = (await call('GET', `/dkim?${query}`)).body
      return { ...page, domains: results.map((one: Body) => one.domain) }
    }
    expect(await found('query=EXAMPLE')).toMatchObject({
      query: 'EXAMPLE',
      total: 2,
      domains: ['a.example', 'b.example'],
    })
    const first = await found('limit=2')
    expect(first).toMatchObject({ total: 3, page: 1, domains: ['a.example', 'b.example'] })
    const second = await found(`limit=2&next=${first.nextCursor}`)
    expect(second).toMatchObject({ page: 2, domains: ['c.test'], nextCursor: false })
    expect((await found(`limit=2&previous=${second.previousCursor}`)).domains).toEqual(first.domains)
  })

  test('refuses what cannot be used and names the field', async () => {
    const details = async (form: Body) => {
      const { status, body } = await call('POST', '/dkim', form)
      expect([status, body.code]).toEqual([400, 'InputValidationError'])
      return Object.keys(body.details)
    }
    const ec = generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey
    const good = { domain: 'example.com', selector: 's1' }
    expect(await details({})).toEqual(['domain', 'selector'])
    expect(await details({ ...good, domain: 'no domain' })).toEqual(['domain'])
    for (const selector of ['', 'a b', '.a', 'a..b', 'a;b', 'x'.repeat(64)])
      expect(await details({ ...good, selector })).toEqual(['selector'])
    for (const privateKey of ['x', privatePem(ec), publicPem(rsa)])
      expect(await details({ ...good, privateKey })).toEqual(['privateKey'])
    expect((await call('GET', '/dkim')).body.total).toBe(0)
  })

  test('is for managers, shows no private key to anybody and stores it sealed', async () => {
    const made = await put({ domain: 'example.com', selector: 's1', privateKey: privatePem(rsa) })
    const answers = [made, (await call('GET', `/dkim/${made.id}`)).body, (await call('GET', '/dkim')).body]
    for (const answer of answers) expect(JSON.stringify(answer)).not.toMatch(/PRIVATE/)
    const { token } = await running.teal.core.access.provision('a program', 'webmail')
    const refused = await call('GET', '/dkim', undefined, token)
    expect([refused.status, refused.body.code]).toEqual([403, 'MissingPrivileges'])
    const rows = await running.teal.core.read.all<{ key: string }>('SELECT key FROM dkim')
    expect(rows.map(({ key }) => key.slice(0, 18))).toEqual(['$wd01$aes-256-gcm$'])
  })

  test('has an end', async () => {
    const most = limits.dkim as { keysMax: number }
    const { keysMax } = most
    most.keysMax = 1
    try {
      const privateKey = privatePem(ed25519)
      await put({ domain: 'one.example', selector: 's1', privateKey })
      await put({ domain: 'one.example', selector: 's2', privateKey })
      const two = await call('POST', '/dkim', { domain: 'two.example', selector: 's1', privateKey })
      expect([two.status, two.body.code]).toEqual([403, 'TooManyDkimKeys'])
    } finally {
      most.keysMax = keysMax
    }
  })
})

describe('signing', () => {
  const message = Buffer.from('From: a@example.com\r\nTo: b@example.net\r\nSubject: x\r\n\r\nHello\r\n')

  /** What a verifier says that looks into the records the API gives. */
  async function verdicts(): Promise<unknown[]> {
    const key = await running.teal.core.dkim.findSigningKey('EXAMPLE.com')
    const head = await signatures(message, key === undefined ? [] : [key])
    const { results } = (await call('GET', '/dkim?query=example.com')).body
    const records = await Promise.all(results.map(async (one: Body) => (await call('GET', `/dkim/${one.id}`)).body))
    const resolver = async (name: string) => [[records.find(one => one.dnsTxt.name === name)?.dnsTxt.value]]
    const verified = await dkimVerify(Buffer.concat([Buffer.from(head), message]), { resolver: resolver as never })
    return verified.results.map(({ selector, status }) => [selector, status.result])
  }

  test('uses the key at once, its replacement too, and none that was deleted', async () => {
    expect(await verdicts()).toEqual([[undefined, 'none']])
    await put({ domain: 'example.com', selector: 's1' })
    expect(await verdicts()).toEqual([['s1', 'pass']])
    const { id } = await put({ domain: 'example.com', selector: 's2', privateKey: privatePem(ed25519) })
    expect(await verdicts()).toEqual([['s2', 'pass']])
    expect(await running.teal.core.dkim.findSigningKey('sub.example.com')).toBeUndefined()
    await call('DELETE', `/dkim/${id}`)
    expect(await verdicts()).toEqual([[undefined, 'none']])
  })
})
