// Regular expressions in filters: how one is told from text, what is wrong with one, and what it costs.
//
// A condition written `/pattern/` with some of the flags i, m, s, u is an expression; a value that only starts with a slash, or
// holds another bare slash inside (a path), is text. `analyse` reads an expression without running it: a literal that every
// match contains, so that most messages need no expression at all, and a bound for the steps of a backtracking engine,
// so that harmless expressions need no thread. What it cannot follow it takes for costly; it never takes costly for cheap.

import type { Pattern } from '#lib/pattern.ts'

/** The expression that a condition's value stands for; undefined where it is text. */
export function readPattern(value: string): Pattern | undefined {
  const match = /^\/((?:[^\\/[\n]|\\.|\[(?:[^\]\\\n]|\\.)*\])+)\/([a-z]{0,4})$/s.exec(value)
  const [, source, flags] = match ?? []
  if (source === undefined || flags === undefined) return undefined
  return /^[imsu]*$/.test(flags) && new Set(flags).size === flags.length ? { source, flags } : undefined
}

/** Whether a value was meant as an expression although it cannot be read as one. */
export function looksLikePattern(value: string): boolean {
  return /^\/.*[\\^$.*+?()[\]{}|].*\/[imsu]{0,4}$/s.test(value)
}

export interface Analysis {
  /** Lower case, single spaces: in every text that matches, once that is made lower case with single spaces; '' for none. */
  readonly literal: string
  /** Unbounded repetitions within one match; Infinity where their number is not bounded itself. */
  readonly loops: number
  /** Ways to match besides those. */
  readonly ways: number
}

/** Steps a backtracking engine may need on a text of `length` characters, at most and about. */
export function steps({ loops, ways }: Analysis, length: number): number {
  return (length + 1) ** (1 + loops) * ways
}

const costly: Analysis = { literal: '', loops: Number.POSITIVE_INFINITY, ways: 1 }

/** What is known about an expression that compiles. */
export function analyse({ source, flags }: Pattern): Analysis {
  const reader = new PatternReader(source, flags)
  const node = reader.alternatives(0)
  if (node === undefined || !reader.done) return costly
  return { literal: node.literal.replace(/\s+/g, ' '), loops: node.loops, ways: node.ways }
}

/** Where an expression that does not compile goes wrong: offset of the character, as far as that can be said. */
export function faultPosition({ source, flags }: Pattern): number {
  const reader = new PatternReader(source, flags)
  const node = reader.alternatives(0)
  return node === undefined || reader.done ? reader.problem : reader.at
}

interface Node {
  /** Longest literal that every match contains. */
  readonly literal: string
  readonly loops: number
  readonly ways: number
}

interface Atom extends Node {
  /** One character that matches itself only, in lower case; '' for anything else. */
  readonly character: string
  /** It takes exactly one character, or none (an assertion), without any choice. */
  readonly single: boolean
}

const nestingMax = 50
const simple: Atom = { literal: '', loops: 0, ways: 1, character: '', single: true }

class PatternReader {
  readonly #text: string
  readonly #flags: string
  at = 0
  problem = 0

  constructor(text: string, flags: string) {
    this.#text = text
    this.#flags = flags
  }

  get done(): boolean {
    return this.at >= this.#text.length
  }

  /** Undefined where it cannot be followed; `problem` is where that was. */
  alternatives(depth: number): Node | undefined {
    let loops = 0
    let ways = 0
    let literal: string | undefined
    if (depth > nestingMax) return this.#fail(this.at)
    for (;;) {
      const node = this.#sequence(depth)
      if (node === undefined) return undefined
      loops = Math.max(loops, node.loops)
      ways += node.ways
      literal = literal === undefined ? node.literal : ''
      if (this.#text[this.at] !== '|') return { literal, loops, ways }
      this.at += 1
    }
  }

  #sequence(depth: number): Node | undefined {
    let loops = 0
    let ways = 1
    let longest = ''
    let run = ''
    const end = () => {
      if (run.length > longest.length) longest = run
      run = ''
    }
    while (!this.done && this.#text[this.at] !== '|' && this.#text[this.at] !== ')') {
      const atom = this.#atom(depth)
      if (atom === undefined) return undefined
      const times = this.#quantifier()
      if (times === undefined) return undefined
      const { min, max } = times
      if (max === Number.POSITIVE_INFINITY) loops += atom.single ? 1 : max
      else if (max > 0) loops += atom.loops * max
      ways = Math.min(waysMax, ways * (max === Number.POSITIVE_INFINITY ? 1 : (max - min + 1) * atom.ways ** max))
      const once = min === 1 && max === 1
      if (atom.character !== '' && min > 0) {
        run += atom.character
        if (!once) end()
      } else {
        end()
        if (min > 0 && atom.literal.length > longest.length) longest = atom.literal
      }
    }
    end()
    return { literal: longest, loops, ways }
  }

  #atom(depth: number): Atom | undefined {
    const start = this.at
    const character = this.#text[this.at] ?? ''
    this.at += 1
    if (character === '(') return this.#group(depth, start)
    if (character === '[') return this.#class(start)
    if (character === '\\') return this.#escape(start)
    if (character === '.' || character === '^' || character === '$') return simple
    if ('*+?'.includes(character)) return this.#fail(start)
    return { ...simple, character: this.#plain(character) }
  }

  #group(depth: number, start: number): Atom | undefined {
    const rest = this.#text.slice(this.at, this.at + 3)
    // Look-around may match anywhere: left to a thread.
    if (/^\?(=|!|<=|<!)/.test(rest)) return this.#fail(start)
    if (rest.startsWith('?:')) this.at += 2
    else if (rest.startsWith('?<')) {
      const name = /^\?<[A-Za-z_$][\w$]*>/.exec(this.#text.slice(this.at))
      if (name === null) return this.#fail(start)
      this.at += name[0].length
    } else if (rest.startsWith('?')) return this.#fail(start)
    const inside = this.alternatives(depth + 1)
    if (inside === undefined) return undefined
    if (this.#text[this.at] !== ')') return this.#fail(start)
    this.at += 1
    return { ...inside, character: '', single: false }
  }

  #class(start: number): Atom | undefined {
    while (!this.done && this.#text[this.at] !== ']') this.at += this.#text[this.at] === '\\' ? 2 : 1
    if (this.#text[this.at] !== ']') return this.#fail(start)
    this.at += 1
    return simple
  }

  #escape(start: number): Atom | undefined {
    const character = this.#text[this.at] ?? ''
    this.at += 1
    if (character === '') return this.#fail(start)
    if (/[dDwWsSbBtnrfv0]/.test(character)) return simple
    // Back references and what depends on flags are left to a thread.
    if (/[A-Za-z0-9]/.test(character)) return this.#fail(start)
    return { ...simple, character: this.#plain(character) }
  }

  #quantifier(): { min: number; max: number } | undefined {
    const [text, low, comma, high] =
      /^\{(\d{1,9})(?:(,)(\d{0,9}))?\}/.exec(this.#text.slice(this.at, this.at + 24)) ?? []
    const sign = this.#text[this.at] ?? ''
    let times = { min: 1, max: 1 }
    if (text !== undefined) {
      this.at += text.length
      const min = Number(low)
      times = { min, max: comma === undefined ? min : high === '' ? Number.POSITIVE_INFINITY : Number(high) }
      if (times.max < min) return this.#fail(this.at - text.length)
    } else if (sign !== '' && '*+?'.includes(sign)) {
      this.at += 1
      times = { min: sign === '+' ? 1 : 0, max: sign === '?' ? 1 : Number.POSITIVE_INFINITY }
    } else return times
    if (this.#text[this.at] === '?') this.at += 1
    if ('*+?'.includes(this.#text[this.at] ?? ' ')) return this.#fail(this.at)
    return times
  }

  /** A character for the literal, or '' where its other cases are not known well enough. */
  #plain(character: string): string {
    if (!/^[\x20-\x7e]$/.test(character)) return ''
    const both = this.#flags.includes('i') && this.#flags.includes('u')
    // With both flags the long s and the Kelvin sign match these.
    return both && /[skSK]/.test(character) ? '' : character.toLowerCase()
  }

  #fail(at: number): undefined {
    this.problem = at
    return undefined
  }
}

const waysMax = 1e12
