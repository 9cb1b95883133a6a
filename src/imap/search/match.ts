// Whether a message fits a tree of criteria, with as little of the message as it takes.
//
// A judgement has three values: yes, no, and not yet, when a criterion needs text that was not looked at. So a folder is
// gone through by its rows and stored summaries first, and only what is still open has its bytes read.

import type { Address } from '#mail/address/address.ts'
import { parseDate } from '#mail/header/date.ts'
import { inRanges, type Ranges, resolveNumbers } from '#mail/numbers.ts'
import { fold } from '#mail/text/fold.ts'
import type { ListedRow } from '#store/mailboxes/listing.ts'
import type { StoredSummary } from '#store/mailboxes/outlines.ts'
import type { View } from '../selected/view.ts'
import { emailIdOf } from '../wire/item.ts'
import type { Key } from './criteria.ts'

/** Criteria that need the text of a message. */
export type TextKey = Extract<Key, { op: 'body' | 'text' | 'header' }>

/** What a search knows of one message. */
export class Candidate {
  readonly row: ListedRow
  readonly seq: number
  /** Text criteria that were looked at, and whether they hold. */
  readonly texts: Map<TextKey, boolean> | undefined
  #summary: StoredSummary | undefined
  /** Folded once, however many criteria look at them. */
  readonly #folded = new Map<string, string>()

  /** @param texts whether some criteria need the text of messages */
  constructor(row: ListedRow, seq: number, texts: boolean) {
    this.row = row
    this.seq = seq
    this.texts = texts ? new Map() : undefined
  }

  /** The stored summary, parsed on first use. */
  get summary(): StoredSummary {
    this.#summary ??= JSON.parse(this.row[13]) as StoredSummary
    return this.#summary
  }

  /** What a field says, folded. */
  folded(field: 'subject' | 'from' | 'to' | 'cc' | 'bcc'): string {
    let text = this.#folded.get(field)
    if (text === undefined) {
      const { summary } = this
      text = fold(field === 'subject' ? summary.subject : addressText(summary[field]))
      this.#folded.set(field, text)
    }
    return text
  }
}

export interface Judgement {
  readonly view: View
  /** The numbers of each set in the tree, but for the saved one. */
  readonly sets: ReadonlyMap<Key, Ranges>
}

/** What is the same for all messages. */
export function judgementOf(view: View, key: Key): Judgement {
  const sets = new Map<Key, Ranges>()
  for (const one of eachKey(key)) {
    if (one.op !== 'set' || one.set === 'saved') continue
    const last = !one.byUid ? view.total : view.total === 0 ? 0 : view.uidAt(view.total - 1)
    sets.set(one, resolveNumbers(one.set, last))
  }
  return { view, sets }
}

/** Whether `key` holds; undefined where text decides that is not known yet. */
export function judge(key: Key, candidate: Candidate, on: Judgement): boolean | undefined {
  const { row } = candidate
  switch (key.op) {
    case 'and':
      return all(key.keys, candidate, on)
    case 'or': {
      const left = judge(key.left, candidate, on)
      if (left === true) return true
      const right = judge(key.right, candidate, on)
      return right === true ? true : left === undefined || right === undefined ? undefined : false
    }
    case 'not': {
      const inner = judge(key.key, candidate, on)
      return inner === undefined ? undefined : !inner
    }
    case 'constant':
      return key.value
    case 'set':
      if (key.set === 'saved') return savedSet(on.view).has(row[0])
      return inRanges(on.sets.get(key) ?? [], key.byUid ? row[0] : candidate.seq)
    case 'flag':
      return (row[2] & key.bit) !== 0
    case 'recent':
      return on.view.isRecent(row[0])
    case 'keyword':
      return row[3]?.toLowerCase().split(' ').includes(key.word) === true
    case 'idate':
      return row[5] >= key.from && row[5] < key.to
    case 'saved':
      return row[8] >= key.from && row[8] < key.to
    case 'size':
      return row[6] >= key.min && row[6] <= key.max
    case 'modseq':
      return row[1] >= key.from
    case 'emailid':
      return emailIdOf(row) === key.id
    case 'threadid':
      return row[7] === key.thread
    case 'sent': {
      const date = sentDay(candidate.summary)
      return date !== null && date >= key.from && date < key.to
    }
    default:
      return judgeText(key, candidate)
  }
}

function judgeText(
  key: Extract<Key, { op: 'address' | 'subject' | 'header' | 'body' | 'text' }>,
  candidate: Candidate,
): boolean | undefined {
  switch (key.op) {
    case 'address':
      return candidate.summary[key.field].length > 0 && candidate.folded(key.field).includes(key.needle)
    case 'subject':
      return candidate.folded('subject').includes(key.needle)
    default:
      return candidate.texts?.get(key)
  }
}

function all(keys: readonly Key[], candidate: Candidate, on: Judgement): boolean | undefined {
  let open = false
  for (const key of keys) {
    const one = judge(key, candidate, on)
    if (one === false) return false
    if (one === undefined) open = true
  }
  return open ? undefined : true
}

/** The saved result as a set, made once for each result. */
function savedSet(view: View): ReadonlySet<number> {
  let set = savedSets.get(view.saved)
  if (set === undefined) {
    set = new Set(view.saved)
    savedSets.set(view.saved, set)
  }
  return set
}

const savedSets = new WeakMap<readonly number[], ReadonlySet<number>>()

/** Addresses as a reader sees them. */
function addressText(list: readonly Address[]): string {
  return list
    .map(one => ('group' in one ? `${one.name}: ${addressText(one.group)};` : `${one.name} <${one.address}>`))
    .join(', ')
}

/** The day in the Date field, whatever its time and zone (RFC 9051 6.4.4), as midnight UTC. */
function sentDay(summary: StoredSummary): number | null {
  const match = /(\d{1,2})[\s-]+([A-Za-z]{3})[a-z]*\.?[\s,-]+(\d{4})/.exec(summary.dateText.slice(0, 100))
  const date = match === null ? summary.date : parseDate(`${match[1]} ${match[2]} ${match[3]} 00:00:00 +0000`)
  if (date === null) return null
  return Math.floor(date / 86_400_000) * 86_400_000
}

/** Every criterion in the tree. */
export function* eachKey(key: Key): Generator<Key> {
  yield key
  if (key.op === 'and') for (const one of key.keys) yield* eachKey(one)
  else if (key.op === 'or') {
    yield* eachKey(key.left)
    yield* eachKey(key.right)
  } else if (key.op === 'not') yield* eachKey(key.key)
}

export function isTextKey(key: Key): key is TextKey {
  return key.op === 'body' || key.op === 'text' || key.op === 'header'
}

/**
 * Text that stands in the stored summary of every message that fits, so that the database can leave most rows out. Only
 * plain words: the summary is JSON.
 */
export function summaryWords(key: Key): string[] {
  const keys = key.op === 'and' ? key.keys : [key]
  return keys.flatMap(one => {
    if (one.op !== 'address' && one.op !== 'subject') return []
    return /^[a-z0-9@.+-]{2,200}$/.test(one.needle) ? [one.needle] : []
  })
}
