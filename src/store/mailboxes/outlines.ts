// What was worked out about a body when it arrived, as it is stored with it: a summary for listings, and the detail that
// finding one part or text of one message needs. Both are JSON; ENVELOPE and BODYSTRUCTURE are text beside them. The
// table, its reads and its write.

import { limits } from '#lib/limits.ts'
import { madeMessageId } from '#mail/header/message-id.ts'
import type { AttachmentInfo, Outline, Summary, TextPart } from '#mail/mime/outline.ts'
import { type LongText, weightOf, wholeText } from '#mail/text/long-text.ts'
import { integer, text } from '../engine/column.ts'
import { textOf } from '../engine/dialect.ts'
import type { Reader } from '../engine/reader.ts'
import { table } from '../engine/table.ts'
import { defineWrite } from '../engine/write.ts'

export interface StoredSummary extends Summary {
  /** The Date field as written. */
  readonly dateText: string
  /** By which copies are known (actors/mailbox/append.ts); empty where there can be none, absent in rows of old. */
  readonly identity?: string
  /** The message has no Message-ID: the one here was made when it arrived. */
  readonly madeId?: boolean
  /** First words of the text. */
  readonly intro: string
  readonly attachments: readonly AttachmentInfo[]
}

export interface AttachmentPlace {
  /** `ATT00001`. */
  readonly id: string
  readonly part: string
  readonly headerStart: number
  readonly start: number
  readonly end: number
}

export interface StoredDetail {
  readonly size: number
  readonly headerSize: number
  /** IMAP BODY, the structure without extensions. */
  readonly body: string
  readonly attachments: readonly AttachmentPlace[]
  readonly texts: readonly TextPart[]
  readonly index: Outline['index']
}

/** All of it is text that was made once, whoever gets the message. */
export const outlines = table(
  'outline',
  {
    body: integer,
    /** As IMAP has it. */
    envelope: text,
    bodystructure: text,
    /** See `summaryOf`. */
    summary: text,
    /** See `detailOf`. */
    detail: text,
  },
  { key: ['body'] },
)

/** A row as it is handed to its write. */
export interface OutlineRow {
  readonly body: number
  readonly envelope: LongText
  readonly bodystructure: LongText
  readonly summary: LongText
  readonly detail: LongText
}

type OutlineForm = readonly [body: number, ...texts: LongText[]]

const insertion = `${outlines.insertion} ON CONFLICT DO NOTHING`
/** The same with texts as bytes. */
const byteInsertion = insertion.replace(', ?, ?, ?, ?', `, ${textOf('?')}`.repeat(4))

export const outlineInsert = defineWrite<OutlineRow, OutlineForm>(
  'outline.insert',
  (sql, form) => {
    const [body, ...texts] = form
    if (piecesOf(form).length === 0) return void sql(insertion).run(form)
    const whole = texts.map(text => (typeof text === 'string' ? Buffer.from(text) : Buffer.concat(text)))
    sql(byteInsertion).run(body, ...whole)
  },
  {
    encode: ({ body, envelope, bodystructure, summary, detail }) => [body, envelope, bodystructure, summary, detail],
    values: piecesOf,
    told: (sql, [body, ...texts]) => void sql(insertion).run(body, ...texts.map(wholeText)),
  },
)

function piecesOf([, ...texts]: OutlineForm): Uint8Array[] {
  return texts.flatMap(text => (typeof text === 'string' ? [] : text))
}

/** What crosses to the writer for a row, about. */
export function outlineWeight({ envelope, bodystructure, summary, detail }: Omit<OutlineRow, 'body'>): number {
  return 100 + [envelope, bodystructure, summary, detail].reduce((sum, text) => sum + weightOf(text), 0)
}

/** Header lines that lists are made of (mail/header/pick.ts), of bodies whose are short. */
export const headers = table('header', { body: integer, lines: text }, { key: ['body'] })

export const headerInsert = headers.defineInsert('insert', { ifNew: true })

/** A stored summary. */
export function summaryOf(stored: string): StoredSummary {
  return JSON.parse(stored) as StoredSummary
}

/** A stored detail. */
export function detailOf(stored: string): StoredDetail {
  return JSON.parse(stored) as StoredDetail
}

/** The detail of a body; offsets count from the body's first byte. */
export async function readDetail(read: Reader, body: number): Promise<StoredDetail | undefined> {
  const row = await read.one<{ detail: string }>('SELECT detail FROM outline WHERE body = ?', body)
  return row === undefined ? undefined : detailOf(row.detail)
}

/** The summary of a body. */
export async function readSummary(read: Reader, body: number): Promise<StoredSummary | undefined> {
  const text = await readSummaryText(read, body)
  return text === undefined ? undefined : summaryOf(text)
}

/** The same as it is stored. */
export async function readSummaryText(read: Reader, body: number): Promise<string | undefined> {
  return (await read.one<{ summary: string }>('SELECT summary FROM outline WHERE body = ?', body))?.summary
}

/** For a SELECT: how long the summary of `o` is, which the engine knows without reading it, and all of a short one. */
export const measuredSummary = `octet_length(o.summary) AS bytes,
  CASE WHEN octet_length(o.summary) < ${limits.http.rowBytesMin} THEN o.summary END AS summary`

/** The Message-ID by which a message is shown: never empty, for rows from before one was made on arrival as well. */
export function shownMessageId({ messageId }: Pick<StoredSummary, 'messageId'>, body: number): string {
  return messageId || madeMessageId('message.invalid', `body ${body}`)
}
