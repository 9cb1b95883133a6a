// SORT and THREAD: what a client may ask for, and how long answers are written (RFC 5256, 5957).
//
// The work is done on the thread for long reads (store/search/arrange.ts); it ends when the session does. Answers of hundreds of
// thousands of numbers go out in pieces, while others have their turn.

import { closing, opening, type SortKey, sortNames, type ThreadTask } from '#store/search/arrange.ts'
import type { Session } from '../session.ts'
import { type Decoder, malformed } from '../wire/decoder.ts'
import type { Found } from './find.ts'

/** `(REVERSE DATE SUBJECT)`. */
export function parseSort(decoder: Decoder): SortKey[] {
  const keys = decoder.list(() => {
    let name = decoder.word()
    const reverse = name === 'REVERSE'
    if (reverse) {
      decoder.space()
      name = decoder.word()
    }
    const by = sortNames.find(one => one === name)
    if (by === undefined) throw malformed('Unknown sort criterion')
    return { by, reverse }
  }, sortNames.length * 2)
  if (keys.length === 0) throw malformed('Nothing to sort by')
  // What was sorted by once changes nothing a second time.
  return keys.filter((key, at) => keys.findIndex(({ by }) => by === key.by) === at)
}

/** What was found, in the order of the keys; messages that went meanwhile are left out. */
export async function sortFound(session: Session, found: readonly Found[], keys: readonly SortKey[]): Promise<Found[]> {
  const task = { mailbox: session.selected.num, uids: uidsOf(found), keys }
  const places = await session.mail.sort(task, session.connection.gone.signal)
  const sorted = new Array<Found>(places.length)
  for (let at = 0; at < places.length; at++) {
    sorted[at] = found[places[at] as number] as Found
    if (at % placesInARow === 0 && session.pace.spent) await session.rest()
  }
  return sorted
}

/** The answer of THREAD as its text in pieces: `(2)(3 6 (4 23)(44 7 96))`. */
export async function threadFound(
  session: Session,
  found: readonly Found[],
  algorithm: ThreadTask['algorithm'],
  number: (found: Found) => number,
): Promise<Iterable<string>> {
  const task = { mailbox: session.selected.num, uids: uidsOf(found), algorithm }
  const threads = await session.mail.thread(task, session.connection.gone.signal)
  return threadPieces(threads, place => number(found[place] as Found))
}

function* threadPieces(threads: Int32Array, number: (place: number) => number): Generator<string> {
  if (threads.length > 0) yield ' '
  let last = opening
  for (const one of threads) {
    if (one === closing) yield ')'
    else {
      const space = last >= 0 ? ' ' : ''
      yield one === opening ? `${space}(` : `${space}${number(one)}`
    }
    last = one
  }
}

/** One response whose text comes in pieces: nothing else stands in between, and the socket is waited for. */
export async function writePieces(session: Session, head: string, pieces: Iterable<string>): Promise<void> {
  const { out, pace } = session
  session.midway = true
  out.text(head)
  let since = 0
  for (const piece of pieces) {
    out.text(piece)
    since += piece.length
    if (since < pieceLength) continue
    since = 0
    await out.room()
    if (pace.spent) await session.rest()
  }
  out.text('\r\n')
  session.midway = false
}

const pieceLength = 16 * 1024
/** Messages put in their places before others may have their turn. */
const placesInARow = 10_000

/** In a loop of its own: `from` takes seventy milliseconds for a folder of 300,000. */
function uidsOf(found: readonly Found[]): Uint32Array {
  const uids = new Uint32Array(found.length)
  for (let at = 0; at < found.length; at++) uids[at] = (found[at] as Found).uid
  return uids
}
