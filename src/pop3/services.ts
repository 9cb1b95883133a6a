// What POP3 needs from the rest of the service: functions and plain values, so that it can be tested without the rest.

import type { Grant, Grants } from '#actors/auth/grant.ts'
import type { Actors, UserHandle } from '#actors/kernel/system.ts'
import type { moveMessages, Transfer, Transferred } from '#actors/mailbox/message.ts'
import type { Traffic } from '#actors/user/traffic.ts'
import type { Log } from '#lib/log.ts'
import type { Metrics } from '#lib/metrics.ts'
import type { Connection } from '#net/connection.ts'
import type { Intercept } from '#net/intercept.ts'
import type { CleartextPolicy } from '#net/sasl.ts'
import type { TlsStore } from '#net/tls/tls.ts'
import type { Bodies } from '#store/bodies/bodies.ts'
import type { Settings } from '#store/folder/settings.ts'

/** Where deleted messages go. */
export type DeleteTo = 'trash' | 'expunge'

export interface Pop3Dependencies {
  readonly hostname: string
  readonly cleartext: CleartextPolicy
  readonly deleteTo: DeleteTo
  /** Newest messages a session sees of an account without an own number. */
  readonly messagesMax: number
  readonly tls: TlsStore | undefined
  /** Central authentication. @throws Fault AuthFailed, RateLimitedError, InvalidAuthScope, UserDisabled */
  authenticate(attempt: {
    username: string
    password: string
    scope: 'pop3'
    protocol: string
    session: string
    ip: string
  }): Promise<{ user: string; grant: Grant }>
  /** For tests. */
  readonly intercept?: Intercept | undefined
  /** What sessions may go on by. */
  readonly grants: Pick<Grants, 'hold'>
  /** Moves messages, encrypted on the way where the account or the folder asks for it. */
  readonly transfer: (handle: UserHandle, command: typeof moveMessages, transfer: Transfer) => Promise<Transferred>
  readonly system: Actors
  readonly bodies: Bodies
  readonly settings: Settings
  /** Bytes an account has moved today. */
  readonly transfers: Traffic
  readonly metrics: Metrics
  readonly log: Log
}

/** What sessions use. */
export interface Pop3Services extends Omit<Pop3Dependencies, 'system' | 'cleartext' | 'metrics' | 'log'> {
  handle: Actors['handle']
  takesPasswords(connection: Connection): boolean
  count(command: string, result: string, ms: number): void
}
