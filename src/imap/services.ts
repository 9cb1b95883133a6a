// What the IMAP server is given by the rest of the service, and what of it sessions and commands use.
//
// Sessions have no actor, reader or pool among it: mail is asked for through the store they get at login (mail-store.ts).

import type { Grant, Grants } from '#actors/auth/grant.ts'
import type { Places } from '#actors/auth/session-places.ts'
import type { Actors, UserHandle } from '#actors/kernel/system.ts'
import type { copyMessages, moveMessages, Transfer, Transferred } from '#actors/mailbox/message.ts'
import type { Marks } from '#actors/mailbox/recency.ts'
import type { Traffic } from '#actors/user/traffic.ts'
import type { Log } from '#lib/log.ts'
import type { Metrics } from '#lib/metrics.ts'
import type { Connection } from '#net/connection.ts'
import type { Intercept } from '#net/intercept.ts'
import type { CleartextPolicy } from '#net/sasl.ts'
import type { TlsStore } from '#net/tls/tls.ts'
import type { User } from '#store/accounts/users.ts'
import type { Bodies, Received } from '#store/bodies/bodies.ts'
import type { Reads } from '#store/engine/reads.ts'
import type { Numbers } from '#store/engine/sequence.ts'
import type { Changes } from '#store/engine/watched.ts'
import type { Settings } from '#store/folder/settings.ts'
import type { MailEntry } from './mail-store.ts'

/** Central authentication, as a protocol sees it. @throws Fault AuthFailed, RateLimitedError, InvalidAuthScope, UserDisabled */
type Authenticate = (attempt: {
  username: string
  password: string
  scope: 'imap'
  protocol: string
  session: string
  ip: string
}) => Promise<{ user: string; grant: Grant }>

export interface ImapDependencies {
  readonly hostname: string
  readonly cleartext: CleartextPolicy
  /** Sessions at once of one user without an own number. */
  readonly connectionsMax: number
  /** Largest message that is taken in. */
  readonly messageBytesMax: number
  readonly tls: TlsStore | undefined
  readonly authenticate: Authenticate
  /** For tests. */
  readonly intercept?: Intercept | undefined
  /** What sessions may go on by. */
  readonly grants: Pick<Grants, 'hold'>
  readonly changes: Changes
  readonly system: Actors
  readonly bodies: Bodies
  readonly sequence: Numbers
  readonly settings: Settings
  readonly transfers: Traffic
  /** Sessions of each account, counted over all listeners and threads. */
  readonly places: Pick<Places, 'enter' | 'left'>
  readonly recency: Marks
  /** A message as it is to be stored for an account that wants its mail encrypted; the same one where that cannot be. */
  readonly seal: (user: User, received: Received) => Promise<Received>
  /** Copies or moves messages, encrypted on the way where the folder asks for it. */
  readonly transfer: (
    handle: UserHandle,
    command: typeof copyMessages | typeof moveMessages,
    transfer: Transfer,
  ) => Promise<Transferred>
  /** Long reads, off the main loop. */
  readonly candidates: Reads['candidates']
  readonly scan: Reads['scan']
  readonly sort: Reads['sort']
  readonly thread: Reads['thread']
  readonly metrics: Metrics
  readonly log: Log
}

/** What sessions and commands use. */
export interface ImapServices {
  readonly hostname: string
  /** Largest message that is taken in. */
  readonly messageBytesMax: number
  readonly tls: TlsStore | undefined
  readonly mail: MailEntry
  readonly intercept: Intercept | undefined
  readonly log: Log
  /** Capabilities of the table of commands, which hold for every session. */
  readonly capabilities: string
  takesPasswords(connection: Connection): boolean
  /** Counts a command that was carried out. */
  count(command: string, result: string, ms: number): void
}
