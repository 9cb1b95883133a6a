// DKIM keys: the table, its reads and writes. One for each domain, its private half sealed (actors/admin/dkim.ts opens it).
//
// Domains are in lower case and in unicode; look for one as `domainToUnicode` writes it. The directory is the only one to
// use the writes, so what it read of a domain still holds.

import { moment, nullable, text } from '../engine/column.ts'
import { among } from '../engine/dialect.ts'
import { likePattern } from '../engine/like.ts'
import type { Reader } from '../engine/reader.ts'
import { type RowOf, table } from '../engine/table.ts'
import { defineWrite } from '../engine/write.ts'
import { checkParts } from '../upkeep/check.ts'

const keys = table(
  'dkim',
  {
    id: text,
    /** Lower case, unicode. */
    domain: text,
    selector: text,
    description: nullable(text),
    /** Private key in PEM, sealed. */
    key: text,
    /** Public key in PEM. */
    public: text,
    fingerprint: text,
    created: moment,
  },
  { key: ['id'], indexes: { dkim_domain: { on: ['domain'], unique: true } } },
)

export type DkimRow = RowOf<typeof keys>

/** One key for each domain; what is put again replaces it and keeps id and age. */
export const dkimPut = keys.defineUpsert('put', ['domain', 'created'])

export const dkimDelete = keys.defineDelete(['id'])

/** The key of one domain becomes that of another, unless that has its own. */
export const dkimRename = defineWrite<{ previous: string; current: string }>(
  'dkim.rename',
  (sql, { previous, current }) => {
    sql(`UPDATE dkim SET domain = ? WHERE domain = ?
      AND NOT EXISTS (SELECT 1 FROM dkim WHERE domain = ?)`).run(current, previous, current)
  },
)

export async function findDkim(read: Reader, id: string): Promise<DkimRow | undefined> {
  return await keys.one(read, 'WHERE id = ?', id)
}

/** The key of exactly this domain, in lower case and in unicode. */
export async function findDkimFor(read: Reader, domain: string): Promise<DkimRow | undefined> {
  return await keys.one(read, 'WHERE domain = ?', domain)
}

/** Keys by domain; `query` is part of the domain. `only`: of these domains. */
export async function listDkim(
  read: Reader,
  query: string,
  boundary: string | null,
  direction: 'forward' | 'back',
  count: number,
  only: readonly string[] | null = null,
): Promise<DkimRow[]> {
  const [sign, order, edge] = direction === 'forward' ? ['>', 'ASC', ''] : ['<', 'DESC', '\u{10ffff}']
  return await keys.all(
    read,
    `WHERE domain ${sign} ? AND domain LIKE ? ESCAPE '\\' AND (? IS NULL OR domain IN ${among()}) ORDER BY domain ${order} LIMIT ?`,
    boundary ?? edge,
    likePattern(query),
    ...listed(only),
    count,
  )
}

export async function countDkim(read: Reader, query: string, only: readonly string[] | null = null): Promise<number> {
  const rest = `WHERE domain LIKE ? ESCAPE '\\' AND (? IS NULL OR domain IN ${among()})`
  return await keys.count(read, rest, likePattern(query), ...listed(only))
}

/** A list as it is bound where it may be missing, which is twice. */
function listed(only: readonly string[] | null): (string | null)[] {
  const text = only === null ? null : JSON.stringify(only)
  return [text, text]
}

checkParts.push({
  rules: [
    { says: 'the private key of a domain is sealed', query: `SELECT id FROM dkim WHERE key NOT LIKE '$wd01$%'` },
    {
      says: 'the secret of a subscription is sealed',
      query: `SELECT id FROM webhook WHERE secret IS NOT NULL AND secret NOT LIKE '$wd01$%'`,
    },
  ],
})
