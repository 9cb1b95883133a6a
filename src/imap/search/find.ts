// Going through a folder for a search: the database leaves out what it can, rows and summaries decide most of the rest,
// and what needs the text of messages is scanned on another thread.
//
// The loop is let go between slices of rows; the order is that of the view.

import { limits } from '#lib/limits.ts'
import { joinRanges } from '#mail/numbers.ts'
import { type Listed, listRows } from '#store/listing.ts'
import { slicesOf } from '../command/fetch.ts'
import type { Session } from '../session.ts'
import { breathe } from '../slice.ts'
import type { Places, View } from '../view.ts'
import type { Key } from './criteria.ts'
import { type Candidate, eachKey, isTextKey, type Judgement, judge, summaryWords, type TextKey } from './match.ts'

/** A message that fits. */
export interface Found {
  readonly uid: number
  readonly seq: number
  readonly modseq: number
  readonly candidate: Candidate
}

/**
 * Every message of the view that fits, in the order of the view.
 *
 * @param needs what the caller wants to know of those that fit (for sorting)
 */
export async function find(session: Session, view: View, key: Key, needs: { summary: boolean }): Promise<Found[]> {
  const texts = [...eachKey(key)].filter(isTextKey)
  const listed = listedFor(key, needs.summary, texts.length > 0)
  const on: Judgement = { view, lastUid: view.total === 0 ? 0 : view.uidAt(view.total - 1) }
  const words = summaryWords(key)
  const found: Found[] = []
  for (const slice of slicesOf(view, placesFor(view, key), listed.summary ? sliceWide : sliceNarrow)) {
    const rows = listRows(session.user.door.read, view.num, listed, slice, 0, words)
    const open: Candidate[] = []
    const settled: Candidate[] = []
    for (const row of rows) {
      const seq = view.seqOf(row[0])
      if (seq === 0) continue
      const candidate: Candidate = { row, seq, summary: undefined, texts: texts.length > 0 ? new Map() : undefined }
      const verdict = judge(key, candidate, on)
      if (verdict === undefined) open.push(candidate)
      if (verdict !== false) settled.push(candidate)
    }
    if (open.length > 0) await lookInto(session, open, texts)
    for (const candidate of settled) {
      const { row, seq } = candidate
      if (texts.length === 0 || judge(key, candidate, on) === true) {
        found.push({ uid: row[0], seq, modseq: row[1], candidate })
      }
    }
    await breathe()
  }
  return found
}

/** Rows looked through before the loop is let go, without and with the summary. */
const sliceNarrow = 4 * limits.imap.sliceRows
const sliceWide = 2 * limits.imap.sliceRows

function listedFor(key: Key, summary: boolean, texts: boolean): Listed {
  let facts = texts
  let reads = summary
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
  for (let at = 0; at < open.length; at += limits.imap.scanMessages) {
    const some = open.slice(at, at + limits.imap.scanMessages)
    const task = {
      user: num,
      bodies: some.map(({ row }) => row[9]),
      prefixes: headers ? some.map(({ row }) => row[10]) : [],
      needles,
      long: some.some(({ row }) => row[6] > limits.mime.textBytesMax),
    }
    answers.push(...(await session.services.scan(task, { lane: id })))
  }
  for (const [index, candidate] of open.entries()) {
    // A message that went meanwhile has no text.
    const bits = answers[index] ?? 0
    for (const [at, key] of keys.entries()) candidate.texts?.set(key, (bits & (1 << at)) !== 0)
  }
}
