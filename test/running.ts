// A running service for a test file: started once, its store checked after every test, closed at the end.

import { afterAll, afterEach, beforeAll, expect, inject } from 'vitest'
import type { ConfigPart } from '#config'
import { sleep } from '#lib/clock.ts'
import { type ServiceOptions, startTeal, type Teal } from '#service'

export interface Running {
  readonly teal: Teal
  /** Calls the API with the root token, or with `token`; JSON in, JSON out. */
  call(method: string, path: string, body?: unknown, token?: string | null): Promise<{ status: number; body: Body }>
  /** Calls the API and gives the answer as it is. */
  raw(method: string, path: string, init?: RequestInit): Promise<Response>
  /** Makes a user `name` with password `secret of <name>` and returns its id. */
  user(name: string, more?: Record<string, unknown>): Promise<string>
  /** Waits until no text waits to be indexed. */
  indexed(): Promise<void>
  /** Where a listener is. */
  at(listener: keyof Teal['listeners']): { host: string; port: number }
}

/** Threads that sessions live on: the suite runs with none and with some. */
export const threads = Number(process.env.TEAL_TEST_THREADS ?? 0)

/** Tests look into answers freely. */
export type Body = ReturnType<typeof JSON.parse>

/** The run of the tests may say what speaks HTTP. */
function withFront(options: ConfigPart): ConfigPart {
  const front = process.env.TEAL_API_FRONT as 'node:http' | undefined
  return front === undefined ? options : { ...options, api: { port: 0, front, ...options.api } }
}

interface Store {
  readonly options: ConfigPart
  /** Takes its database away. */
  end(): Promise<void>
}

/** The run of the tests may say which engine services store with: each gets a database of its own. */
async function withStore(options: ConfigPart): Promise<Store> {
  const cluster: string | undefined = inject('postgres')
  if (cluster === undefined || options.store !== undefined) return { options, end: async () => {} }
  const { dropDatabase, makeDatabase } = await import('./postgres/cluster.ts')
  const url = await makeDatabase(cluster)
  return { options: { ...options, store: { url } }, end: () => dropDatabase(url) }
}

/** Starts a service before the tests of the calling file and proves every invariant after each of them. */
export function useTeal(options: ConfigPart = {}): Running {
  let teal: Teal | undefined
  let store: Store | undefined
  const running = (): Teal => {
    if (teal === undefined) throw new Error('the service is not up')
    return teal
  }
  beforeAll(async () => {
    store = await withStore({ threads, ...options })
    teal = await startTeal(withFront(store.options), { strict: true })
  })
  afterEach(async () => {
    expect(await running().check()).toEqual([])
  })
  afterAll(async () => {
    await teal?.close()
    await store?.end()
  })
  return accessTo(running)
}

/** Starts a service that the calling file manages itself, with the engine that the run says; its database goes with it. */
export async function startOnEngine(options: ConfigPart = {}, how: ServiceOptions = { strict: true }): Promise<Teal> {
  const store = await withStore(options)
  const teal = await startTeal(store.options, how)
  const close = async () => {
    await teal.close()
    await store.end()
  }
  return { ...teal, close }
}

/** The same calls against a service that is managed otherwise. */
export function accessTo(running: () => Teal): Running {
  const raw: Running['raw'] = (method, path, init = {}) =>
    fetch(running().url + path, {
      method,
      ...init,
      headers: { 'x-access-token': running().rootToken, ...(init.headers as Record<string, string>) },
    })
  const call: Running['call'] = async (method, path, body, token) => {
    const headers: Record<string, string> = {}
    if (body !== undefined) headers['content-type'] = 'application/json'
    if (token !== null) headers['x-access-token'] = token ?? running().rootToken
    const init: RequestInit = { method, headers }
    if (body !== undefined) init.body = JSON.stringify(body)
    const response = await fetch(running().url + path, init)
    const text = await response.text()
    return { status: response.status, body: text === '' ? undefined : JSON.parse(text) }
  }
  return {
    get teal() {
      return running()
    },
    raw,
    call,
    async user(name, more = {}) {
      const form = { username: name, password: `secret of ${name}`, address: `${name}@example.com`, ...more }
      const { status, body } = await call('POST', '/users', form)
      expect(body).toMatchObject({ success: true })
      expect(status).toBe(200)
      return body.id
    },
    async indexed() {
      for (let tries = 0; tries < 600; tries++) {
        if ((await running().core.read.one('SELECT 1 FROM search_doc WHERE indexed = 0 LIMIT 1')) === undefined) return
        await sleep(25)
      }
      throw new Error('indexing does not end')
    },
    at(listener) {
      const found = running().listeners[listener]
      if (found === undefined) throw new Error(`no listener ${listener}`)
      return found
    },
  }
}
