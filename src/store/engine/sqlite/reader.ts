// Reading from a folder's file: a read-only handle with its statements, used on the main thread and in fronts for what is short and
// in the pool for what is long. What it sees is committed.
//
// A query is answered in one go before its promise is there. Pictures have handles of their own, some of which are kept.

import type { Reader } from '../reader.ts'
import { brokenPages, type Handle, openForReading, type Sql, statements } from './handle.ts'

/** Handles for pictures that are kept for the next one. */
const spareMost = 2

/** Opens the database at `file`, which the writer has made. */
export function openReader(file: string): Reader {
  const reader = new SqliteReader(file)
  reader.prepare()
  return reader
}

class SqliteReader implements Reader {
  readonly #file: string
  readonly #handle: Handle
  readonly #sql: Sql
  readonly #raw: Sql
  /** Pictures have handles of their own: what others ask meanwhile must see what is committed then. */
  readonly #spare: SqliteReader[] = []
  #isPicture = false
  #closed = false

  constructor(file: string) {
    this.#file = file
    this.#handle = openForReading(file)
    this.#sql = statements(this.#handle)
    this.#raw = statements(this.#handle)
  }

  /** One picture's handle is there from the start: nobody who can read is refused a picture for want of files. */
  prepare(): void {
    this.#spare.push(new SqliteReader(this.#file))
  }

  async one<Row>(text: string, ...values: unknown[]): Promise<Row | undefined> {
    return this.#sql(text).get(...values) as Row | undefined
  }

  async all<Row>(text: string, ...values: unknown[]): Promise<Row[]> {
    return this.#sql(text).all(...values) as Row[]
  }

  async arrays<Row extends unknown[]>(text: string, ...values: unknown[]): Promise<Row[]> {
    return this.#raw(text)
      .raw(true)
      .all(...values) as Row[]
  }

  async each<Row>(visit: (row: Row) => unknown, text: string, ...values: unknown[]): Promise<void> {
    for (const row of this.#sql(text).iterate(...values)) if (visit(row as Row) === true) return
  }

  async eachArray<Row extends unknown[]>(
    visit: (row: Row) => unknown,
    text: string,
    ...values: unknown[]
  ): Promise<void> {
    const rows = this.#raw(text)
      .raw(true)
      .iterate(...values)
    for (const row of rows) if (visit(row as Row) === true) return
  }

  async snapshot<T>(task: (read: Reader) => Promise<T>): Promise<T> {
    if (this.#isPicture) return task(this)
    const picture = this.#spare.pop() ?? new SqliteReader(this.#file)
    picture.#isPicture = true
    try {
      picture.#sql('BEGIN').run()
      return await task(picture)
    } finally {
      if (picture.#handle.inTransaction) picture.#sql('COMMIT').run()
      picture.#isPicture = false
      if (this.#closed || this.#spare.length === spareMost) picture.close()
      else this.#spare.push(picture)
    }
  }

  async prove(): Promise<void> {
    this.#sql('SELECT 1').get()
  }

  broken(): Promise<string[]> {
    return brokenPages(this)
  }

  close(): void {
    this.#closed = true
    for (const picture of this.#spare.splice(0)) picture.close()
    this.#handle.close()
  }
}
