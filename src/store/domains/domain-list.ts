// Domains that are here, made by somebody or known by what lies in them, with what they hold.
//
// A list counts all accounts of the domains on its page, so it is asked on a thread (engine/reads.ts) and never on the main
// loop. What one command needs of one domain is `domainUse`.

import { type Counted, counted } from '../engine/counted.ts'
import { among } from '../engine/dialect.ts'
import { likePattern } from '../engine/like.ts'
import type { Reader } from '../engine/reader.ts'
import { type Domain, findDomain, plainDomain } from './domain.ts'

export interface DomainListTask {
  /** Part of a name; empty: all. */
  readonly query: string
  /** Only these; null: all. */
  readonly only: readonly string[] | null
  /** Name next to which the list begins; null: from its start. */
  readonly boundary: string | null
  readonly direction: 'forward' | 'back'
  readonly count: number
  /** Bytes of an account that has no number of its own. */
  readonly defaultQuota: number
}

export interface ListedDomain extends Domain {
  /** Somebody made it. */
  readonly made: boolean
  /** Accounts whose main address lies in it. */
  readonly users: number
  /** Addresses of accounts, and those that only forward. */
  readonly addresses: number
  readonly forwards: number
  readonly aliases: number
  /** Bytes its accounts may store together, and do. */
  readonly quotaGiven: number
  readonly storage: number
}

/** Names of all: `user@*` lies in none of them, and a key may be for all. Keys that are made without being asked for say nothing. */
const names = `SELECT name FROM domain UNION SELECT domain FROM address WHERE domain <> '*'
  UNION SELECT domain FROM domainalias UNION SELECT domain FROM dkim WHERE domain LIKE '%.%'`

/** A page of domains by name, with how many there are. */
export function pageDomains(read: Reader, task: DomainListTask): Promise<Counted<ListedDomain>> {
  return counted(
    read,
    picture => count(picture, task),
    picture => list(picture, task),
  )
}

function filter({ query, only }: DomainListTask): { where: string; values: unknown[] } {
  const where = query === '' ? '' : `AND name LIKE ? ESCAPE '\\'`
  const values = query === '' ? [] : [likePattern(query)]
  if (only === null) return { where, values }
  return { where: `${where} AND name IN ${among()}`, values: [...values, JSON.stringify(only)] }
}

async function count(read: Reader, task: DomainListTask): Promise<number> {
  const { where, values } = filter(task)
  return (await read.one<{ n: number }>(`SELECT count(*) AS n FROM (${names}) WHERE 1 = 1 ${where}`, ...values))?.n ?? 0
}

async function list(read: Reader, task: DomainListTask): Promise<ListedDomain[]> {
  const { where, values } = filter(task)
  const { boundary, direction, defaultQuota } = task
  const [sign, order, edge] = direction === 'forward' ? ['>', 'ASC', ''] : ['<', 'DESC', '\u{10ffff}']
  const text = `SELECT name FROM (${names}) WHERE name ${sign} ? ${where} ORDER BY name ${order} LIMIT ?`
  const rows = await read.all<{ name: string }>(text, boundary ?? edge, ...values, task.count)
  const listed: ListedDomain[] = []
  for (const { name } of rows) {
    const made = await findDomain(read, name)
    const figures = await figuresOf(read, name, defaultQuota)
    listed.push({ ...(made ?? plainDomain(name)), made: made !== undefined, ...figures })
  }
  return listed
}

/** Scans the accounts and addresses of a domain. */
async function figuresOf(read: Reader, name: string, defaultQuota: number) {
  const accounts = await read.one<{ users: number; given: number }>(
    `SELECT count(*) AS users, coalesce(sum(CASE quota WHEN 0 THEN ? ELSE quota END), 0) AS given
     FROM "user" WHERE domain = ? AND deleted IS NULL`,
    defaultQuota,
    name,
  )
  const addresses = await read.one<{ own: number; total: number }>(
    'SELECT count("user") AS own, count(*) AS total FROM address WHERE domain = ?',
    name,
  )
  const stored = await read.one<{ bytes: number }>(
    `SELECT coalesce(sum(s.storage), 0) AS bytes FROM "user" u JOIN usage s ON s."user" = u.num
     WHERE u.domain = ? AND u.deleted IS NULL`,
    name,
  )
  const aliases = await read.one<{ n: number }>('SELECT count(*) AS n FROM domainalias WHERE domain = ?', name)
  const { own = 0, total = 0 } = addresses ?? {}
  return {
    ...{ users: accounts?.users ?? 0, quotaGiven: accounts?.given ?? 0, storage: stored?.bytes ?? 0 },
    ...{ addresses: own, forwards: total - own, aliases: aliases?.n ?? 0 },
  }
}

/** What keeps a domain here although nobody made it: addresses, other names and keys. */
export async function domainUse(
  read: Reader,
  name: string,
): Promise<{ addresses: number; aliases: number; keys: number }> {
  const n = async (text: string) => (await read.one<{ n: number }>(text, name))?.n ?? 0
  return {
    addresses: await n('SELECT count(*) AS n FROM address WHERE domain = ?'),
    aliases: await n('SELECT count(*) AS n FROM domainalias WHERE domain = ?'),
    keys: await n('SELECT count(*) AS n FROM dkim WHERE domain = ?'),
  }
}
