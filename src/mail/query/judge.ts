// Whether a message fits a tree, with as little of the message as it takes.
//
// A judgement has three values: yes, no, and not yet, when a leaf needs something that was not looked at. So messages are gone
// through by their rows, the index and stored summaries first, and only what is still open has its text read. What a leaf
// says is its owner's affair: nothing here knows one from another.

import { isJoined, isNegated, type Query } from './query.ts'

/** Undefined: not known yet. */
export type Verdict = boolean | undefined

/**
 * What the leaves that are known decide. Stops at the first that settles it.
 *
 * @param about the message, handed on as it is: a folder is gone through without a function for each
 */
export function judge<L extends { readonly op: string }, About>(
  query: Query<L>,
  verdict: (leaf: L, about: About) => Verdict,
  about: About,
): Verdict {
  if (isJoined(query)) {
    // The value that one part alone settles.
    const settling = query.op === 'or'
    let open = false
    for (const part of query.of) {
      const one = judge(part, verdict, about)
      if (one === settling) return settling
      if (one === undefined) open = true
    }
    return open ? undefined : !settling
  }
  if (!isNegated(query)) return verdict(query, about)
  const inner = judge(query.of, verdict, about)
  return inner === undefined ? undefined : !inner
}

/** The same to the end: leaves that are open are looked into, one after the other, until it is settled. */
export async function decide<L extends { readonly op: string }, About>(
  query: Query<L>,
  verdict: (leaf: L, about: About) => Verdict,
  about: About,
  look: (leaf: L) => Promise<boolean>,
): Promise<boolean> {
  const known = judge(query, verdict, about)
  if (known !== undefined) return known
  if (isNegated(query)) return !(await decide(query.of, verdict, about, look))
  if (!isJoined(query)) return look(query)
  const settling = query.op === 'or'
  for (const part of query.of) if ((await decide(part, verdict, about, look)) === settling) return settling
  return !settling
}
