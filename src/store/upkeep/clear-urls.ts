// URLs with a password in rows: where they are, finding those that anybody can read, and putting sealed ones in their place.
//
// Every row is written with its URLs sealed (lib/secret/url-secret.ts). Those of an earlier version are replaced once,
// page by page, before anybody is let in (actors/admin/url-sealing.ts); from then on the checker wants none.

import { listRows, positionOf } from '../engine/dialect.ts'
import { defineProcedure } from '../engine/procedure.ts'
import type { Reader } from '../engine/reader.ts'
import { overwriting, type Sql } from '../engine/sqlite/handle.ts'
import { defineWrite } from '../engine/write.ts'
import { checkParts } from './check.ts'

interface Place {
  readonly table: string
  /** What names a row, rising. */
  readonly key: string
  readonly column: string
  /** What of the column holds URLs, in JSON; absent where it is one itself. */
  readonly paths?: readonly string[]
}

/** Every column that holds such URLs. */
export const urlPlaces = {
  user: { table: '"user"', key: 'num', column: 'options', paths: ['mtaRelay', 'targets'] },
  filter: { table: 'filter', key: 'num', column: 'action', paths: ['targets'] },
  address: { table: 'address', key: 'id', column: 'forward', paths: ['targets'] },
  outbound: { table: 'outbound', key: 'num', column: 'options', paths: ['relay'] },
  target: { table: 'outbound_target', key: 'value', column: 'value' },
  endpoint: { table: 'endpoint', key: 'num', column: 'url' },
} as const satisfies Readonly<Record<string, Place>>

export type UrlPlace = keyof typeof urlPlaces
type Key = number | string

/** Values that may hold a URL with a password, by key behind `after`. */
export async function valuesWithUrls(
  read: Reader,
  place: UrlPlace,
  after: Key,
  count: number,
): Promise<{ key: Key; value: string }[]> {
  const { table, key, column } = urlPlaces[place]
  return await read.all(
    `SELECT DISTINCT ${key} AS key, ${column} AS value FROM ${table}
     WHERE ${key} > ? AND ${column} LIKE '%:%@%' ORDER BY ${key} LIMIT ?`,
    after,
    count,
  )
}

/** Whether all of them were replaced. */
export async function areUrlsSealed(read: Reader): Promise<boolean> {
  return (await read.one("SELECT 1 FROM meta WHERE key = 'urls.sealed'")) !== undefined
}

export interface UrlReplaceRow {
  readonly place: UrlPlace
  readonly rows: readonly (readonly [key: Key, from: string, to: string])[]
}

const joinInto = defineProcedure(
  'endpoint_join',
  '_num bigint, _url text',
  `DECLARE _other bigint;
BEGIN
  SELECT num INTO _other FROM endpoint WHERE url = _url AND num <> _num;
  IF NOT FOUND THEN RETURN; END IF;
  UPDATE webhook SET endpoint = _num WHERE endpoint = _other;
  UPDATE delivery SET endpoint = _num WHERE endpoint = _other;
  DELETE FROM endpoint WHERE num = _other;
END`,
)

/** Replaces values that are still as they were read, and leaves nothing of them in the file. */
export const urlReplace = defineWrite<UrlReplaceRow>(
  'urls.replace',
  (sql, { place, rows }) => {
    const { table, key, column } = urlPlaces[place]
    overwriting(sql, () => {
      const replace = sql(`UPDATE ${table} SET ${column} = ? WHERE ${key} = ? AND ${column} = ?`)
      for (const [num, from, to] of rows) {
        if (place === 'endpoint') joinEndpoints(sql, num, to)
        replace.run(to, num, from)
      }
    })
  },
  {
    told: (sql, { place, rows }) => {
      const { table, key, column } = urlPlaces[place]
      for (const [num, from, to] of rows) {
        if (place === 'endpoint') sql(joinInto.call).run(num, to)
        sql(`UPDATE ${table} SET ${column} = ? WHERE ${key} = ? AND ${column} = ?`).run(to, num, from)
      }
    },
  },
)

/** Two spellings of one URL are one endpoint now: what went to the other goes to this one. */
function joinEndpoints(sql: Sql, num: Key, url: string): void {
  const other = sql('SELECT num FROM endpoint WHERE url = ? AND num <> ?').get(url, num) as { num: number } | undefined
  if (other === undefined) return
  sql('UPDATE webhook SET endpoint = ? WHERE endpoint = ?').run(num, other.num)
  sql('UPDATE delivery SET endpoint = ? WHERE endpoint = ?').run(num, other.num)
  sql('DELETE FROM endpoint WHERE num = ?').run(other.num)
}

/** Whether a URL holds a password, or a name, that is not sealed, as a condition. */
function isClearText(url: string): string {
  const rest = `substr(${url}, ${positionOf(url, "'://'")} + 3)`
  const flat = `replace(replace(${rest}, '?', '/'), '#', '/')`
  const host = `substr(${flat}, 1, ${positionOf(`${flat} || '/'`, "'/'")} - 1)`
  return `${url} LIKE '%://%@%' AND ${host} LIKE '%@%' AND ${host} NOT LIKE '%$wd01$aes-256-gcm$%@%'`
}

function clearOnes({ table, key, column, paths }: Place): string[] {
  if (paths === undefined) return [`SELECT '${column} ' || ${key} FROM ${table} WHERE ${isClearText(column)}`]
  return paths.map(
    path => `SELECT '${path} ' || t.${key} FROM ${table} t, ${listRows(`t.${column}`, path)} u
      WHERE t.${column} IS NOT NULL AND ${isClearText('u.value')}`,
  )
}

checkParts.push({
  rules: [
    {
      says: 'the passwords of relays, targets and webhooks are sealed',
      query: `SELECT * FROM (${Object.values(urlPlaces).flatMap(clearOnes).join(' UNION ALL ')})
        WHERE EXISTS (SELECT 1 FROM meta WHERE key = 'urls.sealed')`,
    },
  ],
})
