// What may be said of a domain over HTTP, and what is shown of one.
//
// What is given and what is shown have the same names. Limits of 0 are none; defaults of 0 or absent are the service's own.

import { Type } from 'typebox'
import { limits } from '#lib/limits.ts'
import { fold } from '#mail/text/fold.ts'
import type { UserLimit } from '#store/accounts/users.ts'
import type { Domain } from '#store/domains/domain.ts'
import type { ListedDomain } from '#store/domains/domain-list.ts'
import { amount, bool, list, moment, object, optional, orFalse, text, userId } from '../../schema.ts'
import { target } from '../sending/target.ts'

const limitNames = [
  ...(['recipients', 'forwards', 'filters', 'imapMaxUpload', 'imapMaxDownload', 'pop3MaxDownload'] as const),
  ...(['pop3MaxMessages', 'imapMaxConnections', 'receivedMax'] as const),
] as const satisfies readonly UserLimit[]

const limit = optional(amount({ min: 0, description: 'As of an account; 0: the service’s own' }))

const defaultLimits = object({
  ...{ recipients: limit, forwards: limit, filters: limit, imapMaxUpload: limit, imapMaxDownload: limit },
  ...{ pop3MaxDownload: limit, pop3MaxMessages: limit, imapMaxConnections: limit, receivedMax: limit },
})

const most = (what: string) => optional(amount({ min: 0, description: `${what}; 0: any number` }))

/** Fields that making and changing a domain have in common. */
export const domainFields = {
  description: optional(text({ max: limits.domain.textLengthMax, empty: true, description: 'For people' })),
  tags: optional(list(text({ min: 1, max: 128, trim: true }), { max: 100, distinct: fold, description: 'Tags' })),
  disabled: optional(
    bool({ description: 'Its addresses refuse mail, its accounts cannot log in, and what they sent is held' }),
  ),
  disabledReason: optional(text({ max: limits.domain.textLengthMax, empty: true, description: 'Why, for operators' })),
  maxUsers: most('Users whose main address lies in it'),
  maxAddresses: most('Addresses of users'),
  maxForwards: most('Addresses that only forward'),
  quota: optional(amount({ min: 0, description: 'Bytes that its users may be given together; 0: any number' })),
  defaultQuota: optional(amount({ min: 0, description: 'Bytes of a user made without a quota; 0: the service’s own' })),
  defaultLimits: optional(defaultLimits),
  admins: optional(
    list(userId, { max: limits.domain.adminsMax, distinct: String, description: 'Ids of users who look after it' }),
  ),
  catchAll: optional(
    orFalse(
      object({
        user: optional(userId),
        targets: optional(list(target, { max: 1000, distinct: String, description: 'Addresses and URLs' })),
      }),
      { description: 'Who gets mail for addresses that nobody has: the address `*@domain`; `false` for nobody' },
    ),
  ),
} as const

/** Where `*@domain` goes. */
const catchAll = Type.Object({
  address: Type.String(),
  id: Type.String({ description: 'Id of the address' }),
  user: Type.Optional(userId),
  targets: Type.Optional(Type.Array(Type.String())),
})

export const domainShape = {
  name: Type.String(),
  description: Type.String(),
  tags: Type.Array(Type.String()),
  disabled: Type.Boolean(),
  disabledReason: Type.String(),
  maxUsers: Type.Integer(),
  maxAddresses: Type.Integer(),
  maxForwards: Type.Integer(),
  quota: Type.Integer(),
  defaultQuota: Type.Integer(),
  defaultLimits: Type.Object({}, { additionalProperties: Type.Integer(), description: 'Those that were given' }),
  created: Type.Union([moment, Type.Literal(false)], {
    description: '`false` for a domain that nobody made and that is known by what lies in it',
  }),
  users: Type.Integer({ description: 'Users whose main address lies in it' }),
  addresses: Type.Integer({ description: 'Addresses of users' }),
  forwards: Type.Integer({ description: 'Addresses that only forward' }),
  aliases: Type.Integer({ description: 'Domains that stand for it' }),
  quotaGiven: Type.Integer({ description: 'Bytes its users may store together' }),
  storageUsed: Type.Integer({ description: 'Bytes they store' }),
  catchAll: Type.Union([catchAll, Type.Literal(false)]),
  admins: Type.Array(Type.Object({ id: userId, username: Type.String(), address: Type.String() })),
}

export interface DomainInput {
  readonly description?: string | undefined
  readonly tags?: string[] | undefined
  readonly disabled?: boolean | undefined
  readonly disabledReason?: string | undefined
  readonly maxUsers?: number | undefined
  readonly maxAddresses?: number | undefined
  readonly maxForwards?: number | undefined
  readonly quota?: number | undefined
  readonly defaultQuota?: number | undefined
  readonly defaultLimits?: Partial<Record<UserLimit, number | undefined>> | undefined
}

const plain = [
  ...(['description', 'tags', 'disabled', 'disabledReason', 'maxUsers', 'maxAddresses', 'maxForwards'] as const),
  'quota',
] as const

/** What was given, as the fields of a row; `before` is what stays where only a part of the defaults was given. */
export function domainRow(input: DomainInput, before: Domain['defaults']): Partial<Omit<Domain, 'name' | 'created'>> {
  const fields = Object.fromEntries(plain.filter(name => input[name] !== undefined).map(name => [name, input[name]]))
  const { defaultQuota, defaultLimits: given } = input
  if (defaultQuota === undefined && given === undefined) return fields
  const known = limitNames.filter(name => given?.[name] !== undefined).map(name => [name, given?.[name] ?? 0] as const)
  const all = Object.entries({ ...before.limits, ...Object.fromEntries(known) }).filter(([, value]) => value > 0)
  const quota = defaultQuota ?? before.quota ?? 0
  return { ...fields, defaults: { ...(quota > 0 && { quota }), limits: Object.fromEntries(all) } }
}

/** The part of the answer that is in the list of domains as the store gives it. */
export function domainShown(domain: ListedDomain) {
  const { name, description, tags, disabled, disabledReason, maxUsers, maxAddresses, maxForwards, quota } = domain
  const { defaults, users, addresses, forwards, aliases, quotaGiven, storage } = domain
  return {
    ...{ name, description, tags, disabled, disabledReason, maxUsers, maxAddresses, maxForwards, quota },
    ...{ defaultQuota: defaults.quota ?? 0, defaultLimits: { ...defaults.limits } },
    created: domain.made ? new Date(domain.created).toISOString() : (false as const),
    ...{ users, addresses, forwards, aliases, quotaGiven, storageUsed: storage },
  }
}
