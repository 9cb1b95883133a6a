// Reading: a read-only handle with its statements, used on the main thread for what is short and in the pool for what is
// long. What it sees is committed. SQL stands in the files of this folder, one per subject; they take a Reader and
// return promises, so that another engine can stand behind them.

import { type Handle, openForReading, type Sql, statements } from './sqlite.ts'

export class Reader {
  readonly #handle: Handle
  readonly #sql: Sql
  readonly #raw: Sql

  private constructor(handle: Handle) {
    this.#handle = handle
    this.#sql = statements(handle)
    this.#raw = statements(handle)
  }

  /** Opens the database at `file`, which the writer has made. */
  static open(file: string): Reader {
    return new Reader(openForReading(file))
  }

  /** The first row of a query, columns by name. `Row` is what the query's text promises. */
  one<Row>(text: string, ...values: unknown[]): Row | undefined {
    return this.#sql(text).get(...values) as Row | undefined
  }

  /** All rows of a query whose size is bounded by its LIMIT or its nature. */
  all<Row>(text: string, ...values: unknown[]): Row[] {
    return this.#sql(text).all(...values) as Row[]
  }

  /** Rows one after the other. The handle is busy until the loop ends, so never await inside it. */
  iterate<Row>(text: string, ...values: unknown[]): IterableIterator<Row> {
    return this.#sql(text).iterate(...values) as IterableIterator<Row>
  }

  /** Rows as arrays of columns, several times faster than objects for listings of thousands. */
  arrays<Row extends unknown[]>(text: string, ...values: unknown[]): Row[] {
    return this.#raw(text)
      .raw(true)
      .all(...values) as Row[]
  }

  /** The same one after the other. The handle is busy until the loop ends, so never await inside it. */
  iterateArrays<Row extends unknown[]>(text: string, ...values: unknown[]): IterableIterator<Row> {
    return this.#raw(text)
      .raw(true)
      .iterate(...values) as IterableIterator<Row>
  }

  /** Runs `task` on one unchanging picture of the database. `task` must not wait. */
  snapshot<T>(task: () => T): T {
    this.#sql('BEGIN').run()
    try {
      return task()
    } finally {
      this.#sql('COMMIT').run()
    }
  }

  /** One read of nothing, for those who ask about health. */
  prove(): void {
    this.one('SELECT 1')
  }

  close(): void {
    this.#handle.close()
  }
}
