// Writes of the address registers: they run in the writer thread, inside a unit. Nobody waits for them.

import { defineWrite } from './write.ts'

export interface RegisterNote {
  /** For a new entry. */
  readonly id: string
  readonly user: number
  readonly key: string
  readonly address: string
  readonly name: string
  readonly used: number
}

/** Notes addresses that were used; a register keeps its latest `entriesMax`. */
export const registerNote = defineWrite<{ notes: readonly RegisterNote[]; entriesMax: number }>(
  'register.note',
  (sql, { notes, entriesMax }) => {
    for (const note of notes) {
      sql(`INSERT INTO register (id, user, key, address, name, used, disabled)
        SELECT @id, @user, @key, @address, @name, @used, 0 FROM user WHERE num = @user AND deleted IS NULL
        ON CONFLICT (user, key) DO UPDATE SET used = max(used, @used), address = @address,
          name = CASE WHEN name = '' THEN @name ELSE name END`).run(note)
    }
    for (const user of new Set(notes.map(note => note.user))) {
      sql(`DELETE FROM register WHERE id IN
        (SELECT id FROM register WHERE user = ? ORDER BY used DESC LIMIT -1 OFFSET ?)`).run(user, entriesMax)
    }
  },
)

export const registerUpdate = defineWrite<{ id: string; name: string | null; disabled: number }>(
  'register.update',
  (sql, row) => {
    sql('UPDATE register SET name = coalesce(@name, name), disabled = @disabled WHERE id = @id').run(row)
  },
)
