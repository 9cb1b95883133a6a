// Writes of DKIM keys. They run in the writer thread, inside a unit.
//
// The directory is the only one to use them, so what it read of a domain still holds.

import { defineWrite } from './write.ts'

export interface DkimRow {
  readonly id: string
  /** Lower case, unicode. */
  readonly domain: string
  readonly selector: string
  readonly description: string | null
  /** Private key in PEM, sealed. */
  readonly key: string
  /** Public key in PEM. */
  readonly public: string
  readonly fingerprint: string
  readonly created: number
}

/** One key for each domain; what is put again replaces it and keeps id and age. */
export const dkimPut = defineWrite<DkimRow>('dkim.put', (sql, row) => {
  sql(`INSERT INTO dkim (id, domain, selector, description, key, public, fingerprint, created)
    VALUES (@id, @domain, @selector, @description, @key, @public, @fingerprint, @created)
    ON CONFLICT (id) DO UPDATE SET selector = @selector, description = @description, key = @key, public = @public,
      fingerprint = @fingerprint`).run(row)
})

export const dkimDelete = defineWrite<{ id: string }>('dkim.delete', (sql, row) => {
  sql('DELETE FROM dkim WHERE id = ?').run(row.id)
})

/** The key of one domain becomes that of another, unless that has its own. */
export const dkimRename = defineWrite<{ previous: string; current: string }>(
  'dkim.rename',
  (sql, { previous, current }) => {
    sql('UPDATE OR IGNORE dkim SET domain = ? WHERE domain = ?').run(current, previous)
  },
)
