// The listener of HTTP: an exchange behind one of the fronts (front/), started, renewed and drained.
//
// Which front serves is chosen when a listener opens: uWebSockets.js where its native part loads, Node's own otherwise, or
// the one that was asked for. The service tells which it was.

import { every, type Timer } from '#lib/clock.ts'
import { limits } from '#lib/limits.ts'
import { isPipe, socketPath } from '#lib/process/socket-path.ts'
import type { Exchange } from './exchange.ts'
import type { Announces, Front, FrontName, Listening } from './front/front.ts'
import { type HttpBounds, HttpConnections } from './guard/connections.ts'
import type { HttpTls } from './guard/pem-files.ts'

/** 'auto' takes the fastest that loads. */
export type FrontChoice = 'auto' | FrontName

export interface HttpOptions {
  readonly host: string
  /** 0 takes a free one. */
  readonly port: number
  /** HTTPS with these certificates; plain HTTP without. */
  readonly tls?: HttpTls
  /** How many may connect. Default: anybody. */
  readonly bounds?: HttpBounds
  /** Peers that begin each connection with the PROXY protocol, and must. Default: nobody, and nobody is believed. */
  readonly announces?: Announces | undefined
  /** Other threads listen on the same port: then Node's own front serves. */
  readonly shared?: boolean
  /** Default: auto. */
  readonly front?: FrontChoice
}

/** Listens. Rejects where the port is taken or the address is not ours, or the front that was asked for does not load. */
export async function listenHttp(exchange: Exchange, options: HttpOptions): Promise<HttpServer> {
  const { host, port, tls, bounds, announces, shared = false, front: choice = 'auto' } = options
  // uWebSockets.js knows version 2 alone, without TLS, and has it from anybody; and a thread that is ended with one of its ports
  // open takes the process along, which nobody can keep a thread from that hangs or is out of memory.
  const front = await openFront(announces === undefined && !shared ? choice : 'node:http')
  const connections = bounds === undefined ? null : new HttpConnections(bounds)
  const serve = exchange.handle.bind(exchange)
  const listening = await front.listen(serve, { host, port, tls, connections, announces, shared })
  return new HttpServer({ front, listening, exchange, connections, host })
}

/**
 * Listens on a socket in the file system, which nobody but the owner of this process may open; on Windows on a named pipe.
 *
 * @throws Fault DataDirectoryUnusable where the path is too long or cannot be used
 */
export async function listenLocal(exchange: Exchange, path: string, choice: FrontChoice = 'auto'): Promise<HttpServer> {
  const front = await openFront(isPipe(path) ? 'node:http' : choice)
  const named = socketPath(path)
  try {
    const listening = await front.listenLocal(exchange.handle.bind(exchange), named.path)
    return new HttpServer({ front, listening, exchange, connections: null, host: path, release: named.release })
  } catch (error) {
    named.release()
    throw error
  }
}

async function openFront(choice: FrontChoice): Promise<Front> {
  // Loaded here and not above: one may not load, and nobody needs both.
  const openUws = async () => (await import('./front/uws.ts')).openUws()
  const openNode = async () => (await import('./front/node.ts')).openNode()
  if (choice === 'node:http') return openNode()
  return choice === 'auto' ? openUws().catch(openNode) : openUws()
}

interface Served {
  readonly front: Front
  readonly listening: Listening
  readonly exchange: Exchange
  readonly connections: HttpConnections | null
  readonly host: string
  /** Called when nothing is open any more. */
  release?(): void
}

export class HttpServer {
  readonly host: string
  readonly port: number
  /** What serves. */
  readonly front: FrontName
  readonly #served: Served
  readonly #sweeper: Timer
  #closed = false

  constructor(served: Served) {
    this.#served = served
    this.host = served.host
    this.port = served.listening.port
    this.front = served.front.name
    this.#sweeper = every(limits.http.sweepMs, () => served.exchange.sweep())
  }

  /**
   * Uses other certificates for connections from now on; those that are open go on, for a while. May be called again
   * after a fault.
   *
   * @throws Fault PortInUse
   */
  async renew(tls: HttpTls): Promise<void> {
    if (!this.#closed) await this.#served.listening.renew(tls)
  }

  /** Stops listening, lets requests under way end within `drainMs`, then closes every connection. */
  async close(drainMs: number = limits.http.drainMs): Promise<void> {
    if (this.#closed) return
    this.#closed = true
    const { listening, exchange, connections } = this.#served
    listening.stop()
    await exchange.stop(drainMs)
    this.#sweeper.cancel()
    await listening.close()
    connections?.close()
    this.#served.release?.()
  }
}
