// A store of large parts that does not do what it should: what it is asked ends within a bound, with a reason that says what to mend,
// and nothing is taken for what it is not.

import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { lookAtObjects } from '#cli/inspect/running.ts'
import { reasonOf } from '#lib/fault.ts'
import { ObjectStore } from '#store/bodies/objects/store.ts'
import { accessKey, type S3, secretKey, startS3 } from './s3.ts'

let s3: S3
let store: ObjectStore

beforeAll(async () => {
  s3 = await startS3()
  store = new ObjectStore(place())
})

afterEach(() => {
  s3.trouble = {}
})

afterAll(async () => {
  await store.close()
  await s3.close()
})

const place = (more = {}) => ({ url: `${s3.url}/teal`, region: 'us-east-1', accessKey, secretKey, ca: '', ...more })

const bytes = Buffer.from('of which parts are asked for')
const content = { size: bytes.length, hash: createHash('sha256').update(bytes).digest('hex'), open: () => bytes }

/** The reason of a refusal. */
async function refused(call: Promise<unknown>): Promise<string> {
  const error = await call.then(
    () => undefined,
    (fault: unknown) => fault,
  )
  expect(error).toMatchObject({ code: 'StorageUnavailable' })
  const reason = reasonOf(error as Error)
  expect(reason).not.toContain(secretKey)
  return reason
}

test('one that is silent is given up', async () => {
  s3.trouble = { hangs: ['PUT'] }
  expect(await refused(store.put('a', content))).toMatch(/timeout/i)
})

test('one that sends elsewhere is not followed, and names where', async () => {
  s3.trouble = { redirect: 'http://127.0.0.1:1/other' }
  expect(await refused(store.put('a', content))).toContain('a PUT with 307 (it is at http://127.0.0.1:1/other)')
})

test('one that refuses is quoted', async () => {
  s3.trouble = { refuse: { methods: ['PUT'], status: 403, code: 'AccessDenied' } }
  expect(await refused(store.put('a', content))).toContain('403 AccessDenied (no, said the store)')
  s3.trouble = {}
  const elsewhere = new ObjectStore(place({ region: 'eu-north-1' }))
  expect(await refused(elsewhere.put('a', content))).toContain('403 InvalidAccessKeyId')
  await elsewhere.close()
})

test('bytes that are others than were asked for are not taken', async () => {
  await store.put('a', content)
  expect(await store.read('a', 3, 5)).toEqual(bytes.subarray(3, 8))
  s3.trouble = { shifted: true }
  expect(await refused(store.read('a', 3, 5))).toContain('other bytes')
  s3.trouble = { dies: 'GET' }
  expect(await refused(store.read('a', 3, 20))).not.toBe('')
})

test('doctor finds a key that may only read', async () => {
  const config = { bodies: { ...place(), keepDays: 14 } }
  expect(await lookAtObjects(config)).toMatchObject({ state: 'good' })
  const there = s3.names()
  s3.trouble = { refuse: { methods: ['PUT'], status: 403, code: 'AccessDenied' } }
  expect(await lookAtObjects(config)).toMatchObject({ state: 'wrong', text: expect.stringContaining('AccessDenied') })
  expect(s3.names()).toEqual(there)
})

test('an authority of one’s own is believed where it is named', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'teal-s3-tls-'))
  const [cert, key] = [join(folder, 'cert.pem'), join(folder, 'key.pem')]
  const subject = ['-subj', '/CN=localhost', '-addext', 'subjectAltName=IP:127.0.0.1']
  const kind = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '2']
  execFileSync('openssl', ['req', '-x509', ...kind, ...subject, '-keyout', key, '-out', cert], { stdio: 'ignore' })
  const secure = await startS3(3, { cert: readFileSync(cert), key: readFileSync(key) })
  const url = `${secure.url}/teal`
  const [known, unknown, unread] = [cert, '', join(folder, 'none.pem')].map(ca => new ObjectStore(place({ url, ca })))
  await known?.put('a', content)
  expect(await refused(unknown?.put('a', content) ?? Promise.resolve())).toContain('certificate')
  expect(await refused(unread?.put('a', content) ?? Promise.resolve())).toContain('none.pem')
  for (const one of [known, unknown, unread]) await one?.close()
  await secure.close()
  rmSync(folder, { recursive: true, force: true })
})
