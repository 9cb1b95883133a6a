// One write from a process beside the one that has the database: for what the running service reads when it is presented.
//
// Engines let two processes take turns with single rows; whatever an actor holds must not be written so.

import { isAddress } from '../engine/postgres/address.ts'
import { migrate } from '../engine/schema.ts'
import { openForWriting, statements } from '../engine/sqlite/handle.ts'
import { operation, type Write } from '../engine/write.ts'

/** @param database a file or an address */
export async function writeBeside<Row>(database: string, change: Write<Row>, row: Row): Promise<void> {
  if (isAddress(database)) {
    const { writeOnce } = await import('../engine/postgres/writer/once.ts')
    return writeOnce({ url: database }, operation(change, row))
  }
  const handle = openForWriting(database)
  try {
    migrate(handle)
    const effects = { beforeCommit: () => {}, afterCommit: () => {}, onRollback: () => {} }
    const [, form] = operation(change, row)
    handle.transaction(() => change.run(statements(handle), form, effects)).immediate()
  } finally {
    handle.close()
  }
}
