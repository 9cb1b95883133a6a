// How a search goes about a tree: what must be listed of the rows, what the database can leave out of them, which bodies the
// index leaves. The judge (mail/query/judge.ts) decides the rest.
//
// Promises: whatever is left out here fits no message, and only the index, where it is sure, says that one fits. A folder that
// is open in IMAP and a whole account are planned alike.

import { limits } from '#lib/limits.ts'
import { namedFields, wordsOfField } from '#mail/query/facts.ts'
import type { Verdict } from '#mail/query/judge.ts'
import {
  eachLeaf,
  isJoined,
  isNegated,
  isTextLeaf,
  type Leaf,
  mapLeaves,
  type Query,
  requiredLeaves,
  type TextLeaf,
} from '#mail/query/query.ts'
import { grams, squeeze } from '#mail/text/fold.ts'
import type { Index } from './trigrams.ts'

/** What is listed of the rows of a folder. */
export interface RowPlan {
  /** More columns than uid, change number and flags. */
  readonly facts: boolean
  readonly summary: boolean
  /**
   * Text that stands in the stored summary of every message that fits. Only plain words: the summary is JSON.
   */
  readonly words: readonly string[]
  /** Leaves that need the bytes of messages. */
  readonly texts: readonly TextLeaf[]
}

export function planRows<L extends { readonly op: string }>(query: Query<L | Leaf>): RowPlan {
  const leaves = [...eachLeaf<L | Leaf>(query)] as Leaf[]
  const texts = leaves.filter(isTextLeaf)
  return {
    facts: texts.length > 0 || leaves.some(({ op }) => factOps.has(op)),
    summary: leaves.some(({ op }) => summaryOps.has(op)),
    words: (requiredLeaves<L | Leaf>(query) as Leaf[]).flatMap(leaf => {
      return leaf.op === 'substring' && plainWord.test(leaf.needle) ? [leaf.needle] : []
    }),
    texts,
  }
}

const factOps: ReadonlySet<string> = new Set(['date', 'saved', 'size', 'email', 'thread'])
const summaryOps: ReadonlySet<string> = new Set(['sent', 'substring', 'attachments'])
const plainWord = /^[a-z0-9@.+-]{2,200}$/

/** Has the index look for everything that a query may ask it about. */
export async function askIndex(index: Index, leaves: Iterable<Leaf>): Promise<void> {
  for (const leaf of leaves) {
    if (leaf.op === 'words') await index.askForWords(leaf.needle)
    else for (const needle of needlesOf(leaf)) await index.ask(needle)
    if (leaf.op === 'header') await index.askForFields()
  }
}

/** What stands in the indexed text of every body that holds a leaf, each as it is asked for. */
function needlesOf(leaf: Leaf): string[] {
  switch (leaf.op) {
    case 'words':
      return [leaf.needle]
    case 'content':
      return [squeeze(beginning(leaf.needle))]
    case 'substring':
      // What stands between names and addresses is not there as a header has it (mail/query/facts.ts).
      return leaf.in === 'subject' ? [squeeze(beginning(leaf.needle))] : longestWords(leaf.needle)
    case 'header':
      return namedFields.includes(leaf.name) ? longestWords(leaf.needle) : []
    default:
      return []
  }
}

/** What holds a needle holds its beginning, which says enough of a long one; no character is cut in two. */
function beginning(needle: string): string {
  return needle.slice(0, limits.search.queryLengthMax).replace(/[\ud800-\udbff]$/, '')
}

/** Those that leave the fewest bodies; each of them is looked up. */
function longestWords(needle: string): string[] {
  const words = [...new Set(wordsOfField(beginning(needle)))]
  return words.sort((one, other) => other.length - one.length).slice(0, limits.search.needleWordsMax)
}

/** What the index, which was asked, says about a leaf and a body. */
export function byIndex(index: Index, leaf: Leaf, body: number): Verdict {
  if (leaf.op === 'words') {
    const verdict = index.verdict(leaf.needle, body)
    // It is somewhere; whether where it was looked for is another matter.
    return verdict === true && leaf.in !== 'anywhere' ? undefined : verdict
  }
  return leaf.op === 'content' && leaf.in === 'body' && !maySay(index, leaf, body) ? false : undefined
}

/** Whether a message may say what a leaf looks for; its header is not in question. */
export function maySay(index: Index, leaf: TextLeaf, body: number): boolean {
  return leaf.op === 'content' && index.mayHave(squeeze(beginning(leaf.needle)), body)
}

/** Whether a leaf looks at header fields, too. */
export function looksAtHeaders(leaf: TextLeaf): boolean {
  return leaf.op === 'header' || leaf.in === 'text'
}

/** Bodies of which every message that fits has one; null where the index cannot tell. */
export function candidateBodies(index: Index, query: Query): ReadonlySet<number> | null {
  return narrowed(query, leaf => {
    if (leaf.op === 'content' && leaf.in !== 'body') return null
    const sets = needlesOf(leaf).map(needle => index.bodies(needle))
    const [first, ...rest] = sets.filter(set => set !== null)
    if (first === undefined) return null
    const having = rest.reduce(common, first)
    if (leaf.op === 'words') return having
    const others = leaf.op === 'header' ? index.loose : index.cut
    return others === null ? null : union([having, others])
  })
}

/**
 * The part of a query that the index narrows, with `true` for whatever else is asked; null where the index has no say in it, or nothing
 * that is long enough for it. Of very many criteria some are left out: each is looked up.
 */
export function indexedPart<L extends { readonly op: string }>(query: Query<L | Leaf>): Query | null {
  const anything: Leaf = { op: 'constant', value: true }
  let left = limits.search.indexedLeavesMax
  const part = mapLeaves(query, (leaf): Query => {
    return isNarrowing(leaf as Leaf) && left-- > 0 ? (leaf as Leaf) : anything
  })
  return narrowed(part, leaf => (isNarrowing(leaf) ? new Set() : null)) === null ? null : part
}

function isNarrowing(leaf: Leaf): boolean {
  return !(leaf.op === 'content' && leaf.in === 'text') && needlesOf(leaf).some(needle => grams(needle, 1).length > 0)
}

/** Numbers of which every message that fits has one, put together from what leaves say; null where it may be any. */
export function narrowed(
  query: Query,
  numbersOf: (leaf: Leaf) => ReadonlySet<number> | null,
): ReadonlySet<number> | null {
  if (isNegated(query)) return null
  if (!isJoined(query)) return numbersOf(query)
  const sets = query.of.map(part => narrowed(part, numbersOf))
  const known = sets.filter(set => set !== null)
  if (query.op === 'or') return known.length < sets.length ? null : union(known)
  const [first, ...rest] = known.sort((one, other) => one.size - other.size)
  return first === undefined ? null : rest.reduce(common, first)
}

function common(one: ReadonlySet<number>, other: ReadonlySet<number>): ReadonlySet<number> {
  const set = new Set<number>()
  for (const number of one) if (other.has(number)) set.add(number)
  return set
}

function union(sets: readonly ReadonlySet<number>[]): ReadonlySet<number> {
  const all = new Set<number>()
  for (const set of sets) for (const number of set) all.add(number)
  return all
}
