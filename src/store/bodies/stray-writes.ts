// Writes about files that no row names: on how many days each was seen so.
//
// A day counts once, however often the service starts in it and wherever its clock jumps meanwhile.

import { defineWrite } from '../engine/write.ts'

/** Files that were seen without a row on that day (days since 1970). */
export const strayNote = defineWrite<{ names: readonly string[]; day: number }>('stray.note', (sql, { names, day }) => {
  for (const name of names) {
    sql(`INSERT INTO stray (name, days, last) VALUES (?, 1, ?)
      ON CONFLICT DO UPDATE SET days = days + (last <> excluded.last), last = excluded.last`).run(name, day)
  }
})

/** Forgets those that were not seen on that day: they are gone, or have a row again. */
export const strayForget = defineWrite<{ day: number }>('stray.forget', (sql, { day }) => {
  sql('DELETE FROM stray WHERE last <> ?').run(day)
})
