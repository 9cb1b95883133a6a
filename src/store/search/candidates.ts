// Which messages of one folder a search has to look at, by what the index tells (plan.ts).
//
// Promises: whatever fits the query is among them. In a large folder that leaves a few of hundreds of thousands, whose rows and
// summaries would all be read otherwise. Where very many may fit it says nothing: going through the folder is as quick then.

import { limits } from '#lib/limits.ts'
import type { Slices } from '#lib/pace.ts'
import { eachLeaf, type Leaf, type Query } from '#mail/query/query.ts'
import { among } from '../engine/dialect.ts'
import { askIndex, candidateBodies } from './plan.ts'
import type { SearchScope } from './texts.ts'
import { Index } from './trigrams.ts'

export interface CandidateTask {
  /** Number of the account. */
  readonly user: number
  /** Number of the folder. */
  readonly mailbox: number
  /** What `indexedPart` left of it. */
  readonly query: Query
  /** Messages of the folder: where more of the account may fit, going through it is as quick. */
  readonly total: number
}

/** Their uids, rising; null where it may be any. */
export async function candidateUids(
  { read }: SearchScope,
  { user, mailbox, query, total }: CandidateTask,
  slices: Slices,
): Promise<Uint32Array | null> {
  const most = Math.min(limits.search.byBodyMax, total)
  const index = new Index(read, user, most)
  for (const leaf of eachLeaf<Leaf>(query)) {
    await askIndex(index, [leaf])
    if (slices.spent) await slices.turn()
  }
  const bodies = candidateBodies(index, query)
  if (bodies === null || bodies.size > most) return null
  const all = [...bodies]
  const uids: number[] = []
  for (let at = 0; at < all.length; at += limits.search.sliceRows) {
    const rows = await read.arrays<[number]>(
      `SELECT uid FROM message WHERE body IN ${among()} AND "user" = ? AND mailbox = ?`,
      JSON.stringify(all.slice(at, at + limits.search.sliceRows)),
      user,
      mailbox,
    )
    for (const [uid] of rows) uids.push(uid)
    if (slices.spent) await slices.turn()
  }
  return Uint32Array.from(uids).sort()
}
