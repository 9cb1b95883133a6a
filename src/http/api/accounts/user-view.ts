// What is shown of an account over HTTP, in lists and alone (wire-shapes, Users).
//
// Limits show what is allowed and what is used; counters of a day come from the cache and say how long until they start
// again. Nothing secret is in here: neither hashes nor seeds.

import { Type } from 'typebox'
import { now } from '#lib/clock.ts'
import { limits } from '#lib/limits.ts'
import { maskUrl } from '#lib/secret/url-secret.ts'
import { inspectCertificate } from '#mail/crypt/smime.ts'
import type { User } from '#store/accounts/users.ts'
import type { Settings } from '#store/folder/settings.ts'
import { userId } from '../../schema.ts'

export interface DailyCounters {
  /** What an account used of a daily limit, and the seconds until it starts again (false: not running). */
  read(name: DailyCounter, user: string): { used: number; ttl: number | false }
  reset(name: DailyCounter, user: string): void
}

export type DailyCounter = 'recipients' | 'forwards' | 'received' | 'imapUpload' | 'imapDownload' | 'pop3Download'

export const texts = Type.Array(Type.String())
export const free = Type.Object({}, { additionalProperties: true, description: 'Free data' })
const used = { allowed: Type.Integer(), used: Type.Integer() }
export const daily = Type.Object({
  ...used,
  ttl: Type.Union([Type.Integer(), Type.Literal(false)], { description: 'Seconds until the count starts again' }),
})

/** What every view of an account shows. */
const summary = {
  id: userId,
  username: Type.String(),
  name: Type.String(),
  address: Type.String(),
  tags: texts,
  targets: texts,
  enabled2fa: texts,
  autoreply: Type.Boolean(),
  encryptMessages: Type.Boolean(),
  encryptForwarded: Type.Boolean(),
  hasPasswordSet: Type.Boolean(),
  activated: Type.Boolean({ description: 'Whether it can be used: true from the moment it is there' }),
  disabled: Type.Boolean(),
  suspended: Type.Boolean(),
}

export const listShape = {
  ...summary,
  quota: Type.Object(used),
  metaData: Type.Optional(free),
  internalData: Type.Optional(free),
}

export const shape = {
  ...summary,
  language: Type.Optional(Type.String()),
  retention: Type.Optional(Type.Number()),
  pubKey: Type.String(),
  keyInfo: Type.Union([
    Type.Object({ name: Type.String(), address: Type.String(), fingerprint: Type.String() }),
    Type.Literal(false),
  ]),
  smimeCerts: texts,
  smimeCipher: Type.Optional(Type.String()),
  smimeKeyTransport: Type.Optional(Type.String()),
  smimeCertInfo: Type.Array(Type.Object({ subject: Type.String(), serial: Type.String(), fingerprint: Type.String() })),
  metaData: free,
  internalData: Type.Optional(free),
  mtaRelay: Type.Optional(Type.String()),
  spamLevel: Type.Integer(),
  limits: Type.Object({
    quota: Type.Object(used),
    recipients: daily,
    filters: Type.Object(used),
    forwards: daily,
    received: daily,
    imapUpload: daily,
    imapDownload: daily,
    pop3Download: daily,
    pop3MaxMessages: Type.Object({ allowed: Type.Integer() }),
    imapMaxConnections: Type.Object(used),
  }),
  fromWhitelist: texts,
  disabledScopes: Type.Optional(texts),
  lastPwnedCheck: Type.Optional(Type.String({ format: 'date-time' })),
  passwordPwned: Type.Boolean(),
  require2faEnabled: Type.Boolean(),
  requirePasswordChange: Type.Boolean(),
  featureFlags: free,
  uploadSentMessages: Type.Boolean(),
}

export function listed(
  user: User & { storage: number },
  input: { metaData?: boolean | undefined; internalData?: boolean | undefined },
  settings: Settings,
) {
  const { id, username: name_, name, address, tags, options, disabled, suspended } = user
  return {
    id,
    username: name_,
    name,
    address,
    tags,
    targets: (options.targets ?? []).map(maskUrl),
    enabled2fa: options.enabled2fa ?? [],
    autoreply: options.autoreply ?? false,
    encryptMessages: options.encryptMessages ?? false,
    encryptForwarded: options.encryptForwarded ?? false,
    quota: { allowed: quotaOf(user, settings), used: user.storage },
    ...(input.metaData === true ? { metaData: options.metaData ?? {} } : {}),
    ...(input.internalData === true ? { internalData: options.internalData ?? {} } : {}),
    hasPasswordSet: user.password !== '' || user.temporary !== null,
    activated: true,
    disabled,
    suspended,
  }
}

/** Bytes the account may store: its own number, or the service's. */
function quotaOf(user: User, settings: Settings): number {
  return user.quota || settings.get('const:max:storage')
}

/** What else than its row is known of an account. */
export interface Known {
  readonly storage: number
  readonly filters: number
  readonly imapConnections: number
}

export function shown(user: User, known: Known, settings: Settings, counters: DailyCounters) {
  const { options } = user
  const own = options.limits ?? {}
  const daily = (name: DailyCounter, allowed: number) => ({ allowed, ...counters.read(name, user.id) })
  return {
    id: user.id,
    username: user.username,
    name: user.name,
    address: user.address,
    language: options.language,
    retention: options.retention || undefined,
    enabled2fa: options.enabled2fa ?? [],
    autoreply: options.autoreply ?? false,
    encryptMessages: options.encryptMessages ?? false,
    encryptForwarded: options.encryptForwarded ?? false,
    pubKey: options.pubKey ?? '',
    keyInfo: options.keyInfo ?? (false as const),
    smimeCerts: options.smimeCerts ?? [],
    smimeCipher: options.smimeCipher,
    smimeKeyTransport: options.smimeKeyTransport,
    smimeCertInfo: (options.smimeCerts ?? []).map(inspectCertificate).filter(facts => facts !== null),
    metaData: options.metaData ?? {},
    internalData: options.internalData ?? {},
    targets: (options.targets ?? []).map(maskUrl),
    mtaRelay: options.mtaRelay && maskUrl(options.mtaRelay),
    spamLevel: options.spamLevel ?? 50,
    limits: {
      quota: { allowed: quotaOf(user, settings), used: known.storage },
      recipients: daily('recipients', own.recipients || settings.get('const:max:recipients')),
      filters: { allowed: own.filters || settings.get('const:max:filters'), used: known.filters },
      forwards: daily('forwards', own.forwards || settings.get('const:max:forwards')),
      received: daily('received', own.receivedMax || limits.user.receivedMax),
      imapUpload: daily('imapUpload', own.imapMaxUpload || settings.get('const:max:imap:upload')),
      imapDownload: daily('imapDownload', own.imapMaxDownload || settings.get('const:max:imap:download')),
      pop3Download: daily('pop3Download', own.pop3MaxDownload || settings.get('const:max:pop3:download')),
      pop3MaxMessages: { allowed: own.pop3MaxMessages || limits.user.pop3MessagesMax },
      imapMaxConnections: {
        allowed: own.imapMaxConnections || limits.user.imapConnectionsMax,
        used: known.imapConnections,
      },
    },
    tags: user.tags,
    fromWhitelist: options.fromWhitelist ?? [],
    disabledScopes: options.disabledScopes ?? [],
    hasPasswordSet: user.password !== '' || user.temporary !== null,
    activated: true,
    disabled: user.disabled,
    suspended: user.suspended,
    lastPwnedCheck: options.lastPwnedCheck === undefined ? undefined : new Date(options.lastPwnedCheck).toISOString(),
    passwordPwned: options.passwordPwned ?? false,
    require2faEnabled: options.require2faEnabled ?? false,
    requirePasswordChange: options.requirePasswordChange === true || (user.temporary?.expires ?? 0) > now(),
    featureFlags: options.featureFlags ?? {},
    uploadSentMessages: options.uploadSentMessages ?? false,
  }
}
