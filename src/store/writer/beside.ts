// One write from a process beside the one that has the database: for what the running service reads when it is presented.
//
// Engines let two processes take turns with single rows; whatever an actor holds must not be written so.

import { dirname } from 'node:path'
import { Fault } from '#lib/fault.ts'
import { isAddress } from '../engine/postgres/address.ts'
import { migrate, migrations } from '../engine/schema.ts'
import { lock, openForWriting, schemaNumber, statements } from '../engine/sqlite/handle.ts'
import { operation, type Write } from '../engine/write.ts'
import { lockFile } from '../folder/place.ts'

/**
 * A database as this program knows it, for reading and writing beside a service. One of an earlier version is brought up to date, but never under
 * a service of that version, which would go on writing what it knows.
 *
 * @param database a file; who opens an address sees to it
 * @throws Fault DataDirectoryInUse where a service of an earlier version runs, DatabaseTooNew
 */
export function bringUpToDate(database: string): void {
  if (isAddress(database)) return
  const schema = schemaNumber(database)
  if (schema > migrations.length) throw new Fault('DatabaseTooNew')
  if (schema === migrations.length) return
  const release = unserved(database)
  try {
    const handle = openForWriting(database)
    try {
      migrate(handle)
    } finally {
      handle.close()
    }
  } finally {
    release()
  }
}

function unserved(database: string): () => void {
  try {
    return lock(lockFile(dirname(database)))
  } catch (error) {
    if (!(error instanceof Fault) || error.code !== 'DataDirectoryInUse') throw error
    const text =
      'The data is of an earlier version than this command, and so is the service that has it: restart that one, and run this again'
    throw new Fault('DataDirectoryInUse', { text, cause: error })
  }
}

/**
 * @param database a file or an address
 * @throws Fault as `bringUpToDate`
 */
export async function writeBeside<Row>(database: string, change: Write<Row>, row: Row): Promise<void> {
  if (isAddress(database)) {
    const { writeOnce } = await import('../engine/postgres/writer/once.ts')
    return writeOnce({ url: database }, operation(change, row))
  }
  bringUpToDate(database)
  const handle = openForWriting(database)
  try {
    const effects = { beforeCommit: () => {}, afterCommit: () => {}, onRollback: () => {} }
    const [, form] = operation(change, row)
    handle.transaction(() => change.run(statements(handle), form, effects)).immediate()
  } finally {
    handle.close()
  }
}
