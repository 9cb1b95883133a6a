// Who may do what: roles, their grants, and which fields a grant hides (api-semantics 1.3).
//
// A grant is one of create, read, update, delete on a resource, for the caller's own things or for anybody's. `any`
// covers `own`. What is not in the table is refused. Fields hidden on the way in are dropped without a word, fields
// hidden on the way out are taken off the answer and off the rows in its `results`.

import { Fault } from '#lib/fault.ts'

export type Resource =
  | 'addresslisting'
  | 'addresses'
  | 'authentication'
  | 'userlisting'
  | 'users'
  | 'asps'
  | 'messages'
  | 'attachments'
  | 'storage'
  | 'mailboxes'
  | 'autoreplies'
  | 'filters'
  | 'certs'
  | 'dkim'
  | 'domainaccess'
  | 'domainaliases'
  | 'domains'
  | 'webhooks'
  | 'settings'
  | 'audit'
  | 'export'
  | 'import'
  | 'credentials'
  | 'queue'
  | 'figures'
  | 'log'
  | 'backups'
  | 'tokens'
  | 'impersonation'

type Action = 'create' | 'read' | 'update' | 'delete'

/** What an endpoint asks of its caller, `mailboxes.create` for example. */
export type Allow = `${Resource}.${Action}`

export interface Caller {
  readonly role: Role
  /** Id of the user whose token it is; null for tokens that belong to nobody and for calls without one. */
  readonly user: string | null
  /** `user` from a login, `provisioned` from the command line, `root` the configured one, `open` no token at all. */
  readonly tokenKind: 'user' | 'provisioned' | 'root' | 'open'
  /** When a user token was made, milliseconds since 1970; 0 or absent for others. */
  readonly loginAt?: number
  /** Tells the token of a user from others, for logs; nothing of the token itself. */
  readonly session?: string
  /** Its token, as logs and lists name it. */
  readonly named?: { readonly id: string; readonly label: string }
  /** Domains that the caller looks after; absent: none. */
  readonly domains?: readonly string[]
}

/** Fields a grant does not show, or does not take. */
interface Attributes {
  /** Only these fields may be sent (path parameters, sess and ip always may). */
  readonly takes?: readonly string[]
  /** These fields may not be sent. */
  readonly drops?: readonly string[]
  /** Whoever sends one of these fields is refused. */
  readonly refuses?: readonly string[]
  /** These fields are not in answers. */
  readonly hides?: readonly string[]
}

/** What a grant is for: the caller's own things, those of the domains the caller looks after, or anybody's. */
type Scope = 'own' | 'domain' | 'any'

/** A yes, and for what, with what is filtered. */
export interface Grant {
  readonly scope: Scope
  readonly takes: ReadonlySet<string> | null
  readonly drops: ReadonlySet<string> | null
  readonly refuses: ReadonlySet<string> | null
  readonly hides: ReadonlySet<string> | null
}

type Letters = string

interface Line {
  readonly scope: Scope
  readonly letters: Letters
  readonly filters: Readonly<Partial<Record<Action, Attributes>>>
}

const own = (letters: Letters, filters: Line['filters'] = {}): Line => ({ scope: 'own', letters, filters })
const ofDomain = (letters: Letters, filters: Line['filters'] = {}): Line => ({ scope: 'domain', letters, filters })
const any = (letters: Letters, filters: Line['filters'] = {}): Line => ({ scope: 'any', letters, filters })

const manager = {
  addresslisting: any('R'),
  addresses: any('CRUD'),
  authentication: any('CR'),
  userlisting: any('R'),
  users: any('CRUD'),
  credentials: any('U'),
  asps: any('CRD'),
  autoreplies: any('CRUD'),
  filters: any('CRUD'),
  certs: any('CRUD'),
  dkim: any('CRUD'),
  domainaccess: any('CRUD'),
  domainaliases: any('CRUD'),
  domains: any('CRUD'),
  webhooks: any('CRUD'),
  queue: any('RUD'),
  figures: any('R'),
  tokens: any('CRD'),
} as const

const hiddenUser = ['tags', 'disabledScopes', 'internalData']

/** Fields that a user may change of the own account (api-semantics 1.3). */
const changeable = [
  ...['existingPassword', 'password', 'allowUnsafe', 'language', 'name', 'targets', 'mtaRelay', 'spamLevel'],
  ...['uploadSentMessages', 'metaData', 'pubKey', 'smimeCerts', 'smimeCipher', 'smimeKeyTransport'],
  ...['encryptMessages', 'encryptForwarded', 'retention', 'disable2fa', 'protocol', 'sess', 'ip'],
]

/** What whoever acts as a user may not touch: the account stays its owner's. */
const secrets = ['existingPassword', 'password', 'disable2fa']

const token = { drops: ['token'], hides: ['token'] }

const user = {
  addresslisting: own('R', { read: { hides: ['internalData'] } }),
  addresses: own('CRUD', {
    create: { drops: ['internalData', 'allowWildcard'] },
    read: { hides: ['internalData'] },
    update: { drops: ['internalData'] },
  }),
  authentication: own('CR'),
  userlisting: own('R', { read: { hides: hiddenUser } }),
  users: own('RU', { read: { hides: hiddenUser }, update: { takes: changeable } }),
  credentials: own('U'),
  asps: own('CRD'),
  messages: own('CRUD'),
  attachments: own('CRUD'),
  storage: own('CRUD'),
  mailboxes: own('CRUD'),
  autoreplies: own('CRUD'),
  filters: own('CRUD'),
  webhooks: own('R'),
} as const

/** Fields of an account that whoever looks after its domain may give it. */
const givable = [
  ...['name', 'password', 'hashedPassword', 'allowUnsafe', 'language', 'retention', 'metaData', 'spamLevel'],
  ...['disabledScopes', 'uploadSentMessages', 'require2faEnabled', 'quota', 'recipients', 'forwards', 'filters'],
  ...['imapMaxUpload', 'imapMaxDownload', 'pop3MaxDownload', 'pop3MaxMessages', 'imapMaxConnections', 'receivedMax'],
  ...['username', 'address', 'requirePasswordChange', 'mailboxes', 'disabled', 'suspended', 'protocol', 'sess', 'ip'],
]

/** What its owner or an operator alone decides: where mail goes on to, as whom is written, with what it is encrypted. */
const withheld = [
  ...['targets', 'mtaRelay', 'fromWhitelist', 'tags', 'internalData', 'pubKey', 'smimeCerts', 'smimeCipher'],
  ...['smimeKeyTransport', 'encryptMessages', 'encryptForwarded', 'featureFlags', 'disable2fa', 'existingPassword'],
]

const operators = { refuses: ['internalData'], drops: [], hides: ['internalData'] }
const shownToDomain = { hides: ['internalData', 'mtaRelay', 'tags'] }

/** Whoever looks after domains: an account that is named for it, beside what is its own, or a token bound to them. */
const domain = {
  addresslisting: ofDomain('R', { read: operators }),
  addresses: ofDomain('CRUD', { create: operators, read: operators, update: operators }),
  userlisting: ofDomain('R', { read: shownToDomain }),
  users: ofDomain('CRUD', {
    create: { takes: givable, refuses: withheld },
    read: shownToDomain,
    update: { takes: givable, refuses: withheld },
  }),
  domainaliases: ofDomain('CRD'),
  dkim: ofDomain('CRD'),
  domains: ofDomain('RU', {
    update: {
      takes: ['description', 'catchAll'],
      refuses: [
        ...['tags', 'disabled', 'disabledReason', 'maxUsers', 'maxAddresses', 'maxForwards', 'quota'],
        ...['defaultQuota', 'defaultLimits', 'admins'],
      ],
    },
  }),
} as const

const table = {
  root: {
    ...manager,
    messages: any('CRUD'),
    attachments: any('CRUD'),
    storage: any('CRUD'),
    mailboxes: any('CRUD'),
    settings: any('CRUD'),
    log: any('R'),
    backups: any('CR'),
    impersonation: any('C'),
  },
  manager,
  webmail: {
    addresses: any('CRUD'),
    authentication: any('CR'),
    users: any('RU'),
    credentials: any('U'),
    asps: any('CRD'),
    messages: any('CRUD'),
    attachments: any('CRUD'),
    storage: any('CRUD'),
    mailboxes: any('CRUD'),
    autoreplies: any('CRUD'),
    filters: any('CRUD'),
    domainaccess: any('CRUD'),
    webhooks: any('CRUD'),
  },
  user,
  domain,
  impersonated: {
    ...user,
    authentication: own('R'),
    users: own('RU', { read: { hides: hiddenUser }, update: { takes: changeable, refuses: secrets } }),
    credentials: own(''),
    asps: own('R'),
  },
  auth: { authentication: any('C', { create: token }) },
  tokenAuth: { authentication: any('C') },
  attachments: { attachments: any('R') },
  downloader: { messages: any('R') },
  // Whoever begins an audit of an account finds it by its name.
  audit: { users: any('R'), userlisting: any('R'), audit: any('CRUD') },
  auditclient: { audit: any('R') },
  export: { export: any('C'), import: any('C') },
  settings: { settings: any('CRUD'), queue: any('RUD'), figures: any('R') },
} as const satisfies Record<string, Partial<Record<Resource, Line>>>

export type Role = keyof typeof table

export const roles = Object.keys(table) as readonly Role[]

export function isRole(text: string): text is Role {
  return Object.hasOwn(table, text)
}

const actions: Readonly<Record<string, Action>> = { C: 'create', R: 'read', U: 'update', D: 'delete' }

/** role -> `resource.action` -> grant, made once from the table. */
const grants = new Map<Role, ReadonlyMap<string, Grant>>(roles.map(role => [role, compileRole(table[role])]))

/**
 * Whether `caller` may do `allow`, and how.
 * `owner` is the user that the path names, null where it names none; `listing` says that the endpoint limits itself to
 * the caller's own rows when told so. `reached` is there where it limits itself to domains, too: whether the owner belongs to
 * one of the caller's. To the own account whoever looks after domains is a user like others. Null is a no.
 */
export function decide(
  caller: Caller,
  allow: Allow,
  owner: string | null,
  listing: boolean,
  reached?: boolean,
): Grant | null {
  const grant = grants.get(caller.role)?.get(allow)
  if (grant?.scope === 'any') return grant
  const own = grant?.scope === 'own' && caller.user !== null ? grant : null
  if (owner !== null && owner === caller.user) return own
  const { domains = [] } = caller
  if (reached !== undefined && domains.length > 0 && (owner === null || reached)) {
    const ofThem = grants.get('domain')?.get(allow)
    if (ofThem !== undefined) return ofThem
  }
  return owner === null && listing ? own : null
}

/** Roles of whoever is a user; what has one belongs to an account. */
const usersRoles: ReadonlySet<Role> = new Set(['user', 'impersonated'])

/**
 * Whether somebody of role `giver` may make and end tokens of `role`: those that belong to no account and may do nothing that the
 * giver may not.
 */
export function mayHandOut(giver: Role, role: Role): boolean {
  if (usersRoles.has(role) || usersRoles.has(giver) || giver === 'domain') return false
  const given = grants.get(giver)
  return [...(grants.get(role) ?? [])].every(([allow, { scope }]) => {
    const grant = given?.get(allow)
    return grant !== undefined && (grant.scope === 'any' || scope === 'own')
  })
}

/** What a role may do, and with whose things: `users.read` -> `own`, `domain` or `any`. */
export function grantsOf(role: Role): Readonly<Record<string, Scope>> {
  return Object.fromEntries([...(grants.get(role) ?? [])].map(([allow, { scope }]) => [allow, scope]))
}

/** Drops the fields that `grant` does not take, in place. `kept` are the path's. @throws Fault MissingPrivileges */
export function filterInput(grant: Grant, input: Record<string, unknown>, kept: ReadonlySet<string>): void {
  if (grant.takes === null && grant.drops === null) return
  for (const key of Object.keys(input)) {
    if (kept.has(key)) continue
    if (grant.refuses?.has(key) === true) throw new Fault('MissingPrivileges')
    if (grant.takes?.has(key) === false || grant.drops?.has(key) === true) delete input[key]
  }
}

/** `answer` without the fields that `grant` hides, at the top and in each of its `results`. */
export function filterOutput(grant: Grant, answer: Record<string, unknown>): Record<string, unknown> {
  const { hides } = grant
  if (hides === null) return answer
  const shown = without(answer, hides)
  if (Array.isArray(shown.results)) {
    shown.results = shown.results.map((row: unknown) =>
      typeof row === 'object' && row !== null ? without(row as Record<string, unknown>, hides) : row,
    )
  }
  return shown
}

function without(object: Record<string, unknown>, keys: ReadonlySet<string>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(object).filter(([key]) => !keys.has(key)))
}

function compileRole(lines: Partial<Record<Resource, Line>>): ReadonlyMap<string, Grant> {
  const compiled = new Map<string, Grant>()
  for (const [resource, { scope, letters, filters }] of Object.entries(lines)) {
    for (const letter of letters) {
      const action = actions[letter]
      if (action === undefined) throw new Error(`No action is called ${letter}`)
      const { takes, drops, refuses, hides } = filters[action] ?? {}
      const sets = { takes: set(takes), drops: set(drops), refuses: set(refuses), hides: set(hides) }
      compiled.set(`${resource}.${action}`, { scope, ...sets })
    }
  }
  return compiled
}

function set(keys: readonly string[] | undefined): ReadonlySet<string> | null {
  return keys === undefined ? null : new Set(keys)
}
