// What a protocol is to the service: a name, its sections of the configuration, and a way to open its listeners.
//
// Its folder has one file that knows the core (protocol.ts), which hands the rest just what it needs as functions and plain
// values. Adding one is its folder, its keys in config/protocols.ts and a line in front/mail-protocols.ts (of one
// without sessions of mail: in listeners.ts).

import type { TlsSink } from '#actors/admin/certificate.ts'
import type { LoginAttempt } from '#actors/auth/authentication.ts'
import type { Grant } from '#actors/auth/grant.ts'
import type { Config, ListenerName } from '#config'
import type { MailCore } from '#mail-core'
import type { Admission } from '#net/admission.ts'
import type { Intercept } from '#net/intercept.ts'
import type { KeyPair, TlsStore } from '#net/tls/tls.ts'

/** @template Needs what it needs of the service */
export interface Protocol<Needs> {
  readonly name: string
  /** Its listeners, by their sections of the configuration, in the order in which they open. */
  readonly config: readonly ListenerName[]
  /**
   * Opens those of its listeners that are enabled.
   *
   * @throws Fault PortInUse, ConfigInvalid: the service does not start
   */
  open(core: Needs, ground: Ground): Promise<void>
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
  readonly hooks: GroundHooks | undefined
  /** Where other threads listen on the same ports: the part of all connections this one may have. */
  readonly share?: number
}

/** What a test lays into the service; no configuration reaches it. */
export interface GroundHooks {
  readonly intercept: Intercept
  /** Whether the port that takes mail offers TLS. */
  readonly starttls: boolean
  /** Before a recipient is looked for: it may be made. @throws Fault that refuses it */
  recipient(address: string): Promise<void>
  /** Decides who may come in. @throws Fault AuthFailed and the like */
  authenticate(attempt: LoginAttempt): Promise<{ user: string; grant: Grant }>
}

export interface Address {
  readonly host: string
  readonly port: number
}

/** Who decides about a login. */
export function entryOf({ credentials: { authentication } }: MailCore, { hooks }: Ground) {
  return (attempt: LoginAttempt) =>
    hooks === undefined ? authentication.authenticate(attempt) : hooks.authenticate(attempt)
}

/** Where a listener listens, and how many may connect; undefined for one that is not enabled. */
export function placeOf(config: Config, name: ListenerName, { admission, share }: Pick<Ground, 'admission' | 'share'>) {
  const { enabled, host, port, maxOpen, maxOpenPerNetwork } = config[name]
  if (!enabled) return undefined
  const part = (count: number) => Math.max(1, Math.ceil(count * (share ?? 1)))
  const bounds = { sessionsMax: part(maxOpen), sessionsPerNetworkMax: part(maxOpenPerNetwork) }
  return { host, port, admission, shared: share !== undefined, ...bounds }
}
