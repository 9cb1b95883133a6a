// The HTTP server of `teal dev`: lets in whom the guard welcomes, finds the route, answers, and ends what is open at the end.
//
// Node's own server, since it is for one developer on one machine; everything it serves is made elsewhere.

import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { Fault } from '#lib/fault.ts'
import { limits } from '#lib/limits.ts'
import type { Log } from '#lib/log.ts'
import { detach } from '#lib/process/background.ts'
import {
  type Answer,
  bodyOf,
  json,
  paramsOf,
  parseObject,
  type Route,
  Unwelcome,
  write,
  writeOpen,
} from './exchange.ts'
import { type GuardRules, refusal } from './guard.ts'

export interface DevServerOptions {
  readonly host: string
  /** 0 takes a free one. */
  readonly port: number
  readonly rules: GuardRules
  readonly routes: readonly Route[]
  readonly log: Log
}

export class DevServer {
  readonly #options: DevServerOptions
  readonly #server: Server
  readonly #streams = new Set<() => void>()
  port = 0

  private constructor(options: DevServerOptions) {
    this.#options = options
    const server = createServer({ maxHeaderSize: limits.http.headerBytesMax, requestTimeout: 0 })
    server.on('request', (request: IncomingMessage, response: ServerResponse) => {
      this.#take(request, response).catch(error => {
        options.log.error({ error }, 'a request could not be answered')
        write(response, json({ code: 'Internal', Error: 'Internal error', message: 'Internal error' }, 500))
      })
    })
    server.on('connection', socket => detach(socket))
    this.#server = server
  }

  /** @throws Fault PortInUse */
  static async open(options: DevServerOptions): Promise<DevServer> {
    const opened = new DevServer(options)
    await opened.#listen()
    return opened
  }

  /** Ends what is open, waiting calls too. */
  async close(): Promise<void> {
    const closed = new Promise<void>(resolve => this.#server.close(() => resolve()))
    for (const end of [...this.#streams]) end()
    this.#server.closeAllConnections()
    await closed
  }

  #listen(): Promise<void> {
    const { host, port } = this.#options
    const server = this.#server
    return new Promise((resolve, reject) => {
      server.once('error', cause => {
        const what = (cause as NodeJS.ErrnoException).code === 'EADDRINUSE' ? 'is in use already' : 'cannot be used'
        reject(new Fault('PortInUse', { text: `${host}:${port} ${what}`, cause }))
      })
      server.listen({ host, port }, () => {
        detach(server)
        this.port = (server.address() as { port: number }).port
        resolve()
      })
    })
  }

  async #take(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { method = 'GET', url = '/' } = request
    const head = method === 'HEAD'
    const mark = url.indexOf('?')
    const path = mark < 0 ? url : url.slice(0, mark)
    const { host, origin, 'sec-fetch-site': site, 'sec-fetch-mode': mode } = request.headers
    const one = (value: string | string[] | undefined) => (Array.isArray(value) ? value.join() : value)
    const asking = { method, path, host, origin, site: one(site), mode: one(mode) }
    const reason = refusal(asking, this.#options.rules)
    if (reason !== undefined) return write(response, told(new Unwelcome(403, 'Forbidden', reason)), head)
    const left = new AbortController()
    response.once('close', () => left.abort())
    try {
      const { route, params } = this.#find(head ? 'GET' : method, path)
      const query = new URLSearchParams(mark < 0 ? '' : url.slice(mark + 1))
      const type = (request.headers['content-type'] ?? '').split(';')[0]?.trim().toLowerCase() ?? ''
      const object = async () => parseObject(await bodyOf(request))
      const header = (name: string) => one(request.headers[name]) ?? ''
      const call = {
        method,
        path,
        query,
        params,
        type,
        header,
        signal: left.signal,
        body: () => bodyOf(request),
        object,
      }
      const answer = await route.run(call)
      if ('body' in answer) write(response, answer, head)
      else this.#stream(response, answer.type, answer.open.bind(answer))
    } catch (error) {
      if (error instanceof Unwelcome) write(response, told(error), head)
      else if (!left.signal.aborted) throw error
    }
  }

  #find(method: string, path: string): { route: Route; params: Record<string, string> } {
    let known = false
    for (const route of this.#options.routes) {
      const params = paramsOf(route.path, path)
      if (params === undefined) continue
      if (route.method === method) return { route, params }
      known = true
    }
    if (known) throw new Unwelcome(405, 'MethodNotAllowed', `${path} does not take ${method}`)
    throw new Unwelcome(404, 'NotFound', `There is nothing at ${path}`)
  }

  #stream(response: ServerResponse, type: string, open: (send: (text: string) => void) => () => void): void {
    const leave = open(writeOpen(response, type))
    const end = () => {
      this.#streams.delete(end)
      leave()
      response.end()
    }
    this.#streams.add(end)
    response.once('close', end)
  }
}

/** `Error` is where those look who know Mailpit's answers. */
function told({ status, code, message, more }: Unwelcome): Answer {
  return json({ code, message, Error: message, ...more }, status)
}
