// What a search asks about bodies: the index of one account, which leaves out those that cannot fit, and their texts.
//
// The index never says that a body lacks what it has: one that waits to be indexed may contain anything. Texts are squeezed
// like needles are (mail/text/fold.ts); some of them are kept, bounded by limits.search.textsMax. Nothing here knows what a
// query means: that is search.ts's.

import { limits } from '#lib/limits.ts'
import type { Slices } from '#lib/pace.ts'
import { type Address, isGroup } from '#mail/address/address.ts'
import type { ReadRange } from '#mail/mime/decode.ts'
import type { Summary } from '#mail/mime/outline.ts'
import { grams, indexText, squeeze } from '#mail/text/fold.ts'
import { type Parts, readParts, readSaid } from '#mail/text/said.ts'
import type { Reader } from '../engine/reader.ts'
import type { StoredDetail, StoredSummary } from '../mailboxes/outlines.ts'
import { checkParts } from '../upkeep/check.ts'

/** What searching needs: rows, and bytes of bodies. */
export interface SearchScope {
  readonly read: Reader
  readonly open: (body: number) => { read(start?: number, end?: number): Buffer | Promise<Buffer> }
}

/**
 * Bodies of an account whose text may contain a needle, those included of which the index does not hold all; null where
 * the needle is too short to tell.
 */
export function candidateBodies(read: Reader, user: number, needle: string): ReadonlySet<number> | null {
  const found = new Index(read, user).bodies(squeeze(needle))
  if (found === null) return null
  const cut = read.arrays<[number]>('SELECT body FROM search_doc WHERE user = ? AND indexed = 2', user)
  return cut.length === 0 ? found : new Set([...found, ...cut.map(([body]) => body)])
}

export interface WaitingDoc {
  readonly user: number
  readonly body: number
}

/** Bodies that wait to be indexed. */
export async function waitingDocs(read: Reader, count: number): Promise<WaitingDoc[]> {
  return read.all('SELECT user, body FROM search_doc WHERE indexed = 0 ORDER BY user, body LIMIT ?', count)
}

/** What is to be indexed of a body. */
export interface IndexedText {
  readonly text: string
  /** The body says no more than that. */
  readonly whole: boolean
}

/** What is to be indexed of bodies, in their order; nothing for one that is gone. */
export async function indexTexts(
  scope: SearchScope,
  bodies: readonly number[],
  slices: Slices,
): Promise<IndexedText[]> {
  const texts = new Texts(scope)
  const all: IndexedText[] = []
  for (const body of bodies) {
    if (slices.spent) await slices.turn()
    const fields = await texts.of(body)
    const said = fields === undefined ? { text: '', whole: true } : await texts.said(body, fields)
    const head = fields === undefined ? [] : headOf(fields)
    all.push({ text: indexText([...head, said.text].join('\n')), whole: said.whole })
  }
  return all
}

/** The index of one account. */
export class Index {
  readonly #read: Reader
  readonly #user: number
  readonly #sets = new Map<string, { bodies: Set<number>; exact: boolean } | null>()
  readonly #sure = new Map<string, ReadonlySet<number>>()
  #waiting: ReadonlySet<number> | undefined

  constructor(read: Reader, user: number) {
    this.#read = read
    this.#user = user
  }

  /** Bodies that may contain a squeezed text; null where it is too short to tell. */
  bodies(needle: string): ReadonlySet<number> | null {
    return this.#find(needle)?.bodies ?? null
  }

  /** Whether a body has the text somewhere; undefined where it must be looked into. */
  verdict(needle: string, body: number): boolean | undefined {
    const found = this.#find(needle)
    if (found === null) return undefined
    if (!found.bodies.has(body)) return false
    if (found.exact) return this.waiting.has(body) ? undefined : true
    return this.#surely(needle, found.bodies.size)?.has(body) === true ? true : undefined
  }

  /** Bodies that are not indexed yet. */
  get waiting(): ReadonlySet<number> {
    this.#waiting ??= new Set(
      this.#read
        .arrays<[number]>('SELECT body FROM search_doc WHERE user = ? AND indexed = 0', this.#user)
        .map(([body]) => body),
    )
    return this.#waiting
  }

  #find(needle: string): { bodies: Set<number>; exact: boolean } | null {
    let found = this.#sets.get(needle)
    if (found === undefined) {
      found = this.#query(needle)
      this.#sets.set(needle, found)
    }
    return found
  }

  /** Bodies in which a word begins with the needle. Worth asking for only where many would have to be looked into. */
  #surely(needle: string, many: number): ReadonlySet<number> | null {
    if (many < limits.search.sureMin || !/^[\p{L}\p{N}]+$/u.test(needle)) return null
    let found = this.#sure.get(needle)
    if (found === undefined) {
      found = this.#bodies('search_word', `"${needle}" *`)
      this.#sure.set(needle, found)
    }
    return found
  }

  #query(needle: string): { bodies: Set<number>; exact: boolean } | null {
    const terms = grams(needle, limits.search.gramsMax)
    if (terms.length === 0) return null
    // What waits is read first: a body that is indexed meanwhile is then in both.
    const { waiting } = this
    const expression = terms.map(term => `"${term.replaceAll('"', '""')}"`).join(' AND ')
    const bodies = this.#bodies('search', expression)
    for (const body of waiting) bodies.add(body)
    return { bodies, exact: terms.length === 1 }
  }

  #bodies(table: 'search' | 'search_word', expression: string): Set<number> {
    const rows = this.#read.arrays<[number]>(
      `SELECT rowid & 4294967295 FROM ${table} WHERE ${table} MATCH ? AND rowid BETWEEN (? << 32) AND (? << 32) | 4294967295`,
      expression,
      this.#user,
      this.#user,
    )
    return new Set(rows.map(([body]) => body))
  }
}

/** What is looked into of a body, squeezed. */
interface Fields {
  readonly subject: string
  readonly from: string
  readonly to: string
  readonly cc: string
  readonly bcc: string
  /** Sender, Reply-To, ids, names of attachments. */
  readonly other: string
  said: IndexedText | undefined
}

/** All texts of the header. */
function headOf(fields: Fields): string[] {
  return [fields.subject, fields.from, fields.to, fields.cc, fields.bcc, fields.other]
}

/** Whether a squeezed text stands in the header. */
export function hasWord(fields: Fields, needle: string): boolean {
  return headOf(fields).some(text => text.includes(needle))
}

/** Texts of bodies, some of them kept. */
export class Texts {
  readonly #scope: SearchScope
  readonly #known = new Map<number, Fields>()

  constructor(scope: SearchScope) {
    this.#scope = scope
  }

  /** Undefined where the body is gone. */
  async of(body: number): Promise<Fields | undefined> {
    const known = this.#known.get(body)
    if (known !== undefined) return known
    const row = this.#scope.read.one<{ summary: string }>('SELECT summary FROM outline WHERE body = ?', body)
    if (row === undefined) return undefined
    const fields = fieldsOf(JSON.parse(row.summary) as StoredSummary)
    if (this.#known.size >= limits.search.textsMax) this.#known.clear()
    this.#known.set(body, fields)
    return fields
  }

  async text(body: number, fields: Fields): Promise<string> {
    return (await this.said(body, fields)).text
  }

  async said(body: number, fields: Fields): Promise<IndexedText> {
    fields.said ??= await this.#read(body)
    return fields.said
  }

  async #read(body: number): Promise<IndexedText> {
    const row = this.#scope.read.one<{ detail: string }>('SELECT detail FROM outline WHERE body = ?', body)
    if (row === undefined) return { text: '', whole: true }
    const detail = JSON.parse(row.detail) as StoredDetail
    const opened = this.#scope.open(body)
    const read: ReadRange = (start, end) => opened.read(start, end)
    const parts = await readParts(detail, read)
    const { text, whole } = await readSaid(parts, read, limits.mime.textBytesMax)
    const attached = attachedHeads(parts)
    return { text: attached === '' ? squeeze(text) : `${squeeze(text)}\n${attached}`, whole }
  }
}

/** What the headers of messages within a message say, squeezed; no more of it than the index holds of a text. */
export function attachedHeads({ messages }: Parts): string {
  const heads = messages.flatMap(message => {
    return headOf(fieldsOf({ ...message, attachments: message.attachments.map(({ info }) => info) }))
  })
  return heads.join('\n').slice(0, limits.mime.textBytesMax)
}

function fieldsOf(summary: Summary & Pick<StoredSummary, 'attachments' | 'madeId'>): Fields {
  const { sender, replyTo, messageId, madeId = false, list, attachments } = summary
  const other = [
    people([...sender, ...replyTo]),
    madeId ? '' : messageId,
    list?.id?.address ?? '',
    list?.id?.name ?? '',
    ...attachments.map(({ filename }) => filename),
  ]
  return {
    subject: squeeze(summary.subject),
    from: people(summary.from),
    to: people(summary.to),
    cc: people(summary.cc),
    bcc: people(summary.bcc),
    other: other.map(squeeze).join('\n'),
    said: undefined,
  }
}

function people(addresses: readonly Address[]): string {
  const all = addresses.flatMap(one => (isGroup(one) ? [one.name, ...one.group.map(named)] : [named(one)]))
  return squeeze(all.join(', '))
}

function named({ name, address }: { name: string; address: string }): string {
  return name === '' ? address : `${name} <${address}>`
}

checkParts.push({
  rules: [
    {
      says: 'every body of an account is indexed or waits to be',
      query: `SELECT m.body || ' of ' || m.user FROM message m
        LEFT JOIN search_doc d ON d.body = m.body AND d.user = m.user WHERE d.body IS NULL`,
    },
    {
      says: 'what is indexed or waits has its body',
      query: 'SELECT body FROM search_doc WHERE body NOT IN (SELECT num FROM body)',
    },
    {
      says: 'the index has a row for each body that is marked as indexed, and no other',
      query: `SELECT d.user || ' ' || d.body FROM search_doc d WHERE indexed > 0
        AND (((d.user << 32) | d.body) NOT IN (SELECT rowid FROM search)
          OR ((d.user << 32) | d.body) NOT IN (SELECT rowid FROM search_word))
        UNION ALL SELECT s.rowid FROM search s WHERE NOT EXISTS
          (SELECT 1 FROM search_doc d WHERE d.user = s.rowid >> 32 AND d.body = s.rowid & 4294967295 AND d.indexed > 0)`,
    },
  ],
})
