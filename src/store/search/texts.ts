// The text of one stored message for whoever looks for something in it: what it says (mail/text/said.ts), its header, and the
// headers of its parts and of messages within. Searches of IMAP and HTTP ask here, and so does the index.
//
// Everything is read when it is asked for, within limits.mime and limits.imap.scanBytesMax; what was read lately is kept, so
// that the next letter of a word that is being typed reads nothing anew. A message that went meanwhile says nothing.

import { limits } from '#lib/limits.ts'
import type { Slices } from '#lib/pace.ts'
import { Header } from '#mail/header/header.ts'
import { decodeWords } from '#mail/header/words.ts'
import type { ReadRange } from '#mail/mime/decode.ts'
import { namedFields, SummaryTexts, wordsOfField } from '#mail/query/facts.ts'
import type { SummaryLeaf, TextLeaf, WordsLeaf } from '#mail/query/query.ts'
import { fold, indexText, squeeze } from '#mail/text/fold.ts'
import { hasParts, type Parts, readParts, readSaid, type Said } from '#mail/text/said.ts'
import type { Reader } from '../engine/reader.ts'
import type { StoredDetail, StoredSummary } from '../mailboxes/outlines.ts'

/** What searching needs: rows, and bytes of bodies. */
export interface SearchScope {
  readonly read: Reader
  readonly open: (body: number) => Promise<OpenBody>
}

export interface OpenBody {
  readonly size: number
  read(start?: number, end?: number): Buffer | Promise<Buffer>
}

/** What is kept of a body. */
interface Kept {
  summary?: SummaryTexts
  /** By the bytes it was read up to; squeezed. */
  readonly said: Map<number, Said>
  attached?: string
  heads?: string
  /** Characters of all that. */
  length: number
}

/** Texts of bodies that were looked into lately. Numbers of bodies are never used again. */
export class TextCache {
  readonly #kept = new Map<number, Kept>()
  #length = 0

  of(body: number): Kept {
    const kept = this.#kept.get(body) ?? { said: new Map(), length: 0 }
    // To the end: what was not asked for longest goes first.
    if (this.#kept.delete(body)) this.#length -= kept.length
    this.#kept.set(body, kept)
    this.#length += kept.length
    return kept
  }

  grew(body: number, kept: Kept, length: number): void {
    kept.length += length
    if (this.#kept.get(body) !== kept) return
    this.#length += length
    for (const [oldest, { length: freed }] of this.#kept) {
      if (this.#length <= limits.search.textsLengthMax) break
      this.#kept.delete(oldest)
      this.#length -= freed
    }
  }
}

/** One message, for the time of one look. */
export interface Stored {
  readonly num: number
  /** Header lines on top of the body. */
  readonly prefix: string
  /** What was read together with that of others. */
  readonly detail?: StoredDetail | undefined
  readonly body?: OpenBody | undefined
}

export class MessageText {
  readonly #scope: SearchScope
  readonly #cache: TextCache | undefined
  readonly #message: Stored
  readonly #kept: Kept
  #detail: StoredDetail | null | undefined
  #body: OpenBody | undefined
  #parts: Parts | undefined
  #header: Header | undefined
  #headerText: string | undefined

  /** @param cache where what is read is kept; nothing is where there are too many */
  constructor(scope: SearchScope, cache: TextCache | undefined, message: Stored) {
    this.#scope = scope
    this.#cache = cache
    this.#message = message
    this.#kept = cache?.of(message.num) ?? { said: new Map(), length: 0 }
    this.#detail = message.detail
    this.#body = message.body
  }

  /** @param maySay false where it is known that the message does not say the needle */
  async holds(leaf: SummaryLeaf | TextLeaf | WordsLeaf, maySay = true): Promise<boolean> {
    if (leaf.op === 'header' || leaf.op === 'content') {
      const detail = await this.#stored()
      if (detail === undefined) return false
      return leaf.op === 'header' ? this.#hasField(leaf, detail) : this.#hasContent(leaf, detail, maySay)
    }
    const summary = await this.summary()
    if (summary === undefined) return false
    if (leaf.op !== 'words') return summary.holds(leaf)
    return summary.hasWords(leaf) ?? (await this.#saysWords(leaf.needle))
  }

  /** Undefined where the body is gone. */
  async summary(): Promise<SummaryTexts | undefined> {
    const { num } = this.#message
    if (this.#kept.summary === undefined) {
      const row = await this.#scope.read.one<{ summary: string }>('SELECT summary FROM outline WHERE body = ?', num)
      if (row === undefined) return undefined
      this.#kept.summary = new SummaryTexts(JSON.parse(row.summary) as StoredSummary)
      // As it is, and its texts as they are compared.
      this.#grew(2 * row.summary.length)
    }
    return this.#kept.summary
  }

  /** What it says, squeezed. @param bytesMax decoded bytes that are read */
  async said(bytesMax: number): Promise<Said> {
    const { said } = this.#kept
    for (const [max, known] of said) if (max === bytesMax || (max < bytesMax && known.whole)) return known
    const parts = await this.#allParts()
    if (parts === undefined) return { text: '', whole: true }
    const { text, whole } = await readSaid(parts, this.#read, bytesMax)
    const known = { text: squeeze(text), whole }
    said.set(bytesMax, known)
    this.#grew(known.text.length)
    return known
  }

  /** Whether every word of the fields that searches name stands in a folded text, as far as looking for each is worth it. */
  async hasFieldWords(text: string): Promise<boolean> {
    const detail = await this.#stored()
    if (detail === undefined) return true
    const header = await this.#ownHeader(detail)
    const words = new Set(namedFields.flatMap(name => header.all(name).flatMap(value => wordsOfField(fold(value)))))
    return words.size <= limits.search.fieldWordsMax && [...words].every(word => text.includes(word))
  }

  /** What the headers of messages within say, squeezed; no more of it than the index holds of a text. */
  async attached(): Promise<string> {
    if (this.#kept.attached === undefined) {
      const parts = await this.#allParts()
      if (parts === undefined) return ''
      this.#kept.attached = attachedHeads(parts)
      this.#grew(this.#kept.attached.length)
    }
    return this.#kept.attached
  }

  async #saysWords(needle: string): Promise<boolean> {
    const { text } = await this.said(limits.mime.textBytesMax)
    return text.includes(needle) || (await this.attached()).includes(needle)
  }

  async #hasField({ name, needle }: Extract<TextLeaf, { op: 'header' }>, detail: StoredDetail): Promise<boolean> {
    const header = await this.#ownHeader(detail)
    return header.all(name).some(value => fold(value).includes(needle))
  }

  async #hasContent(
    leaf: Extract<TextLeaf, { op: 'content' }>,
    detail: StoredDetail,
    maySay: boolean,
  ): Promise<boolean> {
    const { in: where, needle } = leaf
    if (where === 'text') {
      this.#headerText ??= fold(linesOf(await this.#ownHeader(detail)).join('\n'))
      if (this.#headerText.includes(needle)) return true
    }
    const squeezed = squeeze(needle)
    if (maySay && (await this.said(limits.imap.scanBytesMax)).text.includes(squeezed)) return true
    return where === 'text' && (await this.#heads(detail)).includes(squeezed)
  }

  async #ownHeader(detail: StoredDetail): Promise<Header> {
    if (this.#header === undefined) {
      const block = await this.#read(0, Math.min(detail.headerSize, limits.mime.headerBytesMax))
      this.#header = new Header(Buffer.concat([Buffer.from(this.#message.prefix), block]), detail.texts[0]?.charset)
    }
    return this.#header
  }

  /** Header fields of parts and of messages within, and names of attachments. */
  async #heads(detail: StoredDetail): Promise<string> {
    if (this.#kept.heads === undefined) {
      const parts = hasParts(detail.index) || detail.attachments.length > 0 ? await this.#allParts() : undefined
      const lines = parts === undefined ? [] : [...parts.headers.flatMap(linesOf), ...parts.names, attachedHeads(parts)]
      this.#kept.heads = squeeze(lines.join('\n'))
      this.#grew(this.#kept.heads.length)
    }
    return this.#kept.heads
  }

  async #allParts(): Promise<Parts | undefined> {
    const detail = await this.#stored()
    if (detail !== undefined) this.#parts ??= await readParts(detail, this.#read)
    return this.#parts
  }

  /** Undefined where the body is gone. */
  async #stored(): Promise<StoredDetail | undefined> {
    if (this.#detail === undefined) {
      const text = 'SELECT detail FROM outline WHERE body = ?'
      const row = await this.#scope.read.one<{ detail: string }>(text, this.#message.num)
      this.#detail = row === undefined ? null : (JSON.parse(row.detail) as StoredDetail)
    }
    return this.#detail ?? undefined
  }

  #grew(length: number): void {
    this.#cache?.grew(this.#message.num, this.#kept, length)
  }

  readonly #read: ReadRange = async (start, end) => {
    this.#body ??= await this.#scope.open(this.#message.num)
    return this.#body.read(start, end)
  }
}

/** Every field as `Name: value`, decoded. */
function linesOf(header: Header): string[] {
  return header.lines.map(decodeWords)
}

function attachedHeads({ messages }: Parts): string {
  const heads = messages.flatMap(message => {
    return new SummaryTexts({ ...message, attachments: message.attachments.map(({ info }) => info) }).all()
  })
  return heads.join('\n').slice(0, limits.mime.textBytesMax)
}

/** What is to be indexed of a body. */
export interface IndexedText {
  readonly text: string
  /** The body says no more than that. */
  readonly whole: boolean
  /** Neither do the header fields that searches name. */
  readonly fields: boolean
}

/** What is to be indexed of bodies, in their order; nothing for one that is gone. */
export async function indexTexts(
  scope: SearchScope,
  bodies: readonly number[],
  slices: Slices,
): Promise<IndexedText[]> {
  const all: IndexedText[] = []
  for (const num of bodies) {
    if (slices.spent) await slices.turn()
    // Seldom looked for at once: nothing is kept.
    const message = new MessageText(scope, undefined, { num, prefix: '' })
    const summary = await message.summary()
    if (summary === undefined) {
      all.push({ text: indexText(''), whole: true, fields: true })
      continue
    }
    const { text, whole } = await message.said(limits.mime.textBytesMax)
    const attached = await message.attached()
    const heads = summary.all().join('\n')
    const fields = await message.hasFieldWords(heads)
    all.push({ text: indexText([heads, text, ...(attached === '' ? [] : [attached])].join('\n')), whole, fields })
  }
  return all
}
