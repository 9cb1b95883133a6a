// Table definitions against what the migrations make: every column, its type, whether it may be absent, keys, indexes.

import { globSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import { migrate } from '#store/engine/schema.ts'
import { openForWriting } from '#store/engine/sqlite/handle.ts'
import { definedTables, type Table } from '#store/engine/table.ts'

// Whatever defines a table has to be there.
for (const file of globSync('src/store/**/*.ts')) await import(resolve(file))

const root = mkdtempSync(join(tmpdir(), 'teal-table-'))
const handle = openForWriting(join(root, 'teal.db'))
migrate(handle)

afterAll(() => {
  handle.close()
  rmSync(root, { recursive: true, force: true })
})

type AnyTable = Table<Record<string, never>>

const engineTypes = { integer: 'INTEGER', text: 'TEXT', bytes: 'BLOB', any: '' } as const

/** What the migrations made of a table, in the words of a definition. */
function made(name: string) {
  const columns = handle.prepare('SELECT name, type, "notnull", pk FROM pragma_table_info(?)').all(name) as {
    name: string
    type: string
    notnull: number
    pk: number
  }[]
  const [list] = handle.prepare('SELECT wr FROM pragma_table_list(?)').all(name) as { wr: number }[]
  const indexes = handle
    .prepare(`SELECT i.name, i."unique", i.origin, s.sql FROM pragma_index_list(?) i
      LEFT JOIN sqlite_schema s ON s.name = i.name WHERE i.origin <> 'pk'`)
    .all(name) as { name: string; unique: number; origin: string; sql: string | null }[]
  const on = (index: string) =>
    (handle.prepare('SELECT name FROM pragma_index_info(?)').all(index) as { name: string }[]).map(one => one.name)
  return {
    columns: columns.map(column => ({
      name: column.name,
      type: column.type,
      nullable: column.notnull === 0 && column.pk === 0,
    })),
    key: columns
      .filter(column => column.pk > 0)
      .sort((a, b) => a.pk - b.pk)
      .map(column => column.name),
    clustered: list?.wr === 1,
    indexes: indexes
      .map(index => ({
        on: on(index.name),
        unique: index.unique === 1,
        where: / WHERE (.*)$/s.exec(index.sql ?? '')?.[1]?.replaceAll('"', ''),
      }))
      .sort(byText),
  }
}

/** The same of a definition. */
function wanted(table: AnyTable) {
  const { columns, shape } = table
  return {
    columns: Object.entries(columns as Record<string, { type: keyof typeof engineTypes; nullable: boolean }>).map(
      ([key, { type, nullable }]) => ({ name: table.columnOf(key), type: engineTypes[type], nullable }),
    ),
    key: shape.key.map(key => table.columnOf(key)),
    clustered: shape.clustered === true,
    indexes: Object.values(shape.indexes ?? {})
      .map(({ on, unique, where }) => ({
        on: on.map(key => table.columnOf(key)),
        unique: unique === true,
        where: where?.replaceAll('"', ''),
      }))
      .sort(byText),
  }
}

function byText(a: object, b: object): number {
  return JSON.stringify(a) < JSON.stringify(b) ? -1 : 1
}

describe('a table', () => {
  const tables = [...definedTables().values()] as unknown as AnyTable[]

  test.each(tables.map(table => [table.name, table] as const))('%s is what its migrations make', (name, table) => {
    expect(wanted(table)).toEqual(made(name))
  })

  // Full text is the engine's own: such a table has no columns that another engine would know (store/search).
  test('is defined, unless it is one of an engine alone', () => {
    const all = handle
      .prepare(
        `SELECT name FROM pragma_table_list WHERE schema = 'main' AND type = 'table' AND name NOT LIKE 'sqlite_%'`,
      )
      .pluck()
      .all() as string[]
    expect(all.length).toBeGreaterThan(30)
    expect(all.filter(name => !definedTables().has(name))).toEqual([])
  })
})
