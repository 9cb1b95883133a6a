// Senders' domains that accounts of a tag never or always take for junk: the table, its reads and writes.
//
// Domains are in lower case and in unicode, tags in lower case. Entries of one tag are bounded, so lists are read whole.

import { moment, oneOf, text } from '../engine/column.ts'
import { among } from '../engine/dialect.ts'
import type { Reader } from '../engine/reader.ts'
import { type RowOf, table } from '../engine/table.ts'
import { defineWrite } from '../engine/write.ts'
import { checkParts } from '../upkeep/check.ts'

const entries = table(
  'domainaccess',
  { id: text, tag: text, domain: text, action: oneOf<'allow' | 'block'>(), created: moment },
  {
    key: ['id'],
    clustered: true,
    indexes: { domainaccess_tag: { on: ['tag', 'domain'], unique: true }, domainaccess_domain: { on: ['domain'] } },
  },
)

export type DomainAccessRow = RowOf<typeof entries>

/** One entry for each tag and domain; the later action wins and the id stays. */
export const domainAccessPut = defineWrite<DomainAccessRow>('domainaccess.put', (sql, row) => {
  sql(`INSERT INTO domainaccess (id, tag, domain, action, created) VALUES (@id, @tag, @domain, @action, @created)
    ON CONFLICT (tag, domain) DO UPDATE SET action = @action`).run(row)
})

export const domainAccessDelete = entries.defineDelete(['id'])

/** The entries of a tag with this action, by domain. */
export async function listDomainAccess(read: Reader, tag: string, action: string): Promise<DomainAccessRow[]> {
  return await entries.all(read, 'WHERE tag = ? AND action = ? ORDER BY domain LIMIT 10000', tag, action)
}

export async function findDomainAccess(read: Reader, id: string): Promise<DomainAccessRow | undefined> {
  return await entries.one(read, 'WHERE id = ?', id)
}

/** The entry of a tag for a domain. */
export async function findDomainEntry(read: Reader, tag: string, domain: string): Promise<DomainAccessRow | undefined> {
  return await entries.one(read, 'WHERE tag = ? AND domain = ?', tag, domain)
}

/** How many entries a tag has. */
export async function countDomainAccess(read: Reader, tag: string): Promise<number> {
  return await entries.count(read, 'WHERE tag = ?', tag)
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
  const row = await read.one<{ action: 'allow' | 'block' }>(
    `SELECT action FROM domainaccess WHERE domain = ? AND tag IN ${among()}
     ORDER BY action LIMIT 1`,
    domain,
    JSON.stringify(tags.map(tag => tag.toLowerCase())),
  )
  return row?.action ?? null
}

checkParts.push({
  rules: [
    {
      says: 'an entry of a domain list allows or blocks',
      query: `SELECT id FROM domainaccess WHERE action NOT IN ('allow', 'block')`,
    },
  ],
})
