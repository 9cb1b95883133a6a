// Which bodies are indexed for which account, and which still wait: the table, its reads, and the writes of the index over
// the text of messages (search.ts), which run in the writer thread, inside a unit.
//
// A message that is stored marks its body as waiting, in the same unit; a background unit indexes some at a time; a body
// that goes leaves the index in the unit in which it goes.

import { integer } from '../engine/column.ts'
import { addText, removeText, unfittingText } from '../engine/full-text.ts'
import { textColumns } from '../engine/postgres/full-text.ts'
import { defineProcedure } from '../engine/procedure.ts'
import type { Reader } from '../engine/reader.ts'
import type { Sql } from '../engine/sqlite/handle.ts'
import { type RowOf, table } from '../engine/table.ts'
import { defineWrite } from '../engine/write.ts'
import { checkParts } from '../upkeep/check.ts'

const docs = table(
  'search_doc',
  {
    body: integer,
    user: integer,
    /** 0: waits, 1: all of it is indexed, 2: as much of it as the index holds, 3: all, and fields that searches name say no more. */
    indexed: integer,
  },
  {
    key: ['body', 'user'],
    clustered: true,
    indexes: {
      search_waiting: { on: ['user', 'body'], where: 'indexed = 0' },
      search_cut: { on: ['user', 'body'], where: 'indexed = 2' },
      search_loose: { on: ['user', 'body'], where: 'indexed = 1' },
    },
  },
)

type Doc = RowOf<typeof docs>
export type WaitingDoc = Readonly<Pick<Doc, 'user' | 'body'>>

const insertion = `${docs.insertion} ON CONFLICT DO NOTHING`

/** A body of an account waits to be indexed, unless it is already. Part of `message.insert`. */
export function searchWait(sql: Sql, body: number, user: number): void {
  sql(insertion).run(body, user, 0)
}

/** The same for procedures. */
export const forgetText = defineProcedure(
  'search_forget',
  '_body bigint',
  `BEGIN
  WITH gone AS (DELETE FROM search_doc WHERE body = _body RETURNING "user", indexed)
  DELETE FROM search_text USING gone
    WHERE gone.indexed > 0 AND search_text."user" = gone."user" AND search_text.body = _body;
END`,
)

/** The body is gone. Part of `body.release`. */
export function searchForget(sql: Sql, body: number): void {
  const rows = sql('DELETE FROM search_doc WHERE body = ? RETURNING "user", indexed').all(body) as Pick<
    Doc,
    'user' | 'indexed'
  >[]
  for (const { user, indexed } of rows) {
    if (indexed === 0) continue
    removeText(sql, user, body)
  }
}

export interface SearchDoc {
  readonly user: number
  readonly body: number
  /** Folded (mail/text/fold.ts); empty where there is nothing to find. */
  readonly text: string
  /** The body says no more than that; else it is marked, so that a search that wants all looks into it. */
  readonly whole: boolean
  /** Nor do header fields that searches name; else they are looked into by a search for them. */
  readonly fields: boolean
}

function statusOf({ whole, fields }: SearchDoc): number {
  return whole ? (fields ? 3 : 1) : 2
}

const indexText = defineProcedure(
  'search_add',
  '_user bigint, _body bigint, _indexed bigint, _grams text, _words text',
  `BEGIN
  UPDATE search_doc SET indexed = _indexed WHERE body = _body AND "user" = _user AND indexed = 0;
  IF NOT FOUND THEN RETURN; END IF;
  BEGIN
    INSERT INTO search_text ("user", body, grams, words) VALUES (_user, _body, _grams::bigint[], _words::tsvector);
  EXCEPTION WHEN program_limit_exceeded THEN
    -- More words than the engine keeps: what they would make sure is looked into.
    INSERT INTO search_text ("user", body, grams, words) VALUES (_user, _body, _grams::bigint[], '');
  END;
END`,
)

/** Indexes bodies. One that went meanwhile, or that is indexed already, is left alone. */
export const searchAdd = defineWrite<{ docs: readonly SearchDoc[] }>(
  'search.add',
  (sql, row) => {
    // The engine keeps rows of one transaction together as long as their numbers rise.
    const docs = row.docs.toSorted((one, other) => one.user - other.user || one.body - other.body)
    for (const doc of docs) {
      const { user, body, text } = doc
      const { changes } = sql('UPDATE search_doc SET indexed = ? WHERE body = ? AND "user" = ? AND indexed = 0').run(
        statusOf(doc),
        body,
        user,
      )
      if (changes === 0) continue
      addText(sql, user, body, text)
    }
  },
  {
    told: (sql, { docs }) => {
      for (const doc of docs) {
        const { grams, words } = textColumns(doc.user, doc.text)
        sql(indexText.call).run(doc.user, doc.body, statusOf(doc), grams, words)
      }
    },
  },
)

/** Bodies that wait to be indexed. */
export async function waitingDocs(read: Reader, count: number): Promise<WaitingDoc[]> {
  return await read.all('SELECT "user", body FROM search_doc WHERE indexed = 0 ORDER BY "user", body LIMIT ?', count)
}

/** Those of one account. */
export async function waitingBodies(read: Reader, user: number): Promise<number[]> {
  return await marked(read, 'indexed = 0', user)
}

/** Bodies of an account of which the index does not hold all. */
export async function cutDocs(read: Reader, user: number): Promise<number[]> {
  return await marked(read, 'indexed = 2', user)
}

/** Those all of whose text it holds, but not all that the fields say which searches name; at most `count`. */
export async function looseDocs(read: Reader, user: number, count: number): Promise<number[]> {
  return await marked(read, 'indexed = 1', user, count)
}

async function marked(read: Reader, how: string, user: number, count = 2 ** 31 - 1): Promise<number[]> {
  const text = `SELECT body FROM search_doc WHERE "user" = ? AND ${how} LIMIT ?`
  return (await read.arrays<[number]>(text, user, count)).map(([body]) => body)
}

checkParts.push({
  rules: [
    {
      says: 'every body of an account is indexed or waits to be',
      query: `SELECT m.body || ' of ' || m."user" FROM message m
        LEFT JOIN search_doc d ON d.body = m.body AND d."user" = m."user" WHERE d.body IS NULL`,
    },
    {
      says: 'what is indexed or waits has its body',
      query: 'SELECT body FROM search_doc AS o WHERE NOT EXISTS (SELECT 1 FROM body AS i WHERE i.num = o.body)',
    },
    {
      says: 'the index has a row for each body that is marked as indexed, and no other',
      query: unfittingText,
    },
  ],
})
