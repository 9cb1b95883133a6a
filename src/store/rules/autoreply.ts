// Autoreplies: the table, its read and writes. Whether an account answers is in its options, too, so that a delivery to one
// that does not need not look here.

import { boolean, called, integer, moment, nullable, text } from '../engine/column.ts'
import type { Reader } from '../engine/reader.ts'
import { type RowOf, table } from '../engine/table.ts'
import { checkParts } from '../upkeep/check.ts'

const autoreplies = table(
  'autoreply',
  {
    /** Number of the account. */
    user: integer,
    id: text,
    status: boolean,
    name: text,
    subject: text,
    text,
    html: text,
    /** Null: no bound. */
    start: called('starts', nullable(moment)),
    end: called('ends', nullable(moment)),
    /** When it was changed last. */
    created: moment,
  },
  { key: ['user'] },
)

export type Autoreply = RowOf<typeof autoreplies>

export const autoreplyPut = autoreplies.defineUpsert()

export const autoreplyDelete = autoreplies.defineDelete(['user'])

/** The autoreply of an account. */
export async function findAutoreply(read: Reader, user: number): Promise<Autoreply | undefined> {
  return await autoreplies.one(read, 'WHERE "user" = ?', user)
}

checkParts.push({
  rules: [
    {
      says: 'every autoreply has its account',
      query: 'SELECT id FROM autoreply AS o WHERE NOT EXISTS (SELECT 1 FROM "user" AS i WHERE i.num = o."user")',
    },
  ],
})

/** Whether an account has an autoreply, on or off. */
export async function hasAutoreply(read: Reader, user: number): Promise<boolean> {
  return (await read.one('SELECT 1 FROM autoreply WHERE "user" = ?', user)) !== undefined
}
