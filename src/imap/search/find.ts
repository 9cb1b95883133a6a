// Going through a folder for a search: the database leaves out what it can, rows and summaries decide most of the rest,
// and what needs the text of messages is scanned on another thread.
//
// The loop is let go between slices of rows; the order is that of the view.

import { limits } from '#lib/limits.ts'
import { joinRanges } from '#mail/numbers.ts'
import { type Listed, type ListedRow, listSome, type UidSlice } from '#store/mailboxes/listing.ts'
import { slicesOf } from '../command/fetch.ts'
import type { Places, View } from '../selected/view.ts'
import type { Session } from '../session.ts'
import type { Key } from './criteria.ts'
import { Candidate, eachKey, isTextKey, judge, judgementOf, summaryWords, type TextKey } from './match.ts'

/** A message that fits. */
export interface Found {
  readonly uid: number
  readonly seq: number
  readonly modseq: number
}

/** Every message of the view that fits, in the order of the view. */
export async function find(session: Session, view: View, key: Key): Promise<Found[]> {
  const texts = [...eachKey(key)].filter(isTextKey)
  const listed = listedFor(key, texts.length > 0)
  const on = judgementOf(view, key)
  const words = summaryWords(key)
  const found: Found[] = []
  for (const rows of slicesOfRows(session, view, key, listed, words)) {
    const open: Candidate[] = []
    const settled: Candidate[] = []
    for (const row of rows) {
      const seq = view.seqOf(row[0])
      if (seq === 0) continue
      const candidate = new Candidate(row, seq, texts.length > 0)
      const verdict = judge(key, candidate, on)
      if (verdict === undefined) open.push(candidate)
      if (verdict !== false) settled.push(candidate)
      if (session.pace.spent) await session.rest()
    }
    if (open.length > 0) await lookInto(session, open, texts)
    for (const candidate of settled) {
      const { row, seq } = candidate
      if (texts.length === 0 || judge(key, candidate, on) === true) {
        found.push({ uid: row[0], seq, modseq: row[1] })
      }
    }
    if (session.pace.spent) await session.rest()
  }
  return found
}

/** Rows of one slice after the other. */
function* slicesOfRows(
  session: Session,
  view: View,
  key: Key,
  listed: Listed,
  words: readonly string[],
): Generator<ListedRow[]> {
  const { read } = session.user.handle
  // What the database leaves out takes its time all the same.
  const length = words.length > 0 ? sliceFiltered : limits.imap.sliceRows
  for (const slice of slicesOf(view, placesFor(view, key), length)) {
    for (let left: UidSlice | undefined = slice; left !== undefined; ) {
      const { rows, rest } = listSome(read, view.num, listed, left, 0, words, limits.imap.sliceLength)
      yield rows
      left = rest
    }
  }
}

const sliceFiltered = limits.imap.sliceRows / 2

function listedFor(key: Key, texts: boolean): Listed {
  let facts = texts
  let reads = false
  for (const one of eachKey(key)) {
    if (['idate', 'saved', 'size', 'emailid', 'threadid'].includes(one.op)) facts = true
    if (one.op === 'sent' || one.op === 'address' || one.op === 'subject') reads = true
  }
  return { facts, envelope: false, bodystructure: false, summary: reads, detail: false }
}

/** The places worth looking at: a set that every message must be in leaves the others out. */
function placesFor(view: View, key: Key): Places {
  const keys = key.op === 'and' ? key.keys : [key]
  const [first] = keys.flatMap(one => (one.op === 'set' ? [view.resolve(one.set, one.byUid)] : []))
  return first ?? (view.total === 0 ? [] : joinRanges([[0, view.total - 1]]))
}

/** Has the texts of messages looked at, and notes what was found. */
async function lookInto(session: Session, open: readonly Candidate[], keys: readonly TextKey[]): Promise<void> {
  const needles = keys.map(key => ({
    where: key.op === 'header' ? key.name : key.op,
    text: key.needle,
    header: key.op === 'header',
  }))
  const headers = needles.some(needle => needle.header || needle.where === 'text')
  const { num, id } = session.user
  const answers: number[] = []
  while (answers.length < open.length) {
    const some = open.slice(answers.length, answers.length + limits.imap.scanMessages)
    const task = {
      user: num,
      bodies: some.map(({ row }) => row[9]),
      prefixes: headers ? some.map(({ row }) => row[10]) : [],
      needles,
      long: some.some(({ row }) => row[6] > limits.mime.textBytesMax),
    }
    // As many as it came to in some time.
    answers.push(...(await session.services.scan(task, { lane: id, signal: session.connection.gone.signal })))
  }
  for (const [index, candidate] of open.entries()) {
    // A message that went meanwhile has no text.
    const bits = answers[index] ?? 0
    for (const [at, key] of keys.entries()) candidate.texts?.set(key, (bits & (1 << at)) !== 0)
  }
}
