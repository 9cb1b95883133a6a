// Writes of domains: aliases, and lists of senders' domains. They run in the writer thread, inside a unit.

import { defineWrite } from './write.ts'

export interface DomainAliasRow {
  readonly id: string
  readonly alias: string
  readonly domain: string
  readonly created: number
}

export const domainAliasInsert = defineWrite<DomainAliasRow>('domainalias.insert', (sql, row) => {
  sql('INSERT INTO domainalias (id, alias, domain, created) VALUES (@id, @alias, @domain, @created)').run(row)
})

export const domainAliasDelete = defineWrite<{ id: string }>('domainalias.delete', (sql, row) => {
  sql('DELETE FROM domainalias WHERE id = ?').run(row.id)
})

/** What stood for the old domain stands for the new one. */
export const domainAliasRename = defineWrite<{ previous: string; current: string }>(
  'domainalias.rename',
  (sql, { previous, current }) => {
    sql('UPDATE domainalias SET domain = ? WHERE domain = ?').run(current, previous)
  },
)

export interface DomainAccessRow {
  readonly id: string
  /** Lower case. */
  readonly tag: string
  /** Lower case, unicode. */
  readonly domain: string
  readonly action: 'allow' | 'block'
  readonly created: number
}

/** One entry for each tag and domain; the later action wins and the id stays. */
export const domainAccessPut = defineWrite<DomainAccessRow>('domainaccess.put', (sql, row) => {
  sql(`INSERT INTO domainaccess (id, tag, domain, action, created) VALUES (@id, @tag, @domain, @action, @created)
    ON CONFLICT (tag, domain) DO UPDATE SET action = @action`).run(row)
})

export const domainAccessDelete = defineWrite<{ id: string }>('domainaccess.delete', (sql, row) => {
  sql('DELETE FROM domainaccess WHERE id = ?').run(row.id)
})
