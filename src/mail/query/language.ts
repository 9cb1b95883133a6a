// The search language of the HTTP API (wire-details 7): `q` and the classic parameters as a tree of criteria.
//
// Promises: parsing is linear, bounded by the length of the text, and never refuses: what makes no sense (a bad date, an
// unknown keyword, `seen:false`) is passed over. Null means that nothing was left, and then nothing is found.
//
// Side by side, plain words are alternatives (all of them are wanted with `useAndSearch`); phrases, keywords, groups and
// whatever is negated must all fit. `OR` and `AND` join what stands beside them, AND first.

import { flag } from '../flags.ts'
import { parseNumbers, resolveNumbers } from '../numbers.ts'
import { squeeze } from '../text/fold.ts'
import { both, either, type Query, type WordsLeaf } from './query.ts'

export interface QueryOptions {
  /** Plain words are all wanted. */
  readonly all?: boolean
}

/** What `q` asks for; null where it asks for nothing. */
export function parseQuery(text: string, options: QueryOptions = {}): Query | null {
  return new Parser(text, options, true).whole()
}

/** What `query` asks for: words and phrases, no keywords. */
export function parseWords(text: string, options: QueryOptions = {}): Query | null {
  return new Parser(text, options, false).whole()
}

/** A criterion from a keyword and its value; null where they make no sense together. */
export function criterion(keyword: string, value: string): Query | null {
  const given = value.trim()
  const name = aliases[keyword.toLowerCase()] ?? keyword.toLowerCase()
  switch (name) {
    case 'from':
    case 'to':
    case 'cc':
    case 'bcc':
    case 'subject': {
      return words(name === 'to' ? 'recipients' : name, squeeze(given))
    }
    case 'in':
      return given === '' ? null : { op: 'in', name: given }
    case 'mailbox':
      return isId(given) ? { op: 'mailbox', id: given.toLowerCase() } : null
    case 'thread':
      return isId(given) ? { op: 'thread', id: given.toLowerCase() } : null
    case 'id': {
      const set = parseNumbers(given.replaceAll(' ', ''))
      return set === null ? null : { op: 'uid', ranges: resolveNumbers(set, 0xffffffff) }
    }
    case 'datestart':
      return dated(given, date => ({ op: 'date', from: date, to: ever }))
    case 'dateend':
      return dated(given, date => ({ op: 'date', from: -ever, to: date }))
    case 'minsize':
      return sized(given, size => ({ op: 'size', min: size, max: ever }))
    case 'maxsize':
      return sized(given, size => ({ op: 'size', min: 0, max: size }))
    case 'attachments':
    case 'searchable':
      return yes.test(given) ? { op: name } : null
    case 'flagged':
    case 'seen':
    case 'unseen':
      return yes.test(given) ? (states.get(name) ?? null) : null
    case 'has':
      return /^attachments?$/i.test(given) ? { op: 'attachments' } : null
    case 'is':
      return states.get(given.toLowerCase()) ?? null
    default:
      return null
  }
}

const ever = Number.MAX_SAFE_INTEGER

const aliases: Readonly<Record<string, string>> = {
  after: 'datestart',
  newer: 'datestart',
  before: 'dateend',
  older: 'dateend',
}

const yes = /^(?:yes|true|1|on|y)$/i

const flagged: Query = { op: 'flag', bit: flag.flagged }
const seen: Query = { op: 'flag', bit: flag.seen }
const unseen: Query = { op: 'not', of: seen }
const states: ReadonlyMap<string, Query> = new Map(
  Object.entries({ starred: flagged, flagged, read: seen, seen, unread: unseen, unseen }),
)

/** Null where nothing but white space is left. */
function words(where: WordsLeaf['in'], needle: string): Query | null {
  return needle.trim() === '' ? null : { op: 'words', in: where, needle }
}

function isId(text: string): boolean {
  return /^[0-9a-f]{24}$/i.test(text)
}

function dated(text: string, make: (date: number) => Query): Query | null {
  const date = /^\d{10,14}$/.test(text)
    ? Number(text)
    : /^\d{4}-\d\d?(-\d|$)/.test(text)
      ? Date.parse(text)
      : Number.NaN
  return Number.isFinite(date) ? make(date) : null
}

const units: Readonly<Record<string, number>> = { '': 1, k: 1024, m: 1024 ** 2, g: 1024 ** 3 }

function sized(text: string, make: (size: number) => Query): Query | null {
  const match = /^(\d{1,15})([kmg]?)b?$/i.exec(text)
  return match === null ? null : make(Number(match[1]) * (units[(match[2] ?? '').toLowerCase()] ?? 1))
}

/** A piece of the text, and whether it is a plain word that makes an alternative with its neighbours. */
interface Operand {
  readonly query: Query | null
  readonly plain: boolean
}

class Parser {
  readonly #text: string
  readonly #all: boolean
  readonly #keywords: boolean
  #at = 0

  constructor(text: string, { all = false }: QueryOptions, keywords: boolean) {
    this.#text = text
    this.#all = all
    this.#keywords = keywords
  }

  whole(): Query | null {
    const parts: (Query | null)[] = []
    // A closing bracket too many ends nothing.
    while (this.#at < this.#text.length) {
      parts.push(this.#group())
      this.#at += 1
    }
    return both(parts)
  }

  /** Up to a closing bracket or the end. */
  #group(): Query | null {
    const runs: Operand[][][] = [[[]]]
    let joined: 'OR' | 'AND' | null = null
    for (;;) {
      this.#space()
      const next = this.#text[this.#at]
      if (next === undefined || next === ')') break
      const connector = this.#connector()
      if (connector !== null) {
        joined = connector
        continue
      }
      const operand = this.#operand()
      const run = runs.at(-1) as Operand[][]
      if (joined === 'AND') (run.at(-1) as Operand[]).push(operand)
      else if (joined === 'OR') run.push([operand])
      else runs.push([[operand]])
      joined = null
    }
    return this.#joined(runs)
  }

  /** Runs stand side by side; a run is alternatives, each of them all of its operands. */
  #joined(runs: readonly Operand[][][]): Query | null {
    const words: Query[] = []
    const others: (Query | null)[] = []
    for (const run of runs) {
      const [first] = run
      const single = run.length === 1 && first?.length === 1 ? first[0] : undefined
      if (single?.plain === true && single.query !== null) words.push(single.query)
      else others.push(either(run.map(operands => both(operands.map(operand => operand.query)))))
    }
    return both([this.#all ? both(words) : either(words), ...others])
  }

  #connector(): 'OR' | 'AND' | null {
    const match = /^(OR|AND)(?=[\s()]|$)/.exec(this.#text.slice(this.#at, this.#at + 4))
    if (match === null) return null
    this.#at += (match[1] as string).length
    return match[1] as 'OR' | 'AND'
  }

  #operand(): Operand {
    if (this.#text[this.#at] !== '-') return this.#positive()
    this.#at += 1
    const next = this.#text[this.#at]
    if (next === undefined || /[\s)]/.test(next)) return nothing
    const { query } = this.#positive()
    return { query: query === null ? null : { op: 'not', of: query }, plain: false }
  }

  #positive(): Operand {
    if (this.#text[this.#at] === '(') {
      this.#at += 1
      const query = this.#group()
      this.#at += 1
      return { query, plain: false }
    }
    if (this.#text[this.#at] === '"') {
      return { query: words('said', squeeze(this.#quoted())), plain: false }
    }
    const keyword = this.#keywords ? this.#keyword() : null
    if (keyword !== null) {
      const value = this.#text[this.#at] === '"' ? this.#quoted() : this.#bare()
      return { query: criterion(keyword, value), plain: false }
    }
    return { query: words('anywhere', squeeze(this.#bare()).trim()), plain: true }
  }

  /** A name with its colon. What only looks like one, `https:` or `12:30`, is a word. */
  #keyword(): string | null {
    const match = /^([A-Za-z]{1,20}):(?!\/\/)/.exec(this.#text.slice(this.#at, this.#at + 24))
    if (match === null) return null
    this.#at += match[0].length
    return match[1] as string
  }

  /** To the closing quotation mark; one that is missing stands at the end. */
  #quoted(): string {
    const end = this.#text.indexOf('"', this.#at + 1)
    const text = this.#text.slice(this.#at + 1, end < 0 ? undefined : end)
    this.#at = end < 0 ? this.#text.length : end + 1
    return text
  }

  /** To white space or a closing bracket that was not opened within. */
  #bare(): string {
    const start = this.#at
    let open = 0
    for (; this.#at < this.#text.length; this.#at++) {
      const character = this.#text[this.#at] as string
      if (/\s/.test(character)) break
      if (character === '(') open += 1
      else if (character === ')') {
        if (open === 0) break
        open -= 1
      }
    }
    return this.#text.slice(start, this.#at)
  }

  #space(): void {
    while (/\s/.test(this.#text[this.#at] ?? '')) this.#at += 1
  }
}

const nothing: Operand = { query: null, plain: false }
