// Patterns of LIST and LSUB: `%` for one level of the hierarchy, `*` for any (RFC 9051 6.3.9).
//
// Matching takes time in proportion to the length of the name for each wildcard, whatever a stranger sends; others have their
// turn in between. Nothing here knows what a folder is.

import { limits } from '#lib/limits.ts'
import type { Slices } from '#lib/pace.ts'
import { malformed } from './decoder.ts'

/** Whose work it is: he waits for his turn where his slice is used up. */
interface Working {
  readonly pace: Pick<Slices, 'spent'>
  rest(): Promise<void>
}

/** A test whether a name matches one of the patterns after `reference`. @throws where nobody waits for it any more */
export function matcher(
  reference: string,
  patterns: readonly string[],
  by: Working,
): (path: string) => Promise<boolean> {
  const compiled = patterns.map(pattern => compile(reference + pattern))
  return async path => {
    for (const pattern of compiled) {
      if (by.pace.spent) await by.rest()
      if (matches(pattern, path)) return true
    }
    return false
  }
}

type Wildcard = '*' | '%'

interface Pattern {
  /** What a name begins with. */
  readonly start: string
  /** Wildcards with the text behind each; that of the last is what a name ends with. */
  readonly steps: readonly (readonly [wildcard: Wildcard, text: string])[]
}

function compile(pattern: string): Pattern {
  if (pattern.length > limits.imap.patternLengthMax) throw malformed('The pattern is too long')
  const canonical = pattern.replace(/[*%]{2,}/g, run => (run.includes('*') ? '*' : '%'))
  const [start = '', ...rest] = canonical.split(/([*%])/)
  const steps: [Wildcard, string][] = []
  for (let at = 0; at < rest.length; at += 2) steps.push([rest[at] as Wildcard, rest[at + 1] ?? ''])
  if (steps.length > limits.imap.wildcardsMax) throw malformed('The pattern has too many wildcards')
  return { start: /^inbox(\/|$)/i.test(start) ? `INBOX${start.slice(5)}` : start, steps }
}

/**
 * Follows all places where a name may be read on from, of each level the first alone: whatever can be reached from a later one can be
 * reached from there.
 */
function matches({ start, steps }: Pattern, path: string): boolean {
  if (!path.startsWith(start)) return false
  let places = [start.length]
  for (const [at, [wildcard, text]] of steps.entries()) {
    const next = steps[at + 1]?.[0]
    if (next === undefined) return endsWith(path, places, wildcard, text)
    places = placesBehind(path, places, wildcard, text, next)
    if (places.length === 0) return false
  }
  return start.length === path.length
}

/** Whether a name ends with `text` behind a wildcard that begins at one of the places. */
function endsWith(path: string, places: readonly number[], wildcard: Wildcard, text: string): boolean {
  const end = path.length - text.length
  const from = places.findLast(place => place <= end)
  if (from === undefined || !path.endsWith(text)) return false
  return wildcard === '*' || !path.slice(from, end).includes('/')
}

/** Places behind `text` where a wildcard `next` can begin, rising: before `*` the first, before `%` the first of each level. */
function placesBehind(
  path: string,
  places: readonly number[],
  wildcard: Wildcard,
  text: string,
  next: Wildcard,
): number[] {
  const found: number[] = []
  for (const place of wildcard === '*' ? places.slice(0, 1) : places) {
    const reach = wildcard === '*' ? path : path.slice(0, levelEnd(path, place) + text.length)
    for (let from = place; from <= reach.length; ) {
      const last = found.at(-1)
      // Of a level that was reached already nothing more is wanted.
      if (last !== undefined) from = Math.max(from, levelEnd(path, last) + 1 - text.length)
      const at = reach.indexOf(text, from)
      if (at < 0 || from > reach.length) break
      found.push(at + text.length)
      if (next === '*') return found
      from = at + 1
    }
  }
  return found
}

/** Where the level ends that a place is in. */
function levelEnd(path: string, place: number): number {
  const slash = path.indexOf('/', place)
  return slash < 0 ? path.length : slash
}
