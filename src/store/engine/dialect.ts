// What SQLite says in words of its own, for texts that are otherwise those of any engine: lists of values, parts of JSON, the
// greater of two values, which index to go by. What it alone has beside texts (pragmas, files) is in sqlite.ts.
//
// Must be the one place of these words: the style test looks for them elsewhere. A second engine has such a file of its own.

/** The values of a list that is bound as JSON text at this place; for `key IN ${among()}`. */
export function among(place = '?'): string {
  return `(SELECT value FROM json_each(${place}))`
}

/** A list as rows with `key` (its place) and `value`: one that is bound as JSON text, or one in a JSON column. */
export function listRows(source = '?', path?: string): string {
  return path === undefined ? `json_each(${source})` : `json_each(${source}, '$.${path}')`
}

/** What stands at a path of a JSON column: a text, a number, 0 or 1, or null where nothing does. */
export function jsonAt(column: string, path: string): string {
  return `json_extract(${column}, '$.${path}')`
}

/** The greatest of several values; null where one of them is. */
export function greatest(...values: readonly string[]): string {
  return `max(${values.join(', ')})`
}

/** The least of several values; null where one of them is. */
export function least(...values: readonly string[]): string {
  return `min(${values.join(', ')})`
}

/** Behind the name of a table: this index and no other. */
export function by(index: string): string {
  return `INDEXED BY ${index}`
}

/** Where a text begins in another one, counted from 1; 0 where it does not. */
export function positionOf(whole: string, part: string): string {
  return `instr(${whole}, ${part})`
}

/** Whether a column contains the bound text, case and all. */
export function includes(column: string): string {
  return `${positionOf(column, '?')} > 0`
}

/** Values of a column in one text, a separator between each two. */
export function joined(value: string, separator: string): string {
  return `group_concat(${value}, '${separator}')`
}

/** Bytes of a column one after the other. */
export function concatenated(column: string): string {
  return `CAST(group_concat(${column}, '') AS BLOB)`
}

/** A whole number. */
export function whole(value: string): string {
  return `CAST(${value} AS INTEGER)`
}
