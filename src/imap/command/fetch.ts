// FETCH and UID FETCH: what a client may ask for, and the loop that answers a slice of messages at a time
// (RFC 9051 6.4.5, 7162, 8474, 8514, 8970, 3516).
//
// Listings come from stored text only; bodies are streamed. The socket is waited for between slices, and others have their
// turn whenever some milliseconds were worked, so neither a slow client nor a large folder, nor one message made to be
// costly, takes memory or time from anybody. Asking for a body without PEEK marks messages seen, a slice in one change.

import { Fault } from '#lib/fault.ts'
import { limits } from '#lib/limits.ts'
import { flag } from '#mail/flags.ts'
import { isListed, pickLines } from '#mail/header/pick.ts'
import { formatRanges, toRanges } from '#mail/numbers.ts'
import { column, type Listed, type ListedRow, type UidSlice } from '#store/mailboxes/listing.ts'
import { command, type Done, inMailbox, someGone } from '../command.ts'
import { answerFlags, flagItemsOf } from '../selected/flag-answers.ts'
import { placeCount, slicesOf } from '../selected/slices.ts'
import { MessageSource } from '../selected/source.ts'
import type { Places, View } from '../selected/view.ts'
import type { Session } from '../session.ts'
import { answerMessage, answerWhole, isWhole } from '../wire/answer.ts'
import { malformed } from '../wire/decoder.ts'
import { type FetchInput, parseFetch } from '../wire/fetch-input.ts'
import type { FetchItem } from '../wire/item.ts'

const fetch = command({
  name: 'FETCH',
  states: inMailbox,
  uid: true,
  expunges: 'uid',
  capabilities: ['BINARY', 'PREVIEW', 'SAVEDATE'],
  parse: parseFetch,
  async run(session, input, byUid) {
    const view = session.selected
    if (input.vanished && !(byUid && session.qresync)) throw malformed('VANISHED needs QRESYNC and UID FETCH')
    if (input.changedSince > 0 || input.items.some(item => item.kind === 'modseq')) session.enable('CONDSTORE')
    // Thousands of items take a slice to be read.
    if (session.pace.spent) await session.rest()
    const places = await session.resolve(input.set, byUid)
    if (input.vanished) await tellVanished(session, view, input)
    return fetchMessages(session, view, places, input, byUid)
  },
})

export const fetchCommands = [fetch]

/** RFC 7162 3.2.6: what went since then, before any FETCH. */
async function tellVanished(session: Session, view: View, input: FetchInput): Promise<void> {
  const gone = await view.goneSince(input.changedSince, input.set)
  if (gone.length > 0) session.out.line(`* VANISHED (EARLIER) ${formatRanges(gone)}`)
}

/** Answers a FETCH for messages at these places. */
export async function fetchMessages(
  session: Session,
  view: View,
  places: Places,
  input: Pick<FetchInput, 'items' | 'changedSince'>,
  byUid: boolean,
): Promise<Done | undefined> {
  const plan = planOf(session, input, byUid)
  const run = { session, view, plan }
  const count = placeCount(places)
  const flagItems = input.changedSince === 0 && count >= limits.imap.indexedMin ? flagItemsOf(plan.items) : undefined
  let answered = flagItems === undefined ? 0 : await answerFlags(session, view, places, flagItems)
  for await (const rows of slicesOfRows(run, flagItems === undefined ? places : [], input.changedSince)) {
    answered += rows.length
    if (plan.bodies) await session.requireTransfer('imapDownload', 0)
    if (plan.marks && !view.readOnly) await markSeen(session, view, rows)
    if (plan.bodies && plan.fields === undefined) answered -= await answerBodies(run, rows)
    else answered -= await answerRows(run, rows)
    if (plan.fields !== undefined) session.mail.transferred('imapDownload', bytesOf(rows))
    await session.out.room()
    if (session.pace.spent) await session.rest()
  }
  if (plan.refused !== undefined) return { no: true, ...plan.refused }
  // RFC 2180 4.1.2: somebody else took some of them away; a uid that is gone is simply not there.
  return !byUid && input.changedSince === 0 && answered < count ? someGone : undefined
}

interface Plan {
  readonly items: readonly FetchItem[]
  readonly listed: Listed
  /** Some item needs the bytes of the message. */
  readonly bodies: boolean
  /** Nothing of the bytes but header fields that rows have ready (mail/header/pick.ts): their names, in lower case. */
  readonly fields: ReadonlyMap<FetchItem, ReadonlySet<string>> | undefined
  /** Fetching sets `\Seen`. */
  readonly marks: boolean
  /** Why some message was left out: its bytes are missing or damaged, or in an encoding that nobody knows. */
  refused: { readonly code: string; readonly text: string } | undefined
}

/** Faults of one message, which keep none of the others from being answered. */
const refusals: Readonly<Record<string, Plan['refused']>> = {
  BodyUnreadable: { code: 'CORRUPTION', text: 'Some of the messages cannot be read' },
  UnknownEncoding: { code: 'UNKNOWN-CTE', text: 'Some of the parts cannot be decoded' },
}

function planOf(session: Session, input: Pick<FetchInput, 'items' | 'changedSince'>, byUid: boolean): Plan {
  const items = [...input.items]
  const has = (kind: FetchItem['kind']) => items.some(item => item.kind === kind)
  if (byUid && !has('uid')) items.unshift({ kind: 'uid' })
  // RFC 7162 3.1.4.1: CHANGEDSINCE implies MODSEQ.
  if (input.changedSince > 0 && !has('modseq')) items.push({ kind: 'modseq' })
  const bodies = items.some(item => item.kind === 'section' || item.kind === 'binary' || item.kind === 'binary.size')
  const marks = items.some(item => (item.kind === 'section' || item.kind === 'binary') && !item.peek)
  if (marks && !has('flags')) items.push({ kind: 'flags', onlyMarked: true })
  // RFC 7162 3.2.4: who counts changes hears the number of each, and of which message it is.
  if (marks && session.condstore && !has('modseq')) items.push({ kind: 'modseq', onlyMarked: true })
  if (marks && session.condstore && !has('uid')) items.push({ kind: 'uid', onlyMarked: true })
  const fields = bodies ? fieldsOf(items) : undefined
  const listed: Listed = {
    facts: bodies || items.some(item => item.kind !== 'uid' && item.kind !== 'flags' && item.kind !== 'modseq'),
    envelope: has('envelope'),
    bodystructure: has('bodystructure'),
    summary: has('preview'),
    // Where the parts lie, unless only whole messages are asked for.
    detail: has('body') || (fields === undefined && items.some(item => 'section' in item && !isWhole(item.section))),
    header: fields !== undefined,
  }
  return { items, listed, bodies, fields, marks: marks && session.view?.readOnly === false, refused: undefined }
}

/** Names of the fields that are asked for, where nothing else is asked of the bytes and rows have them. */
function fieldsOf(items: readonly FetchItem[]): Plan['fields'] {
  const fields = new Map<FetchItem, ReadonlySet<string>>()
  for (const item of items) {
    if (!('section' in item)) continue
    const { part, what, partial, fields: written } = item.section
    const names = written.map(name => name.toLowerCase())
    if (item.kind !== 'section' || part.length > 0 || partial !== undefined) return undefined
    if (what !== 'HEADER.FIELDS' || !isListed(names)) return undefined
    fields.set(item, new Set(names))
  }
  return fields
}

interface FetchRun {
  readonly session: Session
  readonly view: View
  readonly plan: Plan
}

/**
 * The rows of one slice after the other. Where bodies go along and there are many, those of the next slices are read on a
 * thread meanwhile; the first slice waits for nobody.
 */
async function* slicesOfRows(
  { session, view, plan }: FetchRun,
  places: Places,
  changedSince: number,
): AsyncGenerator<ListedRow[]> {
  const { sliceBodies, sliceRows, slicesAhead } = limits.imap
  const reads = plan.bodies && plan.fields === undefined
  const slices = slicesOf(view, places, reads ? sliceBodies : sliceRows)
  const depth = reads && placeCount(places) > sliceBodies ? slicesAhead : 1
  const waiting: { rows: ListedRow[]; read: Promise<void> | undefined }[] = []
  let left: UidSlice | undefined
  for (let first = true; ; first = false) {
    while (waiting.length < depth) {
      const slice: UidSlice | undefined = left ?? slices.next().value ?? undefined
      if (slice === undefined) break
      const { rows, rest } = await view.rows.someRows(plan.listed, slice, changedSince, [])
      left = rest
      const elsewhere = depth > 1 && !(first && waiting.length === 0)
      waiting.push({ rows, read: elsewhere ? session.mail.readAheadElsewhere(gathered(rows)) : undefined })
    }
    const next = waiting.shift()
    if (next === undefined) return
    await next.read
    yield next.rows
  }
}

/**
 * The hot path of every listing: text only, which waits for nobody but for those who had no turn for long. Returns how
 * many were gone when their turn came.
 */
async function answerRows(run: FetchRun, rows: readonly ListedRow[]): Promise<number> {
  const { session, view, plan } = run
  const { out } = session
  const { items, fields } = plan
  let missing = 0
  if (fields !== undefined) {
    const unready = rows.filter(row => row[column.lines] === null)
    if (unready.length > 1) await session.mail.readAhead(gathered(unready))
  }
  for (const row of rows) {
    const seq = view.seqOf(row[column.uid])
    if (seq === 0) continue
    if (fields !== undefined && row[column.lines] === null) {
      missing += await answerUnready(run, row)
      continue
    }
    let text = `* ${seq} FETCH (`
    let first = true
    for (const item of items) {
      const value = item.kind === 'section' ? fieldText(item, fields, row) : itemText(session, item, row)
      if (value === undefined) continue
      text += first ? value : ` ${value}`
      first = false
    }
    out.text(`${text})\r\n`)
    if (session.pace.spent) {
      await out.room()
      await session.rest()
    }
  }
  return missing
}

/** Some header fields of a message, of lines that are ready. */
function fieldText(item: FetchItem & { kind: 'section' }, fields: Plan['fields'], row: ListedRow): string | undefined {
  const names = fields?.get(item)
  if (names === undefined) return undefined
  const picked = pickLines(row[column.prefix] + row[column.lines], names)
  return `${item.label}${item.section.label} {${Buffer.byteLength(picked)}}\r\n${picked}`
}

/** A message of old, whose fields are cut out of its body. */
async function answerUnready(run: FetchRun, row: ListedRow): Promise<number> {
  const listed = { ...run.plan.listed, detail: true, header: false }
  const [whole] = await run.view.rows.rows(listed, { uids: [row[column.uid]] }, 0)
  if (whole === undefined) return 1
  whole[column.modseq] = row[column.modseq]
  whole[column.flags] = row[column.flags]
  if (marked.has(row)) marked.add(whole)
  return answerBodies(run, [whole], false)
}

function bytesOf(rows: readonly ListedRow[]): number {
  return rows.reduce((sum, row) => sum + row[column.prefix].length + (row[column.lines]?.length ?? 0), 0)
}

function itemText(session: Session, item: FetchItem, row: ListedRow): string | undefined {
  switch (item.kind) {
    case 'uid':
    case 'flags':
    case 'modseq':
      if (item.onlyMarked === true && !marked.has(row)) return undefined
      if (item.kind === 'uid') return `UID ${row[column.uid]}`
      if (item.kind === 'modseq') return `MODSEQ (${row[column.modseq]})`
      return `FLAGS (${session.flagsText(row[column.flags], row[column.keywords], row[column.uid])})`
    case 'section':
    case 'binary':
    case 'binary.size':
      return undefined
    default:
      return item.text(row, session)
  }
}

/** Answers with bytes of messages; returns how many were gone when their turn came. */
async function answerBodies(
  { session, view, plan }: FetchRun,
  rows: readonly ListedRow[],
  counts = true,
): Promise<number> {
  const { out, mail } = session
  const text = (item: FetchItem, row: ListedRow) => itemText(session, item, row)
  let missing = 0
  let bytes = 0
  const sent = (length: number) => {
    bytes += length
  }
  let since = out.written
  let ahead = 0
  try {
    for (const [index, row] of rows.entries()) {
      const seq = view.seqOf(row[column.uid])
      if (seq === 0) continue
      try {
        if (index >= ahead) ahead = await readAhead(session, rows, index)
        if (session.pace.spent) await session.rest()
        const source = await openSource(session, row)
        // What is sent counts and not what there is: programs fetch a large message in hundreds of pieces.
        if (answerWhole(session, plan.items, seq, row, source, text)) sent(source.size)
        else await answerMessage(session, plan.items, seq, row, source, text, sent)
      } catch (error) {
        const fault = await mail.faultOf(row[column.body], error)
        if (!(fault instanceof Fault)) throw fault
        const refused = refusals[fault.code]
        if (refused === undefined && fault.code !== 'MessageNotFound') throw fault
        plan.refused ??= refused
        if (refused !== undefined && marked.has(row)) tellMarked(session, seq, row)
        missing += 1
      }
      if (out.written - since > limits.imap.sliceBytes) {
        since = out.written
        await out.room()
      }
    }
  } finally {
    if (counts) mail.transferred('imapDownload', bytes)
  }
  return missing
}

function openSource({ mail, pace }: Session, row: ListedRow): Promise<MessageSource> {
  return MessageSource.open(mail, pace, row[column.body], row[column.prefix], row[column.detail])
}

/** Reads bodies of the next rows in one go, as many as may be gathered; gives the place of the first that was not. */
async function readAhead({ mail }: Session, rows: readonly ListedRow[], from: number): Promise<number> {
  const nums = gathered(rows.slice(from))
  await mail.readAhead(nums)
  return from + nums.length
}

/** Bodies of the first rows, as many as may be gathered. */
function gathered(rows: readonly ListedRow[]): number[] {
  const nums: number[] = []
  let bytes = 0
  for (const row of rows) {
    bytes += row[column.size]
    if (bytes > limits.imap.sliceBytes && nums.length > 0) break
    nums.push(row[column.body])
  }
  return nums
}

/** Rows of this slice whose flags changed because they were fetched. */
const marked = new WeakSet<ListedRow>()

/** Of a message that cannot be given its new flags are told all the same: the client takes it that it knows of its own changes. */
function tellMarked(session: Session, seq: number, row: ListedRow): void {
  const change = session.condstore ? ` MODSEQ (${row[column.modseq]})` : ''
  const flags = session.flagsText(row[column.flags], row[column.keywords], row[column.uid])
  session.out.text(`* ${seq} FETCH (UID ${row[column.uid]} FLAGS (${flags})${change})\r\n`)
}

async function markSeen(session: Session, view: View, rows: readonly ListedRow[]): Promise<void> {
  const unseen = rows.filter(row => (row[column.flags] & flag.seen) === 0)
  if (unseen.length === 0) return
  const seen = { how: 'add', flags: flag.seen, keywords: [] } as const
  const { changed } = await session.mail
    .storeFlags({ mailbox: view.id, uids: toRanges(unseen.map(row => row[column.uid])), ...seen })
    .catch((error: unknown) => {
      // A full disk keeps nobody from reading: as where a mailbox is read-only, nothing is marked.
      if (error instanceof Fault && error.code === 'StorageUnavailable') return { changed: [] }
      throw error
    })
  const fresh = new Map(changed.map(one => [one.uid, one]))
  for (const row of unseen) {
    const now = fresh.get(row[column.uid])
    if (now === undefined) continue
    row[column.modseq] = now.modseq
    row[column.flags] = now.flags
    marked.add(row)
    view.toldOwn(now.modseq)
  }
}
