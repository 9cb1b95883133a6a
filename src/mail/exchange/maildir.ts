// What names in a Maildir say: folders of Maildir++, flags of file names, and the two lists beside them.
//
// Promises: linear, never throws; what cannot be understood is null or left out, and the caller says so.

import { answered, deleted, draft, flagged, forwarded, isKeyword, seen } from '../flags.ts'
import { decodeUtf7, normalizePath, pathProblem, type SpecialUse, takenPath } from '../path.ts'

export interface MaildirName {
  /** What stays the same when flags change: the name of the message. */
  readonly unique: string
  /**
   * No message of another Maildir has this name: it is made of a time, what delivered it and a machine. Programs that convert mail call
   * it `1` or `mail.eml`, and the next Maildir has those again.
   */
  readonly isDelivered: boolean
  readonly flags: number
  /** `$Forwarded`, where the letter for it is there. */
  readonly keywords: readonly string[]
  /** Lower-case letters: keywords by the folder's own list. */
  readonly letters: string
  /** When it was delivered, as the name begins, milliseconds; null where it does not. */
  readonly delivered: number | null
}

const bits: Readonly<Record<string, number>> = { D: draft, F: flagged, R: answered, S: seen, T: deleted }

/** The name of a message's file. The part behind `:2,` (or `;2,` or `!2,`, where a colon cannot be) holds the flags. */
export function parseMaildirName(name: string): MaildirName {
  const info = /[:;!]2,([A-Za-z]*)[^:;!]*$/.exec(name)
  const base = info === null ? name : name.slice(0, info.index)
  const letters = info?.[1] ?? ''
  let flags = 0
  for (const letter of letters) flags |= bits[letter] ?? 0
  const at = /^(\d{9,11})\D/.exec(base)
  return {
    // Sizes in the name come and go with the program that writes them.
    unique: base.replace(/,[SW]=\d+/g, ''),
    isDelivered: /^\d{9,11}(?:_\d+)?\.[^.]*\d[^.]*\../.test(base),
    flags,
    keywords: letters.includes('P') ? [forwarded] : [],
    letters: letters.replace(/[^a-z]/g, ''),
    delivered: at === null ? null : Number(at[1]) * 1000,
  }
}

/** The path a folder of Maildir++ stands for (`.Lists.Teal` is Lists/Teal); null where it stands for none. */
export function maildirFolder(name: string): string | null {
  if (name === '') return 'INBOX'
  if (!name.startsWith('.')) return null
  return folderPath(name.slice(1))
}

/** The path of a folder's name with dots, as lists of subscriptions have it, too. */
function folderPath(dotted: string): string | null {
  // Names are in modified UTF-7 by rule. What is none is taken as it stands: some programs write UTF-8, some a bare &.
  const decoded = decodeUtf7(dotted) ?? dotted
  if (/\//.test(decoded)) return null
  const path = takenPath(decoded.replaceAll('.', '/'))
  return pathProblem(path) === undefined ? normalizePath(path) : null
}

/** Letter -> keyword, from a file with lines such as `0 $Label1` (0 is `a`). */
export function parseKeywords(text: string): Map<string, string> {
  const keywords = new Map<string, string>()
  for (const line of text.split('\n')) {
    const match = /^(\d{1,2}) (\S+)$/.exec(line.trim())
    const number = Number(match?.[1])
    if (match?.[2] !== undefined && number < 26 && isKeyword(match[2])) {
      keywords.set(String.fromCharCode(97 + number), match[2])
    }
  }
  return keywords
}

/** Paths of a list of subscriptions: one on a line, behind a line with a version and an empty one in newer lists. */
export function parseSubscriptions(text: string): string[] {
  const lines = text.split(/\r?\n/)
  const newer = /^V\s+\d+/.test(lines[0] ?? '')
  const names = newer ? lines.slice(1).map(line => line.replaceAll('\t', '.')) : lines
  return names.filter(name => name !== '').flatMap(name => folderPath(name.replaceAll('/', '.')) ?? [])
}

const uses: readonly (readonly [use: SpecialUse, names: RegExp])[] = [
  ['\\Sent', /^(inbox\/)?sent([ -]?(mail|items|messages))?$/i],
  ['\\Trash', /^(inbox\/)?(trash|deleted([ -](items|messages))?)$/i],
  ['\\Drafts', /^(inbox\/)?drafts?$/i],
  ['\\Junk', /^(inbox\/)?(junk([ -]?(mail|e-?mail))?|spam)$/i],
  ['\\Archive', /^(inbox\/)?archives?$/i],
]

/** What a folder of this name is mostly for. */
export function usualUse(path: string): SpecialUse | null {
  return uses.find(([, names]) => names.test(path))?.[0] ?? null
}

/** When a message came in. A file that is much younger than its name was copied without its date. */
export function internalDate(modified: number, delivered: number | null): number | null {
  const day = 24 * 3600 * 1000
  return delivered !== null && modified > delivered + day ? null : modified
}
