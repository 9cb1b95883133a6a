// HTTPS for strangers: what they need is there, and nothing of the API unless that was wanted.

import { request as ask } from 'node:https'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startTeal, type Teal } from '#service'
import { threads } from '../running.ts'
import { front } from './front.ts'

const running: Teal[] = []

async function start(api: boolean): Promise<Teal> {
  const config = {
    hostname: 'mx.example.com',
    threads,
    api: { port: 0, front },
    smtp: { port: 0, stsMode: 'testing' },
  } as const
  const teal = await startTeal({ ...config, web: { enabled: true, port: 0, api } }, { strict: true })
  running.push(teal)
  return teal
}

beforeAll(async () => {
  await start(false)
  await start(true)
})

afterAll(() => Promise.all(running.map(teal => teal.close())))

function get(teal: Teal | undefined, path: string): Promise<{ status: number; text: string }> {
  const { host, port } = teal?.listeners.web ?? { host: '', port: 0 }
  const headers = { 'x-access-token': teal?.rootToken ?? '' }
  return new Promise((resolve, reject) => {
    const request = ask({ host, port, path, agent: false, rejectUnauthorized: false, headers }, response => {
      let text = ''
      response.on('data', chunk => {
        text += chunk
      })
      response.on('end', () => resolve({ status: response.statusCode ?? 0, text }))
    })
    request.on('error', reject)
    request.end()
  })
}

test('strangers find how to set a mail program up and how to send mail here, and nothing else', async () => {
  const [closed] = running
  expect((await get(closed, '/mail/config-v1.1.xml?emailaddress=a@example.com')).text).toContain('<emailProvider')
  expect((await get(closed, '/.well-known/autoconfig/mail/config-v1.1.xml')).status).toBe(200)
  expect((await get(closed, '/.well-known/mta-sts.txt')).text).toContain('mode: testing')
  expect((await get(closed, '/.well-known/acme-challenge/x')).status).toBe(404)
  for (const path of ['/users', '/docs', '/openapi.json', '/metrics', '/health', '/healthz', '/', '/settings']) {
    expect([path, (await get(closed, path)).status]).toEqual([path, 404])
  }
  expect(await closed?.check()).toEqual([])
})

test('the API answers there where that is wanted', async () => {
  const [, open] = running
  for (const path of ['/users', '/docs', '/openapi.json', '/metrics', '/health']) {
    expect([path, (await get(open, path)).status]).toEqual([path, 200])
  }
})
