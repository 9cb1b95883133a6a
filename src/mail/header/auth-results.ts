// Reading Authentication-Results and its kin (RFC 8601 2.2): who speaks, and what he found. What stands in comments and in quotes is no
// result, whatever it looks like: hosts write there what strangers gave them.
//
// Pure, linear, never throws; of a value that is longer than resultsLengthMax the rest is not read.

import { domainToAscii } from '../address/address.ts'
import { commentEnd } from './comment.ts'
import { decodeWords } from './words.ts'

/** One result with what it is about. */
interface Found {
  /** In lower case, without its version. */
  readonly method: string
  readonly result: string
  /** By `ptype.property` in lower case; the first of each. */
  readonly properties: ReadonlyMap<string, string>
}

export interface Results {
  /** Who says so, as written. */
  readonly by: string
  readonly found: readonly Found[]
}

const resultsLengthMax = 10_000

/** What a field's value says; unfolded or not. */
export function readResults(value: string): Results {
  const [head = [], ...rest] = sections(value.slice(0, resultsLengthMax))
  const found = rest.flatMap(words => {
    const [first, ...pairs] = pairsOf(words)
    if (first === undefined) return []
    const properties = new Map<string, string>()
    for (const [name, text] of pairs) if (!properties.has(name)) properties.set(name, text)
    return [{ method: first[0].replace(/\/.*/, ''), result: first[1].toLowerCase(), properties }]
  })
  return { by: head[0] ?? '', found }
}

/**
 * Whether a field of a stranger says that `by` wrote it, for any reader of it: who ignores comments and quotes, who does not, who
 * decodes what is not to be decoded, who takes no notice of white space, or of a name that is missing.
 *
 * @param value bytes as latin1
 */
export function speaksAs(by: string, value: string): boolean {
  const own = domainToAscii(by)
  const text = Buffer.from(value, 'latin1')
    .toString('utf8')
    .replace(/^[\s;]+/, '')
  const isOwn = (name: string) => domainToAscii(name.replace(/\.$/, '')) === own
  const { words } = sectionFrom(text, 0)
  if (isOwn(words[0] ?? '') || isOwn(withoutVersion(words.join('')))) return true
  if (isOwn(words.join(''))) return true
  const [plain = ''] = text.slice(0, resultsLengthMax).split(';')
  return decodeWords(plain.replace(/\\/g, ''))
    .split(/[\s"'()<>,=/\0]+/)
    .some(isOwn)
}

/** A version may stand behind a name, and so close that it seems to be of it. */
function withoutVersion(text: string): string {
  let end = text.length
  while (end > 0 && /\d/.test(text[end - 1] as string)) end -= 1
  return text.slice(0, end)
}

/** Whether an ARC-Authentication-Results field says that DMARC passed for this domain in From (RFC 8601 2.7.2), and nothing else of it. */
export function isAuthorProven(value: string, from: string): boolean {
  const own = domainToAscii(from)
  const said = readResults(value).found.filter(({ method, properties }) => {
    const author = properties.get('header.from') ?? ''
    return method === 'dmarc' && domainToAscii(author.slice(author.lastIndexOf('@') + 1)) === own
  })
  return said.length > 0 && said.every(({ result }) => result === 'pass')
}

/** Words between semicolons; `=` is one of its own. */
function sections(text: string): string[][] {
  const all: string[][] = []
  for (let at = 0; at <= text.length; ) {
    const { words, end } = sectionFrom(text, at)
    all.push(words)
    at = end + 1
  }
  return all
}

function sectionFrom(text: string, start: number): { readonly words: string[]; readonly end: number } {
  const words: string[] = []
  let word: string | undefined
  const close = () => {
    if (word !== undefined) words.push(word)
    word = undefined
  }
  let at = start
  while (at < text.length && text[at] !== ';') {
    const sign = text[at] as string
    if (sign === '(') {
      close()
      const end = commentEnd(text, at)
      // One that never ends takes the rest.
      at = end < 0 ? text.length : end + 1
    } else if (sign === '"') {
      const { content, end } = quoted(text, at + 1)
      word = (word ?? '') + content
      at = end
    } else if (sign === '=' || sign <= ' ') {
      close()
      if (sign === '=') words.push('=')
      at += 1
    } else {
      plain.lastIndex = at
      const [found = sign] = plain.exec(text) ?? []
      word = (word ?? '') + found
      at += found.length
    }
  }
  close()
  return { words, end: at }
}

const plain = /[^\0- "(;=]+/y

function quoted(text: string, start: number): { readonly content: string; readonly end: number } {
  let content = ''
  for (let at = start; at < text.length; at++) {
    if (text[at] === '"') return { content, end: at + 1 }
    if (text[at] === '\\') at += 1
    content += text[at] ?? ''
  }
  return { content, end: text.length }
}

/** Names and values on both sides of each `=`, names in lower case. */
function pairsOf(words: readonly string[]): (readonly [name: string, value: string])[] {
  return words.flatMap((word, at) => {
    const [name, value] = [words[at - 1], words[at + 1]]
    return word === '=' && name !== undefined && name !== '=' && value !== undefined && value !== '='
      ? [[name.toLowerCase(), value] as const]
      : []
  })
}
