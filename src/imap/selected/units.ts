// Commands that change messages go in units of bounded size: each is one command of the account's actor and on disk before
// its answers go out, and others have their turn in between. A set of places becomes ranges of uids the client knows, at the
// start, so a message that arrived unseen is never touched by `1:*`, and places may shift meanwhile.

import { Fault } from '#lib/fault.ts'
import { limits } from '#lib/limits.ts'
import { toRanges } from '#mail/numbers.ts'
import type { UidRanges } from '../mail-store.ts'
import type { Session } from '../session.ts'
import type { Places, View } from './view.ts'

/** The messages at these places, so many in each unit at most. */
export function unitsOf(view: View, places: Places, lengthMax: number = limits.imap.unitMessages): UidRanges[] {
  const units: (readonly [number, number])[][] = []
  let room = 0
  for (const [from, to] of places) {
    for (let at = from; at <= to; ) {
      if (room === 0) {
        units.push([])
        room = lengthMax
      }
      const end = Math.min(to, at + room - 1)
      // What lies between two known uids is known, too.
      units.at(-1)?.push([view.uidAt(at), view.uidAt(end)])
      room -= end - at + 1
      at = end + 1
    }
  }
  return units
}

/** Those of them that are marked `\Deleted`. */
export async function markedUnits({ pace }: Session, view: View, places: Places): Promise<UidRanges[]> {
  const uids: number[] = []
  for (const ranges of unitsOf(view, places, lookLength)) {
    for (const [from, to] of ranges) for (const uid of await view.rows.deletedUids(from, to)) uids.push(uid)
    if (pace.spent) await pace.turn()
  }
  const units: UidRanges[] = []
  for (let at = 0; at < uids.length; at += limits.imap.unitMessages) {
    units.push(toRanges(uids.slice(at, at + limits.imap.unitMessages)))
  }
  return units
}

/** Copies of the messages at these places fit into the account: encrypted ones are no smaller. @throws Fault OverQuotaError */
export async function requireSpaceFor({ mail, pace }: Session, view: View, places: Places): Promise<void> {
  const { storage, allowed } = await mail.usage()
  let left = allowed - storage
  for (const ranges of unitsOf(view, places, lookLength)) {
    for (const [from, to] of ranges) left -= await view.rows.sizeBetween(from, to)
    if (left < 0) throw new Fault('OverQuotaError')
    if (pace.spent) await pace.turn()
  }
}

/** Messages whose flags or sizes are looked at in one go. */
const lookLength = 5000
