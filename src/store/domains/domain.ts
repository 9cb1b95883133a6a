// Domains as things of their own: the table, its reads and writes, and who looks after them.
//
// Nobody needs to make a domain: one that has addresses, aliases or keys is there, with what `plainDomain` says. Names are in
// lower case and in unicode. An account belongs to the domain of its main address. What is held of a domain (its limits) is
// looked at by the writer, among the writes of the unit that makes something more, so that it holds however many come at once.

import { json, moment, text, boolean as truth, integer as whole } from '../engine/column.ts'
import { among } from '../engine/dialect.ts'
import { defineProcedure } from '../engine/procedure.ts'
import type { Reader } from '../engine/reader.ts'
import type { Sql } from '../engine/sqlite/handle.ts'
import { type RowOf, table } from '../engine/table.ts'
import { defineWrite, Refused, refusedState } from '../engine/write.ts'
import { checkParts } from '../upkeep/check.ts'

/** What an account gets that is made in the domain where its maker says nothing; absent or 0: the service's setting. */
interface DomainDefaults {
  /** Bytes. */
  quota?: number
  /** By the names that an account's limits have. */
  limits?: Readonly<Record<string, number>>
}

const domains = table(
  'domain',
  {
    name: text,
    description: text,
    tags: json<string[]>(),
    /** Its addresses refuse mail, its accounts cannot come in and send nothing. */
    disabled: truth,
    disabledReason: text,
    /** Accounts whose main address lies in it; 0: any number, as in those below. */
    maxUsers: whole,
    /** Addresses of accounts. */
    maxAddresses: whole,
    /** Addresses that only forward. */
    maxForwards: whole,
    /** Bytes that may be given to its accounts together. */
    quota: whole,
    defaults: json<DomainDefaults>(),
    created: moment,
  },
  { key: ['name'], clustered: true },
)

const admins = table(
  'domain_admin',
  { user: text, domain: text },
  { key: ['user', 'domain'], clustered: true, indexes: { domain_admin_domain: { on: ['domain'] } } },
)

export type Domain = RowOf<typeof domains>

/** A domain that nobody made. */
export function plainDomain(name: string): Domain {
  const limits = { maxUsers: 0, maxAddresses: 0, maxForwards: 0, quota: 0 }
  return { name, description: '', tags: [], disabled: false, disabledReason: '', ...limits, defaults: {}, created: 0 }
}

export const domainPut = domains.defineUpsert('put', ['created'])

const removeDomain = domains.defineDelete(['name'], 'row')

/** Forgets what was said of a domain. */
export const domainDelete = defineWrite<{ name: string }>('domain.delete', (sql, { name }, effects) => {
  removeDomain.run(sql, [name], effects)
  sql('DELETE FROM domain_admin WHERE domain = ?').run(name)
})

/** Who looks after a domain, from now on. */
export const domainAdmins = defineWrite<{ domain: string; users: readonly string[] }>(
  'domain_admin.put',
  (sql, { domain, users }) => {
    sql('DELETE FROM domain_admin WHERE domain = ?').run(domain)
    for (const user of users) sql('INSERT INTO domain_admin ("user", domain) VALUES (?, ?)').run(user, domain)
  },
)

const renameDomain = defineProcedure(
  'domain_rename',
  '_previous text, _current text',
  `BEGIN
  IF EXISTS (SELECT 1 FROM domain WHERE name = _current) THEN RETURN; END IF;
  UPDATE domain SET name = _current WHERE name = _previous;
  UPDATE domain_admin SET domain = _current WHERE domain = _previous;
END`,
)

/** What was said of one domain is said of another, of which nothing was. */
export const domainRename = defineWrite<{ previous: string; current: string }>(
  'domain.rename',
  (sql, { previous, current }) => {
    if (sql('SELECT 1 FROM domain WHERE name = ?').get(current) !== undefined) return
    sql('UPDATE domain SET name = ? WHERE name = ?').run(current, previous)
    sql('UPDATE domain_admin SET domain = ? WHERE domain = ?').run(current, previous)
  },
  { told: (sql, { previous, current }) => void sql(renameDomain.call).run(previous, current) },
)

/** What a unit makes more of in a domain. */
export interface Growth {
  readonly domain: string
  readonly users?: boolean
  readonly addresses?: boolean
  readonly forwards?: boolean
  /** Bytes were given to an account; the value is what one gets that has no number of its own. */
  readonly quota?: number
}

/** Refuses the unit where a domain would have more than it may; comes after the writes that make it more. */
export const domainGrowth = defineWrite<Growth>(
  'domain.grow',
  (sql, growth) => {
    const { domain } = growth
    const row = sql('SELECT max_users, max_addresses, max_forwards, quota FROM domain WHERE name = ?').get(domain) as
      | Record<'max_users' | 'max_addresses' | 'max_forwards' | 'quota', number>
      | undefined
    if (row === undefined) return
    if (growth.users) refuse(row.max_users, () => counted(sql, usersOf, domain), 'accounts')
    if (growth.addresses) refuse(row.max_addresses, () => counted(sql, addressesOf, domain), 'addresses')
    if (growth.forwards) refuse(row.max_forwards, () => counted(sql, forwardsOf, domain), 'addresses that forward')
    const { quota } = growth
    if (quota !== undefined) refuse(row.quota, () => counted(sql, givenOf, quota, domain), 'bytes given to accounts')
  },
  {
    told: (sql, { domain, users, addresses, forwards, quota }) => {
      sql(refuseGrowth.call).run(domain, users ? 1 : 0, addresses ? 1 : 0, forwards ? 1 : 0, quota ?? null)
    },
  },
)

const refuseOne = defineProcedure(
  'domain_refuse',
  '_most bigint, _found bigint, _what text',
  `BEGIN
  IF _most > 0 AND _found > _most THEN
    RAISE EXCEPTION USING ERRCODE = '${refusedState}', DETAIL = 'DomainLimit',
      MESSAGE = format('The domain has as many %s as it may have (%s)', _what, _most);
  END IF;
END`,
)

const refuseGrowth = defineProcedure(
  'domain_grow',
  '_domain text, _users bigint, _addresses bigint, _forwards bigint, _quota bigint',
  `DECLARE _most domain%ROWTYPE;
BEGIN
  SELECT * INTO _most FROM domain WHERE name = _domain;
  IF NOT FOUND THEN RETURN; END IF;
  IF _users = 1 AND _most.max_users > 0 THEN
    PERFORM ${refuseOne}(_most.max_users,
      (SELECT count(*) FROM "user" WHERE domain = _domain AND deleted IS NULL), 'accounts');
  END IF;
  IF _addresses = 1 AND _most.max_addresses > 0 THEN
    PERFORM ${refuseOne}(_most.max_addresses,
      (SELECT count(*) FROM address WHERE domain = _domain AND "user" IS NOT NULL), 'addresses');
  END IF;
  IF _forwards = 1 AND _most.max_forwards > 0 THEN
    PERFORM ${refuseOne}(_most.max_forwards,
      (SELECT count(*) FROM address WHERE domain = _domain AND "user" IS NULL), 'addresses that forward');
  END IF;
  IF _quota IS NOT NULL AND _most.quota > 0 THEN
    PERFORM ${refuseOne}(_most.quota, (SELECT coalesce(sum(CASE quota WHEN 0 THEN _quota ELSE quota END), 0)::bigint
      FROM "user" WHERE domain = _domain AND deleted IS NULL), 'bytes given to accounts');
  END IF;
END`,
)

const usersOf = 'SELECT count(*) AS n FROM "user" WHERE domain = ? AND deleted IS NULL'
const addressesOf = 'SELECT count(*) AS n FROM address WHERE domain = ? AND "user" IS NOT NULL'
const forwardsOf = 'SELECT count(*) AS n FROM address WHERE domain = ? AND "user" IS NULL'
const givenOf = `SELECT coalesce(sum(CASE quota WHEN 0 THEN ? ELSE quota END), 0) AS n FROM "user"
  WHERE domain = ? AND deleted IS NULL`

function counted(sql: Sql, query: string, ...values: unknown[]): number {
  return (sql(query).get(...values) as { n: number }).n
}

function refuse(max: number, count: () => number, what: string): void {
  if (max > 0 && count() > max)
    throw new Refused('DomainLimit', `The domain has as many ${what} as it may have (${max})`)
}

/** What was said of a domain; undefined where nothing was. */
export async function findDomain(read: Reader, name: string): Promise<Domain | undefined> {
  return await domains.one(read, 'WHERE name = ?', name)
}

/** Domains that are closed, with their other names. There are few of them. */
export const closedNamesText = `SELECT name FROM domain WHERE disabled = 1 UNION
  SELECT alias FROM domainalias WHERE domain IN (SELECT name FROM domain WHERE disabled = 1)`

export async function closedDomains(read: Reader): Promise<ReadonlySet<string>> {
  const rows = await read.all<{ name: string }>(closedNamesText)
  return new Set(rows.map(row => row.name))
}

/** Ids of the accounts that look after a domain. */
export async function adminsOf(read: Reader, domain: string): Promise<string[]> {
  return (await admins.all(read, 'WHERE domain = ? ORDER BY "user"', domain)).map(row => row.user)
}

/** Domains an account looks after. */
export async function domainsOf(read: Reader, user: string): Promise<string[]> {
  return (await admins.all(read, 'WHERE "user" = ? ORDER BY domain', user)).map(row => row.domain)
}

/**
 * Whether who looks after these domains may treat an account as one of theirs: its main address lies in one of them and,
 * for `wholly`, all its addresses and all domains it looks after itself do.
 */
export async function reaches(
  read: Reader,
  among_: readonly string[],
  user: string,
  wholly: boolean,
): Promise<boolean> {
  const list = JSON.stringify(among_)
  if ((await read.one(`SELECT 1 FROM "user" WHERE id = ? AND domain IN ${among()}`, user, list)) === undefined)
    return false
  if (!wholly) return true
  const beyond = `SELECT 1 FROM address WHERE "user" = ? AND domain NOT IN ${among()}
    UNION ALL SELECT 1 FROM domain_admin WHERE "user" = ? AND domain NOT IN ${among()} LIMIT 1`
  return (await read.one(beyond, user, list, user, list)) === undefined
}

checkParts.push({
  rules: [
    {
      says: 'who looks after a domain is an account, and the domain was made',
      query: `SELECT "user" FROM domain_admin WHERE "user" NOT IN (SELECT id FROM "user")
        OR domain NOT IN (SELECT name FROM domain)`,
    },
  ],
})
