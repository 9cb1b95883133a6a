// From a gathered command to its arguments: the grammar of RFC 9051 9 and RFC 3501 9, as a cursor over text and literals.
//
// Promises: never reaches storage, never waits; every method either moves past what it was asked for or throws the fault
// BadCommand; time is linear in the command, whose size was bounded before it came here (gather.ts). Nesting is bounded
// by its callers through `nested`. Text is held one character a byte (latin1) until a method says what it means.

import { isUtf8 } from 'node:buffer'
import { Fault } from '#lib/fault.ts'
import { limits } from '#lib/limits.ts'
import { decodeMailboxName, decodeMailboxPattern } from './name.ts'

/** A literal as it came: its bytes, and whether it was announced as binary (RFC 3516 `~{n}`). */
export interface Literal {
  readonly bytes: Buffer
  readonly binary: boolean
}

/** A command without its tag: text (latin1) and literals in order; a literal stands where `{n}` stood. */
export type CommandParts = readonly (string | Literal)[]

/** Numbers as a client wrote them: inclusive ranges, `*` as Infinity; the saved result `$` (RFC 5182). */
export type NumberSet = readonly (readonly [from: number, to: number] | 'saved')[]

const atomChars = /[^\x00-\x20\x7f-\xff(){%*"\\\]]+/y
const astringChars = /[^\x00-\x20\x7f-\xff(){%*"\\]+/y
const nameChars = /[A-Za-z0-9.-]+/y
const mailboxChars = /[^\x00-\x20\x7f-\xff(){"]+/y
const quotedChars = /"((?:[^\x00\r\n"\\]|\\["\\])*)"/y
const digits = /[0-9]+/y
const flagChars = /\\?[^\x00-\x20\x7f-\xff(){%*"\\\]]+/y
const setChars = /[0-9*:,$]+/y
const uint32Max = 0xffffffff

/** The fault for a command that does not follow the grammar. */
export function malformed(text: string): Fault {
  return new Fault('BadCommand', { text })
}

export class Decoder {
  readonly #parts: CommandParts
  /** Mailbox names are UTF-8 as they stand (UTF8=ACCEPT or IMAP4rev2 is enabled) rather than modified UTF-7. */
  readonly #utf8: boolean
  #part = 0
  #at = 0
  #depth = 0

  constructor(parts: CommandParts, utf8: boolean) {
    this.#parts = parts
    this.#utf8 = utf8
  }

  /** Nothing is left. */
  get done(): boolean {
    const part = this.#parts[this.#part]
    if (part === undefined) return true
    return typeof part === 'string' && this.#at >= part.length && this.#part + 1 >= this.#parts.length
  }

  /** The command must end here. */
  end(): void {
    this.accept(' ')
    if (!this.done) throw malformed('Unexpected text after the arguments')
  }

  /** The next character without taking it; empty at the end and before a literal. */
  peek(): string {
    const part = this.#text()
    return part === undefined ? '' : part.charAt(this.#at)
  }

  /** Takes `text` if it comes next, whatever its case. */
  accept(text: string): boolean {
    const part = this.#text()
    if (part === undefined) return false
    const found = part.slice(this.#at, this.#at + text.length)
    if (found !== text && found.toUpperCase() !== text.toUpperCase()) return false
    this.#at += text.length
    return true
  }

  expect(text: string): void {
    if (!this.accept(text)) throw malformed(text === ' ' ? 'A space is missing' : `Expected ${text}`)
  }

  /** The space between arguments. A second one is forgiven: nothing else could be meant. */
  space(): void {
    this.expect(' ')
    this.accept(' ')
  }

  /** Takes the space before another argument, where one follows; a space before the end is forgiven. */
  more(): boolean {
    if (!this.accept(' ')) return false
    this.accept(' ')
    return !this.done && this.peek() !== ')'
  }

  /** An atom as written. */
  atom(): string {
    return this.#take(atomChars, 'An atom is missing')
  }

  /** A word of the protocol: an atom in upper case. */
  word(): string {
    return this.atom().toUpperCase()
  }

  /** Letters, digits and dashes in upper case: the name of a FETCH item, which a bracket may follow. */
  name(): string {
    return this.#take(nameChars, 'A name is missing').toUpperCase()
  }

  /** What has this (sticky) form and comes next, without taking it; empty where nothing has. */
  upcoming(form: RegExp): string {
    form.lastIndex = this.#at
    return form.exec(this.#text() ?? '')?.[0] ?? ''
  }

  /** An unsigned number of at most `max`. */
  number(max = uint32Max): number {
    const value = Number(this.#take(digits, 'A number is missing'))
    if (value > max) throw malformed('The number is too large')
    return value
  }

  /** number64 and mod-sequence-value: 63 bits on the wire (RFC 9051 9, RFC 7162 7); what this store never reaches is less. */
  number64(): number {
    const text = this.#take(digits, 'A number is missing')
    if (text.length > 19) throw malformed('The number is too large')
    return Math.min(Number(text), Number.MAX_SAFE_INTEGER)
  }

  /** Quoted or literal, as bytes in latin1. */
  stringBytes(): Buffer {
    const literal = this.#literal()
    if (literal !== undefined) return literal.bytes
    const part = this.#text() ?? ''
    quotedChars.lastIndex = this.#at
    const match = quotedChars.exec(part)
    if (match === null) throw malformed('A string is missing')
    this.#at = quotedChars.lastIndex
    return Buffer.from((match[1] as string).replace(/\\(["\\])/g, '$1'), 'latin1')
  }

  /** Quoted or literal; must be UTF-8. */
  string(): string {
    return utf8(this.stringBytes())
  }

  /** string or NIL. */
  nstring(): string | null {
    if (this.peek() !== '"' && !this.#atLiteral()) {
      if (this.word() !== 'NIL') throw malformed('A string or NIL is missing')
      return null
    }
    return this.string()
  }

  /** atom, quoted or literal; UTF-8. */
  astring(): string {
    return utf8(this.astringBytes())
  }

  astringBytes(): Buffer {
    if (this.peek() === '"' || this.#atLiteral()) return this.stringBytes()
    return Buffer.from(this.#take(astringChars, 'An argument is missing'), 'latin1')
  }

  /** A mailbox name, decoded, INBOX in upper case. @throws Fault BadCommand, or DisallowedMailboxMethod for a name that is none */
  mailbox(): string {
    return decodeMailboxName(this.#name(), this.#utf8)
  }

  /** The same, and as it was written where that is UTF-8 in another than its normal form (RFC 9051 5.1). */
  mailboxAsWritten(): { path: string; denormal: string | undefined } {
    const text = this.#name()
    const path = decodeMailboxName(text, this.#utf8)
    return { path, denormal: this.#utf8 && text !== text.normalize('NFC') ? text : undefined }
  }

  /** list-mailbox: a name in which `%` and `*` may stand bare. */
  listMailbox(): string {
    return decodeMailboxPattern(this.#name(), this.#utf8)
  }

  /** The name before a pattern. */
  reference(): string {
    return decodeMailboxPattern(this.astring(), this.#utf8)
  }

  /** One flag or keyword as written. */
  flag(): string {
    const text = this.#take(flagChars, 'A flag is missing')
    if (text.length > limits.imap.keywordLengthMax) throw malformed('The keyword is too long')
    return text
  }

  /** `(flag flag)`, possibly empty. */
  flagList(): string[] {
    return this.list(() => this.flag(), limits.imap.flagsMax)
  }

  /** `(item item)`, possibly empty. */
  list<Item>(item: () => Item, lengthMax: number = limits.imap.listLengthMax): Item[] {
    this.expect('(')
    this.accept(' ')
    const items: Item[] = []
    if (this.accept(')')) return items
    do {
      if (items.length >= lengthMax) throw malformed('The list is too long')
      items.push(this.nested(item))
    } while (this.more())
    this.expect(')')
    return items
  }

  /** Runs `parse` one level deeper. */
  nested<T>(parse: () => T): T {
    this.#depth += 1
    if (this.#depth > limits.imap.nestingMax) throw malformed('The command is nested too deeply')
    const result = parse()
    this.#depth -= 1
    return result
  }

  /** sequence-set. */
  numberSet(): NumberSet {
    return parseNumberSet(this.#take(setChars, 'A message set is missing'))
  }

  /** Whether a sequence set could start here. */
  get atNumberSet(): boolean {
    const next = this.peek()
    return next === '$' || next === '*' || (next >= '0' && next <= '9')
  }

  /** The next literal as it came, or undefined when something else is next. */
  literal(): Literal | undefined {
    return this.#literal()
  }

  /** What is left without taking it, where it is text to its end; undefined where a literal stands in it. */
  ahead(): string | undefined {
    const part = this.#text()
    return part === undefined || this.#part + 1 < this.#parts.length ? undefined : part.slice(this.#at)
  }

  /** Everything up to the end of this text, for lines of free form. */
  rest(): string {
    const part = this.#text() ?? ''
    const text = part.slice(this.#at)
    this.#at = part.length
    return text
  }

  /** What names mailboxes. RFC 9051 9 has `%` and `*` bare in patterns alone and `\` nowhere; programs write them in names, as themselves. */
  #name(): string {
    const bare = this.peek() !== '"' && !this.#atLiteral()
    return bare ? this.#take(mailboxChars, 'The name of a mailbox is missing') : this.string()
  }

  #text(): string | undefined {
    const part = this.#parts[this.#part]
    if (typeof part !== 'string') return undefined
    return part
  }

  #atLiteral(): boolean {
    const part = this.#parts[this.#part]
    if (part === undefined) return false
    if (typeof part !== 'string') return true
    return this.#at >= part.length && this.#part + 1 < this.#parts.length
  }

  #literal(): Literal | undefined {
    if (!this.#atLiteral()) return undefined
    if (typeof this.#parts[this.#part] === 'string') this.#part += 1
    const literal = this.#parts[this.#part]
    if (literal === undefined || typeof literal === 'string') throw malformed('A string is missing')
    this.#part += 1
    this.#at = 0
    return literal
  }

  #take(form: RegExp, missing: string): string {
    const part = this.#text() ?? ''
    form.lastIndex = this.#at
    const match = form.exec(part)
    if (match === null) throw malformed(missing)
    this.#at = form.lastIndex
    return match[0]
  }
}

/** `1:3,5,*`, or `1,$`, of which `$` is the last. Zero and numbers beyond 32 bits are no message numbers (RFC 9051 9 nz-number). */
export function parseNumberSet(text: string): NumberSet {
  const ranges: ([number, number] | 'saved')[] = []
  const items = text.split(',')
  const saved = items.at(-1) === '$'
  if (saved) items.pop()
  for (const item of items) {
    const [from, to, more] = item.split(':')
    if (from === undefined || more !== undefined || ranges.length >= limits.imap.setRangesMax) {
      throw malformed('The message set is not valid')
    }
    const first = setNumber(from)
    const last = to === undefined ? first : setNumber(to)
    ranges.push(first <= last ? [first, last] : [last, first])
  }
  if (saved) ranges.push('saved')
  return ranges
}

function setNumber(text: string): number {
  if (text === '*') return Infinity
  const value = /^[0-9]+$/.test(text) ? Number(text) : 0
  if (value < 1 || value > uint32Max) throw malformed('The message set is not valid')
  return value
}

function utf8(bytes: Buffer): string {
  if (!isUtf8(bytes)) throw malformed('Text must be UTF-8')
  return bytes.toString('utf8')
}
