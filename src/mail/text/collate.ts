// The order of text that people read: i;unicode-casemap (RFC 5051), which IMAP sorts by (RFC 5256).
//
// Promises: two keys compare with `<` as the octets of the collation do; the key of a text is about as long as the text.
// Knows nothing of languages: `Äpfel` stands before `Zed` everywhere.

/** What a text is compared by. */
export function casemapKey(text: string): string {
  if (/^[\x00-\x7f]*$/.test(text)) return text.toUpperCase()
  let title = ''
  for (const character of text) title += titleCase(character)
  const key = title.normalize('NFKD')
  return /[\ud800-\uffff]/.test(key) ? inCodePointOrder(key) : key
}

/** Digraphs whose title case is another than their upper case, but for the Greek ones with iota. */
const digraphs: Readonly<Record<string, string>> = {
  ...{ Ǆ: 'ǅ', ǅ: 'ǅ', ǆ: 'ǅ', Ǉ: 'ǈ', ǈ: 'ǈ', ǉ: 'ǈ' },
  ...{ Ǌ: 'ǋ', ǋ: 'ǋ', ǌ: 'ǋ', Ǳ: 'ǲ', ǲ: 'ǲ', ǳ: 'ǲ' },
}

/** The simple title case of one character: one character again (RFC 5051 2 step 2 (b)). */
function titleCase(character: string): string {
  const digraph = digraphs[character]
  if (digraph !== undefined) return digraph
  const upper = character.toUpperCase()
  if (isOne(upper)) return upper
  // No single capital, or one with an iota below, which `toUpperCase` writes beside it.
  const [base = '', ...marks] = character.normalize('NFD')
  const capital = base.toUpperCase()
  return isOne(capital) ? capital + marks.join('') : character
}

function isOne(text: string): boolean {
  return text.length === 1 || (text.length === 2 && text.codePointAt(0) !== text.charCodeAt(0))
}

/** UTF-16 units moved so that they compare as UTF-8 does: what lies above the surrogates comes before them. */
function inCodePointOrder(text: string): string {
  return text.replace(/[\ud800-\uffff]/g, unit => {
    const code = unit.charCodeAt(0)
    return String.fromCharCode(code >= 0xe000 ? code - 0x800 : code + 0x2000)
  })
}
