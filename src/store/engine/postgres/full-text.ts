// The full-text index as PostgreSQL has it: one row for each body of an account, with the hashes of its trigrams and its words,
// each mixed with the account, so that what is looked for in one account costs nothing for all others.
//
// It gives what SQLite's gives (../full-text.ts): trigrams leave out what cannot fit, words are sure. A word is letters and
// digits in any script, as SQLite's tokenizer has it.

/** What makes a word, with the marks that tokenizer takes for a part of one. */
const word = /[\p{L}\p{N}\p{Co}](?:[\p{L}\p{N}\p{Co}]|[\u0300-\u0331])*/gu

/** Bytes of a word that the engine takes are some 2,000. */
const wordLengthMax = 400

/** The columns of a text: hashes, and words, as the engine reads them. */
export function textColumns(user: number, text: string): { grams: string; words: string } {
  const words = new Set<string>()
  for (const [found] of text.matchAll(word)) words.add(lexeme(user, found))
  return { grams: hashes(user, [text]), words: [...words].join(' ') }
}

/** Adds a body, or puts another text in its place; bound are account, body, and the columns of the text. */
export const textInsertion = `INSERT INTO search_text ("user", body, grams, words) VALUES ($1, $2, $3, $4)
  ON CONFLICT ("user", body) DO UPDATE SET grams = excluded.grams, words = excluded.words`

/** What an expression of trigrams looks for. */
export function gramsOf(user: number, expression: string): string {
  return hashes(user, termsOf(expression))
}

/** What an expression of words looks for; a star behind one finds what begins so. */
export function wordsOf(user: number, expression: string): string {
  return termsOf(expression)
    .map(term => `${lexeme(user, term)}${expression.endsWith('*') ? ':*' : ''}`)
    .join(' & ')
}

function termsOf(expression: string): string[] {
  return [...expression.matchAll(/"((?:[^"]|"")*)"/g)].map(([, term = '']) => term.replaceAll('""', '"'))
}

function lexeme(user: number, term: string): string {
  return `'${user}:${term.slice(0, wordLengthMax).replace(/['\\]/g, '$&$&')}'`
}

function hashes(user: number, texts: readonly string[]): string {
  const found = new Set<number>()
  for (const text of texts) {
    const characters = Array.from(text, character => character.codePointAt(0) as number)
    for (let at = 0; at + 3 <= characters.length; at++) {
      found.add(hash(user, characters[at] ?? 0, characters[at + 1] ?? 0, characters[at + 2] ?? 0))
    }
  }
  return `{${[...found].join(',')}}`
}

/**
 * 52 bits of an account and three characters, well mixed: one trigram alone is believed (search/trigrams.ts), which 32 bits
 * would make wrong once in some hundred searches of a large account.
 */
function hash(user: number, ...characters: readonly number[]): number {
  return (mixed(0x9747b28c, user, characters) >>> 6) * 2 ** 26 + (mixed(0x3c6ef372, user, characters) >>> 6)
}

/** The last steps are those of MurmurHash3. */
function mixed(seed: number, user: number, characters: readonly number[]): number {
  let bits = Math.imul(seed ^ user, 0x5bd1e995)
  for (const character of characters) bits = Math.imul(bits ^ (bits >>> 15) ^ character, 0x5bd1e995)
  bits = Math.imul(bits ^ (bits >>> 13), 0xc2b2ae35)
  return bits ^ (bits >>> 16)
}
