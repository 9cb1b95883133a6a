// What SQLite says for the words of dialect.ts.

import type { Words } from '../dialect.ts'

export const sqliteWords: Words = {
  among: place => `(SELECT value FROM json_each(${place}))`,
  bitOf: condition => `(${condition})`,
  by: index => `INDEXED BY ${index}`,
  bytesOf: (column, from, length) => `substr(${column}, ${from}, ${length})`,
  concatenated: column => `CAST(group_concat(${column}, '') AS BLOB)`,
  flagAt: (column, path) => `json_extract(${column}, '$.${path}')`,
  folded: value => `folded(${value})`,
  greatest: (...values) => `max(${values.join(', ')})`,
  isSet: place => place,
  joined: value => `group_concat(${value}, ' ')`,
  jsonAt: (column, path) => `json_extract(${column}, '$.${path}')`,
  least: (...values) => `min(${values.join(', ')})`,
  listRows: (source, path) => (path === undefined ? `json_each(${source})` : `json_each(${source}, '$.${path}')`),
  mayFoldToAscii: value => `(octet_length(${value}) > length(${value}) AND may_fold_to_ascii(${value}))`,
  positionOf: (whole, part) => `instr(${whole}, ${part})`,
  sumOf: condition => `sum(${condition})`,
  textOf: bytes => `CAST(${bytes} AS TEXT)`,
  textRows: (index, expression, user, same) =>
    `SELECT rowid & 4294967295 FROM ${index} WHERE ${index} MATCH ${expression} AND rowid BETWEEN (${user} << 32) AND (${same} << 32) | 4294967295`,
  whole: value => `CAST(${value} AS INTEGER)`,
}
