// Which messages belong together: THREAD=REFERENCES and THREAD=ORDEREDSUBJECT (RFC 5256 3, 4).
//
// Promises: every message stands in the answer exactly once, whatever loops and repeated ids strangers wrote; time is
// n log n and memory some dozen bytes for each message and reference, without recursion. Messages are places from 0, in
// the order in which the client counts them. Knows nothing of storage.

import type { Slices } from '#lib/pace.ts'
import { Forest } from './forest.ts'

/** What is known of messages, by place. */
export interface ThreadFacts {
  readonly count: number
  /** Moment it was sent, milliseconds. */
  readonly dates: Float64Array
  /** A number for each base subject; 0 for the empty one. */
  readonly subjects: Float64Array
  /** 1 for an answer or a forward. */
  readonly answers: Uint8Array
}

export interface ReferenceFacts extends ThreadFacts {
  /** A number for each Message-ID; 0 where there is none. */
  readonly ids: Float64Array
  /** The ids a message refers to: `references` from `starts[place]` to `starts[place + 1]`, oldest first. */
  readonly starts: Uint32Array
  readonly references: Float64Array
}

/** An answer of THREAD: a message as its place, and the lists it stands in. */
export const opening = -1
export const closing = -2

const none = -1

/** Places in this order; the same where `compare` gives 0. Lets others work in between. */
export async function sortPlaces(
  places: Uint32Array<ArrayBuffer>,
  compare: (left: number, right: number) => number,
  slices: Slices,
): Promise<Uint32Array<ArrayBuffer>> {
  for (let at = 0; at < places.length; at += runLength) {
    places.subarray(at, at + runLength).sort(compare)
    if (slices.spent) await slices.turn()
  }
  let [from, to] = [places, new Uint32Array(places.length > runLength ? places.length : 0)]
  for (let width = runLength; width < places.length; width *= 2) {
    for (let start = 0; start < places.length; start += 2 * width) {
      const middle = Math.min(start + width, places.length)
      const end = Math.min(start + 2 * width, places.length)
      let [left, right] = [start, middle]
      for (let at = start; at < end; at++) {
        const takeLeft = right >= end || (left < middle && compare(from[left] as number, from[right] as number) <= 0)
        to[at] = from[takeLeft ? left++ : right++] as number
        if (at % runLength === 0 && slices.spent) await slices.turn()
      }
    }
    ;[from, to] = [to, from]
  }
  return from
}

/** Sorted in one go. */
const runLength = 2048

/** THREAD=ORDEREDSUBJECT: threads by base subject, each the first message and all others as its children. */
export async function threadBySubject(facts: ThreadFacts, slices: Slices): Promise<Int32Array> {
  const places = await sortPlaces(everyPlace(facts.count), byDate(facts), slices)
  const groups = new Map<number, number[]>()
  for (const place of places) {
    const subject = facts.subjects[place] as number
    const group = groups.get(subject)
    if (group === undefined) groups.set(subject, [place])
    else group.push(place)
    if (slices.spent) await slices.turn()
  }
  const tree = new Tree(facts.count)
  for (const [first, ...others] of groups.values()) {
    for (const other of others) tree.add(other, first as number)
  }
  return tree.write([...groups.values()].map(group => group[0] as number))
}

/** THREAD=REFERENCES, steps as RFC 5256 4 numbers them. */
export async function threadByReferences(facts: ReferenceFacts, slices: Slices): Promise<Int32Array> {
  const tree = await linked(facts, slices)
  const roots = prune(tree, facts.count)
  if (slices.spent) await slices.turn()
  const sorting = new Sorting(facts, tree, slices)
  await sorting.children(roots.filter(root => root >= facts.count))
  const joined = joinSubjects(facts, tree, await sorting.order(roots))
  if (slices.spent) await slices.turn()
  await sorting.children(joined)
  return tree.write(await sorting.order(joined))
}

function everyPlace(count: number): Uint32Array<ArrayBuffer> {
  return Uint32Array.from({ length: count }, (_, place) => place)
}

function byDate({ dates }: ThreadFacts): (left: number, right: number) => number {
  return (left, right) => (dates[left] as number) - (dates[right] as number) || left - right
}

/** Parents and children, of messages and, from `count` on, of those that are only referred to. */
class Tree {
  readonly count: number
  #parents: Int32Array
  #first: Int32Array
  #last: Int32Array
  #next: Int32Array
  #previous: Int32Array
  size: number

  constructor(count: number, size = count) {
    this.count = count
    this.size = size
    const make = () => new Int32Array(size).fill(none)
    ;[this.#parents, this.#first, this.#last, this.#next, this.#previous] = [make(), make(), make(), make(), make()]
  }

  /** One more that is no message. */
  make(): number {
    if (this.size === this.#parents.length) {
      const grow = (old: Int32Array) => {
        const larger = new Int32Array(Math.ceil(this.size * 1.25) + 8).fill(none)
        larger.set(old)
        return larger
      }
      this.#parents = grow(this.#parents)
      this.#first = grow(this.#first)
      this.#last = grow(this.#last)
      this.#next = grow(this.#next)
      this.#previous = grow(this.#previous)
    }
    this.size += 1
    return this.size - 1
  }

  parent(node: number): number {
    return this.#parents[node] as number
  }

  firstChild(node: number): number {
    return this.#first[node] as number
  }

  /** Children in order; they may be moved meanwhile. */
  children(node: number): number[] {
    const all: number[] = []
    for (let at = this.#first[node] as number; at !== none; at = this.#next[at] as number) all.push(at)
    return all
  }

  /** Puts a node that has no parent behind the other children. */
  add(child: number, parent: number): void {
    const last = this.#last[parent] as number
    this.#parents[child] = parent
    this.#previous[child] = last
    this.#next[child] = none
    if (last === none) this.#first[parent] = child
    else this.#next[last] = child
    this.#last[parent] = child
  }

  remove(child: number): void {
    const parent = this.#parents[child] as number
    if (parent === none) return
    const [previous, next] = [this.#previous[child] as number, this.#next[child] as number]
    if (previous === none) this.#first[parent] = next
    else this.#next[previous] = next
    if (next === none) this.#last[parent] = previous
    else this.#previous[next] = previous
    this.#parents[child] = none
  }

  /** The answer (RFC 5256 5, thread-list), roots in this order. */
  write(roots: Iterable<number>): Int32Array {
    const out = new Int32Array(3 * this.count + 2 * this.size)
    let length = 0
    const work: number[] = []
    const push = (children: readonly number[]) => {
      for (let at = children.length - 1; at >= 0; at--) work.push(closing, children[at] as number, opening)
    }
    push([...roots])
    for (let at = work.pop(); at !== undefined; at = work.pop()) {
      if (at < this.count) out[length++] = at
      if (at < 0) continue
      const children = this.children(at)
      if (children.length === 1) work.push(children[0] as number)
      else push(children)
    }
    return out.slice(0, length)
  }
}

/** Step 1: parents by References, without loops. */
async function linked(facts: ReferenceFacts, slices: Slices): Promise<Tree> {
  const { count, ids, starts, references } = facts
  const nodes = new Map<number, number>()
  for (let place = 0; place < count; place++) {
    const id = ids[place] as number
    // A later message with the same id is one of its own, which nothing refers to.
    if (id !== 0 && !nodes.has(id)) nodes.set(id, place)
  }
  const size = await nameOthers(nodes, facts, slices)
  const tree = new Tree(count, size)
  const forest = new Forest(size)
  const link = (child: number, parent: number) => {
    if (tree.parent(child) !== none || forest.root(parent) === child) return
    tree.add(child, parent)
    forest.link(child, parent)
  }
  // Under one that nothing else refers to, which has its place in no other tree.
  const hang = (child: number) => {
    if (tree.parent(child) === none) tree.add(child, tree.make())
  }
  for (let place = 0; place < count; place++) {
    let parent = none
    const [start, end] = [starts[place] as number, starts[place + 1] as number]
    for (let at = start; at < end; at++) {
      const next = nodes.get(references[at] as number)
      if (next === undefined) continue
      if (parent !== none) link(next, parent)
      else if (at > start) hang(next)
      parent = next
    }
    // (B): what other messages said of this one's parent yields to what it says itself.
    if (tree.parent(place) !== none) {
      tree.remove(place)
      forest.cut(place)
    }
    if (parent !== none) link(place, parent)
    else if (end > start) hang(place)
    if (slices.spent) await slices.turn()
  }
  return tree
}

/**
 * Numbers for what is referred to and is no message of these. One that is referred to once alone joins nothing, so that it
 * need not be told from others: whatever strangers refer to, memory stays in proportion to the messages.
 *
 * @returns how many nodes there are
 */
async function nameOthers(
  nodes: Map<number, number>,
  { count, references }: ReferenceFacts,
  slices: Slices,
): Promise<number> {
  const once = new Set<number>()
  let size = count
  for (let at = 0; at < references.length; at++) {
    const id = references[at] as number
    if (nodes.has(id)) continue
    if (once.delete(id)) nodes.set(id, size++)
    else once.add(id)
    if (at % runLength === 0 && slices.spent) await slices.turn()
  }
  return size
}

/** Steps 2 and 3: those that are no message go, and their children take their place, at the root only a single one. */
function prune(tree: Tree, count: number): number[] {
  const roots: number[] = []
  const order: number[] = []
  for (let node = 0; node < tree.size; node++) if (tree.parent(node) === none) roots.push(node)
  const stack = [...roots]
  for (let at = stack.pop(); at !== undefined; at = stack.pop()) {
    order.push(at)
    for (const child of tree.children(at)) stack.push(child)
  }
  // Children before parents: then those of a child that goes are what stays of them.
  for (const node of order.reverse()) {
    if (node < count || tree.parent(node) === none) continue
    const parent = tree.parent(node)
    const children = tree.children(node)
    tree.remove(node)
    for (const child of children) {
      tree.remove(child)
      tree.add(child, parent)
    }
  }
  return roots.flatMap(root => {
    if (root < count) return [root]
    const children = tree.children(root)
    if (children.length > 1) return [root]
    for (const child of children) tree.remove(child)
    return children
  })
}

/** Step 5: threads with the same base subject are one. Those without a message have their children in order already. */
function joinSubjects(facts: ReferenceFacts, tree: Tree, roots: Uint32Array): number[] {
  const { count, subjects, answers } = facts
  const first = (root: number) => (root < count ? root : tree.firstChild(root))
  const subjectOf = (root: number) => subjects[first(root)] as number
  const isAnswer = (root: number) => answers[first(root)] === 1
  const table = new Map<number, number>()
  for (const root of roots) {
    const subject = subjectOf(root)
    if (subject === 0) continue
    const there = table.get(subject)
    const better = there === undefined || (there < count && (root >= count || (isAnswer(there) && !isAnswer(root))))
    if (better) table.set(subject, root)
  }
  const gone = new Set<number>()
  const made: number[] = []
  for (const root of roots) {
    const main = table.get(subjectOf(root))
    if (subjectOf(root) === 0 || main === undefined || main === root) continue
    gone.add(root)
    if (main >= count) {
      const joining = root >= count ? tree.children(root) : [root]
      for (const child of joining) {
        tree.remove(child)
        tree.add(child, main)
      }
    } else if (isAnswer(root) && !isAnswer(main)) tree.add(root, main)
    else {
      const both = tree.make()
      gone.add(main)
      made.push(both)
      table.set(subjectOf(root), both)
      tree.add(main, both)
      tree.add(root, both)
    }
  }
  return [...roots, ...made].filter(root => !gone.has(root))
}

/** Siblings by the moment they were sent; one that is no message stands where its first child does. */
class Sorting {
  readonly #facts: ThreadFacts
  readonly #tree: Tree
  readonly #slices: Slices

  constructor(facts: ThreadFacts, tree: Tree, slices: Slices) {
    this.#facts = facts
    this.#tree = tree
    this.#slices = slices
  }

  order(nodes: readonly number[]): Promise<Uint32Array> {
    const compare = byDate(this.#facts)
    return sortPlaces(
      Uint32Array.from(nodes),
      (left, right) => compare(this.#first(left), this.#first(right)),
      this.#slices,
    )
  }

  /** Sorts all that is below these. */
  async children(roots: readonly number[]): Promise<void> {
    const tree = this.#tree
    const stack = [...roots]
    for (let at = stack.pop(); at !== undefined; at = stack.pop()) {
      const children = tree.children(at)
      if (children.length > 1) {
        const sorted = await this.order(children)
        for (const child of sorted) {
          tree.remove(child)
          tree.add(child, at)
        }
      }
      for (const child of children) stack.push(child)
      if (this.#slices.spent) await this.#slices.turn()
    }
  }

  #first(node: number): number {
    return node < this.#facts.count ? node : this.#tree.firstChild(node)
  }
}
