// What a `text` condition of a filter says (api-semantics 6.3; wire-details 8): words that must all be there, quoted phrases,
// alternatives separated by an upper-case OR. Pure, and linear in the condition.

import { fold } from '../text/fold.ts'

/** Alternatives, each a list of words and phrases that must all be found; folded, white space single. */
export function readTextQuery(value: string): string[][] {
  const tokens = tokensOf(value)
  const alternatives: string[][] = [[]]
  for (const [at, { text, quoted }] of tokens.entries()) {
    const between = at > 0 && at < tokens.length - 1
    if (text === 'OR' && !quoted && between) alternatives.push([])
    else alternatives.at(-1)?.push(fold(text))
  }
  return alternatives.filter(group => group.length > 0)
}

interface Token {
  readonly text: string
  readonly quoted: boolean
}

function tokensOf(value: string): Token[] {
  const tokens: Token[] = []
  let at = 0
  let word = ''
  const end = () => {
    if (word !== '') tokens.push({ text: word, quoted: false })
    word = ''
  }
  while (at < value.length) {
    const character = value[at] ?? ''
    const close = character === '"' && word === '' ? value.indexOf('"', at + 1) : -1
    if (close > 0) {
      const phrase = value.slice(at + 1, close).replace(/\s+/g, ' ')
      if (phrase.trim() !== '') tokens.push({ text: phrase.trim(), quoted: true })
      at = close + 1
    } else {
      if (/[\s,]/.test(character)) end()
      else word += character
      at += 1
    }
  }
  end()
  return tokens
}
