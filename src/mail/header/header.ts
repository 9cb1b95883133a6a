// One header block: the ordered fields of a message or a part (RFC 5322 2.2, 3.6.8).
//
// Promises: holds the bytes as they came; finds the fields on first use and decodes a value only when it is asked for;
// never throws; is linear in the block. Lines that are no field (an mbox `From ` line, rubbish) are passed over.
// Raw 8-bit values are read as UTF-8 (RFC 6532) where they are valid, else in the character set of the text or of the
// encoded words beside them, else as windows-1252.

import { limits } from '#lib/limits.ts'
import { decodeUnlabelled } from '../mime/charset.ts'
import { decodeWords, unfold } from './words.ts'

export interface HeaderField {
  /** Lower case. */
  readonly key: string
  /** As written. */
  readonly name: string
  /** Offset of the field's first byte in the block. */
  readonly start: number
  /** Offset of the byte after the colon. */
  readonly valueStart: number
  /** Offset after the value, without the line end that closes the field. */
  readonly end: number
}

export class Header {
  /** The block as received (cut at limits.mime.headerBytesMax), the empty line included where there was one. */
  readonly block: Buffer
  /** Character set of raw values where the block does not say. */
  readonly assumed: string
  #fields: HeaderField[] | undefined
  #hint: string | undefined

  /** @param assumed character set of the message's text, for raw values in a header that does not say */
  constructor(block: Buffer, assumed = '') {
    this.block = block
    this.assumed = assumed
  }

  /** The fields in order, limits.mime.headerFieldsMax at most. */
  get fields(): readonly HeaderField[] {
    this.#fields ??= findFields(this.block)
    return this.#fields
  }

  /** Gives the memory of the fields back until somebody asks again. */
  forget(): void {
    this.#fields = undefined
  }

  has(key: string): boolean {
    return this.#find(key) !== undefined
  }

  /** The first value of `key` (lower case): unfolded, encoded words decoded, one line; undefined where absent. */
  get(key: string): string | undefined {
    const raw = this.raw(key)
    return raw === undefined ? undefined : decodeWords(raw)
  }

  /** All values of `key`, each as `get` gives it. */
  all(key: string): string[] {
    return this.rawAll(key).map(decodeWords)
  }

  /** The first value of `key`: unfolded, one line, encoded words left as they are. */
  raw(key: string): string | undefined {
    const field = this.#find(key)
    return field && this.#value(field)
  }

  rawAll(key: string): string[] {
    const values: string[] = []
    for (const field of this.fields) if (field.key === key) values.push(this.#value(field))
    return values
  }

  /** The first value's bytes after the colon, folding and all. */
  bytes(key: string): Buffer | undefined {
    const field = this.#find(key)
    return field && this.block.subarray(field.valueStart, field.end)
  }

  /** A field's value as `raw` gives it. */
  value(field: HeaderField): string {
    return this.#value(field)
  }

  /** Every field as one unfolded line, `Name: value`. */
  get lines(): string[] {
    return this.fields.map(field => `${field.name}: ${this.#value(field)}`)
  }

  #find(key: string): HeaderField | undefined {
    for (const field of this.fields) if (field.key === key) return field
    return undefined
  }

  #value(field: HeaderField): string {
    const text = this.block.toString('latin1', field.valueStart, field.end)
    if (!/[\x80-\xff]|\x1b\$/.test(text)) return unfold(text)
    return unfold(decodeUnlabelled(this.block.subarray(field.valueStart, field.end), this.#charset))
  }

  /** What the sender writes in, as far as this header says. */
  get #charset(): string {
    if (this.#hint === undefined) {
      const type = this.#find('content-type')
      const ofText = type && charsetParameter.exec(this.block.toString('latin1', type.valueStart, type.end))?.[1]
      this.#hint = ofText ?? wordCharset.exec(this.block.toString('latin1'))?.[1] ?? this.assumed
    }
    return this.#hint
  }
}

const charsetParameter = /\bcharset\s{0,9}=\s{0,9}["']?([\w.:-]{1,40})/i
const wordCharset = /=\?([\w.:-]{1,40})(?:\*[\w-]{0,40})?\?[bq]\?/i

function findFields(block: Buffer): HeaderField[] {
  const text = block.toString('latin1')
  const fields: HeaderField[] = []
  let colon = -1
  let start = 0
  while (start < text.length && fields.length < limits.mime.headerFieldsMax) {
    let next = lineAfter(text, start)
    // Continuation lines start with white space (RFC 5322 2.2.3).
    while (next < text.length && isSpace(text.charCodeAt(next))) next = lineAfter(text, next)
    // Looked for once, not again from each line that has none.
    if (colon < start) colon = text.indexOf(':', start)
    if (colon < 0) break
    const field = fieldIn(text, start, colon, next)
    if (field) fields.push(field)
    else if (isEmptyLine(text, start)) break
    start = next
  }
  return fields
}

function fieldIn(text: string, start: number, colon: number, next: number): HeaderField | undefined {
  if (colon === start || colon >= next) return undefined
  let nameEnd = colon
  while (nameEnd > start && isSpace(text.charCodeAt(nameEnd - 1))) nameEnd-- // RFC 5322 4.5: obsolete `Subject :`
  const name = text.slice(start, nameEnd)
  if (!/^[!-9;-~]+$/.test(name)) return undefined
  let end = next
  if (end > colon + 1 && text.charCodeAt(end - 1) === 0x0a) end--
  while (end > colon + 1 && text.charCodeAt(end - 1) === 0x0d) end--
  return { key: name.toLowerCase(), name, start, valueStart: colon + 1, end }
}

function lineAfter(text: string, at: number): number {
  const end = text.indexOf('\n', at)
  return end < 0 ? text.length : end + 1
}

function isEmptyLine(text: string, at: number): boolean {
  const code = text.charCodeAt(at)
  return code === 0x0a || (code === 0x0d && (text.charCodeAt(at + 1) === 0x0a || text.charCodeAt(at + 1) === 0x0d))
}

function isSpace(code: number): boolean {
  return code === 0x20 || code === 0x09
}
