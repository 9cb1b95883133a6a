// Going through places of a view a slice of rows at a time.
//
// Promises: a slice is read by one statement, as a range of uids where that is about what is asked for, else by uid.

import type { UidSlice } from '#store/mailboxes/listing.ts'
import type { Places, View } from './view.ts'

/** The rows to read for each slice of places: a range where that is about what is asked for, else the uids. */
export function* slicesOf(view: View, places: Places, lengthMax: number): Generator<UidSlice> {
  let uids: number[] = []
  const lengthMin = places.length === 1 ? 1 : rangeLengthMin
  for (const [from, to] of places) {
    let at = from
    // A long run of its own is a range; uids in between that the client does not know lie behind all it knows.
    while (to - at + 1 >= lengthMin && uids.length === 0) {
      const end = Math.min(to, at + lengthMax - 1)
      yield { from: view.uidAt(at), to: view.uidAt(end) }
      at = end + 1
    }
    for (; at <= to; at++) {
      uids.push(view.uidAt(at))
      if (uids.length >= lengthMax) {
        yield { uids }
        uids = []
      }
    }
  }
  if (uids.length > 0) yield { uids }
}

/** A run shorter than this is asked for uid by uid, where there are others. */
const rangeLengthMin = 16

/** How many places those are. */
export function placeCount(places: Places): number {
  return places.reduce((sum, [from, to]) => sum + to - from + 1, 0)
}
