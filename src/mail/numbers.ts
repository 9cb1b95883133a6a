// Sets of message numbers: `1:*`, `1,2,5:9` (RFC 9051 9, sequence-set; the HTTP API uses the same).
//
// Promises: reading is bounded by the text and limits.name.rangesMax, never by the numbers in it (`1:4294967295` is one
// range); a resolved set is sorted, without overlaps, and searched in logarithmic time.

import { limits } from '#lib/limits.ts'

/** As written: the star is not known yet. */
export type NumberSet = readonly (readonly [from: number, to: number])[]

/** Sorted, without overlaps or neighbours, both ends included. */
export type Ranges = readonly (readonly [from: number, to: number])[]

/** Stands for `*` in a NumberSet. */
const star = Number.POSITIVE_INFINITY

const numberMax = 0xffffffff
const setPattern = /^(?:\d{1,10}|\*)(?::(?:\d{1,10}|\*))?$/

/** A set as written, or null where it is none or has too many ranges. */
export function parseNumbers(text: string): NumberSet | null {
  if (text.length > limits.name.setLengthMax) return null
  const items = text.split(',')
  if (items.length > limits.name.rangesMax) return null
  const set: [number, number][] = []
  for (const item of items) {
    if (!setPattern.test(item)) return null
    const colon = item.indexOf(':')
    const from = parseNumber(colon < 0 ? item : item.slice(0, colon))
    const to = colon < 0 ? from : parseNumber(item.slice(colon + 1))
    if (from === 0 || to === 0) return null
    set.push([from, to])
  }
  return set
}

/** The set with `*` as `last`, the largest number in use (0: none). `5:*` with a last of 3 is `3:5`. */
export function resolveNumbers(set: NumberSet, last: number): Ranges {
  const ranges: [number, number][] = []
  for (const [from, to] of set) {
    const a = from === star ? last : from
    const b = to === star ? last : to
    // An empty mailbox has no last number; then `*` is nothing.
    if (a === 0 && b === 0) continue
    ranges.push(a < b ? [Math.max(a, 1), b] : [Math.max(b, 1), a])
  }
  return joinRanges(ranges)
}

/** Whether an item is the star alone, which names the last message whatever its number is. */
export function isStarAlone([from, to]: NumberSet[number]): boolean {
  return from === star && to === star
}

/** Whether the star occurs, so that the last number must be known. */
export function hasStar(set: NumberSet): boolean {
  return set.some(([from, to]) => from === star || to === star)
}

export function inRanges(ranges: Ranges, number: number): boolean {
  let low = 0
  let high = ranges.length - 1
  while (low <= high) {
    const middle = (low + high) >>> 1
    const [from, to] = ranges[middle] as readonly [number, number]
    if (number < from) high = middle - 1
    else if (number > to) low = middle + 1
    else return true
  }
  return false
}

/** How many numbers there are. */
export function countNumbers(ranges: Ranges): number {
  return ranges.reduce((sum, [from, to]) => sum + to - from + 1, 0)
}

/** Every number, rising. Mind the count: a range may be four thousand million long. */
export function* eachNumber(ranges: Ranges): Generator<number> {
  for (const [from, to] of ranges) for (let number = from; number <= to; number++) yield number
}

/** Those of `numbers` (rising) that are in the set; linear in both. */
export function selectNumbers(ranges: Ranges, numbers: readonly number[]): number[] {
  const out: number[] = []
  let at = 0
  for (const number of numbers) {
    while (at < ranges.length && (ranges[at] as readonly [number, number])[1] < number) at++
    const range = ranges[at]
    if (!range) break
    if (number >= range[0]) out.push(number)
  }
  return out
}

/** Numbers from 1 to below `end` that are not among `numbers` (rising). */
export function gapsIn(numbers: Iterable<number>, end: number): Ranges {
  const gaps: [number, number][] = []
  let from = 1
  for (const number of numbers) {
    if (number > from) gaps.push([from, number - 1])
    from = number + 1
  }
  if (from < end) gaps.push([from, end - 1])
  return gaps
}

/** What two sets have in common; linear in both. */
export function inBoth(one: Ranges, other: Ranges): Ranges {
  const both: [number, number][] = []
  let at = 0
  for (const [from, to] of one) {
    while (at < other.length && (other[at] as readonly [number, number])[1] < from) at++
    for (let next = at; next < other.length; next++) {
      const [first, last] = other[next] as readonly [number, number]
      if (first > to) break
      both.push([Math.max(from, first), Math.min(to, last)])
    }
  }
  return both
}

/** Numbers in any order, repeated or not, as ranges. */
export function toRanges(numbers: Iterable<number>): Ranges {
  const sorted = Array.from(numbers).sort((a, b) => a - b)
  return joinRanges(sorted.map(number => [number, number]))
}

/** The shortest text: `1:3,5`. Empty for no numbers. */
export function formatRanges(ranges: Ranges): string {
  return ranges.map(([from, to]) => (from === to ? `${from}` : `${from}:${to}`)).join(',')
}

export function formatNumbers(numbers: Iterable<number>): string {
  return formatRanges(toRanges(numbers))
}

function parseNumber(text: string): number {
  if (text === '*') return star
  const number = Number(text)
  return number > numberMax ? 0 : number
}

/** Sorts ranges and joins those that overlap or touch; the ranges given may be changed. */
export function joinRanges(ranges: [number, number][]): Ranges {
  ranges.sort((a, b) => a[0] - b[0])
  const out: [number, number][] = []
  for (const range of ranges) {
    const last = out.at(-1)
    if (last && range[0] <= last[1] + 1) last[1] = Math.max(last[1], range[1])
    else out.push([range[0], range[1]])
  }
  return out
}
