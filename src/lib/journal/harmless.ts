// Text of strangers that people read on a terminal or in a log: what would move the cursor, change colours, begin a line of its own or
// turn the order of letters around is shown as an escape instead.

const unshown = /[\p{Cc}\u2028-\u202e\u2066-\u2069]/gu

/** Everything on one line. */
export function oneLine(text: string): string {
  return escaped(text, '')
}

/** The same, but with the lines it has. */
export function harmless(text: string): string {
  return escaped(text, '\n\t')
}

/** What JSON does not escape by itself. */
export function harmlessInJson(text: string): string {
  return text.replace(unshown, one => (one < ' ' ? one : codeOf(one)))
}

function escaped(text: string, kept: string): string {
  return text.replace(unshown, one => (kept.includes(one) ? one : codeOf(one)))
}

function codeOf(one: string): string {
  return `\\u${one.charCodeAt(0).toString(16).padStart(4, '0')}`
}
