// A plain HTTP listener for port 80: answers the challenges of ACME servers and sends everything else to HTTPS.
//
// Strangers reach it, so it does nothing else: no body is read, every answer ends its connection, and connections, heads
// and times are bounded. Where a redirect leads comes from the request only as far as it is a host name; nothing but
// challenges of orders under way is told.

import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { limits } from '#lib/limits.ts'
import { detach } from '#lib/process/background.ts'
import { plainHttp } from '#lib/process/lazy.ts'
import { Admission, type Gate } from '../admission.ts'
import { unusable } from '../listener.ts'
import { announced, visitorAddress } from '../proxy-header.ts'
import type { Challenges } from './challenges.ts'

export interface ChallengeListenerOptions {
  readonly host: string
  /** 0 takes a free one. */
  readonly port: number
  readonly challenges: Challenges
  /** Where requests that name no host are sent. */
  readonly hostname: string
  /** Connections of all listeners together. */
  readonly admission?: Admission
  /** Whether those whom the admission knows as announcing begin with the PROXY protocol here. */
  readonly proxyProtocol?: boolean
}

export interface ChallengeListener {
  readonly address: { readonly host: string; readonly port: number }
  close(): Promise<void>
}

/** The path of a challenge with its token last (RFC 8555 8.3). */
const place = '/.well-known/acme-challenge/'

/** Listens. @throws Fault PortInUse, ConfigInvalid */
export async function listenForChallenges(options: ChallengeListenerOptions): Promise<ChallengeListener> {
  const { host, port } = options
  const { headBytesMax, headMs, connectionsMax } = limits.acme
  const how = { maxHeaderSize: headBytesMax, headersTimeout: headMs, requestTimeout: headMs, keepAlive: false }
  const server = plainHttp().createServer({ ...how, connectionsCheckingInterval: headMs / 2 }, (request, response) =>
    answer(request, response, options),
  )
  const admission = options.admission ?? new Admission({ connectionsMax: Number.POSITIVE_INFINITY })
  const gate = admission.gate({ connectionsMax, perNetworkMax: connectionsMax })
  detach(server)
  const open = new Set<Socket>()
  server.on('connection', socket => admit(gate, detach(socket)))
  if (options.proxyProtocol === true)
    announced(
      server,
      address => admission.announces(address),
      socket => keep(open, socket),
    )
  server.timeout = 2 * headMs
  await listening(server, host, port)
  const { port: taken } = server.address() as AddressInfo
  return {
    address: { host, port: taken },
    close: () =>
      new Promise(resolve => {
        server.close(() => resolve())
        admission.drop(gate)
        server.closeAllConnections()
        for (const socket of open) socket.destroy()
      }),
  }
}

/** Those that a server does not know yet. */
function keep(open: Set<Socket>, socket: Socket): void {
  open.add(socket)
  socket.once('close', () => open.delete(socket))
}

/** Whoever comes too many is closed. */
function admit(gate: Gate, socket: Socket): void {
  const ticket = gate.admit(visitorAddress(socket))
  if (ticket === undefined) return void socket.destroy()
  ticket.hold({ waiting: 'idle', displace: () => socket.destroy() })
  socket.once('close', () => ticket.release())
}

function listening(server: Server, host: string, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', cause => reject(unusable(`${host} (tls.acme.http)`, port, cause)))
    server.listen(port, host, () => {
      server.removeAllListeners('error')
      server.on('error', () => {})
      resolve()
    })
  })
}

interface Answer {
  readonly status: number
  readonly body?: string
  readonly headers?: Record<string, string>
}

function answer(request: IncomingMessage, response: ServerResponse, options: ChallengeListenerOptions): void {
  const { status, body = '', headers = {} } = decide(request, options)
  const length = String(Buffer.byteLength(body))
  const plain = { 'content-type': 'text/plain', 'content-length': length, 'cache-control': 'no-store' }
  response.writeHead(status, { ...plain, connection: 'close', ...headers })
  response.end(request.method === 'HEAD' ? undefined : body)
}

function decide({ method, url = '/', headers }: IncomingMessage, options: ChallengeListenerOptions): Answer {
  if (method !== 'GET' && method !== 'HEAD') return { status: 405, headers: { allow: 'GET, HEAD' } }
  if (url.startsWith(place)) {
    const body = options.challenges.answer(url.slice(place.length))
    return body === undefined ? { status: 404 } : { status: 200, body, headers: { 'content-type': octets } }
  }
  // A whole address instead of a path is for proxies (RFC 9112 3.2.2).
  if (!/^\/[\x21-\x7e]*$/.test(url)) return { status: 400 }
  return { status: 301, headers: { location: `https://${hostOf(headers.host) ?? options.hostname}${url}` } }
}

const octets = 'application/octet-stream'

/** The host name a request was for, without the port, which is another one for HTTPS. */
function hostOf(header: string | undefined): string | undefined {
  const host = /^([a-z0-9_-]+(?:\.[a-z0-9_-]+)*)\.?(?::\d{1,5})?$/i.exec(header ?? '')?.[1]
  return host !== undefined && host.length <= limits.name.domainLengthMax ? host.toLowerCase() : undefined
}
