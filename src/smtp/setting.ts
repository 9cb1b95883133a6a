// What every session of one listener knows.

import type { Intercept } from '#net/intercept.ts'
import type { CleartextPolicy } from '#net/sasl.ts'
import type { TlsStore } from '#net/tls/tls.ts'
import type { Backend, SmtpService, Speaker } from './backend.ts'

/** Bounds of one listener; those of limits.smtp where not given. */
export interface Bounds {
  readonly messageBytesMax: number
  readonly recipientsMax: number
  readonly errorsMax: number
  readonly sessionsMax: number
  readonly sessionsPerNetworkMax: number
  readonly idleMs: number
  readonly drainMs: number
  readonly loginMs: number
  readonly loginCommandsMax: number
  readonly messagelessMs: number
  readonly messagelessCommandsMax: number
  readonly messageMs: number
}

/** Gives what `Speaker.user` will be. @throws Fault AuthFailed and the like */
type Authenticate = (username: string, password: string, speaker: Speaker) => Promise<unknown>

/** What became of a message for one recipient. */
export type DeliveryResult = 'stored' | 'temporary' | 'permanent'

/** What every session of a listener knows. */
export interface Setting {
  readonly service: SmtpService
  readonly lmtp: boolean
  readonly hostname: string
  readonly implicitTls: boolean
  readonly tls: TlsStore | undefined
  readonly backend: Backend<unknown, unknown>
  /** Of submission. */
  readonly authenticate: Authenticate | undefined
  /** Mail is taken without a login, too. */
  readonly open: boolean
  readonly intercept: Intercept | undefined
  readonly cleartext: CleartextPolicy
  readonly bounds: Bounds
  count(command: string): void
  countDelivery(result: DeliveryResult, ms: number): void
  onError(error: unknown, speaker: Speaker): void
}
