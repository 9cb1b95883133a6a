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

/** A yes, for `own` or for `any`, with what is filtered. */
export interface Grant {
  readonly scope: 'own' | 'any'
  readonly takes: ReadonlySet<string> | null
  readonly drops: ReadonlySet<string> | null
  readonly refuses: ReadonlySet<string> | null
  readonly hides: ReadonlySet<string> | null
}

type Letters = string

interface Line {
  readonly scope: 'own' | 'any'
  readonly letters: Letters
  readonly filters: Readonly<Partial<Record<Action, Attributes>>>
}

const own = (letters: Letters, filters: Line['filters'] = {}): Line => ({ scope: 'own', letters, filters })
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
  audit: { users: any('R'), audit: any('CRUD') },
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
 * the caller's own rows when told so. Null is a no.
 */
export function decide(caller: Caller, allow: Allow, owner: string | null, listing: boolean): Grant | null {
  const grant = grants.get(caller.role)?.get(allow)
  if (grant === undefined) return null
  if (grant.scope === 'any') return grant
  if (caller.user === null) return null
  return (owner === null ? listing : owner === caller.user) ? grant : null
}

/** Roles of whoever is a user; what has one belongs to an account. */
const usersRoles: ReadonlySet<Role> = new Set(['user', 'impersonated'])

/**
 * Whether somebody of role `giver` may make and end tokens of `role`: those that belong to no account and may do nothing that the
 * giver may not.
 */
export function mayHandOut(giver: Role, role: Role): boolean {
  if (usersRoles.has(role) || usersRoles.has(giver)) return false
  const given = grants.get(giver)
  return [...(grants.get(role) ?? [])].every(([allow, { scope }]) => {
    const grant = given?.get(allow)
    return grant !== undefined && (grant.scope === 'any' || scope === 'own')
  })
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
