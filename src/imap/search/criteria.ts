// SEARCH criteria as written, and as a tree (RFC 9051 6.4.4, RFC 5032, 7162, 8474, 8514).
//
// Parsing is bounded in depth and number of criteria. Dates become ranges of milliseconds in UTC; text is decoded
// from the named character set and folded to lower case once, here.

import { now } from '#lib/clock.ts'
import { Fault } from '#lib/fault.ts'
import { limits } from '#lib/limits.ts'
import { flag } from '#mail/flags.ts'
import { parseCalendarDay } from '#mail/header/date.ts'
import { decodeCharset, isCharset } from '#mail/mime/charset.ts'
import { type Query, type RowLeaf, type SummaryLeaf, someLeaf, type TextLeaf } from '#mail/query/query.ts'
import { fold } from '#mail/text/fold.ts'
import { type Decoder, malformed, type NumberSet } from '../wire/decoder.ts'

/** A set of messages as written: what it means depends on the view. */
export interface SetLeaf {
  readonly op: 'set'
  readonly byUid: boolean
  readonly set: NumberSet
}

export type Criterion = RowLeaf | SummaryLeaf | TextLeaf
export type Key = Query<Criterion | SetLeaf>

const day = limits.time.day
const ever = Number.MAX_SAFE_INTEGER

const simple: Readonly<Record<string, Key>> = {
  ALL: { op: 'constant', value: true },
  ANSWERED: { op: 'flag', bit: flag.answered },
  DELETED: { op: 'flag', bit: flag.deleted },
  DRAFT: { op: 'flag', bit: flag.draft },
  FLAGGED: { op: 'flag', bit: flag.flagged },
  SEEN: { op: 'flag', bit: flag.seen },
  UNANSWERED: { op: 'not', of: { op: 'flag', bit: flag.answered } },
  UNDELETED: { op: 'not', of: { op: 'flag', bit: flag.deleted } },
  UNDRAFT: { op: 'not', of: { op: 'flag', bit: flag.draft } },
  UNFLAGGED: { op: 'not', of: { op: 'flag', bit: flag.flagged } },
  UNSEEN: { op: 'not', of: { op: 'flag', bit: flag.seen } },
  // RFC 3501 6.4.4. In IMAP4rev2 no message is recent.
  NEW: { op: 'and', of: [{ op: 'recent' }, { op: 'not', of: { op: 'flag', bit: flag.seen } }] },
  OLD: { op: 'not', of: { op: 'recent' } },
  RECENT: { op: 'recent' },
  SAVEDATESUPPORTED: { op: 'constant', value: true },
}

/** Keys, joined by AND, up to the end of the command. `charset` is what CHARSET named. */
export function parseKeys(decoder: Decoder, charset: string | undefined): Key {
  const parser = new Parser(decoder, charset)
  const keys = [parser.key()]
  while (decoder.more()) keys.push(parser.key())
  decoder.end()
  return keys.length === 1 ? (keys[0] as Key) : { op: 'and', of: keys }
}

/** Whether some criterion asks for change numbers, which then are part of the answer (RFC 7162 3.1.5). */
export function asksModseq(key: Key): boolean {
  return someLeaf(key, ({ op }) => op === 'modseq')
}

/** @throws Fault UnknownCharset */
export function requireCharset(name: string): void {
  if (!isCharset(name)) throw new Fault('UnknownCharset')
}

class Parser {
  readonly #decoder: Decoder
  readonly #charset: string | undefined
  #count = 0

  constructor(decoder: Decoder, charset: string | undefined) {
    this.#decoder = decoder
    this.#charset = charset
  }

  key(): Key {
    const decoder = this.#decoder
    this.#count += 1
    if (this.#count > limits.imap.searchKeysMax) throw malformed('Too many criteria')
    if (decoder.peek() === '(') {
      const keys = decoder.list(() => this.key(), limits.imap.searchKeysMax)
      if (keys.length === 0) throw malformed('An empty list of criteria')
      return { op: 'and', of: keys }
    }
    if (decoder.atNumberSet) return { op: 'set', byUid: false, set: decoder.numberSet() }
    const name = decoder.word()
    return simple[name] ?? this.#withArgument(name)
  }

  #withArgument(name: string): Key {
    const decoder = this.#decoder
    if (decoder.peek() !== ' ') throw malformed(`Unknown criterion ${name.slice(0, 40)}`)
    decoder.space()
    const dated = this.#dated(name)
    if (dated !== undefined) return dated
    switch (name) {
      case 'NOT':
        return { op: 'not', of: decoder.nested(() => this.key()) }
      case 'OR': {
        const left = decoder.nested(() => this.key())
        decoder.space()
        return { op: 'or', of: [left, decoder.nested(() => this.key())] }
      }
      case 'UID':
        return { op: 'set', byUid: true, set: decoder.numberSet() }
      case 'KEYWORD':
        return { op: 'keyword', word: decoder.atom().toLowerCase() }
      case 'UNKEYWORD':
        return { op: 'not', of: { op: 'keyword', word: decoder.atom().toLowerCase() } }
      case 'LARGER':
        return { op: 'size', min: decoder.number64() + 1, max: ever }
      case 'SMALLER':
        return { op: 'size', min: 0, max: decoder.number64() - 1 }
      case 'FROM':
      case 'TO':
      case 'CC':
      case 'BCC':
      case 'SUBJECT':
        return { op: 'substring', in: name.toLowerCase() as 'from', needle: this.#needle() }
      case 'BODY':
      case 'TEXT':
        return { op: 'content', in: name === 'BODY' ? 'body' : 'text', needle: this.#needle() }
      case 'HEADER': {
        const header = decoder.astring().toLowerCase()
        decoder.space()
        return { op: 'header', name: header, needle: this.#needle() }
      }
      default:
        return this.#extension(name)
    }
  }

  #extension(name: string): Key {
    const decoder = this.#decoder
    switch (name) {
      case 'MODSEQ': {
        // RFC 7162 3.1.5: an entry name may come before; change numbers are by message here, so it changes nothing.
        if (decoder.peek() === '"') {
          decoder.string()
          decoder.space()
          if (!['PRIV', 'SHARED', 'ALL'].includes(decoder.word())) throw malformed('Unknown entry type')
          decoder.space()
        }
        return { op: 'modseq', from: decoder.number64() }
      }
      case 'EMAILID':
        return { op: 'email', id: decoder.atom() }
      case 'THREADID':
        return { op: 'thread', id: decoder.atom() }
      case 'YOUNGER':
        return { op: 'date', from: now() - this.#interval(), to: ever }
      case 'OLDER':
        return { op: 'date', from: -ever, to: now() - this.#interval() }
      default:
        throw malformed(`Unknown criterion ${name.slice(0, 40)}`)
    }
  }

  #dated(name: string): Key | undefined {
    const match = /^(SENT|SAVED)?(BEFORE|ON|SINCE)$/.exec(name)
    if (match === null) return undefined
    const date = this.#date()
    const op = match[1] === 'SENT' ? 'sent' : match[1] === 'SAVED' ? 'saved' : 'date'
    if (match[2] === 'BEFORE') return { op, from: -ever, to: date - 1 }
    return { op, from: date, to: match[2] === 'ON' ? date + day - 1 : ever }
  }

  #interval(): number {
    const seconds = this.#decoder.number()
    if (seconds === 0) throw malformed('The interval is empty')
    return seconds * limits.time.second
  }

  #date(): number {
    const day = parseCalendarDay(this.#decoder.astring())
    if (day === null) throw malformed('The date is not valid')
    return day
  }

  #needle(): string {
    const bytes = this.#decoder.astringBytes()
    return fold(decodeCharset(bytes, this.#charset ?? 'utf-8'))
  }
}
