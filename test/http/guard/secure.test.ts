// The API over HTTPS: which certificate a client sees, and what becomes of connections when that changes.

import { Agent, request as ask } from 'node:https'
import type { TLSSocket } from 'node:tls'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { sleep } from '#lib/clock.ts'
import { startTeal, type Teal } from '#service'
import { type Authority, openAuthority } from '../../net/authority.ts'
import { type Body, threads } from '../../running.ts'
import { front } from '../front.ts'

let teal: Teal
let root: Authority

beforeAll(async () => {
  root = await openAuthority()
  teal = await startTeal(
    { hostname: 'mx.example.com', threads, api: { port: 0, secure: true, front } },
    { strict: true },
  )
})

afterAll(() => teal.close())

/** One call; the common name of the certificate and the answer. */
function call(path: string, form?: Body, servername = 'mx.example.com', agent: Agent | false = false, method?: string) {
  return new Promise<{ name: string; status: number; body: Body }>((resolve, reject) => {
    const { hostname: host, port } = new URL(teal.url)
    const headers = { 'x-access-token': teal.rootToken, 'content-type': 'application/json' }
    const how = { host, port, path, servername, agent, headers, rejectUnauthorized: false }
    const request = ask({ ...how, method: method ?? (form === undefined ? 'GET' : 'POST') }, response => {
      const name = String((response.socket as TLSSocket).getPeerCertificate().subject.CN)
      let text = ''
      response.setEncoding('utf8')
      response.on('data', chunk => {
        text += chunk
      })
      response.on('end', () => resolve({ name, status: response.statusCode ?? 0, body: JSON.parse(text) }))
    })
    request.on('error', reject)
    request.end(form === undefined ? undefined : JSON.stringify(form))
  })
}

async function put(servername: string, commonName: string, names: string[] = []): Promise<string> {
  const { key, cert } = await root.issue({ commonName, names })
  const { status, body } = await call('/certs', { servername, privateKey: key, cert })
  expect(status).toBe(200)
  return body.id
}

/** Waits until a new connection sees a certificate. */
async function sees(servername: string, wanted: string): Promise<void> {
  let seen = ''
  for (let waited = 0; waited < 5000 && seen !== wanted; waited += 20) {
    seen = (await call('/health', undefined, servername).catch(() => ({ name: 'refused' }))).name
    if (seen !== wanted) await sleep(20)
  }
  expect(seen).toBe(wanted)
}

test('certificates are used for new connections by name, replaced and deleted', async () => {
  expect(teal.url).toMatch(/^https:/)
  await sees('api.example.com', 'mx.example.com')
  const id = await put('api.example.com', 'first', ['*.api.example.com'])
  await sees('api.example.com', 'first')
  await sees('any.api.example.com', 'first')
  await put('api.example.com', 'second')
  await sees('api.example.com', 'second')
  await sees('any.api.example.com', 'mx.example.com')
  await put('mx.example.com', 'own')
  await sees('other.example.com', 'own')
  await call(`/certs/${id}`, undefined, 'api.example.com', false, 'DELETE')
  await sees('api.example.com', 'own')
})

test('connections that are open go on while certificates change', async () => {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  const id = await put('kept.example.com', 'before')
  await sees('kept.example.com', 'before')
  expect((await call('/health', undefined, 'kept.example.com', agent)).name).toBe('before')
  await put('kept.example.com', 'after')
  await sees('kept.example.com', 'after')
  const again = await call('/health', undefined, 'kept.example.com', agent)
  expect([again.name, again.status, again.body.success]).toEqual(['before', 200, true])
  await call(`/certs/${id}`, undefined, 'kept.example.com', false, 'DELETE')
  await sees('kept.example.com', 'own')
  expect((await call('/users', undefined, 'kept.example.com', agent)).name).toBe('before')
  agent.destroy()
})
