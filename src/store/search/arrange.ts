// Messages of a folder in another order, and in threads (RFC 5256, 5957), for whoever has found them already.
//
// Belongs on the thread for long reads. Stored summaries are read some at a time and only what is compared is kept of
// them, so memory is bounded: where strangers wrote very long subjects or lists of references into very many messages,
// less of each is looked at. Messages that went meanwhile are left out.

import { limits } from '#lib/limits.ts'
import type { Slices } from '#lib/pace.ts'
import type { Address } from '#mail/address/address.ts'
import { comparableId } from '#mail/header/message-id.ts'
import { casemapKey } from '#mail/text/collate.ts'
import { baseSubject } from '#mail/text/subject.ts'
import {
  closing,
  opening,
  sortPlaces,
  type ThreadFacts,
  threadByReferences,
  threadBySubject,
} from '#mail/thread/threading.ts'
import type { Reader } from '../engine/reader.ts'
import { column, type Listed, type ListedRow, listSome, type UidSlice } from '../mailboxes/listing.ts'
import { type StoredSummary, summaryOf } from '../mailboxes/outlines.ts'

export { closing, opening }

export const sortNames = [
  ...(['ARRIVAL', 'CC', 'DATE', 'FROM', 'SIZE', 'SUBJECT', 'TO', 'DISPLAYFROM', 'DISPLAYTO'] as const),
]

export interface SortKey {
  readonly by: (typeof sortNames)[number]
  readonly reverse: boolean
}

export interface SortTask {
  /** Number of the folder. */
  readonly mailbox: number
  /** Rising. */
  readonly uids: Uint32Array
  readonly keys: readonly SortKey[]
}

export interface ThreadTask {
  readonly mailbox: number
  /** Rising. */
  readonly uids: Uint32Array
  readonly algorithm: 'REFERENCES' | 'ORDEREDSUBJECT'
}

/** Places in `uids`, in the order of the keys and at last of the places. */
export async function sortMessages(
  read: Reader,
  { mailbox, uids, keys }: SortTask,
  slices: Slices,
): Promise<Uint32Array> {
  const columns = keys.map(({ by }) => (texts.has(by) ? new TextColumn(uids.length) : new NumberColumn(uids.length)))
  const wide = keys.some(({ by }) => by !== 'ARRIVAL' && by !== 'SIZE')
  const there: number[] = []
  for await (const [place, row] of rowsOf(read, mailbox, uids, wide, slices)) {
    const summary = wide ? summaryOf(row[column.summary]) : undefined
    for (const [at, { by }] of keys.entries()) columns[at]?.set(place, sortValue(row, summary, by))
    there.push(place)
  }
  const compare = (left: number, right: number) => {
    for (const [at, column] of columns.entries()) {
      const order = column.compare(left, right)
      if (order !== 0) return keys[at]?.reverse === true ? -order : order
    }
    return left - right
  }
  return sortPlaces(Uint32Array.from(there), compare, slices)
}

/** Threads as places in `uids` between `opening` and `closing`. */
export async function threadMessages(
  read: Reader,
  { mailbox, uids, algorithm }: ThreadTask,
  slices: Slices,
): Promise<Int32Array> {
  const gathered = new Gathered(uids.length)
  const places: number[] = []
  for await (const [place, row] of rowsOf(read, mailbox, uids, true, slices)) {
    gathered.add(summaryOf(row[column.summary]), row[column.idate], algorithm === 'REFERENCES')
    places.push(place)
  }
  const threads =
    algorithm === 'REFERENCES'
      ? await threadByReferences(gathered.referenceFacts(), slices)
      : await threadBySubject(gathered.facts(), slices)
  // The algorithm counts those that are there.
  return places.length === uids.length ? threads : threads.map(one => (one < 0 ? one : (places[one] as number)))
}

/** Uids that are looked up together. */
const sliceLength = 500

async function* rowsOf(
  read: Reader,
  mailbox: number,
  uids: Uint32Array,
  summary: boolean,
  slices: Slices,
): AsyncGenerator<[place: number, row: ListedRow]> {
  const listed: Listed = { facts: true, envelope: false, bodystructure: false, summary, detail: false }
  let place = 0
  for (let at = 0; at < uids.length; at += sliceLength) {
    let left: UidSlice | undefined = { uids: [...uids.subarray(at, at + sliceLength)] }
    while (left !== undefined) {
      const { rows, rest } = await listSome(read, mailbox, listed, left, 0, [], limits.imap.sliceLength)
      for (const row of rows) {
        while (uids[place] !== row[column.uid]) place += 1
        yield [place, row]
      }
      left = rest
      if (slices.spent) await slices.turn()
    }
  }
}

const texts: ReadonlySet<SortKey['by']> = new Set(['CC', 'FROM', 'SUBJECT', 'TO', 'DISPLAYFROM', 'DISPLAYTO'])

function sortValue(row: ListedRow, summary: StoredSummary | undefined, by: SortKey['by']): string | number {
  if (by === 'ARRIVAL') return row[column.idate]
  if (by === 'SIZE' || summary === undefined) return row[column.size]
  switch (by) {
    case 'DATE':
      // RFC 5256 2.2: the Date field, else when it arrived.
      return summary.date ?? row[column.idate]
    case 'SUBJECT':
      return baseSubject(summary.subject).base
    case 'DISPLAYFROM':
    case 'DISPLAYTO':
      return displayed(by === 'DISPLAYFROM' ? summary.from : summary.to)
    default:
      return firstMailbox(summary[by === 'CC' ? 'cc' : by === 'FROM' ? 'from' : 'to'])
  }
}

/** The local part of the first address, of a group its name (RFC 5256 3; addr-mailbox of ENVELOPE). */
function firstMailbox([first]: readonly Address[]): string {
  if (first === undefined) return ''
  if ('group' in first) return first.name
  const at = first.address.lastIndexOf('@')
  return at < 0 ? first.address : first.address.slice(0, at)
}

/** What is shown of the first address (RFC 5957 3). */
function displayed([first]: readonly Address[]): string {
  if (first === undefined) return ''
  return 'group' in first || first.name !== '' ? first.name : first.address
}

class NumberColumn {
  readonly #values: Float64Array

  constructor(count: number) {
    this.#values = new Float64Array(count)
  }

  set(place: number, value: string | number): void {
    this.#values[place] = Number(value)
  }

  compare(left: number, right: number): number {
    return (this.#values[left] as number) - (this.#values[right] as number)
  }
}

/** Texts by i;unicode-casemap. When they become too much, so much less is kept of each. */
class TextColumn {
  readonly #keys: string[]
  #length = 0
  #lengthMax: number = limits.search.sortKeyLengthMax

  constructor(count: number) {
    this.#keys = new Array<string>(count).fill('')
  }

  set(place: number, value: string | number): void {
    const key = this.#cut(casemapKey(String(value).slice(0, this.#lengthMax)))
    this.#keys[place] = key
    this.#length += key.length
    if (this.#length <= limits.search.sortKeysLengthMax) return
    this.#lengthMax = Math.max(1, this.#lengthMax >> 1)
    this.#length = 0
    for (const [at, one] of this.#keys.entries()) {
      const shorter = this.#cut(one)
      this.#keys[at] = shorter
      this.#length += shorter.length
    }
  }

  compare(left: number, right: number): number {
    const [one, other] = [this.#keys[left] as string, this.#keys[right] as string]
    return one < other ? -1 : one > other ? 1 : 0
  }

  /** Anew from its bytes: a piece of a text keeps the whole alive. */
  #cut(key: string): string {
    return Buffer.from(key.slice(0, this.#lengthMax), 'utf16le').toString('utf16le')
  }
}

/** What threading knows of messages, in the order in which they come. */
class Gathered {
  readonly #dates: Float64Array
  readonly #subjects: Float64Array
  readonly #answers: Uint8Array
  readonly #ids: Float64Array
  readonly #starts: Uint32Array
  #references = new Float64Array(1024)
  #count = 0
  #perMessage: number = limits.mime.referencesMax

  constructor(countMax: number) {
    this.#dates = new Float64Array(countMax)
    this.#subjects = new Float64Array(countMax)
    this.#answers = new Uint8Array(countMax)
    this.#ids = new Float64Array(countMax)
    this.#starts = new Uint32Array(countMax + 1)
  }

  add({ date, subject, messageId, references }: StoredSummary, arrived: number, withReferences: boolean): void {
    const place = this.#count
    const { base, answers } = baseSubject(subject)
    this.#dates[place] = date ?? arrived
    this.#subjects[place] = base === '' ? 0 : numberOf(casemapKey(base))
    this.#answers[place] = answers ? 1 : 0
    this.#ids[place] = messageId === '' ? 0 : numberOf(comparableId(messageId))
    this.#count += 1
    const end = this.#starts[place] as number
    this.#starts[place + 1] = end
    if (withReferences) this.#refer(references)
  }

  facts(): ThreadFacts {
    return { count: this.#count, dates: this.#dates, subjects: this.#subjects, answers: this.#answers }
  }

  referenceFacts(): Parameters<typeof threadByReferences>[0] {
    const references = this.#references.subarray(0, this.#starts[this.#count])
    return { ...this.facts(), ids: this.#ids, starts: this.#starts, references }
  }

  /** The last ones matter most: the very last is what the message answers. */
  #refer(ids: readonly string[]): void {
    let end = this.#starts[this.#count] as number
    for (const id of ids.slice(-this.#perMessage)) {
      if (end === this.#references.length) {
        const larger = new Float64Array(end * 2)
        larger.set(this.#references)
        this.#references = larger
      }
      this.#references[end++] = numberOf(comparableId(id))
    }
    this.#starts[this.#count] = end
    while (end > limits.search.threadReferencesMax && this.#perMessage > 1) end = this.#forget()
  }

  /** Keeps half as many of each message. */
  #forget(): number {
    this.#perMessage >>= 1
    let to = 0
    let from = 0
    for (let place = 0; place < this.#count; place++) {
      const end = this.#starts[place + 1] as number
      const first = Math.max(from, end - this.#perMessage)
      this.#references.copyWithin(to, first, end)
      to += end - first
      from = end
      this.#starts[place + 1] = to
    }
    return to
  }
}

/** A number above 0 for a text: 53 bits, so that equal ones mean equal texts. */
function numberOf(text: string): number {
  let one = 0xdeadbeef
  let other = 0x41c6ce57
  for (let at = 0; at < text.length; at++) {
    const unit = text.charCodeAt(at)
    one = Math.imul(one ^ unit, 2_654_435_761)
    other = Math.imul(other ^ unit, 1_597_334_677)
  }
  one = Math.imul(one ^ (one >>> 16), 2_246_822_507) ^ Math.imul(other ^ (other >>> 13), 3_266_489_909)
  other = Math.imul(other ^ (other >>> 16), 2_246_822_507) ^ Math.imul(one ^ (one >>> 13), 3_266_489_909)
  return 4_294_967_296 * (other & 0x1fffff) + (one >>> 0) || 1
}
