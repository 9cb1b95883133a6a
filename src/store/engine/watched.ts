// Tables whose changes matter to those who keep what they read: the writer thread notes which of them a batch changed, so
// that nothing read from one is forgotten because of mail that came in meanwhile.

import type { Sql, Statement } from './sqlite.ts'

export const watched = ['address', 'domainalias', 'token', 'user'] as const

export type Watched = (typeof watched)[number]

/** The watched table that a statement changes. */
export function changedBy(text: string): Watched | undefined {
  const [, table] = /\b(?:INTO|UPDATE(?:\s+OR\s+\w+)?|DELETE\s+FROM)\s+"?(\w+)/i.exec(text) ?? []
  return watched.find(name => name === table)
}

/** `sql`, noting in `touched` what the statements asked for are about to change. */
export function watching(sql: Sql, touched: Set<Watched>): Sql {
  const known = new Map<string, { statement: Statement; table: Watched | undefined }>()
  return text => {
    let found = known.get(text)
    if (found === undefined) {
      found = { statement: sql(text), table: changedBy(text) }
      known.set(text, found)
    }
    if (found.table !== undefined) touched.add(found.table)
    return found.statement
  }
}
