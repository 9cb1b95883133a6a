// What the classifier sees of a message: numbers of the four-letter pieces of its header and texts, and of its words and of
// pairs of neighbours among them, each with the field it stands in.
//
// Promises: pure and linear in what it reads, of which the limits of limits.spam say how much; what a stranger sent never makes
// it throw. Models are made of these numbers: a change here asks for another version of what is stored, with which what was
// learned before is forgotten.

import { limits } from '#lib/limits.ts'
import { linksIn } from '../text/links.ts'

/** Slots of the two tables. */
export const gramSlots = 1 << 20
export const wordSlots = 1 << 21
/** Of the number of a slot, and the messages that can be told apart beside it. */
const slotBits = 21
const roundsMax = 2 ** (32 - slotBits)

/** A message as it is classified. */
export interface SpamText {
  /** Key in lower case and decoded value of each field, in order. */
  readonly fields: readonly (readonly [key: string, value: string])[]
  /** The same of its parts. */
  readonly partFields: readonly (readonly [key: string, value: string])[]
  readonly texts: readonly { readonly html: boolean; readonly content: string }[]
}

/** Slot numbers, each once. */
export interface Features {
  readonly grams: Uint32Array
  readonly words: Uint32Array
}

/** Where a word stands, which its slot says: what is read, what the header says, how the message is built. */
const place = { text: 0, header: 1, build: 2 } as const
export const places = 3

export function placeOf(word: number): number {
  return (word & 1) === 0 ? place.text : (word & 2) === 0 ? place.header : place.build
}

/** Where pieces stand. The same letters mean something else in a subject and in a body. */
const area = { fields: 1, received: 2, subject: 3, body: 4 } as const

/** Fields that say nothing, or what other filters thought. */
const ignored =
  /^(?:date|mime-version|content-length|lines|delivered-to|return-path|status|x-spam.*|x-rspamd.*|x-bogosity|x-virus.*|authentication-results|arc-.*|received-spf|dkim-signature|domainkey-signature)$/
const addressed = new Set(['from', 'to', 'cc', 'reply-to', 'sender'])

export function featuresOf(text: SpamText): Features {
  const fields = text.fields.filter(([key]) => !ignored.test(key))
  return { grams: gramsOf(text, fields), words: wordsOf(text, fields) }
}

/**
 * Distinct slots. A hash table that stays in the processor's cache, where a bit for each of the slots there are would not; an
 * entry is the number of its message and the slot, so that nothing has to be cleared.
 */
class Slots {
  readonly #table: Uint32Array
  readonly #found: Uint32Array
  #count = 0
  #round = 1

  constructor(max: number) {
    this.#table = new Uint32Array(2 ** Math.ceil(Math.log2(2 * max)))
    this.#found = new Uint32Array(max)
  }

  add(slot: number): void {
    const table = this.#table
    const last = table.length - 1
    const entry = ((this.#round << slotBits) | slot) >>> 0
    // The lowest bits of a word say where it stands.
    let at = (slot >>> 3) & last
    for (let other = table[at] as number; other >>> slotBits === this.#round; other = table[at] as number) {
      if (other === entry) return
      at = (at + 1) & last
    }
    if (this.#count === this.#found.length) return
    table[at] = entry
    this.#found[this.#count++] = slot
  }

  take(): Uint32Array {
    const found = this.#found.slice(0, this.#count)
    this.#count = 0
    this.#round = (this.#round + 1) % roundsMax
    if (this.#round === 0) {
      this.#table.fill(0)
      this.#round = 1
    }
    return found
  }
}

const { headerLettersMax, bodyLettersMax, wordsMax, tagsMax, linksMax, textLettersMax } = limits.spam
const grams = new Slots(headerLettersMax + bodyLettersMax)
const words = new Slots(4 * wordsMax)
/** Place of the words that are added. */
let standing: number = place.header

function gramsOf({ partFields, texts }: SpamText, fields: SpamText['fields']): Uint32Array {
  let left: number = headerLettersMax
  for (const [key, value] of fields) {
    const line = `${key}:${value}\n`.slice(0, left)
    left -= line.length
    addGrams(line, key === 'subject' ? area.subject : key === 'received' ? area.received : area.fields)
    if (left <= 0) break
  }
  const parts = partFields.map(([key, value]) => `${key}:${value}`).join('\n')
  let body = parts.slice(0, bodyLettersMax)
  for (const { content } of texts) {
    if (body.length >= bodyLettersMax) break
    body += content.slice(0, bodyLettersMax)
  }
  addGrams(body.slice(0, bodyLettersMax), area.body)
  return grams.take()
}

function addGrams(text: string, seed: number): void {
  let piece = 0
  let count = 0
  let blank = false
  for (let at = 0; at < text.length; at++) {
    let code = text.charCodeAt(at)
    if (code <= 0x20) {
      if (blank) continue
      blank = true
      code = 0x20
    } else {
      blank = false
      if (code >= 0x41 && code <= 0x5a) code += 0x20
      else if (code > 0xff) code = (code ^ (code >> 8)) & 0xff
    }
    piece = (piece << 8) | code
    if (++count >= 4) grams.add(mix(piece, seed) >>> 12)
  }
}

function mix(value: number, seed: number): number {
  let x = Math.imul(value ^ Math.imul(seed, 0x9e3779b1), 0x85ebca6b)
  x ^= x >>> 15
  x = Math.imul(x, 0xc2b2ae35)
  x ^= x >>> 13
  x = Math.imul(x, 0x27d4eb2f)
  return (x ^ (x >>> 16)) >>> 0
}

function wordsOf({ partFields, texts }: SpamText, fields: SpamText['fields']): Uint32Array {
  let before = ''
  standing = place.header
  for (const [key, value] of fields) {
    addField(key, value)
    // Programs that send differ in the order of what they write.
    addWord('o', `${before}>${key}`)
    before = key
  }
  standing = place.build
  for (const [key, value] of partFields) {
    if (key.startsWith('content-')) addWords(`P${key}`, value.replace(/boundary="?[^";]*"?/i, ''), 20)
  }
  if (texts.length === 0) addWord('X', 'no text')
  let left: number = textLettersMax
  for (const { html, content } of texts) {
    if (left <= 0) break
    const shown = content.slice(0, left)
    left -= shown.length
    addWord('X', html ? 'html' : 'plain')
    addLinks(shown)
    const read = html ? addTags(shown) : shown
    standing = place.text
    addWords('b', read, wordsMax, 1)
    standing = place.build
  }
  return words.take()
}

function addField(key: string, value: string): void {
  addWord('H', key)
  if (key === 'message-id') {
    const form = value
      .replace(/[a-z]+/g, 'a')
      .replace(/[A-Z]+/g, 'A')
      .replace(/\d+/g, '0')
    addWord('id', form.slice(0, 40))
    const at = value.indexOf('@')
    if (at >= 0) addWord('id@', value.slice(at + 1, at + 100).replace(/>.*/, ''))
    return
  }
  if (!addressed.has(key)) {
    addWords(key === 'subject' ? 's' : key, value, 60, key === 'subject' ? 2 : 0)
    return
  }
  const beginning = value.slice(0, 4000)
  addressForm.lastIndex = 0
  for (let found = addressForm.exec(beginning); found !== null; found = addressForm.exec(beginning)) {
    const [, local = '', host = ''] = found
    addWord(`${key}@`, `${local}@${host}`.toLowerCase())
    addWord(`${key}L`, local.toLowerCase())
    addHost(`${key}D`, host.toLowerCase())
  }
  addWords(key, beginning.replace(/<[^>]*>/g, ''), 60)
}

/** Patterns that are made once: `matchAll` makes a new one of its pattern each time, which costs more than to look with it. */
const addressForm = /([^\s<>,;"@]{1,100})@([^\s<>,;"@]{1,100})/g

/** A host and the domains it is in. */
function addHost(prefix: string, host: string): void {
  for (let name = host, depth = 0; depth < 6; depth++) {
    addWord(prefix, name)
    const dot = name.indexOf('.')
    if (dot < 0) return
    name = name.slice(dot + 1)
  }
}

const linkScheme = /\b(?:https?|ftp|mailto)$/i
const linkRest = /\/{0,3}(?:[^\s/@"'<>)]{0,80}@)?([^\s/:?#"'<>)]{0,100})([^\s"'<>)]{0,200})/iy

function addLinks(text: string): void {
  let left: number = linksMax
  for (const [scheme = '', host = '', path = ''] of linksIn(text, linkScheme, linkRest)) {
    if (left-- === 0) return
    addWord('us', scheme.toLowerCase())
    if (/^[\d.]+$/.test(host)) addWord('u', 'number')
    addHost('uH', host.toLowerCase())
    addWords('up', path.toLowerCase().replace(/[/?&=]/g, ' '), 20)
  }
}

/** Adds the tags of a page. @returns what stands between them; tags within a word are gone without a trace */
function addTags(html: string): string {
  let left: number = tagsMax
  let text = ''
  let from = 0
  for (let start = html.indexOf('<'); start >= 0 && left-- > 0; start = html.indexOf('<', from)) {
    text += html.slice(from, start)
    const comment = html.startsWith('<!--', start)
    const end = html.indexOf(comment ? '-->' : '>', start + 1)
    if (end < 0) return text + html.slice(start).replace(/<[^<]{0,300}/g, ' ')
    from = end + (comment ? 3 : 1)
    if (comment) continue
    const name = addTag(html.slice(start + 1, Math.min(end, start + 300)).toLowerCase())
    if (!/^\/?(?:b|i|font|u|strong|em|a|span)$/.test(name)) text += ' '
    if (name === 'style' || name === 'script') {
      const closing = html.indexOf(`</`, from)
      if (closing >= 0) from = closing
    }
  }
  return text + html.slice(from)
}

function addTag(tag: string): string {
  const name = /^\/?[a-z0-9!]{1,20}/.exec(tag)?.[0] ?? ''
  if (name === '') return name
  const opened = name.replace('/', '')
  addWord('t', opened)
  let left = 12
  const rest = tag.slice(name.length)
  tagPart.lastIndex = 0
  for (let found = tagPart.exec(rest); found !== null && left-- > 0; found = tagPart.exec(rest)) {
    addWord('ta', `${opened} ${found[0]}`)
  }
  return name
}

const tagPart = /[a-z0-9#%:.-]{1,30}/g

const lastWords = new Int32Array(2)

/**
 * Words in a row: letters, digits, and what stands within a word. Case and length are kept.
 * @param reach up to how many words before it a word makes pairs with; such words count without their case, too
 */
function addWords(prefix: string, text: string, max: number, reach = 0): void {
  const seed = textHash(prefix, 0x811c9dc5)
  let left = max
  let known = 0
  /** Letters of the word that is under way, its hashes so far, and up to where it would end now: what stands at its edges is none of it. */
  let count = 0
  let hash = seed
  let low = seed
  let word = seed
  let lowWord = seed
  for (let at = 0; at <= text.length; at++) {
    const code = at < text.length ? text.charCodeAt(at) : outside
    const kind = kindOf(code)
    if (kind !== outside) {
      if (count === 0 && kind === edge) continue
      if (count < lettersMax) {
        count++
        hash = hashed(hash, code)
        if (reach > 0) low = hashed(low, lowerOf(code))
      }
      if (kind === edge) continue
      word = hash
      lowWord = low
      continue
    }
    if (count === 0) continue
    addHash(ended(word))
    if (reach > 0) known = addPairs(ended(word), ended(lowWord), known, reach)
    if (--left === 0) return
    count = 0
    hash = seed
    low = seed
  }
}

/** @returns how many words went before the next one, as far as they matter */
function addPairs(word: number, low: number, known: number, reach: number): number {
  if (low !== word) addHash(low)
  for (let back = 0; back < known; back++) {
    addHash(Math.imul(low, 0x9e3779b1) + Math.imul((lastWords[back] as number) ^ (back + 1), 0x85ebca6b))
  }
  lastWords[1] = lastWords[0] as number
  lastWords[0] = low
  return Math.min(known + 1, reach)
}

function addWord(prefix: string, word: string): void {
  addHash(textHash(word, textHash(prefix, 0x811c9dc5)))
}

function addHash(hash: number): void {
  const slot = mix(hash, 5) >>> 11
  words.add(standing === place.text ? slot & ~1 : standing === place.header ? (slot & ~3) | 1 : slot | 3)
}

/** FNV-1a over UTF-16 units, and a mark for the end. */
function textHash(text: string, seed: number): number {
  let x = seed
  for (let at = 0; at < text.length; at++) x = hashed(x, text.charCodeAt(at))
  return ended(x)
}

function hashed(x: number, code: number): number {
  return Math.imul(x ^ code, 0x01000193)
}

function ended(x: number): number {
  return hashed(x, 0x3a)
}

function lowerOf(code: number): number {
  if (code >= 0x41 && code <= 0x5a) return code + 0x20
  return code > 0x7f ? String.fromCharCode(code).toLowerCase().charCodeAt(0) : code
}

/** What a character is to a word: none of it, a letter, or one that is so between letters alone. */
const outside = 0
const letter = 1
const edge = 2
/** Letters of a word that count. */
const lettersMax = 30

const kinds = new Uint8Array(0x80)
for (let code = 0x21; code < 0x7f; code++) if (/[$%!0-9A-Za-z]/.test(String.fromCharCode(code))) kinds[code] = letter
for (const one of "_.-'") kinds[one.charCodeAt(0)] = edge

function kindOf(code: number): number {
  if (code < 0x80) return kinds[code] as number
  return code > 0xbf && code !== 0xd7 && (code < 0x2000 || code > 0x303f) ? letter : outside
}
