// Writes of what is moved in from elsewhere: they run in the writer thread, inside a unit.

import { defineWrite } from '../engine/write.ts'

/** Remembers that a message of a source lies in a folder; in the unit that stores the message. */
export const importedInsert = defineWrite<{ mailbox: number; source: string; key: string }>(
  'imported.insert',
  (sql, row) => {
    sql('INSERT INTO imported (mailbox, source, key) VALUES (@mailbox, @source, @key) ON CONFLICT DO NOTHING').run(row)
  },
)
