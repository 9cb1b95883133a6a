// Filters: conditions on a message and what is done when they hold (api-semantics 6; specification, Filter).
//
// Pure and bounded: rules are compiled once and matched by substring search, which costs well under a microsecond for a
// condition. Expressions (filter-pattern.ts) are asked for as a list, which whoever calls answers where they can do no
// harm; harmless ones are tried right here. All conditions of a filter must hold; a filter without any matches everything.
// Differences to the original on purpose: `ha: false` is enforced, white space is collapsed on both sides, domains written
// in `xn--` are found in unicode, too, and header values are not cut at 880 bytes.

import { limits } from '#lib/limits.ts'
import { compile, type Pattern } from '#lib/pattern.ts'
import { domainsToUnicode } from '../address/address.ts'
import type { Header } from '../header/header.ts'
import { judge, type Verdict } from '../query/judge.ts'
import { type Query, someLeaf } from '../query/query.ts'
import { fold } from '../text/fold.ts'
import { type Analysis, analyse, readPattern, steps } from './filter-pattern.ts'
import { readTextQuery } from './filter-text.ts'

export interface FilterQuery {
  from?: string
  to?: string
  subject?: string
  listId?: string
  text?: string
  /** Whether the message has parts that are not its text. */
  ha?: boolean
  /** Bytes: at least this, or where negative at most this. */
  size?: number
}

export interface FilterAction {
  seen?: boolean
  flag?: boolean
  delete?: boolean
  spam?: boolean
  /** Id of a mailbox. */
  mailbox?: string
  /** Addresses and URLs. */
  targets?: string[]
}

export interface FilterRule {
  readonly id: string
  readonly query: FilterQuery
  readonly action: FilterAction
}

const headerFields = ['from', 'to', 'subject', 'listId'] as const
export type FilterField = (typeof headerFields)[number] | 'text'

/** What a condition's expression is asked about. */
export interface Ask {
  readonly rule: number
  readonly pattern: Pattern
  readonly texts: readonly string[]
}

/** What is known about the rules before the asks are answered. */
export interface Screening {
  /** For each rule: whether it matches, as far as the asks let it. */
  readonly holds: readonly boolean[]
  readonly asks: readonly Ask[]
}

/** What a condition comes to. */
type Condition =
  /** Bytes, both included. */
  | { readonly op: 'size'; readonly min: number; readonly max: number }
  | { readonly op: 'attachments' }
  /** Lower case, white space single. */
  | { readonly op: 'field'; readonly field: FilterField; readonly needle: string }
  | PatternCondition

interface PatternCondition {
  readonly op: 'pattern'
  readonly field: FilterField
  readonly pattern: Pattern
  readonly expression: RegExp
  readonly analysis: Analysis
}

/** The compiled filters of one account, in their order. */
export class Matcher {
  /** For each rule. */
  readonly #queries: readonly Query<Condition>[]
  readonly rules: readonly FilterRule[]
  /** Whether some condition looks at the message's text. */
  readonly wantsText: boolean

  constructor(rules: readonly FilterRule[]) {
    this.rules = rules
    this.#queries = rules.map(({ query }) => queryOf(query))
    this.wantsText = this.#queries.some(query => someLeaf(query, leaf => 'field' in leaf && leaf.field === 'text'))
  }

  /** Judges every rule by what costs little. */
  screen(mail: FilterMail): Screening {
    const asks: Ask[] = []
    const about = { mail, stepsLeft: limits.filter.inlineStepsMax, rule: 0, asks }
    const holds = this.#queries.map((query, rule) => {
      about.rule = rule
      return judge(query, verdictOf, about) !== false
    })
    return { holds, asks }
  }
}

/** The rules that match once every ask has its answer, in order. */
export function matched(matcher: Matcher, screening: Screening, answers: readonly boolean[]): FilterRule[] {
  const failed = new Set<number>()
  for (const [at, ask] of screening.asks.entries()) if (answers[at] !== true) failed.add(ask.rule)
  return matcher.rules.filter((_, at) => screening.holds[at] === true && !failed.has(at))
}

/** A message while it is screened. */
interface Screened {
  readonly mail: FilterMail
  /** What may be spent on expressions still. */
  stepsLeft: number
  /** The rule that is judged. */
  rule: number
  readonly asks: Ask[]
}

/** Undefined where an expression takes more than may be spent here: somebody else is asked. */
function verdictOf(leaf: Condition, about: Screened): Verdict {
  const { mail } = about
  if (leaf.op === 'field') return mail.folded(leaf.field).includes(leaf.needle)
  if (leaf.op === 'size') return mail.size >= leaf.min && mail.size <= leaf.max
  if (leaf.op === 'attachments') return mail.hasAttachment()
  const { field, pattern, expression, analysis } = leaf
  if (analysis.literal !== '' && !mail.lower(field).includes(analysis.literal)) return false
  const texts = mail.values(field)
  let cost = 0
  for (const text of texts) cost += steps(analysis, text.length)
  // Not turned round: without a bound the cost is no number.
  if (!(cost <= about.stepsLeft)) {
    about.asks.push({ rule: about.rule, pattern, texts })
    return undefined
  }
  about.stepsLeft -= cost
  return texts.some(text => expression.test(text))
}

/** All conditions as a tree: what costs least first, expressions last. */
function queryOf(query: FilterQuery): Query<Condition> {
  const { ha, size = 0, text } = query
  const parts: Query<Condition>[] = []
  const patterns: PatternCondition[] = []
  if (size > 0) parts.push({ op: 'size', min: size, max: Number.POSITIVE_INFINITY })
  if (size < 0) parts.push({ op: 'size', min: 0, max: -size })
  for (const field of headerFields) {
    const value = query[field]
    if (value === undefined || value === '') continue
    const condition = patternCondition(field, value)
    if (condition !== undefined) patterns.push(condition)
    else {
      parts.push({ op: 'field', field, needle: field === 'listId' ? insideBrackets(plain(value)) : plain(value) })
    }
  }
  if (ha !== undefined) parts.push(ha ? { op: 'attachments' } : { op: 'not', of: { op: 'attachments' } })
  if (text) {
    const condition = patternCondition('text', text)
    if (condition !== undefined) patterns.push(condition)
    else parts.push(textQuery(text))
  }
  const of = [...parts, ...patterns]
  const [only] = of
  return of.length === 1 && only !== undefined ? only : { op: 'and', of }
}

/** Alternatives, each a list of words and phrases that must all be found; none of them where only separators stand there. */
function textQuery(value: string): Query<Condition> {
  const groups = readTextQuery(value).map((words): Query<Condition> => {
    return { op: 'and', of: words.map(needle => ({ op: 'field', field: 'text', needle })) }
  })
  return { op: 'or', of: groups }
}

/** The expression of a value; a stored one that does not compile is text. */
function patternCondition(field: FilterField, value: string): PatternCondition | undefined {
  const pattern = readPattern(value)
  if (pattern === undefined) return undefined
  try {
    return { op: 'pattern', field, pattern, expression: compile(pattern), analysis: analyse(pattern) }
  } catch {
    return undefined
  }
}

/** As both sides of a comparison are: folded, white space single. */
function plain(text: string): string {
  return fold(single(text))
}

function single(text: string): string {
  return text.replace(/\s+/g, ' ').trim()
}

/** The part of a List-ID in angle brackets, or all of it. */
function insideBrackets(text: string): string {
  return (/<([^<>]*)>/.exec(text)?.[1] ?? text).trim()
}

interface Folded {
  /** What it was made of. */
  readonly of: string
  readonly text: string
}

const isPlain = (text: string) => /^[\x00-\x7f]*$/.test(text)

export interface FilterMailParts {
  readonly header: Header
  /** Bytes of the message. */
  readonly size: number
  readonly hasAttachment: () => boolean
  /** Plain text, where some rule wants it. */
  readonly text?: string | undefined
}

/** What filters see of a message; worked out as far as it is asked for, and shared by all recipients. */
export class FilterMail {
  readonly #parts: FilterMailParts
  readonly #recipient: string
  #lowerTo: string | undefined
  readonly #shared: {
    values: Map<FilterField, readonly string[]>
    lower: Map<FilterField, string>
    folded: Map<FilterField, Folded>
    text?: string
  }

  constructor(parts: FilterMailParts, recipient = '', shared?: FilterMail) {
    this.#parts = parts
    this.#recipient = recipient
    this.#shared = shared === undefined ? { values: new Map(), lower: new Map(), folded: new Map() } : shared.#shared
  }

  /** The same message for another recipient; its text as far as it is known now. */
  for(recipient: string, text?: string): FilterMail {
    if (text !== undefined) this.#shared.text = text
    return new FilterMail(this.#parts, recipient, this)
  }

  get size(): number {
    return this.#parts.size
  }

  hasAttachment(): boolean {
    return this.#parts.hasAttachment()
  }

  /** The values of a field, decoded, white space single (lines are kept in the text). */
  values(field: FilterField): readonly string[] {
    const known = this.#shared.values.get(field) ?? this.#read(field)
    return field === 'to' && this.#recipient !== '' ? [...known, this.#recipient] : known
  }

  /** All values of a field as they are compared with words, white space single, a line each. */
  folded(field: FilterField): string {
    const lower = this.lower(field)
    if (isPlain(lower)) return lower
    const { folded } = this.#shared
    // For each recipient, who is one of them, it is another.
    if (folded.get(field)?.of !== lower) folded.set(field, { of: lower, text: fold(lower) })
    return folded.get(field)?.text ?? ''
  }

  /** The same in lower case alone: what an expression must find stands there, too. */
  lower(field: FilterField): string {
    let known = this.#shared.lower.get(field)
    if (known === undefined) {
      const values = this.#shared.values.get(field) ?? this.#read(field)
      known = (field === 'text' ? values.map(single) : values).join('\n').toLowerCase()
      this.#shared.lower.set(field, known)
    }
    if (field !== 'to' || this.#recipient === '') return known
    this.#lowerTo ??= `${known}\n${this.#recipient.toLowerCase()}`
    return this.#lowerTo
  }

  #read(field: FilterField): readonly string[] {
    const values = field === 'text' ? [this.#shared.text ?? this.#parts.text ?? ''] : this.#header(field)
    // An absent text may still be read for another recipient.
    if (field !== 'text' || this.#shared.text !== undefined || this.#parts.text !== undefined) {
      this.#shared.values.set(field, values)
    }
    return values
  }

  #header(field: Exclude<FilterField, 'text'>): string[] {
    const { header } = this.#parts
    const values: string[] = []
    let left = limits.filter.headerCharactersMax
    for (const key of keysOf[field]) {
      for (const value of header.all(key)) {
        if (left <= 0) return values
        const whole = single(value).slice(0, left)
        values.push(field === 'listId' ? insideBrackets(whole) : withUnicode(whole))
        left -= whole.length
      }
    }
    return values
  }
}

const keysOf: Readonly<Record<Exclude<FilterField, 'text'>, readonly string[]>> = {
  from: ['from', 'sender'],
  to: ['to', 'cc', 'delivered-to'],
  subject: ['subject'],
  listId: ['list-id'],
}

/** A value and, where a domain in it is encoded, the value with the domain in unicode behind it. */
function withUnicode(value: string): string {
  const decoded = domainsToUnicode(value)
  return decoded === value ? value : `${value} ${decoded}`
}

/** What several matching filters do together: the first to set a key decides it, targets are united (6.4). */
export function combine(rules: readonly FilterRule[]): { action: FilterAction; decided: Record<string, string> } {
  const action: FilterAction = {}
  const decided: Record<string, string> = {}
  const targets = new Map<string, string>()
  for (const { id, action: own } of rules) {
    for (const key of ['seen', 'flag', 'delete', 'spam', 'mailbox'] as const) {
      const value = own[key]
      if (value === undefined || value === null || value === '' || key in action) continue
      Object.assign(action, { [key]: value })
      decided[key] = id
    }
    for (const target of own.targets ?? []) if (!targets.has(target)) targets.set(target, id)
  }
  if (targets.size > 0) action.targets = [...targets.keys()]
  for (const [target, id] of targets) decided[`target ${target}`] = id
  return { action, decided }
}
