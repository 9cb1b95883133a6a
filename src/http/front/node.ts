// Node's own HTTP behind the seam: for systems that uWebSockets.js has no native part for, and for programs that have Teal
// inside of them.
//
// Requests of one connection are answered one after the other. Whoever is to send or to take something and is silent for
// `idleMs` is cut off, as uWebSockets.js does; so is who sends a head for longer. The strict parser is used whatever the
// process was told: a length and a coding together, two lengths or two hosts never come in, since somebody in front may
// have read them otherwise (RFC 9112 6.3, 11.2). What the parser refuses is answered without it.

import { rmSync } from 'node:fs'
import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import type { Server as SecureServer } from 'node:https'
import type { Duplex } from 'node:stream'
import { after, breathe } from '#lib/clock.ts'
import { Fault } from '#lib/fault.ts'
import { limits } from '#lib/limits.ts'
import { detach } from '#lib/process/background.ts'
import { plainHttp, secureHttp } from '#lib/process/lazy.ts'
import { hearAtOnce } from '#lib/process/link.ts'
import { isPipe } from '#lib/process/socket-path.ts'
import { unusable } from '#net/listener.ts'
import { announced, visitorAddress } from '#net/proxy-header.ts'
import { contextOptions, TlsStore } from '#net/tls/tls.ts'
import type { HttpConnections } from '../guard/connections.ts'
import type { HttpTls } from '../guard/pem-files.ts'
import { statusLine } from '../wire.ts'
import type { Front, ListenForm, Listening, Serve } from './front.ts'
import { NodeWire } from './node-wire.ts'
import { RefusedWire } from './refused-wire.ts'

export function openNode(): Front {
  return {
    name: 'node:http',
    async listen(serve, form) {
      const listening = new NodeListening(serve, form)
      const { host, port, shared: reusePort = false } = form
      const where = { host, port, reusePort, backlog: limits.net.acceptLengthMax }
      await listening.open(where, cause => unusable(host, port, cause))
      return listening
    },
    async listenLocal(serve, path) {
      const listening = new NodeListening(serve, { host: '', port: 0, tls: undefined, connections: null })
      if (!isPipe(path)) rmSync(path, { force: true })
      const before = process.umask(0o177)
      try {
        const text = `The socket ${path} cannot be made`
        await listening.open({ path }, cause => new Fault('DataDirectoryUnusable', { text, cause }))
      } finally {
        process.umask(before)
      }
      return listening
    },
  }
}

const strict = {
  insecureHTTPParser: false,
  requireHostHeader: true,
  maxHeaderSize: limits.http.headerBytesMax,
  headersTimeout: limits.http.idleMs,
  // Heads have their time above and bodies theirs in the exchange; this is for what comes after an answer.
  requestTimeout: 2 * limits.http.bodyMs,
  keepAliveTimeout: limits.http.idleMs,
  connectionsCheckingInterval: limits.http.sweepMs,
  noDelay: true,
} as const

class NodeListening implements Listening {
  port = 0
  readonly #serve: Serve
  readonly #connections: HttpConnections | null
  readonly #server: Server | SecureServer
  /** As they were accepted: before TLS. */
  readonly #sockets = new Set<Socket>()
  /** By the peer, since TLS has a socket of its own on top. */
  readonly #accepted = new Map<string, Socket>()
  readonly #lines = new WeakMap<Duplex, Line>()
  #names: TlsStore | undefined
  #closed: Promise<void> | undefined

  constructor(serve: Serve, { tls, connections, announces }: ListenForm) {
    this.#serve = serve
    this.#connections = connections
    this.#server = tls === undefined ? plainHttp().createServer(strict) : this.#secure(tls)
    const server = this.#server
    // All headers that fit are seen; the parser would drop what comes after the first 2000.
    server.maxHeadersCount = 0
    server.timeout = limits.http.idleMs
    // Who is idle when the service stops is told so, as long as others are being answered.
    server.closeIdleConnections = () => {}
    server.on('connection', (socket: Socket) => this.#accept(socket))
    if (announces !== undefined) announced(server, announces, socket => this.#keep(socket))
    server.on('request', (req: IncomingMessage, res: ServerResponse) => this.#take(req, res))
    server.on('clientError', (error, socket) => this.#refuse(error, socket))
    // Without TLS nothing can be said, and what waits to be said would hold the connection for ever. Told to clientError before.
    server.on('tlsClientError', (_, socket: Socket) => socket.destroy())
    server.on('connect', (req: IncomingMessage, socket: Duplex) => {
      refuseConnect(serve, req, socket)
    })
  }

  open(
    where: { host: string; port: number; reusePort: boolean; backlog: number } | { path: string },
    refused: (cause: Error) => Fault,
  ): Promise<void> {
    const server = this.#server
    return new Promise((resolve, reject) => {
      const failed = (cause: Error) => reject(refused(cause))
      server.once('error', failed)
      server.listen(where, () => {
        server.off('error', failed)
        // What fails later is one connection that could not be accepted.
        server.on('error', () => {})
        const address = server.address()
        if (address !== null && typeof address === 'object') this.port = address.port
        detach(server)
        resolve()
      })
    })
  }

  async renew(tls: HttpTls): Promise<void> {
    const options = contextOptions(tls.initial)
    this.#names = named(tls)
    ;(this.#server as SecureServer).setSecureContext(options)
  }

  stop(): void {
    this.#closed ??= new Promise(resolve => this.#server.close(() => resolve()))
  }

  async close(): Promise<void> {
    this.stop()
    // Last answers were handed over in this round of the loop and leave in the next.
    await breathe()
    for (const socket of this.#sockets) {
      if (socket.writableLength === 0) socket.destroy()
      else socket.destroySoon()
    }
    const late = after(limits.http.lastBytesMs, () => {
      for (const socket of this.#sockets) socket.destroy()
    })
    await this.#closed
    late.cancel()
  }

  #secure(tls: HttpTls): SecureServer {
    this.#names = named(tls)
    return secureHttp().createServer({
      ...strict,
      ...contextOptions(tls.initial),
      handshakeTimeout: limits.http.idleMs,
      SNICallback: (name, done) => done(null, this.#names?.context(name)),
    })
  }

  /** Whoever is refused is closed before he can say anything. */
  #accept(socket: Socket): void {
    this.#keep(detach(socket))
    const connections = this.#connections
    const peer = peerOf(socket)
    const gone = connections?.opened(visitorAddress(socket), () => void socket.destroy())
    this.#accepted.set(peer, socket)
    socket.on('error', () => socket.destroy())
    socket.on('close', () => {
      if (this.#accepted.get(peer) === socket) this.#accepted.delete(peer)
      gone?.()
      connections?.closed()
    })
    if (connections !== null && gone === undefined) socket.destroy()
  }

  #keep(socket: Socket): void {
    if (this.#sockets.has(socket)) return
    this.#sockets.add(socket)
    socket.on('close', () => this.#sockets.delete(socket))
  }

  #take(req: IncomingMessage, res: ServerResponse): void {
    hearAtOnce()
    const { socket } = req
    let line = this.#lines.get(socket)
    if (line === undefined) {
      const address = visitorAddress(this.#accepted.get(peerOf(socket)) ?? socket)
      line = { address, busy: false, waiting: [] }
      this.#lines.set(socket, line)
      detach(socket)
    }
    if (!line.busy) this.#answer(line, req, res)
    else if (line.waiting.length < limits.http.pipelineLengthMax) line.waiting.push({ req, res })
    else socket.destroy()
  }

  #answer(line: Line, req: IncomingMessage, res: ServerResponse): void {
    // Also where it is refused: what came along with it is not answered, nor done.
    line.busy = true
    if (req.httpVersionMajor !== 1 || isDoubtful(req)) {
      req.socket.end(plainAnswer(400), () => req.socket.destroy())
      return
    }
    res.once('close', () => {
      line.busy = false
      const next = line.waiting.shift()
      if (next !== undefined && !req.socket.destroyed && !req.socket.writableEnded)
        this.#answer(line, next.req, next.res)
    })
    const wire = new NodeWire(req, res, this.#connections, line.address)
    if (this.#connections?.watching === true) this.#connections.heard(wire.address())
    const call = this.#serve(wire)
    wire.leave(() => call.abort(new Error('The client has gone')))
  }

  /** The parser gave up: there is nothing but the bytes. */
  #refuse(error: NodeJS.ErrnoException & { rawPacket?: Buffer }, socket: Duplex): void {
    // In the middle of an answer nothing can be said.
    if (!socket.writable || this.#lines.get(socket)?.busy === true) return void socket.destroy()
    const [, method, path = '/'] = /^([!#$%&'*+.^_`|~\w-]{1,64}) (\/[^\s]*) HTTP\/1\.[01]\r\n/.exec(
      error.rawPacket?.subarray(0, limits.http.headerBytesMax).toString('latin1') ?? '',
    ) ?? [undefined, undefined]
    if (error.code === 'HPE_INVALID_METHOD' && method !== undefined && !plainHttp().METHODS.includes(method)) {
      this.#serve(new RefusedWire(method, path, socket))
      return
    }
    const status = statuses[error.code ?? ''] ?? 400
    socket.end(plainAnswer(status), () => socket.destroy())
  }
}

type Socket = IncomingMessage['socket']

/** What tells the connections that are open apart. */
function peerOf(socket: Socket): string {
  return `${socket.remoteAddress} ${socket.remotePort}`
}

/** Requests of one connection. */
interface Line {
  /** Of the visitor. */
  readonly address: string
  /** One is being answered. */
  busy: boolean
  readonly waiting: { req: IncomingMessage; res: ServerResponse }[]
}

const statuses: Readonly<Record<string, number>> = { HPE_HEADER_OVERFLOW: 431, ERR_HTTP_REQUEST_TIMEOUT: 408 }

function plainAnswer(status: number): string {
  return `HTTP/1.1 ${statusLine(status)}\r\nServer: Teal\r\nConnection: close\r\nContent-Length: 0\r\n\r\n`
}

function named({ initial, named: pairs }: HttpTls): TlsStore {
  const store = new TlsStore(initial)
  for (const [name, { key, cert }] of pairs) store.update(name, key, cert)
  return store
}

/** Of two hosts whoever stands in front may have taken the other one (RFC 9112 3.2); other codings nobody here undoes (6.1). */
function isDoubtful({ headers, rawHeaders }: IncomingMessage): boolean {
  const coding = headers['transfer-encoding']
  if (coding !== undefined && coding.toLowerCase() !== 'chunked') return true
  let hosts = 0
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const name = rawHeaders[at]
    if (name?.length === 4 && name.toLowerCase() === 'host') hosts += 1
  }
  return hosts > 1
}

/** We are no proxy; the connection is not one of HTTP any more. */
function refuseConnect(serve: Serve, req: IncomingMessage, socket: Duplex): void {
  socket.on('error', () => socket.destroy())
  serve(new RefusedWire('CONNECT', req.url ?? '', socket))
}
