// New numbers for a database that was brought back to an earlier moment: whoever has seen more than it holds would take other mail for
// what he knows (RFC 9051 2.3.1.1, RFC 7162 3.1.2.1).
//
// Every folder gets another UIDVALIDITY, which tells clients to read it anew, and numbers of messages and of changes go on far behind
// those that were given. All of it is one transaction, and only for a database that nobody serves.

import { greatest } from '../engine/dialect.ts'
import { foldLog, openForWriting, sqliteText } from '../engine/sqlite/handle.ts'

/** More than a folder gets between two backups; 4,000 of it use up the uids of a folder. */
const gap = 1_000_000

/** Numbers go on far behind those that were given. */
const further = [
  `UPDATE tally SET uid_next = uid_next + ${gap} WHERE uid_next < 4000000000`,
  `UPDATE usage SET modseq = modseq + ${gap}`,
]

/** Statements with neutral words (../engine/dialect.ts). @param at milliseconds since 1970 */
export function renumbering(at: number): readonly string[] {
  const seconds = String(Math.floor(at / 1000))
  // Behind all that an account ever had: those of folders that were made since then are of times that have passed.
  const validities = `UPDATE mailbox SET uid_validity = given.validity FROM (
      SELECT m.num AS folder, ${greatest(seconds, 'l.last')} + row_number() OVER (PARTITION BY m."user" ORDER BY m.num) AS validity
        FROM mailbox m JOIN (SELECT "user", max(uid_validity) AS last FROM (
          SELECT "user", uid_validity FROM mailbox UNION ALL SELECT "user", uid_validity FROM removed_mailbox) AS known
        GROUP BY "user") AS l ON l."user" = m."user") AS given
    WHERE mailbox.num = given.folder`
  return [validities, ...further]
}

/** The same of a database file. @param same whether folders keep their UIDVALIDITY, since nothing came behind this moment */
export function renumberFile(file: string, at: number, same = false): void {
  const handle = openForWriting(file)
  try {
    handle.exec(`BEGIN; ${(same ? further : renumbering(at)).map(sqliteText).join('; ')}; COMMIT`)
    foldLog(handle)
  } finally {
    handle.close()
  }
}
