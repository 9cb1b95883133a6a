// A front end with endpoints of the test's own, on a free port.

import pino from 'pino'
import type { FrontCalls, FrontWords, HomeCalls, HomeWords } from '#front/protocol.ts'
import { Away } from '#http/elsewhere/away.ts'
import { Answering, endpointsByName } from '#http/elsewhere/home.ts'
import type { Caller } from '#http/guard/access.ts'
import type { HttpBounds } from '#http/guard/connections.ts'
import type { Proxies } from '#http/guard/forwarded.ts'
import type { HttpTls } from '#http/guard/pem-files.ts'
import { RequestCounters } from '#http/request-counters.ts'
import { Fault } from '#lib/fault.ts'
import type { Log } from '#lib/log.ts'
import { makeMetrics } from '#lib/metrics.ts'
import { Link, newLine } from '#lib/process/link.ts'
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
  /** What speaks HTTP there, whatever the run was told. */
  readonly choice?: FrontChoice
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
  const afar = isAfar ? overLine(endpoints) : undefined
  const exchange = new Exchange({
    endpoints: () => afar?.endpoints ?? endpoints,
    identify: options.identify ?? identify,
    log,
    counters: new RequestCounters(metrics),
    cors: { origins: options.origins ?? ['*'] },
    ...(options.proxies !== undefined && { proxies: options.proxies }),
    strict: options.strict ?? true,
  })
  const { bounds, tls, choice = front } = options
  const how = { ...(bounds === undefined ? {} : { bounds }), ...(tls === undefined ? {} : { tls }) }
  const server = await listenHttp(exchange, { host: '127.0.0.1', port: 0, front: choice, ...how })
  const url = `http${tls === undefined ? '' : 's'}://127.0.0.1:${server.port}`
  const token = options.token ?? 'root'
  const close = async (drainMs?: number) => {
    await server.close(drainMs)
    afar?.close()
  }
  return { url, token, exchange, metrics, lines, serves: server.front, close }
}

/** With sessions on threads of their own endpoints answer over the line that lies between. */
const isAfar = Number(process.env.TEAL_TEST_THREADS ?? 0) > 0

type Asks = Pick<HomeCalls, 'ask' | 'pull'>
type Says = Pick<HomeWords, 'leaveAnswer'>
type Sends = Pick<FrontCalls, 'piece' | 'whole'>
type Drops = Pick<FrontWords, 'dropBody'>

function overLine(all: readonly Endpoint[]): { endpoints: readonly Endpoint[]; close(): void } {
  const [here, there] = newLine()
  const away: Away = new Away({
    ask: asked => front.call('ask', asked),
    pull: number => front.call('pull', number),
    leave: number => front.tell('leaveAnswer', number),
  })
  const front = new Link<Sends, Drops, Asks, Says>(here, {
    calls: { piece: number => away.piece(number), whole: number => away.whole(number) },
    words: { dropBody: number => away.drop(number) },
  })
  const answering: Answering = new Answering(
    endpointsByName(() => all),
    {
      piece: number => home.call('piece', number),
      whole: number => home.call('whole', number),
      drop: number => home.tell('dropBody', number),
    },
  )
  const home = new Link<Asks, Says, Sends, Drops>(there, {
    calls: {
      ask: asked => answering.ask(asked),
      pull: number => answering.pull(number),
    },
    words: { leaveAnswer: number => answering.leave(number) },
  })
  const close = () => {
    answering.end()
    for (const end of [front, home]) end.break(new Fault('Stopping'))
  }
  return { endpoints: away.endpoints(all), close }
}

async function identify(token: string | null): Promise<Caller> {
  const caller = token === null ? undefined : tokens[token]
  if (caller === undefined) throw new Fault('InvalidToken')
  return caller
}
