// What engines say in words of their own, for texts that are otherwise those of any engine: lists of values, parts of JSON,
// the greater of two values, which index to go by. What stands in a text is a neutral word with its operands,
// `{{greatest a; b}}`; each engine puts its own in that place, once for a text (sqlite/words.ts, postgres/words.ts).
//
// Must be the one place of these words: the style test looks for an engine's own elsewhere. An operand holds no `;`.

/** The values of a list that is bound as JSON text at this place; for `key IN ${among()}`. */
export function among(place = '?'): string {
  return word('among', place)
}

/** A list as rows with `key` (its place) and `value`: one that is bound as JSON text, or one in a JSON column. */
export function listRows(source = '?', path?: string): string {
  return path === undefined ? word('listRows', source) : word('listRows', source, path)
}

/** What stands at a path of a JSON column: a text, or null where nothing does; of a list its JSON text. */
export function jsonAt(column: string, path: string): string {
  return word('jsonAt', column, path)
}

/** The same of a flag: 0 or 1, or null. */
export function flagAt(column: string, path: string): string {
  return word('flagAt', column, path)
}

/** The text that these bytes are, in UTF-8. */
export function textOf(bytes: string): string {
  return word('textOf', bytes)
}

/** The greatest of several values; null where one of them is. */
export function greatest(...values: readonly string[]): string {
  return word('greatest', ...values)
}

/** The least of several values; null where one of them is. */
export function least(...values: readonly string[]): string {
  return word('least', ...values)
}

/** Behind the name of a table: this index and no other. */
export function by(index: string): string {
  return word('by', index)
}

/** Where a text begins in another one, counted from 1; 0 where it does not. */
export function positionOf(whole: string, part: string): string {
  return word('positionOf', whole, part)
}

/** Whether a column contains the bound text, case and all. */
export function includes(column: string): string {
  return `${positionOf(column, '?')} > 0`
}

/** A text as it is compared (mail/text/fold.ts). */
export function folded(value: string): string {
  return word('folded', value)
}

/** Whether a text has characters that may fold to ASCII without being it (`unlikeAscii` of mail/text/fold.ts). */
export function mayFoldToAscii(value: string): string {
  return word('mayFoldToAscii', value)
}

/** How many rows a condition holds for; null of none. */
export function sumOf(condition: string): string {
  return word('sumOf', condition)
}

/** A condition as 0 or 1, where it is compared with such a number or counted. */
export function bitOf(condition: string): string {
  return word('bitOf', condition)
}

/** Whether what is bound is 1. */
export function isSet(place = '?'): string {
  return word('isSet', place)
}

/** Some bytes of a column, from the first one, which is 1. */
export function bytesOf(column: string, from: string, length: string): string {
  return word('bytesOf', column, from, length)
}

/** Values of a column in one text, a blank between each two. */
export function joined(value: string): string {
  return word('joined', value)
}

/** Bytes of a column one after the other. */
export function concatenated(column: string): string {
  return word('concatenated', column)
}

/**
 * Numbers of the bodies that a full-text index gives for an expression, as `full-text.ts` makes it: a query of its own, up to
 * where its LIMIT follows.
 */
export function textRows(index: string, expression = '?', user = '?', same = '?'): string {
  return word('textRows', index, expression, user, same)
}

/** A whole number. */
export function whole(value: string): string {
  return word('whole', value)
}

type WordName =
  | 'among'
  | 'bitOf'
  | 'by'
  | 'bytesOf'
  | 'concatenated'
  | 'flagAt'
  | 'folded'
  | 'greatest'
  | 'isSet'
  | 'joined'
  | 'jsonAt'
  | 'least'
  | 'listRows'
  | 'mayFoldToAscii'
  | 'positionOf'
  | 'sumOf'
  | 'textOf'
  | 'textRows'
  | 'whole'

/** What an engine has for each of these words. */
export type Words = Readonly<Record<WordName, (...operands: string[]) => string>>

function word(name: WordName, ...operands: readonly string[]): string {
  return `{{${name} ${operands.join('; ')}}}`
}

/** A word whose operands hold no other one. */
const innermost = /\{\{(\w+) ([^{}]*)\}\}/g

/** A text in the words of an engine. */
export function inWords(text: string, words: Words): string {
  if (!text.includes('{{')) return text
  const said = text.replace(innermost, (_, name: WordName, operands: string) => words[name](...operands.split('; ')))
  return inWords(said, words)
}
