// Writes of retention: when messages of a folder are to go. They run in the writer thread, inside a unit.

import { defineWrite } from '../engine/write.ts'

/** Dates messages with uids in [from, to] anew, by the time each came into the folder; 0 milliseconds: never. */
export const messageRestamp = defineWrite<{ mailbox: number; from: number; to: number; retention: number }>(
  'message.restamp',
  (sql, row) => {
    sql(`UPDATE message SET expires = CASE WHEN @retention > 0 THEN CAST(saved + @retention AS INTEGER) END
      WHERE mailbox = @mailbox AND uid BETWEEN @from AND @to`).run(row)
  },
)
