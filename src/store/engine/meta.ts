// Small facts about the database itself: how far a loop has read, what was tried to see whether the disk takes writes.

import { scalar, table, text } from './table.ts'

const facts = table('meta', { key: text, value: scalar }, { key: ['key'], clustered: true })

export const metaPut = facts.defineUpsert()

export const metaDelete = facts.defineDelete(['key'])
