// Lists of addresses in header fields (RFC 5322 3.4), with the obsolete forms of 4.4 and what broken senders write.
//
// Promises: never throws, is linear whatever the input, gives limits.mime.addressesMax entries at most, and of a field that
// has more than limits.mime.addressWordsMax words the rest is not read. Names are split off before encoded words are
// decoded, so a comma or an address inside an encoded word stays part of the name.

import { limits } from '#lib/limits.ts'
import { Aside } from '#lib/memoize.ts'
import type { Header } from '../header/header.ts'
import { decodeWords } from '../header/words.ts'
import { type Address, domainToUnicode, isGroup, type Mailbox, splitAddress } from './address.ts'

export interface AddressOptions {
  /** Encoded words in names and `xn--` in domains are decoded (default); false gives both as written. */
  readonly decode?: boolean
}

/** The addresses of a header field's unfolded value (`Header.raw`, not `get`). */
export function parseAddresses(value: string, options: AddressOptions = {}): Address[] {
  const list = new AddressReader(value).list()
  return options.decode === false ? list : decodeAddresses(list)
}

const fieldsRead = new Aside<Header, Map<string, readonly Address[]>>()

/** The addresses of all fields `key` of a header as they were written; read once, however often they are asked for. */
export function addressesOf(header: Header, key: string): readonly Address[] {
  const known = fieldsRead.get(header)?.get(key)
  if (known !== undefined) return known
  const reading = readingAddresses(header, key)
  for (;;) {
    const { done, value } = reading.next()
    if (done === true) return value
  }
}

/** Reads what `addressesOf` then gives, in steps of some dozens of microseconds: after each whoever reads may rest. */
export function* readingAddresses(header: Header, key: string): Generator<undefined, readonly Address[]> {
  let known = fieldsRead.get(header)
  if (known === undefined) {
    known = new Map()
    fieldsRead.set(header, known)
  }
  let list = known.get(key)
  if (list === undefined) {
    const values = header.rawAll(key)
    list = values.length === 0 ? [] : yield* new AddressReader(values.join(', ')).reading()
    known.set(key, list)
  }
  return list
}

/** The same with encoded words in names and `xn--` in domains decoded. */
export function decodeAddresses(list: readonly Address[]): Address[] {
  return list.map(one => {
    if (isGroup(one)) return { name: decodedName(one.name), group: one.group.map(decodedMailbox) }
    return decodedMailbox(one)
  })
}

function decodedMailbox({ name, address }: Mailbox): Mailbox {
  return { name: decodedName(name), address: decodedAddress(address) }
}

function decodedName(name: string): string {
  return decodeWords(name).trim()
}

function decodedAddress(address: string): string {
  if (!address.includes('@') || !/xn--/i.test(address)) return address
  const { local, domain } = splitAddress(address)
  return `${local}@${domainToUnicode(domain)}`
}

interface Entry {
  /** Words outside brackets. `spaced`: white space came before. */
  words: { text: string; quoted: boolean; spaced: boolean }[]
  comment: string
  angle: string | null
  /** A colon was seen. */
  colon: boolean
}

function emptyEntry(): Entry {
  return { words: [], comment: '', angle: null, colon: false }
}

/** Words and signs that are read before the reader may rest. */
const stepsInOneGo = 512

class AddressReader {
  readonly #text: string
  #at = 0
  #steps = 0
  /** Brackets known never to close again, so that nothing is searched twice. */
  #openComment = false
  #openQuote = false
  #left: number = limits.mime.addressesMax
  readonly #out: Address[] = []
  #group: { name: string; group: Mailbox[] } | null = null
  #entry: Entry = emptyEntry()
  /** The last mailbox without a domain: it may have been the first half of a name. */
  #bare: Mailbox | null = null
  #spaced = false

  constructor(text: string) {
    this.#text = text
  }

  list(): Address[] {
    const reading = this.reading()
    for (;;) {
      const { done, value } = reading.next()
      if (done === true) return value
    }
  }

  /** Yields where whoever reads may rest. */
  *reading(): Generator<undefined, Address[]> {
    while (this.#at < this.#text.length && this.#left > 0 && this.#steps < limits.mime.addressWordsMax) {
      this.#steps += 1
      this.#step()
      if (this.#steps % stepsInOneGo === 0) yield
    }
    this.#finish()
    this.#endGroup()
    return this.#out
  }

  #step(): void {
    const code = this.#text.charCodeAt(this.#at)
    if (code === 0x22 && !this.#openQuote) this.#quoted()
    else if (code === 0x28 && !this.#openComment) this.#comment()
    else if (code === 0x3c) this.#angle()
    else if (code === 0x2c) this.#separator()
    else if (code === 0x3b) {
      this.#separator()
      this.#endGroup()
    } else if (code === 0x3a) this.#colon()
    else if (code <= 0x20 || code === 0x3e) {
      this.#spaced = true
      this.#at++
    } else this.#atom()
  }

  #word(text: string, quoted: boolean): void {
    if (this.#entry.words.length >= limits.mime.entryWordsMax) return
    this.#entry.words.push({ text, quoted, spaced: this.#spaced })
    this.#spaced = false
  }

  #atom(): void {
    const start = this.#at
    // Broken senders leave commas and brackets inside encoded words.
    encodedWord.lastIndex = start
    const word = encodedWord.exec(this.#text)
    if (word) this.#at += word[0].length
    else {
      atom.lastIndex = start
      this.#at += atom.exec(this.#text)?.[0].length ?? 1
    }
    this.#word(this.#text.slice(start, this.#at), false)
  }

  #quoted(): void {
    const { text, end } = delimited(this.#text, this.#at + 1, 0x22)
    if (end < 0) {
      this.#openQuote = true
      return
    }
    this.#at = end + 1
    this.#word(text, true)
  }

  #comment(): void {
    let depth = 0
    let at = this.#at
    for (; at < this.#text.length; at++) {
      const code = this.#text.charCodeAt(at)
      if (code === 0x5c) at++
      else if (code === 0x28) depth++
      else if (code === 0x29 && --depth === 0) break
    }
    if (at >= this.#text.length) {
      this.#openComment = true
      return
    }
    this.#entry.comment = this.#text
      .slice(this.#at + 1, at)
      .replace(/\\(.)/g, '$1')
      .trim()
    this.#at = at + 1
    this.#spaced = true
  }

  /** `<...>`; one that never closes takes the rest. */
  #angle(): void {
    const start = this.#at + 1
    let at = start
    for (; at < this.#text.length; at++) {
      const code = this.#text.charCodeAt(at)
      if (code === 0x3c || code === 0x3e) break
      if (code !== 0x22 || this.#openQuote) continue
      const { end } = delimited(this.#text, at + 1, 0x22)
      if (end < 0) this.#openQuote = true
      else at = end
    }
    const inside = this.#text.slice(start, at)
    this.#at = this.#text.charCodeAt(at) === 0x3e ? at + 1 : at
    // `<<a@b>>`, or a second address in one entry: the last that is one wins.
    if (this.#entry.angle === null || inside.includes('@')) this.#entry.angle = inside
    this.#spaced = true
  }

  #separator(): void {
    this.#at++
    this.#finish()
  }

  /** Starts a group (RFC 5322 3.4), except after `mailto` or where a group is open. */
  #colon(): void {
    this.#at++
    const { words, angle, colon } = this.#entry
    if (angle !== null || words.length === 0) return
    if (this.#group || colon) {
      this.#word(':', false)
      return
    }
    this.#entry.colon = true // the words are joined once only
    const name = joinWords(words)
    if (name.toLowerCase() === 'mailto') {
      this.#entry = emptyEntry()
      return
    }
    if (name.includes('@')) {
      this.#word(':', false)
      return
    }
    this.#group = { name, group: [] }
    this.#left--
    this.#entry = emptyEntry()
  }

  #endGroup(): void {
    if (this.#group) this.#out.push(this.#group)
    this.#group = null
  }

  #finish(): void {
    const entry = this.#entry
    this.#entry = emptyEntry()
    this.#spaced = false
    const mailbox = this.#mailbox(entry)
    if (mailbox === null || this.#left <= 0) return
    const list: Address[] | Mailbox[] = this.#group?.group ?? this.#out
    const last = list.at(-1)
    // `Doe, John <john@example.com>` without its quotes.
    if (entry.angle !== null && entry.words.length > 0 && last && 'address' in last && last === this.#bare) {
      list.pop()
      list.push({ name: `${last.name || last.address}, ${mailbox.name}`, address: mailbox.address })
      return
    }
    if (entry.angle === null && !mailbox.address.includes('@')) this.#bare = mailbox
    list.push(mailbox)
    this.#left--
  }

  #mailbox({ words, comment, angle }: Entry): Mailbox | null {
    if (angle !== null) {
      const name = joinWords(words) || comment
      const address = cleanAddress(angle)
      if (name === '' && address === '') return null
      return { name, address }
    }
    // What stands in brackets alone is a remark, no address (RFC 5322 3.2.2).
    if (words.length === 0) return null
    const found = bareAddress(words)
    if (found === null) {
      const text = joinWords(words)
      // `root`: a mailbox of the sender's own host, as cron and old programs write it.
      return isLocal(words) ? { name: comment, address: text } : { name: text, address: '' }
    }
    const rest = joinWords(words.filter((_, at) => at < found.from || at >= found.to))
    return { name: rest || comment, address: found.address }
  }
}

const encodedWord = /=\?[^\s?]{1,60}\?[bq]\?[^\s?]*\?=/iy
const atom = /(?:@\[[^[\]\s]*\]|[^\s"(<>,;:])+|["(]/y

/** Text up to an unescaped `stop`, escapes resolved; `end` is -1 where there is none. */
function delimited(text: string, start: number, stop: number): { text: string; end: number } {
  let out = ''
  let from = start
  for (let at = start; at < text.length; at++) {
    const code = text.charCodeAt(at)
    if (code === stop) return { text: out + text.slice(from, at), end: at }
    if (code === 0x5c) {
      out += text.slice(from, at)
      from = ++at
    }
  }
  return { text: '', end: -1 }
}

/** One word such as a local part alone has. */
function isLocal(words: Entry['words']): boolean {
  const text = words.map(word => word.text).join('')
  return words.every(({ quoted, spaced }, at) => !quoted && (at === 0 || !spaced)) && /^[^\s=?@:]+$/.test(text)
}

function joinWords(words: Entry['words']): string {
  let out = ''
  for (const { text, spaced } of words) out += spaced && out !== '' ? ` ${text}` : text
  return out.trim()
}

/**
 * An address that stands without brackets among `words`: one word `a@b`, or several where white space, quotes or dots
 * stand around the `@` (RFC 5322 4.4). The last `@` counts.
 */
function bareAddress(words: Entry['words']): { address: string; from: number; to: number } | null {
  const index = words.findLastIndex(({ text, quoted }) => !quoted && text.includes('@'))
  const word = words[index]
  if (!word) return null
  let from = index
  let to = index + 1
  let address = word.text
  if (address.startsWith('@')) {
    const before = words[from - 1]
    if (before) {
      address = (before.quoted ? `"${before.text}"` : before.text) + address
      from--
    }
  }
  // RFC 822 has white space around dots as well; one that stands alone belongs to no name.
  for (let dot = words[from - 1]; dot?.text === '.' && !dot.quoted && from > 1; dot = words[from - 1]) {
    const before = words[from - 2] as Entry['words'][number]
    address = `${before.quoted ? `"${before.text}"` : before.text}.${address}`
    from -= 2
  }
  if (address.endsWith('@')) {
    const next = words[to]
    if (next && !next.quoted) {
      address += next.text
      to++
    }
  }
  for (let next = words[to]; next?.text.startsWith('.') && !next.quoted; next = words[++to]) address += next.text
  const last = words[to]
  if (address.endsWith('.') && to > index + 1 && last && !last.quoted) {
    address += last.text
    to++
  }
  return { address: withoutEnd(address), from, to }
}

/** Full stops behind an address end the sentence it stood in. Those before it are its own: some hosts gave such local parts away. */
function withoutEnd(text: string): string {
  let to = text.length
  while (to > 0 && text[to - 1] === '.') to--
  return text.slice(0, to)
}

/** The inside of `<...>`: source route and white space go (RFC 5322 4.4). */
function cleanAddress(text: string): string {
  let address = text.trim()
  if (address.startsWith('@')) {
    const colon = address.lastIndexOf(':')
    if (colon >= 0) address = address.slice(colon + 1)
  }
  if (/^mailto:/i.test(address)) address = address.slice(7)
  if (address.includes('"')) return address
  return address.replace(/\s+/g, '').replace(/\([^()]*\)/g, '')
}
