// Names that others chose, made fit to be shown: of people, of files, of subjects.
//
// Signs that turn the direction of text round, or cannot be seen, are taken out: `exe.gpj` must not read `jpg.exe`. What is
// shown is put into <bdi> by whoever shows it.

/** Explicit directions, isolates, zero width signs, line and paragraph separators, tags, controls. */
const unseen = /[\p{Cc}\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\u{e0000}-\u{e007f}]/gu

const lengthMax = 500

export function shownName(text: string): string {
  return text
    .slice(0, 4 * lengthMax)
    .replace(unseen, '')
    .replace(/\s+/g, ' ')
    .trim()
    .slice(0, lengthMax)
}

/** A text as it is, with such signs by their numbers; line ends and tabs stay. */
export function shownSigns(text: string): string {
  return text.replace(unseen, sign =>
    /[\n\t]/.test(sign)
      ? sign
      : sign === '\r'
        ? ''
        : `<U+${(sign.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')}>`,
  )
}

/** What programs write for the domain of a name or an address whose letters others may look like; null where it has plain letters alone. */
export function plainDomain(text: string): string | null {
  const domain = text.slice(text.lastIndexOf('@') + 1)
  if (/^[\x21-\x7e]*$/.test(domain)) return null
  try {
    return new URL(`http://${domain}`).hostname
  } catch {
    return null
  }
}

export interface Person {
  readonly name?: string
  readonly address: string
}

/** A name that looks like another address, in whatever letters. */
function pretends(shown: string, address: string): boolean {
  return /@/.test(shown.normalize('NFKC')) && shown.toLowerCase() !== address.toLowerCase()
}

/** A name, or the address where there is none. One that looks like another address is not believed. */
export function personName({ name = '', address }: Person): string {
  const shown = shownName(name)
  return shown === '' || pretends(shown, address) ? shownName(address) : shown
}

/** `Name <address>`, for a field that takes several. */
export function personText({ name = '', address }: Person): string {
  const shown = shownName(name)
  if (shown === '' || shown === address || pretends(shown, address)) return address
  return /^[\p{L}\p{N} '-]+$/u.test(shown) ? `${shown} <${address}>` : `"${shown.replace(/["\\]/g, '')}" <${address}>`
}

/** People in such a field, and what was no address. */
export function readPeople(text: string): { people: Person[]; wrong: string[] } {
  const people: Person[] = []
  const wrong: string[] = []
  for (const part of text.match(/(?:"[^"]*"|[^,;\n])+/g) ?? []) {
    const piece = part.trim()
    if (piece === '') continue
    const match = /^(?:(.*?)\s*<\s*)?([^\s<>@"]+@[^\s<>@"]+)\s*>?$/.exec(piece)
    const address = match?.[2]
    if (address === undefined) wrong.push(piece)
    else people.push({ name: (match?.[1] ?? '').replace(/^"|"$/g, '').trim(), address })
  }
  return { people, wrong }
}
