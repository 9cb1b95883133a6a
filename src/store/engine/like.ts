// Searching a column for a part of a text.

import { fold } from '#mail/text/fold.ts'
import { folded } from './dialect.ts'

/** The condition on `column`, and its one value, that find `text` anywhere and in any case. */
export function containing(column: string, text: string): [condition: string, value: string] {
  const plain = /^[\x20-\x7e]*$/.test(text)
  return [`${plain ? column : folded(column)} LIKE ? ESCAPE '\\'`, likePattern(fold(text))]
}

/** A LIKE pattern (escape `\`) that finds `text` anywhere. */
export function likePattern(text: string): string {
  return `%${text.replace(/[\\%_]/g, '\\$&')}%`
}
