// Filling a database file. It has another name until all is there, so that nobody takes it for a service's.

import { existsSync, renameSync, rmSync } from 'node:fs'
import { dirname } from 'node:path'
import { Fault } from '#lib/fault.ts'
import { syncPath } from '#lib/lasting.ts'
import { columnsOf, type Filling, keyOf, type StoredRow } from '../../upkeep/filling.ts'
import { migrate } from '../schema.ts'
import { openForWriting, statements } from './handle.ts'

/** @throws Fault NotPermitted where there is a database already */
export function fillFile(file: string): Filling & { readonly path: string } {
  if (existsSync(file)) throw new Fault('NotPermitted', { text: `There is a database already: ${file}` })
  const path = `${file}.moving`
  const handle = openForWriting(path)
  migrate(handle)
  const sql = statements(handle)
  sql('CREATE TABLE IF NOT EXISTS moving (name TEXT PRIMARY KEY, after TEXT NOT NULL)').run()
  return {
    path,
    async last({ name }) {
      const noted = sql('SELECT after FROM moving WHERE name = ?').get(name) as { after: string } | undefined
      return noted && (JSON.parse(noted.after) as StoredRow)
    },
    async put(table, rows) {
      const places = Object.keys(table.columns).map(() => '?')
      const insert = sql(`INSERT INTO ${table} (${columnsOf(table)}) VALUES (${places.join(', ')})`)
      handle.transaction(() => {
        for (const row of rows) insert.run(...row)
        const last = JSON.stringify(keyOf(table, rows.at(-1) ?? []))
        sql('INSERT INTO moving VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET after = excluded.after').run(
          table.name,
          last,
        )
      })()
    },
    async finish() {
      sql('UPDATE search_doc SET indexed = 0').run()
      sql('DROP TABLE moving').run()
      handle.exec('ANALYZE')
      handle.pragma('wal_checkpoint(TRUNCATE)')
      handle.close()
      for (const end of ['-wal', '-shm']) rmSync(`${path}${end}`, { force: true })
      renameSync(path, file)
      syncPath(dirname(file))
    },
    async close() {
      if (handle.open) handle.close()
    },
  }
}
