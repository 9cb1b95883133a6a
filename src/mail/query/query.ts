// What is looked for, as one tree: IMAP's criteria, the search language and parameters of HTTP, and the conditions of filters
// are read into it, and one evaluator (judge.ts) walks it.
//
// Every leaf is plain data, so that a tree can be handed to a thread or stored with a task. How text is compared is a matter
// of the leaf, not of who asks: `words` are what people type, `substring` and `header` what RFC 9051 6.4.4 means.

import type { Ranges } from '../numbers.ts'

/** A tree over some kind of leaves. */
export type Query<L = Leaf> =
  | { readonly op: 'and' | 'or'; readonly of: readonly Query<L>[] }
  | { readonly op: 'not'; readonly of: Query<L> }
  | L

export type Leaf = RowLeaf | FolderLeaf | SummaryLeaf | TextLeaf | WordsLeaf

/** Decided by the row of a message. */
export type RowLeaf =
  | { readonly op: 'constant'; readonly value: boolean }
  | { readonly op: 'flag'; readonly bit: number }
  /** Lower case. */
  | { readonly op: 'keyword'; readonly word: string }
  | { readonly op: 'recent' }
  | { readonly op: 'uid' | 'seq'; readonly ranges: Ranges }
  /** When it arrived (its internal date) or came into the folder: milliseconds, both included. */
  | { readonly op: 'date' | 'saved'; readonly from: number; readonly to: number }
  /** Bytes, both included. */
  | { readonly op: 'size'; readonly min: number; readonly max: number }
  | { readonly op: 'modseq'; readonly from: number }
  /** Id of its bytes. */
  | { readonly op: 'email'; readonly id: string }
  /** Outward id. */
  | { readonly op: 'thread'; readonly id: string }
  | { readonly op: 'attachments' }

/** Decided by the row where the folders are known. */
export type FolderLeaf =
  /** Id of a folder. */
  | { readonly op: 'mailbox'; readonly id: string }
  /** Id, path or role of a folder, as written. */
  | { readonly op: 'in'; readonly name: string }
  /** Everything but Junk and Trash. */
  | { readonly op: 'searchable' }

/** Decided by the stored summary. */
export type SummaryLeaf =
  /** The day in the Date field as midnight UTC, milliseconds, both included. */
  | { readonly op: 'sent'; readonly from: number; readonly to: number }
  /** Folded (text/fold.ts). */
  | { readonly op: 'substring'; readonly in: SummaryField; readonly needle: string }

export type SummaryField = 'from' | 'to' | 'cc' | 'bcc' | 'subject'

/** Decided by the bytes of the message. Needles are folded; an empty one is everywhere, in a field that is there. */
export type TextLeaf =
  /** What the message says; with `text` its header fields and those of its parts as well. */
  | { readonly op: 'content'; readonly in: 'body' | 'text'; readonly needle: string }
  /** Lower-case name. */
  | { readonly op: 'header'; readonly name: string; readonly needle: string }

/** Decided by the index, the summary and the text. The needle is squeezed (text/fold.ts). */
export interface WordsLeaf {
  readonly op: 'words'
  /**
   * `anywhere`: text, subject, names and addresses, names of attachments, list and message ids. `said`: text or subject.
   * `recipients`: To, Cc or Bcc.
   */
  readonly in: 'anywhere' | 'said' | 'recipients' | SummaryField
  readonly needle: string
}

/** All of these; null where there is none. */
export function both<L>(parts: readonly (Query<L> | null)[]): Query<L> | null {
  return join('and', parts)
}

/** Any of these; null where there is none. */
export function either<L>(parts: readonly (Query<L> | null)[]): Query<L> | null {
  return join('or', parts)
}

function join<L>(op: 'and' | 'or', parts: readonly (Query<L> | null)[]): Query<L> | null {
  const of = parts.filter(part => part !== null)
  const [first] = of
  return first === undefined ? null : of.length === 1 ? first : { op, of }
}

/** Every leaf of the tree. */
export function* eachLeaf<L extends { readonly op: string }>(query: Query<L>): Generator<L> {
  if (isJoined(query)) for (const part of query.of) yield* eachLeaf(part)
  else if (isNegated(query)) yield* eachLeaf(query.of)
  else yield query
}

/** Whether some leaf is of a kind. */
export function someLeaf<L extends { readonly op: string }>(query: Query<L>, test: (leaf: L) => boolean): boolean {
  if (isJoined(query)) return query.of.some(part => someLeaf(part, test))
  return isNegated(query) ? someLeaf(query.of, test) : test(query)
}

/** The tree with other leaves. */
export function mapLeaves<L extends { readonly op: string }, M>(
  query: Query<L>,
  leaf: (leaf: L) => Query<M>,
): Query<M> {
  if (isJoined(query)) return { op: query.op, of: query.of.map(part => mapLeaves(part, leaf)) }
  return isNegated(query) ? { op: 'not', of: mapLeaves(query.of, leaf) } : leaf(query)
}

/** Leaves that every message that fits must fit. */
export function requiredLeaves<L extends { readonly op: string }>(query: Query<L>): L[] {
  if (isJoined(query)) return query.op === 'and' ? query.of.flatMap(requiredLeaves) : []
  return isNegated(query) ? [] : [query]
}

type Joined<L> = { readonly op: 'and' | 'or'; readonly of: readonly Query<L>[] }
type Negated<L> = { readonly op: 'not'; readonly of: Query<L> }

export function isJoined<L extends { readonly op: string }>(query: Query<L>): query is Joined<L> {
  return query.op === 'and' || query.op === 'or'
}

export function isNegated<L extends { readonly op: string }>(query: Query<L>): query is Negated<L> {
  return query.op === 'not'
}

export function isTextLeaf<L extends { readonly op: string }>(leaf: L): leaf is Extract<L, TextLeaf> {
  return leaf.op === 'content' || leaf.op === 'header'
}
