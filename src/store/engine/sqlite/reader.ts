// Reading from a folder's file: a read-only handle with its statements, used on the main thread and in fronts for what is short and
// in the pool for what is long. What it sees is committed.
//
// A query is answered in one go before its promise is there. Pictures have handles of their own, which are kept as long as
// so many were wanted at once lately: opening the file anew reads its schema, some milliseconds of everybody's time.

import { after, type Timer } from '#lib/clock.ts'
import { limits } from '#lib/limits.ts'
import type { Reader } from '../reader.ts'
import { brokenPages, type Handle, openForReading, type Sql, statements } from './handle.ts'

/** Handles for pictures that are kept for the next one, whatever happens. */
const spareLeast = 2
const { picturesMax, pictureMs, picturePagesBytes } = limits.reader

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
  /** How many of them nobody wanted since it was last looked. */
  #unused = 0
  #look: Timer | undefined
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
    const picture = this.#spare.pop() ?? this.#another()
    this.#unused = Math.min(this.#unused, this.#spare.length)
    picture.#isPicture = true
    try {
      picture.#sql('BEGIN').run()
      return await task(picture)
    } finally {
      if (picture.#handle.inTransaction) picture.#sql('COMMIT').run()
      picture.#isPicture = false
      this.#keep(picture)
    }
  }

  /** One for a picture beside others, of which there may be many: it keeps few pages. */
  #another(): SqliteReader {
    const picture = new SqliteReader(this.#file)
    picture.#handle.pragma(`cache_size = -${picturePagesBytes / 1024}`)
    return picture
  }

  #keep(picture: SqliteReader): void {
    if (this.#closed || this.#spare.length === picturesMax) {
      picture.close()
      return
    }
    this.#spare.push(picture)
    if (this.#spare.length > spareLeast) this.#lookLater()
  }

  /** Lets go, after a while, of what nobody wanted meanwhile. */
  #lookLater(): void {
    this.#look ??= after(pictureMs, () => {
      this.#look = undefined
      const surplus = Math.min(this.#unused, this.#spare.length - spareLeast)
      // Those at the end are wanted first.
      for (const picture of this.#spare.splice(spareLeast, Math.max(0, surplus))) picture.close()
      this.#unused = this.#spare.length
      if (this.#unused > spareLeast) this.#lookLater()
    })
  }

  async prove(): Promise<void> {
    this.#sql('SELECT 1').get()
  }

  broken(): Promise<string[]> {
    return brokenPages(this)
  }

  close(): void {
    this.#closed = true
    this.#look?.cancel()
    for (const picture of this.#spare.splice(0)) picture.close()
    this.#handle.close()
  }
}
