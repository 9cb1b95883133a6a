// Events and their delivery without the rest of the service: a store, a directory that emits, and subscribers that are
// real HTTP servers on loopback and do whatever a test tells them to.

import { mkdtempSync, rmSync } from 'node:fs'
import { createServer, type IncomingHttpHeaders, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { DirectoryState } from '#actors/admin/directory.ts'
import { Subscriptions, WebhookHandle } from '#actors/admin/webhook.ts'
import type { Command } from '#actors/kernel/actor.ts'
import type { EventName, Events } from '#actors/kernel/events.ts'
import { JobWriter, type SharedQueues } from '#actors/kernel/job-writer.ts'
import { ActorSystem } from '#actors/kernel/system.ts'
import { startWebhooks, type Webhooks } from '#jobs/webhooks/webhooks.ts'
import { now, sleep } from '#lib/clock.ts'
import { newId } from '#lib/id.ts'
import { makeLog } from '#lib/log.ts'
import { makeMetrics } from '#lib/metrics.ts'
import { SecretBox } from '#lib/secret/secret-box.ts'
import { UrlSecrets } from '#lib/secret/url-secret.ts'
import { Outward, type OutwardOptions } from '#net/outward/outward.ts'
import type { Reader } from '#store/engine/reader.ts'
import { Sequence } from '#store/engine/sequence.ts'
import { openReader } from '#store/engine/sqlite/reader.ts'
import { Settings } from '#store/folder/settings.ts'
import { checkStore } from '#store/upkeep/check.ts'
import { Writer } from '#store/writer/writer.ts'

export interface Outbox {
  readonly dir: string
  readonly read: Reader
  readonly handle: WebhookHandle
  readonly webhooks: Webhooks
  readonly metrics: ReturnType<typeof makeMetrics>
  readonly writer: Writer
  /** Emits events in one unit; resolves when they are on disk. */
  emit<Name extends EventName>(...events: [name: Name, body: Events[Name]][]): Promise<void>
  subscribe(url: string, type?: readonly string[], user?: string | null, secret?: string | null): Promise<string>
  /** Every broken invariant of the store. */
  check(): Promise<string[]>
  close(): Promise<void>
}

export interface OutboxOptions {
  readonly dir?: string
  readonly timeoutMs?: number
  readonly outward?: Partial<OutwardOptions>
  readonly delivering?: boolean
  /** Whose the queues are, where nodes share them. */
  readonly shared?: SharedQueues
}

const emitAll: Command<DirectoryState, [EventName, object][], void> = {
  name: 'test.emit',
  run(turn, events) {
    for (const [name, body] of events) turn.emit(name, body as never)
  },
}

/** Opens the store in `dir`, or in a directory of its own that goes away with it. */
export async function openOutbox(options: OutboxOptions = {}): Promise<Outbox> {
  const dir = options.dir ?? mkdtempSync(join(tmpdir(), 'teal-outbox-'))
  const log = makeLog('silent')
  const metrics = makeMetrics('test')
  const file = join(dir, 'teal.db')
  const writer = await Writer.open({ file, log, metrics })
  const read = openReader(file)
  const seal = new SecretBox('of this test', Buffer.alloc(16))
  const subscriptions = await Subscriptions.open(read, seal, options.delivering ?? true)
  let kick = () => {}
  const system = new ActorSystem(
    {
      read,
      writer,
      sequence: await Sequence.open(read),
      settings: await Settings.open(read),
      kick: () => kick(),
      wanted: name => subscriptions.wanted(name),
      learns: true,
    },
    new UrlSecrets(seal),
    metrics,
  )
  const handle = new WebhookHandle(system.directory, subscriptions, seal)
  const outward = new Outward({ allowPrivate: ['127.0.0.0/8'], ...options.outward })
  const timeoutMs = options.timeoutMs ?? 5000
  const jobWriter = new JobWriter(writer, options.shared)
  const form = {
    read,
    writer: jobWriter,
    handle,
    outward,
    log,
    metrics,
    timeoutMs,
    hostname: 'mx.example.com',
    version: '0',
  }
  const webhooks = startWebhooks(form)
  kick = webhooks.kick
  return {
    dir,
    read,
    handle,
    webhooks,
    metrics,
    writer,
    emit: (...events) => system.directory.run(emitAll, events),
    subscribe: (url, type = ['*'], user = null, secret = null) => handle.create({ url, type, user, secret }),
    check: () => checkStore(read),
    async close() {
      await webhooks.close()
      await system.close()
      read.close()
      await writer.close()
      if (options.dir === undefined) rmSync(dir, { recursive: true, force: true })
    },
  }
}

interface Call {
  readonly method: string
  readonly path: string
  readonly headers: IncomingHttpHeaders
  /** The JSON that came. */
  readonly body: Record<string, unknown>
  readonly text: string
  readonly at: number
}

export interface Subscriber {
  readonly url: string
  readonly port: number
  readonly calls: Call[]
  /** Calls that were answered 2xx. */
  readonly taken: Call[]
  /** What it does with a call; answers 200 unless told otherwise. */
  behave(how: (call: Call, response: ServerResponse, socket: Socket) => void): void
  /** Answers 200 again. */
  heal(): void
  close(): Promise<void>
}

const fine = (_call: Call, response: ServerResponse) => void response.writeHead(200).end('ok')

/** A subscriber on `port` of 127.0.0.1, 0 for a free one. */
export async function openSubscriber(port = 0): Promise<Subscriber> {
  const calls: Call[] = []
  const taken: Call[] = []
  let how: Parameters<Subscriber['behave']>[0] = fine
  const server: Server = createServer((request, response) => {
    let text = ''
    request.setEncoding('utf8')
    request.on('data', chunk => {
      text += chunk
    })
    request.on('error', () => {})
    request.on('end', () => {
      const { method = '', url: path = '', headers } = request
      const body = text === '' ? {} : (JSON.parse(text) as Record<string, unknown>)
      const call = { method, path, headers, body, text, at: now() }
      calls.push(call)
      response.on('finish', () => {
        if (response.statusCode >= 200 && response.statusCode < 300) taken.push(call)
      })
      how(call, response, request.socket)
    })
  })
  server.keepAliveTimeout = 30_000
  await new Promise<void>(resolve => server.listen(port, '127.0.0.1', resolve))
  const own = (server.address() as AddressInfo).port
  return {
    url: `http://127.0.0.1:${own}/hook`,
    port: own,
    calls,
    taken,
    behave(next) {
      how = next
    },
    heal() {
      how = fine
    },
    close: () =>
      new Promise(resolve => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}

/** Waits until `condition` holds; fails with `what` when it does not for `ms`. */
export async function until(what: string, condition: () => boolean | Promise<boolean>, ms = 10_000): Promise<void> {
  for (let waited = 0; !(await condition()); waited += 5) {
    if (waited > ms) throw new Error(`waited in vain for ${what}`)
    await sleep(5)
  }
}

/** An account's id. */
export const someUser = () => newId()
