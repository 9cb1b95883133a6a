// Trying strangers' regular expressions on texts: what the task looks like and how it is done. It runs on a thread that
// is killed at a deadline, since a pattern may take longer than the universe has left.
//
// A pattern that does not compile is a Fault with the compiler's reason; nothing is guessed.

import { Fault } from './fault.ts'
import { limits } from './limits.ts'

export interface Pattern {
  readonly source: string
  /** Some of i, m, s and u. */
  readonly flags: string
}

export interface PatternTasks {
  match: {
    input: { readonly patterns: readonly Pattern[]; readonly texts: readonly string[] }
    /** For each pattern, for each text, whether it matches. */
    value: boolean[][]
  }
  each: {
    input: {
      readonly asks: readonly { readonly pattern: Pattern; readonly texts: readonly string[] }[]
      /** A byte for each ask (`askState`), written as it goes: what is left when the thread has to be killed. */
      readonly marks: SharedArrayBuffer
    }
    /** For each ask, whether its pattern matches one of its texts. */
    value: boolean[]
  }
}

export const askState = { waiting: 0, running: 1, no: 2, yes: 3 } as const

/** Tries every pattern on every text. @throws Fault InputValidationError for a pattern that is none */
export function matchPatterns({ patterns, texts }: PatternTasks['match']['input']): boolean[][] {
  if (patterns.length > limits.pattern.patternsMax || texts.length > limits.pattern.textsMax) throw refused('too many')
  const compiled = patterns.map(compile)
  return compiled.map(expression => texts.map(text => expression.test(text)))
}

/** Tries each pattern on its own texts. @throws Fault InputValidationError for a pattern that is none */
export function matchEach({ asks, marks }: PatternTasks['each']['input']): boolean[] {
  const states = new Uint8Array(marks)
  return asks.map(({ pattern, texts }, at) => {
    states[at] = askState.running
    const expression = compile(pattern)
    const found = texts.some(text => expression.test(text))
    states[at] = found ? askState.yes : askState.no
    return found
  })
}

/** The expression of a pattern. @throws Fault InputValidationError where it is none */
export function compile({ source, flags }: Pattern): RegExp {
  const known = cache.get(`${flags}/${source}`)
  if (known !== undefined) return known
  if (source.length > limits.pattern.lengthMax) throw refused(`longer than ${limits.pattern.lengthMax} characters`)
  if (!/^[imsu]{0,4}$/.test(flags)) throw refused('the flags may be i, m, s and u')
  try {
    const expression = new RegExp(source, flags)
    cache.set(`${flags}/${source}`, expression)
    if (cache.size > limits.pattern.compiledMax) {
      const [oldest] = cache.keys()
      if (oldest !== undefined) cache.delete(oldest)
    }
    return expression
  } catch (error) {
    throw refused(error instanceof Error ? error.message : String(error))
  }
}

const cache = new Map<string, RegExp>()

function refused(reason: string): Fault {
  return new Fault('InputValidationError', { text: `The pattern is not valid: ${reason}` })
}
