// Threads as RFC 5256 describes them, against a simple model of its text: random mailboxes with loops, repeated ids and
// lost messages.

import { expect, test } from 'vitest'
import type { Slices } from '#lib/pace.ts'
import {
  closing,
  opening,
  type ReferenceFacts,
  sortPlaces,
  threadByReferences,
  threadBySubject,
} from '#mail/thread/threading.ts'
import { Chance } from '../corpus.ts'

const slices: Slices = { spent: false, turn: async () => {} }

interface Message {
  /** 0 for none. */
  id: number
  references: number[]
  date: number
  subject: number
  answers: boolean
}

function factsOf(messages: readonly Message[]): ReferenceFacts {
  const starts = new Uint32Array(messages.length + 1)
  for (const [at, { references }] of messages.entries()) starts[at + 1] = (starts[at] ?? 0) + references.length
  return {
    count: messages.length,
    dates: Float64Array.from(messages, one => one.date),
    subjects: Float64Array.from(messages, one => one.subject),
    answers: Uint8Array.from(messages, one => (one.answers ? 1 : 0)),
    ids: Float64Array.from(messages, one => one.id),
    starts,
    references: Float64Array.from(messages.flatMap(one => one.references)),
  }
}

/** `(0)(1 2 (3)(4))`. */
function written(threads: Int32Array): string {
  const names = Array.from(threads, one => (one === opening ? '(' : one === closing ? ')' : `${one} `))
  return names.join('').replaceAll(' )', ')')
}

const references = async (messages: readonly Message[]) => written(await threadByReferences(factsOf(messages), slices))

/** A message or the place of one; the model keeps plain objects and walks them. */
interface Box {
  place: number
  parent: Box | undefined
  children: Box[]
}

/** RFC 5256 REFERENCES, word by word and without regard to time. */
function model(messages: readonly Message[]): string {
  const boxes = new Map<string, Box>()
  const box = (id: string) => {
    const known = boxes.get(id) ?? { place: -1, parent: undefined, children: [] }
    boxes.set(id, known)
    return known
  }
  const isAbove = (one: Box, of: Box) => {
    for (let at: Box | undefined = of; at !== undefined; at = at.parent) if (at === one) return true
    return false
  }
  const link = (child: Box, parent: Box) => {
    if (child.parent !== undefined || isAbove(child, parent)) return
    child.parent = parent
    parent.children.push(child)
  }
  const seen = new Set<number>()
  const own = messages.map(({ id }, place) => {
    const name = id === 0 || seen.has(id) ? `alone ${place}` : String(id)
    seen.add(id)
    return name
  })
  for (const [place, { references }] of messages.entries()) {
    let parent: Box | undefined
    for (const id of references) {
      const next = box(String(id))
      if (parent !== undefined) link(next, parent)
      parent = next
    }
    const mine = box(own[place] as string)
    mine.place = place
    if (mine.parent !== undefined) mine.parent.children = mine.parent.children.filter(one => one !== mine)
    mine.parent = undefined
    if (parent !== undefined) link(mine, parent)
  }
  const pruned = (one: Box): Box[] => {
    one.children = one.children.flatMap(pruned)
    return one.place >= 0 ? [one] : one.children
  }
  let roots = [...boxes.values()].filter(one => one.parent === undefined)
  roots = roots.flatMap(root => {
    root.children = root.children.flatMap(pruned)
    if (root.place >= 0) return [root]
    return root.children.length > 1 ? [root] : root.children
  })
  const first = (one: Box): number => (one.place >= 0 ? one.place : first(one.children[0] as Box))
  const fact = (one: Box) => messages[first(one)] as Message
  const byDate = (one: Box, other: Box) => fact(one).date - fact(other).date || first(one) - first(other)
  for (const root of roots) if (root.place < 0) root.children.sort(byDate)
  roots.sort(byDate)
  const table = new Map<number, Box>()
  for (const root of roots) {
    const { subject, answers } = fact(root)
    if (subject === 0) continue
    const there = table.get(subject)
    if (there === undefined) table.set(subject, root)
    else if (there.place >= 0 && (root.place < 0 || (fact(there).answers && !answers))) table.set(subject, root)
  }
  for (const root of [...roots]) {
    const { subject, answers } = fact(root)
    const there = table.get(subject)
    if (subject === 0 || there === undefined || there === root) continue
    roots = roots.filter(one => one !== root)
    if (there.place < 0 && root.place < 0) there.children.push(...root.children)
    else if (there.place < 0) there.children.push(root)
    else if (answers && !fact(there).answers) there.children.push(root)
    else {
      const both = { place: -1, parent: undefined, children: [there, root] }
      roots = roots.map(one => (one === there ? both : one))
      table.set(subject, both)
    }
  }
  const sort = (all: Box[]) => {
    for (const one of all) sort(one.children)
    all.sort(byDate)
  }
  sort(roots)
  const text = (one: Box): string => {
    const below =
      one.children.length === 1 ? text(one.children[0] as Box) : one.children.map(child => `(${text(child)})`).join('')
    return `${one.place >= 0 ? one.place : ''}${one.place >= 0 && below !== '' ? ' ' : ''}${below}`
  }
  return roots.map(root => `(${text(root)})`).join('')
}

test('threads are those of the RFC, in a thousand random mailboxes', async () => {
  const chance = new Chance(5256)
  for (let round = 0; round < 1000; round++) {
    const size = 1 + chance.below(14)
    const ids = 1 + chance.below(12)
    const messages = Array.from(
      { length: size },
      (): Message => ({
        id: chance.below(ids + 1),
        references: Array.from({ length: chance.below(5) }, () => 1 + chance.below(ids + 4)),
        date: chance.below(8),
        subject: chance.below(5),
        answers: chance.below(2) === 0,
      }),
    )
    const text = await references(messages)
    expect(text, JSON.stringify(messages)).toBe(model(messages))
    const places = (text.match(/\d+/g) ?? []).map(Number)
    expect(places.sort((one, other) => one - other)).toEqual(messages.map((_, place) => place))
  }
})

const mail = (id: number, references: number[] = [], more: Partial<Message> = {}): Message => {
  return { id, references, date: id, subject: 0, answers: false, ...more }
}

test('loops and repeated ids hide nothing', async () => {
  expect(await references([mail(1, [2]), mail(2, [1])])).toBe('(1 0)')
  expect(await references([mail(1, [1])])).toBe('(0)')
  expect(await references([mail(1), mail(1), mail(2, [1])])).toBe('(0 2)(1)')
  expect(await references([mail(1, [3]), mail(2, [1]), mail(3, [2])])).toBe('(2 0 1)')
})

test('a chain of a hundred thousand answers costs time in proportion, in any order', async () => {
  const count = 100_000
  const chain = Array.from({ length: count }, (_, at) => mail(at + 1, at === 0 ? [] : [at]))
  const numbers = (text: string) => text.split(' ').length
  expect(numbers(await references(chain))).toBe(count)
  expect(numbers(await references(chain.toReversed()))).toBe(count)
  const shuffled = chain.map((one, at) => chain[(at * 7919) % count] ?? one)
  expect(numbers(await references(shuffled))).toBe(count)
  // Each has a child already and hangs itself under the deepest one.
  const deep = [
    ...chain,
    ...Array.from({ length: count }, (_, at) => mail(count + 1 + at, [2 * count + 1 + at])),
    ...Array.from({ length: count }, (_, at) => mail(2 * count + 1 + at, [count])),
  ]
  expect((await references(deep)).match(/\d+/g)).toHaveLength(3 * count)
})

test('by subject: the first message is the parent of all others', async () => {
  const messages = [
    mail(3, [], { subject: 1 }),
    mail(1, [], { subject: 1 }),
    mail(2, [], { subject: 2 }),
    mail(4, [], { subject: 1 }),
  ]
  expect(written(await threadBySubject(factsOf(messages), slices))).toBe('(1 (0)(3))(2)')
})

test('sorting is stable, with runs of any length', async () => {
  for (const count of [0, 1, 2047, 2048, 2049, 10_000]) {
    const values = Array.from({ length: count }, (_, at) => (at * 7919) % 50)
    const order = await sortPlaces(
      Uint32Array.from(values.keys()),
      (a, b) => (values[a] ?? 0) - (values[b] ?? 0),
      slices,
    )
    const expected = [...values.keys()].sort((a, b) => (values[a] ?? 0) - (values[b] ?? 0) || a - b)
    expect([...order]).toEqual(expected)
  }
})
