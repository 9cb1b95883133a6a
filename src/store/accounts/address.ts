// Who an address belongs to: usernames and addresses across all accounts. Each subject reads; the rules of uniqueness are
// constraints of the schema. Keys have no dots and no label, domains are in unicode (mail/address/address.ts).
//
// An address is looked up by its key: without dots and label, domain in unicode. What an address means, with aliases of
// domains and wildcards, is worked out here for mail and API alike. These are short reads by index, fit for the main
// loop, but for the lists across all accounts.

import { domainsToUnicode, normalizeAddress, splitAddress, wildcardKeys } from '#mail/address/address.ts'
import { fold } from '#mail/text/fold.ts'
import { findAlias } from '../domains/alias.ts'
import { called, json, moment, nullable, optional, text } from '../engine/column.ts'
import { type Counted, counted } from '../engine/counted.ts'
import { among, folded, listRows } from '../engine/dialect.ts'
import { containing, likePattern } from '../engine/like.ts'
import type { Reader } from '../engine/reader.ts'
import { type RowOf, table } from '../engine/table.ts'

/** What happens to mail for an address that belongs to no account. */
export interface Forward {
  /** Addresses, and smtp(s) or http(s) URLs, as given. */
  targets: string[]
  /** Messages a day; 0: the service's setting. */
  forwards: number
  disabled: boolean
  autoreply?: ForwardReply
}

export interface ForwardReply {
  status: boolean
  /** Milliseconds since 1970. */
  start?: number | false
  end?: number | false
  name?: string
  subject?: string
  text?: string
  html?: string
}

/** Below letters from an address; empty for none. The HTML is its owner's, and nobody has looked at it. */
export interface Signature {
  readonly text: string
  readonly html: string
}

const addresses = table(
  'address',
  {
    id: text,
    /** Without dots and label, domain in unicode: unique. */
    key: text,
    /** As shown. */
    address: text,
    domain: text,
    /** Id of the owner; null for an address that only forwards. */
    user: nullable(text),
    name: text,
    tags: json<string[]>(),
    metaData: called('meta', optional(json<unknown>())),
    internalData: called('internal', optional(json<unknown>())),
    /** What a forwarded address does; null for one of an account. */
    forward: nullable(json<Forward>()),
    created: moment,
    /** What its owner writes below letters. */
    signature: optional(json<Signature>()),
  },
  {
    key: ['id'],
    clustered: true,
    indexes: {
      address_key: { on: ['key'], unique: true, conflict: 'AddressExistsError' },
      address_user: { on: ['user'], where: '"user" IS NOT NULL' },
      address_domain: { on: ['domain', 'user'] },
    },
  },
)

export type Address = RowOf<typeof addresses>

export const addressInsert = addresses.defineInsert()

export const addressUpdate = addresses.defineUpdate('update', {
  set: [
    'key',
    'address',
    'domain',
    'name',
    'tags',
    'metaData',
    'internalData',
    'forward',
    'user',
    'created',
    'signature',
  ],
  by: ['id'],
})

export const addressDelete = addresses.defineDelete(['id'])

/** The address with this key. */
export async function findAddressByKey(read: Reader, key: string): Promise<Address | undefined> {
  return await addresses.one(read, 'WHERE key = ?', key)
}

/** The address with this id. */
export async function findAddress(read: Reader, id: string): Promise<Address | undefined> {
  return await addresses.one(read, 'WHERE id = ?', id)
}

/** The addresses of an account, in order of creation. */
export async function listAddresses(read: Reader, user: string): Promise<Address[]> {
  return await addresses.all(read, 'WHERE "user" = ? ORDER BY created, id', user)
}

/**
 * Whose an address is (api-semantics 10.8): as it stands, in the domain its domain is an alias of, then by wildcards of
 * both, longer ones first, and by those of every domain last. Dots and `+label` of the local part do not matter. The one rule for mail, logins and the API.
 *
 * @param wildcards whether an address with a star may answer; never for logins
 */
export async function resolveAddress(read: Reader, text: string, wildcards: boolean): Promise<Address | undefined> {
  const { key, domain } = normalizeAddress(text)
  const exact = await findAddressByKey(read, key)
  if (exact !== undefined) return exact
  const alias = await findAlias(read, domain)
  const aliased =
    alias === undefined ? undefined : await findAddressByKey(read, `${splitAddress(key).local}@${alias.domain}`)
  return aliased === undefined && wildcards ? firstOf(read, wildcardKeys(key, alias?.domain)) : aliased
}

/** The address of the first of these keys that has one. */
async function firstOf(read: Reader, keys: readonly string[]): Promise<Address | undefined> {
  const row = await read.one<Record<string, unknown>>(
    `SELECT ${addresses.listOf('a')} FROM ${listRows()} AS k JOIN address a ON a.key = k.value ORDER BY k.key LIMIT 1`,
    JSON.stringify(keys),
  )
  return row === undefined ? undefined : addresses.decode(row)
}

/** Whether any address lies in this domain. */
export async function holdsDomain(read: Reader, domain: string): Promise<boolean> {
  return (await read.one('SELECT 1 FROM address WHERE domain = ? LIMIT 1', domain)) !== undefined
}

/** The account that has had an address in this domain for longest, among those that take mail. */
export async function firstUserOf(read: Reader, domain: string): Promise<string | undefined> {
  const row = await read.one<{ user: string }>(
    `SELECT a."user" AS "user" FROM address a JOIN "user" u ON u.id = a."user" AND u.deleted IS NULL AND u.disabled = 0
      WHERE a.domain = ? ORDER BY a.created, a.id LIMIT 1`,
    domain,
  )
  return row?.user
}

/** The same of all domains: who has had an address for longest. */
export async function firstUser(read: Reader): Promise<string | undefined> {
  const row = await read.one<{ user: string }>(
    `SELECT a."user" AS "user" FROM address a JOIN "user" u ON u.id = a."user" AND u.deleted IS NULL AND u.disabled = 0
      ORDER BY a.created, a.id LIMIT 1`,
  )
  return row?.user
}

interface AddressPage {
  /** Part of an address; empty: all. */
  readonly query: string
  /** Part of a forwarding target; empty: all. */
  readonly forward: string
  readonly tags: readonly string[]
  readonly requiredTags: readonly string[]
  /** Only addresses of this account. */
  readonly only: string | null
  /** Only addresses in these domains; absent: in all. */
  readonly domains?: readonly string[] | null
}

export interface AddressListTask {
  readonly page: AddressPage
  /** Key next to which the list begins; null: from its start. */
  readonly boundary: string | null
  readonly direction: 'forward' | 'back'
  readonly count: number
}

/** Addresses of accounts and forwarded ones, in the order of their keys. Scans where it is filtered. */
async function listAllAddresses(
  read: Reader,
  { page, boundary, direction, count }: AddressListTask,
): Promise<Address[]> {
  const { where, values } = addressFilter(page)
  const [sign, order, edge] = direction === 'forward' ? ['>', 'ASC', ''] : ['<', 'DESC', '\u{10ffff}']
  const rest = `WHERE key ${sign} ? ${where} ORDER BY key ${order} LIMIT ?`
  return await addresses.all(read, rest, boundary ?? edge, ...values, count)
}

/** How many addresses a page's filter matches. */
async function countAllAddresses(read: Reader, page: AddressPage): Promise<number> {
  const { where, values } = addressFilter(page)
  return await addresses.count(read, `WHERE 1 = 1 ${where}`, ...values)
}

/** A page of that list with how many addresses there are in it, of one moment. */
export function pageAddresses(read: Reader, task: AddressListTask): Promise<Counted<Address>> {
  return counted(
    read,
    () => countAllAddresses(read, task.page),
    () => listAllAddresses(read, task),
  )
}

function addressFilter(page: AddressPage): { where: string; values: unknown[] } {
  const where: string[] = []
  const values: unknown[] = []
  const add = (condition: string, ...more: unknown[]) => {
    where.push(` AND ${condition}`)
    values.push(...more)
  }
  if (page.only !== null) add('"user" = ?', page.only)
  if (page.domains != null) add(`domain IN ${among()}`, JSON.stringify(page.domains))
  if (page.query !== '') add(...containing('address', domainsToUnicode(page.query)))
  if (page.forward !== '') {
    add(
      `EXISTS (SELECT 1 FROM ${listRows('forward', 'targets')} WHERE value LIKE ? ESCAPE '\\')`,
      likePattern(page.forward),
    )
  }
  if (page.tags.length > 0) {
    const tags = JSON.stringify(page.tags.map(fold))
    add(`EXISTS (SELECT 1 FROM ${listRows('tags')} WHERE ${folded('value')} IN ${among()})`, tags)
  }
  for (const tag of page.requiredTags) {
    add(`EXISTS (SELECT 1 FROM ${listRows('tags')} WHERE ${folded('value')} = ?)`, fold(tag))
  }
  return { where: where.join(''), values }
}

/** Accounts with an address in a domain, by id, after `boundary`. */
export async function usersInDomain(read: Reader, domain: string, boundary: string, count: number): Promise<string[]> {
  return (
    await read.all<{ user: string }>(
      'SELECT DISTINCT "user" FROM address WHERE domain = ? AND "user" > ? ORDER BY "user" LIMIT ?',
      domain,
      boundary,
      count,
    )
  ).map(row => row.user)
}

/** Forwarded addresses of a domain. */
export async function forwardedInDomain(read: Reader, domain: string): Promise<Address[]> {
  return await addresses.all(read, 'WHERE domain = ? AND "user" IS NULL', domain)
}

/** An address of `previous` whose like in `current` is taken; none where a rename would go well. */
export async function renameConflict(read: Reader, previous: string, current: string): Promise<string | undefined> {
  return (
    await read.one<{ address: string }>(
      `SELECT b.address FROM address a JOIN address b
     ON b.key = substr(a.key, 1, length(a.key) - length(a.domain)) || ? WHERE a.domain = ? LIMIT 1`,
      current,
      previous,
    )
  )?.address
}
