// What PostgreSQL says for the words of dialect.ts. A parameter stands in an operand as `$1`, and may be named twice; one
// whose value is to have another form is marked with it: `$1!array` (text.ts).

import { unlikeAscii } from '#mail/text/fold.ts'
import type { Words } from '../dialect.ts'

export const postgresWords: Words = {
  // Behind IN, which text.ts has made `= ANY` or `<> ALL`.
  among: place => `(${place}!array)`,
  bitOf: condition => `(${condition})::int`,
  by: () => '',
  bytesOf: (column, from, length) => `substr(${column}, (${from})::int, (${length})::int)`,
  concatenated: column => `string_agg(${column}, ''::bytea)`,
  flagAt: (column, path) => `(CASE ${member(column, path)} WHEN 'true' THEN 1 WHEN 'false' THEN 0 END)`,
  // The function of the schema knows of case and composition; the rest is what fold.ts adds. Two ligatures stay what they are.
  folded: value => {
    const kept = `translate(${value}, '\ufdfa\ufdfb', '\u0001\u0002')`
    return `translate(folded(normalize(${kept}, NFKC)), '\u0001\u0002\u03c2\u0131', '\ufdfa\ufdfb\u03c3i')`
  },
  greatest: (...values) => ofAll('GREATEST', values),
  isSet: place => `${place} = 1`,
  joined: value => `string_agg(${value}, ' ')`,
  jsonAt: member,
  least: (...values) => ofAll('LEAST', values),
  listRows: (source, path) => (path === undefined ? `list_rows(${source})` : `list_rows(${source}, '${path}')`),
  mayFoldToAscii: value => `(octet_length(${value}) > length(${value}) AND ${value} ~ '[^${unlikeAscii}]')`,
  positionOf: (whole, part) => `strpos(${whole}, ${part})`,
  sumOf: condition => `sum((${condition})::int)`,
  textOf: bytes => `convert_from(${bytes}, 'UTF8')`,
  textRows: (index, expression, user) =>
    index === 'search'
      ? `SELECT body FROM search_text WHERE grams @> ${expression}!grams::bigint[] AND "user" = ${user}`
      : `SELECT body FROM search_text WHERE words @@ ${expression}!words::tsquery AND "user" = ${user}`,
  whole: value => `CAST(trunc(${value}) AS bigint)`,
}

function member(column: string, path: string): string {
  return `((${column})::json -> '${path}' #>> '{}')`
}

/** The engine's own passes over what is null. */
function ofAll(name: string, values: readonly string[]): string {
  const absent = values.map(value => `${value} IS NULL`).join(' OR ')
  return `CASE WHEN ${absent} THEN NULL ELSE ${name}(${values.join(', ')}) END`
}
