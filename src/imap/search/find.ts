// Going through a folder for a search: the database leaves out what it can, rows and summaries decide most of the rest,
// and what needs the text of messages is scanned on another thread.
//
// The loop is let go between slices of rows; the order is that of the view.

import { limits } from '#lib/limits.ts'
import { systemFlags } from '#mail/flags.ts'
import { joinRanges, resolveNumbers, toRanges } from '#mail/numbers.ts'
import { byRow, SummaryTexts } from '#mail/query/facts.ts'
import { judge, type Verdict } from '#mail/query/judge.ts'
import { eachLeaf, mapLeaves, type Query, requiredLeaves, someLeaf, type TextLeaf } from '#mail/query/query.ts'
import { column, type ListedRow, type UidSlice } from '#store/mailboxes/listing.ts'
import { type StoredSummary, summaryOf } from '#store/mailboxes/outlines.ts'
import { StoredFacts } from '#store/mailboxes/stored-facts.ts'
import { indexedPart, looksAtHeaders, planRows, type RowPlan } from '#store/search/plan.ts'
import { slicesOf } from '../selected/slices.ts'
import type { Places, View } from '../selected/view.ts'
import type { Session } from '../session.ts'
import type { Criterion, Key, SetLeaf } from './criteria.ts'

/** A message that fits. */
export interface Found {
  readonly uid: number
  readonly seq: number
  readonly modseq: number
}

/** Every message of the view that fits, in the order of the view. */
export async function find(session: Session, view: View, key: Key): Promise<Found[]> {
  for (const leaf of eachLeaf(key)) if (leaf.op === 'set' && leaf.byUid) await session.meet(leaf.set)
  await view.load()
  const query = mapLeaves(key, leaf => (leaf.op === 'set' ? setOf(view, leaf) : leaf))
  const combinations = flagCombinations(query)
  if (combinations !== undefined) return findByFlags(session, view, combinations)
  const plan = planRows(query)
  const { texts } = plan
  const found: Found[] = []
  for await (const rows of slicesOfRows(view, await placesFor(session, view, key, query), plan)) {
    const open: Candidate[] = []
    const settled: Candidate[] = []
    for (const row of rows) {
      const seq = view.seqOf(row[column.uid])
      if (seq === 0) continue
      const candidate = new Candidate(row, seq, view)
      const verdict = judge(query, verdictOf, candidate)
      if (verdict === undefined) open.push(candidate)
      if (verdict !== false) settled.push(candidate)
      if (session.pace.spent) await session.rest()
    }
    if (open.length > 0) await lookInto(session, open, texts)
    for (const candidate of settled) {
      const { row, seq } = candidate
      if (texts.length === 0 || judge(query, verdictOf, candidate) === true)
        found.push({ uid: row[column.uid], seq, modseq: row[column.modseq] })
    }
    if (session.pace.spent) await session.rest()
  }
  return found
}

/** Combinations of system flags that fit, a bit each; undefined where something else is asked for, too. */
function flagCombinations(query: Query<Criterion>): number | undefined {
  if (someLeaf(query, ({ op }) => op !== 'flag')) return undefined
  let combinations = 0
  for (let flags = 0; flags <= systemFlags; flags++) {
    if (judge(query, (leaf: Criterion, bits: number) => leaf.op === 'flag' && (bits & leaf.bit) !== 0, flags) === true)
      combinations += 2 ** flags
  }
  return combinations
}

/** What flags alone decide: most searches of programs. */
async function findByFlags(session: Session, view: View, combinations: number): Promise<Found[]> {
  const found: Found[] = []
  let last = 0
  for (;;) {
    // Whatever happened while others had their turn.
    const index = await view.rows.flags(session.pace)
    const { uids, flags, modseqs, length } = index
    let at = index.placeOf(last + 1)
    for (const end = Math.min(length, at + sliceFlags); at < end; at++) {
      last = uids[at] as number
      if (((combinations >>> ((flags[at] as number) & systemFlags)) & 1) === 0) continue
      const seq = view.seqOf(last)
      if (seq > 0) found.push({ uid: last, seq, modseq: modseqs[at] as number })
    }
    if (at >= length) return found
    if (session.pace.spent) await session.rest()
  }
}

/** Messages whose flags are looked at in one go. */
const sliceFlags = 5000

/** What a set of numbers means in a view now. */
function setOf(view: View, { byUid, set }: SetLeaf): Query<Criterion> {
  const last = !byUid ? view.total : view.total === 0 ? 0 : view.uidAt(view.total - 1)
  const numbers = set.filter(item => item !== 'saved')
  const named: Criterion = { op: byUid ? 'uid' : 'seq', ranges: resolveNumbers(numbers, last) }
  if (numbers.length === set.length) return named
  const saved: Criterion = { op: 'uid', ranges: toRanges(view.saved) }
  return numbers.length === 0 ? saved : { op: 'or', of: [named, saved] }
}

/** What a search knows of one message. */
class Candidate extends StoredFacts<ListedRow> {
  readonly seq: number
  readonly #view: View
  /** Text leaves that were looked at, and whether they hold. */
  #texts: Map<TextLeaf, boolean> | undefined
  #summary: StoredSummary | undefined
  #summaryTexts: SummaryTexts | undefined

  constructor(row: ListedRow, seq: number, view: View) {
    super(row)
    this.seq = seq
    this.#view = view
  }

  note(leaf: TextLeaf, holds: boolean): void {
    this.#texts ??= new Map()
    this.#texts.set(leaf, holds)
  }

  verdict(leaf: Criterion): Verdict {
    switch (leaf.op) {
      case 'content':
      case 'header':
        return this.#texts?.get(leaf)
      case 'sent':
      case 'substring':
        this.#summaryTexts ??= new SummaryTexts(this.#parsed())
        return this.#summaryTexts.holds(leaf)
      default:
        return byRow(leaf, this)
    }
  }

  get recent() {
    return this.#view.isRecent(this.uid)
  }

  get attachments() {
    return this.#parsed().attachments.some(({ related }) => !related)
  }

  /** The stored summary, parsed on first use. */
  #parsed(): StoredSummary {
    this.#summary ??= summaryOf(this.row[column.summary])
    return this.#summary
  }
}

function verdictOf(leaf: Criterion, candidate: Candidate): Verdict {
  return candidate.verdict(leaf)
}

/** Rows of one slice after the other. */
async function* slicesOfRows(
  view: View,
  places: Places,
  { facts, summary, words }: RowPlan,
): AsyncGenerator<ListedRow[]> {
  const listed = { facts, envelope: false, bodystructure: false, summary, detail: false }
  // What the database leaves out takes its time all the same.
  const length = words.length > 0 ? sliceFiltered : limits.imap.sliceRows
  for (const slice of slicesOf(view, places, length)) {
    for (let left: UidSlice | undefined = slice; left !== undefined; ) {
      const { rows, rest } = await view.rows.someRows(listed, left, 0, words)
      yield rows
      left = rest
    }
  }
}

const sliceFiltered = limits.imap.sliceRows / 2

/** The places worth looking at: what the index names, or else those of a set that every message must be in. */
async function placesFor(session: Session, view: View, key: Key, query: Query<Criterion>): Promise<Places> {
  const part = view.total > limits.imap.sliceRows ? indexedPart(query) : null
  if (part !== null) {
    const task = { mailbox: view.num, query: part, total: view.total }
    const uids = await session.mail.candidates(task, session.connection.gone.signal)
    if (uids !== null) return placesOf(view, uids)
  }
  const leaf = requiredLeaves(key).find(one => one.op === 'set')
  const first = leaf === undefined ? undefined : await view.resolve(leaf.set, leaf.byUid)
  return first ?? (view.total === 0 ? [] : joinRanges([[0, view.total - 1]]))
}

/** Where messages stand in a view; nowhere what the client was not told of. */
function placesOf(view: View, uids: Uint32Array): Places {
  const places: number[] = []
  for (const uid of uids) {
    const seq = view.seqOf(uid)
    if (seq > 0) places.push(seq - 1)
  }
  return toRanges(places)
}

/** Has the texts of messages looked at, and notes what was found. */
async function lookInto(session: Session, open: readonly Candidate[], leaves: readonly TextLeaf[]): Promise<void> {
  const headers = leaves.some(looksAtHeaders)
  const answers: number[] = []
  while (answers.length < open.length) {
    const some = open.slice(answers.length, answers.length + limits.imap.scanMessages)
    const task = {
      bodies: some.map(({ row }) => row[column.body]),
      prefixes: headers ? some.map(({ row }) => row[column.prefix]) : [],
      leaves,
    }
    // As many as it came to in some time.
    answers.push(...(await session.mail.scan(task, session.connection.gone.signal)))
  }
  for (const [index, candidate] of open.entries()) {
    // A message that went meanwhile has no text.
    const bits = answers[index] ?? 0
    for (const [at, leaf] of leaves.entries()) candidate.note(leaf, (bits & (1 << at)) !== 0)
  }
}
