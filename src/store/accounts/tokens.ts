// Access tokens: the table, its reads and writes.
//
// A token is found by the hash of its text; the text itself is never stored.

import { integer, json, moment, nullable, text } from '../engine/column.ts'
import type { Reader } from '../engine/reader.ts'
import { type RowOf, table } from '../engine/table.ts'
import { defineWrite } from '../engine/write.ts'

const tokens = table(
  'token',
  {
    hash: text,
    id: text,
    label: text,
    role: text,
    /** Id of the account; null for a provisioned one. */
    user: nullable(text),
    authVersion: integer,
    created: moment,
    /** Milliseconds by which each use pushes `expires` out; null: never expires. */
    ttl: nullable(integer),
    expires: nullable(moment),
    /** The moment after which no use helps. */
    dies: nullable(moment),
    /** Domains to which one of no account is bound; null: to none. */
    domains: nullable(json<string[]>()),
  },
  {
    key: ['hash'],
    clustered: true,
    indexes: {
      token_id: { on: ['id'], unique: true },
      token_user: { on: ['user'], where: '"user" IS NOT NULL' },
      token_expires: { on: ['expires'], where: 'expires IS NOT NULL' },
    },
  },
)

export type TokenRow = RowOf<typeof tokens>

export const tokenInsert = tokens.defineInsert()

/** One that lives for ever goes on to do so. */
export const tokenExtend = tokens.defineUpdate('extend', { raise: ['expires'], by: ['hash'] })

/** Names one of an account. */
export const tokenName = tokens.defineUpdate('name', { set: ['label'], by: ['hash', 'role'] })

/** Binds one to other domains. */
export const tokenBind = tokens.defineUpdate('bind', { set: ['domains'], by: ['hash'] })

export const tokenDelete = tokens.defineDelete(['hash'])

/**
 * Of the logins of an account the `max` that were used last stay, counted apart for those that somebody stays with (named sessions of the
 * page, and whatever came back after a while) and those that were taken and not come back to: who takes one for each request
 * ends nobody's session.
 */
export const tokenBound = defineWrite<{ user: string; max: number }>('token.bound', (sql, { user, max }) => {
  sql(`DELETE FROM token WHERE hash IN (SELECT hash FROM
    (SELECT hash, row_number() OVER (PARTITION BY label = '' AND expires <= created + ttl ORDER BY expires DESC, created DESC) AS place
      FROM token WHERE "user" = ? AND role = 'user') AS placed WHERE place > ?)`).run(user, max)
})

/** A token by its hash, whether or not it is still good. */
export async function findToken(read: Reader, hash: string): Promise<TokenRow | undefined> {
  return await tokens.one(read, 'WHERE hash = ?', hash)
}

/** Every provisioned token (those without an account), newest last. */
export async function listTokens(read: Reader): Promise<TokenRow[]> {
  return await tokens.all(read, 'WHERE "user" IS NULL ORDER BY created LIMIT 10000')
}

/** Tokens that are bound to a domain, perhaps among others. */
export async function tokensBoundTo(read: Reader, domain: string): Promise<TokenRow[]> {
  const bound = await tokens.all(read, 'WHERE "user" IS NULL AND domains IS NOT NULL ORDER BY created')
  return bound.filter(({ domains }) => domains?.includes(domain))
}

/** A provisioned token by its id. */
export async function findProvisioned(read: Reader, id: string): Promise<TokenRow | undefined> {
  return await tokens.one(read, 'WHERE id = ? AND "user" IS NULL', id)
}

/** Any token by its id, or by its hash. */
export async function findAnyToken(read: Reader, id: string, hash: string): Promise<TokenRow | undefined> {
  return await tokens.one(read, 'WHERE id = ? OR hash = ?', id, hash)
}

/** Tokens whose time is over, for the sweep. */
export async function expiredTokens(read: Reader, at: number, count: number): Promise<string[]> {
  return (await read.all<{ hash: string }>('SELECT hash FROM token WHERE expires < ? LIMIT ?', at, count)).map(
    row => row.hash,
  )
}

interface TokenPage {
  /** Id of the account. */
  readonly user: string
  /** Of the account: tokens of before are over. */
  readonly authVersion: number
  /** Only those that are still good at this moment. */
  readonly at: number
  /** Only the one with this id. */
  readonly id?: string
  /** All but the one with this hash. */
  readonly but?: string | null
}

/** Tokens of an account that are still good, newest first. */
export async function tokensOf(
  read: Reader,
  page: TokenPage,
  boundary: readonly [created: number, id: string] | null,
  direction: 'forward' | 'back',
  count: number,
): Promise<TokenRow[]> {
  const [sign, order] = direction === 'forward' ? ['<', 'DESC'] : ['>', 'ASC']
  const [created, id] = boundary ?? (direction === 'forward' ? [9e15, ''] : [0, ''])
  const { text, values } = good(page)
  const rest = `${text} AND (created, id) ${sign} (?, ?) ORDER BY created ${order}, id ${order} LIMIT ?`
  return await tokens.all(read, rest, ...values, created, id, count)
}

export async function countTokensOf(read: Reader, page: TokenPage): Promise<number> {
  const { text, values } = good(page)
  return await tokens.count(read, text, ...values)
}

function good({ user, authVersion, at, id, but }: TokenPage): { text: string; values: unknown[] } {
  const text = `WHERE "user" = ? AND auth_version >= ? AND coalesce(expires, ?) >= ? AND coalesce(dies, ?) >= ?
    AND (? IS NULL OR id = ?) AND hash IS NOT ?`
  return { text, values: [user, authVersion, at, at, at, at, id ?? null, id ?? null, but ?? null] }
}
