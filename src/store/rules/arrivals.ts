// Stored messages by their Message-ID: of one account, or of a run of accounts, for whoever asks where a message went.
//
// By the thread that an account's register of Message-IDs names, so nothing is scanned; long threads are cut. Two ids of the same hash
// are told apart by the message itself.

import type { Reader } from '../engine/reader.ts'
import type { MessageMeta } from '../mailboxes/messages.ts'
import { summaryOf } from '../mailboxes/outlines.ts'

export interface Arrival {
  /** Id of the account. */
  readonly user: string
  /** Milliseconds since 1970: its internal date. */
  readonly idate: number
  readonly mailbox: string
  readonly path: string
  readonly uid: number
  readonly meta: MessageMeta
}

interface Row extends Omit<Arrival, 'meta'> {
  readonly meta: string
  readonly summary: string
}

const columns = `SELECT u.id AS "user", m.idate, b.id AS mailbox, b.path, m.uid, m.meta, o.summary
  FROM reference r JOIN "user" u ON u.num = r."user" JOIN message m ON m.thread = r.thread AND m."user" = r."user"
  JOIN outline o ON o.body = m.body JOIN mailbox b ON b.num = m.mailbox`

/** What an account (its number) has. */
export async function arrivalsOf(
  read: Reader,
  user: number,
  id: { text: string; hash: number },
  rowsMax: number,
): Promise<Arrival[]> {
  const rows = await read.all<Row>(
    `${columns} WHERE r."user" = ? AND r.hash = ? ORDER BY m.num LIMIT ?`,
    user,
    id.hash,
    rowsMax,
  )
  return ofId(rows, id.text)
}

/** What some accounts after this number have, and the last of them; null where there is none after it. */
export async function arrivalsAfter(
  read: Reader,
  after: number,
  id: { text: string; hash: number },
  { accounts, rowsMax }: { accounts: number; rowsMax: number },
): Promise<{ last: number | null; found: Arrival[] }> {
  const some = 'SELECT num FROM "user" WHERE num > ? ORDER BY num LIMIT ?'
  const last =
    (await read.one<{ last: number | null }>(`SELECT max(num) AS last FROM (${some})`, after, accounts))?.last ?? null
  if (last === null) return { last, found: [] }
  const known = await read.all<{ user: number }>(
    `SELECT u.num AS "user" FROM (${some}) u JOIN reference r ON r."user" = u.num AND r.hash = ?`,
    after,
    accounts,
    id.hash,
  )
  const found: Arrival[] = []
  for (const { user } of known) found.push(...(await arrivalsOf(read, user, id, rowsMax)))
  return { last, found }
}

function ofId(rows: readonly Row[], messageId: string): Arrival[] {
  return rows
    .filter(({ summary }) => summaryOf(summary).messageId === messageId)
    .map(({ meta, summary: _, ...row }) => ({ ...row, meta: JSON.parse(meta) as MessageMeta }))
}
