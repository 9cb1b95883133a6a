// Mail of accounts, and of addresses that only forward, whose domain is closed: held in the queue, and let go when the domain is open again.
//
// What is held keeps when it was due, moved beyond all that is (outbound-due.ts), as that of a paused account does; both may
// be so at once. One write brings all that waits in step with how domains are now, so it may be done again at any time.

import { domainToAscii, normalizeAddress } from '#mail/address/address.ts'
import { closedByDomain } from '../accounts/standing.ts'
import { asciiDomain } from '../domains/ascii-domain.ts'
import { closedNamesText } from '../domains/domain.ts'
import { among, jsonAt, positionOf } from '../engine/dialect.ts'
import { defineProcedure } from '../engine/procedure.ts'
import type { Sql } from '../engine/sqlite/handle.ts'
import { defineWrite } from '../engine/write.ts'
import { checkParts } from '../upkeep/check.ts'
import { closedFrom, heldDue, pausedFrom } from './outbound-due.ts'
import type { Origin } from './outbound-options.ts'

const free = `(due < ${closedFrom} OR due BETWEEN ${pausedFrom} AND ${pausedFrom + closedFrom - 1})`
const held = `(due BETWEEN ${closedFrom} AND ${pausedFrom - 1} OR due BETWEEN ${pausedFrom + closedFrom} AND ${heldDue - 1})`

/** Messages that wait, of accounts whose domain is closed. */
const closed = `SELECT o.num FROM "user" JOIN outbound o ON o."user" = "user".id
  WHERE ${closedByDomain} AND o.done IS NULL`

/** Messages that wait, of addresses that only forward and lie in one of these domains. */
const forwarded = jsonAt('o.options', 'forwardedFor')
const closedForwards = `SELECT o.num FROM outbound o WHERE o."user" IS NULL AND o.done IS NULL AND ${forwarded} IS NOT NULL
  AND lower(substr(${forwarded}, ${positionOf(forwarded, "'@'")} + 1)) IN ${among()}`

/** Holds what waits of accounts and addresses whose domain is closed, and lets go what was held of others. */
export const domainHold = defineWrite<null>(
  'outbound.domains',
  sql => {
    const names = JSON.stringify(closedNames(sql))
    // Nearly always nothing is closed, and nothing held.
    if (names !== '[]') {
      sql(`UPDATE outbound_target SET due = due + ${closedFrom} WHERE state = 0 AND ${free}
      AND (message IN (${closed}) OR message IN (${closedForwards}))`).run(names)
    }
    sql(`UPDATE outbound_target SET due = due - ${closedFrom} WHERE state = 0 AND ${held}
    AND message NOT IN (${closed}) AND message NOT IN (${closedForwards})`).run(names)
  },
  { told: sql => void sql(holdDomains.call).run() },
)

const closedNamesOf = defineProcedure(
  'closed_names',
  '',
  `BEGIN
  RETURN QUERY SELECT f.name FROM (${closedNamesText}) c, LATERAL (VALUES (c.name), (${asciiDomain}(c.name))) f (name);
END`,
  'SETOF text',
)

const isClosedForward = defineProcedure(
  'closed_forward',
  '_for text',
  `BEGIN RETURN lower(substr(_for, strpos(_for, '@') + 1)) IN (SELECT ${closedNamesOf}()); END`,
  'boolean',
)

/** `closedFor` for other procedures. */
export const closedByNumber = defineProcedure(
  'outbound_closed',
  '_message bigint',
  `DECLARE _user text; _for text; _closed boolean;
BEGIN
  SELECT o."user", ${forwarded} INTO _user, _for FROM outbound o WHERE o.num = _message;
  IF _user IS NOT NULL THEN _closed := EXISTS (SELECT 1 FROM "user" WHERE id = _user AND ${closedByDomain});
  ELSE _closed := _for IS NOT NULL AND ${isClosedForward}(_for);
  END IF;
  RETURN CASE WHEN _closed THEN ${closedFrom} ELSE 0 END;
END`,
  'bigint',
)

/** `heldFor` for other procedures. */
export const heldByNumber = defineProcedure(
  'outbound_held',
  '_message bigint',
  `BEGIN
  RETURN ${closedByNumber}(_message) + CASE WHEN EXISTS (SELECT 1 FROM outbound o JOIN sending_pause p ON p."user" = o."user"
    WHERE o.num = _message AND o.origin = 'submission' AND p.resumed IS NULL) THEN ${pausedFrom} ELSE 0 END;
END`,
  'bigint',
)

const holdDomains = defineProcedure(
  'outbound_domains',
  '',
  `DECLARE _closed bigint[];
BEGIN
  _closed := ARRAY(${closed} UNION SELECT o.num FROM outbound o WHERE o."user" IS NULL AND o.done IS NULL
    AND ${forwarded} IS NOT NULL AND ${isClosedForward}(${forwarded}));
  IF cardinality(_closed) > 0 THEN
    UPDATE outbound_target SET due = due + ${closedFrom} WHERE state = 0 AND ${free} AND message = ANY (_closed);
  END IF;
  UPDATE outbound_target SET due = due - ${closedFrom} WHERE state = 0 AND ${held} AND message <> ALL (_closed);
END`,
)

/** Closed domains with their other names, in the forms that addresses are given in. */
function closedNames(sql: Sql): string[] {
  const rows = sql(closedNamesText).all() as { name: string }[]
  return rows.flatMap(({ name }) => [name, domainToAscii(name)])
}

interface About {
  readonly user: string | null
  readonly origin: Origin
  readonly forwardedFor: string | null
}

function aboutOf(sql: Sql, message: number): About | undefined {
  const text = `SELECT o."user", o.origin, ${forwarded} AS forwardedFor FROM outbound o WHERE o.num = ?`
  return sql(text).get(message) as About | undefined
}

function isClosed(sql: Sql, { user, forwardedFor }: About): boolean {
  if (user !== null) return sql(`SELECT 1 FROM "user" WHERE id = ? AND ${closedByDomain}`).get(user) !== undefined
  if (forwardedFor === null) return false
  return closedNames(sql).includes(normalizeAddress(forwardedFor).domain)
}

/** What is added to when a target of a queued message is due, for the domain it is sent for. */
export function closedFor(sql: Sql, message: number): number {
  const about = aboutOf(sql, message)
  return about !== undefined && isClosed(sql, about) ? closedFrom : 0
}

/** The same also for a pause of the account (pause.ts). */
export function heldFor(sql: Sql, message: number): number {
  const about = aboutOf(sql, message)
  if (about === undefined) return 0
  return (isClosed(sql, about) ? closedFrom : 0) + (isPaused(sql, about) ? pausedFrom : 0)
}

/** Whether mail of this kind of the account is held (pause.ts). */
function isPaused(sql: Sql, { user, origin }: About): boolean {
  if (user === null || origin !== 'submission') return false
  return sql('SELECT 1 FROM sending_pause WHERE "user" = ? AND resumed IS NULL').get(user) !== undefined
}

checkParts.push({
  rules: [
    {
      says: 'what is held for a closed domain belongs to an account of one',
      query: `SELECT message FROM outbound_target WHERE state < 2 AND ${held} AND message NOT IN (${closed})
        AND message NOT IN (SELECT num FROM outbound WHERE "user" IS NULL)`,
    },
  ],
})
