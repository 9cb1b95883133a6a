// The seam under the listeners of HTTP: what a library that speaks it has to give, and nothing of any of them.
//
// Two stand behind it: uWebSockets.js, twice as fast, where its native part loads, and Node's own everywhere. Both keep the
// same limits and pass the same tests; an exchange cannot tell which of them it answers through.

import type { HttpConnections } from '../guard/connections.ts'
import type { HttpTls } from '../guard/pem-files.ts'
import type { Wire } from '../wire.ts'

/** Takes one request. What it returns hears that the client has left, which may not happen any more. */
export type Serve = (wire: Wire) => { abort(reason: Error): void }

export interface ListenForm {
  readonly host: string
  /** 0 takes a free one. */
  readonly port: number
  readonly tls: HttpTls | undefined
  readonly connections: HttpConnections | null
  /** Other threads listen on the same port. */
  readonly shared?: boolean | undefined
  /** Peers that begin each connection with the PROXY protocol, and must; undefined where the front need not know it. */
  readonly announces?: Announces | undefined
}

export type Announces = (address: string) => boolean

/** An open port or socket. */
export interface Listening {
  /** The one it has; 0 of a socket in the file system. */
  readonly port: number
  /**
   * Uses other certificates for connections from now on; those that are open go on. May be called again after a fault.
   *
   * @throws Fault PortInUse
   */
  renew(tls: HttpTls): Promise<void>
  /** Lets nobody in any more. What is open stays open. */
  stop(): void
  /** Closes every connection. */
  close(): Promise<void>
}

export type FrontName = 'uWebSockets.js' | 'node:http'

export interface Front {
  readonly name: FrontName
  /** @throws Fault PortInUse, ConfigInvalid */
  listen(serve: Serve, form: ListenForm): Promise<Listening>
  /**
   * On a socket in the file system, which nobody but the owner of this process may open, or a named pipe of Windows.
   *
   * @throws Fault DataDirectoryUnusable
   */
  listenLocal(serve: Serve, path: string): Promise<Listening>
}
