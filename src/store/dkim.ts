// Reading DKIM keys: one for each domain, its private half sealed (actors/dkim.ts opens it).
//
// Domains are in lower case and in unicode; look for one as `domainToUnicode` writes it.

import { checkParts } from './check.ts'
import type { DkimRow } from './dkim-writes.ts'
import type { Reader } from './reader.ts'
import { likePattern } from './users.ts'

const columns = 'id, domain, selector, description, key, public, fingerprint, created'

export async function findDkim(read: Reader, id: string): Promise<DkimRow | undefined> {
  return read.one<DkimRow>(`SELECT ${columns} FROM dkim WHERE id = ?`, id)
}

/** The key of exactly this domain, in lower case and in unicode. */
export async function findDkimFor(read: Reader, domain: string): Promise<DkimRow | undefined> {
  return read.one<DkimRow>(`SELECT ${columns} FROM dkim WHERE domain = ?`, domain)
}

/** Keys by domain; `query` is part of the domain. */
export async function listDkim(
  read: Reader,
  query: string,
  boundary: string | null,
  direction: 'forward' | 'back',
  count: number,
): Promise<DkimRow[]> {
  const [sign, order, edge] = direction === 'forward' ? ['>', 'ASC', ''] : ['<', 'DESC', '\u{10ffff}']
  return read.all<DkimRow>(
    `SELECT ${columns} FROM dkim WHERE domain ${sign} ? AND domain LIKE ? ESCAPE '\\' ORDER BY domain ${order} LIMIT ?`,
    boundary ?? edge,
    likePattern(query),
    count,
  )
}

export async function countDkim(read: Reader, query: string): Promise<number> {
  const text = `SELECT count(*) AS n FROM dkim WHERE domain LIKE ? ESCAPE '\\'`
  return read.one<{ n: number }>(text, likePattern(query))?.n ?? 0
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
