// Reading: what is asked of committed rows, whatever engine has them. SQL stands in the files of this folder, one per subject;
// they take a Reader and give promises. Nobody may count on an answer being there at once, nor on nothing happening meanwhile: what
// must hold for several reads together is one text, or a snapshot.
//
// Which engine a database is of open.ts says.

export interface Reader {
  /** The first row of a query, columns by name. `Row` is what the query's text promises. */
  one<Row>(text: string, ...values: unknown[]): Promise<Row | undefined>

  /** All rows of a query whose size is bounded by its LIMIT or its nature. */
  all<Row>(text: string, ...values: unknown[]): Promise<Row[]>

  /** Rows as arrays of columns, several times faster than objects for listings of thousands. */
  arrays<Row extends unknown[]>(text: string, ...values: unknown[]): Promise<Row[]>

  /** Rows one after the other, until `visit` says true: for what may be long, or may end early. It must not wait. */
  each<Row>(visit: (row: Row) => unknown, text: string, ...values: unknown[]): Promise<void>

  /** The same with rows as arrays. */
  eachArray<Row extends unknown[]>(visit: (row: Row) => unknown, text: string, ...values: unknown[]): Promise<void>

  /** Runs `task` on one unchanging picture of the database, which it is given; it should not wait for anything else. */
  snapshot<T>(task: (read: Reader) => Promise<T>): Promise<T>

  /** One read of nothing, for those who ask about health. */
  prove(): Promise<void>

  /** What is broken of the file that the engine has, as it says; nothing where that is not ours to know. */
  broken(): Promise<string[]>

  close(): void
}
