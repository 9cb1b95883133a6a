// The full-text index as SQLite has it: two virtual tables, `search` of trigrams and `search_word` of words, whose rows are
// numbered by account and body together, so that one account's are one range.
//
// Which bodies are indexed, and what of them is waiting, is in search/docs.ts; what a needle means is in search/trigrams.ts.
// The one place of these tables: a second engine has an index of its own behind the same names.

import assert from 'node:assert/strict'
import { textRows } from './dialect.ts'
import type { Reader } from './reader.ts'
import type { Handle, Sql } from './sqlite/handle.ts'

/** `search` finds any part of a text, `search_word` beginnings of words. */
export type TextIndex = 'search' | 'search_word'

/** As good as no limit, for both engines. */
const rowsMost = 2 ** 31 - 1

const indexes: readonly TextIndex[] = ['search', 'search_word']

/** Percent of a part of an index that are gone before it is written anew. */
const goneMost = 50

/**
 * Sets when the engine writes anew what rows have gone from. Its own 10 percent has each deletion of many messages write all of an index
 * again and again, in units that nobody else can write beside; at half of it, that is once for each halving.
 */
export function settleText(handle: Handle): void {
  for (const index of indexes) {
    const set = handle.prepare(`SELECT v FROM ${index}_config WHERE k = 'deletemerge'`).pluck().get()
    if (set !== goneMost) handle.exec(`INSERT INTO ${index} (${index}, rank) VALUES ('deletemerge', ${goneMost})`)
  }
}

/** Adds a body. Rows of one transaction stay together as long as account, then body, rise. */
export function addText(sql: Sql, user: number, body: number, text: string): void {
  assert(body < 2 ** 32 && user < 2 ** 31, 'account and body fit into the number of one row')
  for (const index of indexes) sql(`INSERT INTO ${index} (rowid, text) VALUES ((? << 32) | ?, ?)`).run(user, body, text)
}

export function removeText(sql: Sql, user: number, body: number): void {
  for (const index of indexes) sql(`DELETE FROM ${index} WHERE rowid = (? << 32) | ?`).run(user, body)
}

/** Bodies of an account in which all terms are; at most `count` of them. */
export async function bodiesWith(
  read: Reader,
  index: TextIndex,
  user: number,
  terms: readonly string[],
  count = rowsMost,
): Promise<Set<number>> {
  const expression = terms.map(term => `"${term.replaceAll('"', '""')}"`).join(' AND ')
  return await bodiesFor(read, index, user, expression, count)
}

/** Bodies of an account in which a word begins with the term, which is letters and digits. */
export async function bodiesWithWord(read: Reader, user: number, term: string): Promise<Set<number>> {
  return await bodiesFor(read, 'search_word', user, `"${term}" *`)
}

async function bodiesFor(
  read: Reader,
  index: TextIndex,
  user: number,
  expression: string,
  count = rowsMost,
): Promise<Set<number>> {
  const rows = await read.arrays<[number]>(`${textRows(index)}\n     LIMIT ?`, expression, user, user, count)
  return new Set(rows.map(([body]) => body))
}

/** Rows of an index that no indexed body has, and indexed bodies without one; for the checker and the repair. */
function unfitting(index: TextIndex): string {
  return `SELECT d."user" || ' ' || d.body FROM search_doc d
      WHERE d.indexed > 0 AND ((d."user" << 32) | d.body) NOT IN (SELECT rowid FROM ${index})
    UNION ALL SELECT s.rowid || '' FROM ${index} s WHERE NOT EXISTS (SELECT 1 FROM search_doc d
      WHERE d."user" = s.rowid >> 32 AND d.body = s.rowid & 4294967295 AND d.indexed > 0)`
}

/** The same of both, as one query. */
export const unfittingText = indexes.map(unfitting).join(' UNION ALL ')

/** Whether both indexes are whole and fit what is marked as indexed. @throws where one is damaged */
export function textFits(handle: Handle): boolean {
  for (const index of indexes) handle.exec(`INSERT INTO ${index} (${index}) VALUES ('integrity-check')`)
  return handle.prepare(`SELECT 1 FROM (${unfittingText}) LIMIT 1`).get() === undefined
}

/** Empties both indexes. */
export function clearText(handle: Handle): void {
  for (const index of indexes) handle.exec(`INSERT INTO ${index} (${index}) VALUES ('delete-all')`)
}
