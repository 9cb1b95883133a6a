// SORT and THREAD: the order of messages and what belongs together (RFC 5256).
//
// Works on summaries alone. References are followed as RFC 5256 4 (REFERENCES) says, without recursion, so that a chain of
// any length that strangers wrote costs time in proportion and no stack.

import type { Address } from '#mail/address.ts'
import { fold } from '#mail/fold.ts'
import { baseSubject, isAnswer } from '#mail/subject.ts'
import { type Decoder, malformed } from '../wire/decoder.ts'
import type { Found } from './find.ts'
import { summaryOf } from './match.ts'

export interface SortKey {
  readonly by: 'ARRIVAL' | 'CC' | 'DATE' | 'FROM' | 'SIZE' | 'SUBJECT' | 'TO'
  readonly reverse: boolean
}

const sortNames = new Set(['ARRIVAL', 'CC', 'DATE', 'FROM', 'SIZE', 'SUBJECT', 'TO'])

/** `(REVERSE DATE SUBJECT)`. */
export function parseSort(decoder: Decoder): SortKey[] {
  const keys = decoder.list(() => {
    let name = decoder.word()
    const reverse = name === 'REVERSE'
    if (reverse) {
      decoder.space()
      name = decoder.word()
    }
    if (!sortNames.has(name)) throw malformed('Unknown sort criterion')
    return { by: name as SortKey['by'], reverse }
  }, sortNames.size * 2)
  if (keys.length === 0) throw malformed('Nothing to sort by')
  return keys
}

/** Sorts by the keys, at the end by sequence number. */
export function sortFound(found: readonly Found[], keys: readonly SortKey[]): Found[] {
  const values = new Map(found.map(one => [one, keys.map(key => sortValue(one, key.by))]))
  return [...found].sort((left, right) => {
    const a = values.get(left) ?? []
    const b = values.get(right) ?? []
    for (const [at, key] of keys.entries()) {
      const order = compare(a[at] ?? '', b[at] ?? '')
      if (order !== 0) return key.reverse ? -order : order
    }
    return left.seq - right.seq
  })
}

function compare(left: string | number, right: string | number): number {
  return left < right ? -1 : left > right ? 1 : 0
}

function sortValue(found: Found, by: SortKey['by']): string | number {
  const { row } = found.candidate
  switch (by) {
    case 'ARRIVAL':
      return row[5]
    case 'SIZE':
      return row[6]
    case 'DATE':
      return dateOf(found)
    case 'SUBJECT':
      return fold(baseSubject(summaryOf(found.candidate).subject))
    default:
      return firstMailbox(summaryOf(found.candidate)[by.toLowerCase() as 'cc' | 'from' | 'to'])
  }
}

/** RFC 5256 2.2: the Date field, else when it arrived. */
function dateOf(found: Found): number {
  return summaryOf(found.candidate).date ?? found.candidate.row[5]
}

/** The local part of the first address (RFC 5256 3). */
function firstMailbox(list: readonly Address[]): string {
  const [first] = list
  if (first === undefined) return ''
  return 'group' in first ? fold(first.name) : fold(first.address.split('@')[0] ?? '')
}

/** Messages in a thread: one, and what answers it. */
export interface Node {
  found: Found | undefined
  readonly children: Node[]
}

/** THREAD=ORDEREDSUBJECT: by base subject, then by date; the first is the parent of all others. */
export function threadBySubject(found: readonly Found[]): Node[] {
  const groups = new Map<string, Found[]>()
  for (const one of byDate(found)) {
    const subject = fold(baseSubject(summaryOf(one.candidate).subject))
    const group = groups.get(subject)
    if (group === undefined) groups.set(subject, [one])
    else group.push(one)
  }
  return [...groups.values()].map(([first, ...others]) => ({
    found: first,
    children: others.map(one => ({ found: one, children: [] })),
  }))
}

interface Container extends Node {
  parent: Container | undefined
  readonly children: Container[]
}

/** THREAD=REFERENCES (RFC 5256 4). */
export function threadByReferences(found: readonly Found[]): Node[] {
  const containers = link(found)
  const roots = prune([...containers].filter(container => container.parent === undefined))
  const joined = joinSubjects(sortByDate(roots))
  // Joining may have made children of roots: everything is in order of date again (step 6).
  return sortDeep(joined)
}

/** Step 1: parents by References, without loops. */
function link(found: readonly Found[]): Set<Container> {
  const byId = new Map<string, Container>()
  const all = new Set<Container>()
  const make = (id: string | undefined): Container => {
    const container: Container = { found: undefined, parent: undefined, children: [] }
    all.add(container)
    if (id !== undefined) byId.set(id, container)
    return container
  }
  for (const one of found) {
    const { messageId, references } = summaryOf(one.candidate)
    const known = messageId === '' ? undefined : byId.get(messageId)
    // A second message with the same id is a message of its own.
    const container =
      known === undefined || known.found !== undefined
        ? make(known === undefined && messageId !== '' ? messageId : undefined)
        : known
    container.found = one
    let parent: Container | undefined
    for (const id of references) {
      const next = byId.get(id) ?? make(id)
      if (parent !== undefined && next.parent === undefined && !isAbove(next, parent)) adopt(parent, next)
      parent = next
    }
    if (parent !== undefined && parent !== container && !isAbove(container, parent)) adopt(parent, container)
  }
  return all
}

/** Whether `container` is `of` or one of its ancestors. */
function isAbove(container: Container, of: Container): boolean {
  for (let at: Container | undefined = of; at !== undefined; at = at.parent) if (at === container) return true
  return false
}

function adopt(parent: Container, child: Container): void {
  if (child.parent !== undefined) child.parent.children.splice(child.parent.children.indexOf(child), 1)
  child.parent = parent
  parent.children.push(child)
}

/** Step 3: containers without a message go; their children take their place, at the root only a single one. */
function prune(roots: readonly Container[]): Container[] {
  const order: Container[] = []
  const stack = [...roots]
  for (let at = stack.pop(); at !== undefined; at = stack.pop()) {
    order.push(at)
    stack.push(...at.children)
  }
  const kept: Container[] = []
  for (const container of order.reverse()) {
    const children = container.children.splice(0)
    for (const child of children) {
      if (child.found === undefined) container.children.push(...child.children.splice(0))
      else container.children.push(child)
    }
    for (const child of container.children) child.parent = container
  }
  for (const root of roots) {
    if (root.found !== undefined || root.children.length > 1) kept.push(root)
    else if (root.children.length === 1) kept.push(root.children[0] as Container)
  }
  for (const root of kept) root.parent = undefined
  return kept
}

/** Step 5: threads with the same base subject are one. */
function joinSubjects(roots: readonly Container[]): Container[] {
  const table = new Map<string, Container>()
  for (const root of roots) {
    const subject = subjectOf(root)
    if (subject === '') continue
    const there = table.get(subject)
    const better =
      there === undefined ||
      (there.found !== undefined && root.found === undefined) ||
      (answers(there) && root.found !== undefined && !answers(root))
    if (better) table.set(subject, root)
  }
  const out: Container[] = []
  const replaced = new Map<Container, Container>()
  for (const root of roots) {
    const main = table.get(subjectOf(root))
    const target = main === undefined ? undefined : (replaced.get(main) ?? main)
    if (main === undefined || target === undefined || main === root) out.push(root)
    else if (target.found === undefined) {
      if (root.found === undefined) target.children.push(...root.children)
      else target.children.push(root)
    } else if (answers(root) && !answers(target)) target.children.push(root)
    else {
      const both: Container = { found: undefined, parent: undefined, children: [target, root] }
      replaced.set(main, both)
    }
  }
  return out.map(root => replaced.get(root) ?? root)
}

function subjectOf(container: Container): string {
  const first = container.found ?? container.children[0]?.found
  return first === undefined ? '' : fold(baseSubject(summaryOf(first.candidate).subject))
}

function answers({ found, children }: Container): boolean {
  const first = found ?? children[0]?.found
  return first !== undefined && isAnswer(summaryOf(first.candidate).subject)
}

function byDate(found: readonly Found[]): Found[] {
  return [...found].sort((left, right) => dateOf(left) - dateOf(right) || left.seq - right.seq)
}

function sortByDate<Tree extends Node>(nodes: readonly Tree[]): Tree[] {
  const keys = new Map(nodes.map(node => [node, firstOf(node)]))
  return [...nodes].sort((left, right) => {
    const a = keys.get(left)
    const b = keys.get(right)
    if (a === undefined || b === undefined) return 0
    return dateOf(a) - dateOf(b) || a.seq - b.seq
  })
}

function firstOf(node: Node): Found | undefined {
  return node.found ?? node.children[0]?.found
}

function sortDeep(roots: readonly Node[]): Node[] {
  const stack: Node[] = [...roots]
  for (let at = stack.pop(); at !== undefined; at = stack.pop()) {
    at.children.splice(0, at.children.length, ...sortByDate(at.children))
    stack.push(...at.children)
  }
  return sortByDate(roots)
}

/** `(2)(3 6 (4 23)(44 7 96))`: the answer of THREAD (RFC 5256 5), without recursion. */
export function threadText(roots: readonly Node[], number: (found: Found) => number): string {
  let text = ''
  const work: (Node | string)[] = []
  for (const root of roots.toReversed()) work.push(')', root, '(')
  for (let at = work.pop(); at !== undefined; at = work.pop()) {
    if (typeof at === 'string') {
      text += at
      continue
    }
    if (at.found !== undefined) text += `${text.endsWith('(') ? '' : ' '}${number(at.found)}`
    const { children } = at
    if (children.length === 1) work.push(children[0] as Node)
    else if (children.length > 1) {
      if (at.found !== undefined && !text.endsWith(' ')) text += ' '
      for (const child of children.toReversed()) work.push(')', child, '(')
    }
  }
  return text
}
