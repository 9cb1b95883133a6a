// FETCH of flags, uids and change numbers of many messages, which is how programs look what is new: from the flags of the folder
// that are in memory (store/mailboxes/flag-index.ts), as bytes.
//
// Promises: others have their turn whenever some milliseconds were worked, and what changed meanwhile is looked at before the next
// message is answered.

import { limits } from '#lib/limits.ts'
import type { Session } from '../session.ts'
import { type FlagItem, FlagLines } from '../wire/flag-lines.ts'
import type { FetchItem } from '../wire/item.ts'
import { placeCount } from './slices.ts'
import type { Places, View } from './view.ts'

/** What is asked for, where it is flags and numbers alone. */
export function flagItemsOf(items: readonly FetchItem[]): FlagItem[] | undefined {
  const kinds = items.map(({ kind }) => kind)
  return kinds.every(kind => kind === 'uid' || kind === 'flags' || kind === 'modseq') ? kinds : undefined
}

/** Answers for messages at these places with what is in memory; returns how many there were. */
export async function answerFlags(
  session: Session,
  view: View,
  places: Places,
  items: readonly FlagItem[],
): Promise<number> {
  const { out, pace } = session
  const lines = new FlagLines(items, placeCount(places), bytes => out.bytes(bytes))
  let answered = 0
  for (const [from, to] of places) {
    for (let place = from; place <= to; ) {
      const index = await view.rows.flags(pace)
      const { uids: known } = view
      const { uids, flags, modseqs, keywords, length } = index
      let at = index.placeOf(view.uidAt(place))
      for (const end = Math.min(to, place + limits.imap.sliceRows - 1); place <= end; place++) {
        const uid = known[place] as number
        while (at < length && (uids[at] as number) < uid) at += 1
        if (at >= length || uids[at] !== uid) continue
        const words = keywords.size === 0 ? undefined : keywords.get(uid)
        lines.add(place + 1, uid, flags[at] as number, view.isRecent(uid), words, modseqs[at] as number)
        answered += 1
      }
      if (!pace.spent) continue
      lines.flush()
      await out.room()
      await session.rest()
    }
  }
  lines.flush()
  await out.room()
  return answered
}
