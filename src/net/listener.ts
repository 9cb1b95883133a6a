// A listening port: accepts connections, keeps to the caps, runs one session for each, and closes in an orderly way.
//
// Promises: no more connections than its part of the service's (net/admission.ts) holds; who comes too many, or has to
// make room, hears the refusal and is closed. One timer for all connections finds the overdue ones. `close`
// stops accepting, asks every session to finish, cuts off peers that remain after `drainMs`, and resolves when all are done.

import { createServer, type Server, type Socket } from 'node:net'
import { after, breathe, every, monotonic, type Timer } from '#lib/clock.ts'
import { Fault } from '#lib/fault.ts'
import { limits } from '#lib/limits.ts'
import { detach } from '#lib/process/background.ts'
import { plainAddress } from './address.ts'
import { Admission, type Gate } from './admission.ts'
import { Connection, Disconnected } from './connection.ts'
import type { Owner } from './hearing.ts'
import { listenersOn } from './listening-sockets.ts'
import { type Behind, readProxyHeader } from './proxy-header.ts'
import type { TlsStore } from './tls/tls.ts'

export interface ListenOptions {
  readonly host: string
  /** 0 takes a free one. */
  readonly port: number
  /** Other threads of this process listen on the same port. */
  readonly shared?: boolean
  /** Certificates; with `implicitTls` the handshake comes first. */
  readonly tls?: TlsStore
  readonly implicitTls?: boolean
  /** Connections of all listeners together. Default: this one alone is counted. */
  readonly admission?: Admission
  readonly sessionsMax: number
  readonly sessionsPerNetworkMax: number
  /** Silence before a session that waits for its peer gets IdleTimeout; sessions may change theirs. */
  readonly idleMs: number
  /** How long `close` waits for sessions. */
  readonly drainMs: number
  /** What a connection over the caps is told, with its line end. */
  readonly busy: string
  /**
   * The session. When it is done the connection is ended; `Disconnected` is an ordinary end, anything else thrown goes to
   * `onError` and cuts the connection off.
   */
  serve(connection: Connection): Promise<void>
  onError(error: unknown): void
  /** Called with the number of open sessions whenever it changes. */
  onSessions?(count: number): void
  /** Called for a session that begins, and for one that has returned. */
  onBegun?(): void
  onDone?(): void
  /** Called for a connection that was refused, or sent away for another. */
  onRefused?(): void
}

/** Opens a port. @throws Fault PortInUse, ConfigInvalid where the address cannot be listened on */
export async function listen(options: ListenOptions): Promise<Listener> {
  const listener = new Listener(options)
  await listener.open()
  return listener
}

export class Listener implements Owner {
  readonly #options: ListenOptions
  readonly #server: Server
  readonly #connections = new Set<Connection>()
  /** Of whom a proxy has yet to say who they are. */
  readonly #unannounced = new Set<Socket>()
  readonly #admission: Admission
  readonly #gate: Gate
  /** Sessions that have not returned. */
  #running = 0
  #sweeper: Timer | undefined
  #address = { host: '', port: 0 }
  #closing: Promise<void> | undefined
  #gone: (() => void) | undefined

  constructor(options: ListenOptions) {
    this.#options = options
    const { sessionsMax: connectionsMax, sessionsPerNetworkMax: perNetworkMax } = options
    this.#admission = options.admission ?? new Admission({ connectionsMax: Number.POSITIVE_INFINITY })
    this.#gate = this.#admission.gate({ connectionsMax, perNetworkMax })
    this.#server = createServer({ noDelay: true, allowHalfOpen: true }, socket => this.#accept(socket))
  }

  /** Where it really listens. */
  get address(): { readonly host: string; readonly port: number } {
    return this.#address
  }

  /** Open connections. */
  get sessions(): number {
    return this.#connections.size
  }

  /** For `listen`. */
  async open(): Promise<void> {
    const { host, port, shared: reusePort = false } = this.#options
    const server = this.#server
    await new Promise<void>((resolve, reject) => {
      server.once('error', error => reject(unusable(host, port, error)))
      server.listen({ host, port, reusePort, backlog: limits.net.acceptLengthMax }, resolve)
    })
    server.removeAllListeners('error')
    server.on('error', error => this.#options.onError(error))
    detach(server)
    const address = server.address()
    if (address !== null && typeof address === 'object') this.#address = { host: address.address, port: address.port }
    this.#sweeper = every(limits.net.sweepMs, () => this.#sweep())
  }

  /** Stops accepting, lets sessions finish, and resolves when all connections are gone. Calling it again changes nothing. */
  close(): Promise<void> {
    this.#closing ??= this.#close()
    return this.#closing
  }

  async #close(): Promise<void> {
    // Who has been let in by the kernel and not yet by us would be cut off: after a look at the sockets there is hardly anybody.
    await breathe()
    const closed = new Promise<void>(resolve => this.#server.close(() => resolve()))
    for (const connection of this.#connections) connection.stop()
    const cut = after(this.#options.drainMs, () => {
      for (const connection of this.#connections) connection.destroy()
      for (const socket of this.#unannounced) socket.destroy()
    })
    await new Promise<void>(resolve => {
      this.#gone = resolve
      this.#settle()
    })
    await closed
    cut.cancel()
    this.#sweeper?.cancel()
    this.#admission.drop(this.#gate)
  }

  #accept(socket: Socket): void {
    detach(socket)
    if (!this.#admission.announces(plainAddress(socket.remoteAddress))) {
      this.#admit(socket)
      return
    }
    this.#unannounced.add(socket)
    void readProxyHeader(socket).then(header => {
      this.#unannounced.delete(socket)
      if (header === null) socket.destroy()
      else this.#admit(socket, header.behind)
      this.#settle()
    })
  }

  /** @param behind who is behind a proxy */
  #admit(socket: Socket, behind?: Behind): void {
    const ticket = this.#gate.admit(behind?.address ?? plainAddress(socket.remoteAddress))
    if (ticket === undefined) {
      this.#refuse(socket)
      return
    }
    const connection = new Connection(socket, this.#options.idleMs, this, behind)
    connection.ticket = ticket
    ticket.hold(connection)
    this.#connections.add(connection)
    this.#options.onSessions?.(this.#connections.size)
    void this.#run(connection)
  }

  /** For connections. */
  displaced(): string {
    this.#options.onRefused?.()
    return this.#options.busy
  }

  /** Tells a connection over the caps, without TLS only, and closes it whatever it does. */
  #refuse(socket: Socket): void {
    this.#options.onRefused?.()
    socket.on('error', () => socket.destroy())
    if (this.#options.implicitTls === true) return void socket.destroy()
    socket.write(this.#options.busy, () => socket.destroy())
  }

  async #run(connection: Connection): Promise<void> {
    const { implicitTls, tls } = this.#options
    this.#running += 1
    this.#options.onBegun?.()
    try {
      if (implicitTls === true && tls !== undefined) await connection.startTls(tls)
      if (this.#closing !== undefined) connection.stop()
      await this.#options.serve(connection)
      connection.end()
    } catch (error) {
      connection.destroy()
      if (!(error instanceof Disconnected)) this.#options.onError(error)
    } finally {
      this.#running -= 1
      this.#options.onDone?.()
      this.#settle()
    }
  }

  /** For connections. */
  closed(connection: Connection): void {
    connection.ticket.release()
    this.#connections.delete(connection)
    this.#options.onSessions?.(this.#connections.size)
    this.#settle()
  }

  /** Whoever closes waits for the sessions too: one whose peer is gone may still be storing a message. */
  #settle(): void {
    if (this.#connections.size + this.#unannounced.size + this.#running === 0) this.#gone?.()
  }

  #sweep(): void {
    const time = monotonic()
    for (const connection of this.#connections) connection.sweep(time)
  }
}

/** Makes sure that nobody listens on a port that threads are going to share. @throws Fault PortInUse, ConfigInvalid */
export async function requireFree(host: string, port: number): Promise<void> {
  const server = createServer()
  await new Promise<void>((resolve, reject) => {
    server.once('error', error => reject(unusable(host, port, error)))
    server.listen({ host, port }, resolve)
  })
  await new Promise<void>(resolve => server.close(() => resolve()))
}

/** Makes sure that a port that one thread listens on is not another service's as well. @throws Fault PortInUse */
export async function requireSole(host: string, port: number): Promise<void> {
  const count = await listenersOn(host, port)
  if (count !== undefined && count > 1) throw inUse(host, port)
}

function inUse(host: string, port: number, cause?: Error): Fault {
  return new Fault('PortInUse', { text: `Port ${port} on ${host} is in use already`, cause })
}

/** What the system's refusal to listen means, and what to do. */
export function unusable(host: string, port: number, error: Error): Fault {
  const { code = 'unknown' } = error as NodeJS.ErrnoException
  if (code === 'EADDRINUSE') return inUse(host, port, error)
  const why = refusals[code] === undefined ? code : `${refusals[code]} (${code})`
  return new Fault('ConfigInvalid', { text: `Port ${port} on ${host} cannot be listened on: ${why}`, cause: error })
}

const refusals: Readonly<Record<string, string>> = {
  EACCES:
    'ports below 1024 are for root and for who has CAP_NET_BIND_SERVICE, as under deploy/teal.service; in a container ' +
    'start it with --sysctl net.ipv4.ip_unprivileged_port_start=0',
  EADDRNOTAVAIL: 'this machine does not have that address; 0.0.0.0 is all of its IPv4 ones, :: all it has',
  EMFILE: 'this process may have no more files and sockets open; raise ulimit -n, under systemd LimitNOFILE=',
  EAFNOSUPPORT: 'this machine has no addresses of that kind; 0.0.0.0 is all of its IPv4 ones',
}
