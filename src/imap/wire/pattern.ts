// Patterns of LIST and LSUB: `%` for one level of the hierarchy, `*` for any (RFC 9051 6.3.9).
//
// Matching takes time in proportion to the length of pattern and name, whatever wildcards a stranger sends; the loop is let
// go in between. Nothing here knows what a folder is.

import { breathe } from '#lib/clock.ts'
import { limits } from '#lib/limits.ts'
import { malformed } from './decoder.ts'

/** Steps of matching after which the loop is let go. */
const stepsMax = 200_000

/** A test whether a name matches one of the patterns after `reference`. */
export function matcher(reference: string, patterns: readonly string[]): (path: string) => Promise<boolean> {
  const compiled = patterns.map(pattern => compile(reference + pattern))
  let steps = 0
  return async path => {
    steps += compiled.reduce((sum, tokens) => sum + tokens.length * path.length, 0)
    if (steps > stepsMax) {
      steps = 0
      await breathe()
    }
    return compiled.some(tokens => matches(tokens, path))
  }
}

function compile(pattern: string): string[] {
  if (pattern.length > limits.imap.patternLengthMax) throw malformed('The pattern is too long')
  const canonical = pattern.replace(/[*%]{2,}/g, run => (run.includes('*') ? '*' : '%'))
  const tokens = canonical.split(/([*%])/).filter(token => token !== '')
  if (tokens.length > 2 * limits.imap.wildcardsMax + 1) throw malformed('The pattern has too many wildcards')
  const first = tokens[0]
  if (first !== undefined && /^inbox(\/|$)/i.test(first)) tokens[0] = `INBOX${first.slice(5)}`
  return tokens
}

/** Follows all possible places at once: linear in tokens times length, no going back. */
function matches(tokens: readonly string[], path: string): boolean {
  let places = new Set([0])
  for (const token of tokens) {
    const next = new Set<number>()
    if (token === '*') {
      const first = Math.min(...places)
      for (let at = first; at <= path.length; at++) next.add(at)
    } else if (token === '%') {
      for (const place of places) {
        for (let at = place; at <= path.length && !next.has(at); at++) {
          next.add(at)
          if (path[at] === '/') break
        }
      }
    } else for (const place of places) if (path.startsWith(token, place)) next.add(place + token.length)
    if (next.size === 0) return false
    places = next
  }
  return places.has(path.length)
}
