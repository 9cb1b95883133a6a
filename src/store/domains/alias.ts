// Domains that stand for another one: the table, its reads and writes.
//
// An alias stands for one domain. Both are in lower case and in unicode. Reads are by index, but for lists with a query.

import { moment, text } from '../engine/column.ts'
import { among } from '../engine/dialect.ts'
import { likePattern } from '../engine/like.ts'
import type { Reader } from '../engine/reader.ts'
import { type RowOf, table } from '../engine/table.ts'
import { defineWrite } from '../engine/write.ts'
import { checkParts } from '../upkeep/check.ts'

const aliases = table(
  'domainalias',
  { id: text, alias: text, domain: text, created: moment },
  {
    key: ['id'],
    clustered: true,
    indexes: {
      domainalias_alias: { on: ['alias'], unique: true, conflict: 'AliasExists' },
      domainalias_domain: { on: ['domain'] },
    },
  },
)

export type DomainAliasRow = RowOf<typeof aliases>

export const domainAliasInsert = aliases.defineInsert()

export const domainAliasDelete = aliases.defineDelete(['id'])

/** What stood for the old domain stands for the new one. */
export const domainAliasRename = defineWrite<{ previous: string; current: string }>(
  'domainalias.rename',
  (sql, { previous, current }) => {
    sql('UPDATE domainalias SET domain = ? WHERE domain = ?').run(current, previous)
  },
)

export async function findDomainAlias(read: Reader, id: string): Promise<DomainAliasRow | undefined> {
  return await aliases.one(read, 'WHERE id = ?', id)
}

/** The alias with this name. */
export async function findAlias(read: Reader, alias: string): Promise<DomainAliasRow | undefined> {
  return await aliases.one(read, 'WHERE alias = ?', alias)
}

/** Aliases by name; `query` is part of an alias or of its domain. `only`: of these domains. */
export async function listAliases(
  read: Reader,
  query: string,
  boundary: string | null,
  direction: 'forward' | 'back',
  count: number,
  only: readonly string[] | null = null,
): Promise<DomainAliasRow[]> {
  const [sign, order, edge] = direction === 'forward' ? ['>', 'ASC', ''] : ['<', 'DESC', '\u{10ffff}']
  return await aliases.all(
    read,
    `WHERE alias ${sign} ?
     AND (alias LIKE ? ESCAPE '\\' OR domain LIKE ? ESCAPE '\\') AND (? IS NULL OR domain IN ${among()}) ORDER BY alias ${order} LIMIT ?`,
    boundary ?? edge,
    likePattern(query),
    likePattern(query),
    ...listed(only),
    count,
  )
}

export async function countAliases(
  read: Reader,
  query: string,
  only: readonly string[] | null = null,
): Promise<number> {
  const pattern = likePattern(query)
  const rest = `WHERE (alias LIKE ? ESCAPE '\\' OR domain LIKE ? ESCAPE '\\') AND (? IS NULL OR domain IN ${among()})`
  return await aliases.count(read, rest, pattern, pattern, ...listed(only))
}

/** A list as it is bound where it may be missing, which is twice. */
function listed(only: readonly string[] | null): (string | null)[] {
  const text = only === null ? null : JSON.stringify(only)
  return [text, text]
}

/** How many aliases stand for a domain. */
export async function countAliasesOf(read: Reader, domain: string): Promise<number> {
  return await aliases.count(read, 'WHERE domain = ?', domain)
}

checkParts.push({
  rules: [
    {
      says: 'an address belongs to an account or forwards, not both',
      query: 'SELECT id FROM address WHERE ("user" IS NULL) = (forward IS NULL)',
    },
    {
      says: 'an address is kept under the domain it ends in',
      query: `SELECT id FROM address WHERE address NOT LIKE '%@' || replace(domain, '_', '\\_') ESCAPE '\\'
        OR key NOT LIKE '%@' || replace(domain, '_', '\\_') ESCAPE '\\'`,
    },
    {
      says: 'a deleted account keeps neither addresses nor its name',
      query: `SELECT id FROM "user" WHERE deleted IS NOT NULL
        AND (key <> '#' || id OR id IN (SELECT "user" FROM address WHERE "user" IS NOT NULL))`,
    },
  ],
})
