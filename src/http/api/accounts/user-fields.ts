// The fields of an account that its creation and its change have in common, and how they are put into it.
//
// What is not given stays as it is. Limits of 0 mean the service's own; a new password ends what hangs on the old one.
// Which of these a caller may send is the grant's to say (access.ts).

import { Fault } from '#lib/fault.ts'
import { limits } from '#lib/limits.ts'
import type { UrlSecrets } from '#lib/secret/url-secret.ts'
import { fold } from '#mail/text/fold.ts'
import { amount, bool, list, metaData, num, object, oneOf, optional, orFalse, text, url } from '../../schema.ts'
import { target } from '../sending/target.ts'
import type { DailyCounter } from './user-view.ts'

export interface PasswordMaker {
  /** The stored form of a new password. @throws Fault Overloaded */
  hash(password: string, signal?: AbortSignal): Promise<string>
  /** Whether a stored form is one this service can verify. */
  known(hash: string): boolean
  /** Whether a password equals a stored form. */
  verify(password: string, hash: string, signal?: AbortSignal): Promise<boolean>
  /** Refuses a password found among breached ones. @throws Fault InsecurePasswordError */
  refuseBreached(password: string): Promise<void>
}

/** Words by which accounts and addresses are found and treated; kept as written, compared in any case. */
export const tags = optional(
  list(text({ min: 1, max: 128, trim: true }), { max: 100, distinct: fold, description: 'Tags' }),
)

/** Fields that create and update have in common. */
export const shared = {
  name: optional(text({ max: 256, empty: true, description: 'Name of the user' })),
  targets: optional(
    list(target, { max: 1000, distinct: String, description: 'Addresses and URLs that get every message' }),
  ),
  mtaRelay: optional(
    orFalse(url(['smtp', 'smtps']), { description: 'Relay for what this user sends; `false` for none' }),
  ),
  spamLevel: optional(amount({ min: 0, max: 100, description: '0: all is spam, 100: nothing is' })),
  quota: optional(amount({ min: 0, description: 'Bytes; 0: the default of the service' })),
  recipients: optional(amount({ min: 0, description: 'Recipients a day' })),
  forwards: optional(amount({ min: 0, description: 'Forwards a day' })),
  filters: optional(amount({ min: 0, description: 'Filters' })),
  imapMaxUpload: optional(amount({ min: 0, description: 'Bytes a day' })),
  imapMaxDownload: optional(amount({ min: 0, description: 'Bytes a day' })),
  pop3MaxDownload: optional(amount({ min: 0, description: 'Bytes a day' })),
  pop3MaxMessages: optional(amount({ min: 0, description: 'Newest messages POP3 shows' })),
  imapMaxConnections: optional(amount({ min: 0, description: 'IMAP sessions at once' })),
  receivedMax: optional(amount({ min: 0, description: 'Messages received in a window' })),
  language: optional(text({ max: 20, description: 'Language of default folders, such as `et`' })),
  retention: optional(
    num({
      min: 0,
      max: limits.user.retentionMsMax,
      description: 'Milliseconds new folders keep messages; 0: for ever',
    }),
  ),
  fromWhitelist: optional(
    list(text({ min: 1, max: 256, trim: true }), {
      max: 1000,
      description: 'Further senders allowed; `*@example.com`',
    }),
  ),
  tags,
  disabledScopes: optional(
    list(oneOf(['imap', 'pop3', 'smtp']), {
      max: 10,
      distinct: String,
      description: 'Protocols closed to the user',
    }),
  ),
  metaData: optional(metaData({ description: 'Free data' })),
  internalData: optional(metaData({ description: 'Free data the user does not see' })),
  pubKey: optional(text({ max: 65_536, empty: true, description: 'PGP key, armored' })),
  smimeCerts: optional(list(text({ max: 65_536 }), { max: 100, description: 'S/MIME certificates' })),
  smimeCipher: optional(oneOf(['AES-CBC', 'AES-GCM'])),
  smimeKeyTransport: optional(oneOf(['PKCS#1 v1.5', 'OAEP'])),
  encryptMessages: optional(bool({ description: 'Encrypt messages at rest with the key' })),
  encryptForwarded: optional(bool({ description: 'Encrypt forwarded messages with the key' })),
  require2faEnabled: optional(bool({ description: 'Hint for clients that a second factor is wanted' })),
  featureFlags: optional(object({ indexing: optional(bool()) }, { open: true })),
  hashedPassword: bool({ default: false, description: 'The password is a stored form already' }),
  allowUnsafe: bool({ default: true, description: 'Take passwords found among breached ones' }),
  uploadSentMessages: optional(bool({ description: 'Keep a copy of what is sent over SMTP' })),
} as const

/** A new password; `false` or an empty text for none. */
export const password = orFalse(text({ max: limits.password.lengthMax, trim: false, empty: true }))

/** Changing one of these starts its counter again (api-semantics 10.6). */
export const resets: readonly (readonly [string, DailyCounter])[] = [
  ['recipients', 'recipients'],
  ['forwards', 'forwards'],
  ['receivedMax', 'received'],
  ['imapMaxUpload', 'imapUpload'],
  ['imapMaxDownload', 'imapDownload'],
  ['pop3MaxDownload', 'pop3Download'],
]

/** The options with what is secret in their URLs sealed. */
export async function sealOptions<Input extends { targets?: string[]; mtaRelay?: string | false }>(
  secrets: UrlSecrets,
  input: Input,
): Promise<Input> {
  const { targets, mtaRelay } = input
  return {
    ...input,
    ...(targets !== undefined && { targets: await secrets.sealAll(targets) }),
    ...(typeof mtaRelay === 'string' && { mtaRelay: await secrets.seal(mtaRelay) }),
  }
}

export async function storedPassword(
  passwords: PasswordMaker,
  input: { hashedPassword: boolean; allowUnsafe: boolean },
  given: string | false,
  signal: AbortSignal,
): Promise<string> {
  if (given === false || given === '') return ''
  if (input.hashedPassword) {
    if (!passwords.known(given)) throw new Fault('HashError')
    return given
  }
  if (!input.allowUnsafe) await passwords.refuseBreached(given)
  return passwords.hash(given, signal)
}
