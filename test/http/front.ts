// A front end with endpoints of the test's own, on a free port.

import pino from 'pino'
import type { Caller } from '#http/guard/access.ts'
import type { HttpBounds } from '#http/guard/connections.ts'
import type { Proxies } from '#http/guard/forwarded.ts'
import type { HttpTls } from '#http/guard/pem-files.ts'
import { RequestCounters } from '#http/request-counters.ts'
import { Fault } from '#lib/fault.ts'
import type { Log } from '#lib/log.ts'
import { makeMetrics } from '#lib/metrics.ts'
import type { Endpoint } from '../../src/http/endpoint.ts'
import { Exchange, type Identify } from '../../src/http/exchange.ts'
import { type FrontChoice, listenHttp } from '../../src/http/server.ts'
import type { Target } from './scenario.ts'

export const alice = '507f1f77bcf86cd799439011'
export const bob = '507f1f77bcf86cd799439012'

const tokens: Record<string, Caller> = {
  root: { role: 'root', user: null, tokenKind: 'provisioned' },
  alice: { role: 'user', user: alice, tokenKind: 'user' },
  bob: { role: 'user', user: bob, tokenKind: 'user' },
  auth: { role: 'auth', user: null, tokenKind: 'provisioned' },
  downloader: { role: 'downloader', user: null, tokenKind: 'provisioned' },
}

export interface Front extends Target {
  readonly exchange: Exchange
  readonly metrics: ReturnType<typeof makeMetrics>
  /** Lines of the log. */
  readonly lines: Record<string, unknown>[]
  /** What speaks HTTP. */
  readonly serves: string
  close(drainMs?: number): Promise<void>
}

export interface FrontOptions {
  readonly identify?: Identify
  readonly origins?: readonly string[]
  readonly strict?: boolean
  readonly token?: string
  readonly bounds?: HttpBounds
  readonly tls?: HttpTls
  readonly proxies?: Proxies
}

/** What the run of the tests was told to take. */
export const front = (process.env.TEAL_API_FRONT ?? 'auto') as FrontChoice

export async function startFront(endpoints: readonly Endpoint[], options: FrontOptions = {}): Promise<Front> {
  const lines: Record<string, unknown>[] = []
  const log: Log = pino(
    { level: 'debug', serializers: { error: pino.stdSerializers.err } },
    { write: (line: string) => lines.push(JSON.parse(line) as Record<string, unknown>) },
  )
  const metrics = makeMetrics('1.2.3')
  const exchange = new Exchange({
    endpoints: () => endpoints,
    identify: options.identify ?? identify,
    log,
    counters: new RequestCounters(metrics),
    cors: { origins: options.origins ?? ['*'] },
    ...(options.proxies !== undefined && { proxies: options.proxies }),
    strict: options.strict ?? true,
  })
  const { bounds, tls } = options
  const how = { ...(bounds === undefined ? {} : { bounds }), ...(tls === undefined ? {} : { tls }) }
  const server = await listenHttp(exchange, { host: '127.0.0.1', port: 0, front, ...how })
  const url = `http${tls === undefined ? '' : 's'}://127.0.0.1:${server.port}`
  const token = options.token ?? 'root'
  const close = (drainMs?: number) => server.close(drainMs)
  return { url, token, exchange, metrics, lines, serves: server.front, close }
}

async function identify(token: string | null): Promise<Caller> {
  const caller = token === null ? undefined : tokens[token]
  if (caller === undefined) throw new Fault('InvalidToken')
  return caller
}
