// Message flags: the five that every protocol knows as bits, everything else as keywords (RFC 9051 2.3.2).
//
// Promises: a flag is a bit or a keyword that may stand in an IMAP flag list as it is; keywords compare without case
// and keep the spelling of the first; nothing unknown that starts with a backslash gets in.

import { limits } from '#lib/limits.ts'

export const seen = 1
export const answered = 2
export const flagged = 4
export const deleted = 8
export const draft = 16

/** The same by name, where several are in use. */
export const flag = { seen, answered, flagged, deleted, draft } as const

/** All five. */
export const systemFlags = 31

/** Keyword that says a message was forwarded. */
export const forwarded = '$Forwarded'

const names: readonly (readonly [bit: number, name: string])[] = [
  [seen, '\\Seen'],
  [answered, '\\Answered'],
  [flagged, '\\Flagged'],
  [deleted, '\\Deleted'],
  [draft, '\\Draft'],
]

const bits = new Map(names.map(([bit, name]) => [name.toLowerCase(), bit]))

/** The texts of each value of the bitmask, made once: a listing writes one for each message. */
const texts = Array.from({ length: systemFlags + 1 }, (_, mask) =>
  names
    .filter(([bit]) => (mask & bit) !== 0)
    .map(([, name]) => name)
    .join(' '),
)

export interface Flags {
  readonly bits: number
  /** Without repetition, in the order given. */
  readonly keywords: readonly string[]
}

/** `\Seen \Draft $Forwarded` without brackets; empty for no flags. */
export function flagText(bits: number, keywords: readonly string[] = []): string {
  const text = texts[bits & systemFlags] as string
  if (keywords.length === 0) return text
  return text === '' ? keywords.join(' ') : `${text} ${keywords.join(' ')}`
}

export function flagList(bits: number, keywords: readonly string[] = []): string[] {
  const text = flagText(bits, keywords)
  return text === '' ? [] : text.split(' ')
}

/**
 * Flags from their names. `\Recent` is passed over: it belongs to the server. Null where one is no flag or there are
 * more than limits.name.keywordsMax keywords.
 */
export function parseFlags(list: readonly string[]): Flags | null {
  let mask = 0
  const keywords = new Map<string, string>()
  for (const name of list) {
    const key = name.toLowerCase()
    const bit = bits.get(key)
    if (bit !== undefined) mask |= bit
    else if (key === '\\recent') continue
    else if (!isKeyword(name)) return null
    else if (!keywords.has(key)) keywords.set(key, name)
  }
  if (keywords.size > limits.name.keywordsMax) return null
  return { bits: mask, keywords: [...keywords.values()] }
}

/** Whether `text` may be a keyword: an atom (RFC 9051 9, atom-char) that is not too long. */
export function isKeyword(text: string): boolean {
  return text.length <= limits.name.keywordLengthMax && /^[!#$&'+,\-./0-9:;<=>?@A-Z^_`a-z|}~[]+$/.test(text)
}

/** `keywords` with `added` and without `removed`, compared without case. */
export function changeKeywords(
  keywords: readonly string[],
  added: readonly string[],
  removed: readonly string[] = [],
): string[] {
  const all = new Map(keywords.map(keyword => [keyword.toLowerCase(), keyword]))
  for (const keyword of removed) all.delete(keyword.toLowerCase())
  for (const keyword of added) if (!all.has(keyword.toLowerCase())) all.set(keyword.toLowerCase(), keyword)
  return [...all.values()]
}
