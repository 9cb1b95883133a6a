// Domains: aliases of them, and the lists by which accounts of a tag take or refuse senders. Domains are in lower case and
// in unicode, tags in lower case. Entries of one tag are bounded, so lists are read whole.
//
// An alias stands for one domain. Reads are by index, but for lists with a query.

import { checkParts } from './check.ts'
import type { DomainAccessRow, DomainAliasRow } from './domain-writes.ts'
import type { Reader } from './reader.ts'
import { likePattern } from './users.ts'

const aliasColumns = 'id, alias, domain, created'

export async function findDomainAlias(read: Reader, id: string): Promise<DomainAliasRow | undefined> {
  return read.one<DomainAliasRow>(`SELECT ${aliasColumns} FROM domainalias WHERE id = ?`, id)
}

/** The alias with this name. */
export async function findAlias(read: Reader, alias: string): Promise<DomainAliasRow | undefined> {
  return read.one<DomainAliasRow>(`SELECT ${aliasColumns} FROM domainalias WHERE alias = ?`, alias)
}

/** Aliases by name; `query` is part of an alias or of its domain. */
export async function listAliases(
  read: Reader,
  query: string,
  boundary: string | null,
  direction: 'forward' | 'back',
  count: number,
): Promise<DomainAliasRow[]> {
  const [sign, order, edge] = direction === 'forward' ? ['>', 'ASC', ''] : ['<', 'DESC', '\u{10ffff}']
  return read.all<DomainAliasRow>(
    `SELECT ${aliasColumns} FROM domainalias WHERE alias ${sign} ?
     AND (alias LIKE ? ESCAPE '\\' OR domain LIKE ? ESCAPE '\\') ORDER BY alias ${order} LIMIT ?`,
    boundary ?? edge,
    likePattern(query),
    likePattern(query),
    count,
  )
}

export async function countAliases(read: Reader, query: string): Promise<number> {
  const pattern = likePattern(query)
  const text = `SELECT count(*) AS n FROM domainalias WHERE alias LIKE ? ESCAPE '\\' OR domain LIKE ? ESCAPE '\\'`
  return read.one<{ n: number }>(text, pattern, pattern)?.n ?? 0
}

/** How many aliases stand for a domain. */
export async function countAliasesOf(read: Reader, domain: string): Promise<number> {
  return read.one<{ n: number }>('SELECT count(*) AS n FROM domainalias WHERE domain = ?', domain)?.n ?? 0
}

const accessColumns = 'id, tag, domain, action, created'

/** The entries of a tag with this action, by domain. */
export async function listDomainAccess(read: Reader, tag: string, action: string): Promise<DomainAccessRow[]> {
  return read.all<DomainAccessRow>(
    `SELECT ${accessColumns} FROM domainaccess WHERE tag = ? AND action = ? ORDER BY domain LIMIT 10000`,
    tag,
    action,
  )
}

export async function findDomainAccess(read: Reader, id: string): Promise<DomainAccessRow | undefined> {
  return read.one<DomainAccessRow>(`SELECT ${accessColumns} FROM domainaccess WHERE id = ?`, id)
}

/** The entry of a tag for a domain. */
export async function findDomainEntry(read: Reader, tag: string, domain: string): Promise<DomainAccessRow | undefined> {
  return read.one<DomainAccessRow>(
    `SELECT ${accessColumns} FROM domainaccess WHERE tag = ? AND domain = ?`,
    tag,
    domain,
  )
}

/** How many entries a tag has. */
export async function countDomainAccess(read: Reader, tag: string): Promise<number> {
  return read.one<{ n: number }>('SELECT count(*) AS n FROM domainaccess WHERE tag = ?', tag)?.n ?? 0
}

/**
 * What the lists say of a sender's domain for an account with these tags. Where tags disagree, `allow` wins: it is the
 * exception that somebody made.
 */
export async function domainVerdict(
  read: Reader,
  tags: readonly string[],
  domain: string,
): Promise<'allow' | 'block' | null> {
  if (tags.length === 0 || domain === '') return null
  const row = read.one<{ action: 'allow' | 'block' }>(
    `SELECT action FROM domainaccess WHERE domain = ? AND tag IN (SELECT value FROM json_each(?))
     ORDER BY action LIMIT 1`,
    domain,
    JSON.stringify(tags.map(tag => tag.toLowerCase())),
  )
  return row?.action ?? null
}

checkParts.push({
  rules: [
    {
      says: 'an address belongs to an account or forwards, not both',
      query: 'SELECT id FROM address WHERE (user IS NULL) = (forward IS NULL)',
    },
    {
      says: 'an address is kept under the domain it ends in',
      query: `SELECT id FROM address WHERE address NOT LIKE '%@' || replace(domain, '_', '\\_') ESCAPE '\\'
        OR key NOT LIKE '%@' || replace(domain, '_', '\\_') ESCAPE '\\'`,
    },
    {
      says: 'an entry of a domain list allows or blocks',
      query: `SELECT id FROM domainaccess WHERE action NOT IN ('allow', 'block')`,
    },
    {
      says: 'a deleted account keeps neither addresses nor its name',
      query: `SELECT id FROM user WHERE deleted IS NOT NULL
        AND (key <> '#' || id OR id IN (SELECT user FROM address WHERE user IS NOT NULL))`,
    },
  ],
})
