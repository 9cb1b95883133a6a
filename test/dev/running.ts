// A `teal dev` for a test file, on free ports: started once, its store checked after every test.

import { afterAll, afterEach, beforeAll, expect } from 'vitest'
import { type Dev, type DevOptions, startDev } from '#dev/dev.ts'
import { deliver, writeDraft } from '#testing/sending.ts'
import type { Draft } from '../../src/testing.d.ts'
import type { Body } from '../running.ts'

const freePorts = { smtp: 0, http: 0, imap: 0, pop3: 0 }

export interface Developing {
  readonly dev: Dev
  call(
    method: string,
    path: string,
    body?: unknown,
    headers?: Record<string, string>,
  ): Promise<{ status: number; body: Body }>
  send(draft: Draft, to: string): Promise<void>
}

export function useDev(options: DevOptions = {}): Developing {
  let dev: Dev | undefined
  const running = (): Dev => {
    if (dev === undefined) throw new Error('it is not up')
    return dev
  }
  beforeAll(async () => {
    dev = await startDev({ ports: freePorts, ...options })
  })
  afterEach(async () => {
    expect(await running().host.teal.check()).toEqual([])
  })
  afterAll(() => dev?.close())
  return {
    get dev() {
      return running()
    },
    async call(method, path, body, headers = {}) {
      const init: RequestInit = { method, headers }
      if (typeof body === 'string' || Buffer.isBuffer(body)) init.body = body as string
      else if (body !== undefined) init.body = JSON.stringify(body)
      const answer = await fetch(running().url + path, init)
      const text = await answer.text()
      const isJson = answer.headers.get('content-type')?.startsWith('application/json') === true
      return { status: answer.status, body: isJson ? JSON.parse(text) : text }
    },
    async send(draft, to) {
      const port = running().ports.smtp ?? 0
      await deliver({ host: '127.0.0.1', port }, { from: 'app@example.com', to: [to] }, await writeDraft(draft))
    },
  }
}
