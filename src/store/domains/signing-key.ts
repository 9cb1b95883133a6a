// Keys that domains have without being asked: the table, its reads and writes. Private halves are sealed
// (actors/admin/signing-keys.ts opens them).
//
// Of each algorithm a domain has one key that waits and one that signs at most; the directory is the only one to use the
// writes. Domains are in lower case and in unicode. Reads are bounded by their callers.

import { integer, moment, nullable, oneOf, text } from '../engine/column.ts'
import type { Reader } from '../engine/reader.ts'
import { type RowOf, table } from '../engine/table.ts'
import { checkParts } from '../upkeep/check.ts'

/** Waits for DNS to show it, signs, or signed before another one did. */
export const keyState = { next: 0, current: 1, retired: 2 } as const

/** What DNS said of it the last time. */
export type KeyFound = 'shown' | 'absent' | 'another' | 'unknown'

const keys = table(
  'signing_key',
  {
    id: text,
    domain: text,
    selector: text,
    algorithm: oneOf<'rsa' | 'ed25519'>(),
    /** Private key in PEM, sealed; null where it signs no more. */
    key: nullable(text),
    /** Public key in PEM. */
    public: text,
    /** See `keyState`. */
    state: integer,
    created: moment,
    /** When it came into its state. */
    since: moment,
    /** When DNS is asked next, or when it is forgotten. */
    due: moment,
    checked: nullable(moment),
    /** Times that DNS was asked in this state. */
    looks: integer,
    found: nullable(oneOf<KeyFound>()),
  },
  {
    key: ['id'],
    indexes: {
      signing_key_place: { on: ['domain', 'algorithm', 'state'], unique: true, where: 'state < 2' },
      signing_key_name: { on: ['domain', 'selector'], unique: true },
      signing_key_due: { on: ['due'] },
    },
  },
)

export type SigningKeyRow = RowOf<typeof keys>

export const signingKeyPut = keys.defineUpsert()

export const signingKeyDelete = keys.defineDelete(['id'])

/** All keys of a domain, the newest first. */
export async function keysOf(read: Reader, domain: string): Promise<SigningKeyRow[]> {
  return await keys.all(read, 'WHERE domain = ? ORDER BY created DESC, algorithm DESC LIMIT 100', domain)
}

/** Those that sign. */
export async function currentKeysOf(read: Reader, domain: string): Promise<SigningKeyRow[]> {
  return await keys.all(read, 'WHERE domain = ? AND state = 1 AND state < 2 ORDER BY algorithm DESC LIMIT 2', domain)
}

export async function findSigningKeyRow(read: Reader, id: string): Promise<SigningKeyRow | undefined> {
  return await keys.one(read, 'WHERE id = ?', id)
}

/** Keys by domain and age, after a domain. */
export async function listSigningKeys(read: Reader, after: string, count: number): Promise<SigningKeyRow[]> {
  return await keys.all(read, 'WHERE domain > ? ORDER BY domain, created DESC, algorithm DESC LIMIT ?', after, count)
}

/** What is due, the longest waiting first. */
export async function dueSigningKeys(read: Reader, at: number, count: number): Promise<SigningKeyRow[]> {
  return await keys.all(read, 'WHERE due <= ? ORDER BY due LIMIT ?', at, count)
}

export async function nextSigningKeyDue(read: Reader): Promise<number | null> {
  return (await read.one<{ due: number | null }>('SELECT min(due) AS due FROM signing_key'))?.due ?? null
}

/** How many keys are in each state. */
export async function countSigningKeys(read: Reader): Promise<Map<number, number>> {
  const rows = await read.all<{ state: number; n: number }>(
    'SELECT state, count(*) AS n FROM signing_key GROUP BY state',
  )
  return new Map(rows.map(({ state, n }) => [state, n]))
}

/** Domains that have addresses or stand for one that has, in order, after `after`. */
export async function domainsAfter(read: Reader, after: string, count: number): Promise<string[]> {
  const walk = (from: string, column: string) => `WITH RECURSIVE next(name, n) AS (
      SELECT (SELECT min(${column}) FROM ${from} WHERE ${column} > @after), 1
      UNION ALL
      SELECT (SELECT min(${column}) FROM ${from} WHERE ${column} > next.name), n + 1
      FROM next WHERE name IS NOT NULL AND n < @count)
    SELECT name FROM next WHERE name IS NOT NULL`
  const names = async (text: string) => (await read.all<{ name: string }>(text, { after, count })).map(row => row.name)
  const all = new Set([...(await names(walk('address', 'domain'))), ...(await names(walk('domainalias', 'alias')))])
  return [...all].sort().slice(0, count)
}

/** Whether the domain has a key of any kind: one that was put in by hand, or those it gets without being asked. */
export async function hasKeys(read: Reader, domain: string): Promise<boolean> {
  const made = 'SELECT 1 FROM dkim WHERE domain = ? UNION ALL SELECT 1 FROM signing_key WHERE domain = ? LIMIT 1'
  return (await read.one(made, domain, domain)) !== undefined
}

checkParts.push({
  rules: [
    {
      says: 'the private key that signs without being asked is sealed, and gone when it signs no more',
      query: `SELECT id FROM signing_key WHERE (state < 2) <> (key IS NOT NULL) OR key NOT LIKE '$wd01$%'`,
    },
  ],
})
