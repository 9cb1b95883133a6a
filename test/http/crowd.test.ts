// Bodies that never end, of strangers and of one account: whoever sends them keeps nobody else out.

import { connect, type Socket } from 'node:net'
import Type from 'typebox'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { sleep } from '#lib/clock.ts'
import { limits } from '#lib/limits.ts'
import { endpoint } from '../../src/http/endpoint.ts'
import { Held, strangers } from '../../src/http/input/body.ts'
import { optional, text } from '../../src/http/schema.ts'
import { type Front, startFront } from './front.ts'

const common = { tag: 'Test', summary: 'Test', body: { name: optional(text({ max: 100 })) } } as const

const endpoints = [
  endpoint({
    ...common,
    method: 'POST',
    path: '/open',
    allow: 'public',
    reply: { name: Type.String() },
    run: async ({ input }) => ({ name: input.name ?? '' }),
  }),
  endpoint({
    ...common,
    method: 'POST',
    path: '/known',
    allow: null,
    reply: { name: Type.String() },
    run: async ({ input }) => ({ name: input.name ?? '' }),
  }),
]

let front: Front
const sockets: Socket[] = []
beforeEach(async () => {
  front = await startFront(endpoints)
})
afterEach(async () => {
  for (const socket of sockets.splice(0)) socket.destroy()
  await front.close(0)
})

/** Sends the head of a request and the beginning of its body. */
async function begin(path: string, token: string, length: number, bytes = ''): Promise<{ said: string }> {
  const socket = connect(Number(new URL(front.url).port), '127.0.0.1')
  sockets.push(socket)
  const heard = { said: '' }
  socket.on('error', () => {})
  socket.on('data', data => {
    heard.said += data.toString('latin1')
  })
  await new Promise(resolve => socket.once('connect', resolve))
  const head = `POST ${path} HTTP/1.1\r\nHost: x\r\n${token === '' ? '' : `X-Access-Token: ${token}\r\n`}`
  socket.write(`${head}Content-Type: application/json\r\nContent-Length: ${length}\r\n\r\n${bytes}`)
  return heard
}

async function until(good: () => boolean): Promise<void> {
  while (!good()) await sleep(5)
}

async function post(path: string, token: string): Promise<number> {
  const headers = { 'content-type': 'application/json', ...(token !== '' && { 'x-access-token': token }) }
  const response = await fetch(front.url + path, { method: 'POST', headers, body: '{"name":"n"}' })
  await response.arrayBuffer()
  return response.status
}

describe('calls that wait for their bodies', () => {
  test('of strangers make room for the next one, the oldest first', async () => {
    const most = limits.http.inFlightMax / 2
    const first = await begin('/open', '', 100, '{')
    await until(() => front.exchange.pending === 1)
    for (let count = 1; count < most; count++) await begin('/open', '', 100, '{')
    await until(() => front.exchange.pending === most)
    expect(await post('/open', '')).toBe(200)
    await until(() => first.said.includes('503'))
    expect(front.exchange.pending).toBe(most - 1)
    expect(await post('/known', 'root')).toBe(200)
  })

  test('of one account leave others theirs', async () => {
    const most = limits.http.inFlightMax * limits.http.accountShare
    for (let count = 0; count < most; count++) await begin('/known', 'alice', 100, '{')
    await until(() => front.exchange.pending === most)
    expect(await post('/known', 'alice')).toBe(503)
    expect(await post('/known', 'bob')).toBe(200)
    for (const socket of sockets.splice(0)) socket.destroy()
    await until(() => front.exchange.pending === 0)
    expect(await post('/known', 'alice')).toBe(200)
  })
})

test('a body that needs no token is short', async () => {
  const heard = await begin('/open', '', limits.http.strangeBodyBytesMax + 1)
  await until(() => heard.said.includes('413'))
  expect(await post('/open', '')).toBe(200)
})

test('what is held of strangers and of one account is a part of the whole', () => {
  const mib = 1024 * 1024
  const held = new Held(400 * mib)
  expect(held.take(100 * mib, strangers)).toBe(true)
  expect(held.take(1, strangers)).toBe(false)
  expect(held.take(200 * mib, 'anna')).toBe(true)
  expect(held.take(1, 'anna')).toBe(false)
  expect(held.take(50 * mib, 'bert')).toBe(true)
  expect(held.take(50 * mib)).toBe(true)
  expect(held.take(1)).toBe(false)
  held.give(100 * mib, strangers)
  held.hand(50 * mib, 'bert', 'anna')
  expect(held.take(100 * mib, 'bert')).toBe(true)
  expect(held.take(1, 'anna')).toBe(false)
  held.give(250 * mib, 'anna')
  held.give(100 * mib, 'bert')
  held.give(50 * mib)
  expect(held.bytes).toBe(0)
})
