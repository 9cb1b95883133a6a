// What a stored row says of its message to the leaves of a query, for IMAP's views and for searches of an account alike.

import type { RowFacts } from '#mail/query/facts.ts'
import { column, contentId, type FactRow } from './listing.ts'

/** A row that is judged: another one may be put in its place. */
export abstract class StoredFacts<Row extends FactRow = FactRow> implements RowFacts {
  row: Row
  abstract readonly seq: number
  abstract readonly recent: boolean
  abstract readonly attachments: boolean

  constructor(row: Row) {
    this.row = row
  }

  get uid(): number {
    return this.row[column.uid]
  }

  get modseq(): number {
    return this.row[column.modseq]
  }

  get flags(): number {
    return this.row[column.flags]
  }

  get keywords(): string | null {
    return this.row[column.keywords]
  }

  get arrived(): number {
    return this.row[column.idate]
  }

  get saved(): number {
    return this.row[column.saved]
  }

  get size(): number {
    return this.row[column.size]
  }

  get thread(): number {
    return this.row[column.thread]
  }

  get emailId(): string {
    return contentId(this.row[column.body], this.row[column.prefix])
  }
}
