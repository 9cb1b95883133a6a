// Writes of the index over the text of messages (store/search/search.ts): they run in the writer thread, inside a unit.
//
// A message that is stored marks its body as waiting, in the same unit; a background unit indexes some at a time; a body
// that goes leaves the index in the unit in which it goes.

import type { Sql } from '../engine/sqlite.ts'
import { defineWrite } from '../engine/write.ts'

/** A body of an account waits to be indexed, unless it is already. Part of `message.insert`. */
export function searchWait(sql: Sql, body: number, user: number): void {
  sql('INSERT INTO search_doc (body, user, indexed) VALUES (?, ?, 0) ON CONFLICT DO NOTHING').run(body, user)
}

/** The body is gone. Part of `body.release`. */
export function searchForget(sql: Sql, body: number): void {
  const rows = sql('DELETE FROM search_doc WHERE body = ? RETURNING user, indexed').all(body) as Doc[]
  for (const { user, indexed } of rows) {
    if (indexed === 0) continue
    sql('DELETE FROM search WHERE rowid = (? << 32) | ?').run(user, body)
    sql('DELETE FROM search_word WHERE rowid = (? << 32) | ?').run(user, body)
  }
}

interface Doc {
  user: number
  indexed: number
}

export interface SearchDoc {
  readonly user: number
  readonly body: number
  /** Folded (mail/text/fold.ts); empty where there is nothing to find. */
  readonly text: string
  /** The body says no more than that; else it is marked, so that a search that wants all looks into it. */
  readonly whole: boolean
}

/** Indexes bodies. One that went meanwhile, or that is indexed already, is left alone. */
export const searchAdd = defineWrite<{ docs: readonly SearchDoc[] }>('search.add', (sql, row) => {
  // The engine keeps rows of one transaction together as long as their numbers rise.
  const docs = row.docs.toSorted((one, other) => one.user - other.user || one.body - other.body)
  for (const { user, body, text, whole } of docs) {
    const { changes } = sql('UPDATE search_doc SET indexed = ? WHERE body = ? AND user = ? AND indexed = 0').run(
      whole ? 1 : 2,
      body,
      user,
    )
    if (changes === 0) continue
    sql('INSERT INTO search (rowid, text) VALUES ((? << 32) | ?, ?)').run(user, body, text)
    sql('INSERT INTO search_word (rowid, text) VALUES ((? << 32) | ?, ?)').run(user, body, text)
  }
})
