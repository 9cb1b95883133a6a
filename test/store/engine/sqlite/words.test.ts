// What SQLite is asked for the words of dialect.ts: they mean in its text what they say.

import { expect, test } from 'vitest'
import {
  among,
  bitOf,
  by,
  bytesOf,
  concatenated,
  flagAt,
  greatest,
  includes,
  isSet,
  joined,
  jsonAt,
  least,
  listRows,
  positionOf,
  sumOf,
  whole,
} from '#store/engine/dialect.ts'
import { sqliteText } from '#store/engine/sqlite/handle.ts'

test.each([
  [among(), '(SELECT value FROM json_each(?))'],
  [among('@tags'), '(SELECT value FROM json_each(@tags))'],
  [listRows(), 'json_each(?)'],
  [listRows('u.options', 'targets'), "json_each(u.options, '$.targets')"],
  [jsonAt('o.summary', 'inReplyTo'), "json_extract(o.summary, '$.inReplyTo')"],
  [flagAt('o.summary', 'encrypted'), "json_extract(o.summary, '$.encrypted')"],
  [greatest('coalesce(last, 0)', '?'), 'max(coalesce(last, 0), ?)'],
  [least('due', '?'), 'min(due, ?)'],
  [by('message_changed'), 'INDEXED BY message_changed'],
  [bytesOf('data', '?', '?'), 'substr(data, ?, ?)'],
  [positionOf("a || '/'", "'/'"), "instr(a || '/', '/')"],
  [includes('filename'), 'instr(filename, ?) > 0'],
  [sumOf(includes('filename')), 'sum(instr(filename, ?) > 0)'],
  [bitOf('last <> excluded.last'), '(last <> excluded.last)'],
  [isSet(), '?'],
  [joined("num || ' ' || size"), "group_concat(num || ' ' || size, ' ')"],
  [concatenated('skeleton'), "CAST(group_concat(skeleton, '') AS BLOB)"],
  [whole('saved + @retention'), 'CAST(saved + @retention AS INTEGER)'],
  [greatest(jsonAt('a', 'b'), least('c', 'd')), "max(json_extract(a, '$.b'), min(c, d))"],
  ["SELECT '{}' FROM t", "SELECT '{}' FROM t"],
])('%s is %s', (text, said) => {
  expect(sqliteText(text)).toBe(said)
})
