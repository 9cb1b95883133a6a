// Loaded into a service before its own first line: a disk whose sync takes some milliseconds longer.
//
// Where a sync costs less than the work on a message, as on the disks of many virtual machines, nothing shows what sharing
// it is worth; there are disks whose sync takes milliseconds. Every commit of the writer thread waits after its own sync, so
// what was acknowledged is on disk as ever. Only a bench and a test may do this.

import { isMainThread } from 'node:worker_threads'
import Database from 'better-sqlite3'
import { halt } from '#lib/clock.ts'

/** Milliseconds a sync takes longer; `?by=` behind the file's name says otherwise. */
export const slowerBy = Number(new URL(import.meta.url).searchParams.get('by') ?? 4)

if (!isMainThread) {
  const { prepare } = Database.prototype
  Database.prototype.prepare = function (this: Database.Database, text: string) {
    const statement = prepare.call(this, text)
    if (text !== 'COMMIT' || this.readonly) return statement
    const run = statement.run.bind(statement) as () => Database.RunResult
    statement.run = () => {
      const result = run()
      halt(slowerBy)
      return result
    }
    return statement
  } as typeof prepare
}
