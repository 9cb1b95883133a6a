// Mail that leaves carries the signature of its domain: from the key over the API to what the next server verifies.

import type { AddressInfo } from 'node:net'
import { dkimVerify } from 'mailauth/lib/dkim/verify.js'
import { SMTPServer } from 'smtp-server'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { until } from '../jobs/outbox.ts'
import { type Body, useTeal } from '../running.ts'

const taken: Buffer[] = []
const relay = new SMTPServer({
  authOptional: true,
  logger: false,
  disabledCommands: ['STARTTLS'],
  onData(stream, _session, done) {
    const chunks: Buffer[] = []
    stream.on('data', chunk => chunks.push(chunk))
    stream.on('end', () => {
      taken.push(Buffer.concat(chunks))
      done()
    })
  },
})
const outbound = { relay: '' }

beforeAll(async () => {
  await new Promise<void>(resolve => relay.listen(0, '127.0.0.1', resolve))
  outbound.relay = `smtp://127.0.0.1:${(relay.server.address() as AddressInfo).port}`
})
afterAll(() => new Promise<void>(resolve => relay.close(resolve)))

const { call, user } = useTeal({ outbound, network: { allowPrivate: ['127.0.0.0/8'] } })

/** Sends a message and answers what a verifier says of it that knows these records. */
async function send(from: string, text: string, records: Body[]): Promise<unknown[]> {
  const before = taken.length
  const form = { to: [{ address: 'far@example.net' }], subject: 'Grüße', text }
  const { status } = await call('POST', `/users/${from}/submit`, form)
  expect(status).toBe(200)
  await until('the relay to take it', () => taken.length > before)
  const resolver = async (name: string) => [[records.find(one => one.dnsTxt.name === name)?.dnsTxt.value]]
  const { results } = await dkimVerify(taken.at(-1) ?? Buffer.alloc(0), { resolver: resolver as never })
  return results.map(({ signingDomain, selector, status }) => [signingDomain, selector, status.result])
}

test('mail of a domain with a key is signed with it, replaced and deleted at once', async () => {
  const id = await user('anna')
  const long = 'A line of text that is long enough. \r\n'.repeat(25_000)
  expect(await send(id, 'unsigned', [])).toEqual([[undefined, undefined, 'none']])
  const one = (await call('POST', '/dkim', { domain: 'example.com', selector: 's1' })).body
  expect(await send(id, 'signed', [one])).toEqual([['example.com', 's1', 'pass']])
  expect(await send(id, long, [one])).toEqual([['example.com', 's1', 'pass']])
  const two = (await call('POST', '/dkim', { domain: 'example.com', selector: 's2' })).body
  expect(await send(id, 'signed anew', [one, two])).toEqual([['example.com', 's2', 'pass']])
  await call('DELETE', `/dkim/${two.id}`)
  expect(await send(id, 'unsigned', [one, two])).toEqual([[undefined, undefined, 'none']])
})

test('mail of a domain without a key is not', async () => {
  const id = await user('berta', { address: 'berta@other.example' })
  const key = (await call('POST', '/dkim', { domain: 'example.com', selector: 's1' })).body
  expect(await send(id, 'unsigned', [key])).toEqual([[undefined, undefined, 'none']])
})
