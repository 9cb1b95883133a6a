// What a protocol is to the service: a name, its sections of the configuration, and a way to open its listeners.
//
// Its folder has one file that knows the core (protocol.ts), which hands the rest just what it needs as functions and plain
// values. Adding one is its folder, its keys in config/protocols.ts and its name in listeners.ts.

import type { TlsSink } from '#actors/admin/certificate.ts'
import type { LoginAttempt } from '#actors/auth/authentication.ts'
import type { Grant } from '#actors/auth/grant.ts'
import type { Config, ListenerName } from '#config'
import type { Core } from '#core'
import type { Admission } from '#net/admission.ts'
import type { Intercept } from '#net/intercept.ts'
import type { KeyPair, TlsStore } from '#net/tls/tls.ts'

export interface Protocol {
  readonly name: string
  /** Its listeners, by their sections of the configuration, in the order in which they open. */
  readonly config: readonly ListenerName[]
  /**
   * Opens those of its listeners that are enabled.
   *
   * @throws Fault PortInUse, ConfigInvalid: the service does not start
   */
  open(core: Core, ground: Ground): Promise<void>
}

/** What all listeners of a service share. */
export interface Ground {
  /** How many may connect to all of them. */
  readonly admission: Admission
  /** The certificates, for listeners on sockets of Node. */
  readonly tls: TlsStore
  readonly certificates: {
    /** Shown where no other was put in. */
    readonly own: KeyPair
    /** Gives a sink every certificate there is, and each change of one. */
    supply(sink: TlsSink): void
  }
  /** A listener listens: it is closed with the service, after those that came later. */
  opened(name: ListenerName, listener: { readonly address: Address; close(): unknown }): void
  /** Who can tell how many sessions an account has over this protocol. */
  counted(protocol: string, sessions: (user: string) => number): void
  readonly hooks: Hooks | undefined
}

/** What a test lays into the service; no configuration reaches it. */
export interface Hooks {
  readonly intercept: Intercept
  /** Before a recipient is looked for: it may be made. @throws Fault that refuses it */
  recipient(core: Core, address: string): Promise<void>
  /** Decides who may come in. @throws Fault AuthFailed and the like */
  authenticate(core: Core, attempt: LoginAttempt): Promise<{ user: string; grant: Grant }>
}

export interface Address {
  readonly host: string
  readonly port: number
}

/** Who decides about a login. */
export function entryOf(core: Core, { hooks }: Ground) {
  const { authentication } = core.credentials
  return (attempt: LoginAttempt) =>
    hooks === undefined ? authentication.authenticate(attempt) : hooks.authenticate(core, attempt)
}

/** Where a listener listens, and how many may connect; undefined for one that is not enabled. */
export function placeOf(config: Config, name: ListenerName, { admission }: Pick<Ground, 'admission'>) {
  const { enabled, host, port, maxOpen: sessionsMax, maxOpenPerNetwork: sessionsPerNetworkMax } = config[name]
  return enabled ? { host, port, admission, sessionsMax, sessionsPerNetworkMax } : undefined
}
