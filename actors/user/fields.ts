// The fields of an account that may be given from outside, and how they are put into it.
//
// What is not given stays as it is. Limits of 0 mean the service's own; a new password ends what hangs on the old one.
// Passwords in URLs come sealed, and one that was masked stays what it was.

import { keepSecrets } from '#lib/secret/url-secret.ts'
import type { User, UserLimit, UserOptions } from '#store/accounts/users.ts'

const limitFields: readonly UserLimit[] = [
  'recipients',
  'forwards',
  'filters',
  'imapMaxUpload',
  'imapMaxDownload',
  'pop3MaxDownload',
  'pop3MaxMessages',
  'imapMaxConnections',
  'receivedMax',
]

const optionFields = [
  'language',
  'retention',
  'targets',
  'mtaRelay',
  'spamLevel',
  'fromWhitelist',
  'disabledScopes',
  'metaData',
  'internalData',
  'pubKey',
  'smimeCerts',
  'smimeCipher',
  'smimeKeyTransport',
  'encryptMessages',
  'encryptForwarded',
  'featureFlags',
  'require2faEnabled',
  'uploadSentMessages',
] as const

/** Options and limits of an account as they may be given; what is not given stays as it is. */
export type OptionFields = Partial<
  Record<Exclude<(typeof optionFields)[number], 'targets' | 'mtaRelay'> | UserLimit, unknown>
> & {
  targets?: string[] | undefined
  mtaRelay?: string | false | undefined
}

/** Keys to encrypt with: those of one kind take the place of the other's. */
export type KeyFields =
  | { readonly kind: 'none' }
  /** An OpenPGP key, and what is known of it. */
  | { readonly kind: 'pgp'; readonly info: NonNullable<UserOptions['keyInfo']> }
  | { readonly kind: 'smime' }
  /** The OpenPGP key was taken away. */
  | { readonly kind: 'empty' }

/** Fields of an account that may be changed. */
export interface UserFields extends OptionFields {
  readonly name?: string | undefined
  readonly quota?: number | undefined
  readonly tags?: string[] | undefined
  readonly disabled?: boolean | undefined
  readonly suspended?: boolean | undefined
  /** Whether the password there is then must be changed. */
  readonly requirePasswordChange?: boolean | undefined
}

const ownFields = ['name', 'quota', 'tags', 'disabled', 'suspended', 'requirePasswordChange'] as const

/** Of what a caller sent, the fields that are an account's: nothing else of it crosses to the actor. */
export function userFields(input: UserFields): UserFields {
  const names = [...ownFields, ...optionFields, ...limitFields]
  return Object.fromEntries(names.filter(name => input[name] !== undefined).map(name => [name, input[name]]))
}

export function applyKeys({ options }: Pick<User, 'options'>, keys: KeyFields): void {
  if (keys.kind === 'none') return
  if (keys.kind === 'smime') delete options.pubKey
  if (keys.kind === 'pgp') {
    options.keyInfo = keys.info
    delete options.smimeCerts
  } else delete options.keyInfo
}

export function applyOptions(user: Pick<User, 'options'>, given: OptionFields): void {
  const input = { ...given }
  const { mtaRelay, targets = [] } = user.options
  if (given.targets !== undefined) input.targets = keepSecrets(given.targets, targets, 'targets')
  if (given.mtaRelay) [input.mtaRelay] = keepSecrets([given.mtaRelay], mtaRelay ? [mtaRelay] : [], 'mtaRelay')
  for (const field of optionFields)
    if (input[field] !== undefined) Object.assign(user.options, { [field]: input[field] })
  if (input.mtaRelay === false) delete user.options.mtaRelay
  for (const field of limitFields) {
    const value = input[field]
    if (typeof value === 'number') user.options.limits = { ...user.options.limits, [field]: value }
  }
}

/** Puts fields into an account; `password` is the stored form of a new one, empty for none. */
export function applyFields(user: User, input: UserFields, password: string | undefined): void {
  applyOptions(user, input)
  if (input.name !== undefined) user.name = input.name
  if (input.quota !== undefined) user.quota = input.quota
  if (input.tags !== undefined) user.tags = input.tags
  if (input.disabled !== undefined) user.disabled = input.disabled
  if (input.suspended !== undefined) user.suspended = input.suspended
  const mustChange =
    input.requirePasswordChange ?? (password === undefined && user.options.requirePasswordChange === true)
  delete user.options.requirePasswordChange
  if (mustChange) user.options.requirePasswordChange = true
  if (password === undefined) return
  user.password = password
  user.temporary = null
  delete user.options.passwordPwned
  delete user.options.lastPwnedCheck
}
