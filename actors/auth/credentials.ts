// Everything around credentials, put together once: who may try, who may come in, what finishes a login, and their log.
//
// Opened once by the core, which hands its parts on. Nothing of what it makes may be made a second time: limits of
// attempts and caches of verified passwords only hold where there is one of each.

import { createHmac } from 'node:crypto'
import type { Config } from '#config'
import { every } from '#lib/clock.ts'
import type { Journal } from '#lib/journal/journal.ts'
import { limits } from '#lib/limits.ts'
import type { Log } from '#lib/log.ts'
import type { Metrics } from '#lib/metrics.ts'
import { SecretBox } from '#lib/secret/secret-box.ts'
import { Pwned } from '#net/outward/pwned.ts'
import type { Pools } from '#pool'
import { StandIns } from '#store/accounts/stand-in.ts'
import { ClosedDomains } from '#store/domains/closed.ts'
import type { Cache } from '#store/folder/cache.ts'
import { loadKey } from '#store/folder/keys.ts'
import type { Settings } from '#store/folder/settings.ts'
import type { Writer } from '#store/writer/writer.ts'
import type { EventName } from '../kernel/events.ts'
import type { ActorSystem } from '../kernel/system.ts'
import type { Access } from './access.ts'
import { Attempts } from './attempts.ts'
import { AuthLog } from './auth-log.ts'
import { Authentication } from './authentication.ts'
import { Grants } from './grant.ts'
import { Logins } from './login.ts'
import { OneTimeCodes } from './one-time-code.ts'
import { SecurityKeys } from './security-key.ts'

export interface Credentials {
  readonly attempts: Attempts
  readonly authLog: AuthLog
  readonly authentication: Authentication
  readonly logins: Logins
  readonly grants: Grants
  readonly codes: OneTimeCodes
  readonly securityKeys: SecurityKeys
  readonly pwned: Pwned
  /** Writes what is not written yet. */
  close(): Promise<void>
}

export interface CredentialParts {
  readonly config: Pick<Config, 'auth' | 'dataDir' | 'hostname'>
  readonly log: Log
  readonly journal: Journal
  readonly metrics: Metrics
  readonly system: ActorSystem
  readonly writer: Writer
  readonly settings: Settings
  readonly cache: Cache
  readonly pools: Pools
  readonly access: Access
  readonly wanted: (name: EventName) => boolean
}

/** @throws Fault ConfigInvalid for a key file that holds no key */
export function openCredentials(parts: CredentialParts): Credentials {
  const { config, log, journal, metrics, system, writer, settings, cache, pools, access, wanted } = parts
  const { auth, dataDir, hostname } = config
  const pwned = new Pwned(auth.pwned)
  const key = loadKey(dataDir, 'totp', auth.totpSecret)
  const seal = new SecretBox(key)
  const standInKey = createHmac('sha256', key).update('names that nobody has').digest()
  const questionKey = createHmac('sha256', key).update('questions for passkeys').digest()
  const attempts = new Attempts(cache, auth.trustedNetworks)
  const authLog = new AuthLog(system.read, writer, settings, log, journal)
  const { passwords, keys } = pools
  const logins = new Logins(cache, access, attempts, auth.strict2fa)
  const shared = { system, cache, attempts, authLog, logins, keys }
  const { rpId, rpName } = auth.webauthn
  const { changes } = writer
  const grants = new Grants(
    system,
    () => changes.doubts,
    () => changes.of('user', 'domain', 'domainalias'),
  )
  const sweeper = every(limits.authLog.sweepMs, () => {
    access.sweep().catch(error => log.warn({ error }, 'ended tokens could not be removed'))
  })
  return {
    attempts,
    authLog,
    authentication: new Authentication({
      ...{ ...shared, passwords, pwned, metrics, log, journal, wanted },
      standIns: new StandIns(system.read, standInKey, () => changes.of('user')),
      closed: new ClosedDomains(system.read, writer.changes),
      commits: () => writer.changes.of('address', 'domain', 'domainalias', 'user'),
    }),
    logins,
    grants,
    codes: new OneTimeCodes({ ...shared, seal }),
    securityKeys: new SecurityKeys({ ...shared, rpId: rpId || hostname, rpName, questionKey }),
    pwned,
    close: async () => {
      sweeper.cancel()
      grants.close()
      await authLog.close()
      await pwned.close()
    },
  }
}
