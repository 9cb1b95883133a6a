// A write of a process that is not the writer: statements of its own, in a transaction, beside those of the service.

import type { Operation } from '../../write.ts'
import { connect, type PostgresSettings, rowsOf } from '../session.ts'
import { stepsOf } from './steps.ts'

/** Only for writes without a procedure. @throws Fault StorageUnavailable */
export async function writeOnce(settings: PostgresSettings, operation: Operation): Promise<void> {
  const client = await connect(settings)
  try {
    await client.query('BEGIN')
    for (const { text, values } of stepsOf(operation)) await rowsOf(client, { text, values })
    await client.query('COMMIT')
  } finally {
    await client.end()
  }
}
