// Accounts: the table, its reads and writes.
//
// A deleted account keeps its row until its data is gone, with what is needed to bring it back; most readers must not
// take it for a living one. Absent keys of the options have the default named beside them.

import { domainsToUnicode } from '#mail/address/address.ts'
import { fold } from '#mail/text/fold.ts'
import { boolean, integer, json, moment, nullable, text } from '../engine/column.ts'
import { type Counted, counted } from '../engine/counted.ts'
import { among, folded, listRows, positionOf } from '../engine/dialect.ts'
import { containing, likePattern } from '../engine/like.ts'
import type { Reader } from '../engine/reader.ts'
import { type RowOf, table } from '../engine/table.ts'
import { defineWrite, type Write } from '../engine/write.ts'
import type { Address } from './address.ts'
import { closedByDomain } from './standing.ts'

/** Everything of an account that is only ever read together with it; absent keys have the default named here. */
export interface UserOptions {
  language?: string
  /** Milliseconds; 0 or absent: kept for ever. */
  retention?: number
  /** Paths a mail program is subscribed to although the folder was deleted, the oldest first. */
  subscriptions?: string[]
  /** Forwarding targets, as given. */
  targets?: string[]
  mtaRelay?: string
  /** 0 (all is spam) to 100 (nothing is); 50 by default. */
  spamLevel?: number
  /** Limits of the account; 0 or absent: the service's setting. */
  limits?: Partial<Record<UserLimit, number>>
  fromWhitelist?: string[]
  uploadSentMessages?: boolean
  disabledScopes?: string[]
  metaData?: Record<string, unknown>
  internalData?: Record<string, unknown>
  pubKey?: string
  /** Whom the key belongs to. */
  keyInfo?: { name: string; address: string; fingerprint: string }
  smimeCerts?: string[]
  smimeCipher?: string
  smimeKeyTransport?: string
  encryptMessages?: boolean
  encryptForwarded?: boolean
  featureFlags?: Record<string, boolean>
  require2faEnabled?: boolean
  /** The password was given by somebody else and must be replaced by its owner. */
  requirePasswordChange?: boolean
  /** Second factors that are on. */
  enabled2fa?: string[]
  totp?: {
    seed?: string
    /** The step of the last code that was used, never accepted again. */
    lastStep?: number
    /** The step of the code that enabled the factor, which may serve once more. */
    enablingStep?: number
    pending?: { seed: string; created: number }
  }
  autoreply?: boolean
  /** Rises with every change of filters and autoreply; absent: the account never had any. */
  rules?: number
  passwordPwned?: boolean
  /** Milliseconds since 1970. */
  lastPwnedCheck?: number
  lastLogin?: number
}

export type UserLimit =
  | 'recipients'
  | 'forwards'
  | 'filters'
  | 'imapMaxUpload'
  | 'imapMaxDownload'
  | 'pop3MaxDownload'
  | 'pop3MaxMessages'
  | 'imapMaxConnections'
  | 'receivedMax'

export interface TemporaryPassword {
  hash: string
  validAfter: number
  expires: number
}

/** What is needed to bring a deleted account back. */
interface DeletedUser {
  at: number
  after: number
  task: string
  username: string
  key: string
  address: string
  addresses: Address[]
  /** The removal of its data has begun: too late to come back. */
  started: boolean
}

const users = table(
  'user',
  {
    num: integer,
    id: text,
    username: text,
    /** Username without dots, lower case: unique. */
    key: text,
    name: text,
    /** Main address as shown; empty when there is none. */
    address: text,
    /** Stored hash; empty: no login with the main password. */
    password: text,
    temporary: nullable(json<TemporaryPassword>()),
    authVersion: integer,
    disabled: boolean,
    suspended: boolean,
    activated: boolean,
    /** Bytes; 0: the service's default. */
    quota: integer,
    tags: json<string[]>(),
    options: json<UserOptions>(),
    created: moment,
    deleted: nullable(json<DeletedUser>()),
  },
  {
    key: ['num'],
    derived: { domain: `substr(address, ${positionOf('address', "'@'")} + 1)` },
    indexes: {
      user_id: { on: ['id'], unique: true },
      user_key: { on: ['key'], unique: true, conflict: 'UserExistsError' },
      user_domain: { on: ['domain', 'quota'], where: 'deleted IS NULL' },
      user_here: { on: ['id'], where: 'deleted IS NULL' },
    },
  },
)

export type User = RowOf<typeof users>

/** What an account uses: bytes stored and the highest change number given out. */
const usages = table('usage', { user: integer, storage: integer, modseq: integer }, { key: ['user'] })

const insertUser = users.defineInsert('row')
const insertUsage = usages.insertion

/** An account with nothing in it yet. */
export const userInsert: Write<User> = defineWrite(
  'user.insert',
  (sql, form, effects) => {
    insertUser.run(sql, form, effects)
    sql(insertUsage).run((form as readonly unknown[])[0], 0, 0)
  },
  { encode: insertUser.encode },
)

export const userUpdate = users.defineUpdate('update', {
  set: [
    ...(['username', 'key', 'name', 'address', 'password', 'temporary', 'authVersion', 'disabled'] as const),
    ...(['suspended', 'activated', 'quota', 'tags', 'options', 'deleted'] as const),
  ],
  by: ['num', 'id', 'created'],
})

export const passwordReplace = defineWrite<{ num: number; from: string; to: string }>('user.rehash', (sql, row) => {
  sql('UPDATE "user" SET password = ? WHERE num = ? AND password = ?').run(row.to, row.num, row.from)
})

/** Adds differences; never lowers the change number. */
export const usageAdd = usages.defineUpdate('add', { add: ['storage'], raise: ['modseq'], by: ['user'] })

/** The account with this id, deleted ones too. */
export async function findUser(read: Reader, id: string): Promise<User | undefined> {
  return await users.one(read, 'WHERE id = ?', id)
}

/** What a token needs to know of its account: whether anybody may come in, and its version. */
export async function findStanding(
  read: Reader,
  id: string,
): Promise<{ open: boolean; authVersion: number } | undefined> {
  const row = await read.one<{ open: number; authVersion: number }>(
    `SELECT disabled = 0 AND suspended = 0 AND deleted IS NULL AND NOT ${closedByDomain} AS open, auth_version AS authVersion
     FROM "user" WHERE id = ?`,
    id,
  )
  return row === undefined ? undefined : { open: row.open === 1, authVersion: row.authVersion }
}

/** The account with this internal number. */
export async function findUserByNumber(read: Reader, num: number): Promise<User | undefined> {
  return await users.one(read, 'WHERE num = ?', num)
}

/** Usernames of accounts by their ids; of one that is gone there is none. */
export async function usernamesOf(read: Reader, ids: readonly string[]): Promise<ReadonlyMap<string, string>> {
  const rows = await read.all<{ id: string; username: string }>(
    `SELECT id, username FROM "user" WHERE id IN ${among()}`,
    JSON.stringify([...new Set(ids)]),
  )
  return new Map(rows.map(({ id, username }) => [id, username]))
}

/** The id of the account whose username has this key. */
export async function findUserByKey(read: Reader, key: string): Promise<string | undefined> {
  return (await read.one<{ id: string }>('SELECT id FROM "user" WHERE key = ? AND deleted IS NULL', key))?.id
}

/** How many accounts there are, and what they use together. Scans a row for each. */
export async function accountFigures(read: Reader): Promise<{ users: number; storage: number }> {
  const users = await read.one<{ n: number }>('SELECT count(*) AS n FROM "user" WHERE deleted IS NULL')
  const used = await read.one<{ bytes: number }>('SELECT coalesce(sum(storage), 0) AS bytes FROM usage')
  return { users: users?.n ?? 0, storage: used?.bytes ?? 0 }
}

/** What an account uses. */
export async function readUsage(read: Reader, num: number): Promise<{ storage: number; modseq: number }> {
  return (await usages.one(read, 'WHERE "user" = ?', num)) ?? { storage: 0, modseq: 0 }
}

export interface UserPage {
  /** Substring of username, name or an address; empty: all. */
  query: string
  tags: readonly string[]
  requiredTags: readonly string[]
  forward: string
  /** Only this account. */
  only: string | null
  /** Only accounts of these domains; absent: of all. */
  domains?: readonly string[] | null
}

export interface UserListTask {
  readonly page: UserPage
  /** Id next to which the list begins; null: from its start. */
  readonly boundary: string | null
  readonly direction: 'forward' | 'back'
  readonly count: number
}

export type ListedUser = User & { readonly storage: number }

/** Whether reading such a page, or counting it, looks at every account. */
export function isFiltered(page: UserPage): boolean {
  return (
    (page.domains ?? null) !== null ||
    page.query !== '' ||
    page.forward !== '' ||
    page.tags.length > 0 ||
    page.requiredTags.length > 0
  )
}

/** Accounts in id order after (or before) `boundary`, for the list. Scans where it is filtered. */
async function listUsers(read: Reader, { page, boundary, direction, count }: UserListTask): Promise<ListedUser[]> {
  const { where, values } = userFilter(page)
  const compare = direction === 'forward' ? '>' : '<'
  const order = direction === 'forward' ? 'ASC' : 'DESC'
  const rows = await read.all<Record<string, unknown> & { storage: number }>(
    `SELECT ${users.list}, (SELECT storage FROM usage WHERE usage."user" = "user".num) AS storage FROM "user"
     WHERE deleted IS NULL ${where} AND id ${boundary === null ? '>=' : compare} ? ORDER BY id ${order} LIMIT ?`,
    ...values,
    boundary ?? (direction === 'forward' ? '' : 'g'),
    count,
  )
  return rows.map(row => ({ ...users.decode(row), storage: row.storage }))
}

/** A page of that list with how many accounts there are in it, of one moment. */
export function pageUsers(read: Reader, task: UserListTask): Promise<Counted<ListedUser>> {
  return counted(
    read,
    () => countUsers(read, task.page),
    () => listUsers(read, task),
  )
}

/** Ids of accounts that are not deleted, rising, after `boundary`. */
export async function listUserIds(read: Reader, boundary: string, count: number): Promise<string[]> {
  return (
    await read.all<{ id: string }>(
      'SELECT id FROM "user" WHERE deleted IS NULL AND id > ? ORDER BY id LIMIT ?',
      boundary,
      count,
    )
  ).map(row => row.id)
}

/** How many accounts a page's filter matches. */
async function countUsers(read: Reader, page: UserPage): Promise<number> {
  const { where, values } = userFilter(page)
  return (
    (await read.one<{ n: number }>(`SELECT count(*) AS n FROM "user" WHERE deleted IS NULL ${where}`, ...values))?.n ??
    0
  )
}

function userFilter(page: UserPage): { where: string; values: unknown[] } {
  const where: string[] = []
  const values: unknown[] = []
  if (page.only !== null) {
    where.push('id = ?')
    values.push(page.only)
  }
  if (page.domains != null) {
    where.push(`domain IN ${among()}`)
    values.push(JSON.stringify(page.domains))
  }
  if (page.query !== '') {
    const [inName, pattern] = containing('name', page.query)
    const [inAddress, part] = containing('address', domainsToUnicode(page.query))
    where.push(`(username LIKE ? ESCAPE '\\' OR ${inName} OR id IN
      (SELECT "user" FROM address WHERE "user" IS NOT NULL AND ${inAddress}))`)
    values.push(pattern, pattern, part)
  }
  if (page.tags.length > 0) {
    where.push(`EXISTS (SELECT 1 FROM ${listRows('tags')} WHERE ${folded('value')} IN ${among()})`)
    values.push(JSON.stringify(page.tags.map(fold)))
  }
  for (const tag of page.requiredTags) {
    where.push(`EXISTS (SELECT 1 FROM ${listRows('tags')} WHERE ${folded('value')} = ?)`)
    values.push(fold(tag))
  }
  if (page.forward !== '') {
    where.push(`EXISTS (SELECT 1 FROM ${listRows('options', 'targets')} WHERE value LIKE ? ESCAPE '\\')`)
    values.push(likePattern(page.forward))
  }
  return { where: where.map(condition => ` AND ${condition}`).join(''), values }
}

/** Highest change number of an account that is on disk; 0 where there is none. */
export async function lastModseq(read: Reader, user: number): Promise<number> {
  return (await read.one<{ modseq: number }>('SELECT modseq FROM usage WHERE "user" = ?', user))?.modseq ?? 0
}
