// Message-IDs an account has seen, by hash, and the thread each belongs to: the table, its reads and its write.

import { integer } from '../engine/column.ts'
import { among } from '../engine/dialect.ts'
import type { Reader } from '../engine/reader.ts'
import { table } from '../engine/table.ts'

const references = table(
  'reference',
  { user: integer, hash: integer, thread: integer },
  { key: ['user', 'hash'], clustered: true },
)

/** The first thread that mentions an id keeps it. */
export const referenceInsert = references.defineInsert('insert', { ifNew: true })

const known = references.pick(['hash', 'thread'])

/** Hash and thread of those of these ids that an account has. */
export async function findReferences(
  read: Reader,
  user: number,
  hashes: readonly number[],
): Promise<[hash: number, thread: number][]> {
  const rest = `FROM reference WHERE "user" = ? AND hash IN ${among()}`
  return await known.all(read, rest, user, JSON.stringify(hashes))
}

/** Up to `count` ids of an account, by hash, with the thread each belongs to. */
export async function listReferences(
  read: Reader,
  user: number,
  count: number,
): Promise<[hash: number, thread: number][]> {
  return await known.all(read, 'FROM reference WHERE "user" = ? LIMIT ?', user, count)
}
