// The consistency checker: every invariant of the store, read from committed rows.
//
// It runs at the end of every test and as `teal verify`. It repairs nothing; it names what is wrong. Invariants: uids are
// unique and below uid_next, modseq of nothing is above its account's, counters equal the rows, every reference between
// rows resolves, the quota in use equals the sum of sizes, events carry known names.

import { sumOf } from '../engine/dialect.ts'
import type { Reader } from '../engine/reader.ts'
import { sqliteFailure } from '../engine/sqlite/handle.ts'

interface Rule {
  /** What must hold, as a sentence. */
  readonly says: string
  /** Finds rows that break it; its first column names the row. */
  readonly query: string
}

const rules: readonly Rule[] = [
  {
    says: 'the uid of a message is below its mailbox uid_next',
    query: `SELECT m.mailbox || ':' || m.uid FROM message m JOIN tally t ON t.mailbox = m.mailbox WHERE m.uid >= t.uid_next OR m.uid < 1`,
  },
  {
    says: 'nobody was told of a message that did not come',
    query: 'SELECT mailbox FROM tally WHERE told > uid_next OR told < 1',
  },
  {
    says: 'a uid is never used twice',
    query: `SELECT m.mailbox || ':' || m.uid FROM message m JOIN expunged e ON e.mailbox = m.mailbox AND e.uid = m.uid`,
  },
  {
    says: 'no message, expunged message or mailbox has a modseq above its mailbox counter',
    query: `SELECT m.mailbox || ':' || m.uid FROM message m JOIN tally t ON t.mailbox = m.mailbox WHERE m.modseq > t.modseq
      UNION ALL SELECT e.mailbox || ':' || e.uid FROM expunged e JOIN tally t ON t.mailbox = e.mailbox WHERE e.modseq > t.modseq`,
  },
  {
    says: 'what a mailbox has forgotten of what went is not there, and not above its counter',
    query: `SELECT e.mailbox || ':' || e.uid FROM expunged e JOIN tally t ON t.mailbox = e.mailbox WHERE e.modseq < t.forgotten
      UNION ALL SELECT mailbox || '' FROM tally WHERE forgotten > modseq`,
  },
  {
    says: 'the change number a message came with never falls as uids rise',
    query: `SELECT mailbox || ':' || uid FROM (SELECT mailbox, uid, created_modseq, lag(created_modseq)
      OVER (PARTITION BY mailbox ORDER BY uid) AS before FROM message) WHERE before > created_modseq`,
  },
  {
    says: 'no message changed before it came',
    query: `SELECT mailbox || ':' || uid FROM message WHERE modseq < created_modseq`,
  },
  {
    says: 'no counter is above the change number of its account',
    query: `SELECT b.num FROM mailbox b JOIN tally t ON t.mailbox = b.num JOIN usage u ON u."user" = b."user"
      WHERE t.modseq > u.modseq OR b.modseq > u.modseq`,
  },
  {
    says: 'the counters of a mailbox equal its rows',
    query: `SELECT t.mailbox || ' ' || t.total || '/' || t.unseen || '/' || t.size FROM tally t
      LEFT JOIN (SELECT mailbox, count(*) AS total, ${sumOf('flags & 1 = 0')} AS unseen, sum(size) AS size FROM message GROUP BY mailbox) m
        ON m.mailbox = t.mailbox
      WHERE t.total <> coalesce(m.total, 0) OR t.unseen <> coalesce(m.unseen, 0) OR t.size <> coalesce(m.size, 0)`,
  },
  {
    says: 'every mailbox has counters',
    query: 'SELECT num FROM mailbox AS o WHERE NOT EXISTS (SELECT 1 FROM tally AS i WHERE i.mailbox = o.num)',
  },
  {
    says: 'every counter has its mailbox',
    query: 'SELECT mailbox FROM tally AS o WHERE NOT EXISTS (SELECT 1 FROM mailbox AS i WHERE i.num = o.mailbox)',
  },
  {
    says: 'every mailbox has its account',
    query: 'SELECT num FROM mailbox AS o WHERE NOT EXISTS (SELECT 1 FROM "user" AS i WHERE i.num = o."user")',
  },
  {
    says: 'every message lies in a mailbox of its own account',
    query: `SELECT m.mailbox || ':' || m.uid FROM message m LEFT JOIN mailbox b ON b.num = m.mailbox WHERE b."user" IS DISTINCT FROM m."user"`,
  },
  {
    says: 'every message has a body',
    query: `SELECT m.mailbox || ':' || m.uid FROM message m LEFT JOIN body b ON b.num = m.body WHERE b.num IS NULL`,
  },
  {
    says: 'the size of a message is that of its body and the lines on top',
    query: `SELECT m.mailbox || ':' || m.uid FROM message m JOIN body b ON b.num = m.body
      WHERE m.size <> b.size + octet_length(m.prefix)`,
  },
  {
    says: 'every account has a change number',
    query: 'SELECT id FROM "user" AS o WHERE NOT EXISTS (SELECT 1 FROM usage AS i WHERE i."user" = o.num)',
  },
  {
    says: 'every account has an INBOX',
    query: `SELECT id FROM "user" WHERE deleted IS NULL AND num NOT IN (SELECT "user" FROM mailbox WHERE path = 'INBOX')`,
  },
  {
    says: 'the main address of an account is an address of it',
    query: `SELECT id FROM "user" u WHERE deleted IS NULL AND address <> ''
      AND NOT EXISTS (SELECT 1 FROM address a WHERE a."user" = u.id AND a.address = u.address)`,
  },
  {
    says: 'every address has its account',
    query: 'SELECT id FROM address WHERE "user" IS NOT NULL AND "user" NOT IN (SELECT id FROM "user")',
  },
  {
    says: 'the body of every message has an outline, and every outline and header its body',
    query: `SELECT body FROM message AS o WHERE NOT EXISTS (SELECT 1 FROM outline AS i WHERE i.body = o.body)
      UNION ALL SELECT body FROM outline AS o WHERE NOT EXISTS (SELECT 1 FROM body AS i WHERE i.num = o.body)
      UNION ALL SELECT body FROM header AS o WHERE NOT EXISTS (SELECT 1 FROM body AS i WHERE i.num = o.body)`,
  },
]

/** Rules that other parts of the store add: bytes counted by more than messages, for example. */
export interface CheckPart {
  /** SQL giving bytes by account: columns user, size. */
  readonly usage?: string
  /** SQL giving references to bodies: column body. */
  readonly bodies?: string
  readonly rules?: readonly Rule[]
}

/** What else counts against a quota or refers to bodies; parts of the store add themselves here. */
export const checkParts: CheckPart[] = []

/** Every broken invariant, as sentences; empty when all is well. At most twenty rows of each rule are named. */
export function checkStore(read: Reader): Promise<string[]> {
  return read.snapshot(async picture => {
    const all = [...rules, ...checkParts.flatMap(part => part.rules ?? []), usageRule(), bodyRule()]
    // Asked together: on the way to a database each would wait for the one before.
    const broken = await Promise.all(
      all.map(({ says, query }) =>
        readable(says, async () => {
          const rows = await picture.arrays<[unknown]>(`SELECT * FROM (${query}) LIMIT 20`)
          return rows.map(([row]) => `${says}: ${String(row)}`)
        }),
      ),
    )
    return [...broken.flat(), ...(await checkPages(picture))]
  })
}

/** What is wrong with the pages of the database, whatever its tables are, as sentences. */
export function checkPages(read: Reader): Promise<string[]> {
  return readable(sound, async () => (await read.broken()).map(one => `${sound}: ${one}`))
}

const sound = 'the database file is sound'

/** A page that cannot be read is a finding, and the other rules are still looked at. */
async function readable(says: string, look: () => Promise<string[]>): Promise<string[]> {
  try {
    return await look()
  } catch (error) {
    const failure = sqliteFailure(error)
    if (failure?.kind !== 'broken') throw error
    return [`${says}: cannot be told, ${failure.text}`]
  }
}

function usageRule(): Rule {
  const sources = ['SELECT "user", size FROM message', ...checkParts.flatMap(part => part.usage ?? [])]
  return {
    says: 'the bytes an account uses equal the sum of what it stores',
    query: `SELECT u."user" || ' ' || u.storage || ' is not ' || coalesce(s.size, 0) FROM usage u
      LEFT JOIN (SELECT "user", sum(size) AS size FROM (${sources.join(' UNION ALL ')}) GROUP BY "user") s ON s."user" = u."user"
      WHERE u.storage <> coalesce(s.size, 0)`,
  }
}

function bodyRule(): Rule {
  const sources = ['SELECT body FROM message', ...checkParts.flatMap(part => part.bodies ?? [])]
  return {
    says: 'a body is kept by as many references as it counts',
    query: `SELECT b.num || ' has ' || b.refs || ', found ' || coalesce(r.n, 0) FROM body b
      LEFT JOIN (SELECT body, count(*) AS n FROM (${sources.join(' UNION ALL ')}) GROUP BY body) r ON r.body = b.num
      WHERE b.refs <> coalesce(r.n, 0)`,
  }
}
