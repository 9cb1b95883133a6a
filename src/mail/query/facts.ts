// What the leaves of a query say about a message by its row, and by the summary that was stored when it arrived.
//
// Addresses stand in a summary as names and addresses; they are compared as a reader sees them: as a header writes them
// (`substring`), or as words with white space single (`words`). Each text is made once, however many leaves look at it.

import { numberId } from '#lib/id.ts'
import { limits } from '#lib/limits.ts'
import { type Address, isGroup } from '../address/address.ts'
import { parseDay } from '../header/date.ts'
import type { Summary } from '../mime/outline.ts'
import { inRanges } from '../numbers.ts'
import { fold, squeeze } from '../text/fold.ts'
import type { Verdict } from './judge.ts'
import type { RowLeaf, SummaryField, SummaryLeaf, WordsLeaf } from './query.ts'

/** A message's row, by whatever listing it was read. */
export interface RowFacts {
  readonly uid: number
  /** 0 where there is no view. */
  readonly seq: number
  readonly recent: boolean
  readonly modseq: number
  readonly flags: number
  readonly keywords: string | null
  /** Internal date, milliseconds. */
  readonly arrived: number
  readonly saved: number
  readonly size: number
  readonly thread: number
  readonly emailId: string
  readonly attachments: boolean
}

export function byRow(leaf: RowLeaf, row: RowFacts): boolean {
  switch (leaf.op) {
    case 'constant':
      return leaf.value
    case 'flag':
      return (row.flags & leaf.bit) !== 0
    case 'keyword':
      return row.keywords?.toLowerCase().split(' ').includes(leaf.word) === true
    case 'recent':
      return row.recent
    case 'uid':
    case 'seq':
      return inRanges(leaf.ranges, leaf.op === 'uid' ? row.uid : row.seq)
    case 'date':
      return row.arrived >= leaf.from && row.arrived <= leaf.to
    case 'saved':
      return row.saved >= leaf.from && row.saved <= leaf.to
    case 'size':
      return row.size >= leaf.min && row.size <= leaf.max
    case 'modseq':
      return row.modseq >= leaf.from
    case 'email':
      return row.emailId === leaf.id
    case 'thread':
      return numberId(row.thread) === leaf.id
    case 'attachments':
      return row.attachments
  }
}

/** Header fields that a summary has, by their names in lower case. */
export const namedFields: readonly string[] = ['from', 'to', 'cc', 'bcc', 'subject'] satisfies SummaryField[]

/** What stands between the signs that fields of addresses are written with; of a folded text. */
export function wordsOfField(text: string): string[] {
  return text.split(/[\s\0"(),:;<>[\\\]]+/).filter(word => word !== '')
}

/** The part of a stored summary that texts are made of. */
export interface Described extends Summary {
  /** The Date field as written. */
  readonly dateText?: string
  /** The message has no Message-ID: the one here was made when it arrived. */
  readonly madeId?: boolean
  readonly attachments: readonly { readonly filename: string }[]
}

/** The texts of a summary. */
export class SummaryTexts {
  readonly #summary: Described
  readonly #written = new Map<SummaryField, string>()
  readonly #words = new Map<SummaryField | 'other', string>()

  constructor(summary: Described) {
    this.#summary = summary
  }

  holds(leaf: SummaryLeaf): boolean {
    if (leaf.op === 'substring') {
      const { in: field, needle } = leaf
      return (field === 'subject' || this.#summary[field].length > 0) && this.#folded(field).includes(needle)
    }
    const date = sentDay(this.#summary)
    return date !== null && date >= leaf.from && date <= leaf.to
  }

  /** Whether words stand in the fields they are looked for in; undefined where the message's text may have them, too. */
  hasWords({ in: where, needle }: WordsLeaf): Verdict {
    const fields =
      where === 'anywhere' ? wordFields : where === 'said' ? said : where === 'recipients' ? recipients : [where]
    if (fields.some(field => this.#squeezed(field).includes(needle))) return true
    return where === 'anywhere' || where === 'said' ? undefined : false
  }

  /** Everything that words are looked for in, squeezed. */
  all(): string[] {
    return wordFields.map(field => this.#squeezed(field))
  }

  #folded(field: SummaryField): string {
    const known = this.#written.get(field)
    if (known !== undefined) return known
    const text = fold(field === 'subject' ? this.#summary.subject : addressText(this.#summary[field]))
    this.#written.set(field, text)
    return text
  }

  #squeezed(field: SummaryField | 'other'): string {
    const known = this.#words.get(field)
    if (known !== undefined) return known
    const text =
      field === 'subject'
        ? squeeze(this.#summary.subject)
        : field === 'other'
          ? otherWords(this.#summary)
          : people(this.#summary[field])
    this.#words.set(field, text)
    return text
  }
}

const recipients = ['to', 'cc', 'bcc'] as const
const said = ['subject'] as const
const wordFields = ['subject', 'from', ...recipients, 'other'] as const

/** Sender, Reply-To, ids, names of attachments. */
function otherWords({ sender, replyTo, messageId, madeId = false, list, attachments }: Described): string {
  return [
    people([...sender, ...replyTo]),
    madeId ? '' : messageId,
    list?.id?.address ?? '',
    list?.id?.name ?? '',
    ...attachments.map(({ filename }) => filename),
  ]
    .map(squeeze)
    .join('\n')
}

function people(addresses: readonly Address[]): string {
  const all = addresses.flatMap(one => (isGroup(one) ? [one.name, ...one.group.map(named)] : [named(one)]))
  return squeeze(all.join(', '))
}

function named({ name, address }: { name: string; address: string }): string {
  return name === '' ? address : `${name} <${address}>`
}

/** Addresses as a header writes them. */
function addressText(list: readonly Address[]): string {
  return list
    .map(one => (isGroup(one) ? `${one.name}: ${addressText(one.group)};` : `${one.name} <${one.address}>`))
    .join(', ')
}

/** The day in the Date field, whatever its time and zone (RFC 9051 6.4.4), as midnight UTC. */
function sentDay({ date: known, dateText = '' }: Described): number | null {
  return parseDay(dateText) ?? (known === null ? null : Math.floor(known / limits.time.day) * limits.time.day)
}
