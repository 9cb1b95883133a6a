// Mending what follows from something else: counters, references, indexes, rows whose owner is gone, the search index.
//
// All of it in one transaction, so that a repair that is killed has not been. No message, no body and no account is ever
// removed or guessed: what is lost is named by whoever checks the store again, and comes back from a backup alone. Only for
// a directory that nobody serves.

import { mkdirSync, renameSync } from 'node:fs'
import { join } from 'node:path'
import { BodyFiles } from '../bodies/files.ts'
import { isNamed } from '../bodies/read.ts'
import { greatest, sumOf } from '../engine/dialect.ts'
import { clearText, textFits } from '../engine/full-text.ts'
import type { Reader } from '../engine/reader.ts'
import { migrate } from '../engine/schema.ts'
import {
  type Handle,
  isSound,
  makeIndexes,
  openForWriting,
  sqliteFailure,
  sqliteText,
} from '../engine/sqlite/handle.ts'
import { giveToOwner } from '../folder/owner.ts'
import { blobsDir } from '../folder/place.ts'
import { checkParts } from './check.ts'

interface Step {
  /** What is mended, before the number of rows. */
  readonly what: string
  readonly statements: readonly string[]
}

/** Rows that stand for something that is gone. */
const orphans = [
  'DELETE FROM tally WHERE mailbox NOT IN (SELECT num FROM mailbox)',
  'DELETE FROM outline WHERE body NOT IN (SELECT num FROM body)',
  'DELETE FROM header WHERE body NOT IN (SELECT num FROM body)',
  'DELETE FROM as_lines WHERE body NOT IN (SELECT num FROM body)',
  'DELETE FROM body_part WHERE body NOT IN (SELECT num FROM body)',
  'DELETE FROM search_doc WHERE body NOT IN (SELECT num FROM body)',
  'DELETE FROM imported WHERE mailbox NOT IN (SELECT num FROM mailbox)',
  'DELETE FROM archive_tally WHERE "user" NOT IN (SELECT "user" FROM archive)',
  ...['asp', 'credential', 'authlog', 'login', 'register', 'contact', 'filter', 'autoreply'].map(
    table => `DELETE FROM ${table} WHERE "user" NOT IN (SELECT num FROM "user")`,
  ),
  'DELETE FROM asp_use WHERE asp NOT IN (SELECT id FROM asp)',
  'DELETE FROM acme_order WHERE certificate NOT IN (SELECT id FROM certificate)',
  'DELETE FROM endpoint WHERE num NOT IN (SELECT endpoint FROM webhook)',
  'DELETE FROM delivery WHERE event NOT IN (SELECT event FROM payload)',
  'DELETE FROM payload WHERE event NOT IN (SELECT event FROM delivery)',
  'DELETE FROM outbound_target WHERE message NOT IN (SELECT num FROM outbound)',
  'DELETE FROM outbound_attempt WHERE message NOT IN (SELECT num FROM outbound)',
  `DELETE FROM expunged WHERE (mailbox, uid) IN (SELECT m.mailbox, m.uid FROM message m
    JOIN expunged e ON e.mailbox = m.mailbox AND e.uid = m.uid)`,
]

const counts = `SELECT mailbox, count(*) AS total, ${sumOf('flags & 1 = 0')} AS unseen, sum(size) AS size, max(uid) AS uid,
  max(modseq) AS modseq FROM message GROUP BY mailbox`

/** What is counted in folders, archives and audits. */
const counters: readonly Step[] = [
  { what: 'rows whose owner is gone', statements: orphans },
  {
    what: 'counters of folders',
    statements: [
      // What it had forgotten is not known: all up to where it stood.
      `INSERT INTO tally (mailbox, uid_next, modseq, total, unseen, size, forgotten) SELECT num, 1, modseq, 0, 0, 0, modseq FROM mailbox
          WHERE num NOT IN (SELECT mailbox FROM tally)`,
      `UPDATE tally SET total = c.total, unseen = c.unseen, size = c.size FROM (${counts}) c
          WHERE c.mailbox = tally.mailbox
          AND (tally.total <> c.total OR tally.unseen <> c.unseen OR tally.size <> c.size)`,
      `UPDATE tally SET total = 0, unseen = 0, size = 0 WHERE (total <> 0 OR unseen <> 0 OR size <> 0)
          AND mailbox NOT IN (SELECT mailbox FROM message)`,
    ],
  },
  {
    what: 'numbers given out in folders',
    statements: [
      `UPDATE tally SET uid_next = c.uid + 1 FROM (SELECT mailbox, max(uid) AS uid FROM
          (SELECT mailbox, uid FROM message UNION ALL SELECT mailbox, uid FROM expunged) GROUP BY mailbox) c
          WHERE c.mailbox = tally.mailbox AND tally.uid_next <= c.uid`,
      `UPDATE tally SET modseq = c.modseq FROM (SELECT mailbox, max(modseq) AS modseq FROM
          (SELECT mailbox, modseq FROM message UNION ALL SELECT mailbox, modseq FROM expunged) GROUP BY mailbox) c
          WHERE c.mailbox = tally.mailbox AND tally.modseq < c.modseq`,
      'UPDATE message SET modseq = created_modseq WHERE modseq < created_modseq',
    ],
  },
  {
    what: 'counters of archives and audits',
    statements: [
      `INSERT INTO archive_tally ("user", total) SELECT "user", count(*) FROM archive
          WHERE "user" NOT IN (SELECT "user" FROM archive_tally) GROUP BY "user"`,
      `UPDATE archive_tally SET total = (SELECT count(*) FROM archive a WHERE a."user" = archive_tally.user)
          WHERE total <> (SELECT count(*) FROM archive a WHERE a."user" = archive_tally.user)`,
      `UPDATE audit SET audited = (SELECT count(*) FROM audit_message m WHERE m.audit = audit.id) WHERE deleted IS NULL
          AND audited <> (SELECT count(*) FROM audit_message m WHERE m.audit = audit.id)`,
    ],
  },
]

/** What is counted of everything that is kept. */
function totals(): readonly Step[] {
  const used = ['SELECT "user", size FROM message', ...checkParts.flatMap(part => part.usage ?? [])].join(' UNION ALL ')
  const bodies = ['SELECT body FROM message', ...checkParts.flatMap(part => part.bodies ?? [])].join(' UNION ALL ')
  return [
    {
      what: 'what accounts use',
      statements: [
        `INSERT INTO usage ("user", storage, modseq) SELECT num, 0, 0 FROM "user" WHERE num NOT IN (SELECT "user" FROM usage)`,
        `UPDATE usage SET storage = coalesce((SELECT sum(size) FROM (${used}) s WHERE s."user" = usage.user), 0)
          WHERE storage <> coalesce((SELECT sum(size) FROM (${used}) s WHERE s."user" = usage.user), 0)`,
        `UPDATE usage SET modseq = c.modseq FROM (SELECT b."user", max(${greatest('b.modseq', 't.modseq')}) AS modseq FROM mailbox b
          JOIN tally t ON t.mailbox = b.num GROUP BY b."user") c WHERE c."user" = usage.user AND usage.modseq < c.modseq`,
      ],
    },
    {
      what: 'references to stored content',
      statements: [
        `UPDATE body SET refs = coalesce(c.n, 0) FROM (SELECT b.num, r.n FROM body b LEFT JOIN
          (SELECT body, count(*) AS n FROM (${bodies}) GROUP BY body) r ON r.body = b.num) c
          WHERE c.num = body.num AND body.refs <> coalesce(c.n, 0)`,
        `UPDATE part SET refs = coalesce(c.n, 0) FROM (SELECT p.num, r.n FROM part p LEFT JOIN
          (SELECT part, count(*) AS n FROM body_part GROUP BY part) r ON r.part = p.num) c
          WHERE c.num = part.num AND part.refs <> coalesce(c.n, 0)`,
      ],
    },
    {
      what: 'messages to be indexed for searching',
      statements: [
        `INSERT INTO search_doc (body, "user", indexed) SELECT DISTINCT body, "user", 0 FROM message WHERE true
          ON CONFLICT DO NOTHING`,
      ],
    },
  ]
}

/**
 * Mends the database at `file`.
 *
 * @returns what was mended, as sentences
 * @throws the engine's error where a page is damaged that cannot be done without; nothing is changed then
 */
export function repairDatabase(file: string): string[] {
  const handle = openForWriting(file)
  try {
    migrate(handle, false)
    handle.exec('BEGIN IMMEDIATE')
    const mended: string[] = []
    const sound = isWhole(handle)
    if (!sound) {
      makeIndexes(handle)
      mended.push('indexes of the database: made anew')
    }
    for (const { what, statements } of [...counters, ...totals()]) {
      let rows = 0
      for (const text of statements) rows += handle.prepare(sqliteText(text)).run().changes
      if (rows > 0) mended.push(`${what}: ${rows}`)
    }
    if (rebuiltSearch(handle)) mended.push('index for searching: made anew by the service when it runs')
    handle.exec('COMMIT')
    if (!sound) compact(handle)
    return mended
  } finally {
    // What was not committed is undone.
    handle.close()
  }
}

function isWhole(handle: Handle): boolean {
  try {
    return isSound(handle)
  } catch (error) {
    if (sqliteFailure(error)?.kind !== 'broken') throw error
    return false
  }
}

/** Leaves out pages that belong to nothing any more. Where the disk has no room for that, the next check names them. */
function compact(handle: Handle): void {
  try {
    if (!isWhole(handle)) handle.exec('VACUUM')
  } catch (error) {
    if (sqliteFailure(error) === undefined) throw error
  }
}

/** Where the index of the text does not fit what is marked as indexed, all of it is indexed again. */
function rebuiltSearch(handle: Handle): boolean {
  try {
    if (!textFits(handle)) throw new Error('the index does not fit')
    return false
  } catch {
    clearText(handle)
    handle.exec('UPDATE search_doc SET indexed = 0')
    return true
  }
}

/** Moves files that no row names out of the way, where a person may look at them. @returns how many, and where to */
export async function moveStrays(read: Reader, dataDir: string): Promise<{ count: number; folder: string }> {
  const files = new BodyFiles(dataDir)
  const folder = join(blobsDir(dataDir), 'aside')
  let count = 0
  for await (const names of files.names()) {
    for (const name of names) {
      if (await isNamed(read, name)) continue
      mkdirSync(folder, { recursive: true, mode: 0o700 })
      giveToOwner(folder)
      renameSync(files.pathOf(name), join(folder, name))
      count += 1
    }
  }
  return { count, folder }
}
