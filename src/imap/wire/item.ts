// The items of FETCH: how each is written, and the ones that are plain text of a stored row.
//
// An item that needs more than the row says so by its kind, so that a FETCH reads summaries and bodies only where
// somebody asked for them. Labels answer as they were asked.

import { numberId } from '#lib/id.ts'
import { formatInternalDate } from '#mail/header/date.ts'
import { oldStructure, unicodeMailboxes } from '#mail/mime/structure.ts'
import { column, contentId, type ListedRow } from '#store/mailboxes/listing.ts'
import { detailOf, summaryOf } from '#store/mailboxes/outlines.ts'
import type { Abilities } from '../abilities.ts'
import { type Decoder, malformed } from './decoder.ts'
import { quoted } from './encoder.ts'
import { parseSection, type Section } from './section.ts'

type RowValues = ListedRow

/** Items that are text worked out from a row. */
type PlainKind =
  | 'internaldate'
  | 'size'
  | 'envelope'
  | 'bodystructure'
  | 'body'
  | 'emailid'
  | 'threadid'
  | 'savedate'
  | 'preview'

/** What a client has enabled that makes a difference to some of them. */
type Client = Pick<Abilities, 'rev2' | 'utf8'>

export type FetchItem =
  /** `onlyMarked`: only where this very FETCH changed flags. */
  | { readonly kind: 'uid' | 'flags' | 'modseq'; readonly onlyMarked?: boolean }
  | { readonly kind: PlainKind; readonly text: (row: RowValues, client: Client) => string }
  /** `label` is the name it was asked by. */
  | { readonly kind: 'section'; readonly label: string; readonly section: Section; readonly peek: boolean }
  | { readonly kind: 'binary'; readonly section: Section; readonly peek: boolean }
  | { readonly kind: 'binary.size'; readonly section: Section }

const uid: FetchItem = { kind: 'uid' }
const flags: FetchItem = { kind: 'flags' }
const modseq: FetchItem = { kind: 'modseq' }
const internalDate: FetchItem = {
  kind: 'internaldate',
  text: row => `INTERNALDATE "${formatInternalDate(row[column.idate])}"`,
}
const size: FetchItem = { kind: 'size', text: row => `RFC822.SIZE ${row[column.size]}` }
const envelope: FetchItem = {
  kind: 'envelope',
  text: (row, { utf8 }) => `ENVELOPE ${utf8 ? unicodeMailboxes(row[column.envelope]) : row[column.envelope]}`,
}
const bodyStructure: FetchItem = {
  kind: 'bodystructure',
  text: (row, client) => `BODYSTRUCTURE ${structureText(row[column.bodystructure], client)}`,
}
const body: FetchItem = {
  kind: 'body',
  text: (row, client) => `BODY ${structureText(detailOf(row[column.detail]).body, client)}`,
}
const emailId: FetchItem = { kind: 'emailid', text: row => `EMAILID (${emailIdOf(row)})` }
const threadId: FetchItem = { kind: 'threadid', text: row => `THREADID (${numberId(row[column.thread])})` }
const saveDate: FetchItem = { kind: 'savedate', text: row => `SAVEDATE "${formatInternalDate(row[column.saved])}"` }
const preview: FetchItem = { kind: 'preview', text: row => `PREVIEW ${previewOf(row)}` }

const plain: Readonly<Record<string, FetchItem>> = {
  UID: uid,
  FLAGS: flags,
  MODSEQ: modseq,
  INTERNALDATE: internalDate,
  'RFC822.SIZE': size,
  ENVELOPE: envelope,
  BODYSTRUCTURE: bodyStructure,
  EMAILID: emailId,
  THREADID: threadId,
  SAVEDATE: saveDate,
}

const macros: Readonly<Record<string, readonly FetchItem[]>> = {
  ALL: [flags, internalDate, size, envelope],
  FAST: [flags, internalDate, size],
  FULL: [flags, internalDate, size, envelope, body],
}

/** Old names of sections (RFC 3501 6.4.5): they answer by the name they were asked by. */
const older: Readonly<Record<string, { what: Section['what']; peek: boolean }>> = {
  RFC822: { what: '', peek: false },
  'RFC822.HEADER': { what: 'HEADER', peek: true },
  'RFC822.TEXT': { what: 'TEXT', peek: false },
}

/** Reads one item; `alone` allows the macros, which stand for several. */
export function fetchItem(decoder: Decoder, alone: boolean): readonly FetchItem[] {
  const name = decoder.name()
  const macro = alone ? macros[name] : undefined
  if (macro !== undefined) return macro
  const found = plain[name]
  if (found !== undefined) return [found]
  const old = older[name]
  if (old !== undefined) {
    const section: Section = { part: [], what: old.what, fields: [], partial: undefined, label: '' }
    return [{ kind: 'section', label: name, section, peek: old.peek }]
  }
  switch (name) {
    case 'BODY':
      if (decoder.peek() !== '[') return [body]
      return [{ kind: 'section', label: 'BODY', section: parseSection(decoder, false), peek: false }]
    case 'BODY.PEEK':
      return [{ kind: 'section', label: 'BODY', section: parseSection(decoder, false), peek: true }]
    case 'BINARY':
    case 'BINARY.PEEK':
      return [{ kind: 'binary', section: parseSection(decoder, true), peek: name === 'BINARY.PEEK' }]
    case 'BINARY.SIZE': {
      const section = parseSection(decoder, true)
      if (section.partial !== undefined) throw malformed('BINARY.SIZE of a part of a section')
      return [{ kind: 'binary.size', section }]
    }
    case 'PREVIEW':
      // RFC 8970 3.1: LAZY allows to leave it out; here it is always at hand.
      if (decoder.accept(' (LAZY')) decoder.expect(')')
      return [preview]
    default:
      throw malformed(`Unknown item ${name.slice(0, 40)}`)
  }
}

function structureText(text: string, { rev2, utf8 }: Client): string {
  const structure = rev2 ? text : oldStructure(text)
  return utf8 ? unicodeMailboxes(structure) : structure
}

/** The same bytes have the same id wherever they lie in an account (RFC 8474 5.1). */
function emailIdOf(row: RowValues): string {
  return contentId(row[column.body], row[column.prefix])
}

/** Characters of a preview (RFC 8970 3.2). */
const previewLength = 200

function previewOf(row: RowValues): string {
  const { intro } = summaryOf(row[column.summary])
  return quoted([...intro].slice(0, previewLength).join(''))
}
