// HTTP tests as tables: what is sent, which status comes back, what must and must not be in the answer, what follows.
//
// Each scenario is one test of its own over the wire; it says what it needs and depends on no other.

import net from 'node:net'
import { expect, test } from 'vitest'

export interface Target {
  /** Without a slash at the end. */
  readonly url: string
  /** Sent as X-Access-Token unless the scenario sends headers of that name. */
  readonly token?: string | undefined
}

export interface Reply {
  readonly status: number
  readonly headers: Headers
  readonly text: string
  /** The parsed body; undefined where it is not JSON. */
  readonly json: Record<string, unknown>
}

export interface Scenario {
  readonly name: string
  readonly method?: string
  /** Path with query. */
  readonly url: string | (() => string | Promise<string>)
  readonly headers?: Record<string, string>
  /** Plain objects are sent as JSON. */
  readonly body?: object | string | Uint8Array<ArrayBuffer> | FormData | URLSearchParams
  /** Instead of the target's; null sends none. */
  readonly token?: string | null | (() => string)
  readonly status: number
  /** Texts and patterns that must be in the answer's body. */
  readonly has?: readonly (string | RegExp)[]
  /** Texts and patterns that must not. */
  readonly lacks?: readonly (string | RegExp)[]
  /** What the JSON answer must match (toMatchObject). */
  readonly json?: object
  /** Answer headers. */
  readonly header?: Record<string, string | RegExp | null>
  /** Further checks, and what must be true afterwards. */
  after?(reply: Reply, target: Target): void | Promise<void>
}

/** Makes a test of every scenario. `target` is asked when the test runs. */
export function scenarios(target: () => Target, table: readonly Scenario[]): void {
  for (const scenario of table) test(scenario.name, () => run(target(), scenario))
}

export async function run(target: Target, scenario: Scenario): Promise<Reply> {
  const url = typeof scenario.url === 'string' ? scenario.url : await scenario.url()
  const given = typeof scenario.token === 'function' ? scenario.token() : scenario.token
  const token = given === undefined ? target.token : given
  const headers = { ...(token == null ? {} : { 'x-access-token': token }), ...scenario.headers }
  const reply = await send(target, scenario.method ?? 'GET', url, scenario.body, headers)
  expect(reply.status, reply.text).toBe(scenario.status)
  for (const [name, value] of Object.entries(scenario.header ?? {})) {
    if (value instanceof RegExp) expect(reply.headers.get(name)).toMatch(value)
    else expect(reply.headers.get(name)).toBe(value)
  }
  for (const part of scenario.has ?? []) expect(reply.text).toMatch(part)
  for (const part of scenario.lacks ?? []) expect(reply.text).not.toMatch(part)
  if (scenario.json !== undefined) expect(reply.json).toMatchObject(scenario.json)
  if (reply.headers.get('content-type')?.startsWith('application/json')) envelope(reply)
  await scenario.after?.(reply, target)
  return reply
}

/** Sends one request and reads the whole answer. */
export async function send(
  target: Target,
  method: string,
  path: string,
  body?: Scenario['body'],
  headers: Record<string, string> = {},
): Promise<Reply> {
  const plain = body !== undefined && isPlain(body)
  const type: Record<string, string> = plain ? { 'content-type': 'application/json' } : {}
  const payload = plain ? JSON.stringify(body) : (body as string | Uint8Array<ArrayBuffer> | FormData | undefined)
  const response = await fetch(target.url + path, {
    method,
    headers: { ...type, ...headers },
    body: payload ?? null,
    redirect: 'manual',
  })
  const text = await response.text()
  return { status: response.status, headers: response.headers, text, json: parse(text) }
}

/**
 * Bytes as they are, on a connection of their own; what came back until it was silent for `ms` or closed. For the first of it a busy machine
 * has ten times as long.
 */
export function sendBytes(target: Target, bytes: string | Buffer, ms = 300): Promise<string> {
  const { hostname, port } = new URL(target.url)
  return new Promise(resolve => {
    let received = ''
    const socket = net.connect(Number(port), hostname)
    const end = () => {
      socket.destroy()
      resolve(received)
    }
    socket.setTimeout(10 * ms, end)
    socket.on('data', data => {
      socket.setTimeout(ms)
      received += data.toString('latin1')
    })
    socket.on('error', end)
    socket.on('close', end)
    socket.write(bytes)
  })
}

/** What every JSON answer of the API has in common. */
function envelope(reply: Reply): void {
  expect(reply.text.endsWith('\n')).toBe(true)
  expect(reply.headers.get('x-request-id')).toMatch(/./)
  if (reply.status < 400) return
  if ('error' in reply.json) {
    expect(typeof reply.json.error).toBe('string')
    expect(reply.json.success).toBeUndefined()
  }
}

function isPlain(body: object | string): body is object {
  return typeof body === 'object' && Object.getPrototypeOf(body) === Object.prototype
}

function parse(text: string): Record<string, unknown> {
  try {
    return JSON.parse(text) as Record<string, unknown>
  } catch {
    return undefined as unknown as Record<string, unknown>
  }
}
