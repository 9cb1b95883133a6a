// Commands that change messages: STORE, COPY, MOVE, EXPUNGE, CLOSE (RFC 9051 6.4, RFC 7162, RFC 4315, RFC 6851).
//
// Small sets are one command of the account's actor, so a client sees all of it or nothing; large ones go in units
// (units.ts), with untagged answers after each and the tagged one after all of them.

import { Fault } from '#lib/fault.ts'
import { limits } from '#lib/limits.ts'
import { changeKeywords, type Flags, parseFlags } from '#mail/flags.ts'
import { formatRanges, toRanges } from '#mail/numbers.ts'
import { command, inMailbox, nothing, someGone } from '../command.ts'
import type { Transferred, UidRanges } from '../mail-store.ts'
import { placeCount } from '../selected/slices.ts'
import { markedUnits, requireSpaceFor, unitsOf } from '../selected/units.ts'
import type { Places, View } from '../selected/view.ts'
import type { Session } from '../session.ts'
import { type Decoder, malformed, type NumberSet } from '../wire/decoder.ts'

interface StoreInput {
  readonly set: NumberSet
  readonly unchangedSince: number | undefined
  readonly how: 'add' | 'remove' | 'set'
  readonly silent: boolean
  readonly flags: readonly string[]
}

const store = command({
  name: 'STORE',
  states: inMailbox,
  uid: true,
  expunges: 'uid',
  capabilities: ['CONDSTORE', 'QRESYNC'],
  parse: parseStore,
  async run(session, input, byUid) {
    const view = session.writable
    if (input.unchangedSince !== undefined) session.enable('CONDSTORE')
    const places = await session.resolve(input.set, byUid)
    const { bits, keywords } = flagsOf(input.flags)
    await requireRoomFor(session, view, input.how === 'remove' ? [] : keywords)
    const refused: number[] = []
    let found = 0
    for (const uids of unitsOf(view, places, limits.imap.storeMessages)) {
      const change = { mailbox: view.id, uids, how: input.how, flags: bits, keywords }
      const done = await session.mail.storeFlags({ ...change, unchangedSince: input.unchangedSince })
      for (const { modseq } of done.changed) view.toldOwn(modseq)
      refused.push(...done.refused)
      found += done.changed.length + done.same.length + done.refused.length
      // RFC 7162 3.1.3: of a conditional one each message that passed is told, .SILENT or not.
      const all = !input.silent || input.unchangedSince !== undefined
      await answerStore(session, view, input, [...done.changed, ...(all ? done.same : [])])
      view.settle(false)
      if (session.pace.spent) await session.pace.turn()
    }
    // RFC 2180 4.2: the flags of the others are set; who asked for silence hears none of it.
    const gone = !byUid && !input.silent && found < placeCount(places)
    if (refused.length === 0) return gone ? someGone : undefined
    const numbers = byUid ? refused : refused.map(uid => view.seqOf(uid)).filter(seq => seq > 0)
    return {
      ...(gone && someGone),
      code: `MODIFIED ${formatRanges(toRanges(numbers))}`,
      text: 'Conditional STORE failed for some',
    }
  },
})

const copy = command({
  name: 'COPY',
  states: inMailbox,
  uid: true,
  expunges: 'uid',
  capabilities: ['UIDPLUS'],
  parse: parseTransfer,
  async run(session, { set, path }, byUid) {
    const view = session.selected
    const places = await session.resolve(set, byUid)
    const target = await session.target(path)
    if (places.length === 0) return undefined
    // RFC 2180 4.4: by numbers all of them or none; a uid that is gone is simply not there.
    if (!byUid && (await view.isHolding(places))) return someGone
    const units = unitsOf(view, places)
    // One is refused as a whole; of several the first ones would be made for nothing.
    if (units.length > 1) await requireSpaceFor(session, view, places)
    const done = await copyUnits(session, view, target.id, units)
    if (!byUid && done.uids.length < placeCount(places)) {
      await takeBack(session, done)
      return someGone
    }
    const code = copyUid(done)
    return code === undefined ? undefined : { code }
  },
})

const move = command({
  name: 'MOVE',
  states: inMailbox,
  uid: true,
  capabilities: ['MOVE'],
  parse: parseTransfer,
  async run(session, { set, path }, byUid) {
    const view = session.writable
    const places = await session.resolve(set, byUid)
    const target = await session.target(path)
    if (places.length === 0) return undefined
    for (const uids of unitsOf(view, places)) {
      const code = copyUid(await session.mail.move({ from: view.id, to: target.id, uids, anew: true }))
      // RFC 6851 4.3: the code comes before the messages are told gone.
      if (code !== undefined) session.out.line(`* OK [${code}] Moved`)
      await tellGone(session, view)
    }
    return undefined
  },
})

const expunge = command({
  name: 'EXPUNGE',
  states: inMailbox,
  uid: true,
  parse(decoder, byUid) {
    if (!byUid) {
      decoder.end()
      return undefined
    }
    decoder.space()
    const set = decoder.numberSet()
    decoder.end()
    return set
  },
  async run(session, set) {
    const view = session.writable
    const places = set === undefined ? await allOf(view) : await session.resolve(set, true)
    const modseq = await expungeUnits(session, view, places, () => tellGone(session, view))
    // RFC 7162 3.2.10.2: so that a client that keeps up need not ask.
    return session.qresync && modseq > 0 ? { code: `HIGHESTMODSEQ ${modseq}` } : undefined
  },
})

const close = command({
  name: 'CLOSE',
  states: inMailbox,
  parse: nothing,
  async run(session) {
    const view = session.selected
    if (!view.readOnly) await expungeUnits(session, view, await allOf(view), async () => {})
    session.unselect()
    return undefined
  },
})

const unselect = command({
  name: 'UNSELECT',
  states: inMailbox,
  capabilities: ['UNSELECT'],
  parse: nothing,
  run(session) {
    session.unselect()
    return undefined
  },
})

export const changeCommands = [store, copy, move, expunge, close, unselect]

function parseStore(decoder: Decoder): StoreInput {
  decoder.space()
  const set = decoder.numberSet()
  decoder.space()
  let unchangedSince: number | undefined
  if (decoder.accept('(')) {
    if (decoder.word() !== 'UNCHANGEDSINCE') throw malformed('Unknown modifier of STORE')
    decoder.space()
    unchangedSince = decoder.number64()
    decoder.accept(' ')
    decoder.expect(')')
    decoder.space()
  }
  const how = decoder.accept('+') ? 'add' : decoder.accept('-') ? 'remove' : 'set'
  const name = decoder.name()
  if (name !== 'FLAGS' && name !== 'FLAGS.SILENT') throw malformed('Expected FLAGS')
  decoder.space()
  const flags = decoder.peek() === '(' ? decoder.flagList() : bareFlags(decoder)
  decoder.end()
  return { set, unchangedSince, how, silent: name === 'FLAGS.SILENT', flags }
}

function bareFlags(decoder: Decoder): string[] {
  const flags = [decoder.flag()]
  while (decoder.more()) {
    if (flags.length >= limits.imap.flagsMax) throw malformed('Too many flags')
    flags.push(decoder.flag())
  }
  return flags
}

function parseTransfer(decoder: Decoder): { set: NumberSet; path: string } {
  decoder.space()
  const set = decoder.numberSet()
  decoder.space()
  const path = decoder.mailbox()
  decoder.end()
  return { set, path }
}

/** Flags as bits and keywords. @throws Fault BadCommand for what is no flag */
export function flagsOf(names: readonly string[]): Flags {
  const flags = parseFlags(names)
  if (flags === null) throw malformed('These are not flags')
  return flags
}

/** A folder takes only so many different keywords. @throws Fault TooManyKeywords */
export async function requireRoomFor(
  session: Session,
  mailbox: { id: string },
  keywords: readonly string[],
): Promise<void> {
  if (keywords.length === 0) return
  const known = (await session.mail.folder(mailbox.id))?.keywords ?? []
  const fresh = changeKeywords(keywords, [], known)
  if (known.length + fresh.length > limits.imap.keywordsMax && fresh.length > 0) throw new Fault('TooManyKeywords')
}

/** What STORE answers: new flags, or with .SILENT only the change number for those who count them (RFC 7162 3.1.3). */
async function answerStore(
  session: Session,
  view: View,
  input: StoreInput,
  rows: readonly { uid: number; modseq: number; flags: number; keywords: readonly string[] }[],
): Promise<void> {
  if (input.silent && !session.condstore) return
  // Only such a message shows one that the client may not have heard of.
  if (rows.some(({ keywords }) => keywords.length > 0)) await session.untagged.keywords()
  for (const [index, { uid, modseq, flags, keywords }] of rows.entries()) {
    const seq = view.seqOf(uid)
    if (seq === 0) continue
    const change = session.condstore ? ` MODSEQ (${modseq})` : ''
    const text = input.silent
      ? ''
      : ` FLAGS (${session.flagsText(flags, keywords.length === 0 ? null : keywords.join(' '), uid)})`
    session.out.text(`* ${seq} FETCH (UID ${uid}${text}${change})\r\n`)
    if (index % limits.imap.sliceRows === limits.imap.sliceRows - 1) await session.out.room()
  }
}

/** All the client knows, and nothing that came since. */
async function allOf(view: View): Promise<Places> {
  await view.load()
  return view.total === 0 ? [] : [[0, view.total - 1]]
}

/** Says which messages went, a unit of them, and lets others have their turn. */
async function tellGone(session: Session, view: View): Promise<void> {
  await view.tell(session.untagged, true)
  await session.out.room()
  if (session.pace.spent) await session.pace.turn()
}

/** Takes away what is marked as deleted; gives the change number of the folder then. */
async function expungeUnits(session: Session, view: View, places: Places, told: () => Promise<void>): Promise<number> {
  const units = await markedUnits(session, view, places)
  let last = 0
  // One with nothing in it says where the folder stands.
  for (const uids of units.length === 0 ? [[]] : units) {
    const { modseq } = await session.mail.expunge({ mailbox: view.id, uids, marked: true })
    last = modseq
    await told()
  }
  return last
}

/** Copies all or nothing (RFC 9051 6.4.7): what was copied before a unit failed is taken away again. */
async function copyUnits(session: Session, view: View, to: string, units: readonly UidRanges[]): Promise<Transferred> {
  const { mail, pace } = session
  const all: (readonly [number, number])[] = []
  const copied = { mailbox: to, uidValidity: 0, uids: all }
  try {
    for (const uids of units) {
      const done = await mail.copy({ from: view.id, to, uids })
      for (const pair of done.uids) all.push(pair)
      copied.uidValidity = done.uidValidity
      if (pace.spent) await pace.turn()
    }
  } catch (error) {
    await takeBack(session, copied)
    throw error
  }
  return copied
}

/** Takes away what a COPY that came to nothing had copied. */
async function takeBack({ mail }: Session, { mailbox, uids }: Transferred): Promise<void> {
  for (let at = 0; at < uids.length; at += limits.imap.unitMessages) {
    const some = toRanges(uids.slice(at, at + limits.imap.unitMessages).map(([, uid]) => uid))
    await mail.expunge({ mailbox, uids: some, marked: false, archive: false })
  }
}

/** RFC 4315 3: both lists in the order in which they belong together. */
function copyUid(done: Transferred): string | undefined {
  if (done.uids.length === 0) return undefined
  const from = formatRanges(toRanges(done.uids.map(([uid]) => uid)))
  const to = formatRanges(toRanges(done.uids.map(([, uid]) => uid)))
  return `COPYUID ${done.uidValidity} ${from} ${to}`
}
